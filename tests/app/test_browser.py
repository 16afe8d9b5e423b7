"""The page in a real browser: filling, clearing, what to measure next, links, keyboard, print."""

import re
import warnings

import numpy as np
import pytest
from browser import CHROMIUM, DRIVER, Browser

import bayesgen as bg

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (CHROMIUM and DRIVER),
        reason="the page was NOT tested in a browser: chromium and chromedriver are not found",
    ),
]
AGE, SEX, CLASS = "#field-1", "#field-0", "#field-2"


@pytest.fixture(scope="module")
def clf():
    X, y = bg.datasets.load_titanic_passengers()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bg.StackedClassifier(["naive", "joint"], random_state=0, progress=False).fit(X, y)


@pytest.fixture(scope="module")
def page(clf):
    costs = {"sex": 0.01, "passengerClass": 0.5}
    with bg.serve(clf, port=0, wait=False, title="Titanic", cost_of=costs) as page:
        yield page


@pytest.fixture(scope="module")
def browsers():
    with Browser() as browser:
        yield browser


@pytest.fixture
def browser(browsers, page):
    """The empty page; after the test the browser has complained of nothing."""
    browsers.resize(1400)
    browsers.open(page.address)
    yield browsers
    assert browsers.complaints() == []


def shown(browser):
    """Return the probabilities that the page shows."""
    cells = browser.find("#answer td[data-p]")
    return [float(cell.get_attribute("data-p")) for cell in cells]


def proba(clf, **cells):
    row = {"sex": None, "age": None, "passengerClass": None} | cells
    return clf.predict_proba(row)[0].tolist()


def text(browser, selector):
    return browser.find(selector)[0].text


def test_a_person_fills_and_clears_fields_and_reads_the_bars(browser, clf):
    assert shown(browser) == proba(clf)
    browser.type(AGE, "33,5")
    assert shown(browser) == proba(clf, age=33.5)
    browser.type(SEX, "female")
    p = proba(clf, age=33.5, sex="female")
    assert shown(browser) == p
    bars = browser.find("#answer rect.share")
    tracks = browser.find("#answer rect.track")
    widths = [b.rect["width"] / t.rect["width"] for b, t in zip(bars, tracks, strict=True)]
    np.testing.assert_allclose(widths, p, atol=0.005)
    row = {"sex": "female", "age": 33.5, "passengerClass": None}
    for mark, track, (low, high) in zip(
        browser.find("#answer rect.interval"), tracks, clf.predict_interval(row)[0], strict=True
    ):
        left = (mark.rect["x"] - track.rect["x"]) / track.rect["width"]
        assert left == pytest.approx(low, abs=0.01)
        assert mark.rect["width"] / track.rect["width"] == pytest.approx(high - low, abs=0.01)
    label = browser.find("#answer svg")[1].get_attribute("aria-label")
    assert re.fullmatch(r"yes: [\d.]+ %, 90 % interval [\d.]+ % to [\d.]+ %", label)
    browser.type(AGE, "")
    assert shown(browser) == proba(clf, sex="female")
    browser.find("#clear")[0].click()
    browser.settle()
    assert shown(browser) == proba(clf)


def test_what_to_measure_next_leads_to_the_field(browser, clf):
    browser.type(AGE, "20")
    row = {"sex": None, "age": 20.0, "passengerClass": None}
    values = clf.feature_value(row).iloc[0].dropna().sort_values(ascending=False)
    links = browser.find("#next li a")
    assert [link.text for link in links] == list(values.index)
    links[0].click()
    active = browser.driver.switch_to.active_element
    assert active.get_attribute("name") == f"x.{values.index[0]}"
    active.send_keys("female" if values.index[0] == "sex" else "3rd")
    browser.settle()
    assert len(browser.find("#next li a")) == 1
    assert values.index[0] in text(browser, "#why")
    browser.find("#next li a")[0].click()
    browser.driver.switch_to.active_element.send_keys("3")
    browser.settle()
    assert "Every field is filled in" in text(browser, "#next")


def test_a_link_holds_the_fields_and_the_server_sees_none_of_it(browser, clf, page):
    browser.type(AGE, "41")
    link = browser.driver.current_url
    assert link == f"{page.address}#x.age=41"
    browser.open(f"{page.address}#x.age=7&x.sex=male&prevalence.yes=10")
    assert browser.find(AGE)[0].get_attribute("value") == "7"
    assert browser.find("details")[0].get_attribute("open") is not None
    under = clf.with_class_prior({"no": 0.9, "yes": 0.1})
    assert shown(browser) == pytest.approx(proba(under, age=7.0, sex="male"), abs=1e-12)
    browser.driver.execute_script("location.hash = '#x.age=9'")
    browser.settle()
    assert shown(browser) == proba(clf, age=9.0)
    requests = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert not any("age" in name for name in browser.driver.execute_script(requests))


