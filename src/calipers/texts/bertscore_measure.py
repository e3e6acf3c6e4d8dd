"""BERTScore as a measure of many texts. Every text is encoded once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.measures.parameters import Parameter
from calipers.measures.registry import Measure
from calipers.support.batching import batches
from calipers.texts.bertscore import Matcher, matcher, over_references
from calipers.texts.bounded_scores import Progress
from calipers.texts.collection import TextCollection
from calipers.texts.encoder import BATCH as USUAL_BATCH, Encoded, Encoder
from calipers.texts.keywords import expected_parts, expected_texts, tokens_of_references
from calipers.texts.options import TextOptions
from calipers.texts.random_texts import needed_source
from calipers.texts.registry import PARTS, REFERENCES, Context, Expectation, Scorer, TextTask, declare, written

# Variables of the environment: the usual model, where it computes, texts at once, and a folder for vectors.
ENCODER, DEVICE, BATCH, CACHE = "CALIPERS_ENCODER", "CALIPERS_DEVICE", "CALIPERS_BATCH", "CALIPERS_CACHE"
AT_ONCE = 4096  # texts whose vectors are in memory at once
KEYWORDS = "keywords"  # the expected summary of Feng (2023): calipers.texts.keywords


class BertScorer(Scorer):
    """BERTScore with one matcher."""

    def __init__(self, matcher: Matcher, options: TextOptions, name: str = "") -> None:
        self.shown = "" if name else matcher.name
        self.name = matcher.name
        self._matcher, self._options = matcher, options
        self.signature = matcher.name if name else ""
        self.can_be_negative = matcher.baseline is not None
        if matcher.idf is None and matcher.baseline is None:  # those are counted and read elsewhere
            self.identity = f"{matcher.name} {matcher.encoder.cache_key} {options.several}"
        self._cut: set[str] = set()

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found = []
        for some in batches(tasks, lambda task: len(task.texts), AT_ONCE):
            encoded = self._encode(
                (text for task in some for text in (*task.texts, *task.document.references)), progress
            )
            for task in some:
                known = [encoded[text] for text in task.document.references]
                parts = self._matcher.all_parts([encoded[text] for text in task.texts], known)
                found.append(over_references(parts, self._options.several))
        return found

    def _encode(self, texts: Iterable[str], progress: Progress | None = None) -> dict[str, Encoded]:
        encoded = self._matcher.encoder.encode(texts, progress)
        self._cut |= {text for text, each in encoded.items() if each.cut}
        return encoded

    @property
    def notes(self) -> tuple[str, ...]:
        if not self._cut:
            return ()
        texts = "text is" if len(self._cut) == 1 else "texts are"
        return (f"{len(self._cut):,} {texts} longer than the model of {self.name} reads; cut",)

    def knows(self, chance: str) -> bool:
        return chance == KEYWORDS

    def expected(self, tasks: Sequence[TextTask], options: TextOptions) -> list[Expectation]:
        """Return the expected scores of key tokens. They depend on the summary only if k is the candidate's length."""
        keywords, several = options.keywords, self._options.several
        sources = [needed_source(task.document) for task in tasks]
        encoded = self._encode(
            [*sources, *(text for task in tasks for text in (*task.texts, *task.document.references))]
        )
        jobs: dict[tuple[int, int], list[str]] = {}  # (task, k)
        places: list[list[tuple[int, int]]] = []
        for i, (task, source) in enumerate(zip(tasks, sources, strict=True)):
            if encoded[source].empty:
                raise CalipersError(f"the source of {task.document} has no tokens to make a text from")
            mean = tokens_of_references([encoded[text] for text in task.document.references])
            sizes = [keywords.k if isinstance(keywords.k, int) else mean] * len(task.texts)
            if keywords.k == "candidate":
                sizes = [int((~encoded[text].special).sum()) or mean for text in task.texts]
            for k in sizes:
                if (i, k) not in jobs:
                    jobs[i, k] = expected_texts(self._matcher.encoder, encoded[source], k, keywords)
            places.append([(i, k) for k in sizes])
        known = [[encoded[text] for text in tasks[i].document.references] for i, _ in jobs]
        means, errors = expected_parts(self._matcher, list(jobs.values()), known, several)
        row = {job: i for i, job in enumerate(jobs)}
        exactness = "sampled" if keywords.choose == "random" else "exact"
        rows = [[row[place] for place in each] for each in places]
        return [Expectation(means[each], errors[each], exactness, keywords.draws) for each in rows]


