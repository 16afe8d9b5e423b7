"""The No-U-Turn sampler (NUTS), for the models of the library and for user programs.

Models of the library are sampled given their statistics, so the cost of a leapfrog step does not
depend on the number of rows.
"""

import dataclasses
import functools
import inspect
import itertools
import os
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Literal

import numpy as np

from bayesgen import arguments
from bayesgen.errors import Cure, Words
from bayesgen.errors.arguments import out_of_range, unknown_argument
from bayesgen.errors.files import not_resumable
from bayesgen.errors.operations import incomplete_rows, unsupported
from bayesgen.errors.packages import require_package
from bayesgen.errors.wording import named
from bayesgen.inference.chain_diagnostics import chain_diagnostics, disagreement, has_converged
from bayesgen.inference.checkpoint import Run, RunFile, Tree, digest, read_run
from bayesgen.inference.closed_blocks import (
    chains_of_draws,
    closed_blocks,
    numbers,
    without_closed,
)
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.draws import Draws
from bayesgen.inference.exact import Exact
from bayesgen.inference.log_density import (
    NUTS_TERMS,
    LogDensity,
    arrays,
    model_log_density,
    nested,
    total,
)
from bayesgen.inference.missing import complete_statistics
from bayesgen.inference.report import Report
from bayesgen.model import Model, ModelStatistics
from bayesgen.problem import Problem
from bayesgen.progress_bar import progress_bar, status_line
from bayesgen.typing import Params, Self, Traceable

Values = dict[str, np.ndarray]

CHUNK = 50
"""Steps between two updates of the progress bar and the checkpoint; Ctrl-C waits for their end."""

DENSITY_ROUNDING = 1e-8
"""Difference of log densities, relative to them and to 1, that counts as rounding."""

STATS = {
    "diverging": "diverging",
    "acceptance_rate": "accept_prob",
    "n_steps": "num_steps",
    "energy": "energy",
    "lp": "potential_energy",
}
"""Statistics of a draw: arviz's names, and numpyro's."""

SWITCHES = (
    *("dense_mass", "adapt_step_size", "adapt_mass_matrix", "find_heuristic_step_size"),
    *("forward_mode_differentiation", "regularize_mass_matrix"),
)
OPTIONS = ("max_tree_depth", "step_size", *SWITCHES)
"""Arguments of numpyro's kernel that have the same name here."""

COMPILING = "JAX compiles the sampler, which takes some seconds"
ALL_CLOSED = Words("Every block has a closed form: ") + Words(
    "inference='exact' gives independent draws of the same.",
    "--inference exact gives independent draws of the same.",
)


@dataclasses.dataclass(frozen=True)
class CompiledNUTS:
    """Compiled sampler steps for one log density; all arrays are passed as arguments.

    start(keys, tree) -> state of all chains. advance(state, tree, n) -> state after n <= CHUNK
    steps, and (coordinates, stats) of them, coordinates as one vector. values(coordinates, tree) ->
    parameters.
    potential_energy(state, tree) -> minus the log densities of all chains, computed and stored.
    """

    start: Callable
    advance: Callable
    values: Callable
    potential_energy: Callable

    def first(self, keys: Traceable, tree: dict, n_draws: int) -> tuple:
        """Return the state of all chains, and n_draws draws in at most one piece.

        Only their shapes mean something.
        """
        import jax
        import jax.numpy as jnp

        state = self.start(keys, tree)
        _, (u, stats) = self.advance(state, tree, 0)
        draws = (self.values(u, tree), u, stats)
        piece = jax.tree.map(lambda a: jnp.zeros((n_draws, *a.shape[1:]), a.dtype), draws)
        return state, (piece,) if n_draws else ()

    def taken(self, state: Tree, tree: dict, n: int, *, kept: bool) -> tuple:
        """Return the state after n <= CHUNK steps and, where they are kept, a tuple of their draws.

        Draws are one tree: (parameters, coordinates, stats), (step, chain, ...). Blocks until the
        steps are done, since Ctrl-C would otherwise take effect only after all of them.
        """
        import jax

        state, (u, stats) = self.advance(state, tree, n)
        draws = jax.device_get((self.values(u, tree), u, stats)) if kept else ()
        jax.block_until_ready(state)
        return state, (jax.tree.map(lambda array: array[:n], draws),) if kept else ()


