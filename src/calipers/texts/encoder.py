"""Encode texts as vectors of their tokens in context, from one layer of a pretrained model.

Any encoder that transformers can load, by its name on the hub or from a folder. Nothing heavy is imported before a
model is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.texts.bounded_scores import Progress
from calipers.texts.caches import VectorCache
from calipers.texts.pretrained import (
    check_model,
    device_of,
    fingerprint,
    libraries,
    mixed_precision,
    open_pretrained,
    padded,
    short_name,
)

Vectors = NDArray[np.float32]

BATCH = 64  # texts
MOST_KEPT = 1_000_000_000  # bytes of vectors
# Layers that correlate best with human judgments of translations (WMT16): Zhang et al., ICLR 2020.
BEST_LAYERS = {
    "bert-base-uncased": 9,
    "bert-base-cased": 9,
    "bert-large-uncased": 18,
    "bert-base-multilingual-cased": 9,
    "roberta-base": 10,
    "roberta-large": 17,
    "distilbert-base-uncased": 5,
    "distilroberta-base": 5,
    "albert-base-v2": 9,
    "xlnet-base-cased": 5,
    "xlm-roberta-base": 9,
    "xlm-roberta-large": 17,
}


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text as tokens and their vectors."""

    tokens: NDArray[np.int64]
    vectors: Vectors  # [token, dimension], of length 1
    special: NDArray[np.bool_]  # True for tokens that begin, end or pad the text
    cut: bool  # the text was longer than the model can read

    @property
    def empty(self) -> bool:
        return bool(self.special.all())


class Encoder:
    """A pretrained model, one of its layers, and the texts encoded so far."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        layer: int | None = None,
        *,
        device: str | None = None,
        batch: int = BATCH,
        cache: str | os.PathLike[str] | None = None,
        mixed: bool | None = None,
    ) -> None:
        """Open a model. `mixed` uses half precision for matrix products (default: only on a CUDA device)."""
        self.model, self.batch = os.path.expanduser(os.fspath(model)), batch
        check_model(self.model)
        self._torch, transformers = libraries()
        self.device = device_of(self._torch, device)
        self.mixed = self.device.type == "cuda" if mixed is None else mixed
        self.tokenizer = open_pretrained(transformers, "AutoTokenizer", self.model)
        self._network = _encoding_part(open_pretrained(transformers, "AutoModel", self.model)).eval().to(self.device)
        self.layers = _layers(self._network.config)
        self.layer = _layer(layer, self.layers, self.model)
        self.longest = _longest(self.tokenizer, self._network.config)
        _cut_after(self._network, self.layer, self.layers, self._torch)
        self._known: dict[str, Encoded] = {}
        self._cache = None if cache is None else VectorCache(cache, self.cache_key)

    @property
    def name(self) -> str:
        """Model and layer, as they appear in the names of results."""
        return f"{short_name(self.model)} L{self.layer}" + " mixed" * self.mixed

    def __str__(self) -> str:
        return self.name

    @property
    def cache_key(self) -> str:
        """Key of this model and layer in a folder of vectors."""
        return f"{fingerprint(self.model, self._network)} L{self.layer}" + " mixed" * self.mixed

    # -- encoding ----------------------------------------------------------------------------------------

    def encode(self, texts: Iterable[str], progress: Progress | None = None) -> dict[str, Encoded]:
        """Encode each different text once. `progress` is called with the number of texts done."""
        wanted = dict.fromkeys(texts)
        missing = [text for text in wanted if text not in self._known]
        if self._cache is not None:
            for text in missing:
                if (stored := self._cache.get(text)) is not None:
                    self._known[text] = Encoded(*stored)
            missing = [text for text in missing if text not in self._known]
        advance = progress or (lambda done: None)
        advance(len(wanted) - len(missing))
        tokens = self.tokenize(missing)
        # Texts of similar length are encoded together, to save padding.
        order = sorted(range(len(missing)), key=lambda i: -len(tokens[i][0]))
        for start in range(0, len(order), self.batch):
            together = order[start : start + self.batch]
            made = self._vectors([tokens[i][0] for i in together])
            for i, vectors in zip(together, made, strict=True):
                ids, cut = tokens[i]
                encoded = Encoded(np.array(ids), vectors, self._special(ids), cut)
                self._known[missing[i]] = encoded
                if self._cache is not None:
                    self._cache.put(missing[i], (encoded.tokens, encoded.vectors, encoded.special, encoded.cut))
            advance(len(together))
        found = {text: self._known[text] for text in wanted}
        self._forget_oldest()
        return found

    def tokenize(self, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
        """Return the tokens of each text, and True for texts that were cut."""
        if not texts:
            return []
        stripped = [text.strip() for text in texts]
        if type(self.tokenizer).__name__.startswith(("Roberta", "GPT2")):
            stripped = [f" {text}" if text else text for text in stripped]  # a first word is a word like any other
        full = self.tokenizer(stripped, add_special_tokens=True, truncation=False, verbose=False)["input_ids"]
        over = [i for i, ids in enumerate(full) if len(ids) > self.longest]
        found = [(list(ids), False) for ids in full]
        if over:
            shorter = self.tokenizer([stripped[i] for i in over], truncation=True, max_length=self.longest)["input_ids"]
            for i, ids in zip(over, shorter, strict=True):
                found[i] = (list(ids), True)
        return found

    def text_of(self, tokens: Sequence[int]) -> str:
        """Decode tokens to text."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def _special(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        return np.isin(ids, self._marks)

    @property
    def _marks(self) -> list[int]:
        marks = (
            self.tokenizer.cls_token_id,
            self.tokenizer.sep_token_id,
            self.tokenizer.pad_token_id,
            self.tokenizer.bos_token_id,
            self.tokenizer.eos_token_id,
        )
        return [mark for mark in marks if mark is not None]

    def _vectors(self, rows: Sequence[Sequence[int]]) -> list[Vectors]:
        ids, mask = padded(self._torch, rows, self.tokenizer.pad_token_id, self.device)
        with self._torch.inference_mode(), mixed_precision(self._torch, self.device, self.mixed):
            states = self._network(ids, attention_mask=mask)[0]
            states = self._torch.nn.functional.normalize(states.float(), dim=-1).cpu().numpy()
        return [np.array(state[: len(row)]) for state, row in zip(states, rows, strict=True)]

    def _forget_oldest(self) -> None:
        """Drop the oldest vectors if all vectors together take more memory than is allowed."""
        total = sum(each.vectors.nbytes for each in self._known.values())
        while total > MOST_KEPT:
            total -= self._known.pop(next(iter(self._known))).vectors.nbytes


