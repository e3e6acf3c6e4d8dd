"""How far fusion gets of what the fused systems know together (Golbus & Aslam (2013), section 6).

Groups of systems are drawn at random. The joint RIC of a group says what its systems tell about the judgments together,
without fusing them; RIC of a fusion says what is left of that in one list, and RIC of a bound what could be.
With many systems the joint value is partly chance, so that of the same systems with shuffled ranks stands beside it.

Golbus & Aslam, A mutual information-based framework for the analysis of information retrieval systems, SIGIR 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from calipers import CalipersError, JudgmentsLike, RunsLike, Table, evaluate
from calipers.collection import RememberedRun
from calipers.errors import warn_user
from calipers.evaluation import ScoredCandidates, as_judgments, as_runs
from calipers.lists import Floats, Ints
from calipers.questions.fuse import BOUNDS, METHODS, Votes, judged, judged_part, oracle_score, sorted_score
from calipers.questions.information import Rankings, check_number_of_lists, joint_of
from calipers.results import Cell
from calipers.statistics import rank_correlation
from calipers.support.plurals import counted

FUSIONS = ("combanz", "combmnz", "condorcet", "majoritarian", "pareto", "naive")  # table 3
ORACLES = ("search", "sort")
SAMPLES = 100
SIZE = 10
DRAWS = 5
SEED = 42


@dataclass(frozen=True, eq=False)
class FusionStudy:
    """Groups of systems: what each knows together, and RIC of their fusions."""

    systems: tuple[str, ...]
    groups: Ints  # [sample, member]: places among the systems
    joint: Floats  # of each sample
    null: Floats  # of each sample, with the ranks of its systems shuffled
    ric: dict[str, Floats]  # of each fusion, for each sample
    best: Floats  # of each sample: the largest RIC of one of its systems
    queries: int  # that count
    skipped: int = 0  # whose judgments tell no documents apart
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings: systems that know nothing would reach half of the joint value."""
        if 2 * float(self.null.mean()) <= float(self.joint.mean()):
            return ()
        return ("the joint value is mostly bias: take smaller groups, or more judged documents",)

    def table(self) -> Table:
        """fusion, RIC, tau, rho, RMSE: one row per fusion or bound, against the joint RIC of its systems (table 3).

        Two rows are for comparison: the best single system of each group, and the null value of the joint RIC.
        """
        others = {**self.ric, "best system alone": self.best, "joint, ranks shuffled": self.null}
        rows = tuple(
            (
                name,
                float(values.mean()),
                rank_correlation(self.joint, values, "tau-b"),
                rank_correlation(self.joint, values, "spearman"),
                float(np.sqrt(np.mean((self.joint - values) ** 2))),
            )
            for name, values in others.items()
        )
        return Table(("fusion", "RIC", "tau", "rho", "RMSE"), rows, self.metadata)

    def per_sample(self) -> Table:
        """sample, systems, joint, null, best, and RIC of each fusion: one row per sample."""
        columns = (self.joint, self.null, self.best, *self.ric.values())
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (i + 1, " ".join(self.systems[s] for s in group), *(float(column[i]) for column in columns))
            for i, group in enumerate(self.groups.tolist())
        )
        return Table(("sample", "systems", "joint", "null", "best", *self.ric), rows, self.metadata)

    def __repr__(self) -> str:
        drawn = (
            f"{counted(len(self.groups), 'group')} of {self.groups.shape[1]} of {counted(len(self.systems), 'system')}"
        )
        return f"<FusionStudy: {drawn}, joint RIC {self.joint.mean():.4f}, null {self.null.mean():.4f}>\n{self.table()}"