@functools.lru_cache(maxsize=32)
def compiled(density: LogDensity, warmup: int, options: tuple) -> CompiledNUTS:
    """Return jitted steps; numpyro's own MCMC would compile its loop again at every fit.

    options: (name, value) of arguments of numpyro's kernel.
    """
    import jax
    import jax.numpy as jnp
    from jax.flatten_util import ravel_pytree
    from numpyro.infer.hmc import HMCState, hmc

    # jitted: traced once, not again for each gradient, step size and piece of the chain
    @functools.partial(jax.jit, inline=True)
    def energy(u: Traceable, tree: dict) -> Traceable:
        return -total(density.terms(tree, by_site(u, tree)), NUTS_TERMS)

    # one vector: numpyro builds trajectories array by array, which costs more than a gradient
    def by_site(u: Traceable, tree: dict) -> dict:
        return ravel_pytree(density.centre(tree))[1](u)

    def potential(tree: dict) -> Callable:
        return lambda u: energy(u, tree)

    begin, step = hmc(potential_fn_gen=potential, algo="NUTS")

    def start_one(key: Traceable, tree: dict) -> HMCState:
        # dispersed starts: one posterior width around the center
        centre = density.centre(tree)
        key, *site_keys = jax.random.split(key, len(centre) + 1)
        u = {
            site: jax.random.normal(site_key, zeros.shape)
            for site_key, (site, zeros) in zip(site_keys, centre.items(), strict=True)
        }
        u, _ = ravel_pytree(u)
        return begin(u, warmup, **dict(options), model_args=(tree,), rng_key=key)

    def one_step(state: HMCState, tree: dict) -> HMCState:
        return jax.vmap(lambda s: step(s, model_args=(tree,), model_kwargs={}))(state)

    def advance(state: HMCState, tree: dict, n: Traceable) -> tuple:
        def body(carry: HMCState, i: Traceable) -> tuple:
            carry = jax.lax.cond(i < n, lambda s: one_step(s, tree), lambda s: s, carry)
            return carry, (carry.z, {k: getattr(carry, v) for k, v in STATS.items()})

        return jax.lax.scan(body, state, jnp.arange(CHUNK))

    def values(u: Traceable, tree: dict) -> dict:
        return jax.vmap(jax.vmap(lambda point: density.values(tree, by_site(point, tree))))(u)

    def potential_energy(state: HMCState, tree: dict) -> tuple[Traceable, Traceable]:
        return jax.vmap(potential(tree))(state.z), state.potential_energy

    start = jax.jit(jax.vmap(start_one, in_axes=(0, None)))
    return CompiledNUTS(start, jax.jit(advance), jax.jit(values), jax.jit(potential_energy))


class Settings:
    """Base class that refuses unknown arguments with a sentence; the signature is the heir's."""

    def __new__(cls, *_: Any, **options: Any) -> Self:
        """Refuse arguments that are no field of the dataclass."""
        names = list(inspect.signature(cls).parameters)
        for name in options:
            if name not in names:
                raise unknown_argument(cls.__name__, name, names)
        return super().__new__(cls)


