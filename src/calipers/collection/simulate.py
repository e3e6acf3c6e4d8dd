"""Test collections to order: topics, graded pools, and systems of stated quality.

Every system orders the documents of a topic by

    quality * (standardised grade) + (1 - quality) * (standard normal noise)

where the grade is standardised by the mean and deviation of the grades asked for, and an unjudged document
counts as grade 0. So a system of quality 0 ranks at random, one of quality 1 ranks ideally, and in between
the mean score of any sensible measure grows with quality. The scores that are written say nothing but that
order: they fall by random gaps, so that two documents tie only where ties were asked for, also in the digits
printed.

Everything follows from the seed. A system's run also depends on its quality and on its place among the
systems, not on the other systems.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from io import BufferedIOBase
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.errors import CalipersError, UnknownName
from calipers.support.atomic_files import replacing
from calipers.support.checks import check_whole

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A topic's candidate c is document (start + c * stride) mod this prime: no two in a topic are one.
COLLECTION = 9_999_991
# A list draws its unjudged documents from this many times as many candidates, so that systems overlap partly.
CANDIDATES = 2
# Rankings are made for this many topics at once, which bounds the memory of a large simulation.
TOPICS_AT_ONCE = 512
# Scores fall by 1 + this many units of their last digit from rank to rank, on average.
MEAN_GAP = 200.0
# Equal grades at quality 1 are ordered by noise too small to reorder unequal ones.
JITTER = 1e-9

PACKERS: dict[str, Callable[[Any], BufferedIOBase]] = {
    "": lambda raw: raw,
    # Without a name and a time in its header the same seed gives the same bytes.
    "gz": lambda raw: gzip.GzipFile("", "wb", compresslevel=6, fileobj=raw, mtime=0),
    "bz2": partial(bz2.BZ2File, mode="wb"),
    "xz": partial(lzma.LZMAFile, mode="wb", preset=1),
}


@dataclass(frozen=True)
class SimulatedRun:
    """One system's rankings, flat: best first within a topic, topics in order."""

    topic: NDArray[np.int32]
    document: NDArray[np.int32]
    rank: NDArray[np.int32]
    score: Floats


