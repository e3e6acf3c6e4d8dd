"""Numbers that agree with their nouns."""

from __future__ import annotations

from typing import Any

__all__ = ["counted", "plural_of", "shape", "verb"]


def counted(count: Any, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: 1 pair, 2 pairs, 1 query, 0 queries.

    >>> counted(1, "query"), counted(2, "query"), counted(1234, "run")
    ('1 query', '2 queries', '1,234 runs')
    """
    return f"{count:,} {noun if count == 1 else plural or plural_of(noun)}"


def plural_of(noun: str) -> str:
    """Return the plural of a noun, or of the last word of a phrase.

    >>> plural_of("judged query"), plural_of("match"), plural_of("day")
    ('judged queries', 'matches', 'days')
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def shape(**counts: int) -> str:
    """Return several numbers with their nouns, for example the shape of an array.

    >>> shape(measure=2, system=1, query=50)
    '2 measures x 1 system x 50 queries'
    """
    return " x ".join(counted(count, noun) for noun, count in counts.items())


def verb(count: Any, one: str, several: str) -> str:
    """Return the form of a verb that agrees with a number.

    >>> verb(1, "is", "are"), verb(0, "is", "are")
    ('is', 'are')
    """
    return one if count == 1 else several
