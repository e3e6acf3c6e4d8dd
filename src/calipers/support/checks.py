"""Checks of arguments. Unknown names and numbers out of range are refused at the call, with the same words everywhere.

The library's functions and the options of the command line use the same checks. Each returns the checked value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import islice
from numbers import Integral, Real
from typing import Any, Literal

from calipers.errors import CalipersError, UnknownName

Policy = float | Literal["skip", "error"]
Samples = int | Literal["all"]
Pairs = int | Literal["all"]
SHOWN = 60  # characters of a value in an error
LARGEST_COUNT = 10**9  # of samples, pairs, documents and so on
LARGEST_SEED = 2**31 - 1  # the largest that a signed integer of 32 bits holds


def check_choice(kind: str, name: Any, known: Iterable[str], other_names: Mapping[str, str] | None = None) -> str:
    """Return the name of a choice, or raise an error that names the choices.

    other_names: further spellings, by the name that each stands for.

    >>> check_choice("test", "student", ("t", "sign"), {"student": "t"})
    't'
    >>> check_choice("test", "z", ("t", "sign"))
    Traceback (most recent call last):
    ...
    calipers.errors.UnknownName: unknown test 'z'; there are t, sign
    """
    known = tuple(known)
    found = (other_names or {}).get(name, name) if isinstance(name, str) else name
    if found not in known:
        raise UnknownName.among(kind, name, known)
    return str(found)


def lower_case(name: Any) -> Any:
    """Return text in lower case, and anything else unchanged: `check_choice` then refuses it."""
    return name.lower() if isinstance(name, str) else name


def check_type(what: str, value: Any, kind: type | tuple[type, ...], expected: str) -> None:
    """Raise an error that names a parameter, the expected shape, and what was found.

    >>> check_type("scores", None, dict, "Scores, as `evaluate` returns them")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: scores: expected Scores, as `evaluate` returns them, found None
    """
    if not isinstance(value, kind):
        raise CalipersError(f"{what}: expected {expected}, found {described(value)}")


def described(value: object) -> str:
    """Return the type of a value and its beginning, for errors about a wrong shape.

    >>> described({"q1": 3, "q2": 4}), described(None)
    ("a dict ({'q1': 3, ...})", 'None')
    """
    if value is None:
        return "None"
    kind = type(value).__name__
    article = "an" if kind[0].lower() in "aeiou" else "a"
    if isinstance(value, Mapping):
        first = ", ".join(f"{key!r:.{SHOWN}}: {item!r:.{SHOWN}}" for key, item in islice(value.items(), 1))
        return f"{article} {kind} ({{{first}{', ...' if len(value) > 1 else ''}}})"
    return f"{article} {kind} ({' '.join(repr(value).split()):.{SHOWN}})"


def check_policy(what: str, policy: Any) -> Policy:
    """Return what an undefined score counts: a number, `skip` or `error`.

    >>> check_policy("missing", "drop")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: missing 'drop' is not a number, skip or error
    """
    if isinstance(policy, str) and policy in ("skip", "error"):
        return policy  # type: ignore[return-value]  # one of the two
    if is_number(policy):
        return float(policy)
    raise CalipersError(f"{what} '{policy}' is not a number, skip or error")


def is_number(value: Any) -> bool:
    """Return True for a finite number."""
    return isinstance(value, Real) and math.isfinite(value)


def check_number(
    what: str, value: Any, *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf
) -> float:
    """Return a finite number that is at least `least`, larger than `above` and at most `most`.

    >>> check_number("margin", 0.0, above=0)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: margin 0 is not a number above 0
    """
    if is_number(value) and least <= value <= most and value > above:
        return float(value)
    limits = f" above {above:g}" if above > -math.inf else f" of at least {least:g}" if least > -math.inf else ""
    limits += f" and at most {most:g}" if most < math.inf else ""
    raise CalipersError(f"{what} {_shown(value)} is not a number{limits}")


def check_between_0_and_1(what: str, value: Any) -> float:
    """Return a number between 0 and 1, both excluded.

    >>> check_between_0_and_1("power", 1)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: power 1 is not between 0 and 1
    """
    if is_number(value) and 0 < value < 1:
        return float(value)
    raise CalipersError(f"{what} {_shown(value)} is not between 0 and 1")


def check_alpha(alpha: Any) -> float:
    """Return a significance level.

    >>> check_alpha(1e-50)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: alpha 1e-50 is too small: a confidence level of 1 - alpha would be 1
    """
    checked = check_between_0_and_1("alpha", alpha)
    if 1 - checked == 1:
        raise CalipersError(f"alpha {checked:g} is too small: a confidence level of 1 - alpha would be 1")
    return checked


def check_level(level: Any) -> float:
    """Return the level of a confidence interval."""
    return check_between_0_and_1("confidence level", level)


def check_whole(what: str, value: Any, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """Return a whole number of at least `least` and at most `most`.

    >>> check_whole("depth", 0)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: depth 0 is not a whole number from 1 to 1,000,000,000
    """
    if isinstance(value, Integral) and least <= int(value) <= most:
        return int(value)
    raise CalipersError(f"{what} {_shown(value)} is not a whole number from {least:,} to {most:,}")


def check_seed(seed: Any) -> int:
    """Return a random seed.

    >>> check_seed(-1)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: seed -1 is not a whole number from 0 to 2,147,483,647
    """
    return check_whole("seed", seed, 0, LARGEST_SEED)


def check_samples(samples: Any) -> Samples:
    """Return how many samples a test draws, or `all`.

    >>> check_samples(0)
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: samples 0 is neither a whole number from 1 to 1,000,000,000 nor all
    """
    return "all" if isinstance(samples, str) and samples == "all" else _checked_count("samples", samples)


def check_pairs(pairs: Any) -> Pairs:
    """Return over how many pairs alpha is shared, or `all`."""
    return "all" if isinstance(pairs, str) and pairs == "all" else _checked_count("pairs", pairs)


def _checked_count(what: str, value: Any) -> int:
    if isinstance(value, Integral) and 1 <= int(value) <= LARGEST_COUNT:
        return int(value)
    raise CalipersError(f"{what} {_shown(value)} is neither a whole number from 1 to {LARGEST_COUNT:,} nor all")


def _shown(value: Any) -> str:
    if isinstance(value, Integral):
        return str(value)
    return f"{value:g}" if isinstance(value, Real) else f"'{value}'"