@dataclasses.dataclass(frozen=True)
class NUTS(Settings):
    """Posterior draws by the No-U-Turn sampler (Hoffman and Gelman 2014), in numpyro.

    Args:
        draws: kept draws of each chain.
        warmup: discarded draws of each chain, during which the sampler is tuned.
        chains: number of independent chains, run simultaneously.
        target_accept: target acceptance rate; values nearer to 1 give smaller steps. Posteriors
            close to normal need few steps: 0.65 took half as many as 0.8 for the same number of
            effective draws.
        progress: "auto" shows a bar in a terminal and in a notebook; True or False force it.
        checkpoint: path of a file, by convention ending in .bgm, that stores state and draws during
            sampling. It is written atomically, at most once a second, at the end, and on Ctrl-C, so
            that it is intact even if the process is killed. If the file exists, the same call
            resumes from it and returns the draws of an uninterrupted run, bit for bit; a finished
            run returns its draws immediately. The file is kept. With random_state=None its seed is
            reused. It holds a digest of the data behind the density, not the data. If it cannot be
            written, the fit stops, and what was written before can be resumed.
        max_tree_depth: a draw takes at most 2^max_tree_depth steps.
        dense_mass: whether to follow correlations left between the whitened coordinates.
        step_size, adapt_step_size, adapt_mass_matrix: as in `numpyro.infer.NUTS`.
        find_heuristic_step_size, forward_mode_differentiation: as in `numpyro.infer.NUTS`.
        regularize_mass_matrix: as in `numpyro.infer.NUTS`.

    Given the labels, blocks are independent. If only some have a closed form, NUTS samples the
    others (including conjugate joint blocks with missing cells); the rest and the class
    probabilities are drawn independently from their closed forms, and `report_.verdict` names both
    groups. Diagnostics and `sample_stats` describe the sampled blocks. A model with a closed form
    throughout is sampled as a whole, although inference="exact" gives independent draws from the
    same posterior in a fraction of the time. With unlabeled rows everything is sampled.

    Prior strengths that are "learn" are averaged over their grid, weighted by evidence, as with
    inference="exact": their blocks keep their closed forms even where no other block is sampled,
    and where all strengths are learned nothing is left to sample: the fit is that of `Exact`. With
    missing cells such a joint block has neither a closed form nor a density, and is refused.

    If sampling is interrupted (KeyboardInterrupt) the estimator stays unchanged, and a note on the
    exception gives the number of draws so far.

    `report_.details` holds the largest "r_hat" and the smallest "ess" of the sampled coordinates,
    which are unconstrained and whitened. `summary()` reports the diagnostics of the parameters,
    which are functions of the coordinates, so its values are close but not equal.

    Raises:
        InvalidFile: at fit, if the file is damaged or belongs to other data, another model, other
            arguments, another seed or other versions of jax and numpyro.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> method = bg.NUTS(draws=500, warmup=300, progress=False)
        >>> sampled = bg.NaiveBayes(inference=method, random_state=0).fit(X[["petal_width"]], y)
        >>> sampled.inference_
        'nuts'
    """

    draws: int = 1000
    warmup: int = 1000
    chains: int = 4
    target_accept: float = 0.8
    progress: bool | Literal["auto"] = "auto"
    checkpoint: str | os.PathLike | None = None
    max_tree_depth: int = 10
    dense_mass: bool = False
    step_size: float = 1.0
    adapt_step_size: bool = True
    adapt_mass_matrix: bool = True
    find_heuristic_step_size: bool = False
    forward_mode_differentiation: bool = False
    regularize_mass_matrix: bool = True

    def __post_init__(self) -> None:
        """Validate the arguments; keep the path as text, which saved models can hold."""
        arguments.count("max_tree_depth", self.max_tree_depth, default=10)
        if not arguments.is_number(self.step_size) or self.step_size <= 0:
            raise out_of_range(
                "step_size", self.step_size, "numbers above 0", "Pass step_size=1.0."
            )
        for name in SWITCHES:
            arguments.one_of(name, getattr(self, name), [True, False])
        arguments.count("draws", self.draws, default=1000)
        arguments.count("warmup", self.warmup, least=0, default=1000)
        arguments.count("chains", self.chains, default=4)
        arguments.share("target_accept", self.target_accept, default=0.8)
        arguments.one_of("progress", self.progress, ["auto", True, False])
        if self.checkpoint is not None:
            arguments.path("checkpoint", self.checkpoint, default="run.bgm")
            object.__setattr__(self, "checkpoint", os.fspath(self.checkpoint))

    def __repr__(self) -> str:
        """Return the call; options of numpyro's kernel only where they differ from its defaults."""
        shown = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
            if field.name not in OPTIONS or getattr(self, field.name) != field.default
        }
        return f"NUTS({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def kept_seed(self) -> int | None:
        """Return the seed of the run in the checkpoint, or None where there is none."""
        file = None if self.checkpoint is None else read_run(str(self.checkpoint))
        return None if file is None else file.settings.get("seed")

    def infer(self, problem: Problem, seed: int) -> Draws | ClosedForm:
        """Return draws of every parameter, with the diagnostics of those that were sampled.

        Where some block has no closed form, the others are drawn from theirs (see
        `bayesgen.inference.closed_blocks`).
        """
        model, statistics, reader = problem.model, problem.statistics, problem.reader
        closed = closed_blocks(model, statistics)
        if len(closed) == len(model.blocks):
            # sampled all the same, except averages over priors: they have no density of their own
            closed = {name for name, part in model.blocks.items() if len(part.components) > 1}
            if not closed:
                params, stats, report = self.sample_model(model, statistics, seed)
                report = dataclasses.replace(report, outcome=report.outcome + " " + ALL_CLOSED)
                return Draws(reader, report, params, model.blocks, stats)
            if len(closed) == len(model.blocks):
                return Exact(self.draws).infer(problem, seed)
        others, kept = without_closed(model, statistics, closed), numbers(model, statistics, closed)
        rest = statistics.only(others.blocks)
        params, stats, report = self.sample_model(others, rest, seed, kept)
        shape, rng = (self.chains, self.draws), np.random.default_rng(seed)
        exact = model.only(closed).posterior(statistics)
        params |= chains_of_draws(exact, rng, shape)
        outcome = report.outcome + f" {_account(model, closed)}"
        report = dataclasses.replace(report, outcome=outcome)
        params = {owner: params[owner] for owner in ("class", *model.blocks)}
        return Draws(reader, report, params, model.blocks | exact.blocks, stats)

    def sample_model(
        self, model: Model, statistics: ModelStatistics, seed: int, kept: Mapping | None = None
    ) -> tuple[dict[str, Params], Values, Report]:
        """Return draws of every parameter of a model by owner, all of them sampled.

        kept: numbers of blocks outside the model, for a checkpoint to be compared with.
        """
        for name, part in model.blocks.items():
            if len(part.components) > 1:
                raise incomplete_rows(part.title)
            if part.improper:
                raise unsupported(
                    f"block {name!r}",
                    "prior='reference' is improper and cannot be sampled",
                    "Use prior='conjugate', or inference='exact'.",
                )
        tree = arrays(model, statistics, complete_statistics(model, statistics))
        density = model_log_density(model, statistics)
        values, stats, report = self.sample(density, tree, seed, kept)
        params = nested(values, model)
        if model.classes.is_fixed:
            probs = params["class"]["probs"]
            params["class"]["probs"] = np.broadcast_to(probs, (self.chains, self.draws, len(probs)))
        return params, stats, report

    def sample(
        self, density: LogDensity, tree: dict, seed: int, kept: Mapping | None = None
    ) -> tuple[Values, Values, Report]:
        """Return parameters (chain, draw, ...) by site, statistics of the draws, and the report.

        kept: as for `sample_model`.
        """
        require_package("numpyro", "draws by NUTS")
        import jax
        import jax.numpy as jnp

        options = {name: getattr(self, name) for name in OPTIONS}
        options["target_accept_prob"] = self.target_accept
        sampler = compiled(density, self.warmup, tuple(options.items()))
        with jax.enable_x64(True):
            tree = jax.tree.map(jnp.asarray, tree)
            with status_line(COMPILING, self.progress):
                run = self._begun(sampler, tree, seed, kept)
            done = self._sample(sampler, tree, run)
        values, coordinates, stats = jax.tree.map(
            lambda *pieces: np.swapaxes(np.concatenate(pieces), 0, 1), *done.draws
        )
        report = _report(self, coordinates, stats, done.seconds)
        stats["lp"] = -stats["lp"]
        return values, stats, report

    def _begun(self, sampler: CompiledNUTS, tree: dict, seed: int, kept: Mapping | None) -> Run:
        """Return a run at its start, or as far as the one in the checkpoint got.

        Raises:
            InvalidFile: the file belongs to another run.
        """
        import jax

        # keys as their bits: a checkpoint holds arrays
        keys = jax.random.split(jax.random.PRNGKey(seed), self.chains)
        if self.checkpoint is None:
            return Run({}, state=sampler.start(keys, tree))
        path, settings = str(self.checkpoint), self._settings() | {"seed": seed}
        data = {**tree, "closed": kept} if kept else tree
        run = Run(settings | {"digest of data and model": digest(data)})
        file = read_run(path)
        if file is None:
            return dataclasses.replace(run, state=sampler.start(keys, tree))
        first = functools.partial(sampler.first, n_draws=max(file.steps - self.warmup, 0))
        run = run.resumed(file, path, functools.partial(jax.eval_shape, first, keys, tree))
        now, then = map(np.asarray, sampler.potential_energy(run.state, tree))
        if not np.allclose(now, then, DENSITY_ROUNDING, DENSITY_ROUNDING):
            raise not_resumable(path, "its model differs from that of this call")
        return run

    def _settings(self) -> dict:
        """Return the settings that a continued run must share."""
        arguments = ("draws", "warmup", "chains", "target_accept", *OPTIONS)
        packages = ("jax", "numpyro")
        return {
            **{name: getattr(self, name) for name in arguments},
            **{f"version of {name}": version(name) for name in packages},
        }

    def _sample(self, sampler: CompiledNUTS, tree: dict, run: Run) -> Run:
        """Return the run at its end."""
        file = None if self.checkpoint is None else RunFile(str(self.checkpoint))
        total = self.warmup + self.draws
        try:
            if run.steps < total:
                # compile before the clock starts: zero steps taken
                with status_line(COMPILING, self.progress):
                    sampler.taken(run.state, tree, 0, kept=True)
            began = time.perf_counter() - run.seconds
            with progress_bar(
                total, self.progress, unit="draw", title="NUTS", already=run.steps
            ) as bar:
                for begin, end in _chunks(self.warmup, total):
                    if begin < run.steps:
                        continue
                    kept = begin >= self.warmup
                    state, draws = sampler.taken(run.state, tree, end - begin, kept=kept)
                    reached = {"steps": end, "state": state, "draws": (*run.draws, *draws)}
                    # in one assignment: Ctrl-C may come between any two instructions
                    run = dataclasses.replace(run, **reached, seconds=time.perf_counter() - began)
                    bar.update(end - begin)
                    if file is not None and (end == total or file.due()):
                        file.write(run)
        except KeyboardInterrupt as stop:
            if file is not None:
                file.write(run)
            had, path = max(run.steps - self.warmup, 0), self.checkpoint
            counts = {"had": had, "draws": self.draws, "chains": self.chains}
            stop.add_note(_interrupted(path, **counts))
            raise
        return run


