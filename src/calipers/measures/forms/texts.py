"""Forms of measures of texts: how a scorer is made, and what is known about its scores. They score no rankings."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from calipers.errors import CalipersError
from calipers.lists import Floats, Lists
from calipers.measures.forms.base import Form, Traits

Ends = tuple[float | None, float | None]


class TextForm(Form):
    """A measure of texts, with its parameters."""

    name: str  # with the parameters that are given, except for the part
    prepare: partial[Any]  # returns the scorer of some texts, from a `calipers.texts.Context`
    parts: tuple[str, ...]  # the numbers that it gives for each text; the last one is the default
    part: str
    lower: bool = False  # a lower score is the better one
    share: Callable[[Floats], Floats] | None = None  # scores as shares of 1, which are normalised
    chance: str | None = "words"  # random texts of its expected score; None if it has none
    needs: str = ""  # fields of the data that the measure needs
    range: Ends = (None, None)  # the lowest and the highest score; None if it is unknown
    stated: str = ""  # the formula
    options: tuple[tuple[str, Any], ...] = ()  # words and references, where they are not the usual ones

    def score(self, lists: Lists) -> Floats:
        raise CalipersError(f"{self.name} scores texts, not rankings: see calipers.read_texts")

    def formula(self, letters: dict[str, str]) -> str:
        return self.stated or f"{self.name}: a score per text"


class NormalisedTextForm(Form):
    """A measure of texts between the expected score of random texts and an upper bound."""

    base: TextForm
    normal: str  # U, V1, V2 or E
    options: tuple[tuple[str, Any], ...] = ()  # random texts and upper bounds, where they are not the usual ones

    @property
    def traits(self) -> Traits:
        return Traits(is_normalised=True)

    def score(self, lists: Lists) -> Floats:
        raise CalipersError(f"{self.base.name} scores texts, not rankings: see calipers.read_texts")

    @property
    def lower(self) -> bool:
        """True if a lower score is better."""
        return self.base.lower and self.normal == "E"

    @property
    def range(self) -> Ends:
        """The lowest and the highest score of any text, each None if it is unknown."""
        low, high = self.base.range
        if self.normal == "E":
            return low, high
        return None if low is None else -1.0 if self.normal == "V2" else 0.0, 1.0

    def formula(self, letters: dict[str, str]) -> str:
        letters["A"] = self.base.formula(letters)
        letters["U, E"] = "the upper bound, and the mean A of random texts"
        return {
            "E": "E = mean A of random texts",
            "U": "A / U",
            "V1": "V1 = (A / U) * A / (A + E)",
            "V2": "V2 = (A - E) / (U - E) above E, (A - E) / E below",
        }[self.normal]
