"""Sparse rows: the same answers as dense ones, no dense copy, and refusals that name the cure."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import bayesgen as bg
from bayesgen.errors import SuspiciousColumn
from bayesgen.table import PositionNames, read_sparse

LIKELIHOODS = {
    "Multinomial": bg.Multinomial.laplace(0.5),
    "Bernoulli": bg.Bernoulli(),
    "Poisson": bg.Poisson(),
}
every_family = pytest.mark.parametrize("name", LIKELIHOODS)
METHODS = ("exact", "mle", "map")
WARNED = "ignore::bayesgen.errors.DegenerateEstimate"


def rows(name: str, n: int = 80, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of six columns that are mostly 0, the last one always, and labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=n)
    rate = np.random.default_rng(1).gamma(1.0, 0.7, (3, 5))
    x = rng.poisson(rate[y])
    x = np.concatenate([np.minimum(x, 1) if name == "Bernoulli" else x, np.zeros((n, 1), int)], 1)
    return x, np.array(["a", "b", "c"])[y]


def fit(
    name: str, x: object, y: np.ndarray, method: str = "exact", **more: object
) -> bg.NaiveBayes:
    with pytest.MonkeyPatch.context() as patch:
        # the column of zeros is told of once a fit where it says nothing
        patch.setattr("bayesgen.estimators.fit.warn", lambda warning: None)
        clf = bg.NaiveBayes(LIKELIHOODS[name], inference=method, random_state=0)
        return clf.fit(x, y, **more)


# --- sparse is dense ------------------------------------------------------------------------------


@pytest.mark.filterwarnings(WARNED)
@every_family
@pytest.mark.parametrize("method", METHODS)
def test_answers_are_those_of_dense_rows(name, method):
    x, y = rows(name)
    fresh, _ = rows(name, 40, seed=2)
    dense, sparse = fit(name, x, y, method), fit(name, sp.csr_array(x), y, method)
    for ask in ("predict_joint_log_proba", "decision_function", "score_samples"):
        expected = getattr(dense, ask)(fresh)
        for asked in (sparse, dense):
            np.testing.assert_allclose(
                getattr(asked, ask)(sp.csr_array(fresh)), expected, rtol=1e-9
            )
        np.testing.assert_allclose(getattr(sparse, ask)(fresh), expected, rtol=1e-9)
    if method == "exact":
        assert sparse.log_evidence_ == pytest.approx(dense.log_evidence_, rel=1e-10)


FORMS = {
    "csr_matrix": sp.csr_matrix,
    "csc_array": sp.csc_array,
    "coo_array": sp.coo_array,
    "lil_matrix": sp.lil_matrix,
    "bsr_array": sp.bsr_array,
    "float32": lambda x: sp.csr_array(x.astype(np.float32)),
    "uint8": lambda x: sp.csr_array(x.astype(np.uint8)),
    "explicit zeros": lambda x: stored(x),
    "duplicates": lambda x: twice(x),
}


def stored(x: np.ndarray) -> sp.csr_array:
    """Return a matrix that stores every cell, zeros too."""
    n, p = x.shape
    return sp.csr_array((x.ravel(), np.tile(np.arange(p), n), np.arange(0, n * p + 1, p)), x.shape)


def twice(x: np.ndarray) -> sp.csr_array:
    """Return a matrix that stores a cell of 3 as 1 and 2, columns in falling order."""
    one = np.minimum(x, 1)
    data = np.concatenate([one, x - one], axis=1)[:, ::-1]
    n, p = x.shape
    columns = np.tile(np.concatenate([np.arange(p), np.arange(p)])[::-1], n)
    return sp.csr_array((data.ravel(), columns, np.arange(0, 2 * n * p + 1, 2 * p)), x.shape)


@every_family
def test_every_format_is_read(name):
    x, y = rows(name)
    expected = fit(name, x, y).predict_joint_log_proba(x)
    for form, convert in FORMS.items():
        found = fit(name, convert(x), y).predict_joint_log_proba(convert(x))
        np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=form)


@every_family
def test_booleans_are_ones(name):
    x, y = rows(name)
    np.testing.assert_allclose(
        fit(name, sp.csr_array(x > 0), y).predict_proba(sp.csr_array(x > 0)),
        fit(name, np.minimum(x, 1), y).predict_proba(np.minimum(x, 1)),
        rtol=1e-9,
    )


@every_family
def test_a_stored_nan_is_missing(name):
    x, y = rows(name)
    fresh = rows(name, 20, seed=3)[0].astype(float)
    fresh[np.random.default_rng(4).random(fresh.shape) < 0.3] = np.nan
    fresh[0] = np.nan
    clf = fit(name, sp.csr_array(x), y)
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(sp.csr_array(fresh)),
        fit(name, x, y).predict_joint_log_proba(fresh),
        rtol=1e-9,
    )
    np.testing.assert_allclose(clf.predict_proba(sp.csr_array(fresh[:1])).sum(), 1.0)


@pytest.mark.parametrize("name", ["Bernoulli", "Poisson"])
def test_densities_under_draws_that_a_row_updates_are_those_of_dense_rows(name):
    x, y = rows(name)
    fresh = rows(name, 6, seed=3)[0].astype(float)
    fresh[np.random.default_rng(4).random(fresh.shape) < 0.3] = np.nan
    (family,) = fit(name, x, y).fitted_.posterior.families.values()
    # without the column of zeros, where that says nothing
    fresh = fresh[:, : next(iter(family.arrays().values())).shape[1]]
    own = np.tile(np.arange(6) % 3, (5, 1))
    dense, sparse = (
        family.log_density_draws_given_row(np.random.default_rng(0), 5)(block, own)
        for block in (fresh, sp.csr_array(fresh))
    )
    np.testing.assert_allclose(sparse, dense, rtol=1e-9)


@pytest.mark.parametrize("name", ["Bernoulli", "Poisson"])
def test_missing_at_fit_weighs_zero(name):
    x, y = rows(name)
    x = np.where(np.random.default_rng(5).random(x.shape) < 0.2, np.nan, x)
    dense, sparse = fit(name, x, y), fit(name, sp.csr_array(x), y)
    np.testing.assert_allclose(sparse.predict_proba(x), dense.predict_proba(x), rtol=1e-9)


@every_family
def test_weights_are_repetitions(name):
    x, y = rows(name)
    times = np.random.default_rng(6).integers(0, 3, len(y))
    weighed = fit(name, sp.csr_array(x), y, sample_weight=times)
    repeated = fit(name, sp.csr_array(x.repeat(times, 0)), y.repeat(times))
    np.testing.assert_allclose(weighed.predict_proba(x), repeated.predict_proba(x), rtol=1e-9)
    half = fit(name, sp.csr_array(x), y, sample_weight=np.full(len(y), 0.1))
    np.testing.assert_allclose(
        half.predict_proba(x), fit(name, x, y, sample_weight=0.1).predict_proba(x), rtol=1e-9
    )


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@every_family
def test_batches_of_both_forms_in_any_order_are_one_fit(name):
    """The first batch lacks a class; forms alternate."""
    x, y = rows(name, 120)
    order = np.concatenate([np.flatnonzero(y != "c"), np.flatnonzero(y == "c")])
    x, y = x[order], y[order]
    clf = bg.NaiveBayes(LIKELIHOODS[name])
    for i, part in enumerate(np.array_split(np.arange(120), 7)):
        batch = sp.csr_array(x[part]) if i % 2 == 0 else x[part]
        clf.partial_fit(batch, y[part])
    whole = fit(name, sp.csr_array(x), y)
    np.testing.assert_allclose(clf.predict_proba(x), whole.predict_proba(x), rtol=1e-9)


@every_family
def test_intervals_are_those_of_dense_rows_within_their_error(name):
    """Two sets of 1,000 draws: ends of 90 % intervals differ by less than .1."""
    x, y = rows(name, 200)
    fresh, _ = rows(name, 4, seed=7)
    dense = fit(name, x, y).predict_interval(fresh)
    sparse = fit(name, x, y).predict_interval(sp.csr_array(fresh))
    np.testing.assert_allclose(sparse, dense, atol=0.1)
    draws = fit(name, x, y).predict_draws(sp.csr_array(fresh))
    mean = (draws * draws.weight).sum("draw")
    np.testing.assert_allclose(mean, fit(name, x, y).predict_proba(fresh), atol=0.05)


@every_family
def test_one_row_answers_as_in_company(name):
    x, y = rows(name)
    clf = fit(name, sp.csr_array(x), y)
    np.testing.assert_array_equal(
        clf.predict_interval(sp.csr_array(x))[3], clf.predict_interval(sp.csr_array(x[[3]]))[0]
    )


@every_family
def test_survives_pickling_and_files(name, tmp_path):
    x, y = rows(name)
    clf = fit(name, sp.csr_array(x), y)
    expected = clf.predict_proba(sp.csr_array(x))
    clf.save(tmp_path / "model.bgm")
    for again in (pickle.loads(pickle.dumps(clf)), bg.load(tmp_path / "model.bgm")):
        np.testing.assert_array_equal(again.predict_proba(sp.csr_array(x)), expected)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, np.asarray])
def test_sample_gives_back_what_came_in(form):
    x, y = rows("Multinomial")
    simulated, labels = fit("Multinomial", form(x), y).sample(30, random_state=0)
    assert type(simulated) is (np.ndarray if form is np.asarray else form)
    assert simulated.shape == (30, 6) and labels.shape == (30,)


def test_columns_of_a_sparse_matrix_may_have_different_likelihoods():
    x, y = rows("Multinomial")
    x[:, 4] = x[:, 4] > 0
    spec = {(3, 0): bg.Poisson(), ("x1", "x2"): bg.Multinomial(), 4: bg.Bernoulli()}
    dense, sparse = (
        bg.NaiveBayes(spec, remainder="drop").fit(form, y) for form in (x, sp.csr_array(x))
    )
    expected = dense.predict_joint_log_proba(x)
    np.testing.assert_allclose(sparse.predict_joint_log_proba(sp.csr_array(x)), expected, rtol=1e-9)
    assert sparse.sample(5, random_state=0)[0].shape == (5, 6)


# --- lean -----------------------------------------------------------------------------------------


def test_names_are_built_when_asked_for():
    names = PositionNames(12)
    assert list(names) == [f"x{i}" for i in range(12)] and names[3:5] == ("x3", "x4")
    assert "x11" in names and "x12" not in names and "x01" not in names and 3 not in names
    assert names.index("x7") == 7 and names == PositionNames(12) != PositionNames(11)
    with pytest.raises(ValueError):
        names.index("x12")


@pytest.mark.parametrize("name", ["Multinomial", "Bernoulli", "Poisson"])
def test_wide_rows_are_never_built_dense(name):
    """1,000 x 20,000 dense would be 160 MB; fitting and predicting take less than a fifth."""
    x = sp.random_array((1000, 20_000), density=1e-3, format="csr", rng=np.random.default_rng(8))
    x.data[:] = 1.0
    y = np.arange(1000) % 2
    tracemalloc.start()
    clf = fit(name, x, y)
    proba = clf.predict_proba(x)
    highest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert highest < 32e6, highest
    assert len(clf.state_.schema.blocks["_".join([name.lower()])]) == 20_000


def test_many_columns_without_a_say_are_reported_of_at_once():
    x = sp.csr_array(np.eye(30, 60, dtype=int))
    with pytest.warns(SuspiciousColumn, match=r"30 columns \('x30', .* and 25 more\)") as caught:
        bg.NaiveBayes(bg.Bernoulli()).fit(x, np.arange(30) % 2)
    assert len(caught) == 1
    bg.NaiveBayes(bg.Multinomial()).fit(x, np.arange(30) % 2)


def test_columns_of_a_sparse_table_are_built_dense_one_by_one():
    table = read_sparse(sp.csr_array(np.array([[0, 2, 1], [1, 0, 0], [0, 0, 3]])))
    assert table.columns[1].name == "x1" and table.columns[1].values.tolist() == [2.0, 0.0, 0.0]
    assert table.take(np.array([2, 0])).columns[2].values.tolist() == [3.0, 1.0]
    assert [column.kind for column in table.columns] == ["number"] * 3
