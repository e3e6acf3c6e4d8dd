"""The attention that readers give to each document of a ranking, on average over the orders of ties."""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats

MODELS = ("rbp", "cascade")


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
    left = 1.0
    for start, size in zip(starts.tolist(), sizes.tolist(), strict=True):
        tied = goes_on[start : start + size]
        found[order[start : start + size]] = left * weight[start] * _inside(tied, weight[:size])
        left *= float(np.prod(tied))
    return found


def _inside(goes_on: Floats, weight: Floats) -> Floats:
    """The attention of each of some tied documents, of readers who come as far as the tie."""
    found = np.empty(len(goes_on))
    for value in np.unique(goes_on):
        others = np.delete(goes_on, np.argmax(goes_on == value))
        found[goes_on == value] = float((weight * _mean_products(others)).mean())
    return found


def _mean_products(values: Floats) -> Floats:
    """The mean of the products of p of the values, for p = 0, 1, ...: every step is a mean, so nothing overflows."""
    mean = np.zeros(len(values) + 1)
    mean[0] = 1.0
    if len(values) and (values == values[0]).all():
        return np.asarray(values[0] ** np.arange(len(values) + 1))
    for n, value in enumerate(values.tolist(), 1):
        p = np.arange(1, n + 1)
        mean[1 : n + 1] = (n - p) / n * mean[1 : n + 1] + p / n * value * mean[:n]
    return mean
