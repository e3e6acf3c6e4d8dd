"""Texts with several names of measures: splitting, and expansion of braces."""

from __future__ import annotations

import re

from calipers.errors import CalipersError

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "Recall@1000")

MOST_TEXT = 1 << 16  # characters of a text with names
MOST_NAMES = 10_000  # names that braces may expand to
DEEPEST = 20  # levels of nested brackets

_TREC_PARAMETER = re.compile(r"(?:p=|-?\d+=)?[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_BRACES = re.compile(r"\{([^{}:]*)\}")


def typed_names(text: str) -> list[str]:
    """Return the names in a text, separated by spaces or commas, with braces expanded as in a shell.

    >>> typed_names("nDCG@{5,10} ndcg_cut.10,20,AP(rel=2)")
    ['nDCG@5', 'nDCG@10', 'ndcg_cut.10,20', 'AP(rel=2)']
    """
    if len(text) > MOST_TEXT:
        raise CalipersError(f"the names of the measures have {len(text):,} characters, more than {MOST_TEXT:,}")
    names: list[str] = []
    for word in _words(text):
        names += _expanded(word, MOST_NAMES - len(names))
    return names


def shortened(text: str) -> str:
    """Return text for messages: on one line, and shortened if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= 80 else f"{text[:80]}..."


def _words(text: str) -> list[str]:
    """Split at spaces, and at commas that separate names."""
    words: list[str] = []
    for word in (part for by_space in split(text, " \t\r\n") for part in split(by_space, ",")):
        # A comma between trec_eval's parameters does not separate names: ndcg_cut.10,20 or ndcg.1=3,2=9
        if words and _TREC_PARAMETER.fullmatch(word) and re.search(r"^\w+\.[^()]+$", words[-1]):
            words[-1] += "," + word
        else:
            words.append(word)
    return words


def split(text: str, separators: str) -> list[str]:
    """Split outside all brackets, leaving out empty parts."""
    parts, depth, part = [], 0, ""
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if depth < 0:
            break
        if depth > DEEPEST:
            raise CalipersError(f"the brackets of '{shortened(text.strip())}' are nested too deeply")
        if depth == 0 and character in separators:
            parts.append(part)
            part = ""
        else:
            part += character
    if depth != 0:
        raise CalipersError(f"the brackets of '{shortened(text.strip())}' do not match")
    return [part for part in [*parts, part] if part.strip()]


def _expanded(word: str, most: int) -> list[str]:
    """Expand nDCG@{5,10} to nDCG@5 and nDCG@10. A table such as {1:3,2:9} stays."""
    names, found = [], [word]
    while found:
        name = found.pop()
        match = _BRACES.search(name)
        if not match:
            names.append(name)
            continue
        options = [option.strip() for option in match.group(1).split(",")]
        if not all(options):
            raise CalipersError(f"'{shortened(word)}' has an empty choice in its braces")
        found += [name[: match.start()] + option + name[match.end() :] for option in reversed(options)]
        if len(names) + len(found) > most:
            raise CalipersError(f"with '{shortened(word)}' there are more than {MOST_NAMES:,} measures")
    return names
