"""Several names of measures in one text: where each begins and ends, and what braces stand for."""

from __future__ import annotations

import re

from calipers.errors import CalipersError

DEFAULT_MEASURES = ("nDCG@10", "AP", "RR", "P@10", "Recall@1000")

MOST_TEXT = 1 << 16  # characters in which measures are named
MOST_NAMES = 10_000  # that braces may stand for
DEEPEST = 20  # brackets within brackets

_TREC_PARAMETER = re.compile(r"(?:p=|-?\d+=)?[+-]?(?:\d+(?:\.\d*)?|\.\d+)")
_BRACES = re.compile(r"\{([^{}:]*)\}")


def typed_names(text: str) -> list[str]:
    """The names in a text, separated by spaces or commas, with braces expanded as in a shell.

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
    """Text as messages show it."""
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
    """nDCG@{5,10} as nDCG@5 and nDCG@10; a table such as {1:3,2:9} stays."""
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
