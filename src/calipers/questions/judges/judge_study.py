"""Comparison of judges with people: agreement on labels, and effects on systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from calipers.collection.runs import Run, remembered
from calipers.collection.sources import JudgmentsLike
from calipers.errors import CalipersError, warn_user
from calipers.evaluation.evaluation import Evaluation
from calipers.questions.judges.agreement import (
    COLUMNS,
    DRAWS,
    LEVELS,
    STATISTICS,
    Confusion,
    krippendorff_alpha,
    percentiles,
)
from calipers.questions.judges.combination import reliability, with_combined
from calipers.questions.judges.effects_on_systems import Effects, circularity_table, effects_of
from calipers.questions.judges.grade_scales import ADVICE, Map
from calipers.questions.judges.judge_table import JudgeTable
from calipers.questions.judges.repaired_scores import corrected_differences, corrected_means
from calipers.results.result import Result, Tables
from calipers.results.tables import Cell, Table, as_number
from calipers.statistics.significance import SEED, Samples
from calipers.support.checks import check_level
from calipers.support.choices import Correction, TestName
from calipers.support.plurals import counted

LEVEL = 0.95
MEAN = "mean"  # the combination whose grades are rounded before they are compared one by one


def judges(
    evaluation: Evaluation,
    judges: JudgmentsLike | Iterable[JudgmentsLike] | Mapping[str, JudgmentsLike],
    *,
    map: Map | None = None,
    combine: str | Iterable[str] = (),
    test: TestName = "t",
    correction: Correction | None = "holm",
    alpha: float = 0.05,
    samples: Samples | None = None,
    seed: int = SEED,
) -> JudgeStudy:
    """Return how well judges agree with the judgments of an experiment, and what that does to its systems.

    The judgments of the experiment are those of people. Without runs, only labels are compared.

    judges: judgments, a list of them, or {name: judgments}. Files are named by their file name without the ending.
    map: how to bring grades to one scale, for example "human:>=2" or {"human": ">=2"} (see
        `calipers.questions.judges.grade_scales`).
    combine: further judges made of all judges: `majority`, `mean`, `dawid-skene`.
    test, correction, alpha, samples, seed: how differences between systems are tested, as for `compare`.

    >>> import calipers as cal
    >>> human = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 0, "d": 2, "e": 1}}
    >>> model = {"q1": {"a": 2, "b": 0, "c": 0}, "q2": {"a": 0, "d": 2}}
    >>> found = cal.Experiment(human, None, warn=False).judges({"model": model})
    >>> print(found.table())
    judge  labels  missing  agreement   kappa  kappa_linear  kappa_quadratic   alpha     bias
    -----  ------  -------  ---------  ------  ------------  ---------------  ------  -------
    model       5        1     0.8000  0.6667        0.8000           0.8889  0.8800  -0.2000
    <BLANKLINE>
    >>> found.confusion["model"].counts
    array([[2., 0., 0.],
           [1., 0., 0.],
           [0., 0., 2.]])
    """
    judge_table = JudgeTable.of(evaluation.judgments, judges, map)
    single = len(judge_table.judges)
    judge_table = with_combined(judge_table, combine)
    request = evaluation.changed(runs=tuple(remembered(run) for run in evaluation.runs))
    if not request.runs:
        found = JudgeStudy(judge_table, single, request)
        found.refuse_other_scales()
        warn_user(found.notes, evaluation.warn)
        return found
    testing = {"test": test, "correction": correction, "alpha": alpha, "samples": samples, "seed": seed}
    effects = effects_of(judge_table, request, testing)
    found = JudgeStudy(judge_table, single, request, effects)
    warn_user([*found.notes, *effects.scores[0].notes, *effects.notes], evaluation.warn)
    return found


@dataclass(frozen=True, eq=False, repr=False)
class JudgeStudy(Result):
    """Agreement of judges with people, and effects of their disagreement on systems."""

    judge_table: JudgeTable
    single: int  # number of judges that are no combinations of other judges
    evaluation: Evaluation
    on_systems: Effects | None = None

    @property
    def runs(self) -> tuple[Run, ...]:
        """Runs that are scored under the labels of every judge."""
        return self.evaluation.runs

    @property
    def title(self) -> str:
        """Judges and queries that were compared."""
        size = f"{counted(len(self.judges), 'judge')}, {counted(len(self.judge_table.queries), 'query')}"
        systems = "" if self.on_systems is None else f", {counted(len(self.effect.systems), 'system')}"
        return f"Judges compared with people: {size}{systems}"

    @property
    def summary(self) -> str:
        """The judge that agrees best with people, and the judge whose order of systems is nearest to theirs."""
        parts = []
        known = {row[0]: as_number(row[5]) for row in self._agreement().rows if row[5] == row[5]}
        if known:
            best = max(known, key=lambda judge: known[judge])
            how = "agrees best" if len(known) > 1 else "agrees"
            parts.append(f"{best} {how} with people with a linearly weighted kappa of {known[best]:.2f}.")
        else:
            parts.append("No judge gave grades on the scale of people, or kappa is undefined.")
        if self.on_systems is not None:
            measure = self.effect.measures[0]
            taus = {row[0]: as_number(row[2]) for row in self.effects().rows if row[1] == measure and row[2] == row[2]}
            if taus:
                best = max(taus, key=lambda judge: taus[judge])
                parts.append(
                    f"Under {best}, the order of systems by {measure} is most like that under people's labels "
                    f"(tau {taus[best]:.2f})."
                )
        return " ".join(parts)

    def tables(self) -> Tables:
        """Return the tables by name: tables about labels, and tables about systems if runs were given."""
        of_labels = {"agreement": self._agreement, "statistics": self.statistics}
        of_systems = {} if self.on_systems is None else {"effects": self.effects, "ranks": self.ranks}
        return Tables(of_labels | of_systems)

    @property
    def judges(self) -> tuple[str, ...]:
        return self.judge_table.judges

    # -- agreement ---------------------------------------------------------------------------------

    @cached_property
    def confusion(self) -> dict[str, Confusion]:
        """Confusion matrices of the judges whose grades are on the human's scale, by name."""
        return {judge: Confusion.of(self._rounded(judge), judge) for judge in self.judges if self.comparable(judge)}

    def _rounded(self, judge: str) -> JudgeTable:
        """Return the labels. The combination `mean` is rounded to whole grades if the judges use whole grades."""
        judge_table, place = self.judge_table, self.judge_table.place(judge)
        if place <= self.single or judge != MEAN or judge_table.scale(1).has_fractions:
            return judge_table
        grade = judge_table.grade.copy()
        grade[place] = np.floor(grade[place] + 0.5)
        return replace(judge_table, grade=grade)

    def comparable(self, judge: str) -> bool:
        """Return True if the judge's grades are on the human's scale."""
        return self._rounded(judge).mismatch(judge) is None

    def refuse_other_scales(self) -> None:
        """Raise an error if the grades of a judge are on another scale."""
        for judge in self.judges:
            if reason := self._rounded(judge).mismatch(judge):
                raise CalipersError(f"{reason}; {ADVICE}")

    def _agreement(self) -> Table:
        """Return judge, labels (in common), missing, agreement, kappa, kappa_linear, kappa_quadratic, alpha, bias."""
        return self._labelled(COLUMNS)

    def statistics(self) -> Table:
        """Return the agreement with all statistics."""
        return self._labelled(tuple(STATISTICS))

    def _labelled(self, names: Sequence[str]) -> Table:
        rows: list[tuple[Cell, ...]] = []
        for judge in self.judges:
            known = self.confusion[judge].statistics() if judge in self.confusion else {}
            counts = int(self.judge_table.common(judge).sum()), self.judge_table.missing(judge)
            rows.append((judge, *counts, *(known.get(name, math.nan) for name in names)))
        return Table(("judge", "labels", "missing", *names), tuple(rows))

    def intervals(self, level: float = LEVEL, draws: int = DRAWS, seed: int = SEED) -> Table:
        """Return judge, statistic, value, low, high: percentiles over resampled queries."""
        check_level(level)
        rows: list[tuple[Cell, ...]] = []
        for judge, confusion in self.confusion.items():
            value, drawn = confusion.statistics(), confusion.resampled(draws, seed)
            rows += [(judge, name, value[name], *percentiles(drawn[name], level)) for name in STATISTICS]
        about = {"level": level, "draws": draws, "seed": seed}
        return Table(("judge", "statistic", "value", "low", "high"), tuple(rows), about)

    def alpha_of_all(self) -> Table:
        """Return Krippendorff's alpha of all judges, with the human and without: nominal, ordinal, interval.

        Judges on another scale than the human's, and combinations, are left out.
        """
        chosen = [j for j in range(1, self.single + 1) if self.comparable(self.judge_table.names[j])]
        rows: list[tuple[Cell, ...]] = []
        for name, places in (("human and judges", [0, *chosen]), ("judges", chosen)):
            labels = self.judge_table.grade[places]
            rows.append((name, len(places), *(krippendorff_alpha(labels, level) for level in LEVELS)))
        return Table(("raters", "judges", *LEVELS), tuple(rows))

    def reliability(self) -> Table:
        """Return, per judge, its accuracy at each grade, estimated without human labels (Dawid and Skene's EM)."""
        if self.single < 2:
            raise CalipersError("there is only one judge besides the human: reliabilities need several")
        return reliability(self.judge_table, self.single)

    # -- systems -----------------------------------------------------------------------------------

    @property
    def effect(self) -> Effects:
        """Scores of the systems under the labels of each judge."""
        if self.on_systems is None:
            raise CalipersError("no systems were given: there are only labels to compare")
        return self.on_systems

    def effects(self) -> Table:
        """Return judge, measure, tau, tau_ap, rho, rbo, largest_drop, dropped_system, agree, conflict, missed, false.

        tau is Kendall's tau-b of the systems' means under the human's and under the judge's labels, tau_ap takes the
        human's order as the truth, rho is Spearman's, rbo has p = 0.9. A drop is in ranks. agree: pairs of systems that
        differ significantly under both, in the same direction; conflict: in opposite directions; missed: only under the
        human's labels; false: only under the judge's.
        """
        return self.effect.table()

    def ranks(self) -> Table:
        return self.effect.ranks()

    def families(self, groups: Mapping[str, str], level: float = LEVEL, draws: int = DRAWS, seed: int = SEED) -> Table:
        check_level(level)
        return self.effect.families(groups, level, draws, seed)

    def correct(self, level: float = LEVEL, seed: int = SEED) -> Table:
        """Return scores on all queries that a judge labelled, repaired by the queries that people judged, too.

        One row per judge, measure and system: judge, measure, system, human (the mean of the queries that people
        judged), judged (of all under the judge's labels), corrected, low, high, human_low, human_high, weight, n
        (queries of both), others (of the judge only), worth (human-judged queries that the judge's labels are worth),
        to_halve (how many more human-judged queries would halve the interval), carried_by (how many of the n queries
        carry the variance), sparse (yes where n queries may miss those).

        From n = 15 on, over draws of queries and over rows, 95% intervals hold the truth in 92% to 98% of draws. That
        of a single row that is hardly ever sparse does so too; that of a sparse row may do so more often: with few
        queries that differ, none can be both safe and narrow.
        """
        check_level(level)
        return corrected_means(self.effect, level, seed)

    def correct_differences(self, level: float = LEVEL, seed: int = SEED) -> Table:
        """Return repaired differences of all pairs of systems, with the columns of `correct`."""
        check_level(level)
        return corrected_differences(self.effect, level, seed)

    def circularity(self) -> Table:
        """Return how well orders of systems agree if every run is re-ranked by the judge's own labels.

        Columns: judge, measure, tau (of the runs as they are), tau_reranked, and the rise of the mean score by
        re-ranking, under the labels of people (gain_human) and of the judge (gain_judge). See Clarke & Dietz 2024.
        """
        return circularity_table(self.judge_table, self.evaluation, self.effect)

    # -- what to say -------------------------------------------------------------------------------

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about the labels: for example, labels that were left out and scales that differ."""
        said = []
        for name, count in zip(self.judge_table.names, self.judge_table.repeated, strict=False):
            if count:
                said.append(f"{name}: {_count(count, 'label')} given twice, with the same grade; counted once")
        apart = [judge for judge in self.judges if not self.comparable(judge)]
        if apart:
            reasons = "; ".join(str(self._rounded(judge).mismatch(judge)) for judge in apart)
            said.append(f"no agreement of {', '.join(apart)}: {reasons}; {ADVICE}")
        for judge in self.confusion:
            confusion = self.confusion[judge]
            human, theirs = (np.flatnonzero(confusion.counts.sum(axis=axis)) for axis in (1, 0))
            if len(human) == 1 and len(theirs) == 1:
                grade = confusion.grades[human[0]], confusion.grades[theirs[0]]
                said.append(
                    f"{judge}: kappa is undefined: the human and the judge gave one grade only ({grade[0]:g})"
                    if grade[0] == grade[1]
                    else f"{judge}: the human gave grade {grade[0]:g} only and the judge {grade[1]:g} only: kappa is 0"
                )
            elif len(theirs) == 1 or len(human) == 1:
                who, grade = (
                    ("the judge", confusion.grades[theirs[0]])
                    if len(theirs) == 1
                    else ("the human", confusion.grades[human[0]])
                )
                said.append(f"{judge}: {who} gave one grade only ({grade:g}), so kappa is 0")
            strays = sorted(set(self.judge_table.scale(judge).grades) - set(self.judge_table.scale(0).grades))
            if strays and judge != MEAN:
                count = int(np.isin(self.judge_table.labels(judge), strays).sum())
                grades = ", ".join(f"{grade:g}" for grade in strays)
                said.append(f"{judge}: {_count(count, 'label')} of a grade that the human never gave ({grades})")
        if MEAN in self.judges[self.single :] and not self.judge_table.scale(1).has_fractions:
            said.append(f"{MEAN}: rounded to whole grades for the agreement, not for the systems")
        lacking = [judge for judge in self.judges if self.judge_table.missing(judge)]
        if lacking:
            most = max(lacking, key=self.judge_table.missing)
            said.append(
                f"{_count(len(lacking), 'judge')} of {len(self.judges)} "
                f"{'lacks' if len(lacking) == 1 else 'lack'} labels of the human "
                f"(at most {self.judge_table.missing(most)}, {most}); labels in common are compared"
            )
        extra = [judge for judge in self.judges[: self.single] if self.judge_table.extra(judge)]
        if extra:
            most = max(extra, key=self.judge_table.extra)
            said.append(
                f"{_count(len(extra), 'judge')} labelled documents that the human did not "
                f"(at most {self.judge_table.extra(most)}, {most}); they are not in the agreement"
            )
        return tuple(said)


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
