"""Expected summaries for BERTScore: the tokens most similar to the document as a whole.

Algorithm 1 of Feng (2023) computes the cosine between the vector of each token and that of the document, sorts the
tokens by it, and takes the first k tokens as the expected summary. This is not an expectation over random texts, but a
selection of keywords. The printed listing sorts ascending and so takes the least similar tokens. Its prose says the
most similar ones, which is the default here. A token that occurs more than once counts once, with the similarity of its
last occurrence, as in the listing.
"""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np

from calipers.lists import Floats, Ints
from calipers.texts.bertscore import Matcher, over_references
from calipers.texts.bounded_scores import Progress
from calipers.texts.encoder import Encoded, Encoder
from calipers.texts.options import Keywords


def similarities(text: Encoded) -> Floats:
    """Return the cosine between each token and the mean vector of its text, without special tokens."""
    own = text.vectors[~text.special].astype(np.float64)
    whole = own.mean(axis=0)
    size = np.linalg.norm(whole)
    return np.asarray(own @ whole / size) if size > 0 else np.zeros(len(own))


def ranked_tokens(text: Encoded) -> tuple[Ints, Floats]:
    """Return the different tokens of a text and the similarity of each one's last occurrence to the text."""
    tokens, similarity = text.tokens[~text.special], similarities(text)
    last = {token: i for i, token in enumerate(tokens.tolist())}
    places = np.array(list(last.values()), dtype=np.int64)
    return tokens[places], similarity[places]


def expected_texts(encoder: Encoder, source: Encoded, k: int, keywords: Keywords) -> list[str]:
    """Return the expected summary of a document in k tokens, or several drawn ones if tokens are random."""
    if keywords.choose == "random":
        own = source.tokens[~source.special]
        # The draws depend on the document alone, not on its position in the collection.
        random = np.random.default_rng([keywords.seed, crc32(own.tobytes())])
        size = min(k, len(own))
        draws = (random.choice(own, size=size, replace=False) for _ in range(keywords.draws))
        return [encoder.text_of(drawn.tolist()) for drawn in draws]
    tokens, similarity = ranked_tokens(source)
    order = np.argsort(-similarity if keywords.choose == "most" else similarity, kind="stable")
    return [encoder.text_of(tokens[order[:k]].tolist())]


def expected_parts(
    matcher: Matcher,
    texts: Sequence[Sequence[str]],
    references: Sequence[Sequence[Encoded]],
    several: str,
    progress: Progress | None = None,
) -> tuple[Floats, Floats]:
    """Return the mean precision, recall and F1 of each document's expected summaries, and their standard errors.

    Both are [document, part]. The error is 0 for a document with one expected summary.
    """
    encoded = matcher.encoder.encode((text for each in texts for text in each), progress)
    means, errors = [], []
    for each, known in zip(texts, references, strict=True):
        parts = over_references(matcher.all_parts([encoded[text] for text in each], known), several)
        means.append(parts.mean(axis=0))
        errors.append(parts.std(axis=0, ddof=min(1, len(parts) - 1)) / np.sqrt(len(parts)))
    return np.array(means), np.array(errors)


def tokens_of_references(references: Sequence[Encoded]) -> int:
    """Return the rounded mean number of tokens in a document's references, at least 1."""
    return max(1, round(float(np.mean([(~each.special).sum() for each in references]))))
