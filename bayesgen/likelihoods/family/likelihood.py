"""Any NumPyro distribution of one number, with parameters of its own for each class and column."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from bayesgen.likelihoods.base import Likelihood, require_positive
from bayesgen.likelihoods.distinct_rows import Values, distinct_values
from bayesgen.likelihoods.family.declaration import Declaration
from bayesgen.likelihoods.family.declared import declared, shown, spelled
from bayesgen.likelihoods.family.density import log_density, simulated
from bayesgen.likelihoods.family.prior import own, pooled, resolvable_normal
from bayesgen.typing import Block, Labels, Params, Traceable, Transform, Weights


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Family(Likelihood[Values]):
    r"""x | class ~ any NumPyro distribution for each column, for example `Family(dist.Gamma)`.

    Each class and column has its own parameters. On the real line u is the logarithm of a positive
    parameter, the log-odds of a probability, else the parameter itself. Where no prior is stated,
    u ~ Normal(m, I^-1 / rows) with m the maximum likelihood estimate of all classes together and I
    the information of one average row there: a guess worth `rows` rows, in every unit. No standard
    deviation of a logarithm or of log-odds passes 2.

    There is no closed form: NUTS samples, MAP and MLE optimise. Fitting keeps the distinct values
    of each class and column. Prediction needs JAX, as the density is NumPyro's.

    Source: Kass and Wasserman (1995), JASA 90, 928-934 (unit information).

    Args:
        distribution: a class of numpyro.distributions, or its name, whose draws and parameters are
            single numbers: Gamma, LogNormal, StudentT, Weibull, Beta, VonMises (angles from -pi to
            pi), NegativeBinomial2, ZeroInflatedPoisson, ... Discrete ones read counts. Which
            values are possible must not depend on a free parameter.
        priors: parameter -> distribution of it on its own scale, the same for every class and
            column, in place of the default: {"df": dist.Gamma(2, 0.1)}.
        rows: how many rows the default prior is worth, > 0.
        fixed: parameter -> number; these are not learned: {"df": 4.0}.

    Raises:
        InvalidDistribution: what cannot be read as such a distribution, prior or number.
        InvalidPrior: rows not above 0.

    Example:
        >>> import numpyro.distributions as dist
        >>> Family(dist.StudentT, fixed={"df": 4.0})
        Family(dist.StudentT, fixed={'df': 4.0})
    """

    distribution: Callable | str
    priors: Mapping[str, object] | None = None
    rows: float | int = 1.0
    fixed: Mapping[str, float | int] | None = None
    centre: np.ndarray | None = dataclasses.field(default=None, init=False)
    factor: np.ndarray | None = dataclasses.field(default=None, init=False)

    has_closed_form_mle: ClassVar[bool] = False
    axes: ClassVar = {
        "centre": ("class", "feature", "parameter"),
        "factor": ("feature", "parameter", "parameter"),
    }

    def __post_init__(self) -> None:
        """Refuse what is no distribution of one number, and prior strengths not above 0."""
        require_positive(self, "rows")
        self.declaration.key()
        priors = {name: spelled(prior) for name, prior in (self.priors or {}).items()}
        object.__setattr__(self, "distribution", spelled(self.distribution))
        object.__setattr__(self, "priors", priors or None)

    @functools.cached_property
    def declaration(self) -> Declaration:
        """What the arguments declare, checked."""
        import jax

        # a program that is being traced may be the first to ask: its numbers must not stay here
        with jax.ensure_compile_time_eval():
            return declared(self.distribution, self.priors, self.fixed)

    @property
    def conjugate(self) -> bool:
        """Never: there is no closed form."""
        return False

    @property
    def kind(self) -> str:
        """Counts for discrete distributions, else numbers."""
        return "counts" if self.declaration.discrete else "numbers"

    @property
    def param_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each free parameter."""
        return dict.fromkeys(self.declaration.names, ("class", "feature"))

    @property
    def support(self) -> str:
        """What cells may be, in words."""
        return self.declaration.allowed()

    def settings(self) -> tuple:
        """Return the declaration: all that decides how a program is traced."""
        return (self.declaration,)

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> Values:
        """Return the distinct values of each class and column, and their weights."""
        return distinct_values(x, y, weight, n_classes)

    def complete(self, statistics: Values) -> "Family":
        """Find centre and covariance of the default prior from all classes together."""
        centre, factor = pooled(self.declaration, statistics, float(self.rows))
        centre = np.broadcast_to(centre, (statistics.n_classes, *centre.shape)).copy()
        return self.with_arrays({"centre": centre, "factor": factor})

    def uninformative(self) -> np.ndarray:
        """Return which columns were never observed, or are constant without a stated prior."""
        return np.isnan(self.centre).any(axis=(0, 2))

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return the sum of log |d parameter / d u|."""
        return _in_double(self._log_measure, params)

    def _log_measure(self, params: Params) -> Traceable:
        total = 0.0
        for name, value in params.items():
            bijection = self.declaration.bijection(name)
            total += bijection.log_abs_det_jacobian(bijection.inv(value), value).sum()
        return total

    def initial_params(self, statistics: Values) -> Params:
        """Return the pooled maximum likelihood estimate for every class."""
        import jax

        with jax.enable_x64(True):
            return jax.device_get(self.declaration.params(self.centre))

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of the log density, (row, *draws, class).

        A row with a cell outside the support is impossible: -inf.
        """
        return log_density(self.declaration, params)

    def out_of_support(self, x: Block) -> np.ndarray:
        """Return which observed cells lie outside the support."""
        return self.declaration.out_of_support(x)

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return the weighted sum of log densities of all values, (*draws,)."""
        return _in_double(self._log_likelihood, params, statistics)

    def _log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        of = statistics.y, statistics.column
        each = {name: value[..., *of, None] for name, value in params.items()}
        cells = self.declaration.build(each).log_prob(statistics.value)
        return (statistics.weight * cells).sum(axis=(-2, -1))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return cells of each row's class."""
        return simulated(self.declaration, params, y, rng)

    def story(self, name: str) -> Params:
        """Sample every free parameter for every class and column."""
        import numpyro
        import numpyro.distributions as dist

        n_classes, n_features, _ = self.centre.shape
        priors, params, steps = dict(self.declaration.priors), {}, []
        feature = numpyro.plate(f"{name}.feature", n_features, dim=-1)
        with feature, numpyro.plate(f"{name}.class", n_classes, dim=-2):
            for i, parameter in enumerate(self.declaration.names):
                site = f"{name}.{parameter}"
                if parameter in priors:
                    params[parameter] = numpyro.sample(site, priors[parameter])
                    steps.append(0.0)
                    continue
                # one after the other: a normal given those before it has the same width always
                width, bijection = self.factor[:, i, i], self.declaration.bijection(parameter)
                pull = sum(self.factor[:, i, j] * step for j, step in enumerate(steps))
                mean = self.centre[..., i] + pull
                normal = resolvable_normal() if self.declaration.pure()[i] else dist.Normal
                prior = dist.TransformedDistribution(normal(mean, width), bijection)
                params[parameter] = numpyro.sample(site, prior)
                steps.append((bijection.inv(params[parameter]) - mean) / width)
        return params

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return where the posterior of u sits, by parameter.

        Its mode, its width given the parameters before it, and how many such widths it moves with
        each of those: (class, feature), the same, and (class, feature, parameter). A shape and a
        rate may be so nearly one parameter that only together they are known at all.
        """
        mode, factor = own(self.declaration, statistics, self.centre, self.factor)
        width = np.diagonal(factor, axis1=-2, axis2=-1)
        slopes = np.tril(factor, -1) / width[..., None]
        names = enumerate(self.declaration.names)
        return {name: (mode[..., i], width[..., i], slopes[..., i, :]) for i, name in names}

    def sheared(self, u: Params, arrays: Mapping[str, tuple]) -> Params:
        """Return to each coordinate what those of the parameters before it add."""
        names = self.declaration.names
        return {
            name: u[name] + sum(arrays[name][2][..., j] * u[names[j]] for j in range(i))
            for i, name in enumerate(names)
        }

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the parameter at u = centre + width times the sheared coordinate."""
        from numpyro.distributions.transforms import AffineTransform, ComposeTransform

        centre, width, _ = arrays
        affine = AffineTransform(centre, width)
        return ComposeTransform([affine, self.declaration.bijection(parameter)])

    def __repr__(self) -> str:
        """Show the call as it would be typed."""
        parts = [shown(self.distribution)]
        if self.priors:
            each = (f"{name!r}: {shown(prior)}" for name, prior in self.priors.items())
            parts.append(f"priors={{{', '.join(each)}}}")
        if self.rows != 1:
            parts.append(f"rows={self.rows!r}")
        if self.fixed:
            parts.append(f"fixed={dict(self.fixed)!r}")
        return f"Family({', '.join(parts)})"


def _in_double(formula: Callable, params: Params, *more: Values) -> Traceable:
    """Return what a formula of JAX gives: of NumPy's arrays, NumPy's, in double precision."""
    import jax

    if not all(isinstance(value, np.ndarray) for value in params.values()):
        return formula(params, *more)
    with jax.enable_x64(True):
        return np.asarray(formula(params, *more))
