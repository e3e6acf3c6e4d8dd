"""Scores of one measure with their bounds: the score A, the expected score E, the upper bound U.

The normalisations are those of rankings. With E and U the same for all summaries of a document,
V1 and V2 grow with A, so that they cannot change the order of two summaries of that document; only means over
documents, and what is built on them, can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calipers.lists import Floats
from calipers.measures.normalisation import Limits, upper, v1, v2
from calipers.text.measure_names import TextMeasure
from calipers.text.registry import PARTS

Progress = Callable[[int], None]  # is told how many more are done

_FUNCTIONS = {"U": upper, "V1": v1, "V2": v2}
NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class BoundedScores:
    """The parts of one measure: [system, document, part]; NaN where there is no text.

    Scores that are no shares of 1 (errors, likelihoods) are normalised as shares: `shares` and `expected_shares` are
    what U, V1 and V2 are made of, and `ideal` is a share.
    """

    name: str  # with all that makes its figures
    parts: Floats
    ideal: Floats
    expected: Floats | None = None
    expected_error: Floats | None = None  # standard errors of expected scores; 0 unless sampled
    exactness: str = "exact"  # of the expected score: exact, enumerated or sampled
    notes: tuple[str, ...] = ()  # warnings about the scored texts
    names: tuple[str, ...] = PARTS  # of the parts
    shares: Floats | None = None
    expected_shares: Floats | None = None
    expected_share_error: Floats | None = None
    chance: str = "words"  # the random texts
    draws: int = 0  # random texts per summary, where sampled
    signature: str = ""  # the library that scored, and how
    unknown_upper: bool = False  # an attainable bound was asked for, and nobody knows it

    def value(self, measure: TextMeasure) -> Floats:
        """Return the scores under a measure derived from this one: [system, document]."""
        part = self.names.index(measure.part)
        score = self.parts[..., part]
        if not measure.normal:
            return np.asarray(score)
        if measure.normal == "E":
            return np.where(np.isnan(score), np.nan, 0.0 if self.expected is None else self.expected[..., part])
        chance = self._expected_shares
        return self._normalised(measure, 0.0 if chance is None else chance[..., part])

    def error(self, measure: TextMeasure) -> Floats:
        """Return the standard errors of the scores under a measure: [system, document].

        They come from sampled expected scores. For V1 and V2 it is how far the score moves when the expected score
        moves by one standard error, as for rankings.
        """
        part = self.names.index(measure.part)
        score = self.parts[..., part]
        missing = np.isnan(score)
        if not measure.expects or self.expected_error is None:
            return np.where(missing, np.nan, 0.0)
        if measure.normal == "E":
            return np.where(missing, np.nan, self.expected_error[..., part])
        chance = self._expected_shares
        assert chance is not None
        error = self.expected_error if self.expected_share_error is None else self.expected_share_error
        at = self._normalised(measure, chance[..., part])
        moved = [self._normalised(measure, chance[..., part] + sign * error[..., part]) for sign in (1, -1)]
        return np.asarray(np.fmax(*(np.abs(each - at) for each in moved)))

    def mean_error(self, measure: TextMeasure) -> Floats:
        """Return the standard error of each system's mean score under a measure."""
        error = self.error(measure)
        count = (~np.isnan(error)).sum(axis=1)
        return np.asarray(np.sqrt(np.nansum(error**2, axis=1)) / np.maximum(count, 1))

    def is_sampled(self, measure: TextMeasure) -> bool:
        """Return True if the scores under this measure depend on random draws."""
        return measure.expects and self.exactness == "sampled"

    def _normalised(self, measure: TextMeasure, expected: Floats | float) -> Floats:
        """Return U, V1 or V2 for the given expected scores as shares of 1."""
        part = self.names.index(measure.part)
        share, ideal = self._shares[..., part], self.ideal[..., part]
        expected = np.broadcast_to(expected, share.shape)
        # A random text of another length than the candidate's may exceed what the candidate could reach.
        limits = Limits(ideal.ravel(), np.minimum(expected, ideal).ravel(), np.zeros(share.size))
        return _FUNCTIONS[measure.normal](share.ravel(), limits).reshape(share.shape)

    @property
    def _shares(self) -> Floats:
        return self.parts if self.shares is None else self.shares

    @property
    def _expected_shares(self) -> Floats | None:
        return self.expected if self.expected_shares is None else self.expected_shares

    @property
    def clamped(self) -> int:
        """Number of summaries whose expected score was lowered to the upper bound."""
        chance = self._expected_shares
        return 0 if chance is None else int((chance > self.ideal + NOISE).any(axis=-1).sum())

    @property
    def same_within_documents(self) -> bool:
        """True if all summaries of a document have the same bounds, so that V1 and V2 keep their order."""
        chance = self._expected_shares
        if chance is None:
            return False
        there = ~np.isnan(self.parts)
        for bound in (chance, self.ideal):
            most = np.where(there, bound, -np.inf).max(axis=0)
            least = np.where(there, bound, np.inf).min(axis=0)
            if (most - least > NOISE).any():
                return False
        return True
