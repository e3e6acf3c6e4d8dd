"""The proof that no measure has all seven properties, found by a search.

Suppose that the scores of the states of one small collection are monotone, convergent and realizable. Monotone and
convergent give an order of the states. Realizable says that at each k one state has the largest score. For each such
state, the order leads to another state that must score more, which is a contradiction.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import permutations

from calipers.questions.properties.verdicts import written

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
