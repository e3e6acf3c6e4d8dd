"""Systems by their names, with a hint where there is none of that name."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches

from calipers.errors import CalipersError


def place_of(system: str, systems: Sequence[str], what: str = "the system") -> int:
    """The place of a system among all of them.

    >>> place_of("bm52", ["bm25", "ql"])
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: the system 'bm52' is not among the systems; did you mean 'bm25'?
    """
    if system not in systems:
        near = get_close_matches(system, systems, n=1)
        hint = f"; did you mean '{near[0]}'?" if near else f"; there are {', '.join(systems[:10])}"
        raise CalipersError(f"{what} '{system}' is not among the systems{hint}")
    return list(systems).index(system)
