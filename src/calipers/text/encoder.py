"""Texts as vectors: each token of a text in its context, from a layer of a pretrained model.

Any encoder that transformers can load, by its name on the hub or from a folder. Nothing heavy is imported before a
model is opened.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError
from calipers.extras import load
from calipers.network import may_download, offline
from calipers.text.bounded_scores import Progress
from calipers.text.vector_cache import Cache

Vectors = NDArray[np.float32]


BATCH = 64  # texts
WHAT = "BERTScore and profiles of documents"
# The layers that correlate best with people's judgments of translations (WMT16): Zhang et al., ICLR 2020.
BEST_LAYERS = {
    "bert-base-uncased": 9, "bert-base-cased": 9, "bert-large-uncased": 18, "bert-base-multilingual-cased": 9,
    "roberta-base": 10, "roberta-large": 17, "distilbert-base-uncased": 5, "distilroberta-base": 5,
    "albert-base-v2": 9, "xlnet-base-cased": 5, "xlm-roberta-base": 9, "xlm-roberta-large": 17,
}  # fmt: skip
_PLAIN_FOLDERS = ("model", "encoder", "")  # names that say nothing


@dataclass(frozen=True, eq=False)
class Encoded:
    """A text as the model sees it."""

    tokens: NDArray[np.int64]
    vectors: Vectors  # [token, dimension], of length 1
    special: NDArray[np.bool_]  # begins, ends or pads the text
    cut: bool  # the text was longer than the model can read

    @property
    def empty(self) -> bool:
        return bool(self.special.all())


class Encoder:
    """A model, one of its layers, and what has been encoded with it."""

    def __init__(
        self,
        model: str | os.PathLike[str],
        layer: int | None = None,
        *,
        device: str | None = None,
        batch: int = BATCH,
        cache: str | os.PathLike[str] | None = None,
    ) -> None:
        self.model = os.path.expanduser(os.fspath(model))
        self.batch = batch
        with may_download(f"the model {self.model}"):
            self._torch = load("torch", extra="text", what=WHAT)
            self._transformers = load("transformers", extra="text", what=WHAT)
        self.device = _device(self._torch, device)
        self.tokenizer, self._network = self._open()
        self.layers = _layers(self._network.config)
        self.layer = _layer(layer, self.layers, self.model)
        self.longest = _longest(self.tokenizer, self._network.config)
        _cut_after(self._network, self.layer, self.layers, self._torch)
        self._known: dict[str, Encoded] = {}
        self._cache = None if cache is None else Cache(cache, f"{self._fingerprint()} L{self.layer}")

    @property
    def short_name(self) -> str:
        """The model's name without where it lies."""
        path = Path(self.model)
        if not path.is_dir():
            return self.model
        path = path.resolve()
        return path.parent.name if path.name in _PLAIN_FOLDERS else path.name

    @property
    def name(self) -> str:
        """Model and layer, as every result has them in its name."""
        return f"{self.short_name} L{self.layer}"

    # -- encoding ----------------------------------------------------------------------------------------

    def encode(self, texts: Iterable[str], progress: Progress | None = None) -> dict[str, Encoded]:
        """Each text as vectors, the same text only once. `progress` is told how many are done."""
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
        # Texts of like length go together: little is wasted on padding.
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
        return {text: self._known[text] for text in wanted}

    def tokenize(self, texts: Sequence[str]) -> list[tuple[list[int], bool]]:
        """The tokens of each text, and whether some had to be left out."""
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
        """Tokens as text again."""
        return str(self.tokenizer.decode(list(tokens), skip_special_tokens=True))

    def _special(self, ids: Sequence[int]) -> NDArray[np.bool_]:
        return np.isin(ids, self._marks)

    @property
    def _marks(self) -> list[int]:
        marks = (self.tokenizer.cls_token_id, self.tokenizer.sep_token_id, self.tokenizer.pad_token_id,
                 self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)  # fmt: skip
        return [mark for mark in marks if mark is not None]

    def _padded(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        torch = self._torch
        width = max(len(row) for row in rows)
        pad = self.tokenizer.pad_token_id if self.tokenizer.pad_token_id is not None else 0
        ids = torch.full((len(rows), width), pad, dtype=torch.long)
        mask = torch.zeros((len(rows), width), dtype=torch.long)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(list(row), dtype=torch.long)
            mask[i, : len(row)] = 1
        return ids.to(self.device), mask.to(self.device)

    def _vectors(self, rows: Sequence[Sequence[int]]) -> list[Vectors]:
        ids, mask = self._padded(rows)
        with self._torch.inference_mode():
            states = self._network(ids, attention_mask=mask)[0]
            states = self._torch.nn.functional.normalize(states.float(), dim=-1).cpu().numpy()
        return [np.array(state[: len(row)]) for state, row in zip(states, rows, strict=True)]

    # -- attention ---------------------------------------------------------------------------------------

    def attention(self, texts: Sequence[str], progress: Progress | None = None) -> list[Vectors]:
        """The attention of the model's last layer, the mean over its heads: [token, token] of each text.

        Rows and columns of special tokens are left in: they take up much of the attention.
        """
        network = self._open_network(attn_implementation="eager")
        advance = progress or (lambda done: None)
        found = []
        for (ids, _), _text in zip(self.tokenize(list(texts)), texts, strict=True):
            rows, mask = self._padded([ids])
            with self._torch.inference_mode():
                weights = network(rows, attention_mask=mask, output_attentions=True).attentions[-1]
            found.append(np.asarray(weights[0].float().mean(dim=0).cpu().numpy()))
            advance(1)
        return found

    # -- opening -----------------------------------------------------------------------------------------

    def _open(self) -> tuple[Any, Any]:
        if _looks_like_a_folder(self.model):
            _check_folder(Path(self.model))
        try:
            with _quiet(self._transformers), may_download("the model"):
                tokenizer = self._transformers.AutoTokenizer.from_pretrained(self.model, local_files_only=offline())
        except Exception as error:
            raise self._cannot_load("tokenizer", error) from None
        return tokenizer, self._open_network()

    def _open_network(self, **options: Any) -> Any:
        try:
            with _quiet(self._transformers), may_download("the model"):
                options = {"local_files_only": offline(), **options}
                network = self._transformers.AutoModel.from_pretrained(self.model, **options)
        except Exception as error:
            raise self._cannot_load("model", error) from None
        if hasattr(network, "decoder") and hasattr(network, "encoder"):
            network = network.encoder
        return network.eval().to(self.device)

    def _cannot_load(self, what: str, error: Exception) -> CalipersError:
        if offline() and not Path(self.model).is_dir():
            why = "is not on this machine, and CALIPERS_OFFLINE is set: name a model folder, or fetch the model first"
            return CalipersError(f"the {what} {why}", file=self.model)
        advice = "" if Path(self.model).is_dir() else " Name a model folder, or a model that can be had from the hub."
        return CalipersError(f"no {what} can be loaded: {_first_line(error)}{advice}", file=self.model)

    def _fingerprint(self) -> str:
        """What tells this model from others, and from itself before it was trained further."""
        path = Path(self.model)
        if not path.is_dir():
            return f"{self.model} {getattr(self._network.config, '_commit_hash', '')}"
        weights = sorted(path.glob("*.safetensors")) + sorted(path.glob("*.bin"))
        return " ".join(
            [str(path.resolve()), *(f"{w.name}:{w.stat().st_size}:{w.stat().st_mtime_ns}" for w in weights)]
        )


def _looks_like_a_folder(model: str) -> bool:
    """A name on the hub is NAME or OWNER/NAME; all else is a path."""
    path = Path(model)
    return path.exists() or path.is_absolute() or model.startswith(".") or model.count("/") > 1 or "\\" in model


def _check_folder(path: Path) -> None:
    if not path.is_dir():
        raise CalipersError("no such model folder", file=str(path))
    if not (path / "config.json").is_file():
        raise CalipersError("is not a model folder: it has no config.json", file=str(path))
    names = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model", "sentencepiece.bpe.model")
    if not any((path / name).is_file() for name in names):
        raise CalipersError("the model folder has no tokenizer (tokenizer.json, vocab.txt ...)", file=str(path))


def _device(torch: Any, asked: str | None) -> Any:
    if asked is None:
        mps = getattr(torch.backends, "mps", None)
        asked = "cuda" if torch.cuda.is_available() else "mps" if mps is not None and mps.is_available() else "cpu"
    try:
        device = torch.device(asked)
        torch.zeros(1, device=device)
    except Exception as error:
        raise CalipersError(f"device '{asked}' cannot be used: {_first_line(error)}") from None
    return device


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
    """Tokens of the longest text that the model can read."""
    positions = getattr(config, "max_position_embeddings", None) or 1 << 30
    if config.model_type in ("roberta", "xlm-roberta", "camembert", "longformer"):
        positions -= 2  # its places are counted from the one after padding
    return int(min(tokenizer.model_max_length, positions))


def _cut_after(network: Any, layer: int, layers: int, torch: Any) -> None:
    """Leave out the layers after the one that is wanted: they would be computed for nothing."""
    if layer == layers:
        return
    for module in network.modules():
        for name, child in module.named_children():
            if isinstance(child, torch.nn.ModuleList) and len(child) == layers:
                setattr(module, name, child[:layer])
                return
    raise CalipersError(f"the layers of a model of type '{network.config.model_type}' are not to be told apart")


@contextmanager
def _quiet(transformers: Any) -> Iterator[None]:
    """Without the bars and warnings that loading a model prints: what matters is said by us."""
    import warnings

    logging = transformers.utils.logging
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