@dataclass(frozen=True)
class Simulation:
    """A simulated collection. `qrels` and `runs` are plain dicts; `run(name)` and `labels` are the arrays.

    Made by `simulate`, which explains the fields.
    """

    topics: tuple[str, ...]
    systems: dict[str, float]
    offsets: Integers
    grade: NDArray[np.int32]
    documents: NDArray[np.int32]
    start: Integers
    stride: Integers
    probabilities: tuple[float, ...]
    retrieved: int
    ties: float
    unjudged: float | None
    missing: float
    decimals: int | None
    seed: int

    @cached_property
    def qrels(self) -> dict[str, dict[str, int]]:
        """topic -> document -> grade."""
        names = _names(self.documents)
        grades = self.grade.tolist()
        bounds = pairwise(self.offsets.tolist())
        return {
            topic: dict(zip(names[a:b], grades[a:b], strict=True))
            for topic, (a, b) in zip(self.topics, bounds, strict=True)
        }

    @cached_property
    def runs(self) -> dict[str, dict[str, dict[str, float]]]:
        """system -> topic -> document -> score. A topic that a system lacks is absent."""
        return {name: self._as_dict(self.run(name)) for name in self.systems}

    def run(self, name: str) -> SimulatedRun:
        """Return the rankings of one system as arrays. They are computed at each call."""
        rng = np.random.default_rng((self.seed, 1, self._place(name)))
        quality = self.systems[name]
        absent = np.zeros(len(self.topics), bool)
        absent[rng.permutation(len(self.topics))[: round(self.missing * len(self.topics))]] = True
        parts = [
            self._rank(np.arange(a, min(a + TOPICS_AT_ONCE, len(self.topics))), quality, absent, rng)
            for a in range(0, len(self.topics), TOPICS_AT_ONCE)
        ]
        return SimulatedRun(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    @property
    def labels(self) -> NDArray[np.int32]:
        """The grades of all judged documents, topic by topic, as a learning-to-rank library wants them."""
        return self.grade

    @property
    def group(self) -> Integers:
        """Return the number of judged documents of each topic."""
        return np.diff(self.offsets)

    @property
    def qid(self) -> Integers:
        """The topic's number for each row of `labels`."""
        return np.repeat(np.arange(len(self.topics)), self.group)

    def scores(self, name: str) -> Floats:
        """Return the score of each row of `labels`. Only the pool is scored."""
        rng = np.random.default_rng((self.seed, 2, self._place(name)))
        parts = []
        for a in range(0, len(self.topics), TOPICS_AT_ONCE):
            topics = np.arange(a, min(a + TOPICS_AT_ONCE, len(self.topics)))
            latent, sizes = self._judged(topics, self.systems[name], rng)
            order = np.argsort(-latent, axis=1)
            order, ranked = self._fall(order, sizes, rng)
            back = np.empty_like(ranked)
            np.put_along_axis(back, order, ranked, axis=1)
            parts.append(back[_within(sizes, back.shape[1])])
        return np.concatenate(parts)

    def write(self, folder: str | Path, *, compress: str = "", shuffle: bool = False) -> tuple[Path, list[Path]]:
        """Write `qrels.txt` and one TREC run per system, `<system>.run`; return where they are.

        `compress` is "", "gz", "bz2" or "xz". `shuffle` puts the lines of each run in random order.
        """
        folder, ending = _folder(folder), _ending(compress)
        qrels = folder / f"qrels.txt{ending}"
        with _opened(qrels, compress) as out:
            topic = [self.topics[i] for i in self.qid.tolist()]
            _put(out, "%s 0 d%d %d\n", topic, self.documents.tolist(), self.grade.tolist())
        runs = []
        for name in self.systems:
            runs.append(folder / f"{name}.run{ending}")
            with _opened(runs[-1], compress) as out:
                self._write_run(out, name, shuffle)
        return qrels, runs

    def write_letor(self, folder: str | Path, *, features: int = 3) -> tuple[Path, list[Path]]:
        """Write `labels.svm` (SVMlight with qid and docid) and `<system>.scores`, one score per line.

        The features are the grade with more and more noise, enough to train something on.
        """
        folder = _folder(folder)
        rng = np.random.default_rng((self.seed, 3))
        noise = rng.standard_normal((len(self.grade), features)) * np.arange(1, features + 1)
        values = self.grade[:, None] + noise
        labels = folder / "labels.svm"
        columns: list[Sequence[Any]] = [self.grade.tolist(), [self.topics[i] for i in self.qid.tolist()]]
        columns += [values[:, i].tolist() for i in range(features)]
        columns.append(self.documents.tolist())
        layout = "".join(f" {i}:%.6f" for i in range(1, features + 1))
        with _opened(labels, "") as out:
            _put(out, f"%d qid:%s{layout} #docid = d%d\n", *columns)
        scores = []
        for name in self.systems:
            scores.append(folder / f"{name}.scores")
            with _opened(scores[-1], "") as out:
                _put(out, "%s\n", self._printed(self.scores(name)))
        return labels, scores

    def _place(self, name: str) -> int:
        if name not in self.systems:
            raise UnknownName.among("simulated system", name, self.systems)
        return list(self.systems).index(name)

    def _as_dict(self, run: SimulatedRun) -> dict[str, dict[str, float]]:
        names, scores = _names(run.document), run.score.tolist()
        starts = np.flatnonzero(np.diff(run.topic, prepend=-1))
        ends = np.append(starts[1:], len(run.topic))
        return {
            self.topics[topic]: dict(zip(names[a:b], scores[a:b], strict=True))
            for topic, a, b in zip(run.topic[starts].tolist(), starts.tolist(), ends.tolist(), strict=True)
        }

    def _printed(self, scores: Floats) -> list[str]:
        if self.decimals is None:
            return [repr(score) for score in scores.tolist()]
        return list(map(f"%.{self.decimals}f".__mod__, scores.tolist()))

    def _write_run(self, out: BufferedIOBase, name: str, shuffle: bool) -> None:
        run = self.run(name)
        rows = np.arange(len(run.topic))
        if shuffle:
            rows = np.random.default_rng((self.seed, 4, self._place(name))).permutation(rows)
        for some in np.array_split(rows, len(rows) // 1_000_000 + 1):
            _put(
                out,
                f"%s Q0 d%d %d %s {name}\n",
                [self.topics[i] for i in run.topic[some].tolist()],
                run.document[some].tolist(),
                run.rank[some].tolist(),
                self._printed(run.score[some]),
            )

    def _judged(self, topics: Integers, quality: float, rng: np.random.Generator) -> tuple[Floats, Integers]:
        """Return the scores of judged documents, one row per topic with -inf after its pool, and the pool sizes."""
        sizes = np.diff(self.offsets)[topics]
        within = _within(sizes, int(sizes.max()))
        first, last = self.offsets[topics[0]], self.offsets[topics[-1] + 1]
        grades = _standardised(self.grade[first:last], self.probabilities)
        latent = np.full(within.shape, -np.inf)
        latent[within] = quality * grades + (1 - quality + JITTER) * rng.standard_normal(len(grades))
        return latent, sizes

    def _rank(
        self, topics: Integers, quality: float, absent: NDArray[np.bool_], rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], Floats]:
        """Return the rankings of some topics: topic, document, rank and score of each row."""
        judged, sizes = self._judged(topics, quality, rng)
        lengths, kept = _lengths(sizes, self.retrieved, self.unjudged)
        # Of a pool that is larger than the list has room for, the system takes what it likes best.
        if (kept < sizes).any():
            liked = np.argsort(np.argsort(-judged, axis=1), axis=1)
            judged[liked >= kept[:, None]] = -np.inf
        others = lengths - kept
        most = int(others.max())
        zero = _standardised(np.zeros(1, np.int32), self.probabilities)[0]
        unjudged = quality * zero + (1 - quality + JITTER) * rng.standard_normal((len(topics), most))
        unjudged[~_within(others, most)] = -np.inf
        order = np.argsort(-np.hstack([judged, unjudged]), axis=1)[:, : int(lengths.max())]
        order, scores = self._fall(order, lengths, rng)

        # Columns below `width` are the pool's documents; the others are a window of the unjudged candidates.
        width = judged.shape[1]
        many = max(1, CANDIDATES * self.retrieved)
        window = rng.integers(many, size=len(topics))
        candidate = np.where(order < width, order, sizes[:, None] + (window[:, None] + order - width) % many)
        document = (self.start[topics, None] + candidate * self.stride[topics, None]) % COLLECTION

        alive = _within(np.where(absent[topics], 0, lengths), order.shape[1])
        rank = np.broadcast_to(np.arange(1, order.shape[1] + 1), order.shape)
        topic = np.broadcast_to(topics[:, None], order.shape)
        return (
            topic[alive].astype(np.int32),
            document[alive].astype(np.int32),
            rank[alive].astype(np.int32),
            scores[alive],
        )

    def _fall(self, order: Integers, lengths: Integers, rng: np.random.Generator) -> tuple[Integers, Floats]:
        """Falling scores for each row of `order`, some tied; the order, with tied documents shuffled."""
        gaps = rng.exponential(MEAN_GAP, order.shape)
        if self.decimals is not None:
            gaps = np.floor(gaps)
        gaps += 1
        within = _within(lengths, order.shape[1])
        if self.ties:
            # A document is in a tie if it joins the one before or the one after joins it: 1 - (1 - p)^2.
            joins = rng.random(order.shape) < 1 - np.sqrt(1 - self.ties)
            joins[:, 0] = False
            gaps[joins] = 0
            tie = np.cumsum(~joins, axis=1) + rng.random(order.shape)
            tie[~within] = np.inf
            order = np.take_along_axis(order, np.argsort(tie, axis=1, kind="stable"), axis=1)
        gaps[~within] = 0
        # The score of a rank is the sum of the gaps below it, and one unit more.
        above = np.cumsum(gaps, axis=1)
        units = above[:, -1:] - above + 1
        return order, units / 10.0 ** (4 if self.decimals is None else self.decimals)


def simulate(
    topics: int = 50,
    *,
    pool: float = 100,
    grades: Sequence[float] = (0.7, 0.15, 0.1, 0.05),
    systems: int | Mapping[str, float] = 8,
    retrieved: int = 1000,
    ties: float = 0.0,
    unjudged: float | None = None,
    missing: float = 0.0,
    empty: float = 0.0,
    decimals: int | None = 4,
    seed: int = 42,
) -> Simulation:
    """Simulate a test collection.

    topics     how many, called "1", "2", ...
    pool       judged documents of a topic on average (Poisson, at least 1)
    grades     the probability of each grade 0, 1, 2, ... of a judged document
    systems    quality in [0, 1] by name; or how many, called s1, s2, ..., with qualities from 0.9 down to 0.1
    retrieved  documents in a list, at most
    ties       the share of documents whose score is tied with another's; 1 makes each list one tie
    unjudged   the share of unjudged documents in the lists, which are shorter where the pool is too small for
               that; None: the pool is retrieved as far as it fits, and unjudged documents fill the list up
    missing    the share of topics that a system lacks (each system others)
    empty      the share of topics without a relevant document; all other topics have at least one
    decimals   digits after the point of the scores; None: all that a double has
    seed       the same seed, the same collection

    >>> systems = {"good": 0.8, "random": 0.0}
    >>> collection = simulate(topics=5, pool=20, systems=systems, retrieved=30, missing=0.2)
    >>> len(collection.qrels), {name: len(run) for name, run in collection.runs.items()}
    (5, {'good': 4, 'random': 4})
    >>> simulate(topics=5, pool=20, systems=systems, retrieved=30, missing=0.2).runs == collection.runs
    True
    """
    probabilities = _probabilities(grades)
    named = _systems(systems)
    check_whole("topics", topics)
    _require(retrieved >= 1, f"retrieved is {retrieved}; it must be at least 1")
    _require(pool > 0, f"pool is {pool}; it must be above 0")
    largest = (CANDIDATES * retrieved + 10 * pool) * 2
    _require(largest < COLLECTION, f"pool {pool} and retrieved {retrieved} need too many documents")
    for name, share in {"ties": ties, "unjudged": unjudged, "missing": missing, "empty": empty}.items():
        _require(share is None or 0 <= share <= 1, f"{name} is {share}; it is a share, from 0 to 1")
    _require(decimals is None or 0 <= decimals <= 9, f"decimals is {decimals}; it is from 0 to 9, or None")
    _require(seed >= 0, f"seed is {seed}; it must not be negative")

    rng = np.random.default_rng((seed, 0))
    sizes = np.maximum(1, rng.poisson(pool, topics))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    grade = rng.choice(len(probabilities), size=offsets[-1], p=probabilities).astype(np.int32)
    without = np.zeros(topics, bool)
    without[rng.permutation(topics)[: round(empty * topics)]] = True
    grade = _settle(grade, offsets, without, probabilities, rng)
    start, stride = rng.integers(COLLECTION, size=topics), rng.integers(1, COLLECTION, size=topics)
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
    documents = (np.repeat(start, sizes) + place * np.repeat(stride, sizes)) % COLLECTION
    return Simulation(
        topics=tuple(map(str, range(1, topics + 1))),
        systems=named,
        offsets=offsets,
        grade=grade,
        documents=documents.astype(np.int32),
        start=start,
        stride=stride,
        probabilities=probabilities,
        retrieved=retrieved,
        ties=ties,
        unjudged=unjudged,
        missing=missing,
        decimals=decimals,
        seed=seed,
    )


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise CalipersError(f"simulation: {message}")


def _probabilities(grades: Sequence[float]) -> tuple[float, ...]:
    total = float(sum(grades))
    _require(
        len(grades) > 0 and all(share >= 0 for share in grades) and total > 0,
        f"grades is {tuple(grades)}; it must hold the probability of each grade 0, 1, 2, ...",
    )
    return tuple(float(share) / total for share in grades)


def _systems(systems: int | Mapping[str, float]) -> dict[str, float]:
    if isinstance(systems, int):
        _require(systems >= 1, f"systems is {systems}; there must be at least 1")
        digits = len(str(systems))
        qualities = np.linspace(0.9, 0.1, systems) if systems > 1 else np.array([0.5])
        return {f"s{i:0{digits}d}": float(quality) for i, quality in enumerate(qualities, start=1)}
    _require(len(systems) >= 1, "there must be at least one system")
    for name, quality in systems.items():
        _require(0 <= quality <= 1, f"the quality of system {name!r} is {quality}; it must be from 0 to 1")
        _require(
            name != "" and not name.startswith(".") and not any(c.isspace() or c in "/\\%" for c in name),
            f"system {name!r} cannot be a tag and a file name: no blanks, slashes, % or leading dot",
        )
    return dict(systems)


def _settle(
    grade: NDArray[np.int32],
    offsets: Integers,
    without: NDArray[np.bool_],
    probabilities: tuple[float, ...],
    rng: np.random.Generator,
) -> NDArray[np.int32]:
    """Take the relevant documents from the topics `without`, and give one to each other that has none."""
    sizes = np.diff(offsets)
    grade = np.where(np.repeat(without, sizes), 0, grade).astype(np.int32)
    relevant = np.array(probabilities[1:])
    if relevant.sum() > 0:
        best = np.maximum.reduceat(grade, offsets[:-1])
        poor = np.flatnonzero((best == 0) & ~without)
        row = offsets[poor] + (rng.random(len(poor)) * sizes[poor]).astype(np.int64)
        grade[row] = 1 + rng.choice(len(relevant), size=len(poor), p=relevant / relevant.sum())
    return grade


def _standardised(grade: NDArray[np.int32], probabilities: tuple[float, ...]) -> Floats:
    values, weights = np.arange(len(probabilities)), np.array(probabilities)
    mean = float(weights @ values)
    deviation = float(np.sqrt(weights @ (values - mean) ** 2))
    return (grade.astype(np.float64) - mean) / (deviation or 1.0)


def _lengths(sizes: Integers, retrieved: int, unjudged: float | None) -> tuple[Integers, Integers]:
    """Return the length of each list and the number of judged documents in it."""
    if unjudged is None:
        return np.full(len(sizes), retrieved), np.minimum(sizes, retrieved)
    if unjudged == 1:
        return np.full(len(sizes), retrieved), np.zeros(len(sizes), np.int64)
    kept = np.minimum(sizes, round((1 - unjudged) * retrieved))
    lengths = np.minimum(retrieved, np.rint(kept / (1 - unjudged)).astype(np.int64))
    return lengths, kept


def _within(sizes: Integers, width: int) -> NDArray[np.bool_]:
    """Return True for the cells of a table with `width` columns that belong to rows of these sizes."""
    return np.arange(width) < sizes[:, None]


def _names(documents: NDArray[np.int32]) -> list[str]:
    return list(map("d%d".__mod__, documents.tolist()))


def _folder(folder: str | Path) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _ending(compress: str) -> str:
    if compress not in PACKERS:
        known = ", ".join(repr(name) for name in PACKERS)
        raise CalipersError(f"cannot compress as {compress!r}; known are {known}")
    return f".{compress}" if compress else ""


@contextmanager
def _opened(path: Path, compress: str) -> Iterator[BufferedIOBase]:
    with replacing(str(path)) as temporary, open(temporary, "wb") as raw, PACKERS[compress](raw) as out:
        yield out


def _put(out: BufferedIOBase, layout: str, *columns: Sequence[Any]) -> None:
    """Return one line for each row of the columns. One `map` for all rows is the fastest way in Python."""
    out.write("".join(map(layout.__mod__, zip(*columns, strict=True))).encode())
