"""Missing cells of rows, drawn from p(missing given observed, data): classes mixed."""

import numpy as np

from bayesgen.explain.showing import take
from bayesgen.inference import Draws, Posterior, PowerPosterior, class_probabilities
from bayesgen.inference.posterior import DENSITY_FLOATS, flat
from bayesgen.likelihoods.conditional_draws import fill, fill_given, is_missing_cell
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.typing import Encoded, Labels, Traceable


def untempered(posterior: Posterior) -> Posterior:
    """Return the posterior of the story itself."""
    return posterior.base if isinstance(posterior, PowerPosterior) else posterior


def filled(
    posterior: Posterior, encoded: Encoded, n_rows: int, rng: np.random.Generator
) -> dict[str, Traceable]:
    """Return encoded rows whose missing cells are drawn given the observed ones.

    The class comes first, from p(y = k given x, data), then the cells given it: of a closed form
    with the parameters integrated out, of draws given one of them, picked together with the class
    by p(x, y = k given theta). So draws of cells follow exactly the distribution that `log_joint`
    is the density of. Columns that were left out of the fit stay missing. Tempering changes no
    density of rows, and so no draw.
    """
    posterior = untempered(posterior)
    if isinstance(posterior, Draws):
        return _from_draws(posterior, encoded, n_rows, rng, None)
    probs = class_probabilities(posterior.log_joint(encoded, n_rows), posterior.log_classes())
    return filled_given(posterior, encoded, _picked(probs, rng), rng)


def filled_given(
    posterior: Posterior, encoded: Encoded, own: Labels, rng: np.random.Generator
) -> dict[str, Traceable]:
    """Return encoded rows whose missing cells are drawn given the observed ones and the class."""
    posterior = untempered(posterior)
    if isinstance(posterior, Draws):
        return _from_draws(posterior, encoded, len(own), rng, own)
    rows = posterior.reader.read(encoded)
    parts = {name: fill(family, rows[name], own, rng) for name, family in _families(posterior)}
    return _whole(posterior, encoded, parts)


def _families(posterior: Posterior) -> list:
    return list(posterior.families.items())


def _from_draws(
    posterior: Draws,
    encoded: Encoded,
    n_rows: int,
    rng: np.random.Generator,
    own: Labels | None,
) -> dict[str, Traceable]:
    draw, own = _draws_and_classes(posterior, encoded, n_rows, rng, own)
    rows = posterior.reader.read(encoded)
    parts = {name: rows[name].copy() for name, _ in _families(posterior)}
    order = np.argsort(draw, kind="stable")
    firsts = np.flatnonzero(np.diff(draw[order], prepend=-1))
    for at in np.split(order, firsts[1:]) if len(order) else []:
        for name, family in _families(posterior):
            if not is_missing_cell(parts[name][at]).any():
                continue
            params = {
                key: flat(value)[draw[at[0]]]
                for key, value in posterior.params.get(name, {}).items()
            }
            parts[name][at] = fill_given(family, params, rows[name][at], own[at], rng)
    return _whole(posterior, encoded, parts)


def _draws_and_classes(
    posterior: Draws, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return one draw of the parameters and one class for each row, given what it shows."""
    n_draws, n_classes = int(np.prod(posterior.shape)), len(posterior.log_classes())
    draw, classes = np.zeros(n_rows, dtype=int), np.zeros(n_rows, dtype=int)
    for part in row_chunks(n_rows, max(1, DENSITY_FLOATS // (n_draws * n_classes))):
        some = take(encoded, part)
        size = len(range(*part.indices(n_rows)))
        for at, joint in posterior.joint_draws(some, size):
            if own is not None:
                other = np.arange(n_classes) != own[part][at][:, None, None]
                joint = np.where(other, -np.inf, joint)
            flat = joint.reshape(len(at), -1)
            top = flat.max(axis=1, keepdims=True)
            weight = np.where(np.isneginf(top), 1.0, np.exp(flat - np.where(top > -np.inf, top, 0)))
            picked = _picked(weight, rng)
            draw[part.start + at], classes[part.start + at] = np.divmod(picked, n_classes)
    return draw, classes if own is None else own


def _picked(weight: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a position for each row, each as likely as its weight."""
    steps = weight.cumsum(axis=1)
    place = (rng.random((len(weight), 1)) * steps[:, -1:] >= steps).sum(axis=1)
    return np.minimum(place, weight.shape[1] - 1)


def _whole(
    posterior: Posterior, encoded: Encoded, parts: dict[str, Traceable]
) -> dict[str, Traceable]:
    """Return what likelihoods see among all columns, observed cells as they came."""
    out = dict(encoded)
    for name, part in parts.items():
        kept, x = posterior.reader.kept[name], encoded[name]
        if kept is not None:
            nothing = np.full_like(x, np.nan if x.dtype.kind == "f" else -1)
            part = posterior.reader.full[name].restore(part, kept, nothing)
        out[name] = np.where(is_missing_cell(x), part, x)
    return out
