"""Errors where a program of one's own breaks the form, or cannot answer.

The programs are in user_programs.py.
"""

import re

import numpy as np
import pandas as pd
import pytest
import user_programs
from user_programs import INCOMPLETE, X, Y, classifier

import bayesgen as bg
from bayesgen.errors import InvalidProgram, NoAttribute, NotConverged, UnsupportedOperation


@pytest.fixture(scope="module")
def by_map():
    return classifier().fit(INCOMPLETE, Y)


PLATE = 'with numpyro.plate\\("row", n_rows\\):'
BROKEN = {
    "no_label": 'has no site "y" .*sample\\("y", dist.Categorical\\(class_probs\\), obs=y\\)',
    "label_drawn": 'site "y" is drawn although labels are given.*obs=y',
    "no_plate": f"'y' depends on the rows but lies outside plate \"row\".*{PLATE}",
    "data_outside": f"'x' depends on the rows but lies outside plate \"row\".*{PLATE}",
    "total_outside": "'fit' depends on the rows but lies outside plate",
    "plate_of_wrong_size": 'plate "row" has the size 1 and dim=-1.*needs the size 15',
    "plate_of_wrong_dim": 'plate "row" has the size 15 and dim=-2',
    "hidden_factor": "'size' in plate \"row\" is drawn anew.*MixtureSameFamily",
    "not_observed": "'x' in plate \"row\" is drawn anew.*add obs=x",
    "no_event": "stopped at site 'x'.*[Ii]ncompatible.*join.*to_event\\(1\\), obs=x\\)",
    "no_event_in_a_column": r"'x' has log densities of the shape \(2, 15\).*to_event\(1\)",
    "discrete_parameter": "parameter at site 'shift' is discrete",
    "flax_parameter": "'shift' is a numpyro.param.*shift = numpyro.sample",
    "nothing_to_learn": "no parameters: every site is observed",
    "blind": "it ignores x",
    "labels_only": "it ignores x",
    "centred_on_company": "'x' gives a row a density that depends on the other rows",
    "python_branch": "TracerBoolConversionError.*jnp.where",
    "array_of_numpy": "TracerArrayConversionError.*jnp.asarray",
    "failing": "stopped: KeyError: 'missing'.*numpyro.handlers.seed.*n_classes=3",
    "with_setting": "needs settings 'scale', 'shift'.*partial\\(model, scale=..., shift=...\\)",
    "no_classes": "unexpected keyword argument 'n_classes'.*def model\\(x, y=None, \\*, n_classes",
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_form(name):
    with pytest.raises(InvalidProgram, match=f"(?s){BROKEN[name]}"):
        classifier(getattr(user_programs, name)).fit(X, Y)


def test_a_program_of_named_columns_takes_a_dict():
    rows = pd.DataFrame({"bill": X[:, 0], "wing": X[:, 1]})
    names: dict = {}
    exec(bg.NaiveBayes().fit(rows, Y).program(), names)
    with pytest.raises(InvalidProgram, match="reads x by name") as caught:
        classifier(names["model"]).fit(rows, Y)
    typed = "X = {name: X[name].to_numpy() for name in X}"
    assert typed in str(caught.value)
    exec(typed, cure := {"X": rows})
    classifier(names["model"]).fit(cure["X"], Y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "x", "sentence"),
    [
        ("positive_only", X, "site 'x' gives the log density -inf in rows? .*does not allow"),
        ("labels_follow_x", INCOMPLETE, "site 'x' gives no density to rows? .*are missing.*mask"),
        ("impossible_factor", X, "no finite gradient, at site 'tilt'"),
    ],
)
def test_densities_that_are_no_numbers(name, x, sentence):
    with pytest.raises(InvalidProgram, match=f"(?s){sentence}"):
        classifier(getattr(user_programs, name)).fit(x, Y)


@pytest.mark.slow
def test_missing_cells_of_new_rows():
    """The program was fitted to whole rows and does not say what a missing cell means."""
    clf = classifier(user_programs.columns_all_there).fit(X, Y)
    with pytest.raises(InvalidProgram, match="site 'x' gives no density to rows 1, 3, where"):
        clf.predict(np.where(np.isin(np.arange(15), [1, 3])[:, None], np.nan, X))


def test_cells_of_a_joint_density_are_not_masked():
    """Its sentence names what integrates over them, and that is fitted."""
    with pytest.raises(InvalidProgram, match=r"no density.* no factors") as caught:
        classifier(user_programs.joint_columns).fit(INCOMPLETE, Y)
    assert "mask" not in str(caught.value)
    clf = eval(re.search(r"fit (bg\.\w+\(\))", str(caught.value))[1], {"bg": bg})
    clf.set_params(random_state=0)
    assert np.isfinite(clf.fit(INCOMPLETE, Y).predict_proba(INCOMPLETE)).all()


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"story": 3}, InvalidProgram, "story is 3; a function"),
        ({"likelihood": bg.Normal()}, InvalidProgram, "story= and likelihood= are both given"),
        ({"class_prior": 2.0}, InvalidProgram, "class_prior is 2.0, but a program states its own"),
        (
            {"inference": "exact"},
            UnsupportedOperation,
            "inference is 'exact'; a program of your own has no",
        ),
        ({"inference": bg.Exact()}, UnsupportedOperation, "no closed form"),
        ({"inference": bg.MLE(bias_corrected=True)}, UnsupportedOperation, "n - 1"),
    ],
)
def test_options_that_do_not_go_together(options, error, sentence):
    with pytest.raises(error, match=sentence):
        classifier(**{"story": user_programs.bells, **options}).fit(X, Y)


@pytest.mark.slow
def test_what_a_story_cannot_be_asked(by_map):
    with pytest.raises(UnsupportedOperation, match="partial_fit needs additive statistics"):
        classifier().partial_fit(X, Y)
    with pytest.raises(UnsupportedOperation, match="merge needs additive statistics"):
        by_map.merge(by_map)
    with pytest.raises(UnsupportedOperation, match="forget needs additive statistics"):
        by_map.forget(X, Y)
    with pytest.raises(NoAttribute, match="log_evidence_ is a closed form"):
        _ = by_map.log_evidence_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [
        (
            "one_column_marked",
            UnsupportedOperation,
            "array 'x' of X has missing cells in rows? .* does not mask",
        ),
        (
            "factor_alone",
            UnsupportedOperation,
            r"this one has no mask.*\.mask\(observed\).*return x, y",
        ),
        ("columns_in_a_plate", InvalidProgram, "it returned NoneType.*impute.*return x, y"),
        ("standardised", InvalidProgram, "observed cells of array 'x' changed"),
        ("one_column_back", InvalidProgram, r"their shapes are {'x': \(1,\)}, not {'x': \(2,\)}"),
    ],
)
def test_programs_that_cannot_impute(name, error, sentence):
    clf = classifier(getattr(user_programs, name)).fit(INCOMPLETE, Y)
    with pytest.raises(error, match=f"(?s){sentence}"):
        clf.impute(INCOMPLETE)


@pytest.mark.slow
def test_programs_that_cannot_simulate():
    clf = classifier(user_programs.labels_follow_x).fit(X, Y)
    with pytest.raises(InvalidProgram, match=r"cannot simulate rows: .*n_features"):
        clf.sample(2)


@pytest.mark.slow
def test_no_highest_point_warns():
    """Two rows of a class in one place: the density grows without bound as the spread shrinks."""
    x = np.where((Y == "ash")[:, None], 1.0, X)
    with pytest.warns(NotConverged, match="may have no maximum"):
        classifier(user_programs.own_spread, "mle").fit(x, Y)
