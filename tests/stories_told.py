"""Rows for the programs in stories.py, and classifiers that are told them."""

import numpy as np
import stories

import bayesgen as bg

RANDOM = np.random.default_rng(0)
Y = np.array(["ash", "beech", "oak"] * 5)
X = RANDOM.normal(size=(15, 2)) + 2.0 * (Y == "oak")[:, None]
HOLES = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)


def told(story: object = stories.bells, inference: object = "map", **options: object):
    """Return an unfitted classifier with a story of one's own."""
    return bg.GenerativeClassifier(story=story, inference=inference, **options)
