"""Numbers that only trec_eval takes: texts that begin with one, scores without one, and gains below 0."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from math import copysign, inf, log2, nan
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.collection.judgments import Judgments
from calipers.collection.runs import DictRun
from calipers.lists import Lists
from calipers.tools.trec_eval.own_formulas import WithGains
from calipers.tools.trec_eval.report import columns
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


@pytest.mark.parametrize("options", [["-m", "ndcg"], ["-m", "ndcg", "--v9"]])  # the fast path, and the full one
@pytest.mark.parametrize("scanner", ["compiled", "plain"])
def test_a_grade_has_no_exponent(scanner: str, options: list[str], tmp_path: Path) -> None:
    """Also where it is the only odd number, and by the command itself: no click runner in between."""
    (tmp_path / "run").write_text("q Q0 b 1 3 t\nq Q0 a 2 2 t\n")
    (tmp_path / "qrels").write_text("q 0 a 25E-1\nq 0 b 3\n")
    found = subprocess.run(
        [sys.executable, "-m", "calipers", "trec_eval", *options, "qrels", "run"],
        cwd=tmp_path,
        env={**os.environ, "CALIPERS_PLAIN": str(int(scanner == "plain"))},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == f"{'ndcg':<22}\tall\t{(3 + 25 / log2(3)) / (25 + 3 / log2(3)):.4f}\n"
    assert found.stderr == "calipers trec_eval: qrels: grade '25E-1' is read as 25, as trec_eval reads it\n"


@pytest.mark.parametrize(("grade", "read"), [("1e3", 1), ("2.7", 2), ("-0.5", 0), ("1e0", 1), ("2.0", 2)])
@pytest.mark.parametrize(("format", "measure"), [("qrels", "dcg"), ("qrels_jg", "map_avgjg")])
def test_a_grade_is_what_atol_reads(grade: str, read: int, format: str, measure: str, tmp_path: Path) -> None:
    run = "q Q0 b 1 3 t\nq Q0 a 2 2 t\n"
    options = ["-R", format, "-m", measure, "-l", "2"]
    found, plain = (trec_eval(tmp_path, f"q j a {text}\nq j b 3\n", run, *options) for text in (grade, str(read)))
    assert (found.exit_code, found.stdout) == (0, plain.stdout)
    assert (f"grade '{grade}' is read as {read}," in found.stderr) == (float(grade) != read)


def test_the_rest_of_calipers_reads_exponents(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1e3\n")
    assert cal.read_qrels(tmp_path / "qrels").pool.grade.tolist() == [1000.0]


def test_lines_that_only_are_too_short_are_still_refused(tmp_path: Path) -> None:
    for qrels, run in (("q 0 a x\nq 0 b\n", "q Q0 a 1 1 t\n"), ("q 0 a 1\n", "q Q0 a 1 x t\nq Q0 b\n")):
        result = trec_eval(tmp_path, qrels, run)
        assert result.exit_code == 2
        assert ":2: expected" in result.stderr


@pytest.mark.parametrize("options", [["-M", "2"], ["-M", "2", "--v9"]])
def test_a_document_may_come_twice_where_it_is_cut(options: list[str], tmp_path: Path) -> None:
    """trec_eval looks for them after it has cut the list. Also where a line is odd, and for what looks at no list."""
    qrels, run = "q 0 a 1\nq 0 b 0\n", "q Q0 a 1 1 t\nq Q0 c 2 2 t\nq Q0 b 3 3x t more\nq Q0 a 4 2 t\n"
    result = trec_eval(tmp_path, qrels, run, "-q", "-m", "relstring", "-m", "num_ret", *options)
    assert result.exit_code == 0, result.stderr  # b, c; the first a has the least id among equal scores
    assert "relstring             \tq\t'0-'\n" in result.stdout
    assert trec_eval(tmp_path, qrels, run, "-m", "num_q").stdout == "num_q                 \tall\t1\n"
    assert trec_eval(tmp_path, qrels, run, "-m", "num_ret", "-M", "0").stdout.endswith("\t0\n")
    refused = trec_eval(tmp_path, qrels, run, "-M", "4")
    assert (refused.exit_code, "run:4: document 'a' appears twice" in refused.stderr) == (4, True)


def test_blanks_are_those_of_c(tmp_path: Path) -> None:
    plain = trec_eval(tmp_path, "q 0 a 1\n", "q Q0 a 1 1 t\n")
    odd = trec_eval(tmp_path, "q\v0\fa 1\n", "  # a comment\n\fq\vQ0 a 1 1 t\n")
    assert (odd.stdout, odd.stderr) == (plain.stdout, "")


@pytest.mark.parametrize("blank", "\v\f\r")
@pytest.mark.parametrize("format", ["qrels", "qrels_jg", "prefs", "qrels_prefs"])
def test_blanks_of_c_end_an_id(format: str, blank: str, tmp_path: Path) -> None:
    """b is retrieved with the score 1, and not b\\fx with the score 9: that field is no part of the line any more."""
    first = "q j 1" if format == "prefs" else "q j"
    measure = "prefs_simp" if "prefs" in format else "map" if format == "qrels" else "map_avgjg"
    qrels, run = f"{first} a 2\n{first} b 1\n", "q Q0 a 1 2 t\nq Q0 b x 1 9\n"
    (tmp_path / "odd").write_bytes(qrels.replace(" b", f" {blank}b").encode())
    (tmp_path / "odd.run").write_bytes(f"q Q0 a 1 2 t\nq Q0 b{blank}x 1 9 t\n".encode())
    options = ["-R", format, "-m", measure, "-m", "runid"]
    wanted = trec_eval(tmp_path, qrels, run, *options).stdout
    got = CliRunner().invoke(root, ["trec_eval", *options, str(tmp_path / "odd"), str(tmp_path / "odd.run")])
    assert (got.stdout, got.stderr) == (wanted, "")
    (tmp_path / "odd").write_bytes(qrels.replace(" b", f" b{blank}x").encode())
    refused = CliRunner().invoke(root, ["trec_eval", *options, str(tmp_path / "odd"), str(tmp_path / "run")])
    assert (refused.exit_code, "odd:2: expected" in refused.stderr) == (2, True)


def test_parameters_and_z_scores(tmp_path: Path) -> None:
    qrels, run = "q 0 a 1\nq 0 b 2\n", "q Q0 a 1 1 t\n"
    result = trec_eval(tmp_path, qrels, run, "-m", "ndcg.1=abc,2=3.5x", "-m", "iprec_at_recall.x")
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["iprec_at_recall_0.00", "ndcg_1=abc,2=3.5x"]
    assert "-m ndcg.1=abc,2=3.5x: read as 1=0,2=3.5, as trec_eval reads it" in result.stderr
    assert "gains that are fractions count as they are" in result.stderr
    (tmp_path / "z").write_text("q map x 0.5y\n")
    result = trec_eval(tmp_path, qrels, run, "-q", "-m", "map", "-Z", str(tmp_path / "z"))
    assert "\tq\t1.0000" in result.stdout
    assert "'x' is read as 0, as trec_eval reads it; 1 more" in result.stderr
    for numbers, printed in {
        "nan 1": "nan",
        "inf 2": "-inf",
        "0.5 inf": "0.0000",
        "1 nan": "nan",
        "nan 0": "-1000000.0000",
    }.items():
        (tmp_path / "z").write_text(f"q map {numbers}\n")
        assert trec_eval(tmp_path, qrels, run, "-m", "map", "-Z", str(tmp_path / "z")).stdout.split()[-1] == printed


# q1: one of three retrieved and one of two relevant documents; q2: one of two retrieved, and the only relevant one
ODD_QRELS = "q1 0 a 1\nq1 0 b 0\nq1 0 c 2\nq2 0 a 1\nq2 0 d 0\n"
ODD_RUN = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq1 Q0 x 3 1 t\nq2 Q0 d 1 2 t\nq2 Q0 a 2 1 t\n"


def f_measure(weight: float, precision: float, recall: float) -> float:
    return (weight + 1) * precision * recall / (weight * precision + recall)


@pytest.mark.parametrize(
    ("typed", "printed"),
    [
        ("P.5x,1e3", {"P_1": (1, 0), "P_5": (1 / 5, 1 / 5)}),
        ("recall.99999999999999999999", {"recall_9223372036854775807": (1 / 2, 1)}),
        ("set_F.-0.5", {"set_F_-0.5": (f_measure(-0.5, 1 / 3, 1 / 2), f_measure(-0.5, 1 / 2, 1))}),
        ("set_F.0", {"set_F_0": (1 / 3, 1 / 2)}),
        ("set_F.-2", {"set_F_-2": (f_measure(-2, 1 / 3, 1 / 2), -inf)}),  # (-1/2) / 0
        ("utility.inf,-1,0,0", {"utility_inf,-1,0,0": (inf, inf)}),
        ("utility.-inf,1,0,0", {"utility_-inf,1,0,0": (-inf, -inf)}),
        ("utility.nan,1,0,0", {"utility_nan,1,0,0": (nan, nan)}),
        ("iprec_at_recall.-1,2", {"iprec_at_recall_-1.00": (1, 1 / 2), "iprec_at_recall_2.00": (0, 0)}),
        ("11pt_avg.1,.5", {"11pt_avg_1,.5": (1, 1 / 2)}),  # 1 is passed by, and counts as 0
        ("11pt_avg..5,1", {"11pt_avg_.5,1": (1 / 2, 1 / 2)}),
        ("Rprec_mult.-1", {"Rprec_mult_-1.00": (0, 0)}),
        ("dcg.1=inf", {"dcg_1=inf": (inf, inf)}),
        ("ideal_dcg.1=-inf", {"ideal_dcg_1=-inf": (2, 0)}),
        ("ndcg.2=inf", {"ndcg_2=inf": (0, 1 / log2(3))}),
        ("ndcg.x=3,=4,p=5", {"ndcg_x=3,=4,p=5": (1 / (2 + 1 / log2(3)), 1 / log2(3))}),
        ("dcg.-1=3", {"dcg_-1=3": (1 + 3 / log2(4), 1 / log2(3))}),
        ("rbp_resid.p=0.5", {"rbp_resid_p=0.5": (0.5**3 + 0.5**3, 0.5**2)}),
        ("rbp.p=2", {"rbp_p=2": (-1 / 2, -2 / 2)}),
    ],
)
def test_parameters_that_only_trec_eval_takes(
    typed: str, printed: dict[str, tuple[float, ...]], tmp_path: Path
) -> None:
    result = trec_eval(tmp_path, ODD_QRELS, ODD_RUN, "-q", "-n", "-m", typed)
    assert result.exit_code == 0, result.stderr
    lines = [f"{name:<22}\tq{q + 1}\t{values[q]:6.4f}" for q in (0, 1) for name, values in printed.items()]
    assert result.stdout.splitlines() == lines


@pytest.mark.parametrize(
    ("typed", "note"),
    [
        ("set_F.-1", "-m set_F.-1: not a parameter that set_F is defined for; computed as trec_eval does"),
        ("ndcg.1=inf", "-m ndcg.1=inf: by arithmetic with infinite gains; trec_eval's order of them is left open by C"),
        ("P.1e3", "-m P.1e3: read as 1, as trec_eval reads it"),
        ("ndcg.x=3", "-m ndcg.x=3: read as nothing, as trec_eval reads it"),
    ],
)
def test_one_line_says_so(typed: str, note: str, tmp_path: Path) -> None:
    assert trec_eval(tmp_path, ODD_QRELS, ODD_RUN, "-m", typed).stderr == f"calipers trec_eval: {note}\n"


def test_what_is_no_number_is_printed_as_c_prints_it(tmp_path: Path) -> None:
    """The sign of inf / inf is the processor's, here as there."""
    infinite = float("inf")
    sign = "-" if copysign(1, infinite - infinite) < 0 else ""
    result = trec_eval(tmp_path, ODD_QRELS, ODD_RUN, "-m", "ndcg.1=inf", "-m", "Rndcg.1=0,2=0", "-m", "set_F.inf")
    assert {line.split("\t")[2] for line in result.stdout.splitlines()} == {f"{sign + 'nan':>6}"}


