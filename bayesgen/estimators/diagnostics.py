"""Diagnostics of a fitted classifier: arviz's DataTree and summary, and leave-one-out scores."""

import numpy as np
from scipy.sparse import csr_array, issparse

from bayesgen import diagnose, predict
from bayesgen.classes import Spec
from bayesgen.estimators.training import TrainingState
from bayesgen.inference import DrawsPosterior, Posterior, log_class_probabilities
from bayesgen.table import Name
from bayesgen.typing import ELPDData, Encoded, Joint, Labels, Weights

DRAWS = 1000
REPLICATES = 100
ROW = ("row",)


def row_groups(
    state: TrainingState,
    fitted: Posterior,
    posterior: DrawsPosterior,
    prior: diagnose.Params,
    encoded: Encoded,
    codes: Labels,
    rng: np.random.Generator,
    replicates: int,
) -> dict[str, diagnose.Group]:
    """Return how likely rows are under each draw, their labels, and tables simulated for these.

    Args:
        state: of the fit.
        fitted: its posterior.
        posterior: draws of it.
        prior: draws of the prior.
        encoded: rows.
        codes: their class codes.
        rng: random numbers.
        replicates: simulated tables.
    """
    conditional, joint = diagnose.log_likelihoods(posterior, encoded, codes)
    groups = {
        "sample_stats": diagnose.Group(posterior.sample_stats),
        "log_likelihood": diagnose.Group({"y": conditional}, {"y": ROW}),
        "log_likelihood_joint": diagnose.Group({"xy": joint}, {"xy": ROW}),
        "constant_data": diagnose.Group({"y": codes}, {"y": ROW}, samples=()),
    }
    for name, params in {"posterior": posterior.params, "prior": prior}.items():
        simulated = diagnose.replicated(params, posterior.families, codes, rng, replicates)
        groups[f"{name}_predictive"] = _by_column(state, fitted, simulated, len(codes))
    return groups


def _by_column(
    state: TrainingState, fitted: Posterior, simulated: dict[str, np.ndarray], n_rows: int
) -> diagnose.Group:
    """Return simulated tables (replicate, row, feature) by column, one chain."""
    if not simulated:
        return diagnose.Group({})
    n = len(next(iter(simulated.values())))
    flat = {name: x.reshape(n * n_rows, -1) for name, x in simulated.items()}
    encoded = state.restored(fitted, flat, n * n_rows)
    cells = cells_by_column(state, {name: encoded[name] for name in simulated})
    shaped = {name: part.reshape(1, n, n_rows) for name, part in cells.items()}
    return diagnose.Group(shaped, dict.fromkeys(shaped, ROW))


def axis_labels(state: TrainingState, posterior: Posterior) -> diagnose.Words:
    """Return the user's own words for the axes of parameters."""
    reader = posterior.reader
    features = {name: state.columns(reader, name) for name in reader.kept}
    levels = {name: state.level_names(reader, name) for name in reader.kept}
    return diagnose.Words(state.classes.tolist(), features, levels)


def named_parameters(
    state: TrainingState, posterior: Posterior, params: diagnose.Params, words: diagnose.Words
) -> diagnose.Group:
    """Return parameters under the user's names and in the user's units."""
    families, origin = posterior.families, state.kept_origin(posterior.reader)
    moved = {
        name: family.shift_params(dict(params[name]), origin[name])
        for name, family in families.items()
        if name in params
    }
    return diagnose.parameters({"class": params["class"], **moved}, families, words)


def prior_draws(
    state: TrainingState, prior: Spec, rng: np.random.Generator, draws: int
) -> diagnose.Params:
    """Return draws of every parameter before rows were seen."""
    return diagnose.prior_draws(state.complete(prior, frequencies=False)[0], rng, draws)


def log_priors(
    state: TrainingState, prior: Spec, posterior: DrawsPosterior
) -> dict[str, np.ndarray]:
    """Return the log density of each part's prior at the draws."""
    return diagnose.log_priors(state.complete(prior, frequencies=False)[0], posterior.params)


def observed(state: TrainingState, posterior: Posterior, encoded: Encoded) -> diagnose.Group:
    """Return the group of what was seen, by column."""
    cells = cells_by_column(state, {name: encoded[name] for name in posterior.reader.kept})
    return diagnose.Group(cells, dict.fromkeys(cells, ROW), samples=())


def cells_by_column(state: TrainingState, encoded: Encoded) -> dict[Name, np.ndarray]:
    """Return encoded rows by column: numbers in their own units, codes of levels or NaN."""
    out = {}
    for name, x in encoded.items():
        x = csr_array(x).toarray() if issparse(x) else x
        x = np.where(x < 0, np.nan, x) if x.dtype.kind == "i" else x
        shifted = x + state.schema.origin(name)
        for j, column in enumerate(state.schema.blocks[name]):
            out[column.name] = shifted[:, j]
    return out


def leave_one_out_rows(
    posterior: Posterior, left_out: Joint, codes: Labels
) -> dict[str, np.ndarray]:
    """Return log p(y_i given x_i) and log p(x_i, y_i), each given the other rows, by name.

    left_out: log joints of the rows given the others, (row, class).
    """
    predict.warn_impossible_rows(left_out)
    own = np.arange(len(codes)), codes
    proba = log_class_probabilities(left_out, posterior.log_classes())
    return {"log_proba": proba[own], "log_joint": left_out[own]}


def elpd(
    posterior: Posterior,
    encoded: Encoded,
    log_proba: np.ndarray,
    codes: Labels,
    weight: Weights,
    left_out: diagnose.LeaveOneOut,
) -> ELPDData:
    """Return arviz's ELPDData of log_proba, leave-one-out of the labels."""
    whole = posterior.log_joint(encoded, len(codes))
    before = log_class_probabilities(whole, posterior.log_classes())
    return diagnose.elpd(log_proba, before[np.arange(len(codes)), codes], weight, left_out)
