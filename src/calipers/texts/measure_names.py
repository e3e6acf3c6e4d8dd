"""Names of text measures: a declared measure, one of its parts, and U, V1, V2 or E of it.

ROUGE-2(part=recall)      precision, recall or f1 (the default)
V2(ROUGE-1)               the score between that of random texts (0) and the upper bound (1)
E(ROUGE-1)                the mean score of random texts
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from calipers.errors import CalipersError, UnknownName
from calipers.statistics.bounded_intervals import Ends
from calipers.texts.registry import TextDeclaration, look_up
from calipers.texts.rouge_scores import rouge_name

_NORMAL = re.compile(r"(U|V1|V2|E)\((.+)\)$", re.IGNORECASE)
_PLAIN = re.compile(r"([\w+.-]+)(?:\(\s*part\s*=\s*(\w+)\s*\))?$")


@dataclass(frozen=True)
class TextMeasure:
    """A part of a declared measure, as it is or normalised."""

    base: str  # ROUGE-1, ..., BERTScore
    part: str = "f1"  # empty for a measure that is one number
    normal: str = ""  # U, V1, V2, E, or empty

    @property
    def expects(self) -> bool:
        """True if the measure needs the expected score of random texts."""
        return self.normal in ("V1", "V2", "E")

    @property
    def declaration(self) -> TextDeclaration:
        return look_up(self.base)[0]

    @property
    def lower(self) -> bool:
        """True if a lower score is better. For normalised measures, higher is always better."""
        return self.declaration.lower and self.normal in ("", "E")

    @property
    def ends(self) -> Ends:
        """The lowest and the highest score of any text, each None if it is unknown."""
        low, high = self.declaration.range
        if self.normal in ("", "E"):
            return low, high
        return None if low is None else -1.0 if self.normal == "V2" else 0.0, 1.0

    def named(self, base: str | None = None) -> str:
        """Return the measure's name, with another name for the base if one is given.

        >>> TextMeasure("BERTScore", "recall", "V2").named("BERTScore(roberta-large L17)")
        'V2(BERTScore(roberta-large L17, part=recall))'
        """
        plain = base or self.base
        if self.part != self.declaration.parts[-1]:
            plain = f"{plain[:-1]}, part={self.part})" if plain.endswith(")") else f"{plain}(part={self.part})"
        return f"{self.normal}({plain})" if self.normal else plain


def text_measure(name: str) -> TextMeasure:
    """Parse the name of a measure.

    >>> text_measure("V2(ROUGE-2(part=recall))")
    TextMeasure(base='ROUGE-2', part='recall', normal='V2')
    """
    wrapped = _NORMAL.match(name)
    plain = _PLAIN.match(_as_ours(wrapped[2] if wrapped else name))
    if not plain:
        raise UnknownName(f"'{name}' is not a measure of texts, such as ROUGE-2, V2(ROUGE-L) or BERTScore")
    declaration, base = look_up(plain[1])
    parts = declaration.parts
    part = plain[2].lower() if plain[2] else parts[-1]
    if part not in parts:
        there = f"there are {', '.join(parts)}" if parts[-1] else "it is one number"
        raise UnknownName(f"unknown part '{plain[2]}' of '{name}'; {there}")
    measure = TextMeasure(base, part, wrapped[1].upper() if wrapped else "")
    if measure.expects and declaration.chance is None:
        raise CalipersError(f"{name}: {base} has no expected score, because random texts cannot be scored by it")
    return measure


_OTHERS = re.compile(
    r"(?:rouge[-_ ]?(\d|l|lsum)|bert[-_]?score)(?:_(f1|fmeasure|f_score|precision|recall))?$", re.IGNORECASE
)


def _as_ours(name: str) -> str:
    """Translate names of rouge_score, torchmetrics and bert_score.

    >>> _as_ours("rouge1"), _as_ours("rougeLsum"), _as_ours("rouge2_recall"), _as_ours("bert_score")
    ('ROUGE-1', 'ROUGE-Lsum', 'ROUGE-2(part=recall)', 'BERTScore')
    """
    found = _OTHERS.match(name)
    if not found:
        return name
    base = rouge_name(f"ROUGE-{found[1]}") if found[1] else "BERTScore"
    part = (found[2] or "f1").lower()
    return f"{base}(part={part})" if part in ("precision", "recall") else base


def text_measures(names: str | Sequence[str]) -> list[TextMeasure]:
    """Parse measure names from one string or several. Duplicates are dropped.

    >>> [measure.named() for measure in text_measures("rouge-1, V1(ROUGE-1)")]
    ['ROUGE-1', 'V1(ROUGE-1)']
    """
    words = [word for text in ([names] if isinstance(names, str) else names) for word in words_of(text)]
    if not words:
        raise CalipersError("no measure is named, such as ROUGE-1, V2(ROUGE-L) or BERTScore")
    return list(dict.fromkeys(text_measure(word) for word in words))


def words_of(names: str) -> list[str]:
    """Split names at spaces and commas, except within parentheses.

    >>> words_of("ROUGE-1,ROUGE-2 nDCG(gain=exp, rel=2)@10")
    ['ROUGE-1', 'ROUGE-2', 'nDCG(gain=exp, rel=2)@10']
    """
    words, depth = [""], 0
    for character in names:
        depth += (character == "(") - (character == ")")
        if (character.isspace() or character == ",") and depth <= 0:
            words.append("")
        else:
            words[-1] += character
    return [word for word in words if word]
