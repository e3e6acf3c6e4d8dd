"""Wrong types for every positional parameter of every public name: an error that says what is wrong.

A call may succeed (None is right for some parameters), or raise a CalipersError or a TypeError. A bare AttributeError,
KeyError, IndexError or ValueError from inside the library breaks the law.

    python -m laws.wrong_types     print what breaks it
"""

from __future__ import annotations

import inspect
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import calipers as cal
from calipers.errors import CalipersError
from calipers.results.result import Result

WRONG = {"None": None, "3": 3, "'x'": "x", "[]": [], "{}": {}, "object()": object()}
QRELS = {"q1": {"a": 1, "b": 0, "c": 0}, "q2": {"a": 1, "b": 1, "c": 0}, "q3": {"c": 1, "a": 0}}
RUNS = {
    "new": {query: {"a": 3, "b": 2, "c": 1} for query in QRELS},
    "old": {"q1": {"c": 3, "a": 2}, "q2": {"b": 3, "c": 2}, "q3": {"a": 3, "d": 1}},
}


def right_values() -> dict[str, Any]:
    """Return a value that is right for parameters of this name."""
    scores = cal.evaluate(QRELS, RUNS, "AP RR", warn=False)
    experiment = cal.Experiment(QRELS, RUNS, "AP RR", warn=False)
    return {
        "judgments": QRELS,
        "human": QRELS,
        "runs": RUNS,
        "run": RUNS["new"],
        "measures": "AP",
        "measure": "AP",
        "scores": scores,
        "evaluation": experiment,
        "baseline": "old",
        "old": "old",
        "new": "new",
        "margin": 0.1,
        "bounds": cal.bounds(QRELS, "AP RR"),
        "judges": {"other": QRELS},
        "x": scores,
        "y": scores,
        "a": ["d1"],
        "b": ["d1"],
        "grades": [1, 0],
        "comparison": cal.compare(scores, warn=False),
        "query": "q1",
        "budget": 5,
        "preferences": cal.Preferences.from_pairs([("q1", "a", "b")]),
        "total": 3,
        "text": "AP",
        "values": [[0.5, 0.25]],
        "parts": [scores],
        "ranks": [1, 2, 3],
        "table": scores.mean(),
        "groups": {"new": "a", "old": "b"},
        "repeats": "{system}-{repeat}",
        "name": "Mine",
        "data": [],
        "path": "none.txt",
        "source": "none.txt",
        "run_": RUNS["new"],
        "ids": [[1, 2]],
        "matrix": None,
        "labels": [1, 0],
        "topics": 3,
        "strata": {"q": {"top": {"a": 1}}},
    }


# Made by other functions, not by users: `Judgments.from_dict`, `parse`, and readers of files.
MADE_INSIDE = {
    "Judgments",
    "Measure",
    "Preferences",
    "SampledJudgments",
    "SubtopicJudgments",
    "Lists",
    "Pool",
    "from_columns",
    "from_labels",
    "from_lines",
    "from_second_field",
    "from_rows",
}


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield functions and classes of `calipers`, and constructors with names. Results are made by questions."""
    for name in dir(cal):
        value = getattr(cal, name)
        if not callable(value) or (inspect.isclass(value) and issubclass(value, Result | BaseException)):
            continue
        if inspect.isclass(value):
            for method in vars(value):
                if method.startswith("from_") and method not in MADE_INSIDE:
                    yield f"{name}.{method}", getattr(value, method)
        if name not in MADE_INSIDE:
            yield name, value


def positional(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters that may be given by place."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # an alias of types
        return []
    return [each for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]


def outcomes(name: str, function: Callable[..., Any], right: dict[str, Any]) -> Iterator[str]:
    """Yield each call that breaks the law, with its error."""
    parameters = positional(function)
    required = [each for each in parameters if each.default is each.empty]
    for wrong in parameters:
        others = {each.name: right.get(each.name, "x") for each in required if each is not wrong}
        for shown, value in WRONG.items():
            call = f"{name}({wrong.name}={shown})"
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**others, **{wrong.name: value})
            except CalipersError:
                pass
            except TypeError as error:
                if any(words in str(error) for words in UNCLEAR):
                    yield f"{call}: TypeError: {error}"
            except Exception as error:
                yield f"{call}: {type(error).__name__}: {error}"


# Python's own words about an object, which do not name the parameter.
UNCLEAR = (
    "object is not",
    "has no len",
    "not subscriptable",
    "unsupported operand",
    "not supported between",
    "float()",
    "must be real number",
    "cannot unpack",
    "unhashable",
    "int()",
    "not iterable",
)


def broken() -> list[str]:
    """Return all calls that break the law. Files are written to an empty folder."""
    folder = os.getcwd()
    with tempfile.TemporaryDirectory() as empty:
        os.chdir(empty)
        try:
            right = right_values()
            return [call for name, function in public_callables() for call in outcomes(name, function, right)]
        finally:
            os.chdir(folder)


if __name__ == "__main__":
    print("\n".join(broken()))
