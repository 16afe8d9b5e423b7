"""`Family`: any univariate NumPyro distribution, with parameters per class and column."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from bayesgen.errors.packages import require_package
from bayesgen.likelihoods import supports
from bayesgen.likelihoods.base import Likelihood, fill_cell_by_cell
from bayesgen.likelihoods.description import literal
from bayesgen.likelihoods.distinct_rows import Values, distinct_values
from bayesgen.likelihoods.family.declaration import Declaration, declared, shown, spelled
from bayesgen.likelihoods.family.default_prior import own, pooled, resolvable_normal
from bayesgen.typing import Block, Labels, LevelCounts, Params, Traceable, Transform, Weights

CELLS = 1 << 21
"""Log densities of cells computed at once: 16 MB."""
FEWER, FEWEST = 16, 8
"""Chunks of rows come in few sizes, each a sixteenth of the next and none below 8 rows: as many
programs are compiled, and the last chunk is filled up."""
DEFAULT_PRIOR = '''\
def default_prior(family, names, centre, factor, *before):
    """Return the prior of the last parameter named, given the values of those before it.

    On the real line they are normal, with the mean `centre` and the covariance factor @ factor.T.
    """
    onto, i = [dist.biject_to(family.arg_constraints[name]) for name in names], len(before)
    u = jnp.array([f.inv(value) - c for f, value, c in zip(onto, before, centre)])
    mean = centre[i] + factor[i, :i] @ jnp.linalg.solve(factor[:i, :i], u) if i else centre[i]
    return dist.TransformedDistribution(dist.Normal(mean, factor[i, i]), onto[i])'''


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Family(Likelihood[Values]):
    r"""x | class ~ any univariate NumPyro distribution per column, such as `Family(dist.Gamma)`.

    Each class and column has its own parameters. Let u be the unconstrained parameter: the
    logarithm of a positive parameter, the log-odds of a probability, else the parameter itself. By
    default u ~ Normal(m, I^-1 / rows), where m is the maximum likelihood estimate of all classes
    together and I the information of one average row at m: a guess of strength `rows` in any unit.
    Standard deviations of logarithms and log-odds are at most 2.

    There is no closed form: use NUTS, MAP or MLE. Fitting keeps the distinct values of each class
    and column. Prediction requires JAX, since the density is NumPyro's.

    Source: Kass and Wasserman (1995), JASA 90, 928-934 (unit information).

    Args:
        distribution: a class of numpyro.distributions, or its name, whose draws and parameters are
            single numbers: Gamma, LogNormal, StudentT, Weibull, Beta, VonMises (angles from -pi to
            pi), NegativeBinomial2, ZeroInflatedPoisson, ... Discrete distributions model counts.
            The support must not depend on a free parameter.
        priors: parameter -> distribution of it on its own scale, the same for every class and
            column, in place of the default: {"df": dist.Gamma(2, 0.1)}.
        rows: strength of the default prior in rows, > 0.
        fixed: parameter -> value, for parameters held fixed: {"df": 4.0}.

    Raises:
        InvalidArgument: an unusable distribution, prior or fixed value; rows not above 0.

    Example:
        >>> import bayesgen as bg
        >>> import numpyro.distributions as dist
        >>> bg.Family(dist.StudentT, fixed={"df": 4.0})
        Family(dist.StudentT, fixed={'df': 4.0})
    """

    distribution: Callable | str
    priors: Mapping[str, object] | None = None
    rows: float | int = 1.0
    fixed: Mapping[str, float | int] | None = None
    centre: np.ndarray | None = dataclasses.field(default=None, init=False)
    factor: np.ndarray | None = dataclasses.field(default=None, init=False)

    no_program: ClassVar[str] = "its distribution or a prior is not one of numpyro.distributions"
    program_function: ClassVar[str] = DEFAULT_PRIOR
    hyperparameters: ClassVar = {"rows": "positive"}
    scalars: ClassVar = ("rows",)
    axes: ClassVar = {
        "centre": ("class", "feature", "parameter"),
        "factor": ("feature", "parameter", "parameter"),
    }

    def __post_init__(self) -> None:
        """Validate the distribution and the prior strength."""
        super().__post_init__()
        self.declaration.key()
        priors = {name: spelled(prior) for name, prior in (self.priors or {}).items()}
        object.__setattr__(self, "distribution", spelled(self.distribution))
        object.__setattr__(self, "priors", priors or None)

    @staticmethod
    def has(name: str) -> bool:
        """Return whether NumPyro is there and has a distribution of this name."""
        if not name[:1].isupper():
            return False
        with contextlib.suppress(ImportError):
            from numpyro import distributions

            return hasattr(distributions, name)
        return False

    @functools.cached_property
    def declaration(self) -> Declaration:
        """The validated declaration of the arguments."""
        require_package("numpyro", "likelihoods of NumPyro distributions")
        import jax

        # a traced program may be the first to ask: its tracers must not be cached
        with jax.ensure_compile_time_eval():
            return declared(self.distribution, self.priors, self.fixed)

    @property
    def distribution_words(self) -> str:
        """The distribution, in words."""
        return f"{shown(self.distribution)} of NumPyro"

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
        """The allowed cells, in words."""
        return self.declaration.allowed()

    @property
    def supports(self) -> dict[str, supports.Support]:
        """The support of each free parameter: that of its prior, or of the distribution."""
        names = self.declaration.names
        return {name: supports.onto(self.declaration.bijection(name)) for name in names}

    def settings(self) -> tuple:
        """Return the declaration: a program is traced by nothing else."""
        return (self.declaration,)

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Values:
        """Return the distinct values of each class and column, and their weights."""
        return distinct_values(x, y, weight, n_classes)

    def complete(self, statistics: Values) -> "Family":
        """Compute center and covariance of the default prior from the pooled classes."""
        centre, factor = pooled(self.declaration, statistics, float(self.rows))
        centre = np.broadcast_to(centre, (statistics.n_classes, *centre.shape)).copy()
        return self.with_arrays({"centre": centre, "factor": factor})

    def uninformative(self) -> np.ndarray:
        """Return which columns were never observed, or are constant without a stated prior."""
        return np.isnan(self.centre).any(axis=(0, 2))

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return the sum of log |d parameter / d u|."""
        return _in_double(lambda values: supports.log_jacobian(self.supports, values), params)

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
        import jax
        import jax.numpy as jnp

        with jax.enable_x64(True):
            key = jax.random.key(int(rng.integers(2**31)))
            own = {name: jnp.asarray(value[y]) for name, value in params.items()}
            return np.asarray(_sampler(self.declaration)(key, own)).astype(float)

    fill_given = fill_cell_by_cell

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
                normal = resolvable_normal() if self.declaration.pure[i] else dist.Normal
                prior = dist.TransformedDistribution(normal(mean, width), bijection)
                params[parameter] = numpyro.sample(site, prior)
                steps.append((bijection.inv(params[parameter]) - mean) / width)
        return params

    @property
    def program_priors(self) -> dict[str, str]:
        """The prior of each free parameter; a default one depends on those drawn before."""
        priors = {n: shown(prior) for n, prior in (self.priors or {}).items()}
        default = [n for n in self.declaration.names if n not in priors]
        for i, n in enumerate(default):
            names = ", ".join(["centre", "factor", *default[:i]])
            priors[n] = f"default_prior({self._program_class}, {default[: i + 1]}, {names})"
        return {n: priors[n] for n in self.declaration.names}

    @property
    def program_cells(self) -> str:
        """The distribution, if it and its priors are NumPyro's."""
        given = [f"{n}={n}[y]" for n in self.declaration.names]
        given += [f"{n}={value!r}" for n, value in self.declaration.fixed]
        spelled_out = [self.distribution, *(self.priors or {}).values()]
        is_of_numpyro = all(isinstance(value, str | tuple) for value in spelled_out)
        return f"{self._program_class}({', '.join(given)})" if is_of_numpyro else ""

    @property
    def _program_class(self) -> str:
        return f"dist.{self.declaration.distribution.__name__}"

    @property
    def program_filler(self) -> float:
        """A value inside the support."""
        return self.declaration.typical

    def program_numbers(self) -> dict[str, str | list[str]]:
        """Return center and factor of the default priors of each column."""
        free = np.flatnonzero(~self.declaration.stated)
        centre, factor = self.centre[..., free].swapaxes(0, 1), self.factor[:, free][..., free]
        return {"centre": list(map(literal, centre)), "factor": [literal(f, 0) for f in factor]}

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return the location and scale of the posterior of u, by parameter.

        Its mode, its width given the parameters before it, and its regression on those in such
        widths: (class, feature), the same, and (class, feature, parameter). The regression matters
        because a shape and a rate may be correlated almost perfectly.
        """
        mode, factor = own(self.declaration, statistics, self.centre, self.factor)
        width = np.diagonal(factor, axis1=-2, axis2=-1)
        slopes = np.tril(factor, -1) / width[..., None]
        names = enumerate(self.declaration.names)
        return {name: (mode[..., i], width[..., i], slopes[..., i, :]) for i, name in names}

    def sheared(self, u: Params, arrays: Mapping[str, tuple]) -> Params:
        """Return each coordinate plus its multiples of those of the parameters before it."""
        names = self.declaration.names
        return {
            name: u[name] + sum(arrays[name][2][..., j] * u[names[j]] for j in range(i))
            for i, name in enumerate(names)
        }

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the parameter at u = center + width times the sheared coordinate."""
        centre, width, _ = arrays
        return super().bijector(parameter, centre, width)

    def __repr__(self) -> str:
        """Return the constructor call."""
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