def texts_to_encode(collection: TextCollection) -> list[str]:
    """Return all different summaries and references."""
    texts = [text for row in collection.texts for text in row if text is not None]
    texts += [text for document in collection.documents for text in document.references]
    return list(dict.fromkeys(texts))


def encoded_references(collection: TextCollection, encoded: dict[str, Encoded]) -> list[Sequence[Encoded]]:
    """Return the encoded references of each document."""
    return [[encoded[text] for text in document.references] for document in collection.documents]


def prepare(context: Context, name: str, **given: Any) -> Scorer:
    """Return the scorer of BERTScore. Without parameters, it has the model of the context."""
    changed = {key: value for key, value in given.items() if value != PARAMETERS[key].default}
    if not changed and context.matcher is not None:
        return BertScorer(context.matcher, context.options)
    return BertScorer(_matcher(context, name, **given), context.options, written(name, changed))


def _matcher(context: Context, name: str, model: Any, layer: int | None, idf: bool, rescale: str | None) -> Matcher:
    """Return the model with these parameters, which measures with the same model share."""
    if isinstance(model, Matcher):
        return model
    wanted = model or os.environ.get(ENCODER)
    if isinstance(wanted, Encoder):
        encoder = wanted
    elif wanted is None and context.matcher is not None:
        encoder = context.matcher.encoder
    elif wanted is None:
        raise CalipersError(
            f"{name} needs a model: its name or folder, as in {name}(model=roberta-large), or in {ENCODER}"
        )
    else:
        key = "encoder", str(wanted), layer
        if key not in context.shared:
            context.shared[key] = open_encoder(wanted, layer)
        encoder = context.shared[key]
    references = [text for document in context.collection.documents for text in document.references]
    return matcher(encoder, references, idf=idf, baseline=rescale)


def open_encoder(model: str, layer: int | None = None) -> Encoder:
    """Open a model. The environment says where it computes, and where vectors are kept."""
    device, cache = (os.environ.get(name) or None for name in (DEVICE, CACHE))
    return Encoder(model, layer, device=device, cache=cache, batch=_batch())


def _batch() -> int:
    """Return how many texts are encoded together."""
    given = os.environ.get(BATCH) or str(USUAL_BATCH)
    if not given.isdecimal() or int(given) < 1:
        raise CalipersError(f"{BATCH}={given} is not a whole number of at least 1")
    return int(given)


def BERTScore(encoder: Encoder | Matcher | str | None = None, **parameters: Any) -> Measure:
    """Return the measure BERTScore with a model that is open already, and with other parameters of the measure.

    >>> BERTScore("roberta-large", layer=17)
    BERTScore(model=roberta-large, layer=17)
    """
    if not isinstance(encoder, Encoder | Matcher | str | os.PathLike | None):
        raise CalipersError(
            f"BERTScore: expected an encoder, or the name or folder of a model, found {type(encoder).__name__}; "
            "open a model with calipers.texts.Encoder(MODEL)"
        )
    return DECLARATION(**({} if encoder is None else {"model": encoder}), **parameters)


PARAMETERS = {
    "model": Parameter("A model of the Hugging Face hub, or a folder.", "model", open=f"the model in {ENCODER}"),
    "layer": Parameter("Layer of the model.", "whole number", least=0, open="the best known, else the last"),
    "idf": Parameter("Weight tokens by their inverse document frequency in the references.", "flag", False),
    "rescale": Parameter("A baseline file of bert-score (LAYER,P,R,F), by which scores are rescaled.", "file"),
}
DECLARATION = declare(
    "BERTScore",
    prepare,
    PARTS,
    chance=KEYWORDS,
    parameters={**PARAMETERS, "references": REFERENCES},
    options={"references": "several"},
    sentence="Similarity of the tokens of a text and a reference, by their vectors in context.",
    formula="F1 of P and R: mean over the tokens of the text (or reference) of the largest cosine with a token of "
    "the other",
    citation="Zhang et al., BERTScore: evaluating text generation with BERT, ICLR 2020.",
)