# what help() and editors show: the fields, not the arguments of __new__
_INIT = inspect.signature(NUTS.__init__).parameters.values()
setattr(NUTS, "__signature__", inspect.Signature(list(_INIT)[1:]))  # noqa: B010


def _chunks(warmup: int, total: int) -> list[tuple[int, int]]:
    """Return the (begin, end) of runs of at most CHUNK steps, none of them across the warm-up."""
    edges = [*range(0, warmup, CHUNK), *range(warmup, total, CHUNK), total]
    return list(itertools.pairwise(edges))


def _account(model: Model, closed: set[str]) -> str:
    """Return a sentence on which blocks were sampled and which drawn from closed forms."""
    sampled = named("block", [name for name in model.blocks if name not in closed])
    drawn = [] if model.classes.is_fixed else ["class probabilities"]
    drawn += [named("block", [name for name in model.blocks if name in closed])] if closed else []
    if not drawn:
        return f"Sampled: {sampled}."
    return f"Sampled: {sampled}; drawn from closed forms: {' and '.join(drawn)}."


def raised(target_accept: float) -> float:
    """Return a target acceptance rate for smaller steps: a quarter of the distance to 1 is left.

    Example:
        >>> round(raised(0.8), 4), round(raised(0.95), 4)
        (0.95, 0.9875)
    """
    return 1 - (1 - target_accept) / 4


