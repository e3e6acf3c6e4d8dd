"""The expected summary of a source: the text whose score a measure is expected to get."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calipers.errors import CalipersError
from calipers.texts.encoder import Encoder
from calipers.texts.keywords import expected_texts, tokens_of_references
from calipers.texts.options import TextOptions
from calipers.texts.random_texts import drawn_places, source_number
from calipers.texts.tokens import tokenizer_of, written_words


def expected_summary(
    source: str,
    *,
    length: int | None = None,
    references: Sequence[str] = (),
    encoder: Encoder | None = None,
    options: TextOptions | None = None,
) -> str:
    """Return an expected summary of a source.

    Without an encoder it is one draw from the unigram model of the source (equation 9.1 of Feng (2023), for ROUGE):
    each word is drawn independently, by how often it occurs. With an encoder it is the text of algorithm 1 (for
    BERTScore): the tokens nearest to the vector of the source.

    length: words of the text, or tokens with an encoder; without it, as many as the references have on average.
    options: the tokenizer and the seed of the draw, and `keywords` for the tokens of algorithm 1.

    >>> expected_summary("rain rain rain", length=2)
    'rain rain'
    """
    chosen = options or TextOptions()
    if length is None and not references:
        raise CalipersError("an expected summary needs its length, or references whose length it takes")
    if length is not None and length < 1:
        raise CalipersError(f"length {length} is not a whole number of at least 1")
    if encoder is not None:
        encoded = encoder.encode([source, *references])
        if encoded[source].empty:
            raise CalipersError("the source has no tokens to make a summary from")
        tokens = length or tokens_of_references([encoded[text] for text in references])
        return expected_texts(encoder, encoded[source], tokens, chosen.keywords)[0]
    words = tokenizer_of(chosen.tokenizer, chosen.stem)
    own, written = words(source), written_words(source, chosen.tokenizer)
    if not own:
        raise CalipersError("the source has no words to draw a summary from")
    size = length or max(1, round(float(np.mean([len(words(text)) for text in references]))))
    random = np.random.default_rng([chosen.seed, source_number(own)])
    return " ".join(written[place] for place in drawn_places(random, len(own), 1, size)[0].tolist())
