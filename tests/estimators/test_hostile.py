"""Any table, every estimator: probabilities that obey the laws, or an error that says what to do.

About 70 tables in the fast suite and 2,000 in the slow one, the same ones each time; 100,000 other
ones by `pytest tests/estimators/test_hostile.py --hypothesis-profile=hostile`.
"""

import dataclasses
from collections import Counter

import hypothesis
import pytest
from hostile import NAMED, Hostile, tables
from hostile_laws import LAWS, OF_ONE_FIT, Make, Model, check
from hypothesis import strategies as st
from paces import fast_only

import bayesgen as bg


def composed(likelihood: object, **settings: object) -> Make:
    return lambda: bg.GenerativeClassifier(likelihood, random_state=0, **settings)


def direct(family: type, **settings: object) -> Make:
    return lambda: family(random_state=0, **settings)


# a mode, or a learned worth, of several columns is not that of fewer
PARTS = ("part",)
# rows left out count with their whole weight: a row twice, one of them left out, is another matter
SCORED = ("part", "weights")
# draws: another order, or another table, has others
DRAWN = ("order", "names", "units", "part", "weights", "batches", "frames")
# where a covariance is singular there are many tops
TOPS = ("order", "names", "units", "part", "weights", "batches")
FEW_STEPS = bg.NUTS(draws=20, warmup=30, chains=1)
FEW = bg.Augmentation(draws=20, warmup=10, chains=2)
COMPILES = 50
"""What a fit that compiles a program costs, in fits of naive Bayes."""
MODELS = {
    "naive exact": Model(direct(bg.NaiveBayes), "any"),
    "naive mle": Model(direct(bg.NaiveBayes, inference="mle"), "any"),
    "naive map": Model(direct(bg.NaiveBayes, inference="map"), "any"),
    "naive n-1": Model(direct(bg.NaiveBayes, inference=bg.MLE(bias_corrected=True)), "any"),
    "naive tempered": Model(direct(bg.NaiveBayes, temper="learn"), "any", SCORED),
    "naive pattern": Model(direct(bg.NaiveBayes, missing="informative"), "any", ("blank",)),
    "naive pattern learned": Model(
        direct(bg.NaiveBayes, missing="learn"), "any", ("blank", *SCORED)
    ),
    "naive columns": Model(direct(bg.NaiveBayes, temper="columns"), "any", SCORED, 1e-5),
    "lda pattern": Model(
        direct(bg.LDA, missing="informative", inference="expected"),
        "joint numbers",
        ("blank", *PARTS),
        1e-5,
    ),
    "naive shared": Model(direct(bg.NaiveBayes, likelihood=bg.Normal(spread="shared")), "numbers"),
    # 1e8 rows of a column of unit 1e-140 are 3e10 nats of log evidence, whose last digit is 4e-6
    "naive learned": Model(
        composed(bg.Normal(mean_rows="learn", variance_rows="learn")), "numbers", PARTS, 1e-5
    ),
    "lda exact": Model(direct(bg.LDA), "complete joint numbers"),
    "lda augmented": Model(direct(bg.LDA, inference=FEW), "joint numbers", DRAWN),
    # eigenvalues raised to 1e-9 leave log densities of -1e10, whose last digit is worth 2e-6
    "lda mle": Model(direct(bg.LDA, inference="mle"), "complete joint numbers", PARTS, 2e-5),
    "lda em": Model(direct(bg.LDA, inference="mle"), "joint numbers", TOPS),
    # weights of 1e8 beside 1e-4: rounding moves the mode by 2e-5
    "lda map": Model(direct(bg.LDA, inference="map"), "joint numbers", PARTS, 1e-4),
    "lda expected": Model(direct(bg.LDA, inference="expected"), "joint numbers", PARTS, 1e-5),
    # the levels are those of the first batch
    "lda indicators": Model(
        direct(bg.LDA, levels="indicators", inference="expected"),
        "any",
        (*PARTS, "batches"),
        1e-5,
        cost=3,
    ),
    "qda exact": Model(direct(bg.QDA), "complete joint numbers"),
    "qda augmented": Model(direct(bg.QDA, inference=FEW), "joint numbers", DRAWN),
    "qda mle": Model(direct(bg.QDA, inference="mle"), "complete joint numbers", PARTS, 2e-5),
    "qda em": Model(direct(bg.QDA, inference="mle"), "joint numbers", TOPS, cost=3),
    "qda expected": Model(direct(bg.QDA, inference="expected"), "joint numbers", PARTS, 1e-5),
    "qda learned": Model(
        composed(bg.MultivariateNormal(mean_rows="learn"), inference="expected"),
        "joint numbers",
        PARTS,
    ),
    "categorical": Model(composed(bg.Categorical()), "levels"),
    "categorical learned": Model(composed(bg.Categorical(rows="learn")), "levels", PARTS),
    "laplace map": Model(composed(bg.Categorical.laplace(1), inference="map"), "levels"),
    "joint table": Model(direct(bg.JointTable, inference="expected"), "levels", PARTS, 1e-5),
    "joint table augmented": Model(direct(bg.JointTable, inference=FEW), "levels", DRAWN),
    "joint table mle": Model(direct(bg.JointTable, inference="mle"), "levels", TOPS),
    # a count of 1e9 has log densities of 2e10, whose last digit is worth 4e-6
    "poisson": Model(composed(bg.Poisson()), "counts", atol=2e-5),
    "poisson mle": Model(composed(bg.Poisson(), inference="mle"), "counts", atol=2e-5),
    "multinomial": Model(composed(bg.Multinomial()), "counts", PARTS, 2e-5),
    "words": Model(direct(bg.BagOfWords), "complete counts", PARTS, 2e-5),
    "words present": Model(direct(bg.BagOfWords, binary=True), "counts"),
    "kernels": Model(composed(bg.KernelDensity()), "numbers"),
    "kernel discriminant": Model(composed(bg.KernelDiscriminant()), "joint numbers", PARTS, 1e-5),
    # few tables: each compiles a program
    "naive svi": Model(
        direct(bg.NaiveBayes, inference=bg.MAP(solver="svi")),
        "numbers",
        atol=1e-4,
        cost=2 * COMPILES,
    ),
    "naive nuts": Model(
        direct(bg.NaiveBayes, inference=FEW_STEPS), "any", DRAWN, cost=2 * COMPILES
    ),
    "qda lkj": Model(
        direct(bg.QDA, prior="lkj", inference=FEW_STEPS), "joint numbers", DRAWN, cost=2 * COMPILES
    ),
    "family of numbers": Model(
        composed(bg.Family("StudentT", fixed={"df": 4.0}), inference="map"),
        "numbers",
        atol=1e-4,
        cost=COMPILES,
    ),
    "family of counts": Model(
        composed(bg.Family("NegativeBinomial2"), inference="map"),
        "counts",
        atol=1e-4,
        cost=COMPILES,
    ),
    "stack": Model(
        direct(bg.StackedClassifier), "any", ("blank", *SCORED, "batches"), 1e-4, cost=8
    ),
    "stack without a pool": Model(
        direct(bg.StackedClassifier, pool=None), "any", ("blank", *SCORED, "batches"), 1e-4, cost=8
    ),
    "stack ignorable": Model(
        direct(bg.StackedClassifier, missing="ignorable"),
        "any",
        (*SCORED, "batches"),
        1e-4,
        cost=8,
    ),
    "stack pattern": Model(
        direct(bg.StackedClassifier, missing="informative"),
        "any",
        ("blank", *SCORED, "batches"),
        1e-4,
        cost=8,
    ),
}


