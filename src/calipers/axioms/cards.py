"""Cards: all that is worth knowing of one measure, from its declaration, its form and its derived properties."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from calipers.axioms.notes import NOTES
from calipers.axioms.subjects import Examined, Subject, subject_of
from calipers.axioms.verdicts import NINE, Properties, examine, number
from calipers.limits.normalisation import Normalised
from calipers.measures.forms import (
    CUTOFF,
    FOUND,
    IDEAL,
    RELEVANT,
    TOTAL_WEIGHT,
    Cascade,
    Complement,
    Counted,
    Form,
    JudgedOnly,
    Linear,
    MeanOverCutoffs,
    Mixture,
    OwnIdeal,
    OwnRelevant,
    Paired,
    Peak,
    Preference,
    RelevantPrefix,
    SelfNormalisedGain,
    SelfNormalisedPrecision,
    Share,
    Smaller,
    TotalValue,
    ZeroIfShort,
)
from calipers.measures.precision import PrefixDepth, WhereRelevant
from calipers.measures.registry import Declaration, Measure
from calipers.measures.values import (
    DISCOUNTS,
    AtLeast,
    ExponentialGain,
    Geometric,
    InverseSquare,
    JarvelinKekalainen,
    Judged,
    LinearGain,
    ShareOfLargest,
    StopProbability,
    TableGain,
    Telescoping,
    Weights,
)


@dataclass(frozen=True)
class Card:
    """What a measure is, and what it does. `str` is the card in Markdown."""

    measure: str
    sentence: str
    formula: str
    where: tuple[str, ...]  # what the letters in the formula stand for
    range: str
    reader: str  # the user model
    exactness: str  # of averages over ties, and so of expected values
    properties: Properties
    citation: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"# {self.measure}", ""]
        if self.sentence:
            lines += [self.sentence, ""]
        lines += [f"    {self.formula}", *(f"    {line}" for line in self.where), ""]
        lines += [f"- **Range:** {self.range}", f"- **Reader:** {self.reader}", f"- **Ties:** {self.exactness}", ""]
        lines += ["| property | | why |", "| --- | --- | --- |"]
        for name in NINE:
            verdict = self.properties[name]
            why = str(verdict).partition(": ")[2] if verdict.how != "searched" else "no counterexample"
            known = {"refuted": "no", "proved": "yes, proved", "searched": f"yes up to {verdict.searched}"}[verdict.how]
            note = f" ({verdict.note})" if verdict.note else ""
            lines.append(f"| {name} | {known}{note} | {why} |")
        letters = sorted({verdict.note for verdict in self.properties} - {""})
        lines += ["", *(f"{letter}. {NOTES[letter]}  " for letter in letters), _legend(self.properties)]
        if self.citation:
            lines += ["", *(f"- {line}" for line in self.citation)]
        return "\n".join(lines) + "\n"

    def _repr_markdown_(self) -> str:
        return str(self)


def measure_card(measure: Examined) -> Card:
    """The card of a measure: formula, range, user model, properties, citation.

    >>> card = measure_card("RBP(p=0.8)")
    >>> card.formula
    'RBP@k = (1 - p) * sum over i <= k of p^(i - 1) * value_i'
    >>> card.range
    '0 to 1'
    """
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
    elif stated and not isinstance(form, Normalised):
        where = (f"in other words: {derived}", *where)
    return Card(
        measure=subject.name,
        sentence=declaration.sentence if declaration is not None else "",
        formula=stated or derived,
        where=where,
        range=_range(properties),
        reader=READERS.get(declaration.name if declaration is not None else "") or reader_of(form),
        exactness=TIES.get(declaration.name if declaration is not None else "") or _exactness(subject),
        properties=properties,
        citation=_citation(declaration) if declaration is not None else (),
    )


# -- from the declaration ----------------------------------------------------------------------------


def _stated_formula(measure: Measure) -> str:
    """What the documentation of the family says, `NAME@k = ...` on an indented line.

    It has letters for numbers; other parameters than these may have made another formula of it.
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
    return first[:1].lower() + first[1:]


def references(declaration: Declaration) -> list[str]:
    """The lines with a year in the documentation of the family."""
    text = re.sub(r"(?<=\S)\n(?=[a-z(])", " ", declaration.citation)  # a line that goes on
    return [line.strip() for line in text.splitlines() if re.search(r"\b(19|20)\d\d\b", line) and line[0] != " "]


def _citation(declaration: Declaration) -> tuple[str, ...]:
    """The references for this measure where some are marked so, otherwise those that are not marked."""
    cited = {line: _marks(line) for line in references(declaration)}
    names = {declaration.name.lower(), *(name.lower() for name in declaration.aliases)}
    own = [line for line, marks in cited.items() if names & marks]
    return tuple(own or (line for line, marks in cited.items() if not marks))


