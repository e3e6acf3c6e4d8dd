"""Roles of the columns of a table, found by their names or named by the user.

Case and separators do not matter: `Query ID`, `query-id`, `query_id` and `queryId` are one name. Some tables have the
text of a query next to its id, and PyTerrier's tables have a number of each document (docid) next to its id (docno).
Phoenix has the texts of queries and documents alone (input, reference). So
the names of a role have priorities: a column with a name of an earlier group is taken before any column with a name of
a later group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from calipers.errors import CalipersError

NAMES: dict[str, tuple[tuple[str, ...], ...]] = {
    "query": (("qid", "query_id", "topic_id"), ("query", "topic", "query_text"), ("user_id", "user"), ("input",)),
    "document": (
        ("docno",),
        ("doc_id", "document_id", "corpus_id", "passage_id", "pid"),
        ("doc", "document", "url"),
        ("item_id", "product_id"),
        ("item", "product"),
        ("id",),
        ("reference",),
    ),
    "score": (("score",), ("prediction", "similarity", "document_score")),
    "grade": (("grade", "label", "relevance", "rel", "rating", "judgment", "judgement", "stars"),),
    "rank": (("rank", "position", "doc_position", "document_position"),),
    "system": (("system", "run", "tag"), ("snapshot_name",)),
}
OPTIONAL = ("system", "rank")
WITHOUT = {
    "grade": ". If every row is a relevant document, add a column 'grade' of ones",
    "score": ", or rank=NAME if its numbers are ranks or distances, of which the smallest is best. If the rows are in "
    "ranked order, add a column 'rank'",
}
ORDER = "judgments come first, then runs"
_SEPARATORS = re.compile(r"[\s._-]+")


def plain_name(name: str) -> str:
    """Return a name without case and separators.

    >>> plain_name(" Doc ID") == plain_name("doc_id") == plain_name("docId")
    True
    """
    return _SEPARATORS.sub("", name).lower()


_PLAIN = {role: [{plain_name(name) for name in names} for names in ranks] for role, ranks in NAMES.items()}


def columns_of(
    found: Sequence[str],
    value: str,
    given: Mapping[str, str] | None = None,
    *,
    file: str | None = None,
    ranks: bool = True,
) -> dict[str, str]:
    """Return the column of each role: query, document, `value` (score or grade), and system if a run has it.

    A run without scores may have a column of ranks instead (`ranks`): then that role is there in place of `score`. In
    BEIR's judgments the grade is called score.

    >>> columns_of(["qid", "query", "docno", "score"], "score")
    {'query': 'qid', 'document': 'docno', 'score': 'score'}
    >>> columns_of(["Query Text", "Doc ID", "Doc Position"], "score")
    {'query': 'Query Text', 'document': 'Doc ID', 'rank': 'Doc Position'}
    >>> columns_of(["query-id", "corpus-id", "score"], "grade")
    {'query': 'query-id', 'document': 'corpus-id', 'grade': 'score'}
    """
    check_roles(given)
    named = dict(given or {})
    chosen = {role: _column(role, found, named.get(role), file) for role in ("query", "document")}
    if value == "score":
        by_rank = ranks and "score" not in named and ("rank" in named or not _matching("score", found))
        rank = _column("rank", found, named.get("rank"), file) if by_rank else None
        if rank is not None:
            chosen["rank"] = rank
        else:
            chosen["score"] = _column("score", found, named.get("score"), file)
        chosen["system"] = _column("system", found, named.get("system"), file)
    else:
        beir = "grade" not in named and not _matching("grade", found) and _is_beir(chosen["document"])
        role = "score" if beir and _matching("score", found) else "grade"
        chosen["grade"] = _column(role, found, named.get("grade"), file)
    return {role: column for role, column in chosen.items() if column is not None}


def number_role(names: Mapping[str, str], value: str) -> str:
    """Return the role of the column that holds the number: `value`, or rank if there is no score."""
    return value if value in names else "rank"


def rank_beside_score(found: Sequence[str], names: Mapping[str, str]) -> str | None:
    """Return the column of ranks of a run that is ordered by its scores, or None.

    >>> rank_beside_score(["qid", "docno", "score", "rank"], {"query": "qid", "document": "docno", "score": "score"})
    'rank'
    """
    ranks = _matching("rank", found)
    return ranks[0] if "score" in names and len(ranks) == 1 and ranks[0] not in names.values() else None


def check_roles(given: Mapping[str, str] | None, roles: Iterable[str] = NAMES) -> None:
    """Refuse a role that does not exist."""
    for role in given or ():
        if role not in roles:
            raise CalipersError(f"columns: there is no '{role}', only {', '.join(roles)}")


def first_columns(found: Iterable[str], names: Mapping[str, Sequence[str]], given: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each role that has one: the one that the user named, or the first that has a known name.

    A column has one role only.

    >>> first_columns(["Query ID", "answer", "gold"], {"text": ["answer"], "id": ["query_id"]}, {"reference": "gold"})
    {'reference': 'gold', 'text': 'answer', 'id': 'Query ID'}
    """
    chosen = {role: column for role, column in given.items() if column in found}
    plain = {plain_name(column): column for column in found}
    for role, known in names.items():
        columns = (plain.get(plain_name(name)) for name in known)
        free = next((column for column in columns if column is not None and column not in chosen.values()), None)
        if free is not None and role not in given:
            chosen[role] = free
    return chosen


def _is_beir(document: str | None) -> bool:
    return document is not None and plain_name(document) == "corpusid"


def _matching(role: str, found: Sequence[str]) -> list[str]:
    """Return the columns whose names have the highest priority for a role."""
    plain = [plain_name(column) for column in found]
    for names in _PLAIN[role]:
        if matching := [column for column, name in zip(found, plain, strict=True) if name in names]:
            return matching
    return []


def _column(role: str, found: Sequence[str], named: str | None, file: str | None) -> str | None:
    if named is not None:
        matching = [column for column in found if column == named]
        if not matching:
            raise CalipersError(f"there is no column '{named}' for the {role}; {_listed(found)}", file=file)
        if len(matching) > 1:
            raise CalipersError(f"two columns have the name '{named}' ({role}); {_listed(found)}", file=file)
        return named
    matching = _matching(role, found)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise CalipersError(
            f"the {role} could be any of the columns {_quoted(matching)}; {_listed(found)}. Say which one it is "
            f"with columns, as {role}={matching[0]}",
            file=file,
            parameter="columns",
        )
    if role in OPTIONAL:
        return None
    known = ", ".join(name for names in NAMES[role] for name in names)
    raise CalipersError(
        f"there is no column for the {role} ({known}); {_listed(found)}{_exchanged(role, found)}. If the {role} has "
        f"another name, give it with columns, as {role}=NAME{WITHOUT.get(role, '')}",
        file=file,
        parameter="columns",
    )


def _exchanged(role: str, found: Sequence[str]) -> str:
    """Return a hint if judgments and runs seem to be exchanged, else an empty text."""
    if role == "grade" and (other := _matching("score", found) or _matching("rank", found)):
        return f"; '{other[0]}' makes it look like a run: {ORDER}"
    if role == "score" and (other := _matching("grade", found)):
        return f"; '{other[0]}' makes it look like judgments: {ORDER}"
    return ""


def _listed(found: Sequence[str]) -> str:
    return f"the columns are {_quoted(found[:20])}{' ...' if len(found) > 20 else ''}"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" if len(name) <= 60 else f"'{name[:60]}...'" for name in names)
