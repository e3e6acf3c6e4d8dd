"""Tables of measures and properties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from calipers.errors import CalipersError, UnknownName
from calipers.questions.properties.table_notes import NOTES
from calipers.questions.properties.verdicts import NINE, SEVEN, Properties
from calipers.results.tables import Table

# The rows of Moffat's (2013) table 2, in its order.
DOCUMENT = ("DCG", "SP", "RPrec", "SN-DCG", "SN-AP", "P", "nDCG", "SDCG", "HIT", "RR", "Recall", "AP", "RBP")

# nDCG as the tools have it, where that is another measure than those below: LETOR and MSLR; Yahoo, RankLib, LightGBM
# and XGBoost; scikit-learn. What they count for an empty query or a tie is no part of it.
TOOLS = (
    "nDCG(gain=exp,discount=jk2,short=zero,ideal=list)",
    "nDCG(gain=exp,ideal=list)",
    "nDCG(ideal=list)",
)

# More measures; nDCG with every gain and discount that a tool is known to use.
FURTHER = (
    "ERR",
    "GAP",
    "INSQ",
    "Weighted",
    "RBP(gain=linear)",
    "bpref",
    "AP(norm=k)",
    "AP(norm=min)",
    "nDCG(gain=exp)",
    "nDCG(discount=jk2)",
    "nDCG(gain=exp,discount=jk2)",
    "nDCG(discount=zipf)",
    *TOOLS,
    "U(DCG)",
    "V1(DCG)",
    "V2(DCG)",
    "V2s(DCG)",
    "U(SP)",
    "V1(SP)",
    "V2(SP)",
    "V2s(SP)",
)


def property_names(text: str | Iterable[str]) -> list[str]:
    """Return the properties that a text names, in its order.

    >>> property_names("Bounded, top_weighted tie-invariant")
    ['bounded', 'top-weighted', 'tie-invariant']
    """
    words = [w for part in ([text] if isinstance(text, str) else text) for w in re.split(r"[\s,]+", part) if w]
    names: list[str] = []
    for word in words:
        name = word.lower().replace("_", "-")
        known = [each for each in NINE if name in (each, each.replace("-", ""))]
        if not known:
            raise UnknownName.among("property", word, NINE)
        names.extend(each for each in known if each not in names)
    if not names:
        raise CalipersError(f"no property is named; there are {', '.join(NINE)}")
    return names


def plain(rows: Sequence[Properties], columns: Sequence[str] = SEVEN) -> Table:
    """yes or no, for other programs."""
    return Table(("measure", *columns), tuple((row.measure, *(row[name].word for name in columns)) for row in rows))


def annotated(rows: Sequence[Properties], columns: Sequence[str] = SEVEN, sizes: bool = False) -> Table:
    """Yes or No, with the letters of notes, as the document prints them; with sizes, how far a search went."""

    def cell(row: Properties, name: str) -> str:
        verdict = row[name]
        word = verdict.words if sizes else verdict.word
        return f"{word[0].upper()}{word[1:]} {verdict.note}".strip()

    return Table(("measure", *columns), tuple((row.measure, *(cell(row, name) for name in columns)) for row in rows))


def reasons(rows: Sequence[Properties], columns: Sequence[str] = SEVEN) -> Table:
    """Return a table with one row per measure and property: verdict, source, and counterexample or proof."""
    return Table(
        ("measure", "property", "verdict", "known", "why"),
        tuple((row.measure, name, row[name].word, row[name].how, _why(row, name)) for row in rows for name in columns),
    )


def notes_of(rows: Sequence[Properties], columns: Sequence[str] = SEVEN) -> list[str]:
    """Return the notes that the cells refer to, in order."""
    letters = sorted({row[name].note for row in rows for name in columns} - {""})
    return [f"{letter}. {NOTES[letter]}" for letter in letters]


def preferred(rows: Sequence[Properties], priorities: Sequence[str]) -> list[Properties]:
    """Sort measures: those with the first property come first, then those with the second property, and so on."""
    return sorted(rows, key=lambda row: [not row[name].holds for name in priorities])


def _why(row: Properties, name: str) -> str:
    verdict = row[name]
    if verdict.counterexample is not None:
        return str(verdict.counterexample)
    return verdict.proof or f"no counterexample up to {verdict.searched}"
