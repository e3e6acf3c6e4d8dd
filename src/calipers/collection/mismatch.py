"""Judgments and runs whose ids do not match: find it, and guess the reason."""

from __future__ import annotations

import math
import os.path
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import chain, islice, pairwise
from typing import NamedTuple, get_args
from unicodedata import normalize

import numpy as np

from calipers.collection.doubtful_numbers import LISTS, LONG, OPPOSITE, are_opposite
from calipers.collection.files import START, blocks, start_of
from calipers.collection.judgments import Judgments
from calipers.collection.line_blocks import columns_of_block, whole_lines
from calipers.collection.runs import DictRun, FileRun, RenamedRun, Run, RunView, unwrapped
from calipers.collection.table_rows import RowsRun
from calipers.errors import CalipersError
from calipers.lists import Ints
from calipers.native.columns import Retrieved
from calipers.native.ids import Ids, encode
from calipers.support.choices import Unmatched as Unmatched
from calipers.support.plurals import counted

UNMATCHED = get_args(Unmatched)
LOW_SHARE = 0.05  # of a run's queries with a judged document, below which a warning is given
EXAMPLES = 1000  # documents of a run that are compared with the judged ones


class NearMiss(NamedTuple):
    """Two ids that differ only in how they are written."""

    judged: str
    retrieved: str
    reason: str

    def __str__(self) -> str:
        return f"'{self.judged}' is judged and '{self.retrieved}' is retrieved: {self.reason}"


Reasons = tuple[tuple[str, Callable[[str], str]], ...]
REASONS: Reasons = (
    ("upper and lower case differ", str.casefold),
    ("there are spaces around one of them", str.strip),
    ("letters with accents are stored in two ways (Unicode forms NFC and NFD)", partial(normalize, "NFC")),
    (
        "leading zeros are missing in one of them, as after a spreadsheet has read them as numbers",
        lambda name: name.lstrip("0"),
    ),
    ("one of them ends in .0, as after a table has read them as fractions", lambda name: name.removesuffix(".0")),
)
DOCUMENT_REASONS: Reasons = (
    *REASONS,
    ("one of them is a passage of the other (see rollup)", lambda name: name.partition("#")[0]),
    ("one of them is a path or an address that ends in the other", lambda name: name.rpartition("/")[2]),
    ("one of them has a file ending", lambda name: os.path.splitext(name)[0]),
)


def near_misses(judged: Sequence[str], retrieved: Sequence[str], reasons: Reasons = REASONS) -> list[NearMiss]:
    """Return pairs of different ids that become equal if one detail of their spelling is ignored.

    All pairs have the same reason: the first one that explains any pair.

    >>> near_misses(["002419", "7"], ["2419", "8"])[0].retrieved
    '2419'
    >>> near_misses(["a"], ["a", "b"])
    []
    """
    known = set(judged)
    for reason, simplified in reasons:
        spelled = {simplified(name): name for name in reversed(judged)}
        pairs = [
            NearMiss(spelled[plain], name, reason)
            for name in retrieved
            if name not in known and (plain := simplified(name)) and plain in spelled
        ]
        if pairs:
            return pairs
    return []


class MatchedQueries(NamedTuple):
    """Counts of the queries of a run that have judged documents."""

    answered: int  # judged queries with at least one judged document
    matched: int  # queries for which the run retrieves a judged document
    unjudged: Ids  # queries of the run without judgments
    answers: Ints  # places of the judged queries that the run answers

    @classmethod
    def of(cls, judgments: Judgments, run: Retrieved) -> MatchedQueries:
        answered = int(np.count_nonzero(judgments.pool.size[run.query]))
        return cls(answered, int(np.count_nonzero(np.diff(run.offsets))), run.unjudged, run.query)

    @property
    def none(self) -> bool:
        """True if the run has documents, but none of them is judged."""
        return not self.matched and bool(self.answered or len(self.unjudged))

    @property
    def few(self) -> bool:
        """True if less than 5% of the queries that the run answers have a judged document, or none has one."""
        return self.none or self.matched < LOW_SHARE * self.answered


def check_unmatched(given: str) -> None:
    """Refuse a value that is not a choice of `unmatched`."""
    if given not in UNMATCHED:
        raise CalipersError(f"unmatched '{given}' is unknown; expected {' or '.join(UNMATCHED)}")


