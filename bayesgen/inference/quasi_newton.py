"""Descent to the minimum from near it: SciPy's limited-memory quasi-Newton method (L-BFGS-B).

Source: Byrd, Lu, Nocedal and Zhu, "A limited memory algorithm for bound constrained optimization",
SIAM Journal on Scientific Computing 16 (1995) 1190-1208.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

STEPS = 500
"""Steps at most."""

Flat = Float[np.ndarray, " coordinate"]
NegLogDensity = Callable[[Flat], tuple[float, Flat]]
"""u -> minus the log density and its gradient, in coordinates of about unit scale."""


def lowest(f: NegLogDensity, start: Flat, reach: float = np.inf) -> Flat:
    """Return the lowest point that a descent from the start finds.

    No coordinate moves further than reach; where the start has no finite density, none moves.
    """
    from scipy.optimize import minimize

    wall = 1e3 * (1 + abs(f(start)[0]))
    if not (np.isfinite(wall) and start.size):
        return start

    def bounded(u: Flat) -> tuple[float, Flat]:
        value, slope = f(u)
        finite = np.isfinite(value) and np.isfinite(slope).all()
        # impossible: the line search turns back from there
        return (value, slope) if finite else (wall, np.zeros_like(u))

    # it ends where rounding does
    options = {"maxiter": STEPS, "maxcor": 20, "ftol": 1e-15, "gtol": 1e-9}
    bounds = [(at - reach, at + reach) for at in start] if np.isfinite(reach) else None
    return minimize(bounded, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