def test_trec_eval_10_takes_a_document_for_a_missing_query_where_there_are_parameters(tmp_path: Path) -> None:
    """It forgets the value of that document only where the name is that of the measure."""
    run = ODD_RUN.partition("q2")[0]
    names = ["utility", "relstring", "rbp_resid"]
    for text, values in (("", ["''", "0.0000", "0.0000"]), ("1,-3,0,0", ["'-'", "-3.0000", "1.0000"])):
        asked = [f"{name}.{'p=.5' if name == 'rbp_resid' else text}" if text else name for name in names]
        options = [option for name in asked for option in ("-m", name)]
        result = trec_eval(tmp_path, ODD_QRELS, run, "-cqn", *options)
        assert [line.split("\t")[2] for line in result.stdout.splitlines() if "\tq2\t" in line] == values
    ideal = trec_eval(tmp_path, ODD_QRELS, run, "-cqn", "-m", "ideal_dcg").stdout
    assert f"{'ideal_dcg':<22}\tq2\t1.0000\n" in ideal


def test_what_trec_eval_has_no_number_for(tmp_path: Path) -> None:
    qrels, run = "q 0 a 1\n", "q Q0 b 1 1 t\n"
    result = trec_eval(tmp_path, qrels, run, "-J")
    rounded = " and ".join(f"iprec_at_recall_0.{tenths}0" for tenths in range(5))  # of one document
    assert f"{rounded}: 0 where nothing is left of a list; trec_eval prints nan" in result.stderr
    result = trec_eval(tmp_path, qrels, run, "-J", "--v9")
    assert "trec_eval: iprec_at_recall_0.00: 0 where nothing is left of a list; trec_eval prints nan" in result.stderr
    assert trec_eval(tmp_path, qrels, run).stderr == ""


