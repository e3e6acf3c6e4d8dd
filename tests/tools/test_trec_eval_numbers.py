"""Numbers that only trec_eval takes: texts that begin with one, scores without one, and gains below 0."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from calipers.cli.commands import root
from calipers.collection.model import DictRun, Judgments
from calipers.lists import Lists
from calipers.tools.trec_eval.gains_below_zero import score_with_losses
from calipers.tools.trec_eval.report import ReportedMeasure, columns
from calipers.tools.trec_eval.request import read_request

GAINED = ("dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg", "G")


def trec_eval(folder: Path, qrels: str, run: str, *options: str) -> Result:
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(run)
    return CliRunner().invoke(root, ["trec_eval", *options, str(folder / "qrels"), str(folder / "run")])


# -- what a text begins with -------------------------------------------------------------------------------


def test_a_score_is_what_its_text_begins_with(tmp_path: Path) -> None:
    scores = ["abc", "1.5x", "nan", "-inf", "1e999", "0x10", "-.5e1;", "2"]
    rows = [f"q Q0 d{i} 1 {score} tag" for i, score in enumerate(scores)]
    qrels = "".join(f"q 0 d{i} {i + 1}\n" for i in range(len(scores)))
    result = trec_eval(tmp_path, qrels, "\n".join(rows), "-q", "-m", "relstring")
    # inf, 16, 2, 1.5, 0, -5; -inf and no number last, of equal scores the larger id first
    assert result.stdout == "relstring             \tq\t'56821743'\n"
    assert "run: score 'abc' is read as 0, as trec_eval reads it; 5 more" in result.stderr
    assert "run: a document with the score 'nan' comes last; in trec_eval it stands anywhere" in result.stderr
    assert (result.exit_code, result.stderr.count("\n")) == (0, 2)


@pytest.mark.parametrize(
    ("format", "measure", "line", "number", "read"),
    [
        ("qrels", "num_rel_ret", "q 0 {} {}", "1.9y", "1"),
        ("qrels_jg", "map_avgjg", "q j {} {}", "1e3", "1"),
        ("prefs", "prefs_simp", "q j 1 {} {}", "1.5z", "1.5"),
        ("qrels_prefs", "prefs_simp", "q j {} {}", "1.5z", "1.5"),
    ],
)
def test_a_grade_is_what_its_text_begins_with(
    format: str, measure: str, line: str, number: str, read: str, tmp_path: Path
) -> None:
    run = "q Q0 b 1 3 t\nq Q0 a 2 2 t\nq Q0 c 3 1 t\n"

    def result(a: str, b: str) -> Result:
        rows = "".join(line.format(document, grade) + "\r\n" for document, grade in (("a", a), ("b", b), ("c", "0")))
        return trec_eval(tmp_path, "# a comment 1\n" + rows, run, "-R", format, "-m", measure)

    found, plain = result(number, "no"), result(read, "0")
    assert (found.exit_code, found.stdout) == (0, plain.stdout)
    assert f"'{number}' is read as {read}, as trec_eval reads it; 1 more" in found.stderr
    assert plain.stderr == ""


def test_lines_that_only_are_too_short_are_still_refused(tmp_path: Path) -> None:
    for qrels, run in (("q 0 a x\nq 0 b\n", "q Q0 a 1 1 t\n"), ("q 0 a 1\n", "q Q0 a 1 x t\nq Q0 b\n")):
        result = trec_eval(tmp_path, qrels, run)
        assert result.exit_code == 2
        assert ":2: expected" in result.stderr


def test_parameters_and_z_scores(tmp_path: Path) -> None:
    qrels, run = "q 0 a 1\nq 0 b 2\n", "q Q0 a 1 1 t\n"
    result = trec_eval(tmp_path, qrels, run, "-m", "ndcg.1=abc,2=3.5x", "-m", "iprec_at_recall.x")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["iprec_at_recall_0.00", "ndcg_1=abc,2=3.5x"]
    assert "-m ndcg.1=abc,2=3.5x: read as 1=0,2=3.5, as trec_eval reads it" in result.stderr
    assert "gains that are fractions count as they are" in result.stderr
    (tmp_path / "z").write_text("q map x 0.5y\n")
    assert "\tq\t1.0000" in trec_eval(tmp_path, qrels, run, "-q", "-m", "map", "-Z", str(tmp_path / "z")).stdout


def test_what_trec_eval_has_no_number_for(tmp_path: Path) -> None:
    qrels, run = "q 0 a 1\n", "q Q0 b 1 1 t\n"
    result = trec_eval(tmp_path, qrels, run, "-J")
    assert "iprec_at_recall_0.00: 0 where nothing is left of a list; trec_eval prints nan" in result.stderr
    assert trec_eval(tmp_path, qrels, run).stderr == ""


# -- gains below 0 -----------------------------------------------------------------------------------------


def expected(name: str, codes: Sequence[int], judged: Sequence[int], gain: Callable[[int], float]) -> float:
    """By going down the list once, beside the ideal ranking. A code is a grade, or -1 for what nobody judged."""
    best = sorted((gain(grade) for grade in judged if gain(grade) > 0), reverse=True)
    if name == "Rndcg" and not any(grade >= 1 for grade in judged):
        return 0.0
    ideal = ideal_total = dcg = behind = cost = total = at_found = 0.0
    levels: list[float] = []
    found = 0
    for rank in range(1, max(len(codes), len(best)) + 1):
        best_here = best[rank - 1] if rank <= len(best) else 0.0
        if rank > 1 and (best[rank - 2] if rank - 1 <= len(best) else 0.0) != best_here:
            levels.append(dcg / ideal)
        ideal += best_here / log2(rank + 1)
        ideal_total += best_here
        if rank <= len(codes):
            here = gain(codes[rank - 1])
            dcg += here / log2(rank + 1)
            total += here
            cost += max(best_here, 1.0)
            behind += here / log2(2 + cost - total) if here else 0.0
            if here > 0:
                found += 1
                at_found += dcg / ideal
    if name == "dcg":
        return dcg
    if name == "ideal_dcg" or not best:
        return ideal if name == "ideal_dcg" else 0.0
    if name == "ndcg":
        return dcg / ideal
    if name == "G":
        return behind / ideal_total
    if name == "ndcg_rel":
        return max(at_found + (len(best) - found) * dcg / ideal, 0.0) / len(best)
    if len(codes) != len(best) + 1:  # the last level of a shorter list, or the end of a longer one
        levels.append(dcg / ideal)
    return sum(levels) / len(levels)


def scored(column: ReportedMeasure, judgments: Judgments, run: DictRun) -> float:
    lists = Lists.of(judgments.pool, [run.retrieved(judgments)]).under("docid")
    if column.gains is None:
        assert column.measure is not None
        return float(np.nan_to_num(column.measure.bind(judgments.pool).form.score(lists)[0]))
    return float(score_with_losses(column.root.name, lists, column.gains, rel=1, p=0.9)[0])


def test_gains_below_zero_count_as_in_trec_eval() -> None:
    """Down the list, rank by rank; and by the measures themselves where no gain is below 0."""
    pick = random.Random(7)
    below = 0
    for case in range(400):
        judged = [pick.choice([0, 0, 1, 1, 2, 3]) for _ in range(pick.randint(1, 9))]
        documents = [f"d{i}" for i in range(len(judged) + 3)]
        kept = pick.sample(documents, pick.randint(1, len(documents)))
        gains = {grade: pick.choice([-3, -1, 0, 1, 2, 5]) for grade in pick.sample(range(4), pick.randint(1, 3))}
        codes = [judged[int(name[1:])] if int(name[1:]) < len(judged) else -1 for name in kept]
        judgments = Judgments.from_dict({"q": {f"d{i}": grade for i, grade in enumerate(judged)}})
        run = DictRun({"q": {name: float(-place) for place, name in enumerate(kept)}})
        text = ",".join(f"{grade}={gain}" for grade, gain in gains.items())
        asked = [part for name in GAINED for part in ("-m", f"{name}.{text}")]
        below += min(gains.values()) < 0

        def gain(grade: int, gains: dict[int, int] = gains) -> float:
            return float(gains.get(grade, max(grade, 0)))

        for column in columns(read_request([*asked, "qrels", "run"])):
            name = column.root.name
            assert (column.gains is not None) == (min(gains.values()) < 0)
            want = expected(name, codes, judged, gain)
            assert scored(column, judgments, run) == pytest.approx(want, abs=1e-12), (case, name, text, codes, judged)
            lists = Lists.of(judgments.pool, [run.retrieved(judgments)]).under("docid")
            by_hand = score_with_losses(name, lists, {float(k): float(v) for k, v in gains.items()}, rel=1, p=0.9)
            assert by_hand[0] == pytest.approx(want, abs=1e-12), (case, name, text, codes, judged)
    assert 100 < below < 390
