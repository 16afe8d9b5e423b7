"""What a family may be declared of, which cells it allows, and how it is spelled."""

import copy
import pickle

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from sklearn.base import clone

import bayesgen as bg
from bayesgen.errors import InvalidArgument, InvalidData
from bayesgen.likelihoods import Family
from bayesgen.likelihoods.family.declaration import built, spelled


@pytest.mark.parametrize(
    ("distribution", "x", "stated"),
    [
        (dist.Gamma, [1.0, 2.0, 0.0, 0.0], "'a' holds 0.0 in row 2 (and 1 more like it)"),
        (dist.Beta, [0.2, 1.0, 0.3, 0.4], "holds 1.0 in row 1; Family(dist.Beta) allows numbers "),
        (dist.VonMises, [0.2, 1.0, 0.3, 4.0], "allows numbers from -3.14159 to 3.14159 only"),
        (dist.LogNormal, [1.0, np.nan, -0.5, 1.0], "holds -0.5 in row 2"),
    ],
)
def test_fitted_cells_outside_the_support_are_refused(distribution, x, stated):
    clf = bg.NaiveBayes(Family(distribution), inference="map")
    with pytest.raises(InvalidData) as caught:
        clf.fit(pd.DataFrame({"a": x}), [0, 0, 1, 1])
    assert stated in str(caught.value)
    assert "likelihood={'a': bg.Normal(), ...}" in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_counts_are_checked_and_bounded():
    assert Family(dist.NegativeBinomial2).kind == "counts"
    assert Family(dist.Gamma).kind == "numbers"
    with pytest.raises(InvalidData, match=r"1\.5"):
        bg.NaiveBayes(Family(dist.Poisson)).fit(pd.DataFrame({"a": [1.5, 2.0]}), [0, 1])
    ten = Family(dist.Binomial, fixed={"total_count": 10})
    with pytest.raises(InvalidData, match=r"11\.0 in row 1; .* whole numbers from 0 to 10 only"):
        bg.NaiveBayes(ten).fit(pd.DataFrame({"a": [1.0, 11.0]}), [0, 1])


def test_edges_belong_to_the_support_where_densities_are_finite():
    x = np.array([[-np.pi], [np.pi], [np.nan]])
    assert not Family(dist.VonMises).out_of_support(x).any()
    ends = np.array([[0.0], [1.0], [0.5], [np.nan]])
    assert Family(dist.Beta).out_of_support(ends).ravel().tolist() == [True, True, False, False]


# -- what is declared ------------------------------------------------------------------------------

REFUSED = {
    "an instance of Gamma": lambda: Family(dist.Gamma(1.0, 2.0)),
    "got TruncatedNormal": lambda: Family(dist.TruncatedNormal),
    "got 'Gamme'": lambda: Family("Gamme"),
    "depends on its parameters": lambda: Family(dist.Pareto),
    "bounded by another parameter": lambda: Family(dist.Uniform),
    "'concentration' is more than one number": lambda: Family(dist.Dirichlet),
    "'total_count' is a whole number": lambda: Family(dist.BetaBinomial),
    "priors= names 'shape'": lambda: Family(dist.Gamma, {"shape": dist.Gamma(1.0, 1.0)}),
    "fixed= names 'shape'": lambda: Family(dist.Gamma, fixed={"shape": 1.0}),
    "dist.Normal, allows -1000.0; numbers above 0": lambda: Family(
        dist.Gamma, {"rate": dist.Normal(0.0, 1.0)}
    ),
    "'rate' is an instance of float": lambda: Family(dist.Gamma, {"rate": 3.0}),
    "'rate' is an instance of Gamma": lambda: Family(
        dist.Gamma, {"rate": dist.Gamma(np.ones(3), 1.0)}
    ),
    "df=-1.0; numbers above 0 are allowed": lambda: Family(dist.StudentT, fixed={"df": -1.0}),
    "every parameter is fixed": lambda: Family(dist.Exponential, fixed={"rate": 1.0}),
}


@pytest.mark.parametrize("stated", REFUSED)
def test_what_cannot_be_learned_is_refused(stated):
    with pytest.raises(InvalidArgument) as caught:
        REFUSED[stated]()
    assert stated in str(caught.value)


SHOWN = {
    "Family(dist.Gamma)": lambda: Family(dist.Gamma),
    "Family(dist.NegativeBinomial, rows=2)": lambda: Family(dist.NegativeBinomial, rows=2),
    "Family(dist.StudentT, priors={'df': dist.Gamma(concentration=2.0, rate=0.1)}, "
    "fixed={'loc': 1.0})": lambda: Family(
        dist.StudentT, {"df": dist.Gamma(2.0, 0.1)}, fixed={"loc": 1.0}
    ),
}


@pytest.mark.parametrize("text", SHOWN)
def test_equal_declarations_are_equal_and_travel(text):
    """Compiled programs are shared by equal settings, also of what was copied or pickled."""
    family, again = SHOWN[text](), SHOWN[text]()
    assert repr(family) == text
    for other in (again, copy.deepcopy(family), pickle.loads(pickle.dumps(family))):
        assert other.settings() == family.settings()
        assert hash(other.settings()) == hash(family.settings())
        assert repr(other) == text
    assert Family(dist.Gamma, rows=3).settings() == Family("Gamma").settings()
    assert family.settings() != Family(dist.Gamma, fixed={"rate": 3.0}).settings()
    estimator = clone(bg.GenerativeClassifier({"a": family}))
    assert estimator.likelihood["a"].settings() == family.settings()


def test_distributions_are_spelled_as_direct_data():
    assert spelled(dist.Gamma(2, 1)) == ("Gamma", {"concentration": 2, "rate": 1})
    cut = dist.TruncatedNormal(0, 1, low=-2)
    words = {"base_dist": ("Normal", {"loc": 0, "scale": 1}), "low": -2}
    assert spelled(cut) == ("LeftTruncatedDistribution", words)
    two = dist.MixtureSameFamily(dist.Categorical(np.ones(2) / 2), dist.Normal(np.zeros(2), 1.0))
    assert spelled(two) is two
    for whole in (dist.HalfNormal(3.0), dist.TruncatedNormal(0.0, 1.0, low=0.0)):
        back = built(spelled(whole))
        assert back.log_prob(1.0) == whole.log_prob(1.0)