def _marks(line: str) -> set[str]:
    """The measures in the brackets at the end of a reference."""
    found = re.search(r"\(([^()]*)\)\.?$", line)
    return {name.strip().lower() for name in found.group(1).split(",")} if found else set()


OPAQUE = "a function of the ranked grades"


# -- from the form -----------------------------------------------------------------------------------


def formula_of(form: Form) -> tuple[str, tuple[str, ...]]:
    """The formula of a form, and what its letters stand for."""
    letters: dict[str, str] = {}
    return _formula(form, letters), tuple(f"{letter} = {meaning}" for letter, meaning in letters.items())


def _formula(form: Form, letters: dict[str, str]) -> str:
    if isinstance(form, Linear):
        letters.update({"w_i": _weight(form.weight), "v_i": _value(form.value)})
        return "sum over ranks i <= k of w_i * v_i"
    if isinstance(form, Cascade):
        letters.update({"w_i": _weight(form.weight), "s_i": _value(form.stop)})
        return "sum over ranks i <= k of w_i * s_i * product over j < i of (1 - s_j)"
    if isinstance(form, Paired):
        letters["rel_i"] = _value(AtLeast(form.rel))
        return "sum over ranks i <= k of rel_i * P@i"
    if isinstance(form, Mixture) and all(isinstance(part, Paired) for _, part in form.parts):
        levels = [(number(t), number(part.rel)) for t, part in form.parts if isinstance(part, Paired)]
        letters["SP_j"] = "SP@k with grades of at least j as relevant"
        letters["t_j"] = ", ".join(f"{t} for j = {level}" for t, level in levels)
        return "sum over levels j of t_j * SP_j"
    if isinstance(form, Mixture):
        return " + ".join(f"{number(weight)} * ({_formula(part, letters)})" for weight, part in form.parts)
    if isinstance(form, Peak):
        letters["v_i"] = _value(form.value)
        return "max over ranks i <= k of v_i"
    if isinstance(form, Complement):
        return f"1 - {_formula(form.of, letters)}"
    if isinstance(form, Share):
        return f"{_formula(form.of, letters)} / {_divisor(form.by)}"
    if isinstance(form, JudgedOnly):
        return f"{_formula(form.of, letters)}, unjudged documents left out"
    if isinstance(form, ZeroIfShort):
        return f"{_formula(form.of, letters)}, 0 for a list of fewer than k documents"
    if isinstance(form, MeanOverCutoffs):
        return f"mean over k = 1 to n of {_formula(form.of, letters)} / the same for the best ranking"
    if isinstance(form, SelfNormalisedGain):
        top = _formula(Linear(form.weight, form.value), letters)
        return f"{top} / the same for the top k sorted best first"
    if isinstance(form, SelfNormalisedPrecision):
        return f"{_formula(Paired(form.rel), letters)} / relevant documents in the top k"
    if isinstance(form, Normalised):
        letters["A"] = _formula(form.base, letters)
        letters["U, m0"] = "A of the best and of the worst ranking of the same documents"
        letters["E, sd"] = "mean and standard deviation of A over random rankings of the same documents"
        return f"a function of A, {form.function.__name__}"
    if type(form) is RelevantPrefix:  # not one that looks further
        return "relevant documents in the first min(R, k) ranks"
    if isinstance(form, Preference):
        return "sum over relevant documents in the top k of 1 - min(non-relevant above, R) / min(N, R)"
    return OPAQUE


def _divisor(by: Any) -> str:
    if by is IDEAL:
        return "the same for the best ranking"
    if by is TOTAL_WEIGHT:
        return "sum over ranks i <= k of w_i"
    if isinstance(by, Smaller):
        return f"min({_divisor(by.one)}, {_divisor(by.other)})"
    if isinstance(by, WhereRelevant):
        return f"{_divisor(by.of)}, where R > 0"
    words = {
        RELEVANT: "R",
        OwnRelevant: "relevant documents in the list",
        OwnIdeal: "the same for the best ranking of what the list retrieved",
        CUTOFF: "k",
        FOUND: "documents shown",
        PrefixDepth: "min(R, k)",
        TotalValue: "the most that all judged documents could give",
    }
    return words.get(type(by), "a divisor")


def _weight(weights: Weights) -> str:
    at = weights.at
    if isinstance(at, Geometric):
        return f"(1 - p) p^(i - 1), p = {at.p:g}"
    if isinstance(at, InverseSquare):
        return f"1 / (i + 2T - 1)^2, scaled to a sum of 1, T = {at.target:g}"
    if isinstance(at, Telescoping):
        return "1 / (i (i + 1))"
    if isinstance(at, JarvelinKekalainen):
        return f"1 for i < {at.base:g}, then 1 / log_{at.base:g}(i)"
    named = {DISCOUNTS["log2"].at: "1 / log2(i + 1)", DISCOUNTS["zipf"].at: "1 / i", DISCOUNTS["none"].at: "1"}
    return named.get(at, "a given weight of the rank")


