"""BERTScore: tokens matched by the similarity of their vectors in context.

    precision = mean over the summary's tokens of the largest cosine to a token of the reference
    recall    = mean over the reference's tokens of the largest cosine to a token of the summary
    F1        = 2 precision recall / (precision + recall)

With idf, tokens are weighted by log((N + 1) / (references with the token + 1)). Rescaled scores are (x - b) / (1 - b),
b what unrelated texts get. Of several references each part is the max or the mean over them.

Zhang, Kishore, Wu, Weinberger & Artzi, BERTScore: evaluating text generation with BERT, ICLR 2020. Feng (2023) prints
the formula of recall twice, once for precision.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from calipers.collection.formats.named_rows import rows_of_file
from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.texts.bounded_scores import Progress
from calipers.texts.encoder import Encoded, Encoder, Vectors
from calipers.texts.rouge_scores import PARTS, SEVERAL, Score, texts_of


@dataclass(frozen=True, eq=False)
class Matcher:
    """An encoder with token weights and a baseline to subtract."""

    encoder: Encoder
    idf: Mapping[int, float] | None = None
    rest: float = 1.0  # the weight of tokens that no reference has
    baseline: Floats | None = None  # [part]

    @property
    def name(self) -> str:
        """The measure's name with model, layer and options."""
        return f"BERTScore({self})"

    def __str__(self) -> str:
        return f"{self.encoder}{' idf' * (self.idf is not None)}{' rescaled' * (self.baseline is not None)}"

    def weights(self, text: Encoded) -> Floats:
        """Return the weight of each token. Weights sum to 1, or to 0 for a text without tokens."""
        if self.idf is None:
            weight = (~text.special).astype(np.float64)
        else:
            weight = np.array([self.idf.get(token, self.rest) for token in text.tokens.tolist()], dtype=np.float64)
        total = float(weight.sum())
        return np.asarray(weight / total) if total > 0 else weight

    def parts(self, candidate: Encoded, references: Sequence[Encoded]) -> Floats:
        """Return precision, recall and F1 against each reference: [reference, part]."""
        return np.asarray(self.all_parts([candidate], references)[0])

    def all_parts(self, candidates: Sequence[Encoded], references: Sequence[Encoded]) -> Floats:
        """Return precision, recall and F1 of each candidate against each reference: [candidate, reference, part]."""
        found = np.zeros((len(candidates), len(references), len(PARTS)))
        # One product for all: the tokens of all candidates against those of all references.
        similar = _joined(candidates) @ _joined(references).T
        down, across = _starts(candidates), _starts(references)
        best_reference = np.maximum.reduceat(similar, across, axis=1)  # [token of a candidate, reference]
        best_candidate = np.maximum.reduceat(similar, down, axis=0)  # [candidate, token of a reference]
        weight_down = np.concatenate([self.weights(each) for each in candidates])
        weight_across = np.concatenate([self.weights(each) for each in references])
        precision = np.add.reduceat(best_reference * weight_down[:, None], down, axis=0)
        recall = np.add.reduceat(best_candidate * weight_across, across, axis=1)
        both = precision + recall
        found[..., 0], found[..., 1] = precision, recall
        found[..., 2] = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both > 0)
        found[[each.empty for each in candidates]] = 0.0
        found[:, [each.empty for each in references]] = 0.0
        return found if self.baseline is None else np.asarray((found - self.baseline) / (1 - self.baseline))


def _joined(texts: Sequence[Encoded]) -> Vectors:
    return np.concatenate([each.vectors for each in texts])


def _starts(texts: Sequence[Encoded]) -> np.ndarray:
    sizes = [len(each.tokens) for each in texts]
    return np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.intp)


def over_references(parts: Floats, several: str) -> Floats:
    """Return the maximum or the mean of each part over the references (the last axis but one)."""
    if several not in SEVERAL:
        raise CalipersError(f"unknown way '{several}' to combine references; there are {', '.join(SEVERAL)}")
    return np.asarray(parts.max(axis=-2) if several == "max" else parts.mean(axis=-2))


def matcher(
    encoder: Encoder, references: Sequence[str] = (), *, idf: bool = False, baseline: str | Path | None = None
) -> Matcher:
    """Return a matcher. With `idf`, tokens are weighted by how few of the references contain them."""
    weights, rest = (None, 1.0) if not idf else inverse_frequencies(encoder, references)
    return Matcher(encoder, weights, rest, None if baseline is None else read_baseline(baseline, encoder.layer))


def inverse_frequencies(encoder: Encoder, references: Sequence[str]) -> tuple[dict[int, float], float]:
    """Return log((N + 1) / (references with the token + 1)) for each token, and the value for unseen tokens."""
    counts: Counter[int] = Counter()
    for ids, _ in encoder.tokenize(references):
        counts.update(set(ids))
    n = len(references)
    return {token: math.log((n + 1) / (count + 1)) for token, count in counts.items()}, math.log(n + 1)


def read_baseline(path: str | Path, layer: int) -> Floats:
    """Read the scores of unrelated texts for a layer from a baseline file of bert-score (LAYER,P,R,F)."""
    for row in rows_of_file(path):
        try:
            if int(row.cells["LAYER"]) != layer:
                continue
            found = np.array([float(row.cells[part]) for part in "PRF"])
        except (KeyError, TypeError, ValueError):
            raise row.error("expected the columns LAYER,P,R,F of numbers") from None
        if not (np.isfinite(found) & (found < 1)).all():
            raise row.error("a baseline is below 1")
        return found
    raise CalipersError(f"has no baseline for layer {layer}", file=str(path))


def bert_score(
    candidate: str,
    references: str | Sequence[str],
    encoder: Encoder,
    *,
    several: str = "max",
    progress: Progress | None = None,
) -> Score:
    """Return precision, recall and F1 of BERTScore for a summary and its references."""
    texts = texts_of(references)
    encoded = encoder.encode([candidate, *texts], progress)
    parts = Matcher(encoder).parts(encoded[candidate], [encoded[text] for text in texts])
    return Score(*over_references(parts, several).tolist())
