"""`POST /predict` answers what the verbs do, to the digit, and refuses in one sentence."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from clients import Client

import bayesgen as bg
from bayesgen.app.bodies import MOST_BYTES, MOST_ROWS

TITANIC = bg.datasets.load_titanic_passengers()
PENGUINS = bg.datasets.load_penguins()
NUMBERS = PENGUINS[0].select_dtypes("number")
TEXTS = ["cheap pills now", "meeting at noon", "buy cheap watches", "lunch at noon"] * 5
FITS = {
    "naive Bayes": lambda: (bg.NaiveBayes().fit(*TITANIC), TITANIC[0]),
    "labels that are numbers": lambda: (
        bg.NaiveBayes().fit(TITANIC[0], TITANIC[1] == "yes"),
        TITANIC[0],
    ),
    "pattern": lambda: (bg.NaiveBayes(missing="informative").fit(*TITANIC), TITANIC[0]),
    "LDA with gaps": lambda: (bg.LDA(inference="expected").fit(NUMBERS, PENGUINS[1]), NUMBERS),
    "a point": lambda: (bg.QDA(inference="map").fit(NUMBERS, PENGUINS[1]), NUMBERS),
    "joint table": lambda: (
        bg.JointTable(inference="expected").fit(PENGUINS[0][["island", "sex"]], PENGUINS[1]),
        PENGUINS[0][["island", "sex"]],
    ),
    "groups": lambda: (bg.NaiveBayes(groups="island").fit(*PENGUINS), PENGUINS[0]),
    "array": lambda: (
        bg.NaiveBayes().fit(NUMBERS.to_numpy(), PENGUINS[1]),
        pd.DataFrame(NUMBERS.to_numpy(), columns=["x0", "x1", "x2", "x3"]),
    ),
    "names that are numbers": lambda: (
        bg.NaiveBayes().fit(NUMBERS.set_axis([3, 1, 4, 2], axis=1), PENGUINS[1]),
        NUMBERS.set_axis([3, 1, 4, 2], axis=1),
    ),
    "stack": lambda: (
        bg.StackedClassifier(["naive", "linear"], random_state=0, progress=False).fit(*PENGUINS),
        PENGUINS[0],
    ),
}


def as_rows(X):
    """Return rows as JSON has them, by the names of columns as text."""
    rows = X.head(30).astype(object).where(X.head(30).notna(), None).to_dict("records")
    return [{str(name): cell for name, cell in row.items()} for row in rows]


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("name", FITS)
def test_answers_are_those_of_the_verbs_to_the_digit(name):
    clf, X = FITS[name]()
    found = Client(clf).rows(as_rows(X))
    assert found.status == 200
    answers = found.json()["answers"]
    labels = list(map(str, clf.classes_.tolist()))
    assert len(answers) == 30 and all(list(a["probabilities"]) == labels for a in answers)
    proba = np.array([list(a["probabilities"].values()) for a in answers])
    np.testing.assert_array_equal(proba, clf.predict_proba(X.head(30)))
    assert [a["predicted"] for a in answers] == clf.predict(X.head(30)).tolist()
    for verb, part in ((clf.predict_interval, "intervals"), (clf.predict_set, "set")):
        try:
            wanted = verb(X.head(30), 0.9)
        except bg.errors.BayesgenError as error:
            assert all(a[part] is None for a in answers)
            assert any(remark in str(error) for remark in found.json()["remarks"])
            continue
        if part == "intervals":
            ends = np.array([list(a[part].values()) for a in answers])
            np.testing.assert_array_equal(ends, wanted)
        else:
            sets = [[labels[k] for k in np.flatnonzero(row)] for row in wanted]
            assert [a[part] for a in answers] == sets


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_texts_are_answered_too():
    clf = bg.BagOfWords().fit(TEXTS, [1, 0, 1, 0] * 5)
    client = Client(clf)
    (found,) = client.rows({"text": "cheap noon"}).json()["answers"]
    assert list(found["probabilities"].values()) == clf.predict_proba(["cheap noon"])[0].tolist()
    assert client.rows({"text": "/etc/passwd"}).status == 200  # a text, and no path
    assert "<textarea" in client.get("/").text
    page = client.form({"x.text": "cheap noon"}).text
    assert "cheap" in page[page.index("Why") :]


def test_infinite_evidence_is_a_number_in_json():
    X = pd.DataFrame({"level": ["a", "a", "b", "c"] * 5, "other": ["u", "v", "u", "v"] * 5})
    clf = bg.NaiveBayes(inference="mle").fit(X, [0, 0, 1, 1] * 5)
    assert np.isinf(clf.evidence({"level": "a", "other": "u"}, target=0).level[0])
    (found,) = Client(clf).rows({"level": "a"}, "/predict?with=why").json()["answers"]
    (line,) = found["why"]["weights"]
    assert line["nats"] == 1000 and line["odds"] == "over 1,000 times the odds"


def test_the_parts_are_those_of_the_verbs(client, titanic):
    row = {"sex": "male", "age": 33.0, "passengerClass": None}
    found = client.rows(row, "/predict?with=strange,why,next").json()["answers"][0]
    assert found["strange"]["typicality"] == titanic.typicality(row)[0]
    weights = titanic.evidence(row, target="no").iloc[0]
    assert [line["nats"] for line in found["why"]["weights"]] == sorted(
        [nats for name, nats in weights.items() if name != "(prior)" and abs(nats) > 0.05],
        key=lambda nats: -abs(nats),
    )
    assert found["why"]["weights"][0] == {
        "field": "sex",
        "nats": weights["sex"],
        "cell": "male",
        "odds": f"{np.exp(weights['sex']):.2g} times the odds",
    }
    (line,) = found["next"]["fields"]
    assert line["field"] == "passengerClass" and found["next"]["unit"] == "nats"
    assert line["value"] == titanic.feature_value(row)["passengerClass"][0]
    levels = [titanic.predict_proba(row | {"passengerClass": c})[0, 0] for c in ("1st", "3rd")]
    assert [line["change"]["low"], line["change"]["high"]] == pytest.approx(sorted(levels), abs=0.1)


def test_an_address_states_prevalence_and_costs(client, titanic):
    rows = [{"sex": "male", "age": 33.0, "passengerClass": None}, {"sex": "female"}]
    full = [{"sex": None, "age": None, "passengerClass": None} | row for row in rows]
    address = "/predict?prevalence.yes=10&cost.0.1=1&cost.1.0=5,5&with=next,why"
    found = client.rows(rows, address).json()["answers"]
    under, costs = (
        titanic.with_class_prior({"no": 0.9, "yes": 0.1}),
        {("no", "yes"): 1.0, ("yes", "no"): 5.5},
    )
    proba = [list(answer["probabilities"].values()) for answer in found]
    np.testing.assert_allclose(proba, under.predict_proba(full), rtol=1e-12)
    best, loss = under.decide(full, costs, return_loss=True)
    assert [answer["decision"]["decision"] for answer in found] == best.tolist()
    expected = [answer["decision"]["expected"] for answer in found]
    np.testing.assert_allclose(expected, loss, rtol=1e-12)
    values = under.feature_value(full, costs)["passengerClass"]
    assert found[0]["next"]["fields"][-1]["value"] == values[0]
    assert {answer["next"]["unit"] for answer in found} == {"cost"}
    plain = client.rows(rows).json()["answers"]
    assert [answer["decision"] for answer in plain] == [None, None]
    assert plain[0]["probabilities"]["no"] == titanic.predict_proba(full)[0, 0]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("prevalence.yes=x", "prevalence: 'x' is not a number."),
        ("prevalence.yes=60&prevalence.no=60", "the classes sum to 120 %, not to 100."),
        ("prevalence.maybe=10", "'prevalence.maybe' is no field of this form."),
        ("cost.0.1=1", "costs: fill in every field, or none."),
        ("cost.0.1=1&cost.0.1=2&cost.1.0=1", "a column, or a field, is stated twice."),
        ("x.age=3", "'x.age' is no field of this form."),
    ],
)
def test_an_address_that_states_what_cannot_be_is_refused(client, query, sentence):
    found = client.rows({}, f"/predict?{query}")
    assert found.status == 422 and sentence in found.json()["error"]


def test_order_of_rows_and_columns_and_absent_columns_do_not_matter(client):
    rows = [{"sex": "male", "age": 20}, {"passengerClass": "1st"}, {"age": 20, "sex": "male"}, {}]
    first = client.rows(rows).json()["answers"]
    assert first[0] == first[2] and first[::-1] == client.rows(rows[::-1]).json()["answers"]
    assert client.rows(rows[1]).json()["answers"] == [first[1]]


REFUSED = {
    "a text, which is no path": '"/etc/passwd"',
    "a list of texts": '["a"]',
    "a number": "3",
    "null": "null",
    "no row": "[]",
    "no JSON": "age=3",
    "not UTF-8": b'{"sex": "\xff"}',
    "NaN": '{"age": NaN}',
    "infinity": '{"age": 1e999}',
    "huge": '{"age": 1' + "0" * 400 + "}",
    "very huge": '{"age": 1' + "0" * 5000 + "}",
    "deep": "[" * 100_000,
    "twice": '{"age": 1, "age": 2}',
    "unknown column": '{"agee": 1}',
    "format": '{"{name} %s": 1}',
    "text for a number": '{"age": "3"}',
    "truth for a number": '{"age": true}',
    "a list": '{"age": [1]}',
    "an object": '{"age": {"$gt": 0}}',
    "number for a level": '{"sex": 1}',
    "in the second row": '[{"age": 1}, {"age": "x"}]',
    "rows and no row": '[{"age": 1}, 2]',
    "an empty body": "",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_what_is_no_row_is_refused_in_one_sentence(client, body):
    found = client.rows(body)
    assert found.status == 422 and found.headers["content-type"] == "application/json"
    (sentence,) = found.json().values()
    assert 5 < len(sentence) < 300 and "\n" not in sentence
    assert "bg." not in sentence and "clf" not in sentence


def test_refusals_name_row_and_column(client):
    assert client.rows([{}, {"age": "x"}]).json()["error"] == "row 1: age: 'x' is not a number."
    wanted = "'agee' is no column of the model, which has 'sex', 'age', 'passengerClass'."
    assert client.rows({"agee": 1}).json()["error"] == wanted


def test_long_bodies_and_many_rows_are_refused(client):
    assert client.rows(b" " * (MOST_BYTES + 1)).status == 413
    assert client.form({"x.age": "1" * MOST_BYTES}).status == 413
    assert client.rows([{}] * (MOST_ROWS + 1)).status == 422
    assert client.rows([{}] * 11, "/predict?with=why").status == 422
    assert client.rows({}, "/predict?with=everything").status == 422
    found = client.rows([{}] * MOST_ROWS).json()
    assert len(found["answers"]) == MOST_ROWS and found["answers"][-1]["set"] is None
    assert found["remarks"] == ["more than 100 rows of a request get no sets."]


def test_other_content_types_methods_and_addresses_are_refused(client):
    plain = {"content-type": "text/plain"}
    assert client.ask("POST", "/predict", "{}", plain).status == 415
    assert client.get("/predict").status == 405
    assert client.get("/../pyproject.toml").status == client.get("/nothing").status == 404
    assert client.form({}, "/part/nothing").status == 404


def test_unseen_levels_and_numbers_outside_are_remarked(client, titanic):
    (found,) = client.rows({"sex": "unknown", "age": 150}).json()["answers"]
    assert found["remarks"] == [
        "sex 'unknown' was never seen, and counts as not measured.",
        "age 150 is outside of what was seen, 0.1667 to 80 in rows of the fit.",
    ]
    row = {"sex": None, "age": 150.0, "passengerClass": None}
    assert found["probabilities"]["no"] == titanic.predict_proba(row)[0, 0]


def test_a_model_that_refuses_unseen_levels_says_so():
    clf = bg.NaiveBayes(unseen="error").fit(*TITANIC)
    found = Client(clf).rows({"sex": "unknown"})
    assert found.status == 422 and "'unknown'" in found.json()["error"]


def test_health(client):
    found = client.get("/health")
    assert found.status == 200
    assert found.json() == {
        "status": "ok",
        "version": bg.__version__,
        "columns": ["sex", "age", "passengerClass"],
        "classes": ["no", "yes"],
    }


def test_a_loaded_model_answers_as_the_saved_one_and_says_what_it_holds(tmp_path, penguins):
    penguins.save(tmp_path / "p.bgm")
    before, after = Client(penguins), Client(bg.load(tmp_path / "p.bgm"))
    rows = as_rows(PENGUINS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [
            [answer | {"remarks": None} for answer in client.rows(rows).json()["answers"]]
            for client in (before, after)
        ]
    assert found[0] == found[1]
    assert "every row of its fit" in before.get("/").text
    assert "but cells of some" in after.get("/").text
    naive = bg.NaiveBayes().fit(*TITANIC)
    naive.save(tmp_path / "n.bgm")
    loaded = Client(bg.load(tmp_path / "n.bgm"))
    assert "none, but counts" in loaded.get("/").text
    body = loaded.rows({"age": 3}).json()
    assert body["answers"][0]["set"] is None and "needs the rows of the fit" in body["remarks"][0]
    assert json.dumps(body)
