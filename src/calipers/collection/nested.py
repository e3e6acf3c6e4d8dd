"""Dictionaries of judgments and runs, in the shapes that people have.

judgments   {query: {document: grade}}, {query: [relevant documents]}, {query: {relevant documents}}
runs        {query: {document: score}}, {query: [documents, best first]}, {query: [(document, score), ...]}
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set as AbstractSet
from typing import Any

import numpy as np

from calipers.errors import CalipersError
from calipers.support.checks import check_type, described

Documents = Mapping[str, float]


def graded_documents(nested: Mapping[Any, Any], name: str) -> Mapping[str, Documents]:
    """Return judgments as {query: {document: grade}}. Documents of lists and sets have grade 1.

    >>> graded_documents({"q1": ["d2", "d1"], "q2": {"d3"}, "q3": {"d4": True}}, "judgments")
    {'q1': {'d2': 1.0, 'd1': 1.0}, 'q2': {'d3': 1.0}, 'q3': {'d4': True}}
    """
    check_type(name, nested, Mapping, "{query: {document: grade}}")
    if all(isinstance(inner, Mapping) for inner in nested.values()):
        return with_text_ids(nested, name)
    return with_text_ids({query: _graded(query, inner, name) for query, inner in nested.items()}, name)


def scored_documents(nested: Mapping[Any, Any], name: str) -> Mapping[str, Documents]:
    """Return a run as {query: {document: score}}. Documents of a list score -1, -2, ... in their order.

    >>> scored_documents({"q1": ["d2", "d1"], "q2": [("d3", 0.5)]}, "run")
    {'q1': {'d2': -1.0, 'd1': -2.0}, 'q2': {'d3': 0.5}}
    """
    check_type(name, nested, Mapping, "{query: {document: score}}")
    if all(isinstance(inner, Mapping) for inner in nested.values()):
        return with_text_ids(nested, name)
    return with_text_ids({query: _scored(query, inner, name) for query, inner in nested.items()}, name)


def holds_queries(nested: Mapping[Any, Any]) -> bool:
    """Return True for the documents of each query, and False for runs by name, {name: run}.

    >>> holds_queries({"q1": ["d1", "d2"]}), holds_queries({"bm25": {"q1": ["d1", "d2"]}})
    (True, False)
    """
    found: Iterable[tuple[Any, Any]] = nested.items()
    name, inner = next(((key, value) for key, value in found if not _is_empty(value)), ("", {}))
    if isinstance(inner, np.ndarray):  # numbers may be ids, or scores in the order of labels: then a system has a name
        return inner.ndim == 1 and inner.dtype.kind in ("USO" if isinstance(name, str) else "USOiu")
    if isinstance(inner, Mapping):
        return not isinstance(next(iter(inner.values()), None), Mapping | list | tuple | AbstractSet | np.ndarray)
    return isinstance(inner, list | tuple) and (_is_id(inner[0]) or _is_pair(inner[0]))


def with_text_ids(nested: Mapping[Any, Any], name: str) -> Mapping[str, Documents]:
    """Return {query: {document: number}} with text as ids. Pyserini has whole numbers as ids, and grades as text."""
    if not all(isinstance(inner, Mapping) for inner in nested.values()):
        return nested  # which will be refused
    number = next(iter(next(iter(nested.values()), {}).values()), 0)
    if not isinstance(number, str) and _are_texts(nested) and all(map(_are_texts, nested.values())):
        return nested
    _check_ids("query", nested, name)
    for query, inner in nested.items():
        _check_ids(f"query '{query}': document", inner, name)
    try:
        return {
            str(query): {str(document): float(number) for document, number in inner.items()}
            for query, inner in nested.items()
        }
    except (TypeError, ValueError, OverflowError):
        return nested  # which will be refused


def _are_texts(ids: Iterable[Any]) -> bool:
    try:
        "".join(ids)  # looks at each id, and takes a tenth of the time of asking for its type
    except TypeError:
        return False
    return True


def _check_ids(what: str, ids: Collection[Any], name: str) -> None:
    """Refuse ids that are neither text nor whole numbers, and a number and a text that are written alike."""
    for each in ids:
        if not _is_id(each):
            raise CalipersError(f"{what} {each!r:.40} is not an id: expected text or a whole number", file=name)
        if not isinstance(each, str) and str(each) in ids:
            raise CalipersError(f"{what} {each} is there twice, as a number and as the text '{each}'", file=name)


def check_parts(judgments: Any, name: str) -> None:
    """Refuse what is not {query: {part: {document: grade}}}."""
    shape = "{query: {subtopic or stratum: {document: grade}}}"
    check_type(name, judgments, Mapping, shape)
    for parts in judgments.values():
        check_type(name, parts, Mapping, shape)
        for graded in parts.values():
            check_type(name, graded, Mapping, shape)


def _graded(query: object, inner: Any, name: str) -> Documents:
    if isinstance(inner, Mapping):
        return inner
    if isinstance(inner, AbstractSet):
        inner = sorted(inner, key=str)
    if isinstance(inner, np.ndarray):
        inner = inner.tolist()
    if not isinstance(inner, list | tuple) or not all(map(_is_id, inner)):
        raise CalipersError(
            f"query '{query}': expected {{document: grade}}, or a list or set of relevant documents, "
            f"found {described(inner)}",
            file=name,
        )
    return _distinct(query, ((document, 1.0) for document in inner), name)


def _scored(query: object, inner: Any, name: str) -> Documents:
    if isinstance(inner, Mapping):
        return inner
    if isinstance(inner, np.ndarray):
        inner = inner.tolist()
    if not isinstance(inner, list | tuple):
        raise CalipersError(
            f"query '{query}': expected {{document: score}}, a list of documents with the best first, or a list of "
            f"(document, score), found {described(inner)}",
            file=name,
        )
    if inner and _is_pair(inner[0]):
        wrong = next((item for item in inner if not _is_pair(item)), None)
        if wrong is not None:
            raise CalipersError(f"query '{query}': expected (document, score), found {described(wrong)}", file=name)
        return _distinct(query, inner, name)
    wrong = next((item for item in inner if not _is_id(item)), None)
    if wrong is not None:
        raise CalipersError(
            f"query '{query}': expected the id of a document or (document, score), found {described(wrong)}", file=name
        )
    return _distinct(query, ((document, -float(rank)) for rank, document in enumerate(inner, 1)), name)


def _distinct(query: object, pairs: Iterable[Any], name: str) -> dict[Any, float]:
    found: dict[Any, float] = {}
    for document, number in pairs:
        if document in found:
            raise CalipersError(f"document '{document}' appears twice for query '{query}'", file=name)
        found[document] = number
    return found


def _is_empty(value: Any) -> bool:
    return isinstance(value, Mapping | list | tuple | AbstractSet) and not value


def _is_pair(value: Any) -> bool:
    """Return True for (document, score)."""
    return isinstance(value, tuple | list) and len(value) == 2 and _is_id(value[0]) and _is_number(value[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | np.integer) and not isinstance(value, bool)
