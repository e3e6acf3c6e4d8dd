"""Options of scoring texts."""

from __future__ import annotations

from dataclasses import dataclass, field

from calipers.errors import CalipersError
from calipers.measures.random_rankings import DRAWS, SEED
from calipers.text.rouge_scores import SEVERAL

UPPER = ("1", "attainable", "human")
CHANCES = ("words", "sentences", "lead", "shuffled", "other-document")  # calipers.text.random_texts says what they are
CHOICES = ("most", "least", "random")
VECTORS = ("mean", "first")
TEXTS = 10  # random texts; each costs as much as scoring a summary


@dataclass(frozen=True)
class Keywords:
    """Options of the expected summary of BERTScore (algorithm 1 of Feng (2023))."""

    choose: str = "most"  # most similar, least similar, or random tokens
    k: int | str = "reference"  # how many; or as many as the references have in the mean, or as the candidate has
    vector: str = "mean"  # of the document: the mean of its tokens', or that of its first token
    draws: int = TEXTS
    seed: int = SEED

    def __post_init__(self) -> None:
        _check("tokens of expected summaries", self.choose, CHOICES)
        _check("vector of a document", self.vector, VECTORS)
        if self.k not in ("reference", "candidate") and (not isinstance(self.k, int) or self.k < 1):
            raise CalipersError(f"k '{self.k}' is not a number of tokens, reference or candidate")
        _check_draws(self.draws)


@dataclass(frozen=True)
class TextOptions:
    """Options of scoring: words, references, random texts, upper bounds."""

    tokenizer: str = "unicode"
    stem: bool = False
    several: str = "max"
    length: int | str = "candidate"  # of the random summary: the candidate's, the references' mean, or so many words
    upper: str = "1"
    chance: str | None = None  # random texts of expected scores; None for what each measure has of its own
    texts: int = TEXTS  # random texts that are scored one by one
    draws: int = DRAWS
    seed: int = SEED
    keywords: Keywords = field(default_factory=Keywords)

    def __post_init__(self) -> None:
        _check("upper bound", self.upper, UPPER)
        if self.chance is not None:
            _check("chance", self.chance, CHANCES)
        _check("way to combine references", self.several, SEVERAL)
        if self.length not in ("candidate", "reference") and (not isinstance(self.length, int) or self.length < 1):
            raise CalipersError(f"length '{self.length}' is not a number of words, candidate or reference")
        _check_draws(min(self.draws, self.texts))


def _check_draws(draws: int) -> None:
    if draws < 2:
        raise CalipersError("an expected score is drawn at least twice, or its error would be unknown")


def _check(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise CalipersError(f"unknown {what} '{value}'; there are {', '.join(known)}")