def unmatched_notes(
    judgments: Judgments, runs: Mapping[str, Run], matched: Sequence[MatchedQueries], unmatched: Unmatched
) -> list[str]:
    """Return a warning for each named run that has hardly any judged document. Raise an error if it has none.

    unmatched: "warn" makes the error a warning.
    """
    if not len(judgments):
        return []
    notes = _query_notes(judgments, runs, matched)
    for (name, run), seen in zip(runs.items(), matched, strict=True):
        if seen.none:
            text = f"{name}: none of its documents is judged{in_brackets(example_of_mismatch(judgments, run, seen))}"
            if unmatched == "error":
                raise CalipersError(
                    f"{text}. `inspect` shows more examples. To count such a run as it is, set unmatched to 'warn'",
                    parameter="unmatched",
                )
            notes.append(text)
        elif seen.few:
            notes.append(
                f"{name}: only {seen.matched} of {counted(seen.answered, 'query')} have a judged document"
                f"{in_brackets(example_of_mismatch(judgments, run, seen))}. `inspect` shows more examples"
            )
    return notes


def notes_on_matching(judgments: Judgments, runs: Mapping[str, Run], retrieved: Iterable[Retrieved]) -> list[str]:
    """Return what `unmatched_notes` warns of, for questions that runs without a judged document can be asked, too.

    retrieved: what was read of each run, perhaps the top of its lists only.
    """
    matched = [MatchedQueries.of(judgments, found) for found in retrieved]
    return unmatched_notes(judgments, runs, uncut(judgments, runs.values(), matched), "warn")


def uncut(judgments: Judgments, runs: Iterable[Run], matched: Iterable[MatchedQueries]) -> list[MatchedQueries]:
    """Count again, over whole lists, where hardly any query matches: judged documents may be below the cut only."""
    return [
        MatchedQueries.of(judgments, run.retrieved(judgments)) if seen.few else seen
        for run, seen in zip(runs, matched, strict=True)
    ]


def _query_notes(judgments: Judgments, runs: Iterable[str], matched: Iterable[MatchedQueries]) -> list[str]:
    """Name judged queries that a run lacks, but may have under another spelling."""
    found: dict[str, NearMiss] = {}
    for name, seen in zip(runs, matched, strict=True):
        if len(seen.unjudged) and len(seen.answers) < len(judgments.queries):
            answered = {judgments.queries[q] for q in seen.answers.tolist()}
            lacking = [query for query in judgments.queries if query not in answered]
            if pairs := near_misses(lacking, seen.unjudged.texts()):
                found[name] = pairs[0]
    if not found:
        return []
    name, pair = next(iter(found.items()))
    several = f" (and so in {counted(len(found) - 1, 'other run')})" if len(found) > 1 else ""
    return [f"{name}: the judged query '{pair.judged}' may be its query '{pair.retrieved}': {pair.reason}{several}"]


def example_of_mismatch(judgments: Judgments, run: Run, seen: MatchedQueries) -> str:
    """Return one id of each side, and a guess at the reason if there is one. The text is empty if no id is known."""
    if not seen.answered:
        return _queries_of_both(judgments, seen.unjudged.texts())
    retrieved = some_documents(run)
    pairs = near_misses(judgments.document_names, retrieved, DOCUMENT_REASONS)
    if pairs:
        return str(pairs[0])
    judged = set(judgments.document_names)
    other = next((name for name in retrieved if name not in judged), None)
    return "" if other is None else f"'{judgments.document_names[0]}' is judged and '{other}' is retrieved"


def in_brackets(text: str) -> str:
    """Return a text in brackets after a space, or nothing if it is empty.

    >>> "two" + in_brackets("of three"), "two" + in_brackets("")
    ('two (of three)', 'two')
    """
    return f" ({text})" if text else ""


def no_query_in_common(judgments: Judgments, answered: Iterable[Ids]) -> CalipersError:
    """Return the error for runs that answer none of the judged queries. answered: the queries of each run."""
    queries = next((found.texts() for found in answered if len(found)), [])
    return CalipersError(
        f"no query in common: none of the runs answers a query of {judgments.name} "
        f"({_queries_of_both(judgments, queries)}). `inspect` shows more examples"
    )


def _queries_of_both(judgments: Judgments, answered: Sequence[str]) -> str:
    """Return the first three queries of each side, and a guess at the reason if there is one."""
    there = f"the judgments have {_first(judgments.queries)}"
    if not answered:
        return f"{there}, the runs are empty"
    pairs = near_misses(judgments.queries, answered)
    return f"{there}, the runs have {_first(answered)}" + (f"; {pairs[0].reason}" if pairs else "")


def _first(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names[:3]) + (" ..." if len(names) > 3 else "")


def some_documents(run: Run) -> list[str]:
    """Return ids of a run's first documents, as far as it can tell. Reads only the start of a TREC file."""
    names: Iterable[str]
    run = unwrapped(run)
    if isinstance(run, FileRun):
        start = start_of(run.path, max_unpacked=run.max_unpacked)
        columns, _ = columns_of_block(start[: start.rfind(b"\n") + 1] or start, "run", first=True)
        names = columns.documents.texts()
    else:
        try:
            names = chain.from_iterable(run.to_dict().values())
        except CalipersError:  # a view of a run, which cannot tell its documents
            return []
    return [*islice(names, EXAMPLES)]


