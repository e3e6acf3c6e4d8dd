"""Cards of measures, made from the declaration, the form and the derived properties."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from calipers.errors import CalipersError
from calipers.measures.dialects import trec_names
from calipers.measures.forms.base import OPAQUE, Form, number
from calipers.measures.forms.texts import NormalisedTextForm, TextForm
from calipers.measures.grammar import parse
from calipers.measures.registry import Declaration, Measure, all_declared, look_up, other_names
from calipers.questions.properties.examined_measures import Examined, Subject, subject_of
from calipers.questions.properties.reader_sentences import reader, tie_rule
from calipers.questions.properties.small_rankings import lists_of
from calipers.questions.properties.verdicts import NINE, NOTES, Properties, examine
from calipers.results.tables import Table
from calipers.support.checks import check_type

_REFERENCE = re.compile(r"\b(19|20)\d\d\b|trec_eval \d")
HIGH_GRADE, MANY = 3.0, 64  # beyond the grades that properties are examined on; documents that are shown


@dataclass(frozen=True)
class Card:
    """The definition, parameters and properties of a measure. `str` is the card in Markdown."""

    measure: str
    sentence: str
    formula: str
    where: tuple[str, ...]  # what the letters in the formula stand for
    range: str
    reader: str  # the user model
    exactness: str  # of averages over ties, and so of expected values
    properties: Properties | None  # derived for measures of one grade per document
    citation: tuple[str, ...]
    parameters: tuple[tuple[str, str, str, str], ...] = ()  # name, default, choices, meaning
    aliases: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"# {self.measure}", ""]
        if self.sentence:
            lines += [self.sentence, ""]
        lines += [f"    {self.formula}", *(f"    {line}" for line in self.where), ""]
        facts = {"Range": self.range, "Reader": self.reader, "Ties": self.exactness}
        facts["Other names"] = ", ".join(self.aliases)
        lines += [*(f"- **{what}:** {fact}" for what, fact in facts.items() if fact), ""]
        if self.parameters:
            lines += Table(("parameter", "default", "choices", "meaning"), self.parameters).to_markdown().splitlines()
            lines.append("")
        lines += _properties(self.properties) if self.properties is not None else []
        if self.citation:
            lines += ["", *(f"- {line}" for line in self.citation)]
        return "\n".join(lines) + "\n"

    def _repr_markdown_(self) -> str:
        return str(self)


def _properties(properties: Properties) -> list[str]:
    lines = ["| property | | why |", "| --- | --- | --- |"]
    for name in NINE:
        verdict = properties[name]
        why = str(verdict).partition(": ")[2] if verdict.how != "searched" else "no counterexample"
        known = {"refuted": "no", "proved": "yes, proved", "searched": f"yes up to {verdict.searched}"}[verdict.how]
        note = f" ({verdict.note})" if verdict.note else ""
        lines.append(f"| {name} | {known}{note} | {why} |")
    letters = sorted({verdict.note for verdict in properties} - {""})
    return [*lines, "", *(f"{letter}. {NOTES[letter]}  " for letter in letters), _legend(properties)]


def measure_card(measure: Examined) -> Card:
    """Return the card of a measure: formula, range, user model, parameters, properties, citation.

    >>> card = measure_card("RBP(p=0.8)")
    >>> card.formula
    'RBP@k = (1 - p) * sum over i <= k of p^(i - 1) * value_i'
    >>> card.range
    '0 to 1'
    """
    if isinstance(measure, str) and (other := _of_other_judgments(measure)) is not None:
        return other
    subject = subject_of(measure)
    properties = examine(subject)
    declaration = subject.measure.declaration if isinstance(subject.measure, Measure) else None
    form = subject.form(1)
    derived, where = formula_of(form)
    stated = _stated_formula(subject.measure) if isinstance(subject.measure, Measure) else ""
    if OPAQUE in derived:
        where = ()
        if declaration is not None and declaration.sentence:
            derived = f"{declaration.name} = {_spoken(declaration.sentence)}"
    elif stated and not form.traits.is_normalised:
        where = (f"in other words: {derived}", *where)
    return Card(
        measure=subject.name,
        sentence=declaration.sentence if declaration is not None else "",
        formula=stated or derived,
        where=where,
        range=_range(properties) + _beyond(subject, properties),
        reader=reader(form),
        exactness=tie_rule(subject.whole or form),
        properties=properties,
        citation=citation_of(declaration) if declaration is not None else (),
        **(_names(declaration) if declaration is not None else {}),
    )


def _names(declaration: Declaration) -> dict[str, Any]:
    aliases = dict.fromkeys([*other_names(declaration), *trec_names(declaration.name)])
    rows = (
        (name, parameter.default_in_words, parameter.takes, parameter.meaning)
        for name, parameter in declaration.parameters.items()
    )
    return {"parameters": tuple(rows), "aliases": tuple(aliases)}


def _of_other_judgments(name: str) -> Card | None:
    """Return the card of a measure of subtopics, samples or texts. It has no derived properties."""
    known = look_up(name.partition("@")[0].partition("(")[0].strip(), with_cutoff="@" in name)
    if known is None:
        return None
    declaration = known[0]
    measure = _parsed(name) or (None if declaration.reads == "grades" else parse(declaration.example))
    if measure is not None and isinstance(measure.form, TextForm | NormalisedTextForm):
        return _of_texts(declaration.name if name == declaration.name else repr(measure), measure, measure.form)
    if declaration.reads == "grades":
        return None
    measure = parse(name if "@" in name or "(" in name else declaration.example)
    stated = _stated_formula(measure)
    return Card(
        measure=name,
        sentence=declaration.sentence,
        formula=stated or f"{declaration.name} = {_spoken(declaration.sentence)}",
        where=(),
        range="",
        reader="",
        exactness=tie_rule(measure.form),
        properties=None,
        citation=citation_of(declaration),
        **_names(declaration),
    )


def _parsed(name: str) -> Measure | None:
    """Return the measure of a name, or None if the name lacks something, such as the cutoff of P."""
    try:
        return parse(name)
    except CalipersError:
        return None


def _of_texts(name: str, measure: Measure, form: TextForm | NormalisedTextForm) -> Card:
    """Return the card of a measure of texts."""
    formula, where = formula_of(form)
    low, high = form.range
    ends = "" if low is None else f"{low:g} upwards" if high is None else f"{low:g} to {high:g}"
    less = "; less is better" if form.lower else ""
    return Card(
        measure=name,
        sentence=measure.declaration.sentence,
        formula=formula,
        where=(*where, "A system's score is the mean over its texts."),
        range=ends + less,
        reader="",
        exactness="",
        properties=None,
        citation=citation_of(measure.declaration),
        **_names(measure.declaration),
    )


# -- from the declaration ----------------------------------------------------------------------------


def _stated_formula(measure: Measure) -> str:
    """Return the formula in the docstring of the family, `NAME@k = ...` on an indented line.

    The formula has letters for numbers, so it holds for all values of numeric parameters. Return an empty string if
    another parameter is given, which may change the formula.
    """
    changed = (value for key, value in measure.given if key not in ("cutoff", "of"))
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in changed):
        return ""
    named = re.compile(rf"{re.escape(measure.name)}(@\S+)?\s*=")
    text = re.sub(r",\n +", ", ", measure.declaration.citation)  # a formula that goes on
    for line in text.splitlines():
        if line.startswith("    "):
            first, *others = re.split(r"\s{6,}", line.strip())
            for part in (first + "".join(f" {word}" for word in others if " " not in word), *others):
                if named.match(part):
                    return re.sub(r"\s{2,}", " ", part)
    return ""


def _spoken(sentence: str) -> str:
    first = sentence.partition("\n")[0].rstrip(".")
    return first if first[1:2].isupper() else first[:1].lower() + first[1:]


def references(declaration: Declaration) -> list[str]:
    """Return the references in the docstring of the family: lines with a year or a version of trec_eval."""
    text = declaration.citation
    while (joined := re.sub(r"^(\S.*[^.\s])\n *(?=\S)", r"\1 ", text, flags=re.MULTILINE)) != text:
        text = joined  # a line without a full stop goes on
    return [line.strip() for line in text.splitlines() if _REFERENCE.search(line) and line[0] != " "]


def citation_of(declaration: Declaration) -> tuple[str, ...]:
    """Return the references that name this measure in brackets, or else the references that name no measure."""
    cited = {line: _marks(line) for line in references(declaration)}
    names = {declaration.name.lower(), *(name.lower() for name in declaration.aliases)}
    own = [line for line, marks in cited.items() if names & marks]
    return tuple(own or (line for line, marks in cited.items() if not marks))


def _marks(line: str) -> set[str]:
    """Return the measures in the brackets at the end of a reference."""
    found = re.search(r"\(([^()]*)\)\.?$", line)
    return {name.strip().lower() for name in found.group(1).split(",")} if found else set()


# -- from the form -----------------------------------------------------------------------------------


def formula_of(form: Form) -> tuple[str, tuple[str, ...]]:
    """Return the formula of a form, and the meaning of its letters."""
    letters: dict[str, str] = {}
    return form.formula(letters), tuple(f"{letter} = {meaning}" for letter, meaning in letters.items())


# -- from the properties -----------------------------------------------------------------------------


def _range(properties: Properties) -> str:
    smallest, largest = round(properties.smallest, 9) + 0.0, round(properties.largest, 9) + 0.0
    if smallest == largest:
        return f"always {number(largest)} on lists that are judged throughout"
    low = number(min(smallest, 0.0))
    least = f"; the smallest score found is {number(smallest)}" if smallest > 0 else ""
    if not properties.bounded:
        return (f"{low} and up, without bound" if smallest > -properties.bound else "without bound") + least
    if largest >= properties.bound or properties.realizable:
        return f"{low} to {number(largest)}{least}"
    return f"{low} to {number(properties.bound)}; the largest score found is {number(largest)}{least}"


def _beyond(subject: Subject, properties: Properties) -> str:
    """Return a remark on scores of gains above 1, or an empty string if they stay in the range of gains up to 1."""
    if subject.levels or not properties.bounded:
        return ""
    score = float(subject.score(lists_of([(HIGH_GRADE,) * MANY]), MANY)[0])
    if not score > properties.bound * (1 + 1e-9):
        return ""
    return f" for gains up to 1; documents of grade {HIGH_GRADE:g} score {number(score)}"


def _legend(properties: Properties) -> str:
    grades = ", ".join(f"{grade:g}" for grade in properties.grades)
    return (
        f"Grades tried: {grades}. 10;1 is a ranking whose top two are 1 and 0, with a 1 outside; "
        "h is a grade of one half, ? an unjudged document."
    )


COLUMNS = ("measure", "description", "other names")


def list_measures(text: str = "") -> Table:
    """Return the measures whose name, description or other names contain a text. Without a text, return all measures.

    Capital and small letters are the same. `measure_card` shows everything about one measure.

    >>> list_measures("geometric")["measure"]
    ['gm_bpref', 'gm_map']
    """
    rows = [
        (each.name, each.sentence.partition("\n")[0], ", ".join(other_names(each)), trec_names(each.name))
        for each in all_declared()
    ]
    check_type("text", text, str, "a part of a name or description")
    wanted = text.lower()
    return Table(COLUMNS, tuple(row[:3] for row in rows if wanted in " ".join([*row[:3], *row[3]]).lower()))