# -- densities by JAX, compiled for few shapes -----------------------------------------------------


def log_density(declaration: Declaration, params: Params) -> Callable[[Block], np.ndarray]:
    """Return x -> log p(x given y = k, params), shape (row, *draws, class).

    Missing cells contribute 0; a cell outside the support makes its row impossible.
    """
    import jax
    import jax.numpy as jnp

    *lead, n_classes, n_features = next(iter(params.values())).shape
    n_draws = int(np.prod(lead))
    parts = -(-n_draws * n_classes * n_features // CELLS)
    size = -(-n_draws // parts)
    whole = (np.arange(parts * size) % n_draws).reshape(parts, size)
    flat = {k: np.asarray(v).reshape(n_draws, n_classes, n_features) for k, v in params.items()}
    with jax.enable_x64(True):
        chunks = [{k: jnp.asarray(v[index]) for k, v in flat.items()} for index in whole]
    most = max(1, CELLS // (size * n_classes * n_features))

    def score(x: Block) -> np.ndarray:
        out = np.empty((len(x), parts * size, n_classes))
        outside, seen = declaration.out_of_support(x), ~np.isnan(x)
        cells = np.where(seen & ~outside, x, declaration.typical)
        n = _chunk_rows(len(x), most)
        run = _compiled(declaration)
        for begin in range(0, len(x), n):
            rows = np.minimum(np.arange(begin, begin + n), len(x) - 1)
            stop = min(begin + n, len(x))
            with jax.enable_x64(True):
                values, observed = jnp.asarray(cells[rows]), jnp.asarray(seen[rows])
                for i, chunk in enumerate(chunks):
                    found = np.asarray(run(values, observed, chunk))[: stop - begin]
                    out[begin:stop, i * size : (i + 1) * size] = found
        out[outside.any(axis=1)] = -np.inf
        return out[:, :n_draws].reshape(len(x), *lead, n_classes)

    return score


def _chunk_rows(n: int, most: int) -> int:
    size = most
    while size // FEWER >= max(n, FEWEST):
        size //= FEWER
    return size


@functools.lru_cache(maxsize=32)
def _compiled(declaration: Declaration) -> Callable:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def run(x: Traceable, seen: Traceable, params: Params) -> Traceable:
        cells = declaration.build(params).log_prob(x[:, None, None, :])
        # a density beyond the range of floats is as good as impossible
        cells = jnp.where(jnp.isnan(cells), -jnp.inf, cells)
        return jnp.where(seen[:, None, None, :], cells, 0.0).sum(axis=-1)

    return run


@functools.lru_cache(maxsize=32)
def _sampler(declaration: Declaration) -> Callable:
    import jax

    return jax.jit(lambda key, params: declaration.build(params).sample(key))
