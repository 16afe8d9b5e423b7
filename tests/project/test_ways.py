"""A plain call stays short: the files that it enters, and how often it turns back to one."""

import package_size
import pytest

import bayesgen as bg

WAYS = package_size.calls()
MOST = {
    "NaiveBayes.fit, mixed table": (49, 195),
    "NaiveBayes.predict_proba": (25, 12),
    "LDA.fit, iris": (38, 94),
    "LDA.fit, iris with a gap": (47, 144),
    "StackedClassifier.fit, two members": (65, 548),
    "NaiveBayes.predict_set, 3 rows": (49, 198),
    "NaiveBayes.estimate_prevalence": (52, 244),
}
"""Files and returns. A feature that a call does not use has no file on its way: call it where its
argument asks for it."""


def require_short(name, call):
    call()  # what is imported or compiled once is no part of the way
    files, returns = package_size.traced(call)
    most_files, most_returns = MOST[name]
    assert len(files) <= most_files, f"{name} enters {len(files)} files: {files}"
    assert returns <= most_returns, f"{name} turns back {returns} times"


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("name", WAYS)
def test_the_way_of_a_plain_call_is_short(name):
    require_short(name, WAYS[name])


def test_a_call_that_goes_elsewhere_is_caught():
    X, y = bg.datasets.load_play_tennis()
    votes = (y.to_numpy()[:, None] == sorted(set(y))).astype(float)
    for call in (
        lambda: bg.NaiveBayes().fit(X, votes),
        lambda: bg.StackedClassifier(["naive"], progress=False).fit(X, y),
    ):
        with pytest.raises(AssertionError, match=r"enters|turns back"):
            require_short("NaiveBayes.predict_proba", call)


def test_labels_that_are_missing_or_soft_are_on_no_other_way():
    call = WAYS["NaiveBayes.fit, mixed table"]
    call()
    files, _ = package_size.traced(call)
    others = {
        "estimators/unlabelled_fit.py",
        "estimators/missing_pattern_warning.py",
        "estimators/sources/fit.py",
        "table/soft_target.py",
    }
    assert not others & set(files)
