"""The posterior given missing cells in joint blocks, which rule out a closed form: how it is drawn.

`IncompleteRows` is the whole rule of `inference="auto"`.
"""

import dataclasses

from bayesgen.errors import BayesgenWarning, Cure, NarrowIntervals, Words, warn
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.data_augmentation import Augmentation
from bayesgen.inference.draws import Draws
from bayesgen.inference.duration import announce, in_words
from bayesgen.inference.exact import Expected
from bayesgen.inference.importance_sampling import ImportanceSampling
from bayesgen.problem import Problem

LONGEST = 10.0
"""Seconds of data augmentation, as `Augmentation.seconds` estimates them, above which `"auto"` does
not wait for it. For 1,000 rows of 20 columns, 15 % of the cells missing, draws take 128 s and
expected statistics .04 s; log losses of new rows are .3572 and .3574 (LDA), .4268 and .4301 (QDA),
intervals a tenth narrower (benchmarks/expected_cells.py)."""
EXPECTED_STEPS = 100
"""Steps of a chain that take about as long as `Expected`, whose EM takes 32 to 70 (`missing`)."""


@dataclasses.dataclass(frozen=True)
class IncompleteRows:
    """The posterior given rows with missing cells in joint blocks.

    1. Importance sampling, where its weights hold: independent draws of the exact posterior.
    2. Else data augmentation, if it is estimated to take at most `LONGEST` seconds, or `exact`.
    3. Else the closed form after expected statistics, with a warning.

    The estimate is a count of operations times constants and reads no clock: a table has one method
    on every machine.

    Args:
        draws: in each of four chains; in all of a closed form.
        exact: whether the exact posterior was asked for, however long it takes.
    """

    draws: int = 1000
    exact: bool = False

    def infer(self, problem: Problem, seed: int) -> Draws | ClosedForm:
        """Return draws, or the closed form after expected statistics."""
        sampled = ImportanceSampling(self.draws).infer(problem, seed)
        if sampled is not None:
            self._tell("importance sampling", "auto")
            return sampled
        method = Augmentation(draws=self.draws)
        seconds = method.seconds(problem)
        if seconds > LONGEST and not self.exact:
            warn(_too_long(seconds))
            return Expected(self.draws).infer(problem, seed)
        fewer = Words("inference='expected'", "--inference expected")
        announce(seconds, fewer, seconds * EXPECTED_STEPS / method.all_draws)
        self._tell("data augmentation", "augmentation")
        return method.infer(problem, seed)

    def _tell(self, method: str, name: str) -> None:
        """Warn, where a closed form was asked for, that the posterior is simulated."""
        if self.exact:
            warn(
                BayesgenWarning(
                    "some fitted rows have missing cells in a joint block, which has no closed "
                    "form; the posterior was simulated by {method}.",
                    Cure(
                        "Pass inference={name!r} to choose this without a warning.",
                        "Add --inference {name} to choose this without a warning.",
                    ),
                    method=method,
                    name=name,
                )
            )


def _too_long(seconds: float) -> NarrowIntervals:
    """Return the warning that expected statistics replace draws; seconds: that draws would take."""
    return NarrowIntervals(
        "some fitted rows have missing cells in a joint block, and draws of the posterior would "
        "take about {duration}, judging by the numbers of rows, columns, classes and missing "
        "cells; expected statistics replaced them, as if missing cells had been observed, so that "
        "intervals are too narrow and probabilities a little too certain.",
        Cure(
            "Pass inference='augmentation' for the draws, or inference='expected' to choose this "
            "without a warning.",
            "Add --inference augmentation for the draws, or --inference expected to choose this "
            "without a warning.",
        ),
        duration=in_words(seconds),
    )
