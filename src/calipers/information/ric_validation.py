"""Does RIC put systems in the order in which other measures do, and does it tell them apart as well?

Golbus & Aslam (2013) answer with figure 2 (rank correlations with AP, nDCG and GAP, over all systems and the top ten)
and table 2 (discriminative power); here for any runs, beside what the figure does not show: the lists that score well
because they are the wrong way round.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from calipers.collection.sources import JudgmentsLike, RunsLike
from calipers.errors import CalipersError, warn_user
from calipers.evaluation import evaluate
from calipers.information.rankings import notes_on_silent
from calipers.inputs import as_judgments
from calipers.lists import Floats
from calipers.metaeval.power import DiscriminativePower, discriminative_power
from calipers.plurals import counted
from calipers.results.scores import Scores
from calipers.results.tables import Cell, ShownAsTable, Table
from calipers.stats.correlation import rank_correlation
from calipers.stats.significance import SEED, Samples

OTHERS = ("AP", "nDCG", "GAP")
TOP = 10


@dataclass(frozen=True, eq=False)
class RicStudy(ShownAsTable):
    """RIC, with and without its sign, beside other measures, on the queries for which it is defined."""

    scores: Scores  # RIC, signed, AP, nDCG, GAP
    skipped: int = 0  # queries whose judgments tell no documents apart
    finds_nothing: tuple[str, ...] = ()  # systems that retrieve no judged document
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """What `calipers inform ric` warns of: systems that retrieve no judged document."""
        return notes_on_silent(self.finds_nothing, len(self.systems))

    @property
    def systems(self) -> tuple[str, ...]:
        return self.scores.systems

    def mean(self, measure: str) -> Floats:
        """The mean of each system."""
        return np.asarray(self.scores[measure].mean(axis=1))

    @property
    def wrong_way_round(self) -> NDArray[np.bool_]:
        """[system, query]: the lists that have more pairs in the wrong order than in the right one."""
        return np.asarray(self.scores["signed"] < 0)

    def table(self) -> Table:
        """system, RIC, signed, AP, nDCG."""
        columns = ("RIC", "signed", "AP", "nDCG")
        means = [self.mean(name).tolist() for name in columns]
        return Table(("system", *columns), tuple(zip(self.systems, *means, strict=True)), self.metadata)

    def correlations(self, top: int = TOP) -> Table:
        """measure, against, and tau and rho over all systems and over the best ones by `against` (figure 2)."""
        pairs = [("RIC", name) for name in OTHERS] + [("signed", name) for name in OTHERS] + [("AP", "nDCG")]
        rows: list[tuple[Cell, ...]] = []
        for one, other in pairs:
            x, y = self.mean(one), self.mean(other)
            best = np.argsort(-y, kind="stable")[:top]
            cells = [
                rank_correlation(x[some], y[some], kind)
                for some in (slice(None), best)
                for kind in ("tau-b", "spearman")
            ]
            rows.append((one, other, *cells))
        columns = ("measure", "against", "tau", "rho", f"tau top {top}", f"rho top {top}")
        return Table(columns, tuple(rows), {**self.metadata, "systems": len(self.systems)})

    def power(
        self, test: str = "bootstrap", alpha: float = 0.05, *, samples: Samples | None = 1000, seed: int = SEED
    ) -> DiscriminativePower:
        """The share of pairs of systems that each measure tells apart (table 2): Sakai's bootstrap, 1,000 samples."""
        return discriminative_power(self.scores, test, alpha, samples=samples, seed=seed)

    def __repr__(self) -> str:
        return (
            f"<RicStudy: {counted(len(self.systems), 'system')}, "
            f"{counted(len(self.scores.queries), 'query')}>\n{self.table()}"
        )


def ric_study(
    judgments: JudgmentsLike,
    runs: RunsLike,
    *,
    rel: float = 1.0,
    ties: str = "average",
    depth: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> RicStudy:
    """RIC of some runs beside AP, nDCG and GAP.

    All means are over the queries for which RIC is defined: whose judgments tell documents apart and call some
    relevant at `rel`. warn: give the notes as one CalipersWarning.

    >>> judgments = {"q": {"r1": 1, "r2": 1, "a": 0, "b": 0, "c": 0}}
    >>> run = {"q": {"a": 5, "b": 4, "c": 3, "r1": 2, "r2": 1}}
    >>> print(ric_study(judgments, run).table())
    system     RIC   signed      AP    nDCG
    ------  ------  -------  ------  ------
    run     1.0000  -1.0000  0.3250  0.5013
    <BLANKLINE>
    """
    known = as_judgments(judgments)
    judged = "NumRet(judged_only=True)"
    wanted = [f"RIC(rel={rel:g})", f"RIC(rel={rel:g},signed=True)", f"AP(rel={rel:g})", "nDCG", "GAP", judged]
    scores = evaluate(
        known, runs, wanted, ties=ties, depth=depth, empty="skip", jobs=jobs, progress=progress, warn=False
    )
    counted = np.flatnonzero(~np.isnan(scores.values[0]).any(axis=0))
    if not len(counted):
        raise CalipersError("no query has judgments that tell its documents apart", file=known.name)
    part = Scores(
        measures=("RIC", "signed", *OTHERS),
        systems=scores.systems,
        queries=tuple(scores.queries[q] for q in counted.tolist()),
        values=scores.values[:-1, :, counted],
        reasons=scores.reasons[:-1, :, counted],
        metadata=scores.metadata,
    )
    nothing = np.flatnonzero(~(scores[judged] > 0).any(axis=1))
    study = RicStudy(
        scores=part,
        skipped=len(scores.queries) - len(counted),
        finds_nothing=tuple(scores.systems[s] for s in nothing.tolist()),
        metadata={"rel": rel, "ties": ties},
    )
    warn_user(study.notes, warn)
    return study
