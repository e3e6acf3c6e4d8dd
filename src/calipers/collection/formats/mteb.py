"""Predictions of MTEB, as `mteb` writes them to its prediction folder.

{"mteb_model_meta": {"model_name": ...}, subset: {split: {query: {document: score}}}}

Each split of each subset is a run. (Older versions write {query: {document: score}}, which is JSON like any other.)
MTEB's results are mean scores, which no measure can be computed from: they are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.collection.files import Path
from calipers.collection.formats.format import Contents, Format
from calipers.collection.formats.json import RowCollector
from calipers.collection.json_values import collect, is_json, shown
from calipers.collection.table_rows import Rows

META = "mteb_model_meta"
_NAME = rb'\{\s*"(?:[^"\\]|\\.){0,200}"\s*:\s*'
_PREDICTIONS = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\{\s*"mteb_model_meta"\s*:|' + _NAME * 3 + rb"\{)")
_RESULTS = re.compile(rb'"mteb_(?:version|dataset_name)"\s*:')


def read_mteb(
    path: Path, *, value: str = "score", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return all documents of all splits."""
    return collect(path, lambda name: _Predictions(value, columns, name), max_unpacked=max_unpacked).rows()


def contents_of_mteb(path: Path, **options: Any) -> Contents:
    """Return the splits of a file."""
    return Contents.of(read_mteb(path, **options))


@dataclass
class _Predictions(RowCollector):
    """Documents so far."""

    def add(self, item: Any, number: int | None) -> None:
        if isinstance(item, dict) and META not in item and any("mteb_" in name for name in item):
            raise self.error(
                "a result of MTEB: mean scores, without rankings; predictions have them (prediction_folder)", number
            )
        meta = item.get(META) if isinstance(item, dict) else None
        model = meta.get("model_name") if isinstance(meta, dict) else None
        if not isinstance(item, dict):
            raise self.error(f"expected predictions of MTEB, found {shown(item)}", number)
        splits = {
            (subset, split): found
            for subset, inner in item.items()
            if subset != META and isinstance(inner, dict)
            for split, found in inner.items()
        }
        for (subset, split), found in splits.items():
            if not isinstance(found, dict) or not all(isinstance(ranked, dict) for ranked in found.values()):
                raise self.error(
                    f"{subset}, {split}: expected {{query: {{document: score}}}}, found {shown(found)}", number
                )
            name = str(model) if model and len(splits) == 1 else f"{model or 'mteb'}:{subset}:{split}"
            for query, ranked in found.items():
                self.add_ranked(query, ranked, None)
                if model or len(splits) > 1:
                    self.cells.setdefault("system", []).extend([name] * len(ranked))


MTEB = Format(
    name="mteb",
    holds="table",
    line='{"mteb_model_meta": ..., subset: {split: {query: {document: score}}}}',
    noun="predictions of MTEB",
    matches=lambda start: (
        is_json(start) and (_PREDICTIONS.match(start) is not None or _RESULTS.search(start) is not None)
    ),
    values=("score",),
    read=read_mteb,
    contents=contents_of_mteb,
)