def _encoding_part(network: Any) -> Any:
    """Return the encoder of an encoder-decoder model, or the model itself."""
    return network.encoder if hasattr(network, "decoder") and hasattr(network, "encoder") else network


def _layers(config: Any) -> int:
    for name in ("num_hidden_layers", "n_layers", "n_layer", "num_layers", "encoder_layers"):
        if isinstance(getattr(config, name, None), int):
            return int(getattr(config, name))
    raise CalipersError(f"a model of type '{config.model_type}' does not say how many layers it has")


def _layer(asked: int | None, layers: int, model: str) -> int:
    if asked is None:
        return min(BEST_LAYERS.get(model.rpartition("/")[2], layers), layers)
    if not 0 <= asked <= layers:
        raise CalipersError(f"the model has layers 0 to {layers}, not {asked}", file=model)
    return asked


def _longest(tokenizer: Any, config: Any) -> int:
    """Return the number of tokens that the model can read."""
    positions = getattr(config, "max_position_embeddings", None) or 1 << 30
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "longformer"):
        positions -= 2  # positions are counted from the one after padding
    return int(min(tokenizer.model_max_length, positions))


def _cut_after(network: Any, layer: int, layers: int, torch: Any) -> None:
    """Remove the layers after the wanted one, so that they are not computed."""
    if layer == layers:
        return
    for module in network.modules():
        for name, child in module.named_children():
            if isinstance(child, torch.nn.ModuleList) and len(child) == layers:
                setattr(module, name, child[:layer])
                return
    raise CalipersError(f"the layers of a model of type '{network.config.model_type}' cannot be found")
