"""Open pretrained models from a folder, from this machine's cache, or from the Hugging Face hub.

What is on this machine is opened without asking anybody. What is not is asked for once, so that a mistyped name, or a
missing connection, is an error at once and not after minutes of retries. HF_HUB_OFFLINE and CALIPERS_OFFLINE forbid
the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from calipers.errors import CalipersError
from calipers.support.extras import load, missing, offline_by, set_offline_switches

SECONDS = 10.0  # that the hub has to answer in
WHAT = "BERTScore and profiles of documents"
_PLAIN_FOLDERS = ("model", "encoder", "")  # names that say nothing


def libraries() -> tuple[Any, Any]:
    """Import torch and transformers."""
    set_offline_switches()
    return load("torch", extra="text", what=WHAT), load("transformers", extra="text", what=WHAT)


def check_model(model: str) -> None:
    """Refuse a model that does not exist, before torch is loaded (which takes seconds)."""
    if _looks_like_a_folder(model):
        _check_folder(Path(model))
    elif not missing("torch", "transformers", "huggingface_hub"):
        _check_name(model)


def open_pretrained(transformers: Any, kind: str, model: str) -> Any:
    """Open a part of a model by a class of transformers (AutoTokenizer, AutoModel)."""
    what = "tokenizer" if kind == "AutoTokenizer" else "model"
    loader = getattr(transformers, kind).from_pretrained
    if Path(model).is_dir():
        try:
            with quiet(transformers):
                return loader(model, local_files_only=offline_by() is not None)
        except Exception as error:  # of transformers, of torch, of the files: of any kind
            raise CalipersError(f"no {what} can be loaded: {first_line(error)}", file=model) from None
    try:
        with quiet(transformers):
            return loader(model, local_files_only=True)
    except Exception:  # the same
        _ask_hub(model, what)
    try:
        with quiet(transformers):
            return loader(model)
    except Exception as error:  # the same
        raise _cannot_be_had(model, what, error) from None


def _check_name(model: str) -> None:
    set_offline_switches()
    from huggingface_hub import try_to_load_from_cache

    try:
        kept = try_to_load_from_cache(model, "config.json")
    except ValueError as error:
        raise _cannot_be_had(model, "model", error) from None
    if not isinstance(kept, str):
        _ask_hub(model, "model")


def _ask_hub(model: str, what: str) -> None:
    """Ask the hub once whether it has the model."""
    from huggingface_hub import HfApi

    if (variable := offline_by()) is not None:
        why = f"is not on this machine, and {variable} is set: name a model folder, or fetch the model first"
        raise CalipersError(f"the {what} {why}", file=model)
    try:
        HfApi().model_info(model, timeout=SECONDS)
    except Exception as error:  # of the hub's library, or of the network
        raise _cannot_be_had(model, what, error) from None


def _cannot_be_had(model: str, what: str, error: Exception) -> CalipersError:
    advice = "Name a model folder, or a model that can be had from the hub."
    return CalipersError(f"no {what} can be loaded: {first_line(error).rstrip('.')}. {advice}", file=model)


def short_name(model: str) -> str:
    """Return the model's name without its folder."""
    path = Path(model)
    if not path.is_dir():
        return model
    path = path.resolve()
    return path.parent.name if path.name in _PLAIN_FOLDERS else path.name


def fingerprint(model: str, network: Any) -> str:
    """Return a text that changes when the model's weights change."""
    path = Path(model)
    if not path.is_dir():
        return f"{model} {getattr(network.config, '_commit_hash', '')}"
    weights = sorted(path.glob("*.safetensors")) + sorted(path.glob("*.bin"))
    return " ".join([str(path.resolve()), *(f"{w.name}:{w.stat().st_size}:{w.stat().st_mtime_ns}" for w in weights)])


def device_of(torch: Any, asked: str | None) -> Any:
    """Return the requested device, or a GPU if there is one."""
    if asked is None:
        mps = getattr(torch.backends, "mps", None)
        asked = "cuda" if torch.cuda.is_available() else "mps" if mps is not None and mps.is_available() else "cpu"
    try:
        device = torch.device(asked)
        torch.zeros(1, device=device)
    except Exception as error:  # of torch: of any kind
        raise CalipersError(f"device '{asked}' cannot be used: {first_line(error)}") from None
    return device


def mixed_precision(torch: Any, device: Any, wanted: bool) -> AbstractContextManager[Any]:
    """Return a context in which matrix products use half precision, if wanted: bfloat16 if the device has it."""
    if not wanted:
        return nullcontext()
    half = torch.float16 if device.type == "cuda" and not torch.cuda.is_bf16_supported() else torch.bfloat16
    mixed: AbstractContextManager[Any] = torch.autocast(device.type, dtype=half)
    return mixed


def padded(torch: Any, rows: Sequence[Sequence[int]], pad: int | None, device: Any) -> tuple[Any, Any]:
    """Return rows of tokens as one padded block, and the mask of real tokens."""
    width = max(len(row) for row in rows)
    ids = torch.full((len(rows), width), pad if pad is not None else 0, dtype=torch.long)
    mask = torch.zeros((len(rows), width), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(list(row), dtype=torch.long)
        mask[i, : len(row)] = 1
    return ids.to(device), mask.to(device)


@contextmanager
def quiet(transformers: Any) -> Iterator[None]:
    """Silence the progress bars and warnings of loading a model."""
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


def first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _looks_like_a_folder(model: str) -> bool:
    """Return True for a path. A name on the hub is NAME or OWNER/NAME."""
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
