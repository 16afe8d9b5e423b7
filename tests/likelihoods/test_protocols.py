"""A likelihood declares what it can do, and is asked for nothing else."""

import numpy as np
import numpyro.distributions as dist
import pytest
from cases import CASES, CLOSED

from bayesgen.errors import NoAttribute, UnsupportedOperation
from bayesgen.likelihoods import Family, KernelDiscriminant, Multinomial, MultivariateNormal
from bayesgen.likelihoods.hyperparameter_mixture import resolve_family
from bayesgen.likelihoods.normal import Normal
from bayesgen.likelihoods.protocols import (
    Conjugate,
    Imputation,
    Mode,
    PredictiveImputation,
    Program,
    require_evidence,
    required,
)


@pytest.mark.parametrize("name", CASES)
def test_closed_forms_are_those_of_conjugate_families(name):
    part = CASES[name].prior
    if name in CLOSED:
        assert required(part, Conjugate) is part
    else:
        with pytest.raises(UnsupportedOperation, match="no closed form"):
            required(part, Conjugate)


@pytest.mark.parametrize(
    ("part", "ability", "why"),
    [
        (MultivariateNormal(prior="lkj"), Conjugate, r"MultivariateNormal\(prior='lkj'\) has no"),
        (Family(dist.Gamma), Mode, "Family has no closed form"),
        (KernelDiscriminant(), Mode, "kernels are the training rows"),
        (KernelDiscriminant(), Program, "kernels are the training rows"),
        (resolve_family(Normal(mean_rows="learn")), Program, "Normal with learned prior strengths"),
        (Multinomial(), Imputation, "Multinomial: its missing cells cannot be drawn"),
        (Multinomial(), PredictiveImputation, "Multinomial: its missing cells cannot be drawn"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(part, ability, why):
    with pytest.raises(UnsupportedOperation, match=why):
        required(part, ability)


def test_evidence_needs_a_proper_prior_and_parameters():
    x, y = CASES["Normal"].rows(np.random.default_rng(0), 30)
    flat = Normal(prior="reference")
    flat = flat.complete(flat.statistics(x, y, np.ones(30), n_classes=3))
    for part, why in (
        (flat, "improper"),
        (KernelDiscriminant(), "built from the rows themselves"),
        (Family(dist.Gamma), "closed form, which Family does not have"),
    ):
        with pytest.raises(NoAttribute, match=why):
            require_evidence(part)
    assert require_evidence(Normal())
