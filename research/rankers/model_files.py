"""Model files: a line that says what they are, a checksum, a header in JSON, and plain arrays. Nothing in them can run.

calipers-model 1
<SHA-256 of all that follows>
{"ranker": "adarank", "features": 46, "parameters": {...}, "arrays": [["weights", "<f8", [46]]], ...}
<the bytes of the arrays, one after another>
"""

from __future__ import annotations

import json
import math
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import calipers as cal
from calipers import CalipersError, Measure
from calipers.conventions import Convention
from calipers.support.atomic_files import write_whole
from research.rankers.base import Arrays, Ranker

MAGIC = b"calipers-model"
FORMAT = 1
DTYPES = ("<f8", "<f4", "<i4", "<i8", "|u1")
MOST_BYTES = 1 << 33
MOST_FEATURES = (1 << 31) - 2
MOST_JOBS = 1024
MOST_CELLS = 1 << 24  # of the document that a model is tried out with


def save(ranker: Ranker, path: str) -> None:
    """Write a fitted ranker, whole or not at all. A model that `load` would refuse is not written."""
    if not ranker.model_:
        from research.rankers.not_fitted import NotFitted

        raise NotFitted(f"{ranker.name} has not been fitted: there is nothing to save")
    try:
        _check(ranker)
    except CalipersError:
        raise
    except ValueError as error:
        raise CalipersError(f"the model that {ranker.name} learnt cannot be used ({error}): it is not saved") from None
    arrays = {name: _plain(array) for name, array in ranker.model_.items()}
    header = {
        "calipers": cal.__version__,
        "ranker": ranker.name,
        "features": ranker.features_,
        "parameters": {key: _as_json(value) for key, value in ranker.get_params().items()},
        "chosen": {key: _as_json(value) for key, value in ranker.chosen_.items()},
        "validation": ranker.validation_,
        "arrays": [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()],
    }
    text = json.dumps(header, ensure_ascii=True, sort_keys=True).encode() + b"\n"
    body = text + b"".join(array.tobytes() for array in arrays.values())
    checksum = sha256(body).hexdigest().encode()
    write_whole(path, MAGIC + b" %d\n" % FORMAT + checksum + b"\n" + body)


def load(path: str) -> Ranker:
    """Read a ranker of any kind; its file is checked first."""
    from research.rankers import RANKERS

    file = Path(path)
    if not file.is_file():
        raise CalipersError("there is no such file", file=path)
    try:
        if file.stat().st_size > MOST_BYTES:
            raise CalipersError(f"a model of more than {MOST_BYTES:,} bytes", file=path)
        whole = file.read_bytes()
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=path) from None
    header, payload = _checked(whole, path)
    kind = RANKERS.get(str(header.get("ranker")))
    if kind is None:
        raise CalipersError(
            f"unknown ranker '{str(header.get('ranker'))[:40]}'; there are {', '.join(RANKERS)}", file=path
        )
    try:
        ranker = kind(**{key: _from_json(value) for key, value in header["parameters"].items()})
        ranker.features_ = int(header["features"])
        ranker.chosen_ = {key: _from_json(value) for key, value in header["chosen"].items()}
        ranker.validation_ = None if header["validation"] is None else float(header["validation"])
        ranker.model_ = _arrays(header["arrays"], payload)
        _check(ranker)
    except CalipersError:
        raise
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise CalipersError(f"the model is not one that {kind.name} can read ({str(error)[:200]})", file=path) from None
    return ranker


def _check(ranker: Ranker) -> None:
    """Refuse a model whose arrays hold numbers that are not finite, or do not go with its parameters."""
    if not 0 < ranker.features_ <= MOST_FEATURES:
        raise ValueError(f"{ranker.features_} features")
    expected = type(ranker).shapes_of(ranker.features_, ranker.model_)
    found = {name: array.shape for name, array in ranker.model_.items()}
    if expected != found:
        raise ValueError(f"arrays {found}, expected {expected}")
    ranker.with_(**ranker.chosen_)
    if not all(np.isfinite(array).all() for array in ranker.model_.values()):
        raise ValueError("a number that is not finite")
    jobs = getattr(ranker, "jobs", 1)
    if not isinstance(jobs, int) or not 0 < jobs <= MOST_JOBS:
        raise ValueError(f"jobs={str(jobs)[:40]}")
    if ranker.features_ <= MOST_CELLS:
        with np.errstate(all="ignore"):
            ranker.scores_of(ranker.model_, np.zeros((1, ranker.features_)))


def _checked(whole: bytes, path: str) -> tuple[dict[str, Any], bytes]:
    first, _, rest = whole.partition(b"\n")
    magic, _, version = first.partition(b" ")
    if magic != MAGIC or not version.isdigit() or len(version) > 9:
        raise CalipersError("not a model of calipers: its first line is another", file=path)
    if int(version) != FORMAT:
        raise CalipersError(
            f"a model of format {int(version)}, and this version reads format {FORMAT}: train it again, "
            "or use the version of calipers that wrote it",
            file=path,
        )
    checksum, _, body = rest.partition(b"\n")
    if sha256(body).hexdigest().encode() != checksum:
        raise CalipersError("the model is damaged: its checksum does not match its content", file=path)
    text, _, payload = body.partition(b"\n")
    try:
        header = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise CalipersError("the model is damaged: its header cannot be read", file=path)
    return header, payload


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number of JSON")


def _arrays(described: Any, payload: bytes) -> Arrays:
    found: Arrays = {}
    place = 0
    for name, dtype, shape in described:
        if dtype not in DTYPES or not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError(f"an array of type {dtype} and shape {shape}")
        count = math.prod(shape)
        end = place + count * np.dtype(dtype).itemsize
        if end > len(payload):
            raise ValueError("arrays end too early")
        found[str(name)] = np.frombuffer(payload, dtype, count, place).reshape(shape).copy()
        place = end
    if place != len(payload):
        raise ValueError("something follows the arrays")
    return found


def _plain(array: Any) -> Any:
    """Return the array as little-endian and contiguous."""
    plain = np.ascontiguousarray(array)
    plain = plain.astype(plain.dtype.newbyteorder("<"))
    if plain.dtype.str not in DTYPES:
        raise TypeError(f"arrays of type {plain.dtype} are not saved")
    return plain


def _as_json(value: Any) -> Any:
    if isinstance(value, Measure):
        return repr(value)
    if isinstance(value, Convention):
        return value.name
    if isinstance(value, tuple | list):
        return [_as_json(each) for each in value]
    if isinstance(value, dict):
        return {str(key): _as_json(each) for key, each in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def _from_json(value: Any) -> Any:
    return tuple(_from_json(each) for each in value) if isinstance(value, list) else value
