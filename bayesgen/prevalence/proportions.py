r"""Proportions of a mixture with given components: their mode and draws of their posterior.

Rows x_i of weight w_i come from sum_k pi_k f_k(x), pi ~ Dirichlet(alpha). In logits eta,
pi = softmax(eta), the log posterior density is

    sum_k alpha_k log pi_k + sum_i w_i log sum_k pi_k f_k(x_i)

with gradient alpha_k + R_k - (A + n) pi_k, where r_ik = pi_k f_k(x_i) / sum_j pi_j f_j(x_i),
R_k = sum_i w_i r_ik, A = sum_k alpha_k and n = sum_i w_i. Minus its Hessian at the mode is the
scatter of the responsibilities r_i, with weights w_i, and of the corners e_k, with weights alpha_k.

Draws are those of Hamiltonian Monte Carlo from the mode in whitened logits, where every posterior
is nearly a standard normal distribution and a quarter of a period forgets the start. Gibbs sampling
of labels (pi given counts, labels given pi) forgets the start only as fast as EM converges: rows
that hardly distinguish classes would need hundreds of sweeps, each with a random number per row.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import helmert

from bayesgen.likelihoods.base import row_chunks
from bayesgen.optimize import Points, Quadratic, newton

LONGEST_STEP = 1.0
"""Largest change of a logit in a step toward the mode of a draw."""
TRAJECTORIES, LEAPS = 6, 5
"""Trajectories of each draw, each of five steps over a quarter of a period. With two trajectories
the sd of an uninformed proportion is 3 % too small; with four or more, K = 2 to 10 and alpha = 1 or
1/2, draws differ from the exact distribution by at most .02 in probability (20,000 draws)."""

FLATTEST = 0.02
"""Added to precisions: trajectories stay within 10 logits. Under a prior of 1e-6 rows a logit has
an sd of 1,000, and of steps of that length only .04 were accepted (.9 with it)."""

DENSITY_FLOATS = 250_000
"""Densities held at once, 2 MB, or those of one draw."""

Relative = Float[np.ndarray, "draw class row"]
"""f_k(x_i) of every draw, relative to the largest of each row; rows side by side, since products
along an axis of three classes take five times as long (measured)."""
Rows = Float[np.ndarray, " row"]
Alpha = Float[np.ndarray, " class"]
Proportions = Float[np.ndarray, "draw class"]


def relative(logs: Float[np.ndarray, "*draw class row"]) -> Float[np.ndarray, "*draw class row"]:
    """Return exp(log f) relative to the largest of each row; impossible rows tell nothing."""
    top = logs.max(axis=-2, keepdims=True)
    impossible = np.isneginf(top)
    if impossible.any():
        logs, top = np.where(impossible, 0.0, logs), np.where(impossible, 0.0, top)
    return np.exp(logs - top)


def drawn(
    density: Relative,
    weight: Rows,
    alpha: Alpha,
    start: Alpha,
    rng: np.random.Generator,
    repeats: int = 1,
) -> tuple[Float[np.ndarray, "every class"], float]:
    """Return one draw of the proportions given each set of densities, and the acceptance rate.

    Args:
        density: of each row, given each draw of the components.
        weight: of the rows.
        alpha: Dirichlet rows of each class, above 0.
        start: proportions above 0 to search the modes from.
        rng: random numbers.
        repeats: draws given a single set of densities.
    """
    size, n_classes = density.shape[:2]
    if n_classes == 1:
        return np.ones((size * repeats, 1)), 1.0
    target = _Target(density, weight, alpha)
    center, root = _modes(target, np.tile(np.log(start), (size, 1)))
    parts = []
    # a trajectory into a tail where a proportion underflows has no density, and is rejected
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        for part in row_chunks(repeats, max(1, DENSITY_FLOATS // density.size)):
            times = part.stop - part.start
            centers, roots = (np.repeat(array, times, axis=0) for array in (center, root))
            parts.append(_trajectories(target, centers, roots, rng))
    return np.concatenate([draws for draws, _ in parts]), float(np.mean([r for _, r in parts]))


class _Target:
    """The log posterior density of the proportions, in logits (draw, class)."""

    def __init__(self, density: Relative, weight: Rows, alpha: Alpha) -> None:
        self.density, self.weight, self.alpha = density, weight, alpha
        self.total = float(alpha.sum() + weight.sum())

    def value(self, logits: Proportions) -> Float[np.ndarray, " draw"]:
        """Return the log density, up to a constant."""
        pi, mixed = self._mixed(logits)
        return np.log(pi) @ self.alpha + np.log(mixed) @ self.weight

    def gradient(self, logits: Proportions) -> Proportions:
        """Return the gradient."""
        pi, mixed = self._mixed(logits)
        sums = (self.density @ (self.weight / mixed)[..., None])[..., 0]
        return self.alpha + pi * sums - self.total * pi

    def quadratic(self, logits: Proportions) -> Quadratic:
        """Return the log density, with the scatter of responsibilities and corners."""
        pi, mixed = self._mixed(logits)
        value = np.log(pi) @ self.alpha + np.log(mixed) @ self.weight
        shares = self.density * pi[..., None]
        shares /= mixed[:, None]
        weighted = shares * self.weight
        sums = self.alpha + weighted.sum(axis=2)
        outer = weighted @ np.swapaxes(shares, 1, 2) + np.diag(self.alpha)
        outer -= sums[:, :, None] * sums[:, None] / self.total
        return Quadratic(value, sums - self.total * pi, -outer)

    def _mixed(self, logits: Proportions) -> tuple[Proportions, Float[np.ndarray, "draw row"]]:
        """Return the proportions, and the density of each row under the mixture."""
        pi = _softmax(logits)
        return pi, (pi[:, None] @ self.density)[:, 0]


def _softmax(logits: Proportions) -> Proportions:
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def _modes(
    target: _Target, logits: Proportions
) -> tuple[Proportions, Float[np.ndarray, "draw class free"]]:
    """Return the mode of every draw, and a root of its inverse scatter."""
    basis = helmert(logits.shape[1]).T

    def density(moves: Points) -> Quadratic:
        value, gradient, hessian = target.quadratic(logits + moves @ basis.T)
        return Quadratic(value, gradient @ basis, basis.T @ hessian @ basis)

    start = np.zeros((len(logits), basis.shape[1]))
    moves, mode = newton(density, start, longest=LONGEST_STEP)
    precision = FLATTEST * np.eye(basis.shape[1]) - mode.hessian
    factor = np.linalg.inv(np.linalg.cholesky(precision))
    return logits + moves @ basis.T, basis @ np.swapaxes(factor, 1, 2)


def _trajectories(
    target: _Target,
    center: Proportions,
    root: Float[np.ndarray, "draw class free"],
    rng: np.random.Generator,
) -> tuple[Proportions, float]:
    """Return where Hamiltonian trajectories from the center end, and the acceptance rate."""
    back, size = np.swapaxes(root, 1, 2), (len(center), root.shape[2])

    def logits(place: np.ndarray) -> Proportions:
        return center + (root @ place[..., None])[..., 0]

    def slope(place: np.ndarray) -> np.ndarray:
        return (back @ target.gradient(logits(place))[..., None])[..., 0]

    place, accepted = np.zeros(size), 0.0
    value, force = target.value(center), slope(place)
    for _ in range(TRAJECTORIES):
        momentum = rng.standard_normal(size)
        # lengths vary, since a fixed one may be a period of some direction
        step = np.pi / 2 / LEAPS * rng.uniform(0.7, 1.3, (size[0], 1))
        there, pull, speed = place, force, momentum + step / 2 * force
        for leap in range(LEAPS):
            there = there + step * speed
            pull = slope(there)
            speed = speed + (step if leap < LEAPS - 1 else step / 2) * pull
        after = target.value(logits(there))
        change = after - value + ((momentum**2).sum(axis=1) - (speed**2).sum(axis=1)) / 2
        taken = np.log(rng.random(size[0])) < change
        place, force = (np.where(taken[:, None], *pair) for pair in ((there, place), (pull, force)))
        value = np.where(taken, after, value)
        accepted += float(taken.mean()) / TRAJECTORIES
    return _softmax(logits(place)), accepted
