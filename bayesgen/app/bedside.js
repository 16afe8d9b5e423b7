// Answers at every change, parts one after the other; a change abandons what is still awaited.
// The fields stand in the fragment of the address, which no browser sends anywhere.
"use strict";
const form = document.getElementById("form");
const PARTS = ["answer", "strange", "why", "next"];
let asking = new AbortController();
let pause;

function filled() {
  return [...new FormData(form)].filter(([, text]) => text.trim() !== "");
}

// Nothing that is shown answers what is typed now, also while the next key may follow.
function abandon() {
  asking.abort();
  for (const part of PARTS) document.getElementById(part).setAttribute("aria-busy", "true");
}

async function ask() {
  clearTimeout(pause);
  abandon();
  asking = new AbortController();
  const { signal } = asking;
  const body = new URLSearchParams(filled());
  history.replaceState(null, "", body.size ? "#" + body : location.pathname);
  document.getElementById("refused")?.remove();
  for (const part of PARTS) {
    try {
      const response = await fetch("/part/" + part, { method: "POST", body, signal });
      const text = await response.text();
      if (signal.aborted) return;
      const section = document.getElementById(part);
      section.innerHTML = text;
      section.removeAttribute("aria-busy");
      if (!response.ok) return clearFrom(PARTS.indexOf(part) + 1);
    } catch (error) {
      if (signal.aborted) return;
      clearFrom(PARTS.indexOf(part));
      document.getElementById(part).textContent = "The page does not answer; is its terminal still open?";
      return;
    }
  }
}

function clearFrom(start) {
  for (const part of PARTS.slice(start)) {
    document.getElementById(part).replaceChildren();
    document.getElementById(part).removeAttribute("aria-busy");
  }
}

function read() {
  const typed = new URLSearchParams(location.hash.slice(1));
  for (const field of form.elements) {
    if (field.name) field.value = typed.get(field.name) ?? "";
  }
  form.querySelector("details").open ||= [...typed.keys()].some((name) => !name.startsWith("x."));
}

form.addEventListener("input", () => {
  abandon();
  clearTimeout(pause);
  pause = setTimeout(ask, 60);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
document.getElementById("clear").addEventListener("click", (event) => {
  event.preventDefault();
  for (const field of form.elements) if (field.name) field.value = "";
  form.elements[0].focus();
  ask();
});
document.getElementById("next").addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link) return;
  event.preventDefault();
  document.getElementById(link.hash.slice(1)).focus();
});
const print = document.getElementById("print");
print.hidden = false;
print.addEventListener("click", () => window.print());
window.addEventListener("hashchange", () => {
  read();
  ask();
});
document.getElementById("ask").hidden = true;
if (location.hash) read();
ask();
