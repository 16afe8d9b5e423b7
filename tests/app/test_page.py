"""The page: its form, its answers without script, decisions, escapes and headers."""

import asyncio
import re
import time

import pytest
from clients import Client, served

import bayesgen as bg
from bayesgen.app import answers, server
from bayesgen.app.model import Case

COSTS = {"cost.0.1": "1", "cost.1.0": "5"}


def words(html):
    """Return what a page says, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_the_form_has_a_field_for_each_column_in_order(client):
    page = client.get("/").text
    assert re.findall(r'name="(x\.[^"]+)"', page) == ["x.sex", "x.age", "x.passengerClass"]
    assert re.findall(r"<option[^>]*>([^<]+)", page)[:3] == ["not measured", "female", "male"]
    assert 'placeholder="5 to 57"' in page and " selected" not in page
    for match in re.finditer(r'<label for="([^"]+)"', page):
        assert f'id="{match[1]}"' in page


def test_without_script_the_posted_page_has_every_answer(client, titanic):
    page = client.form({"x.sex": "female", "x.age": "33,5"}).text
    p = titanic.predict_proba({"sex": "female", "age": 33.5, "passengerClass": None})[0]
    assert re.findall(r'data-p="([^"]+)"', page) == [str(share) for share in p.tolist()]
    assert "<option selected>female</option>" in page and 'value="33,5"' in page
    for heading in ("Probabilities", "Prediction set", "What to measure next", "Why yes"):
        assert heading in page
    assert re.search(r"sex female: [\d.]+ times the odds", words(page))
    assert "Not strange" in page
    first = page.index('id="strange"')
    assert first < page.index('id="answer"') < page.index('id="next"') < page.index('id="why"')


def test_what_cannot_be_read_keeps_what_was_typed(client):
    found = client.form({"x.sex": "male", "x.age": "1,234"})
    assert found.status == 422 and 'value="1,234"' in found.text
    assert "may be two numbers" in found.text and "<option selected>male" in found.text
    part = client.form({"x.age": "old"}, "/part/answer")
    assert part.status == 422 and "age: &#39;old&#39; is not a number." in part.text


def test_the_parts_are_those_of_the_posted_page(client):
    fields = {"x.sex": "male", **COSTS}
    page = client.form(fields).text
    for name in answers.PARTS:
        part = client.form(fields, f"/part/{name}")
        assert part.status == 200 and part.text.strip() in page


def test_a_strange_row_says_so_before_any_probability():
    client = Client(bg.LDA().fit(*bg.datasets.load_iris()))
    page = client.form({"x.petal_length": "1", "x.petal_width": "9", "x.sepal_width": "3"}).text
    assert page.index("A strange row") < page.index("Probabilities")
    assert "petal_width 9 is outside of what was seen, 0.1 to 2.5" in page


def test_costs_turn_probabilities_into_a_decision(client, titanic):
    row = {"sex": None, "age": 33.0, "passengerClass": None}
    loss = {("no", "yes"): 1.0, ("yes", "no"): 5.0}
    best, expected = titanic.decide(row, loss, return_loss=True)
    said = words(client.form({"x.age": "33", **COSTS}).text)
    assert f"Decision of least expected cost: {best[0]} , expected cost {expected[0]:.3g}" in said


@pytest.mark.parametrize("cost", [0.0, 0.02, 10.0])
def test_measuring_comes_first_where_it_saves_more_than_it_costs(titanic, cost):
    model = served(titanic, cost_of=dict.fromkeys(["sex", "age", "passengerClass"], cost))
    loss = {("no", "yes"): 1.0, ("yes", "no"): 1.0}
    row = {"age": 33.0}
    found = answers.next_measurements(model, Case(row, costs=loss))
    values = titanic.feature_value(model.table([row]), loss).iloc[0].dropna()
    gains = {name: value - cost for name, value in values.items()}
    assert {line["field"]: line["gain"] for line in found["fields"]} == gains
    best = max(gains, key=gains.get)
    assert found["measure_first"] == (best if gains[best] > 0 else None)
    assert (cost < 10) == (found["measure_first"] is not None)


def test_another_prevalence_is_that_of_the_verb(client, titanic):
    p = titanic.with_class_prior({"no": 0.9, "yes": 0.1}).predict_proba(
        {"sex": "female", "age": None, "passengerClass": None}
    )[0]
    for fields in ({"prevalence.yes": "10"}, {"prevalence.no": "90 %", "prevalence.yes": "10"}):
        page = client.form({"x.sex": "female", **fields}, "/part/answer").text
        assert re.findall(r'data-p="([^"]+)"', page) == [str(share) for share in p.tolist()]
        assert "needs the rows of the fit" in page  # a copy keeps none


@pytest.mark.parametrize(
    "fields",
    [
        {"prevalence.yes": "110"},
        {"prevalence.yes": "-5"},
        {"prevalence.yes": "60", "prevalence.no": "60"},
        {"prevalence.yes": "often"},
        {"cost.0.1": "1"},
        {"cost.0.1": "1", "cost.1.0": "much"},
        {"x.shoe": "43"},
        {"cost.0.0": "1"},
    ],
)
def test_circumstances_that_make_no_sense_are_refused(client, fields):
    found = client.form(fields, "/part/answer")
    assert found.status == 422 and found.text.count("<p") == 1 and 'role="alert"' in found.text


def test_three_prevalences_one_of_which_is_the_rest(penguins):
    model, client = served(penguins), Client(penguins)
    page = client.form({"prevalence.Adelie": "10", "prevalence.Gentoo": "60"}, "/part/answer").text
    p = model.under((0.1, 0.3, 0.6)).predict_proba(model.table([{}]))[0]
    shown = [float(text) for text in re.findall(r'data-p="([^"]+)"', page)]
    assert shown == pytest.approx(p.tolist(), abs=1e-12)
    assert client.form({"prevalence.Adelie": "10"}, "/part/answer").status == 422


def test_names_levels_classes_and_notes_are_escaped():
    X, y = bg.datasets.load_titanic_passengers()
    evil = "<script>alert(1)</script>"
    X = X.rename(columns={"age": f'{evil} "$x$" {{{{7*7}}}}', "sex": "a.b&c=d"})
    X["passengerClass"] = X.passengerClass + evil
    client = Client(bg.NaiveBayes().fit(X, y + evil), title=evil, notes=f"# {evil}\n\n{evil}")
    names = client.get("/health").json()["columns"]
    page = client.form({f"x.{names[2]}": f"1st{evil}", f"x.{names[0]}": "male"}).text
    assert "<script>" not in page and page.count("<script ") == 1
    assert "49" not in words(page).split() and "alert(1)" in page
    assert "<script>" not in client.form({f"x.{names[1]}": evil}, "/part/answer").text
    assert evil not in client.form({f"x.{names[1]}": evil}).text


def test_every_answer_has_the_headers_that_guard_it(client):
    for found in (client.get("/"), client.get("/nothing"), client.rows({}), client.rows("x")):
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy
        assert found.headers["cache-control"] == "no-store"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "same-origin"
        assert "server" not in found.headers


def test_nothing_is_inline_or_from_elsewhere(client):
    page = client.form({"x.age": "3", **COSTS}).text
    assert not re.search(r"\sstyle=|\son\w+=|<style|javascript:|https?://", page)
    for name, kind in (("bedside.css", "text/css"), ("bedside.js", "text/javascript")):
        found = client.get(f"/{name}")
        assert found.headers["content-type"].startswith(kind)
        assert not re.search(r"https?://|@import|url\(|eval\(", found.text)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("here", 200),
        ("HERE:8000", 200),
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("192.168.0.7:80", 200),
        ("[::1]:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example:8000", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_the_host_is_checked(client, host, status):
    assert client.get("/health", host=host).status == status


def test_other_sites_may_not_ask(client):
    for origin in ("http://evil.example", "null", "http://here:1"):
        assert client.rows({}, origin=origin).status == 403
        assert client.form({}, origin=origin).status == 403
    assert client.rows({}, origin="http://here").status == 200


def test_no_cell_is_logged_and_a_failure_says_where_alone(titanic, capfd, monkeypatch):
    client = Client(titanic)

    def fails(*_):
        raise RuntimeError("of cell 31415")

    monkeypatch.setitem(server.PARTS, "answer", fails)
    found = client.form({"x.age": "31415"}, "/part/answer")
    client.rows({"age": 31415})
    client.rows({"age": "31415"})
    assert found.status == 500 and "something went wrong" in found.text
    said = "".join(capfd.readouterr())
    assert "RuntimeError at " in said and "31415" not in said and said.count("\n") == 1


def test_a_question_that_nobody_awaits_is_skipped(titanic, monkeypatch):
    client, asked = Client(titanic), []

    def slow(_, case):
        asked.append(case.row["age"])
        time.sleep(0.3)
        return {"typicality": None, "strange": False, "remarks": []}

    monkeypatch.setitem(server.PARTS, "strange", slow)

    async def three():
        gone = asyncio.Event()
        one = asyncio.create_task(client.answer("POST", "/part/strange", "x.age=1"))
        await asyncio.sleep(0.05)
        two = asyncio.create_task(client.answer("POST", "/part/strange", "x.age=2", leaves=gone))
        await asyncio.sleep(0.05)
        gone.set()
        left = await two
        await asyncio.gather(one, client.answer("POST", "/part/answer", "x.age=3"))
        return left

    assert asyncio.run(three()).status == server.LEFT
    assert asked == [1.0]


def test_more_questions_than_can_wait_are_refused(titanic, monkeypatch):
    client = Client(titanic)
    monkeypatch.setattr(server, "MOST_WAITING", 3)

    async def many():
        asks = [client.answer("POST", "/part/why", f"x.age={age}") for age in range(8)]
        return [found.status for found in await asyncio.gather(*asks)]

    statuses = asyncio.run(many())
    assert statuses.count(200) == 3 and statuses.count(503) == 5


def test_the_page_says_what_a_file_of_it_needs(titanic):
    said = words(Client(titanic, title="Who survived", notes="For teaching.").get("/").text)
    for part in (
        "Who survived",
        "naive Bayes, bayesgen " + bg.__version__,
        "1,309: no 809, yes 500",
        "log loss 0.480, 78% right, each row left out of the fit",
        "every row of its fit",
        time.strftime("%Y-%m-%d"),
        "For teaching.",
    ):
        assert part in said, part
    assert "no medical device" in words(Client(titanic).get("/").text)
