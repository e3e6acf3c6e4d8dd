"""Texts as words: the rule of the original ROUGE for English, and one for every script.

    ascii     runs of a-z and 0-9 of the lower-cased text; all else separates
    unicode   runs of letters, digits and their marks of the normalised (NFKC), case-folded text; an ideograph or a
              kana is a word of its own, as no space says where words end

On ASCII text both give the same words.

Lin, ROUGE: a package for automatic evaluation of summaries, 2004. The Unicode Standard, annex 15 (NFKC).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from calipers.errors import CalipersError
from calipers.text.porter import stem_of

Tokenizer = Callable[[str], list[str]]

SHORTEST_STEMMED = 4  # letters; the original ROUGE leaves shorter words as they are
_NOT_ASCII = re.compile(r"[^a-z0-9]+")
_ALONE = ("CJK UNIFIED", "CJK COMPAT", "HIRAGANA", "KATAKANA")


class _Letters(dict[int, str]):
    """What becomes of a character: itself, itself as a word, or a space. Found out once for each."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        kind = unicodedata.category(character)
        if kind[0] in "LNM":
            alone = kind == "Lo" and unicodedata.name(character, "").startswith(_ALONE)
            made = f" {character} " if alone else character
        elif kind == "Cf":
            made = ""  # joiners and soft hyphens stand inside words
        else:
            made = " "
        self[code] = made
        return made


_LETTERS = _Letters()


def ascii_words(text: str) -> list[str]:
    """The words of the original ROUGE.

    >>> ascii_words("Zoë's 2nd-best café")
    ['zo', 's', '2nd', 'best', 'caf']
    """
    return _NOT_ASCII.sub(" ", text.lower()).split()


def unicode_words(text: str) -> list[str]:
    """The words of a text in any script.

    >>> unicode_words("Zoë's 2nd-best café; हिन्दी; 日本")
    ['zoë', 's', '2nd', 'best', 'café', 'हिन्दी', '日', '本']
    """
    if text.isascii():
        return ascii_words(text)
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()).translate(_LETTERS).split()


TOKENIZERS: dict[str, Tokenizer] = {"unicode": unicode_words, "ascii": ascii_words}


def tokenizer_of(name: str, stem: bool = False) -> Tokenizer:
    """A tokenizer by its name; with `stem`, words of more than three letters are cut to their stems (English).

    >>> tokenizer_of("ascii", stem=True)("The running cats")
    ['the', 'run', 'cat']
    """
    if name not in TOKENIZERS:
        raise CalipersError(f"unknown tokenizer '{name}'; there are {', '.join(TOKENIZERS)}")
    words = TOKENIZERS[name]
    if not stem:
        return words
    return lambda text: [_stemmed(word) for word in words(text)]


def _stemmed(word: str) -> str:
    return stem_of(word) if len(word) >= SHORTEST_STEMMED and word.isascii() else word


def sentences(text: str) -> list[str]:
    """The lines of a text, which ROUGE-Lsum takes as its sentences; blank ones do not count.

    >>> sentences("One.\\n\\nTwo.")
    ['One.', 'Two.']
    """
    return [line for line in text.split("\n") if line.strip()]
