"""Options of scoring texts."""

from __future__ import annotations

from dataclasses import dataclass

from calipers.errors import CalipersError
from calipers.measures.random_rankings import DRAWS, SEED
from calipers.texts.rouge_scores import SEVERAL

UPPER = ("1", "attainable", "human")
CHANCES = ("words", "sentences", "lead", "shuffled", "other-document")  # see calipers.texts.random_texts
CHOICES = ("most", "least", "random")
BLEU_TOKENIZERS = ("13a", "intl", "zh", "ja-mecab", "ko-mecab", "char", "none")  # of sacrebleu
TEXTS = 10  # random texts per text; scoring each takes as long as scoring a text


@dataclass(frozen=True)
class Keywords:
    """Options of the expected summary of BERTScore (algorithm 1 of Feng (2023))."""

    choose: str = "most"  # most similar, least similar, or random tokens
    k: int | str = (
        "reference"  # number of tokens, or as many as the references have on average, or as the candidate has
    )
    draws: int = TEXTS
    seed: int = SEED


@dataclass(frozen=True)
class TextOptions:
    """Options of scoring: words, references, random texts, upper bounds. `Evaluation` explains them."""

    tokenizer: str = "unicode"
    stem: bool = False
    bleu_tokenizer: str | None = None
    several: str = "max"
    length: int | str = "candidate"
    upper: str = "1"
    chance: str | None = None
    texts: int = TEXTS
    draws: int = DRAWS
    seed: int = SEED
    tokens: str = "most"
    k: int | str = "reference"

    def __post_init__(self) -> None:
        _check("upper bound", self.upper, UPPER)
        if self.chance is not None:
            _check("chance", self.chance, CHANCES)
        if self.bleu_tokenizer is not None:
            _check("tokenizer of BLEU", self.bleu_tokenizer, BLEU_TOKENIZERS)
        _check("way to combine references", self.several, SEVERAL)
        _check("tokens of expected summaries", self.tokens, CHOICES)
        for name, unit in (("length", "words"), ("k", "tokens")):
            given = getattr(self, name)
            if given not in ("candidate", "reference") and (not isinstance(given, int) or given < 1):
                raise CalipersError(f"{name} '{given}' is not a number of {unit}, candidate or reference")
        if min(self.draws, self.texts) < 2:
            raise CalipersError("texts and draws are at least 2, because the standard error would otherwise be unknown")

    @property
    def keywords(self) -> Keywords:
        """Options of the expected summary of BERTScore."""
        return Keywords(self.tokens, self.k, self.texts, self.seed)


def _check(what: str, value: str, known: tuple[str, ...]) -> None:
    if value not in known:
        raise CalipersError(f"unknown {what} '{value}'; there are {', '.join(known)}")
