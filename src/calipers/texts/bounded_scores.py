"""Scores of one measure with their bounds: the score A, the expected score E, the upper bound U.

The normalisations are those of rankings. If all texts about a document have the same E and U, V1 and V2 grow with A.
Then they cannot change the order of two texts about that document. Only means over documents can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calipers.lists import Floats
from calipers.measures.normalisation import Limits, upper, v1, v2
from calipers.texts.measure_names import TextMeasure
from calipers.texts.registry import PARTS

Progress = Callable[[int], None]  # called with the number of texts that were finished

_FUNCTIONS = {"U": upper, "V1": v1, "V2": v2}
NOISE = 1e-12


@dataclass(frozen=True, eq=False)
class BoundedScores:
    """Scores of one measure with their bounds: [system, document, part]; NaN if a system wrote no text.

    Scores on another scale than 0 to 1 (errors, likelihoods) are converted to shares of 1 before they are normalised.
    U, V1 and V2 are computed from `shares` and `expected_shares`, and `ideal` is a share.
    """

    name: str  # with the model and options that the scores depend on
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
    draws: int = 0  # random texts per text, if sampled
    signature: str = ""  # of the library that computed the scores
    unknown_upper: bool = False  # an attainable bound was requested, and none is known

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

        Errors come from sampled expected scores. For V1 and V2, the error is the change of the score if the expected
        score changes by one standard error, as for rankings.
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
        """Number of texts whose expected score was lowered to the upper bound."""
        chance = self._expected_shares
        return 0 if chance is None else int((chance > self.ideal + NOISE).any(axis=-1).sum())

    @property
    def same_within_documents(self) -> bool:
        """True if all texts about a document have the same bounds, so that V1 and V2 keep their order."""
        chance = self._expected_shares
        if chance is None:
            return False
        present = ~np.isnan(self.parts)
        for bound in (chance, self.ideal):
            most = np.where(present, bound, -np.inf).max(axis=0)
            least = np.where(present, bound, np.inf).min(axis=0)
            if (most - least > NOISE).any():
                return False
        return True
