"""Tables of measures and properties, and the proof that no measure has all seven properties.

Suppose that the scores of the states of one small collection are monotone, convergent and realizable. Monotone and
convergent give an order of the states. Realizable says that at each k one state has the largest score. For each such
state, the order leads to another state that must score more, which is a contradiction.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import permutations

from calipers.errors import CalipersError, UnknownName
from calipers.questions.properties.verdicts import NINE, NOTES, SEVEN, Properties, written
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


State = tuple[tuple[float, ...], tuple[float, ...]]  # the top k in order, and the rest, whose order does not matter
Step = tuple[str, State]  # the property that it follows from, and the state that it leads to
CONFLICT = ("monotone", "convergent", "realizable")  # realizable supposes a largest score, so bounded


def contradictions(
    collection: tuple[float, ...] = (0.0, 1.0, 1.0), k: int = 1, premises: Iterable[str] = CONFLICT
) -> list[list[Step]] | None:
    """Return for each state at k the steps to a state that must score more.

    Return None if some state can have the largest score: then these premises do not contradict each other here.

    >>> for chain in contradictions():
    ...     print(in_words(chain))
    0;11 has the largest score (realizable); 1;01 scores more (convergent)
    1;01 has the largest score (realizable); 10;1 scores no less (monotone); 11;0 scores more (convergent)
    >>> contradictions(premises=("convergent", "realizable")) is None
    True
    """
    assumed = set(premises)
    if "realizable" not in assumed:
        return None  # without a largest score, attained at every k, nothing stops scores from rising
    chains = []
    for state in sorted({_state(order, k) for order in permutations(collection)}):
        chain = _rise(state, assumed)
        if chain is None:
            return None
        chains.append([("realizable", state), *chain])
    return chains


def in_words(chain: list[Step]) -> str:
    """Return one chain of `contradictions` in words."""
    words = {"realizable": "has the largest score", "monotone": "scores no less", "convergent": "scores more"}
    return "; ".join(f"{_written(state)} {words[reason]} ({reason})" for reason, state in chain)


def impossibility() -> str:
    """Return the proof in words that no measure has all seven properties."""
    chains = contradictions()
    assert chains is not None
    return (
        "No measure has all seven properties: one that is bounded cannot be monotone, convergent and realizable. "
        "With two relevant documents and another one, at k = 1: "
        + ". Or: ".join(in_words(chain) for chain in chains)
        + ". Nothing scores more than the largest score."
    )


def _rise(start: State, assumed: set[str]) -> list[Step] | None:
    """Return the shortest chain of steps from a state to one that must score strictly more."""
    ways: list[tuple[State, list[Step]]] = [(start, [])]
    seen = {start}
    for state, way in ways:  # grows while it is gone through
        for reason, following in _steps(state):
            if reason not in assumed:
                continue
            if reason == "convergent":
                return [*way, (reason, following)]
            if following not in seen:
                seen.add(following)
                ways.append((following, [*way, (reason, following)]))
    return None


def _steps(state: State) -> Iterator[Step]:
    """Yield the states that must score more than a state, or no less."""
    top, rest = state
    for place, document in enumerate(top):
        for other in sorted(set(rest)):
            if document < other:
                swapped = sorted([*rest, document])
                swapped.remove(other)
                yield "convergent", ((*top[:place], other, *top[place + 1 :]), tuple(swapped))
    for following in sorted(set(rest)):
        left = sorted(rest)
        left.remove(following)
        yield "monotone", ((*top, following), tuple(left))


def _state(order: tuple[float, ...], k: int) -> State:
    return order[:k], tuple(sorted(order[k:]))


def _written(state: State) -> str:
    return written(state[0]) + (f";{written(state[1])}" if state[1] else "")