def _value(value: Any) -> str:
    if isinstance(value, AtLeast):
        return f"1 for a grade of at least {value.rel:g}, else 0"
    if isinstance(value, ShareOfLargest):
        return f"{_value(value.gain)}, as a share of what the largest grade is worth"
    words = {
        Judged: "1 for a judged document, else 0",
        LinearGain: "the grade, 0 if it is negative",
        ExponentialGain: "2^grade - 1, 0 if it is negative",
        StopProbability: "(2^grade - 1) / 2^(largest grade)",
        TableGain: "the gain that a table gives the grade",
    }
    return words.get(type(value), "a given worth of the grade")


READERS = {  # of measures whose form does not tell
    "INST": "Wants T relevant documents, and goes on longer until they are found.",
    "infAP": "That of AP, whose precisions are estimated where documents are not judged.",
    "RIC": "None: a pair of judged documents is drawn, and the list is asked which one is the better.",
}
TIES = {  # of measures that do not average over the orders
    "RIC": "a tied pair is half in the right and half in the wrong order; what random rankings score is sampled",
}


def reader_of(form: Form) -> str:
    """The reader whom a form models, in a sentence."""
    if isinstance(form, Normalised):
        return f"{reader_of(form.base)} The score is put between what the same documents could score."
    if isinstance(form, JudgedOnly | ZeroIfShort | MeanOverCutoffs):
        return reader_of(form.of)
    if isinstance(form, Share):
        if isinstance(form.of, Linear) and form.of.weight.at is DISCOUNTS["none"].at:
            return _FLAT_READER[isinstance(form.by, RELEVANT)]
        return _NORMALISED_PAIRS if isinstance(form.of, Paired | Mixture) else reader_of(form.of)
    if isinstance(form, Linear):
        return _linear_reader(form.weight)
    if isinstance(form, Cascade):
        if isinstance(form.stop, AtLeast):
            return "Goes down the list to the first relevant document, or to depth k."
        return "Goes down the list and stops at a document with a probability that grows with its grade."
    for kind, sentence in _READERS.items():
        if isinstance(form, kind):
            return sentence
    return "None is declared: the measure describes the list, not somebody who reads it."


_FLAT_READER = {
    False: "Looks at exactly k documents, all alike.",
    True: "Looks at k documents, and knows how many relevant ones there are to be found.",
}
_NORMALISED_PAIRS = (
    "Knows R, chooses at random how many of the R relevant documents to read, "
    "goes down until they are read, and asks for the precision there (Robertson 2008)."
)
_READERS: dict[type[Form], str] = {
    Paired: "Goes down to each relevant document of the top k in turn, and adds up the precisions met there.",
    Peak: "Is satisfied by the best one of the first k documents.",
    RelevantPrefix: "Looks at as many documents as there are relevant ones, at most k.",
    SelfNormalisedGain: "Looks at k documents, and compares their order with the best order of the same k.",
    SelfNormalisedPrecision: "Knows how many relevant documents are in the top k, and reads down to one of them.",
    Counted: "Takes all that is retrieved, in no order.",
    Complement: "None: it is what is not known of another score.",
    Preference: "None: pairs of judged documents are counted, in the right or in the wrong order.",
}


def _linear_reader(weights: Weights) -> str:
    at = weights.at
    if isinstance(at, Geometric):
        return f"Goes on from each document to the next with probability {at.p:g}."
    if isinstance(at, InverseSquare):
        return f"Wants T relevant documents, T = {at.target:g}, and goes on the more surely the deeper the rank."
    if isinstance(at, Telescoping):
        return "Reads on past rank i with probability i / (i + 2): the more surely the deeper the rank."
    if at is DISCOUNTS["none"].at:
        return "Looks at k documents, all alike."
    return "Looks at k documents, and cares less for each further one."


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


def _exactness(subject: Subject) -> str:
    form = subject.whole or subject.form(1)
    inner = form.base if isinstance(form, Normalised) else form
    said = {
        "exact": "averaged over all orders by a closed form, exact",
        "enumerated": "averaged over all that a tie may show, enumerated",
        "sampled": "averaged over all orders where these are few, otherwise over drawn ones",
    }[inner.exactness]
    return f"the score inside is {said}; then it is normalised" if isinstance(form, Normalised) else said


def _legend(properties: Properties) -> str:
    grades = ", ".join(f"{grade:g}" for grade in properties.grades)
    return (
        f"Grades tried: {grades}. 10;1 is a ranking whose top two are 1 and 0, with a 1 outside; "
        "h is a grade of one half, ? an unjudged document."
    )
