"""Numbers in trec_eval's files, options and parameters: grades without their fraction, gains, and what is refused."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from math import log2
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.collection.judgments import Judgments
from calipers.collection.runs import DictRun
from calipers.lists import Lists
from calipers.tools.trec_eval.report import columns
from calipers.tools.trec_eval.request import read_request

GAINED = ("dcg", "ideal_dcg", "ndcg", "ndcg_rel", "Rndcg", "G")
QRELS = "q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 1\nq2 0 d 0\n"
RUN = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 x 3 1 t\nq2 Q0 d 1 2 t\nq2 Q0 a 2 1 t\n"


def trec_eval(folder: Path, qrels: str, run: str, *options: str) -> Result:
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(run)
    return CliRunner().invoke(root, ["trec_eval", *options, str(folder / "qrels"), str(folder / "run")])


# -- files -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("grade", "read"), [("2.7", 2), ("-0.5", 0), ("2.0", 2)])
def test_a_grade_has_no_fraction(grade: str, read: int, tmp_path: Path) -> None:
    run = "q Q0 b 1 3 t\nq Q0 a 2 2 t\n"
    options = ["-m", "dcg", "-l", "2"]
    found, plain = (trec_eval(tmp_path, f"q j a {text}\nq j b 3\n", run, *options) for text in (grade, str(read)))
    assert (found.exit_code, found.stdout) == (0, plain.stdout)


def test_the_rest_of_calipers_reads_exponents(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1e3\n")
    assert cal.read_qrels(tmp_path / "qrels").pool.grade.tolist() == [1000.0]


@pytest.mark.parametrize(
    ("qrels", "run", "message"),
    [
        (QRELS, "q1 Q0 a 1 1.5x t\n", "run:1: score '1.5x' is not a number"),
        (QRELS, "q1 Q0 a 1 nan t\n", "run:1: score 'nan' is not a finite number"),
        (QRELS, "q1 Q0 a 1 1 t\nq1 Q0 b\n", "run:2: expected 6 fields"),
        (QRELS, "q1 Q0 a 1 1 t\n\nq1 Q0 b 1 x t and more\n", "run:3: score 'x' is not a number"),
        ("q1 0 a 1y\n", RUN, "qrels:1: grade '1y' is not a number"),
        ("q1 0 a 1\nq1 0 b\n", RUN, "qrels:2: expected 4 fields"),
        ("q1 0 a 1\nq1 0 a 2\n", RUN, "qrels:2: document 'a' of query 'q1' is judged 2 here and 1 before"),
    ],
)
def test_files_that_are_not_well_formed_get_our_own_errors(qrels: str, run: str, message: str, tmp_path: Path) -> None:
    result = trec_eval(tmp_path, qrels, run)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr


def test_z_scores(tmp_path: Path) -> None:
    for numbers, printed in {"0 0.5": "1.0000", "0.25 0": "-1000000.0000", "0.5 0": "0.0000"}.items():
        (tmp_path / "z").write_text(f"q map {numbers}\n")
        result = trec_eval(tmp_path, "q 0 a 1\nq 0 b 2\n", "q Q0 a 1 1 t\n", "-m", "map", "-Z", str(tmp_path / "z"))
        assert result.stdout.split()[-1] == printed
    (tmp_path / "z").write_text("q map 0.5 1\nq map x 0.5\n")
    result = trec_eval(tmp_path, QRELS, RUN, "-m", "map", "-Z", str(tmp_path / "z"))
    assert (result.exit_code, "z:2: mean 'x' is not a number" in result.stderr) == (2, True)


# -- options and parameters --------------------------------------------------------------------------------


def f_measure(weight: float, precision: float, recall: float) -> float:
    return (weight + 1) * precision * recall / (weight * precision + recall)


# q1: one of three retrieved and one of two relevant documents; q2: one of two retrieved, and the only relevant one
@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("P.5.9,1", {"P_1": (1, 0), "P_5": (1 / 5, 1 / 5)}),
        ("set_F.0.5", {"set_F_0.5": (f_measure(0.5, 1 / 3, 1 / 2), f_measure(0.5, 1 / 2, 1))}),
        ("11pt_avg..5,1", {"11pt_avg_.5,1": (1 / 2, 1 / 2)}),
        ("Rprec_mult.1", {"Rprec_mult_1.00": (1 / 2, 0)}),
        ("rbp_resid.p=0.5", {"rbp_resid_p=0.5": (0.5**3 + 0.5**3, 0.5**2)}),
        ("utility.1,-2,-4,0", {"utility_1,-2,-4,0": (1 - 4 - 4, 1 - 2)}),
    ],
)
def test_parameters(typed: str, printed: dict[str, tuple[float, ...]], tmp_path: Path) -> None:
    result = trec_eval(tmp_path, QRELS, RUN, "-q", "-n", "-m", typed)
    assert result.exit_code == 0, result.stderr
    lines = [f"{name:<22}\tq{q + 1}\t{values[q]:6.4f}" for q in (0, 1) for name, values in printed.items()]
    assert result.stdout.splitlines() == lines


@pytest.mark.parametrize(
    "typed",
    [
        "P.5x",
        "P.0",
        "P.1e400",
        "set_F.-1",
        "set_F.nan",
        "utility.inf,0,0,0",
        "iprec_at_recall.-1",
        "iprec_at_recall.2",
        "11pt_avg.1,.5",
        "11pt_avg.2",
        "Rprec_mult.-1",
        "dcg.1=inf",
        "dcg.-1=3",
        "ndcg.1=-1",
        "ndcg.1=2,1=3",
        "ndcg.x=3",
        "rbp.p=2",
        "rbp_resid.p=-1",
        "relstring.0",
        "relstring.-3",
        "rbp.1=3",
    ],
)
def test_parameters_that_a_measure_is_not_meant_for_are_refused(typed: str, tmp_path: Path) -> None:
    result = trec_eval(tmp_path, QRELS, RUN, "-q", "-m", typed)
    assert (result.exit_code, result.stdout) == (2, ""), result.output
    assert result.stderr.count("\n") <= 2  # with the note that rbp is by definition


@pytest.mark.parametrize("option", [["-l", "-1"], ["-l", "1.5"], ["-M", "0"], ["-M", "x"], ["-N", "1e3"]])
def test_options_that_are_no_whole_numbers_are_refused(option: list[str], tmp_path: Path) -> None:
    result = trec_eval(tmp_path, QRELS, RUN, *option)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"{' '.join(option)} is not a whole number of at least" in result.stderr


def test_gains_that_are_fractions_are_noted(tmp_path: Path) -> None:
    result = trec_eval(tmp_path, QRELS, RUN, "-m", "ndcg.1=0.5")
    assert "gains that are fractions count as they are; trec_eval sorts them as whole numbers" in result.stderr


def test_a_missing_query_counts_0_and_where_trec_eval_10_evaluates_a_document_it_is_noted(tmp_path: Path) -> None:
    run = RUN.partition("q2")[0]
    for measure in ("utility.1,-3,0,0", "relstring.5", "rbp_resid.p=.5"):
        result = trec_eval(tmp_path, QRELS, run, "-cqn", "-m", measure)
        assert result.stdout.splitlines()[-1].split("\t")[1:] in (["q2", "0.0000"], ["q2", "''"])
        assert f"-m {measure}: a query that the run lacks counts 0" in result.stderr


def test_what_trec_eval_has_no_number_for(tmp_path: Path) -> None:
    qrels, run = "q 0 a 1\n", "q Q0 b 1 1 t\n"
    result = trec_eval(tmp_path, qrels, run, "-J")
    rounded = " and ".join(f"iprec_at_recall_0.{tenths}0" for tenths in range(5))  # of one document
    assert f"{rounded}: 0 where nothing is left of a list; trec_eval prints nan" in result.stderr
    result = trec_eval(tmp_path, qrels, run, "-J", "--v9")
    assert "trec_eval: iprec_at_recall_0.00: 0 where nothing is left of a list; trec_eval prints nan" in result.stderr
    assert trec_eval(tmp_path, qrels, run).stderr == ""


# -- gains -------------------------------------------------------------------------------------------------


def expected(
    name: str,
    codes: Sequence[int],
    judged: Sequence[int],
    gain: Callable[[int], float],
) -> float:
    """By going down the list once, beside the ideal ranking. A code is a grade, or -1 for what nobody judged."""
    best = sorted((gain(grade) for grade in judged if gain(grade) > 0), reverse=True)
    if name == "Rndcg" and not any(grade >= 1 for grade in judged):
        return 0.0
    ideal = ideal_total = dcg = behind = cost = total = at_found = np.float64(0.0)
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
            behind += here / np.log2(2 + cost - total) if here else 0.0
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
        total = at_found + (len(best) - found) * dcg / ideal
        return total / len(best) if total > 0 else 0.0
    if len(codes) != len(best) + 1:  # the last level of a shorter list, or the end of a longer one
        levels.append(dcg / ideal)
    return sum(levels) / len(levels)


def test_gains_count_as_in_trec_eval() -> None:
    """Down the list, rank by rank."""
    pick = random.Random(7)
    for case in range(500):
        judged = [pick.choice([0, 0, 1, 1, 2, 3, -1]) for _ in range(pick.randint(1, 9))]
        documents = [f"d{i}" for i in range(len(judged) + 3)]
        kept = pick.sample(documents, pick.randint(1, len(documents)))
        gains = {level: pick.choice([0, 1, 2, 5]) for level in pick.sample([0, 1, 2, 3], pick.randint(1, 3))}
        code_of = {f"d{i}": grade for i, grade in enumerate(judged)}
        codes = [code_of.get(name, -1) for name in kept]
        judgments = Judgments.from_dict({"q": {f"d{i}": grade for i, grade in enumerate(judged)}})
        run = DictRun({"q": {name: float(-place) for place, name in enumerate(kept)}})
        text = ",".join(f"{level}={gain}" for level, gain in gains.items())

        def gain(code: int, gains: dict[int, int] = gains) -> float:
            return float(gains.get(code, max(code, 0)))

        asked = [part for name in GAINED for part in ("-m", f"{name}.{text}")]
        for column in columns(read_request([*asked, "qrels", "run"])):
            lists = Lists.of(judgments.pool, [run.retrieved(judgments)]).under("docid")
            form = column.form(judgments)
            assert form is not None
            found = np.nan_to_num(form.score(lists)[0])
            want = expected(column.root.name, codes, judged, gain)
            assert found == pytest.approx(want, abs=1e-12), (case, column.name, codes, judged)