def fusion_study(
    judgments: JudgmentsLike,
    runs: RunsLike,
    *,
    samples: int = SAMPLES,
    size: int = SIZE,
    fusions: Sequence[str] = FUSIONS,
    normalize: str = "minmax",
    rel: float = 1.0,
    depth: int | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
    oracles: str = "search",
    keep: int | None = None,
    jobs: int | None = None,
    progress: Callable[[int], None] | None = None,
    warn: bool = True,
) -> FusionStudy:
    """Draw groups of `size` systems, and compare what each knows together with RIC of its fusions and bounds.

    fusions: methods of `fuse`, and the bounds naive, pareto, majoritarian. draws: of the null value, for each sample.
    Queries whose judgments tell no documents apart, or call none relevant at `rel`, are skipped. oracles: pareto and
    majoritarian are searched for (search), or sorted with a comparator as in the literature (sort). keep: the length of
    fused lists. warn: give the notes as one CalipersWarning.
    """
    if oracles not in ORACLES:
        raise CalipersError(f"oracles={oracles} is not one of {', '.join(ORACLES)}")
    for name in fusions:
        if name not in METHODS and name not in BOUNDS:
            raise CalipersError(f"unknown fusion '{name}'; expected one of {', '.join((*METHODS, *BOUNDS))}")
    if samples < 2:
        raise CalipersError(f"samples {samples} is not a whole number of at least 2: a correlation needs more")
    known = as_judgments(judgments)
    read = [RememberedRun(run) for run in as_runs(runs)]
    if not 2 <= size <= len(read):
        raise CalipersError(
            f"groups of {size} cannot be drawn from {counted(len(read), 'system')}; there must be at least two"
        )
    check_number_of_lists(size)
    rankings = Rankings.of(known, read, rel, depth=depth, jobs=jobs)
    scored = judged(ScoredCandidates.of([run.run for run in read], depth, jobs), known)
    groups = np.array(random_groups(len(read), samples, size, seed))
    found: dict[str, list[float]] = {name: [] for name in fusions}
    joint, null, best = [], [], []
    information = None
    for number, group in enumerate(groups.tolist()):
        part = replace(rankings, systems=tuple(rankings.systems[s] for s in group), rank=rankings.rank[group])
        information = joint_of(part, draws, seed + number, jobs=jobs)
        joint.append(information.mean)
        null.append(information.null_mean)
        best.append(float(information.alone.mean(axis=1).max()))
        drawn = scored.only(group)
        made = [judged_part(drawn, fused_score(drawn, name, normalize, oracles), known, keep, name) for name in fusions]
        scores = evaluate(known, made, f"RIC(rel={rel:g})", empty="skip", warn=False)
        for name, values in zip(fusions, scores.values[0], strict=True):
            found[name].append(float(np.nanmean(values)))
        if progress:
            progress(1)
    assert information is not None
    study = FusionStudy(
        systems=rankings.systems,
        groups=groups,
        joint=np.array(joint),
        null=np.array(null),
        ric={name: np.array(values) for name, values in found.items()},
        best=np.array(best),
        queries=len(information.queries),
        skipped=information.skipped,
        metadata={"samples": samples, "size": size, "normalize": normalize, "rel": rel, "draws": draws, "seed": seed}
        | ({} if oracles == "search" else {"oracles": oracles})
        | ({} if keep is None else {"keep": keep}),
    )
    warn_user(study.notes, warn)
    return study


def random_groups(systems: int, samples: int, size: int, seed: int) -> list[list[int]]:
    """Groups of systems, each in ascending order; more samples start with the same groups."""
    random = np.random.default_rng(seed)
    return [sorted(random.choice(systems, size, replace=False).tolist()) for _ in range(samples)]


def fused_score(scored: ScoredCandidates, name: str, normalize: str = "minmax", oracles: str = "search") -> Floats:
    """The score that a method of `fuse`, a bound or an oracle gives each candidate."""
    if name in BOUNDS:
        return sorted_score(scored, name) if oracles == "sort" else oracle_score(scored, name)[0]
    return METHODS[name].fuse(Votes(scored, np.ones(len(scored.runs)), normalize))
