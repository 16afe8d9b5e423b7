"""The law of programs as text: they state the densities of the library's own programs.

See laws.py.
"""

import jax
import numpy as np
from agree import agree
from case import Case
from laws import story_density
from numpyro.infer.util import log_density

import bayesgen as bg
from bayesgen.classes import ClassPrior
from bayesgen.estimators.program_text import IMPORTS, model_functions
from bayesgen.likelihoods import Likelihood

DRAWS, CLASS_ROWS = 3, 2.0


def columns_of(x: np.ndarray) -> dict[str, np.ndarray]:
    """Return rows as a program takes them: column -> array."""
    return {f"x{j}": x[:, j] for j in range(x.shape[1])}


def sites_of(
    case: Case, part: Likelihood, params: dict, block: str
) -> tuple[dict[str, np.ndarray], float]:
    """Return parameters as sites of the text, and log |d parameters / d sites|."""
    if part.joint or (part.kind == "counts" and "probs" in params):
        sites, jacobian = {f"{block}.{n}": value for n, value in params.items()}, 0.0
        if not part.conjugate:
            factor = sites.pop(f"{block}.cholesky")
            deviation = np.sqrt((factor**2).sum(-1))
            unit = factor / deviation[..., None]
            sites |= {f"{block}.deviation": deviation, f"{block}.correlation": unit}
            # polar coordinates of the rows of a triangular factor
            powers = np.arange(factor.shape[-1]) * np.log(deviation)
            jacobian = (powers - np.log(np.diagonal(unit, axis1=-2, axis2=-1))).sum()
        return {n: in_common(value) for n, value in sites.items()}, jacobian
    sites = {}
    for n, value in params.items():
        ends = np.cumsum(case.n_levels)[:-1]
        columns = np.split(value, ends, axis=-1) if case.n_levels else value.T
        sites |= {f"x{j}.{n}": in_common(column) for j, column in enumerate(columns)}
    return sites, 0.0


def in_common(value: np.ndarray) -> np.ndarray:
    """Return a parameter without the axis of classes where they have it in common."""
    return value[0] if len(value) == 1 else value


def law_program(case: Case, likelihood: Likelihood) -> None:
    """The text of a program has the log density of the program itself, missing cells among rows."""
    x, y = case.rows(np.random.default_rng(1), 60, gaps=case.prior.allows_missing_at_fit)
    X = np.where(case.missing(x), np.nan, x)
    clf = bg.GenerativeClassifier(case.prior, class_prior=CLASS_ROWS)
    prior = clf.sample_prior(DRAWS, X, y, random_state=0)
    scope: dict = {}
    exec("\n".join([IMPORTS, *model_functions(prior.model.state, CLASS_ROWS, "model")]), scope)
    problem = prior.model.problem
    ((block, part),) = problem.model.blocks.items()
    rows, classes = problem.statistics.blocks[block], problem.model.classes
    draws, probs = prior.draws[block], prior.draws["class"]["probs"]
    expected = story_density(part, draws) + part.log_likelihood(draws, rows)
    expected += dirichlet(classes, probs) + np.log(probs) @ problem.statistics.count
    origin = prior.model.state.origins(problem.reader)[block]
    for i in range(DRAWS):
        one = {n: value[i] for n, value in draws.items()}
        sites, jacobian = sites_of(case, part, part.shift_params(one, origin), block)
        with jax.enable_x64(True):
            sites = jax.tree.map(jax.numpy.asarray, sites | {"class_probs": probs[i]})
            args = jax.tree.map(jax.numpy.asarray, (columns_of(x), y))
            found, trace = log_density(scope["model"], args, {}, sites)
        drawn = {n for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
        assert drawn == set(sites)
        density = float(found) - jacobian
        agree(density, expected[i], what=f"log density of draw {i}", rtol=1e-10, atol=0.0)


def dirichlet(classes: ClassPrior, probs: np.ndarray) -> np.ndarray:
    from scipy.special import gammaln

    a = classes.rows * classes.probs
    return gammaln(a.sum()) - gammaln(a).sum() + np.log(probs) @ (a - 1)
