"""BARTScore: how likely a model that writes one text from another finds it.

    s(from -> to) = mean over the tokens of `to` of log p(token | the tokens before it, from)

    faithfulness   s(source -> text)
    precision      s(reference -> text)
    recall         s(text -> reference)
    f1             the mean of precision and recall, in logarithms, as the paper has it

Scores are logarithms, at most 0. They are normalised as exp(s): the geometric mean of the probabilities of the tokens,
a share of 1, where 1 is a text that the model is certain of. So V2(BARTScore) is 0 for what random texts get and 1
for certainty, which no text of any length reaches: most of the way up is out of everybody's reach, and V2 is small.
With the human ceiling as upper end, 1 is what a person's text gets, and V2 is on a scale that can be read.

Of several references each part is the max or the mean over them. Any encoder-decoder model that transformers loads will
do; the model is part of the result's name.

Yuan, Neubig & Liu, BARTScore: evaluating generated text as text generation, NeurIPS 2021.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.lists import Floats
from calipers.text.bertscore import over_references
from calipers.text.bounded_scores import Progress
from calipers.text.options import TextOptions
from calipers.text.pretrained import PretrainedModel, fingerprint, forget_oldest
from calipers.text.random_texts import needed_source
from calipers.text.registry import Context, Scorer, TextDeclaration, TextTask, declare

BATCH = 16  # texts
LONGEST = 1024  # tokens, where neither model nor tokenizer says
WHAT = "BARTScore"
PARTS = ("faithfulness", "precision", "recall", "f1")
Pair = tuple[str, str]  # from, to
Tokens = Mapping[str, list[int]]  # of each text
Row = tuple[str, Sequence[str]]  # a text, and texts that are written from it: the longest, and its beginnings


class Generator(PretrainedModel):
    """A model that writes texts from texts, and what it found likely so far."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        *,
        device: str | None = None,
        batch: int = BATCH,
        mixed: bool | None = None,
    ) -> None:
        """`mixed`: matrix products in half precision; by default on a CUDA device, and nowhere else."""
        super().__init__(model, WHAT, device=device, batch=batch, mixed=mixed)
        network = self.opened("AutoModelForSeq2SeqLM")
        self._network = network.eval().to(self.device)
        positions = getattr(network.config, "max_position_embeddings", None) or LONGEST
        self.longest = int(min(self.tokenizer.model_max_length, positions))
        self.cut: set[str] = set()  # texts that were longer than the model reads
        self._known: dict[Pair, float] = {}
        self._read: dict[str, Any] = {}  # texts as the decoder sees them

    @property
    def name(self) -> str:
        return self.short_name + " mixed" * self.mixed

    @property
    def kept_by(self) -> str:
        """What its likelihoods are kept under."""
        return f"{fingerprint(self.model, self._network)} {self.longest}" + " mixed" * self.mixed

    def log_likelihoods(self, pairs: Iterable[Pair], progress: Progress | None = None) -> dict[Pair, float]:
        """The mean log-probability of the second text's tokens given the first text; 0 tokens are NaN."""
        wanted = dict.fromkeys(pairs)
        missing = [pair for pair in wanted if pair not in self._known]
        tokens = self._tokens({text for pair in missing for text in pair})
        written: dict[str, list[str]] = {}
        for given, text in missing:
            if tokens[text]:
                written.setdefault(given, []).append(text)
            else:
                self._known[given, text] = math.nan
        # Texts of like length go together: little is wasted on padding.
        sources = sorted(written, key=lambda text: -len(tokens[text]))
        for start in range(0, len(sources), self.batch):
            some = sources[start : start + self.batch]
            read = self._states(some, tokens)
            rows = [(given, texts) for given in some for texts in with_their_beginnings(written[given], tokens)]
            rows.sort(key=lambda row: -len(tokens[row[1][0]]))
            for first in range(0, len(rows), self.batch):
                found = self._means(rows[first : first + self.batch], read, tokens)
                self._known.update(found)
                if progress is not None:
                    progress(len(found))
        return {pair: self._known[pair] for pair in wanted}

    def _tokens(self, texts: Iterable[str]) -> dict[str, list[int]]:
        every = sorted(texts)
        if not every:
            return {}
        full = self.tokenizer(every, truncation=False, verbose=False)["input_ids"]
        cut = self.tokenizer(every, truncation=True, max_length=self.longest)["input_ids"]
        self.cut |= {text for text, ids in zip(every, full, strict=True) if len(ids) > self.longest}
        return {text: list(ids) for text, ids in zip(every, cut, strict=True)}

    def _states(self, texts: Sequence[str], tokens: Tokens) -> dict[str, Any]:
        """What the decoder sees of each text; a text is read once for all that is written from it."""
        if not all(tokens[text] for text in texts):
            raise CalipersError("the tokenizer makes no tokens of an empty text", file=self.model)
        if missing := [text for text in texts if text not in self._read]:
            ids, mask = self.padded([tokens[text] for text in missing])
            with self.inference():
                states = self._network.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state.cpu()
            for text, state in zip(missing, states, strict=True):
                self._read[text] = state[: len(tokens[text])].clone()
        read = {text: self._read[text] for text in texts}
        forget_oldest(self._read, lambda state: state.nbytes)
        return read

    def _means(self, rows: Sequence[Row], read: Mapping[str, Any], tokens: Tokens) -> dict[Pair, float]:
        torch = self._torch
        _, mask = self.padded([tokens[given] for given, _ in rows])
        labels, _ = self.padded([tokens[texts[0]] for _, texts in rows])
        states = torch.nn.utils.rnn.pad_sequence([read[given] for given, _ in rows], batch_first=True).to(self.device)
        output = self._transformers.modeling_outputs.BaseModelOutput(last_hidden_state=states)
        before = self._network.prepare_decoder_input_ids_from_labels(labels)
        with self.inference():
            logits = self._network(
                encoder_outputs=output, attention_mask=mask, decoder_input_ids=before, use_cache=False
            ).logits
            every = torch.log_softmax(logits.float(), dim=-1)
        ends = [(i, tokens[text]) for i, (_, texts) in enumerate(rows) for text in texts]
        row, last = torch.tensor([(i, len(ids) - 1) for i, ids in ends]).T
        final = every[row, last, torch.tensor([ids[-1] for _, ids in ends])].cpu().double()
        sums = every.gather(2, labels[..., None])[..., 0].cpu().double().cumsum(dim=1)
        means = (torch.where(last > 0, sums[row, last - 1], 0.0) + final) / (last + 1)
        pairs = [(given, text) for given, texts in rows for text in texts]
        return dict(zip(pairs, means.tolist(), strict=True))