# -- gains below 0 -----------------------------------------------------------------------------------------


def expected(
    name: str,
    codes: Sequence[int],
    judged: Sequence[int],
    gain: Callable[[int], float],
    ideal_gain: Callable[[int], float],
) -> float:
    """By going down the list once, beside the ideal ranking. A code is a grade, or -1 for what nobody judged."""
    best = sorted((ideal_gain(grade) for grade in judged if grade >= 0 and ideal_gain(grade) > 0), reverse=True)
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
    if name == "Rndcg" and not best:
        return nan
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


def test_any_gains_count_as_in_trec_eval() -> None:
    """Down the list, rank by rank; by the measures themselves where they take the gains, and else by hand."""
    pick = random.Random(7)
    by_hand = 0
    for case in range(500):
        judged = [pick.choice([0, 0, 1, 1, 2, 3, -1]) for _ in range(pick.randint(1, 9))]
        documents = [f"d{i}" for i in range(len(judged) + 3)]
        kept = pick.sample(documents, pick.randint(1, len(documents)))
        levels = [pick.choice([0, 0, 1, 1, 2, 2, 3, 3, -1, -2]) for _ in range(pick.randint(1, 3))]
        pairs = [(level, pick.choice([-3, -1, 0, 1, 2, 5, inf, -inf])) for level in levels]
        code_of = {f"d{i}": grade if grade >= 0 else -2 for i, grade in enumerate(judged)}
        codes = [code_of.get(name, -1) for name in kept]
        judgments = Judgments.from_dict({"q": {f"d{i}": grade for i, grade in enumerate(judged)}})
        run = DictRun({"q": {name: float(-place) for place, name in enumerate(kept)}})
        text = ",".join(f"{level}={gain}" for level, gain in pairs)

        def gain(code: int, pairs: list[tuple[int, float]] = pairs) -> float:
            return float(min((gain for level, gain in pairs if level == code), default=max(code, 0)))

        def ideal_gain(code: int, pairs: list[tuple[int, float]] = pairs) -> float:
            return float(next((gain for level, gain in pairs if level == code), max(code, 0)))

        for column in columns(
            read_request([*(p for name in GAINED for p in ("-m", f"{name}.{text}")), "qrels", "run"])
        ):
            name = column.root.name
            lists = Lists.of(judgments.pool, [run.retrieved(judgments)]).under("docid")
            form = column.form(judgments)
            assert form is not None
            with np.errstate(all="ignore"):
                want = expected(name, codes, judged, gain, ideal_gain)
            found = form.score(lists)[0]
            if column.own is None:
                found = np.nan_to_num(found)
            assert found == pytest.approx(want, abs=1e-12, nan_ok=True), (case, name, text, codes, judged)
            own = WithGains(name, tuple(pairs), 1).score(lists)[0]
            assert own == pytest.approx(want, abs=1e-12, nan_ok=True), (case, name, text, codes, judged)
            by_hand += column.own is not None
    assert 1000 < by_hand < 2900
