"""Power transforms: the map, its slope, the powers that rows choose, and densities."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import bayesgen as bg
from bayesgen.schema.readings.power_transform import POWERS, PowerTransforms, learned
from bayesgen.table import read_table

every = pytest.mark.parametrize("make", [bg.NaiveBayes, bg.QDA])


@pytest.fixture
def skewed(rng):
    """Return 90 rows of three classes whose columns are log-normal."""
    y = np.arange(90) % 3
    X = np.exp(rng.standard_normal((90, 3)) * [0.5, 1.0, 0.8] + 0.7 * y[:, None])
    return pd.DataFrame(X, columns=["a", "b", "c"]), y


@pytest.mark.parametrize("power", [0.0, 0.3, 1.0, 1.6, 2.0])
def test_a_transform_is_that_of_scipy_and_comes_back(power, rng):
    x = np.array([-1e6, -3.0, -0.2, 0.0, 1e-9, 0.4, 5.0, 1e6])
    transforms = PowerTransforms(np.array([2.5]), np.array([power]))
    transformed = transforms.forward(x[:, None])
    expected = 2.5 * stats.yeojohnson(x / 2.5, power)
    np.testing.assert_allclose(transformed[:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(transforms.inverse(transformed)[:, 0], x, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("power", [0.0, 0.3, 1.6, 2.0])
def test_the_slope_is_the_derivative(power):
    x, step = np.array([[-4.0], [-0.3], [0.7], [6.0]]), 1e-6
    transforms = PowerTransforms(np.array([1.7]), np.array([power]))
    rise = transforms.forward(x + step) - transforms.forward(x - step)
    found = transforms.log_abs_det_jacobian(transforms.forward(x))
    np.testing.assert_allclose(found, np.log(rise[:, 0] / (2 * step)), atol=1e-8)


@pytest.mark.parametrize("skew", [0.4, 1.0, -1.0])
def test_the_power_is_scipys_where_rows_are_many(skew, rng):
    """With one class and 4,000 rows, the prior and its one row are nothing to the likelihood."""
    x = np.sign(skew) * np.exp(abs(skew) * rng.standard_normal(4000))
    z = (x - x.mean()) / x.std()
    expected = POWERS[np.argmax([stats.yeojohnson_llf(power, z) for power in POWERS])]
    centre, transform = learned(x, np.zeros(4000, dtype=int), np.ones(4000))
    assert (transform.power, centre, transform.scale) == pytest.approx(
        (expected, x.mean(), x.std())
    )


def test_normal_columns_stay_as_they_are():
    x = stats.norm.ppf((np.arange(200) + 0.5) / 200)
    assert learned(x, np.zeros(200, dtype=int), np.ones(200)) is None


def test_two_values_and_constants_are_left_alone():
    y, weight = np.arange(6) % 2, np.ones(6)
    assert learned(np.array([0.0, 1, 1, 0, 1, np.nan]), y, weight) is None
    assert learned(np.full(6, 3.0), y, weight) is None


def test_a_whole_weight_is_rows_repeated(rng):
    x, y, weight = rng.exponential(size=30), np.arange(30) % 2, rng.integers(1, 4, 30)
    once = learned(x, y, weight.astype(float))
    again = learned(np.repeat(x, weight), np.repeat(y, weight), np.ones(weight.sum()))
    assert once[1].power == again[1].power
    np.testing.assert_allclose([once[0], once[1].scale], [again[0], again[1].scale], rtol=1e-12)


@every
def test_units_and_signs_change_nothing(make, skewed):
    X, y = skewed
    expected = make(power_transform=True).fit(X, y).predict_proba(X)
    moved = X * [1e-6, -3.0, 1e5] + [4.0, 7.0, -1e3]
    found = make(power_transform=True).fit(moved, y).predict_proba(moved)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@every
def test_any_split_in_any_order_is_the_whole(make, skewed, rng):
    X, y = skewed
    whole = make(power_transform=True).fit(X, y)
    parts = make(power_transform=True)
    for rows in np.split(rng.permutation(90), [20, 61]):
        parts.partial_fit(X.iloc[rows], y[rows], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("inference", ["exact", "mle"])
def test_densities_are_those_of_the_cells(inference, skewed):
    """p(x given data) integrates to one over x itself; without the slope it would not."""
    X, y = skewed
    X.loc[4, "b"] = np.nan
    clf = bg.NaiveBayes(power_transform=True, inference=inference).fit(X[["b"]], y)
    (column,) = clf.state_.schema.blocks["normal"]
    assert column.transform.power < 0.5

    def density(u):
        # over log distances from the column's mean, where the tails are short
        x = column.origin + column.transform.scale * np.sinh(u)
        logs = clf.score_samples(pd.DataFrame({"b": np.atleast_1d(x)}))
        return np.exp(logs) * column.transform.scale * np.cosh(u)

    u = np.linspace(-40, 60, 200_001)
    assert integrate.simpson(density(u), x=u) == pytest.approx(1, abs=1e-5)


def test_evidence_is_that_of_the_cells(skewed):
    """Log p(rows) is the sum of what each row adds to those before it, in the cells' own units."""
    X, y = skewed
    X.loc[[4, 8], "a"] = np.nan
    one = bg.NaiveBayes(power_transform=True).fit(X, y)
    other = bg.NaiveBayes(power_transform=True).fit(X * [10.0, 2.0, 1.0], y)
    seen = X.notna().sum()
    change = seen["a"] * np.log(10) + seen["b"] * np.log(2)
    assert other.log_evidence_ == pytest.approx(one.log_evidence_ - change, abs=1e-8)
    assert one.log_evidence_ > bg.NaiveBayes().fit(X, y).log_evidence_


