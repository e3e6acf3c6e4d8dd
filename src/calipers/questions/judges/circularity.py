"""Circular evaluation: what happens if systems rank by the labels of the judge that evaluates them.

Every run is re-ranked by a judge's own labels, and scored under the labels of people and of the judge. A system that
uses the judge as its last stage looks perfect to this judge. If the two orders of re-ranked systems agree much less
than the two orders of the original ones, scores under the judge's labels should not decide between such systems.

Clarke & Dietz, LLM-based relevance assessment still can't replace human relevance assessment, 2024.
"""

from __future__ import annotations

from collections.abc import Sequence

from calipers.collection.run_names import distinct_names
from calipers.collection.runs import DictRun, Run
from calipers.evaluation.evaluation import Evaluation
from calipers.questions.judges.effects_on_systems import Effects, means, scored
from calipers.questions.judges.judge_table import JudgeTable
from calipers.results.tables import Cell, Table, as_number
from calipers.statistics.correlation import kendall_b

COLUMNS = ("judge", "measure", "tau", "tau_reranked", "gain_human", "gain_judge")
SUSPICIOUS_DROP = 0.1  # drop of tau from which a note warns


def circularity_table(judge_table: JudgeTable, evaluation: Evaluation, effects: Effects) -> Table:
    """Return one row per judge and measure.

    tau: Kendall's tau between the orders of systems under the labels of people and of the judge. tau_reranked: the same
    for the runs re-ranked by the judge. gain_human, gain_judge: how much re-ranking raises the mean score over systems,
    under the labels of people and of the judge.
    """
    rows: list[tuple[Cell, ...]] = []
    for judge in judge_table.judges:
        grade = judge_table.judgments(judge).to_dict()
        request = evaluation.changed(runs=tuple(reranked(evaluation.runs, grade)), progress=None)
        scores = tuple(scored(judge_table, who, request) for who in (0, judge))
        again = Effects((judge_table.names[0], judge), scores)
        before, after = ([means(each) for each in of.common(judge)] for of in (effects, again))
        for m, measure in enumerate(effects.measures):
            taus = (kendall_b(each[0][m], each[1][m]) for each in (before, after))
            gains = (float((after[who][m] - before[who][m]).mean()) for who in (0, 1))
            rows.append((judge, measure, *taus, *gains))
    return Table(COLUMNS, tuple(rows))


def circularity_notes(table: Table) -> list[str]:
    """Return a warning for each judge and measure whose tau drops if systems rank by the judge's labels."""
    said = []
    for judge, measure, *taus in table.rows:
        tau, again = map(as_number, taus[:2])
        if tau != tau or tau - again < SUSPICIOUS_DROP:
            continue
        drop = f"tau drops from {tau:.2f} to {again:.2f}" if again == again else "no order of systems is left"
        said.append(
            f"{judge}, {measure}: {drop} if systems rank by the labels of {judge}. Do not evaluate systems that use "
            "this judge, or a model like it, by its labels"
        )
    return said


def reranked(runs: Sequence[Run], grade: dict[str, dict[str, float]]) -> list[Run]:
    """Return runs whose documents are ordered by grade, documents without a grade last.

    Documents of the same grade keep their order, and their ties.

    >>> reranked([DictRun({"q": {"a": 3, "b": 2, "c": 1}}, "s")], {"q": {"c": 1, "a": 0}})[0].to_dict()
    {'q': {'c': 3.0, 'a': 2.0, 'b': 1.0}}
    """
    found: list[Run] = []
    for run, (name, _) in zip(runs, distinct_names(runs), strict=True):
        lists: dict[str, dict[str, float]] = {}
        for query, scores in run.to_dict().items():
            labels = grade.get(query, {})
            keys = {document: (labels.get(document, float("-inf")), score) for document, score in scores.items()}
            place = {key: float(number) for number, key in enumerate(sorted(set(keys.values())), 1)}
            order = sorted(keys, key=lambda document: place[keys[document]], reverse=True)
            lists[query] = {document: place[keys[document]] for document in order}
        found.append(DictRun(lists, name))
    return found
