"""Judgment lists of OpenSearch's Search Relevance Workbench, as they are imported and as they are answered.

{"judgmentRatings": [{"query": "red shoes", "ratings": [{"docId": "B01", "rating": "3.000"}]}]}

The rating may be a number or written as one. Lists that a search for them returned are inside its hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from calipers.collection.files import Path
from calipers.collection.first_line import is_number
from calipers.collection.formats.format import Format
from calipers.collection.formats.json import RowCollector
from calipers.collection.json_values import collect, is_json, shown
from calipers.collection.table_rows import Rows

_RATINGS = re.compile(rb'"judgmentRatings"\s*:\s*\[')


def read_judgment_list(
    path: Path, *, value: str = "grade", columns: Mapping[str, str] | None = None, max_unpacked: int | None = None
) -> Rows:
    """Return all ratings of all lists in a file."""
    return collect(path, lambda name: _Ratings(value, columns, name), max_unpacked=max_unpacked).rows()


@dataclass
class _Ratings(RowCollector):
    """Ratings so far."""

    def add(self, item: Any, number: int | None) -> None:
        lists = [*_lists(item)]
        if not lists:
            raise self.error(f"expected judgmentRatings, found {shown(item)}", number)
        for judged in lists:
            for entry in judged:
                self._take(entry, number)

    def _take(self, entry: Any, number: int | None) -> None:
        if not isinstance(entry, dict) or not isinstance(entry.get("ratings"), list) or "query" not in entry:
            raise self.error(f"expected a query and its ratings, found {shown(entry)}", number)
        query = entry["query"]
        for rating in entry["ratings"]:
            if not isinstance(rating, dict) or "docId" not in rating or "rating" not in rating:
                raise self.error(f"query '{query}': expected docId and rating, found {shown(rating)}", number)
            grade = rating["rating"]
            if isinstance(grade, str) and is_number(grade):
                grade = float(grade)
            self.add_document(query, rating["docId"], grade)


def _lists(item: Any) -> Iterator[list[Any]]:
    if not isinstance(item, dict):
        return
    if isinstance(item.get("judgmentRatings"), list):
        yield item["judgmentRatings"]
        return
    hits = item.get("hits")
    for hit in hits.get("hits", ()) if isinstance(hits, dict) else ():
        if isinstance(hit, dict):
            yield from _lists(hit.get("_source"))


JUDGMENT_LIST = Format(
    name="judgment-list",
    holds="table",
    line='{"judgmentRatings": [{"query": ..., "ratings": [{"docId": ..., "rating": ...}]}]}',
    noun="a judgment list of OpenSearch",
    matches=lambda start: is_json(start) and _RATINGS.search(start) is not None,
    values=("grade",),
    read=read_judgment_list,
)