LINES = 200  # of a TREC file that are looked at
OWN_IDS = (
    "most queries have their own id among their results, as in ArguAna and Quora, and it is not judged. To leave these "
    "documents out, read runs with drop_own_ids (--drop-own-ids)"
)


def doubts_about(runs: Mapping[str, Run], judgments: Judgments) -> dict[str, list[str]]:
    """Return sentences on runs that were read, and the names of the runs that each of them is about."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        for text in _doubts(run, judgments):
            found.setdefault(text, []).append(name)
    return found


def refuse_ranks(path: str, *, max_unpacked: int | None = None) -> None:
    """Refuse a TREC file whose scores are 1, 2, ..., n down its first lists, and whose ranks do not say otherwise."""
    places: dict[bytes, int] = {}
    rank = math.inf
    for fields in _fields(path, max_unpacked):
        before, place = rank, places.get(fields[0], 0) + 1
        score, rank = _number(fields[4]), _number(fields[3])
        if score != place or (place > 1 and rank < before):
            return
        if place == 1 and len(places) > LISTS:
            break
        places[fields[0]] = place
    if sum(place >= LONG for place in places.values()) >= LISTS:
        raise CalipersError(
            "the scores are 1, 2, ..., n down the lists, as ranks are, and the largest would be best. Negate them, or, "
            "if they are scores, name the format 'run'",
            file=path,
            parameter="systems_as",
        )


def _fields(path: str, max_unpacked: int | None) -> Iterator[list[bytes]]:
    """Yield the fields of each line of a TREC run."""
    with closing(blocks(path, max_unpacked=max_unpacked, size=START)) as source:
        for text in whole_lines(source, START):
            for line in text.split(b"\n"):
                if not line.startswith(b"#") and len(fields := line.split()) >= 6:
                    yield fields


def _number(text: bytes) -> float:
    """Return a number, or NaN."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _doubts(run: Run, judgments: Judgments) -> list[str]:
    """Return sentences on a run.

    Of a TREC file, only the first 200 lines are looked at. If they have the id of a query as a document, the whole run
    is.
    """
    same = _same_documents(run)
    own = isinstance(same, DictRun) or (isinstance(same, RowsRun) and same.holds_own_id)
    inner = same
    while isinstance(inner, RunView):
        inner = inner.run
    found: list[str] = []
    if isinstance(inner, RowsRun):
        found += inner.doubts
    elif isinstance(inner, FileRun):
        lines = _first_lines(inner)
        found += [OPPOSITE] if _opposite(lines) else []
        own = inner is same and any(fields[0] == fields[2] for fields in lines)
    return [*found, OWN_IDS] if own and _holds_own_ids(same, judgments) else found


def _same_documents(run: Run) -> Run:
    """Return the run that a renamed or remembered one stands for."""
    while isinstance(run := unwrapped(run), RenamedRun):
        run = run.run
    return run


def _first_lines(run: FileRun) -> list[list[bytes]]:
    """Return the fields of the first lines of a TREC file."""
    start = start_of(run.path, max_unpacked=run.max_unpacked)
    lines = (start[: start.rfind(b"\n") + 1] or start).split(b"\n", LINES)[:LINES]
    return [fields for line in lines if not line.startswith(b"#") and len(fields := line.split()) >= 6]


def _opposite(lines: Sequence[Sequence[bytes]]) -> bool:
    codes: dict[bytes, int] = {}
    query = np.array([codes.setdefault(fields[0], len(codes)) for fields in lines], np.int64)
    try:
        rank, score = (np.array([float(fields[place]) for fields in lines]) for place in (3, 4))
    except ValueError:  # ranks are not read, and need not be numbers
        return False
    return are_opposite(query, rank, score)


def _holds_own_ids(run: Run, judgments: Judgments) -> bool:
    """Return True if most judged queries that a run answers have an unjudged document with their id."""
    if judgments.names is None:
        return False
    lists = run.scores if isinstance(run, DictRun) else run.to_dict()
    answered = [place for place, query in enumerate(judgments.queries) if lists.get(query)]
    own = [place for place in answered if judgments.queries[place] in lists[judgments.queries[place]]]
    if 2 * len(own) <= len(answered):
        return False
    documents, spans = judgments.documents, [*pairwise(judgments.pool.offsets.tolist())]
    unjudged = [p for p in own if all(documents[row] != encode(judgments.queries[p]) for row in range(*spans[p]))]
    return 2 * len(unjudged) > len(answered)
