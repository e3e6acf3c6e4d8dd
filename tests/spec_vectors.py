"""The exact test vectors that lie beside the acceptance data: what a module that needs them imports."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest


def load() -> dict[str, Any]:
    """The vectors; where they are absent, the importing module is skipped, or fails where they are required."""
    folder = Path(__file__).resolve().parents[1] / os.environ.get("CALIPERS_DATA", "../shared/data")
    path = folder.parent / "spec" / "vectors.json"
    if path.is_file():
        vectors: dict[str, Any] = json.loads(path.read_text())
        return vectors
    if os.environ.get("CALIPERS_DATA_REQUIRED") == "1":
        raise FileNotFoundError("spec/vectors.json is not beside CALIPERS_DATA")
    return pytest.skip("needs spec/vectors.json beside CALIPERS_DATA", allow_module_level=True)


VECTORS = load()
