"""Drawing without replacement, for many urns at once."""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats, Ints


def hypergeometric(size: Ints, marked: Ints, drawn: Ints) -> tuple[Floats, Ints]:
    """Return the probabilities of h = least, least + 1, ... marked items among those drawn, one row per urn.

        Pr(h) = C(marked, h) C(size - marked, drawn - h) / C(size, drawn)

    >>> chance, least = hypergeometric(np.array([4]), np.array([2]), np.array([2]))
    >>> chance.round(3).tolist(), least.tolist()
    ([[0.167, 0.667, 0.167]], [0])
    """
    least = np.maximum(0, drawn - (size - marked))
    most = np.minimum(marked, drawn)
    steps = np.arange(int((most - least).max(initial=0)))
    h = least[:, None] + steps
    inside = h < most[:, None]
    size, marked, drawn = size[:, None], marked[:, None], drawn[:, None]
    up = np.where(inside, (marked - h) * (drawn - h), 1).astype(np.float64)
    down = np.where(inside, (h + 1) * (size - marked - drawn + h + 1), 1).astype(np.float64)
    log_chance = np.zeros((len(least), len(steps) + 1))
    np.cumsum(np.log(up) - np.log(down), axis=1, out=log_chance[:, 1:])
    chance = np.exp(log_chance - log_chance.max(axis=1, keepdims=True))
    chance[:, 1:][~inside] = 0.0
    return chance / chance.sum(axis=1, keepdims=True), least
