"""The calls that most people make, answered before click would be loaded.

`calipers evaluate` and `calipers trec_eval` with plain options, on what the scanner can score by itself
(`fast_evaluate.py`, `trec_eval/fast_reports.py`). Anything else, be it unusual or wrong, is left to the commands,
which know all options and messages: until the answer is complete nothing has been printed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

_FLAGS = {"-q": "per_query", "--per-query": "per_query"}
_VALUES = {"-m": "measures", "--measure": "measures", "--format": "form", "--ties": "ties"}
_FORMS = ("table", "csv", "json")  # the others are for papers, and mark what is significant


def answered(arguments: Sequence[str]) -> bool | None:
    """Whether this call could be answered, and was. None where it was not even tried: a command may try it then."""
    if not arguments or "_CALIPERS_COMPLETE" in os.environ:
        return None
    command, *rest = arguments
    if command == "evaluate":
        return _evaluate(rest)
    return _trec_eval(rest) if command == "trec_eval" else None


def _evaluate(arguments: Sequence[str]) -> bool | None:
    asked = _options(arguments)
    if asked is None or len(asked["files"]) < 2 or asked["form"] not in _FORMS:
        return None
    from calipers.cli.fast_evaluate import fast_answer
    from calipers.cli.printing import warn, write
    from calipers.cli.reading_progress import reading
    from calipers.measures.name_lists import DEFAULT_MEASURES

    judgments, *systems = asked["files"]
    with reading(systems):
        short = fast_answer(judgments, systems, asked["measures"] or DEFAULT_MEASURES, ties=asked["ties"])
    if short is None:
        return False
    warn(short.notes(asked["ties"]), strict=False)
    write(short.per_query() if asked["per_query"] else short.mean(), asked["form"])
    return True


def _options(arguments: Sequence[str]) -> dict[str, Any] | None:
    """The options of `evaluate`; None if there are others than those known here.

    >>> _options(["qrels", "-m", "AP", "run", "-q"])
    {'files': ['qrels', 'run'], 'measures': ['AP'], 'per_query': True, 'form': 'table', 'ties': None}
    """
    found: dict[str, Any] = {"files": [], "measures": [], "per_query": False, "form": "table", "ties": None}
    waiting = iter(arguments)
    for argument in waiting:
        if not argument.startswith("-"):
            found["files"].append(argument)
        elif argument in _FLAGS:
            found[_FLAGS[argument]] = True
        elif argument in _VALUES and (value := next(waiting, None)) is not None:
            name = _VALUES[argument]
            found[name] = [*found[name], value] if name == "measures" else value
        else:
            return None
    return found


def _trec_eval(arguments: Sequence[str]) -> bool | None:
    from calipers.cli.printing import show
    from calipers.errors import CalipersError
    from calipers.tools.trec_eval.fast_reports import fast_reports
    from calipers.tools.trec_eval.request import read_request

    try:
        request = read_request(arguments)
    except CalipersError:
        return None
    reports = None if request.help or request.version else fast_reports(request)
    if reports is None:
        return False
    for note in request.notes():
        print(f"calipers trec_eval: {note}", file=sys.stderr)
    show("".join(reports))
    return True
