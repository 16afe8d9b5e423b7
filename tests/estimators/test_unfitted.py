"""A classifier that was not fitted says so, whatever it is asked."""

import pytest
from sklearn.exceptions import NotFittedError

import bayesgen as bg

X, Y = bg.datasets.load_iris()
ASKED = {
    "program": (),
    "relevance": (),
    "plot_relevance": (),
    "summary": (),
    "group_summary": (),
    "evidence": (X,),
    "evidence_table": (X,),
    "predict_set": (X,),
    "loo": (),
    "estimate_prevalence": (X,),
    "check_label_shift": (X,),
}


@pytest.mark.parametrize("method", ASKED)
@pytest.mark.parametrize("kind", ["NaiveBayes", "GenerativeClassifier", "StackedClassifier"])
def test_an_unfitted_classifier_is_named_as_such(method, kind):
    clf = bg.GenerativeClassifier(bg.Normal()) if kind[0] == "G" else getattr(bg, kind)()
    with pytest.raises(NotFittedError, match=f"This {kind} instance is not fitted yet"):
        getattr(clf, method)(*ASKED[method])
