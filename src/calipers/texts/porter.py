"""Porter's stemmer for English, in the variant that the ROUGE packages use.

A word is [C](VC)^m[V], C and V runs of consonants and vowels; m is its measure. Suffixes are replaced step by step,
most of them only where enough of the word is left. The variant keeps short words in -ies and -ied apart from their like
("dies" and "died" become "die"), reads -bli for -abli, adds -fulli and -logi, turns a final y only after a consonant,
and knows a few words by heart.

Porter, An algorithm for suffix stripping, Program 14(3), 1980; his later notes; the extensions are those of NLTK.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import pairwise

Condition = Callable[[str], bool]
Rule = tuple[str, str, Condition]

_BY_HEART = {
    "skies": "sky",
    "sky": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "innings": "inning",
    "inning": "inning",
    "outings": "outing",
    "outing": "outing",
    "cannings": "canning",
    "canning": "canning",
    "howe": "howe",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}


@cache
def stem_of(word: str) -> str:
    """Return the stem of a lower-case word.

    >>> [stem_of(word) for word in ("running", "relational", "hopeful", "flies", "dies", "news")]
    ['run', 'relat', 'hope', 'fli', 'die', 'news']
    """
    if word in _BY_HEART:
        return _BY_HEART[word]
    if len(word) <= 2:
        return word
    for step in (_plural, _past, _final_y, _double_suffixes, _ness, _single_suffixes, _final_e, _final_ll):
        word = step(word)
    return word


# -- what a word is made of ----------------------------------------------------------------------------


def _vowels(word: str) -> list[bool]:
    """Return True for each letter that is a vowel. A y after a consonant is one."""
    found: list[bool] = []
    for letter in word:
        found.append(letter in "aeiou" or (letter == "y" and bool(found) and not found[-1]))
    return found


def _measure(word: str) -> int:
    """Count the runs of vowels that are followed by a consonant."""
    vowels = _vowels(word)
    return sum(before and not after for before, after in pairwise(vowels))


def _has_measure(word: str) -> bool:
    return _measure(word) > 0


def _long(word: str) -> bool:
    return _measure(word) > 1


def _ends_in_double_consonant(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and not _vowels(word)[-1]


def _ends_short(word: str) -> bool:
    """Return True for an ending of consonant, vowel, consonant (not w, x, y), or a word of vowel and consonant."""
    vowels = _vowels(word)
    if len(word) == 2:
        return vowels == [True, False]
    return vowels[-3:] == [False, True, False] and word[-1] not in "wxy"


def _replaced(word: str, rules: tuple[Rule, ...]) -> str:
    """Apply the first rule whose suffix matches. Later rules are not tried even if its condition fails."""
    for suffix, replacement, condition in rules:
        if word.endswith(suffix):
            rest = word[: len(word) - len(suffix)]
            return rest + replacement if condition(rest) else word
    return word


def _rules(text: str, condition: Condition) -> tuple[Rule, ...]:
    """Parse rules of the form suffix:replacement that share one condition."""
    pairs = (pair.partition(":") for pair in text.split())
    return tuple((suffix, replacement, condition) for suffix, _, replacement in pairs)


# -- the steps -----------------------------------------------------------------------------------------


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) == 4:
        return word[:-1]
    return _replaced(word, _PLURALS)


def _past(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _has_measure(word[:-3]) else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word and any(_vowels(rest)):
            return _mended(rest)
    return word


def _mended(rest: str) -> str:
    """Repair a word from which -ed or -ing was cut."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _ends_in_double_consonant(rest):
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest


def _final_y(word: str) -> str:
    turned = word.endswith("y") and len(word) > 2 and not _vowels(word[:-1])[-1]
    return word[:-1] + "i" if turned else word


def _double_suffixes(word: str) -> str:
    if word.endswith("alli") and _has_measure(word[:-4]):
        return _double_suffixes(word[:-2])
    return _replaced(word, _DOUBLE)


def _ness(word: str) -> str:
    return _replaced(word, _NESS)


def _single_suffixes(word: str) -> str:
    return _replaced(word, _SINGLE)


def _final_e(word: str) -> str:
    rest = word.removesuffix("e")
    if rest != word and (_long(rest) or (_measure(rest) == 1 and not _ends_short(rest))):
        return rest
    return word


def _final_ll(word: str) -> str:
    return word[:-1] if word.endswith("ll") and _long(word[:-1]) else word


_PLURALS = _rules("sses:ss ies:i ss:ss s:", lambda rest: True)
_DOUBLE = (
    *_rules(
        "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
        "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful",
        _has_measure,
    ),
    ("logi", "log", lambda rest: _has_measure(rest + "l")),  # the rest before "log" counts
)
_NESS = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:", _has_measure)
_SINGLE = (
    *_rules("al: ance: ence: er: ic: able: ible: ant: ement: ment: ent:", _long),
    ("ion", "", lambda rest: _long(rest) and rest[-1] in "st"),
    *_rules("ou: ism: ate: iti: ous: ive: ize:", _long),
)
