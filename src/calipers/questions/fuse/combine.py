"""Fusion of several runs into one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from calipers.collection.judgments import Judgments
from calipers.collection.runs import Run
from calipers.collection.sources import RunsLike
from calipers.collection.table_rows import Rows, RowsRun
from calipers.errors import CalipersError, UnknownName, warn_user
from calipers.evaluation.candidates import ScoredCandidates, ranked_segments
from calipers.evaluation.inputs import as_runs
from calipers.lists import Floats, Ints
from calipers.native.columns import Precision, Retrieved, TieSpans
from calipers.native.ids import Ids
from calipers.questions.fuse.methods import Votes, constant, method
from calipers.support.checks import check_whole
from calipers.support.plurals import counted


@dataclass(eq=False, repr=False)
class FusedRun(RowsRun):
    """Run that was made from other runs."""

    of: tuple[str, ...] = ()  # names of the fused runs
    constant: int = 0  # number of lists in which all documents have the same score
    scaled: bool = False  # True if scores were normalised by the spread or sum of their list
    alone: int = 0  # number of queries that only one run answers
    exactness: str = "exact"  # of an oracle: "look-ahead" if a better order may exist for some query
    exact_queries: int | None = None  # of an oracle: number of queries with a proven best order

    @property
    def fusion_notes(self) -> tuple[str, ...]:
        """Warnings about lists in which all scores are equal, and about queries that only one run answers."""
        found = []
        if self.constant and self.scaled:
            found.append(f"{counted(self.constant, 'list')} with the same score for all documents; normalised to 1")
        if self.alone:
            found.append(f"{counted(self.alone, 'query')} answered by only one run, so that nothing is fused")
        return tuple(found)

    @property
    def size(self) -> str:
        """Numbers of runs, queries and documents, in words."""
        rows = self.load()
        return (
            f"{counted(len(self.of), 'run')}, {counted(len(rows.queries), 'query')}, {counted(len(rows), 'document')}"
        )

    def __repr__(self) -> str:
        return f"<FusedRun {self.name}: {self.size}>"


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
    """Fuse several runs into one.

    runs: at least two runs from `read_runs`, paths, frames, or {name: {query: {document: score}}}.
    method: combsum, combmnz, combanz, combmin, combmax, combmed, borda, condorcet, copeland, rrf, rbc, isr.
    normalize: normalisation of the scores of each list, for the comb methods: minmax, z, rank, sum, none.
    weights: weights of the runs, in their order or by name.
    depth: fuse only the first `depth` documents of each list. keep: keep only the first `keep` documents per query.
    k: constant of rrf. p: persistence of rbc.
    warn: give the notes in `fusion_notes` of the fused run as one CalipersWarning.

    A query that only some runs answer is fused from the lists of these runs. Tied documents keep equal scores; files
    list them by descending id.

    >>> runs = {"x": {"q": {"a": 3, "b": 2, "c": 1}}, "y": {"q": {"b": 10, "c": 5, "d": 0}}}
    >>> fuse(runs, "combsum").to_dict()
    {'q': {'b': 1.5, 'a': 1.0, 'c': 0.5, 'd': 0.0}}
    """
    chosen = by_name(method)
    read = several(runs)
    scored = ScoredCandidates.of(read, _depth(depth, "depth"), jobs, progress)
    votes = Votes(scored, _weights(weights, scored.runs), normalize, _positive(k), _share(p))
    # An unknown normalisation is refused even if the method reads ranks only.
    score = chosen.fuse(votes)
    scaled = chosen.reads_scores and normalize in ("minmax", "z", "sum")
    made = replace(fused(scored, score, name or method.lower(), keep), scaled=scaled)
    warn_user(made.fusion_notes, warn)
    return made


by_name = method  # `fuse` has a parameter named method


def several(runs: RunsLike) -> list[Run]:
    """Read at least two runs from paths, frames, dictionaries or runs."""
    read = as_runs(runs)
    if len(read) < 2:
        raise CalipersError(f"cannot fuse a single run ({read[0].name}): give at least two runs")
    return read


def fused(scored: ScoredCandidates, score: Floats, name: str, keep: int | None = None) -> FusedRun:
    """Return the run that ranks the candidates by these scores."""
    answered = _answered(scored)
    order = scored.ordered(score)
    size = np.diff(scored.offsets)
    query = np.repeat(np.arange(len(size)), size)
    if keep is not None:
        place = np.arange(len(order)) - scored.offsets[query]
        _depth(keep, "keep")
        kept = place < keep
        order, query = order[kept], query[kept]
    rows = Rows(
        queries=Ids.of(scored.queries),
        query=query.astype(np.int32),
        documents=scored.documents.take(order),
        value=score[order],
        file=name,
    )
    return FusedRun(
        load=lambda: rows,
        name=name,
        of=scored.runs,
        constant=int(constant(scored).sum()),
        alone=int((answered == 1).sum()),
    )


def _answered(scored: ScoredCandidates) -> Ints:
    """Return the number of runs that answer each query. Refuse runs that have no query in common."""
    answered = np.bincount(scored.query, minlength=len(scored.queries))
    if (answered < 2).all():
        raise CalipersError("the runs have no query in common: each query is answered by one run only")
    return answered


def judged_part(
    scored: ScoredCandidates, score: Floats, judgments: Judgments, keep: int | None = None, name: str = "fused"
) -> JudgedPart:
    """Return the judged documents of a fused run. `scored` must know the rows of its candidates in the judgments."""
    assert scored.row is not None
    _answered(scored)
    order, first, last = ranked_segments(score, scored.offsets, scored.words.__getitem__)
    size = np.diff(scored.offsets)
    place = np.arange(len(order)) - np.repeat(scored.offsets[:-1], size)
    keep = _depth(keep, "keep") or len(order)
    row = scored.row[order]
    kept = np.flatnonzero((row >= 0) & (place < keep))
    index = {query: q for q, query in enumerate(judgments.queries)}
    shown = np.flatnonzero(place < keep)
    member = np.repeat(np.arange(len(size)), size)
    ties = TieSpans.of(member[shown], first[shown], np.minimum(last[shown], keep), len(size))
    first, last = first[kept], np.minimum(last[kept], keep)
    segment = member[kept]
    found = Retrieved(
        query=np.array([index[query] for query in scored.queries], np.int32),
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
    """Run of which only the judged documents are known."""

    name: str
    judgments: Judgments
    found: Retrieved

    def retrieved(
        self, judgments: Judgments, depth: int = 0, precision: Precision = "double", jobs: int = 1
    ) -> Retrieved:
        if judgments is not self.judgments or depth or precision != "double":
            raise CalipersError("only the judged documents of this run are known, for whole lists", file=self.name)
        return self.found

    def to_dict(self) -> dict[str, dict[str, float]]:
        raise CalipersError("only the judged documents of this run are known", file=self.name)


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
