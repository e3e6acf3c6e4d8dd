"""What a measure gives for texts, with its bounds: the score A, the expected score E, the upper bound U.

The normalisations are those of rankings. With E and U the same for all summaries of a document,
V1 and V2 grow with A, so that they cannot change the order of two summaries of that document; only means over
documents, and what is built on them, can change.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from calipers.limits.normalisation import Limits, upper, v1, v2
from calipers.lists import Floats
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
    exactness: str = "exact"  # of the expected score
    error: float = 0.0  # the largest standard error of an expected score
    cut: int = 0  # texts that were longer than the model reads
    names: tuple[str, ...] = PARTS  # of the parts
    shares: Floats | None = None
    expected_shares: Floats | None = None
    error_of_mean: float = 0.0  # the largest standard error of a system's mean expected score
    chance: str = "words"  # the random texts
    drawn: int | None = None  # how many of them, where they were not scored one by one
    signature: str = ""  # the library that scored, and how
    unknown_upper: bool = False  # an attainable bound was asked for, and nobody knows it

    def value(self, measure: TextMeasure) -> Floats:
        """The scores under a measure that is made of this one: [system, document]."""
        part = self.names.index(measure.part)
        score = self.parts[..., part]
        if not measure.normal:
            return np.asarray(score)
        if measure.normal == "E":
            return np.where(np.isnan(score), np.nan, 0.0 if self.expected is None else self.expected[..., part])
        share, ideal = self._shares[..., part], self.ideal[..., part]
        chance = self._expected_shares
        expected = np.zeros_like(share) if chance is None else chance[..., part]
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
        """Summaries whose expected score had to be lowered to the upper bound."""
        chance = self._expected_shares
        return 0 if chance is None else int((chance > self.ideal + NOISE).any(axis=-1).sum())

    @property
    def same_within_documents(self) -> bool:
        """Whether all summaries of a document have the same bounds, so that V1 and V2 order them as the score does."""
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