def test_costs_decide_or_say_what_to_measure_first(browser):
    browser.find("summary")[0].click()
    browser.type(AGE, "30")
    browser.type("[name='cost.0.1']", "1")
    assert "costs: fill in every field" in text(browser, "#answer")
    browser.type("[name='cost.1.0']", "1")
    assert "Decision of least expected cost" in text(browser, "#answer")
    assert "Measure sex first" in text(browser, "#next")


def test_what_cannot_be_read_is_said_and_nothing_else_is(browser):
    browser.type(AGE, "1,234")
    assert "may be two numbers" in text(browser, "#answer")
    assert [text(browser, f"#{part}") for part in ("strange", "next", "why")] == ["", "", ""]
    browser.type(AGE, "1234")
    assert "A strange row" in text(browser, "#strange")
    assert browser.find("#strange")[0].rect["y"] < browser.find("#answer")[0].rect["y"]
    assert "age 1234 is outside of what was seen" in text(browser, "#answer")


def test_the_next_change_abandons_what_is_awaited(browser, clf):
    from selenium.webdriver.common.keys import Keys

    field = browser.find(AGE)[0]
    for key in "123456789":
        field.send_keys(key)
    for _ in "1234567":
        field.send_keys(Keys.BACKSPACE)
    browser.settle()
    assert field.get_attribute("value") == "12" and shown(browser) == proba(clf, age=12.0)


@pytest.mark.parametrize("width", [390, 1400])
def test_screens_of_either_width_show_everything(browser, page, width, tmp_path):
    browser.resize(width)
    fields = "#x.age=1234&cost.0.1=1&cost.1.0=5&prevalence.yes=10"
    browser.open(page.address + fields)
    inner = browser.driver.execute_script("return document.documentElement.scrollWidth")
    assert inner <= width
    browser.picture(tmp_path / "page.png", width)
    assert (tmp_path / "page.png").stat().st_size > 20_000
    main, form = browser.find("main")[0].rect, browser.find("form")[0].rect
    beside = main["x"] >= form["x"] + form["width"]
    assert beside == (width == 1400)


def test_the_keyboard_reaches_every_field_in_order(browser):
    from selenium.webdriver.common.keys import Keys

    browser.driver.execute_script("document.body.focus()")
    names = []
    for _ in range(6):
        browser.driver.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.driver.switch_to.active_element
        names.append(active.get_attribute("name") or active.get_attribute("id") or active.tag_name)
    assert names == ["x.sex", "x.age", "x.passengerClass", "summary", "clear", "print"]


RATIO = """
const shade = c => {
  const [r, g, b] = c.match(/[\\d.]+/g).slice(0, 3).map(v => v / 255)
    .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * r + .7152 * g + .0722 * b;
};
const ground = e => {
  for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor;
    if (!/, 0\\)$/.test(c) && c !== "transparent") return c;
  }
  return "rgb(255, 255, 255)";
};
return [...document.querySelectorAll("body *")].filter(e => [...e.childNodes].some(
  n => n.nodeType === 3 && n.textContent.trim())).map(e => {
  const [a, b] = [shade(getComputedStyle(e).color), shade(ground(e))].sort((x, y) => y - x);
  return [(a + .05) / (b + .05), e.tagName, e.textContent.slice(0, 40)];
}).filter(([ratio]) => ratio < 4.5);
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_stand_out_from_the_ground_and_every_field_has_a_label(browser, page, scheme):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    browser.open(page.address + "#x.age=1234&cost.0.1=1&cost.1.0=5")
    assert browser.driver.execute_script(RATIO) == []
    for field in browser.find("input, select, textarea"):
        assert field.accessible_name, field.get_attribute("name")
    # what changes is read out, but for long lists, and a strange row at once
    spoken = browser.find("main section[aria-live]")
    assert [section.get_attribute("id") for section in spoken] == ["strange", "answer"]
    assert "A strange row" in text(browser, "#strange [role='alert']")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def test_a_page_is_printed_for_the_file(browser):
    browser.type(AGE, "33")
    found = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    import base64

    pdf = base64.b64decode(found["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == 1
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not browser.find("#print")[0].is_displayed()
    assert "bayesgen" in text(browser, "footer") and browser.find(AGE)[0].is_displayed()
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})


def test_a_page_that_is_gone_says_so(clf):
    with bg.serve(clf, port=0, wait=False) as page, Browser() as browser:
        browser.open(page.address)
        page.stop()
        browser.type(AGE, "33")
        assert "The page does not answer" in text(browser, "#answer")
        assert shown(browser) == [] and text(browser, "#why") == ""


def test_without_script_a_button_posts_the_form(page, clf):
    with Browser(script=False) as browser:
        browser.driver.get(page.address)
        (button,) = browser.find("#ask")
        assert button.is_displayed() and shown(browser) == []
        browser.find(AGE)[0].send_keys("33,5")
        browser.follow(button, "footer")
        assert shown(browser) == proba(clf, age=33.5)
        assert browser.find(AGE)[0].get_attribute("value") == "33,5"
        assert "What to measure next" in text(browser, "main")
        assert "age" not in browser.driver.current_url