@every
def test_a_missing_cell_is_an_absent_column(make, skewed):
    X, y = skewed
    clf = make(power_transform=True).fit(X, y)
    missing_value = X.iloc[10:20].assign(b=np.nan)
    with pytest.warns(bg.errors.CountsAsMissing, match="'b'"):
        absent = clf.score_samples(missing_value.drop(columns="b"))
    np.testing.assert_allclose(clf.score_samples(missing_value), absent, atol=1e-12)


@every
def test_it_answers_samples_and_is_kept(make, skewed, tmp_path):
    X, y = skewed
    clf = make(power_transform=True, random_state=0).fit(X, y)
    rows, labels = clf.sample(4000, random_state=1)
    assert list(rows) == list(X)
    # medians of the class with the largest cells, by a bootstrap's standard error
    for name in X:
        seen = X.loc[y == 2, name].dropna()
        error = stats.bootstrap((seen,), np.median, rng=0).standard_error
        assert abs(np.median(rows.loc[labels == 2, name]) - np.median(seen)) < 5 * error
    gaps = X.mask(np.arange(90)[:, None] % 4 == np.arange(3))
    filled = clf.impute(gaps, random_state=0)
    assert filled.notna().all(axis=None)
    assert (filled == gaps)[gaps.notna()].stack().all()
    clf.save(tmp_path / "transformed.bgm")
    again = bg.load(tmp_path / "transformed.bgm")
    np.testing.assert_array_equal(again.score_samples(X), clf.score_samples(X))


def test_loo_keeps_the_powers_and_takes_the_row_away(skewed):
    X, y = skewed
    clf = bg.LDA(power_transform=True).fit(X, y)
    schema = clf.state_.schema
    transformed = schema.encode(read_table(X))["normal"]
    direct = bg.LDA().fit(transformed, y)
    np.testing.assert_allclose(clf.loo()["log_proba"], direct.loo()["log_proba"], atol=1e-9)
    slope = schema.power_transforms()["normal"].log_abs_det_jacobian(transformed)
    difference = clf.loo()["log_joint"].to_numpy() - direct.loo()["log_joint"].to_numpy()
    np.testing.assert_allclose(difference, slope, atol=1e-9)


def test_what_cannot_be_transformed_is_refused(skewed):
    X, y = skewed
    with pytest.raises(bg.errors.InvalidArgument, match="power_transform is 'box-cox'"):
        bg.LDA(power_transform="box-cox").fit(X, y)
    clf = bg.NaiveBayes(power_transform=True).fit(-X, y)
    with pytest.raises(bg.errors.InvalidData, match=r"column 'b' holds 1e\+149.*leave out"):
        clf.predict_proba(-X.assign(b=-1e149))
    with pytest.raises(AttributeError, match="columns as they are"):
        _ = (
            bg.LDA(power_transform=True, inference="mle")
            .fit(X.dropna(), y[X.notna().all(axis=1)])
            .coef_
        )
    fitted = copy.copy(bg.NaiveBayes(power_transform=True).fit(X, y))
    with pytest.raises(bg.errors.UnsupportedOperation, match="power_transform=True"):
        fitted.partial_fit(X, y)


def test_skewed_columns_are_better_described(skewed):
    X, y = skewed
    transformed, direct = bg.LDA(power_transform=True).fit(X, y), bg.LDA().fit(X, y)
    assert transformed.score_samples(X).sum() > direct.score_samples(X).sum()
