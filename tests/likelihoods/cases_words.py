"""Word counts for the laws: three words, drawn from the urns of three classes."""

import dataclasses

import numpy as np
from case import Case, Table, some_classes

from bayesgen.likelihoods import Likelihood, Multinomial

TOTAL = 5
GIVEN_TOTALS = "words share their total: a missing word changes what the others say of each other"


class Words(Case):
    """Texts are complete where they are fitted, and their words compete for a given total."""

    def rows(self, rng: np.random.Generator, n: int, gaps: bool = False) -> Table:
        """Return n texts, none of them with missing words; the first one is empty."""
        x, y = self.table(rng, n)
        x[0] = 0.0
        return x, y

    def space(self, x: np.ndarray, columns: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
        """Return every way to share a total among some words, the others missing.

        Among the first two words also with the third one counted: that is the whole space.
        """
        if len(columns) == 1:
            rows = np.full((1, x.shape[1]), self.blank)
            rows[0, columns] = TOTAL
            return rows, np.ones(1)
        first, second = (values.ravel() for values in np.mgrid[: TOTAL + 1, : TOTAL + 1])
        rest = TOTAL - first - second
        whole = np.stack([first, second, rest], axis=1)[rest >= 0].astype(float)
        pairs = np.stack([first, second, np.full_like(first, 0)], axis=1)[rest == 0].astype(float)
        pairs[:, 2] = self.blank
        # two spaces, each of total one
        return np.concatenate([whole, pairs]), np.full(len(whole) + len(pairs), 0.5)


def some_words(rng: np.random.Generator, n: int) -> Table:
    """Return texts of some ten words."""
    y = some_classes(rng, n)
    probs = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.3, 0.1, 0.6]])
    return rng.multinomial(rng.poisson(10, n), probs[y]).astype(float), y


def word_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return some counts of a word."""
    return np.arange(TOTAL + 1.0), np.ones(TOTAL + 1)


def other_words(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return the words in another order."""
    order = [2, 0, 1]
    if not isinstance(prior.probs, np.ndarray):
        return x[:, order], prior
    return x[:, order], dataclasses.replace(prior, probs=prior.probs[:, order])


URNS = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.25, 0.35, 0.4]])
WORTH = np.array([6.0, 2.5, 11.0])
WORD = (some_words, np.nan, word_line, other_words)
EXEMPT = {"law_weight": GIVEN_TOTALS, "law_marginal": GIVEN_TOTALS}

WORDS = {
    "Multinomial": Words(Multinomial(probs=URNS, rows=WORTH), Multinomial(), *WORD, exempt=EXEMPT),
    "Multinomial laplace": Words(Multinomial.laplace(1), Multinomial(rows=3), *WORD, exempt=EXEMPT),
}
