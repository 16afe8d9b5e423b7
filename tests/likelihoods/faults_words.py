"""Wrong programs about word counts: (law, case, owner, attribute, wrong), see faults.py."""

import laws
import numpy as np
from scipy.special import gammaln

from bayesgen.likelihoods import Multinomial, multinomial, multinomial_scores
from bayesgen.likelihoods.multinomial import MultinomialStatistics


def plugs_in_the_mean_urn(right):
    """What scikit-learn's MultinomialNB does: 75 words then count as if the urn were known."""
    return lambda self: self.log_density_fn({"probs": self.probs})


def forgets_the_orders_of_words(right):
    return lambda a, n: right(a, n) + gammaln(n + 1)[:, None]


def counts_each_word_once(right):
    def wrong(a):
        score = right(a)
        return lambda x: score(np.minimum(x, 1.0))

    return wrong


def keeps_missing_words_in_the_urn(right):
    return lambda values, gaps: np.tile(values.sum(axis=-1), (gaps.shape[0], 1))


def keeps_missing_words_in_a_stated_urn(right):
    def wrong(probs):
        score = right(probs)
        return lambda x: score(np.nan_to_num(x))

    return wrong


def divides_by_texts(right):
    """Takes the number of texts for the number of words."""

    def wrong(self, statistics):
        texts = statistics.length_weight.sum()
        return right(self, statistics).with_arrays({"rows": self.rows + texts})

    return wrong


def counts_texts_and_no_words(right):
    def wrong(self, x, y, weight, **sizes):
        return right(self, (x > 0).astype(float), y, weight, **sizes)

    return wrong


def forgets_the_lengths_of_one_part(right):
    def wrong(self, other):
        both = right(self, other)
        return both.with_arrays({"length_weight": np.ones(len(both.length))})

    return wrong


def adds_one_to_every_word(right):
    def wrong(self):
        more = self.concentration() + 1
        return {"probs": more / more.sum(axis=1, keepdims=True)}

    return wrong


def updates_no_urn(right):
    def wrong(concentration, rng, n):
        score = right(concentration, rng, n)
        return lambda x, own: score(x, np.full_like(own, -1))

    return wrong


def forgets_the_rest_of_the_urn(right):
    def wrong(concentration, cells):
        rows = cells.compressed().toarray()
        return np.stack([concentration[:, row > 0].sum(axis=1) for row in rows])

    return wrong


def guesses_by_position(right):
    def wrong(self, statistics):
        done = right(self, statistics)
        return done.with_arrays({"probs": np.tile([0.2, 0.3, 0.5], (len(done.rows), 1))})

    return wrong


WORDS = [
    (laws.law_addition, MultinomialStatistics, "__add__", forgets_the_lengths_of_one_part),
    (laws.law_sequence, Multinomial, "posterior", divides_by_texts),
    (laws.law_story, Multinomial, "statistics", counts_texts_and_no_words),
    (laws.law_bayes, Multinomial, "predictive", plugs_in_the_mean_urn),
    (laws.law_bayes, multinomial, "averaged", counts_each_word_once),
    (laws.law_mode, Multinomial, "mode", adds_one_to_every_word),
    (laws.law_average, Multinomial, "predictive", plugs_in_the_mean_urn),
    (laws.law_update, multinomial, "urn_scores", updates_no_urn),
    (laws.law_update, multinomial_scores, "_totals", forgets_the_rest_of_the_urn),
    (laws.law_total, multinomial_scores, "rising_by_total", forgets_the_orders_of_words),
    (laws.law_total, multinomial_scores, "observed_sums", keeps_missing_words_in_the_urn),
    (laws.law_total, multinomial, "given_urns", keeps_missing_words_in_a_stated_urn),
    (laws.law_units, Multinomial, "complete", guesses_by_position),
]
FAULTS = [(law, "Multinomial", *fault) for law, *fault in WORDS]
