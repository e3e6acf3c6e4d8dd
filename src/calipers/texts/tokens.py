"""Split texts into words: by the rule of the original ROUGE, or for every script.

    ascii     runs of a-z and 0-9 of the lower-cased text; all else separates
    unicode   runs of letters, digits and their marks of the normalised (NFKC), case-folded text. In scripts that put
              no space between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese), every letter with its marks is a
              word of its own.

On ASCII text both give the same words.

Lin, ROUGE: a package for automatic evaluation of summaries, 2004. The Unicode Standard, annex 15 (NFKC).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from calipers.errors import CalipersError
from calipers.texts.porter import stem_of

Tokenizer = Callable[[str], list[str]]

SHORTEST_STEMMED = 4  # letters; the original ROUGE leaves shorter words as they are
_NOT_ASCII = re.compile(r"[^a-z0-9]+")
_ALONE = ("CJK UNIFIED", "CJK COMPAT", "HIRAGANA", "KATAKANA")
_SYLLABLES = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
_IDEOGRAPHS = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_MARKS = "".join(chr(code) for code in range(0x0E00, 0x1800) if unicodedata.category(chr(code))[0] == "M")
_SYLLABLE = re.compile(f"[{_SYLLABLES}][{_MARKS}]*")
_UNSPACED = re.compile(f"[{_SYLLABLES}{_IDEOGRAPHS}]")
_IDEOGRAPH = re.compile(f"[{_IDEOGRAPHS}]")
_KANA = re.compile("[\u3040-\u30ff]")


class _Letters(dict[int, str]):
    """Table of characters, filled on demand: kept, kept as a word of its own, or replaced by a space."""

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
    """Split a text by the rule of the original ROUGE.

    >>> ascii_words("Zoë's 2nd-best café")
    ['zo', 's', '2nd', 'best', 'caf']
    """
    return _NOT_ASCII.sub(" ", text.lower()).split()


def unicode_words(text: str) -> list[str]:
    """Split a text in any script.

    >>> unicode_words("Zoë's 2nd-best café; हिन्दी; 日本")
    ['zoë', 's', '2nd', 'best', 'café', 'हिन्दी', '日', '本']
    """
    if text.isascii():
        return ascii_words(text)
    return _split(unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold()))


def _split(normalised: str) -> list[str]:
    return _SYLLABLE.sub(r" \g<0> ", normalised).translate(_LETTERS).split()


def script_without_spaces(texts: Iterable[str]) -> str | None:
    """Return the script of texts that put no space between words, or None if most of their letters have spaces.

    >>> script_without_spaces(["我在乌尔姆"]), script_without_spaces(["ウルムで"]), script_without_spaces(["Ulm 乌"])
    ('Chinese', 'Japanese', None)
    """
    text = "".join(texts)
    letters = sum(character.isalpha() for character in text)
    if 2 * len(_UNSPACED.findall(text)) <= letters or not letters:
        return None
    if _SYLLABLE.search(text):
        return "Thai"
    return "Japanese" if _KANA.search(text) else "Chinese"


def spaced(text: str) -> str:
    """Return a text with spaces around each letter of scripts that put no space between words.

    >>> spaced("in 乌尔姆")
    'in  乌  尔  姆 '
    """
    return _IDEOGRAPH.sub(r" \g<0> ", _SYLLABLE.sub(r" \g<0> ", text))


TOKENIZERS: dict[str, Tokenizer] = {"unicode": unicode_words, "ascii": ascii_words}


def tokenizer_of(name: str, stem: bool = False) -> Tokenizer:
    """Return a tokenizer by name. With `stem`, English words of more than three letters are stemmed.

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
    """Return the non-blank lines of a text, which are its sentences for ROUGE-Lsum.

    >>> sentences("One.\\n\\nTwo.")
    ['One.', 'Two.']
    """
    return [line for line in text.split("\n") if line.strip()]


_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_END = re.compile(
    r"""(?<=[.!?\u2026\u3002\uff01\uff1f])(?:\s?['"\u2019\u201d)\]]+)?(?:\s+|(?<=[\u3002\uff01\uff1f]))"""
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"'])(?:[A-Za-z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Sen|Rep|Gov|Lt|Col|Sgt|vs|etc|No|"
    r"Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|(?:[A-Za-z]\.)+[A-Za-z])\.$"
)


def written_words(text: str, tokenizer: str = "unicode") -> list[str]:
    """Return the words of a text as they are written, with capitals; as many as the tokenizer finds.

    >>> written_words("The cat's MAT.")
    ['The', 'cat', 's', 'MAT']
    """
    words = TOKENIZERS[tokenizer](text)
    if tokenizer == "ascii" or text.isascii():
        written = _ASCII_WORD.findall(text)
    else:
        written = _split(unicodedata.normalize("NFKC", text))
    return written if len(written) == len(words) else words  # some letters change their kind with their case


def cut_to(text: str, count: int, words: Tokenizer) -> str:
    """Return the longest beginning of a text that has at most `count` words.

    >>> cut_to("The cat sat. On the mat.", 3, unicode_words)
    'The cat sat.'
    """
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if len(words(text[:middle])) <= count:
            low = middle
        else:
            high = middle - 1
    return text[:low].strip()


def source_sentences(text: str) -> list[str]:
    """Split running text into sentences: at line ends, full stops, question and exclamation marks.

    >>> source_sentences("Dr. Who left. 'Why ?' he said. U.S. news!\\nA line")
    ['Dr. Who left.', "'Why ?' he said.", 'U.S. news!', 'A line']
    """
    found = []
    for line in sentences(text):
        start = 0
        for end in _END.finditer(line):
            piece = line[start : end.end()].strip()
            goes_on = line[end.end() : end.end() + 1].islower()
            if piece and not goes_on and not _ABBREVIATION.search(piece):
                found.append(piece)
                start = end.end()
        if line[start:].strip():
            found.append(line[start:].strip())
    return found
