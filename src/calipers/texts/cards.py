"""Cards of text measures: one sentence, a formula, parameters, other names and a citation."""

from __future__ import annotations

from dataclasses import replace

from calipers.measures.grammar import parse
from calipers.questions.properties.cards import Card, measure_card
from calipers.texts.answer_retrieval import CONTEXT_MEASURES, ranking_measure
from calipers.texts.measure_names import TextMeasure, text_measure
from calipers.texts.registry import TextDeclaration, declared_measures


def text_measure_rows() -> list[tuple[str, str, str]]:
    """Return name, sentence and other names of all measures of texts.

    >>> [name for name, _, _ in text_measure_rows()][-2:]
    ['ContextPrecision', 'ContextRecall']
    """
    declared = [(_shown(each), each.sentence, ", ".join(each.aliases)) for each in declared_measures()]
    of_contexts = [(name, parse(same).declaration.sentence, same) for name, same in CONTEXT_MEASURES.items()]
    return [*declared, *of_contexts]


def text_measure_card(name: str) -> Card:
    """Return the card of a text measure.

    >>> text_measure_card("TER").range
    '0 upwards; less is better'
    """
    ranking = ranking_measure(name)
    if ranking != name:
        return replace(measure_card(ranking), measure=name)
    measure = text_measure(name)
    declaration = measure.declaration
    parts = [part for part in declaration.parts if part]
    return Card(
        measure=measure.named(),
        sentence=declaration.sentence,
        formula=_formula(measure),
        where=_where(measure),
        range=_range(measure),
        reader="",
        exactness="",
        properties=None,
        citation=(declaration.citation,) if declaration.citation else (),
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
        "": measure.declaration.formula or f"{plain}: a score per text",
        "E": f"E = mean {plain} of random texts",
        "U": f"{plain} / U",
        "V1": f"V1 = ({plain} / U) * {plain} / ({plain} + E)",
        "V2": f"V2 = ({plain} - E) / (U - E) above E, ({plain} - E) / E below",
    }[measure.normal]


def _where(measure: TextMeasure) -> tuple[str, ...]:
    if measure.normal:
        return ("U: upper bound; E: mean score of random texts",)
    return ("A system's score is the mean over its texts.",)


def _range(measure: TextMeasure) -> str:
    if measure.lower:
        return "0 upwards; less is better"
    return {"V2": "-1 to 1; 0 is what random texts get"}.get(measure.normal, "0 to 1")