def with_their_beginnings(texts: Iterable[str], tokens: Tokens) -> list[list[str]]:
    """Texts in groups: the first is the longest, and all tokens but the last of each other one begin it.

    A text is written from left to right, so the longest tells what is likely in all of its group.
    """
    found: list[list[str]] = []
    for text in sorted(texts, key=lambda text: tokens[text][:-1], reverse=True):  # a beginning comes after its longest
        before = tokens[text][:-1]
        if found and tokens[found[-1][0]][: len(before)] == before:
            found[-1].append(text)
        else:
            found.append([text])
    return found


class BartScorer(Scorer):
    """BARTScore by a generator; only the parts that are asked for are worked out."""

    def __init__(self, generator: Generator, options: TextOptions, parts: frozenset[str]) -> None:
        self.name = f"BARTScore({generator.name})"
        self._generator, self._several = generator, options.several
        self.identity = f"{generator.kept_by} {sorted(parts)} {options.several}"
        wanted = parts or frozenset(PARTS)
        self._parts = wanted | ({"precision", "recall"} if "f1" in wanted else frozenset())

    def scores(self, tasks: Sequence[TextTask], progress: Progress | None = None) -> list[Floats]:
        found = self._generator.log_likelihoods([pair for task in tasks for pair in self._pairs(task)])
        every = []
        for task in tasks:
            parts = np.full((len(task.texts), len(PARTS)), np.nan)
            if "faithfulness" in self._parts:
                parts[:, 0] = [found[self._source(task), text] for text in task.texts]
            each = np.full((len(task.texts), len(task.document.references), 3), np.nan)
            for part, column in (("precision", 0), ("recall", 1)):
                if part in self._parts:
                    each[..., column] = [
                        [found[(r, text) if part == "precision" else (text, r)] for r in task.document.references]
                        for text in task.texts
                    ]
            each[..., 2] = each[..., :2].mean(axis=-1)
            parts[:, 1:] = over_references(each, self._several)
            every.append(parts)
            if progress is not None:
                progress(1)
        return every

    def _pairs(self, task: TextTask) -> Iterable[Pair]:
        for text in task.texts:
            if "faithfulness" in self._parts:
                yield self._source(task), text
            for reference in task.document.references:
                if "precision" in self._parts:
                    yield reference, text
                if "recall" in self._parts:
                    yield text, reference

    @staticmethod
    def _source(task: TextTask) -> str:
        return needed_source(task.document, f"{WHAT}(part=faithfulness) needs")

    @property
    def cut(self) -> int:
        return len(self._generator.cut)


def _prepare(context: Context, name: str) -> Scorer:
    """How likely a model that writes one text from another finds a text, given its source or a reference."""
    if context.generator is None:
        raise CalipersError(f"{name} needs an encoder-decoder model: its name, or its folder")
    return BartScorer(context.generator, context.options, context.parts.get(name, frozenset()))


def probability(scores: Floats) -> Floats:
    """The geometric mean of the tokens' probabilities."""
    return np.asarray(np.exp(scores))


declare(TextDeclaration("BARTScore", _prepare, PARTS, share=probability, aliases=("bart_score",)))
