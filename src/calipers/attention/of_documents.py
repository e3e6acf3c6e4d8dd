"""The attention that readers give to each document of a ranking, on average over the orders of ties."""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats, Ints

MODELS = ("rbp", "cascade")
NOBODY = 1e-18  # of the readers: ranks that fewer reach make no difference


def attention(score: Floats, stop: Floats, patience: float, model: str = "rbp") -> Floats:
    """How likely each document is looked at, where a larger score is ranked higher and equal ones are in random order.

    rbp: the document at rank i by a share patience^(i - 1) of the readers. cascade: by those of them who were not
    satisfied by a document above, each of which satisfies a share `stop` of its readers.

    The ranks of a tie are as likely as each other. With a cascade, p documents of the tie stand above with the mean of
    the products of p of the other (1 - stop), an elementary symmetric polynomial over a binomial coefficient.

    >>> attention(np.array([3.0, 2.0, 2.0]), np.zeros(3), 0.5).tolist()
    [1.0, 0.375, 0.375]
    >>> attention(np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.0, 0.0]), 0.5, "cascade").tolist()
    [1.0, 0.25, 0.125]
    """
    order = np.argsort(-score, kind="stable")
    weight = patience ** np.arange(len(score), dtype=np.float64)
    goes_on = 1.0 - (stop if model == "cascade" else np.zeros_like(stop))[order]
    starts = np.flatnonzero(np.r_[True, np.diff(score[order]) != 0]) if len(score) else np.zeros(0, np.intp)
    sizes = np.diff(np.r_[starts, len(score)])
    found = np.empty(len(score))
    if model != "cascade" or (sizes == 1).all():
        reached = weight * np.r_[1.0, np.cumprod(goes_on[:-1])]
        means = np.add.reduceat(reached, starts) / sizes if len(score) else reached
        found[order] = np.repeat(means, sizes)
        return found
    found[:] = 0.0
    left = 1.0
    seen = starts[weight[starts] > NOBODY]
    for start, size in zip(seen.tolist(), sizes.tolist(), strict=False):
        tied = goes_on[start : start + size]
        found[order[start : start + size]] = left * weight[start] * _inside(tied, weight[:size])
        left *= float(np.prod(tied))
    return found


def _inside(goes_on: Floats, weight: Floats) -> Floats:
    """The attention of each of some tied documents, of readers who come as far as the tie."""
    size = len(goes_on)
    weight = weight[weight > NOBODY]
    values, kind, count = np.unique(goes_on, return_inverse=True, return_counts=True)
    found = np.empty(len(values))
    for place in range(len(values)):
        others = count - (np.arange(len(values)) == place)
        products = _mean_products(values, others, len(weight))
        found[place] = (weight[: len(products)] * products).sum() / size
    return found[kind]


def _mean_products(values: Floats, counts: Ints, most: int) -> Floats:
    """The mean of the products of p of some numbers, p = 0, 1, ... below most; counts of them have each of the values.

    One value after the other: of p numbers k have the new value with the probabilities of the hypergeometric
    distribution.
    """
    mean, size = np.ones(1), 0
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        p = np.arange(min(size + count + 1, most))[:, None]
        k = np.arange(min(count + 1, most))[None, :]
        before = p - k
        possible = (before >= 0) & (before <= size)
        before = np.where(possible, before, 0)
        likely = np.exp(_log_choices(count, k) + _log_choices(size, before) - _log_choices(size + count, p))
        mean = np.where(possible, likely * value**k * mean[np.minimum(before, len(mean) - 1)], 0.0).sum(axis=1)
        size += count
    return mean


def _log_choices(n: int, k: Ints) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))
