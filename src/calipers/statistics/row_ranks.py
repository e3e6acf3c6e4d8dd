"""Ranks of values and counts of samples, row by row, for tests and for the stability of rankings."""

from __future__ import annotations

import numpy as np

from calipers.lists import Floats, Ints


def ranks_of_sorted(ascending: Floats) -> tuple[Floats, Floats]:
    """Return the rank of each value in its ascending row, and the number of values that share the rank.

    Equal values have their mean rank.

    >>> ranks_of_sorted(np.array([[0.1, 0.2, 0.2]]))
    (array([[1. , 2.5, 2.5]]), array([[1., 2., 2.]]))
    """
    width = ascending.shape[1]
    place = np.arange(1, width + 1)
    starts = np.ones(ascending.shape, bool)
    starts[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    first = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    ends = np.ones(ascending.shape, bool)
    ends[:, :-1] = starts[:, 1:]
    last = np.minimum.accumulate(np.where(ends, place, width + 1)[:, ::-1], axis=1)[:, ::-1]
    return (first + last) / 2, (last - first + 1).astype(np.float64)


def descending_ranks(values: Floats) -> Floats:
    """Return the rank of each value in its row. The largest value has rank 1, and undefined values are last.

    >>> descending_ranks(np.array([[0.2, 0.5, 0.2, np.nan]]))
    array([[2.5, 1. , 2.5, 4. ]])
    """
    turned = -np.nan_to_num(values, nan=-np.inf)
    order = np.argsort(turned, axis=1)
    rank = np.empty(values.shape)
    np.put_along_axis(rank, order, ranks_of_sorted(np.take_along_axis(turned, order, axis=1))[0], axis=1)
    return rank


def times_drawn(drawn: Ints, things: int) -> Floats:
    """Count how often each thing occurs in each row of draws.

    >>> times_drawn(np.array([[0, 0, 2]]), 3)
    array([[2., 0., 1.]])
    """
    row = np.arange(len(drawn))[:, None] * things
    return np.bincount((drawn + row).ravel(), minlength=len(drawn) * things).reshape(-1, things).astype(np.float64)