def run(name: str, settings: hypothesis.settings) -> Counter[str]:
    """Check one model on as many tables, and one of the laws on each, as the settings say."""
    model, found = MODELS[name], Counter()

    @hypothesis.settings(settings, max_examples=max(1, settings.max_examples // model.cost))
    @hypothesis.given(tables(model.suits), st.sampled_from(sorted(LAWS)), st.integers(0, 2**32 - 1))
    def one(t: Hostile, law: str, seed: int) -> None:
        found[check(model, t, law, seed)] += 1

    one()
    return found


SAME_EACH_TIME = hypothesis.settings(
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.mark.parametrize("name", MODELS)
def test_hostile_tables(name: str) -> None:
    """Under the profile "hostile" 100,000 tables in all, other ones each time (see conftest)."""
    many = hypothesis.settings.get_current_profile_name() == "hostile"
    if MODELS[name].cost >= COMPILES and not many:
        pytest.skip("it compiles a program for every table: run every night")
    few = hypothesis.settings(SAME_EACH_TIME, max_examples=2)
    found = run(name, hypothesis.settings() if many else few)
    print(name, dict(found))  # `-rP` shows it


@pytest.mark.nightly
@pytest.mark.parametrize("name", MODELS)
def test_more_hostile_tables(name: str) -> None:
    found = run(name, hypothesis.settings(SAME_EACH_TIME, max_examples=60))
    # a guard that turned all laws away would leave probabilities alone to be checked
    assert found["probabilities and the law"] or MODELS[name].cost >= COMPILES, found


# what a stack is made of, and the stack in each of its settings
OF_STACKS = [
    *("kernel discriminant", "naive columns", "naive pattern", "naive pattern learned"),
    *(name for name in MODELS if name.startswith("stack")),
]

SLOW = ["naive columns", "naive pattern learned", "stack"]


@pytest.mark.parametrize("table", [name for name in NAMED if name != "wide"])
@pytest.mark.parametrize("name", fast_only(["kernel discriminant"], OF_STACKS, slow=SLOW))
def test_named_tables(name: str, table: str) -> None:
    """Each answer is finite, or one sentence; a saved model says the same."""
    answers_of_named(name, table)


@pytest.mark.nightly
@pytest.mark.parametrize("name", OF_STACKS)
def test_wide_table(name: str) -> None:
    """The same of 200 columns, a minute for each stack."""
    answers_of_named(name, "wide")


def answers_of_named(name: str, table: str) -> None:
    """Check every law of a single fit on a table by its name."""
    t = NAMED[table]()
    t = dataclasses.replace(t, fault=table)
    for law in OF_ONE_FIT:
        check(MODELS[name], t, law, 0)
