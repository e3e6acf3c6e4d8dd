"""Which column of a table holds what: its name says so, or the user does.

Names are compared without regard to case. Some tables have the text of a query beside its id, and PyTerrier's have
its own number of a document (docid) beside the id (docno), so the names of a role come in two ranks: a column with a
name of the first rank is taken before any with one of the second.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from calipers.errors import CalipersError

NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("qid", "query_id", "q_id"), ("query", "topic")),
    "document": (("docno", "doc_id"), ("docid", "doc", "document")),
    "score": (("score",),),
    "grade": (("grade", "label", "relevance", "rel"),),
    "system": (("system", "run", "tag"),),
}
OPTIONAL = ("system",)


def columns_of(
    found: Sequence[str],
    value: str,
    given: Mapping[str, str] | None = None,
    *,
    file: str | None = None,
) -> dict[str, str]:
    """The column of each role: query, document, `value` (score or grade), and system where a run has it.

    >>> columns_of(["qid", "query", "docno", "score"], "score")
    {'query': 'qid', 'document': 'docno', 'score': 'score'}
    """
    check_roles(given)
    roles = ["query", "document", value] + (["system"] if value == "score" else [])
    chosen = {role: _column(role, found, (given or {}).get(role), file) for role in roles}
    return {role: column for role, column in chosen.items() if column is not None}


def check_roles(given: Mapping[str, str] | None) -> None:
    """Refuse a role that does not exist."""
    for role in given or ():
        if role not in NAMES:
            raise CalipersError(f"columns: there is no '{role}', only {', '.join(NAMES)}")


def _column(role: str, found: Sequence[str], named: str | None, file: str | None) -> str | None:
    if named is not None:
        matching = [column for column in found if column == named]
        if not matching:
            raise CalipersError(f"there is no column '{named}' for the {role}; {_listed(found)}", file=file)
        if len(matching) > 1:
            raise CalipersError(f"two columns have the name '{named}' ({role}); {_listed(found)}", file=file)
        return named
    for names in NAMES[role]:
        matching = [column for column in found if column.strip().lower() in names]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise CalipersError(
                f"the {role} could be any of the columns {_quoted(matching)}: say which "
                f"(columns, --columns {role}=...); {_listed(found)}",
                file=file,
            )
    if role in OPTIONAL:
        return None
    known = ", ".join(name for names in NAMES[role] for name in names)
    raise CalipersError(
        f"there is no column for the {role} ({known}, or another: columns, --columns {role}=...); {_listed(found)}",
        file=file,
    )


def _listed(found: Sequence[str]) -> str:
    return f"the columns are {_quoted(found[:20])}{' ...' if len(found) > 20 else ''}"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" if len(name) <= 60 else f"'{name[:60]}...'" for name in names)
