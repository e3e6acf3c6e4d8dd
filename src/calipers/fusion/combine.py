"""Several runs as one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calipers.checks import check_whole
from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run
from calipers.collection.sources import RunsLike
from calipers.collection.table_rows import Rows, RowsRun
from calipers.errors import CalipersError, UnknownName, warn_user
from calipers.evaluation.inputs import as_runs
from calipers.fusion.candidates import Ballots, ranked_segments
from calipers.fusion.methods import Votes, method
from calipers.fusion.scaling import constant
from calipers.lists import Floats, Ints
from calipers.native.columns import Precision, Retrieved, TieSpans
from calipers.native.ids import Ids
from calipers.plurals import counted


@dataclass(eq=False, repr=False)
class FusedRun(RowsRun):
    """A run that was made from others."""

    of: tuple[str, ...] = ()  # their names
    constant: int = 0  # lists in which all documents had one score
    scaled: bool = False  # whether the scores of lists were normalised by their spread or sum
    alone: int = 0  # queries that only one of the runs answers
    exactness: str = "exact"  # of an oracle: look-ahead where a better order may exist
    exact_queries: int | None = None  # of an oracle: for how many queries no order that keeps to its rule is better

    @property
    def fusion_notes(self) -> tuple[str, ...]:
        """What `calipers fuse` warns of: lists with one score for all documents, and queries of one run alone."""
        found = []
        if self.constant and self.scaled:
            found.append(f"{counted(self.constant, 'list')} with one score for all documents; normalised to 1")
        if self.alone:
            found.append(f"{counted(self.alone, 'query')} answered by one run alone, with nothing to be fused with")
        return tuple(found)

    def __repr__(self) -> str:
        rows = self.load()
        return (
            f"<FusedRun {self.name}: {counted(len(self.of), 'run')}, {counted(len(rows.queries), 'query')}, "
            f"{counted(len(rows), 'document')}>"
        )


def fuse(
    runs: RunsLike,
    method: str = "combmnz",
    *,
    normalize: str = "minmax",
    weights: Sequence[float] | Mapping[str, float] | None = None,
    depth: int | None = None,
    keep: int | None = None,
    k: float = 60.0,
    p: float = 0.8,
    name: str | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> FusedRun:
    """One run from several.

    runs: from `read_runs`, paths, frames, or {name: {query: {document: score}}}; at least two.
    method: combsum, combmnz, combanz, combmin, combmax, combmed, borda, condorcet, copeland, rrf, rbc, isr.
    normalize: what the comb methods do to the scores of each list first: minmax, z, rank, sum, none.
    weights: of the runs, in their order or by name. depth: only the first so many documents of each list take part.
    keep: only the first so many documents of each fused list. k is rrf's constant, p rbc's persistence.
    warn: give what `calipers fuse` warns of as one CalipersWarning; `fusion_notes` of the run has it too.

    A query that only some runs answer is fused from those. Tied documents keep their tie; they are written by id.

    >>> runs = {"x": {"q": {"a": 3, "b": 2, "c": 1}}, "y": {"q": {"b": 10, "c": 5, "d": 0}}}
    >>> fuse(runs, "combsum").to_dict()
    {'q': {'b': 1.5, 'a': 1.0, 'c': 0.5, 'd': 0.0}}
    """
    chosen = by_name(method)
    read = several(runs)
    ballots = Ballots.of(read, _depth(depth, "depth"), jobs, progress)
    votes = Votes(ballots, _weights(weights, ballots.runs), normalize, _positive(k), _share(p))
    # A method that does not read scores still says when a normalisation does not exist.
    score = chosen.fuse(votes)
    scaled = chosen.reads_scores and normalize in ("minmax", "z", "sum")
    made = replace(fused(ballots, score, name or method.lower(), keep), scaled=scaled)
    warn_user(made.fusion_notes, warn)
    return made


by_name = method  # `fuse` has a parameter of that name


def several(runs: RunsLike) -> list[Run]:
    """At least two runs, from whatever a user may have."""
    read = as_runs(runs)
    if len(read) < 2:
        raise CalipersError(f"there is only one run ({read[0].name}): nothing to fuse it with")
    return read


def fused(ballots: Ballots, score: Floats, name: str, keep: int | None = None) -> FusedRun:
    """A run from a score for each candidate."""
    answered = _answered(ballots)
    order = ballots.ordered(score)
    size = np.diff(ballots.offsets)
    query = np.repeat(np.arange(len(size)), size)
    if keep is not None:
        place = np.arange(len(order)) - ballots.offsets[query]
        _depth(keep, "keep")
        kept = place < keep
        order, query = order[kept], query[kept]
    rows = Rows(
        queries=Ids.of(ballots.queries),
        query=query.astype(np.int32),
        documents=ballots.documents.take(order),
        value=score[order],
        file=name,
    )
    return FusedRun(
        load=lambda: rows,
        name=name,
        of=ballots.runs,
        constant=int(constant(ballots).sum()),
        alone=int((answered == 1).sum()),
    )


def _answered(ballots: Ballots) -> Ints:
    """How many runs answer each query."""
    answered = np.bincount(ballots.query, minlength=len(ballots.queries))
    if (answered < 2).all():
        raise CalipersError("no query in common: each query is answered by one of the runs alone, so nothing is fused")
    return answered


def judged_part(
    ballots: Ballots, score: Floats, judgments: Judgments, keep: int | None = None, name: str = "fused"
) -> JudgedPart:
    """What measures read of a fused run, where the ballots know the rows of their candidates in these judgments."""
    assert ballots.row is not None
    _answered(ballots)
    order, first, last = ranked_segments(score, ballots.offsets, ballots.words.__getitem__)
    size = np.diff(ballots.offsets)
    place = np.arange(len(order)) - np.repeat(ballots.offsets[:-1], size)
    keep = _depth(keep, "keep") or len(order)
    row = ballots.row[order]
    kept = np.flatnonzero((row >= 0) & (place < keep))
    index = {query: q for q, query in enumerate(judgments.queries)}
    shown = np.flatnonzero(place < keep)
    member = np.repeat(np.arange(len(size)), size)
    ties = TieSpans.of(member[shown], first[shown], np.minimum(last[shown], keep), len(size))
    first, last = first[kept], np.minimum(last[kept], keep)
    segment = member[kept]
    found = Retrieved(
        query=np.array([index[query] for query in ballots.queries], np.int32),
        length=np.minimum(size, keep).astype(np.int32),
        tied=np.bincount(segment, first != last, len(size)).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(np.bincount(segment, minlength=len(size)))]),
        document=row[kept],
        score=score[order[kept]],
        first=first,
        last=last,
        docid_rank=place[kept] + 1,
        input_rank=place[kept] + 1,
        all_ties=ties,
        tag=name.encode(),
        unjudged=Ids.of([]),
        scattered=False,
    )
    return JudgedPart(name, judgments, found)


@dataclass(eq=False)
class JudgedPart(Run):
    """A run of which only the judged documents are known."""

    name: str
    judgments: Judgments
    found: Retrieved

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        if judgments is not self.judgments or depth or precision != "double":
            raise CalipersError("only the judged documents are known, of whole lists", file=self.name)
        return self.found

    def to_dict(self) -> dict[str, dict[str, float]]:
        raise CalipersError("only the judged documents are known", file=self.name)


def _weights(weights: Sequence[float] | Mapping[str, float] | None, runs: tuple[str, ...]) -> Floats:
    if weights is None:
        return np.ones(len(runs))
    if isinstance(weights, Mapping):
        unknown = [name for name in weights if name not in runs]
        if unknown:
            raise UnknownName(f"a weight for '{unknown[0]}', but the runs are {', '.join(runs)}")
        weights = [weights.get(name, 1.0) for name in runs]
    if len(weights) != len(runs):
        raise CalipersError(f"{counted(len(weights), 'weight')} for {counted(len(runs), 'run')} ({', '.join(runs)})")
    found = np.asarray(weights, np.float64)
    if not np.isfinite(found).all() or (found < 0).any() or not found.any():
        raise CalipersError("the weights of runs must be numbers of at least 0, not all of them 0")
    return found


def _depth(depth: int | None, what: str) -> int | None:
    return None if depth is None else check_whole(what, depth)


def _positive(k: float) -> float:
    if not k >= 0:
        raise CalipersError(f"k={k} is not a number of at least 0")
    return float(k)


def _share(p: float) -> float:
    if not 0 <= p < 1:
        raise CalipersError(f"p={p} is not a probability below 1")
    return float(p)
