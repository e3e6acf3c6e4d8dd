"""The parameters of trec_eval's measures, read as trec_eval reads them: a number is what its text begins with, or 0."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from calipers.errors import CalipersError
from calipers.measures.dialects import Root
from calipers.tools.trec_eval.c_numbers import as_double, as_long, is_plain
from calipers.tools.trec_eval.refusals import CANNOT_BE_CALCULATED, Refused

Parameters = dict[str, Any]
Number = TypeVar("Number", int, float)

LARGEST_CUTOFF = 2**31 - 1  # of our measures; no list is longer
_LABEL = 8  # characters of a share in the name of a measure, of which trec_eval prints no more


def read_parameters(root: Root, text: str, *, version_9: bool = False) -> list[tuple[str, Parameters]]:
    """The name of each measure that a root stands for with these parameters, and what they are.

    >>> from calipers.measures.dialects import ROOTS
    >>> read_parameters(ROOTS["P"], "10,5x"), read_parameters(ROOTS["set_F"], "-.5")
    ([('P_5', {'cutoff': 5}), ('P_10', {'cutoff': 10})], [('set_F_-.5', {'weight': -0.5})])
    """
    numbers, text = _numbers(root), text or root.default
    if not numbers or not text:
        return [(root.name, dict(root.fixed))]
    parts, name = text.split(","), f"{root.name}_{text}"
    if numbers == "cutoffs":
        cutoffs = _ascending(root, [as_long(part) for part in parts])
        if cutoffs[0] < 1:
            read = "" if str(cutoffs[0]) in parts else f", which '{text}' is read as,"
            raise CalipersError(f"cutoff {cutoffs[0]} of '{root.name}'{read} is not a whole number of at least 1")
        return [(f"{root.name}_{cutoff}", {"cutoff": min(cutoff, LARGEST_CUTOFF)}) for cutoff in cutoffs]
    if numbers == "shares":
        shares = _ascending(root, _finite(root, parts))
        return [
            (f"{root.name}_{share:.2f}"[: len(root.name) + 1 + _LABEL], {root.parameter: share}) for share in shares
        ]
    if numbers == "gains":
        return [(name, {**root.fixed, **_gains(root, text, version_9)})]
    if root.name == "relstring":
        return [(name, {"length": int(_finite(root, parts[:1])[0])})]
    if root.name == "set_F":
        return [(name, {"weight": as_double(parts[0])})]
    if root.name == "utility" and len(parts) != 4:
        raise Refused(f"'utility' has four weights, not {len(parts)}: {text}", CANNOT_BE_CALCULATED)
    weights = _finite(root, parts) if root.name == "11pt_avg" else [as_double(part) for part in parts]
    return [(name, {root.parameter: weights})]


def text_as_read(root: Root, text: str, *, version_9: bool = False) -> str:
    """The parameters with each number as it is read, in its own words where these mean the same.

    >>> from calipers.measures.dialects import ROOTS
    >>> text_as_read(ROOTS["ndcg"], "1=abc,2=3.5x,z=1"), text_as_read(ROOTS["P"], "5,1e3")
    ('1=0,2=3.5', '5,1')
    """
    numbers = _numbers(root)
    if not numbers or not text:
        return text
    if numbers == "cutoffs":
        return ",".join(_long_text(part) for part in text.split(","))
    pairs = [part.rpartition("=") for part in text.split(",")]
    if numbers == "gains":
        pairs = [
            (key if _is_whole(key) or _is_persistence(root, key) else str(as_long(key)), equals, number)
            for key, equals, number in pairs
            if _is_persistence(root, key) or _counts(key, version_9)
        ]
    return ",".join(key + equals + _number_text(number) for key, equals, number in pairs)


def is_usual(parameters: Mapping[str, Any]) -> bool:
    """Whether these are parameters that a measure is meant for."""
    numbers = [*parameters.get("weights", []), *(gain for _, gain in parameters.get("gains", []))]
    shares = [*parameters.get("points", []), parameters.get("recall", 0.0)]
    return (
        all(math.isfinite(number) for number in numbers)
        and all(0 <= share <= 1 for share in shares)
        and parameters.get("multiple", 0.0) >= 0
        and 0 < parameters.get("weight", 1.0) < math.inf
        and 0 <= parameters.get("p", 0.0) < 1
    )


def _numbers(root: Root) -> str:
    return "gains" if root.name == "rbp_resid" else root.numbers


def _ascending(root: Root, values: Sequence[Number]) -> list[Number]:
    ordered = sorted(values)
    for one, other in pairwise(ordered):
        if one == other:
            raise CalipersError(f"cutoff {one:g} of '{root.name}' is given twice")
    return ordered


def _finite(root: Root, parts: Sequence[str]) -> list[float]:
    """Numbers that trec_eval makes whole numbers from."""
    for part in parts:
        if not math.isfinite(as_double(part)):
            raise CalipersError(
                f"'{part}' of '{root.name}' is not finite: C leaves undefined what trec_eval makes of it, and so it "
                "prints something else on each machine"
            )
    return [as_double(part) for part in parts]


def _gains(root: Root, text: str, version_9: bool) -> Parameters:
    """grade=gain pairs, and p=persistence for rbp. Of equal grades all are kept."""
    found: Parameters = {}
    gains: list[tuple[int, float]] = []
    for pair in text.split(","):
        key, equals, number = pair.partition("=")
        if not equals or "=" in number:
            hint = f"; a cutoff is written ndcg_cut.{pair}" if root.name == "ndcg" and pair.isdigit() else ""
            raise CalipersError(f"'{pair}' of '{root.name}' is not of the form grade=gain{hint}")
        if _is_persistence(root, key):
            found["p"] = as_double(number)
        elif _counts(key, version_9) and root.name != "rbp_resid":
            gains.append((as_long(key), as_double(number)))
    return {**found, "gains": tuple(gains)} if gains else found


def _is_persistence(root: Root, key: str) -> bool:
    return key == "p" and "p" in root.fixed


def _is_whole(key: str) -> bool:
    return (key[1:] if key[:1] in ("+", "-") else key).isdigit()


def _counts(key: str, version_9: bool) -> bool:
    """Whether a pair has a grade: 10.0 leaves out what is no whole number, and 9.x reads it as far as it is one."""
    return version_9 or _is_whole(key)


def _long_text(text: str) -> str:
    return text if text.isdigit() and int(text) == as_long(text) else str(as_long(text))


def _number_text(text: str) -> str:
    value = as_double(text)
    return text if is_plain(text, value) else f"{value:g}"
