"""Cards of text measures: one sentence, parameters, other names and a citation."""

from __future__ import annotations

import re
import sys

from calipers.axioms.cards import Card
from calipers.text.measure_names import TextMeasure, text_measure
from calipers.text.registry import TextDeclaration, declared_measures

_REFERENCE = re.compile(r"\b(19|20)\d\d\b")


def text_measure_rows() -> list[tuple[str, str, str]]:
    """Return name, sentence and other names of all declared text measures."""
    return [(_shown(each), each.sentence.replace("\n", " "), ", ".join(each.aliases)) for each in declared_measures()]


def text_measure_card(name: str) -> Card:
    """Return the card of a text measure.

    >>> text_measure_card("TER").range
    '0 upwards; less is better'
    """
    measure = text_measure(name)
    declaration = measure.declaration
    parts = [part for part in declaration.parts if part]
    return Card(
        measure=measure.named(),
        sentence=declaration.sentence.replace("\n", " "),
        formula=_formula(measure),
        where=("U: upper bound; E: mean score of random texts",) if measure.normal else (),
        range=_range(measure),
        reader="",
        exactness="",
        properties=None,
        citation=_citation(declaration),
        parameters=(("part", declaration.parts[-1] or "all", ", ".join(parts), "which of its numbers"),)
        if parts
        else (),
        aliases=declaration.aliases,
    )


def _shown(declaration: TextDeclaration) -> str:
    return "ROUGE-1 ... ROUGE-9, ROUGE-L, ROUGE-Lsum" if declaration.pattern is not None else declaration.name


def _formula(measure: TextMeasure) -> str:
    plain = measure.named().removeprefix(f"{measure.normal}(").removesuffix(")") if measure.normal else measure.named()
    return {
        "": f"{plain}: a score per text; a system's score is the mean over its texts",
        "E": f"E = mean {plain} of random texts",
        "U": f"{plain} / U",
        "V1": f"V1 = ({plain} / U) * {plain} / ({plain} + E)",
        "V2": f"V2 = ({plain} - E) / (U - E) above E, ({plain} - E) / E below",
    }[measure.normal]


def _range(measure: TextMeasure) -> str:
    if measure.lower:
        return "0 upwards; less is better"
    return {"V2": "-1 to 1; 0 is what random texts get"}.get(measure.normal, "0 to 1")


def _citation(declaration: TextDeclaration) -> tuple[str, ...]:
    """Return the citations in the docstring of the module that declares a measure."""
    module = sys.modules[(declaration.function or declaration.prepare).__module__]
    last = (module.__doc__ or "").strip().split("\n\n")[-1]
    return (" ".join(last.split()),) if _REFERENCE.search(last) else ()