def _report(method: NUTS, coordinates: np.ndarray, stats: Values, seconds: float) -> Report:
    chains, draws = stats["diverging"].shape
    details = chain_diagnostics(coordinates)
    divergences = int(stats["diverging"].sum())
    details |= {"divergences": float(divergences), "steps": float(stats["n_steps"].sum())}
    details["sampling_seconds"] = seconds
    found = f"r_hat {details['r_hat']:.3f}, {details['ess']:.0f} effective draws"
    verdict = Words(f"{found} at least, no divergence.")
    if divergences:
        verdict = Words(f"{divergences} of {chains * draws} draws diverged: ") + Cure(
            f"raise target_accept (NUTS(target_accept={raised(method.target_accept):.6g})) "
            "or state a stronger prior.",
            "sample for longer, --warmup 4000 --draws 4000, or use --inference auto.",
        )
    elif not has_converged(details, chains):
        more = max(2 * draws, NUTS.draws), max(2 * method.warmup, NUTS.warmup)
        python, shell = (", chains=1", " --chains 1") if chains == 1 else ("", "")
        verdict = Words(f"{disagreement(chains)} ({found}): ask for more, ") + Cure(
            f"NUTS(draws={more[0]}, warmup={more[1]}{python}).",
            f"--inference nuts --draws {more[0]} --warmup {more[1]}{shell}.",
        )
    return Report("nuts", not divergences and has_converged(details, chains), verdict, details)


def _interrupted(path: object, *, had: int, draws: int, chains: int) -> str:
    """Return a note for the exception that stops a sampler: the number of draws so far."""
    where = f"NUTS had {had:,} of {draws:,} draws of each of {chains} chains"
    if not had:
        where = (
            f"NUTS was in its warm-up and had none of {draws:,} draws of each of {chains} chains"
        )
    if path is not None:
        return f"{where}. {path!r} holds its state: repeat the same call to resume."
    return f"{where}. They are lost; NUTS(checkpoint='run.bgm') keeps them for the next call."
