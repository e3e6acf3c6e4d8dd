"""One number for one question: however it is asked, and nothing that misleads without a word."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

import calipers as cal
from calipers.cli import commands
from calipers.results.averages import expansion, mean, total
from calipers.results.scores import means
from calipers.results.tables import Table
from time_limit import TIME_LIMIT

SCORES = st.lists(st.floats(-1e300, 1e300) | st.sampled_from([k / 10 for k in range(11)]), min_size=1, max_size=40)
Said = Callable[..., tuple[int, str, str]]


@pytest.fixture
def said(capfdbinary: pytest.CaptureFixture[bytes]) -> Said:
    """Run a command. Return its exit code and what it prints."""

    def said(*arguments: str) -> tuple[int, str, str]:
        capfdbinary.readouterr()
        code = commands.run(list(arguments))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return code, out.decode(), err.decode()

    return said


def write(folder: Path, **files: Any) -> Iterator[str]:
    for name, content in files.items():
        path = folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        yield str(path)


# -- sums --------------------------------------------------------------------------------------------


@given(SCORES)
def test_sums_and_means_are_rounded_once(values: list[float]) -> None:
    exact = sum(map(Fraction, values))
    assert sum(map(Fraction, expansion(values))) == exact
    assert total(values) == float(exact)
    assert mean(values) == mean(values[::-1]) == mean(expansion(values), len(values)) == float(exact / len(values))


@given(st.lists(SCORES, min_size=1, max_size=4), st.integers(0, 3), st.sampled_from([1.0, 1e-3, 1e-300]))
def test_means_of_rows_are_rounded_once(rows: list[list[float]], holes: int, scale: float) -> None:
    """Whether twice the precision suffices for a row or not."""
    width = max(map(len, rows)) + holes
    values = np.full((len(rows), width), np.nan)
    for line, row in zip(values, rows, strict=True):
        line[: len(row)] = np.array(row) * scale
    expected = [
        float(sum(map(Fraction, line[~np.isnan(line)].tolist())) / np.sum(~np.isnan(line)).item()) for line in values
    ]
    assert means(values).tolist() == expected


@pytest.mark.parametrize("shape", [(2, 3, 0), (0, 4), (0, 0), (2, 1)])
def test_means_of_nothing_are_undefined(shape: tuple[int, ...]) -> None:
    found = means(np.full(shape, np.nan))
    assert found.shape == shape[:-1]
    assert np.isnan(found).all()


@given(st.lists(st.integers(0, 20000), min_size=1, max_size=20))
def test_display_does_not_show_the_order_of_a_sum(halves: list[int]) -> None:
    for half in halves:  # x.xxxx5, where rounding to four digits could go either way
        value = half / 20000
        near = [np.nextafter(value, 2), np.nextafter(value, -2), value]
        assert len({Table(("x",), ((float(x),),)).to_text() for x in near}) == 1


@pytest.mark.parametrize("seed", range(6))
def test_the_answer_does_not_depend_on_the_question(seed: int, tmp_path: Path, said: Said) -> None:
    rng = random.Random(seed)
    qrels, runs = [], []
    for q in range(16):
        relevant = rng.sample(range(12), rng.randrange(1, 11))
        qrels += [f"{q} 0 d{d} {int(d in relevant)}\n" for d in range(12)]
        runs += [f"{q} Q0 d{d} 1 {rng.choice((d, d // 3))} t\n" for d in range(10)]
    known, run = write(tmp_path, qrels="".join(qrels), run="".join(runs))
    measures = ("P@10", "AP", "RR", "Recall@5", "Success@3")  # whose terms no library of functions rounds
    long = cal.evaluate(known, run, [*measures, "ERR@10"], jobs=2)
    again = cal.evaluate(json.loads(json.dumps(cal.read_qrels(known).to_dict())), run, [*measures, "ERR@10"])
    compared = cal.compare(cal.evaluate(known, {"a": run, "b": run}, measures), correction=None)
    for m, measure in enumerate(measures):
        alone = cal.evaluate(known, run, measure)
        assert alone[measure].tolist() == long[measure].tolist() == again[measure].tolist()
        assert alone.mean()["t", measure] == long.mean()["t", measure] == again.mean()["t", measure]
        assert compared.means[m].tolist() == [long.mean()["t", measure]] * 2
        texts = (said("evaluate", known, run, "-m", asked)[1] for asked in (measure, f"{measure} ERR@10"))
        one, beside = ([line.split()[1] for line in text.splitlines()] for text in texts)
        assert one == beside


# -- names of measures -------------------------------------------------------------------------------


@pytest.mark.parametrize("names", ["", " ", ",", "nDCG(gain=exponential)", "P@0", "AP(rel=two)"])
def test_names_are_refused_in_the_same_words(names: str, tmp_path: Path, said: Said) -> None:
    known, run, other, same = write(
        tmp_path, qrels="1 0 a 1\n", run="1 Q0 a 1 1 t\n", qrels_json={"1": {"a": 1}}, run_json={"1": {"a": 1}}
    )
    answers = {said("evaluate", *files, "-m", names) for files in ((known, run), (other, same))}
    assert len(answers) == 1
    ((code, out, err),) = answers
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    with pytest.raises(cal.CalipersError) as refused:
        cal.evaluate(known, run, names)
    assert err == f"calipers: {refused.value}\n"


# -- numbers that no double holds --------------------------------------------------------------------


@pytest.mark.parametrize("grade", ["1100", "1e300"])
@pytest.mark.parametrize(
    "measure",
    [
        "nDCG(gain=exp)@10",
        "DCG(gain=exp)",
        "ERR@10",
        "RBP(gain=exp)",
        "INSQ(gain=exp)",
        "HIT(gain=exp)@3",
        "V2(nDCG(gain=exp)@10)",
        "SN-DCG(gain=exp)@5",
        "Rndcg(gain=exp)",
        "GAP",
    ],
)
def test_a_gain_that_is_not_finite_is_refused(measure: str, grade: str, tmp_path: Path, said: Said) -> None:
    known, run = write(
        tmp_path, qrels=f"first 0 a 1\nhuge 0 a {grade}\nhuge 0 b 0\n", run="first Q0 a 1 1 t\nhuge Q0 a 1 1 t\n"
    )
    with pytest.raises(cal.CalipersError) as refused:
        cal.evaluate(known, run, measure)
    assert f"{float(grade):g}" in refused.value.message
    assert measure == "GAP" or "'huge'" in refused.value.message
    code, out, err = said("evaluate", known, run, "-m", measure)
    assert (code, out, err.splitlines()[-1]) == (2, "", f"calipers: {refused.value}")  # after a note on large grades
    if measure[:2] not in ("GA", "V2"):
        with pytest.raises(cal.CalipersError, match="'huge'"):
            cal.bounds(known, measure)


def test_gains_that_add_up_to_more_than_a_double_are_refused(tmp_path: Path, said: Said) -> None:
    known, run = write(tmp_path, qrels="q 0 a 1e308\nq 0 b 1e308\n", run="q Q0 a 1 1 t\n")
    code, out, err = said("evaluate", known, run, "-m", "nDCG@10")
    assert (code, out) == (2, "")
    assert "grade 1e+308 of query 'q'" in err
    assert said("evaluate", known, run, "-m", "AP")[0] == 0


def test_scores_beyond_single_precision_tie_as_in_trec_eval(tmp_path: Path) -> None:
    known, run = write(tmp_path, qrels="1 0 a 1\n", run="1 Q0 b 1 1e39 t\n1 Q0 a 2 1e40 t\n1 Q0 c 3 5 t\n")
    ways = (run, {"1": {"b": 1e39, "a": 1e40, "c": 5.0}})
    for way in ways:  # both are infinite, and b comes before a where ties go by descending id
        with pytest.warns(cal.CalipersWarning, match="beyond single precision"):
            scores = cal.evaluate(known, way, "RR", like="trec_eval-9")
        assert scores["RR"].tolist() == [[1 / 2]]
        assert cal.evaluate(known, way, "RR", like="trec_eval")["RR"].tolist() == [[1.0]]


# -- what is said beside the numbers -----------------------------------------------------------------


QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}


@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        ({"1": {"a": 2.0, "b": 1.0}}, "1 of 1 run lacks judged queries (1 in all, run, such as '2')"),
        ({"1": {"x": 2.0}, "2": {"y": 1.0}}, "all documents in the top 10 are unjudged"),
        (
            {"1": {"a": 1.0, "b": 1.0}, "2": {"a": 1.0}},
            "1 of 1 run has ties, in 1 list; averaged over all orders, where trec_eval orders by document id",
        ),
    ],
)
def test_the_library_warns_once_in_the_words_of_the_command(
    run: dict[str, dict[str, float]], sentence: str, tmp_path: Path, said: Said
) -> None:
    with pytest.warns(cal.CalipersWarning) as caught:
        scores = cal.evaluate(QRELS, {"run": run}, "AP", unmatched="warn")
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert str(caught[0].message) == "; ".join(scores.notes)
    assert any(note.startswith(sentence) for note in scores.notes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cal.evaluate(QRELS, {"run": run}, "AP", unmatched="warn", warn=False).notes == scores.notes
    lines = [f"{q} Q0 {d} 1 {score} run\n" for q, scored in run.items() for d, score in scored.items()]
    known, path = write(tmp_path, qrels="1 0 a 1\n1 0 b 0\n2 0 a 1\n", run="".join(lines))
    for measure in ("AP", "AP ERR"):
        code, _, err = said("evaluate", known, path, "-m", measure, "--unmatched", "warn")
        assert code == 0
        assert err == "".join(f"calipers: warning: {note}\n" for note in scores.notes)


def test_notes_are_all_that_the_command_warns_of() -> None:
    with pytest.warns(cal.CalipersWarning) as caught:
        scores = cal.evaluate(QRELS, {"1": {"a": 1.0, "x": 1.0}, "2": {"a": 1.0}, "3": {"z": 1.0}}, "AP")
    assert [str(each.message) for each in caught] == ["; ".join(scores.notes)]
    assert scores.notes == (
        "1 of 1 run answers queries without judgments (at most 1, such as '3'); ignored",
        "1 of 1 run has ties, in 1 list; averaged over all orders, where trec_eval orders by document id",
        "33.3% of the documents in the top 10 are unjudged (at most 33.3%, run); counted as not relevant",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cal.evaluate(QRELS, {"1": {"a": 2.0, "b": 1.0}, "2": {"a": 1.0}}, "AP").notes == ()


def test_remarks_are_what_the_command_says_beside_its_table(tmp_path: Path, said: Said) -> None:
    known, path = write(tmp_path, qrels="1 0 a 1\n1 0 b 0\n2 0 a 0\n", run="1 Q0 a 1 2 run\n2 Q0 a 1 1 run\n")
    for more, like in (((), None), (("--like", "trec_eval"), "trec_eval")):
        remarks = cal.evaluate(known, path, "AP V2(AP)", like=like, warn=False).remarks
        assert any("queries for AP: no relevant document; " in each for each in remarks)
        assert said("evaluate", known, path, "-m", "AP V2(AP)", *more)[2] == "".join(
            f"calipers: {r}\n" for r in remarks
        )
    assert cal.as_scores([[0.5]]).remarks == ()


def test_the_warning_is_at_the_line_of_the_user() -> None:
    with pytest.warns(cal.CalipersWarning) as caught:
        cal.Experiment(QRELS, {"old": {"1": {"a": 1.0}}, "new": {"1": {"b": 1.0}}}, "AP").diff("old", "new")
    assert [each.filename for each in caught] == [__file__]


def test_what_evaluates_on_its_own_account_does_not_warn(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")
    runs = {"a": {"1": {"a": 2.0, "b": 1.0}}, "b": {"1": {"b": 2.0}, "2": {"y": 1.0}}}
    with warnings.catch_warnings():
        warnings.simplefilter("error", cal.CalipersWarning)
        cal.questions.information.ric(cal.Experiment(QRELS, runs))
        cal.Experiment(QRELS, runs, "nDCG@10").audit()
        cal.Experiment(QRELS, runs, warn=False).report(tmp_path / "report.html", warn=False)


def test_exchanged_judgments_and_runs_are_noticed(tmp_path: Path, said: Said) -> None:
    grades = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 1, "d": 0}}
    ranked = {"1": {"a": 12.5, "b": 11.25, "c": 3.5}, "2": {"a": 5.5, "d": 2.25}}
    known, run = write(tmp_path, qrels=grades, run=ranked)
    assert "look like" not in said("evaluate", known, run)[2]
    code, _, err = said("evaluate", run, known)
    assert code == 0
    assert "warning: the judgments look like scores" in err
    assert said("evaluate", run, known, "--strict")[0] == 2
    with pytest.warns(cal.CalipersWarning, match="judgments come first"):
        cal.evaluate(ranked, grades)
    lines = [f"{query} Q0 {document} 1 {grade} t\n" for query, of in grades.items() for document, grade in of.items()]
    (told,) = write(tmp_path, told="".join(lines))
    notes = cal.evaluate(ranked, told, warn=False).notes
    assert not any("look like" in note for note in notes)  # TREC's format says what it is
    half = {"1": {"a": 12.5, "b": 11.0, "c": 3.5}, "2": {"a": 5.5, "d": 2.0, "e": 1.0}}  # half of them whole
    notes = cal.evaluate(half, grades, warn=False).notes
    assert any(note.startswith("the judgments look like scores") for note in notes)


@pytest.mark.parametrize("grade", [[0.5, 0.25], [1 / 3, 2 / 3] * 2, [0.1, 0.9, 0.3] * 4])
def test_fractions_of_a_scale_are_grades(grade: list[float]) -> None:
    judged = {"q": {f"d{place}": each for place, each in enumerate(grade)}}
    run = {"q": {f"d{place}": float(place) for place in range(len(grade))}}
    assert not any("look like scores" in note for note in cal.evaluate(judged, run, "nDCG", warn=False).notes)
    ranked = {"q": [f"d{place}" for place in range(len(grade))]}
    odd = {"q": {document: each / 7 for document, each in judged["q"].items()}}
    assert cal.evaluate(odd, ranked, "nDCG", warn=False).notes == ()  # ranks are no grades


@pytest.mark.parametrize(
    ("qrels", "run"),
    [("1 0 a 1\n", "1 Q0 a 1 0.5 t\n"), ("qid,docno,grade\n1,a,1\n", "qid,docno,score\n1,a,0.5\n")],
)
def test_formats_that_tell_are_refused_the_wrong_way_round(qrels: str, run: str, tmp_path: Path, said: Said) -> None:
    known, scored = write(tmp_path, qrels=qrels, run=run)
    assert said("evaluate", known, scored)[0] == 0
    code, out, err = said("evaluate", scored, known)
    assert (code, out, err.count("\n")) == (2, "", 1)


# -- pipes -------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_are_read_wherever_files_are(tmp_path: Path, require: Any) -> None:
    require.tool("bash")
    list(write(tmp_path, qrels="1 0 a 1\n2 0 b 1\n", run="1 Q0 x 1 1 t\n2 Q0 b 1 1 t\n1 Q0 a 2 2 t"))
    script = """
    gzip -k run; mkfifo pipe; (cat run > pipe &)
    calipers() { "$PYTHON" -m calipers "$@" 2>> notes; }
    calipers evaluate qrels <(zcat run.gz) -m AP --format csv
    calipers evaluate <(cat qrels) pipe -m "AP ERR" --format csv
    calipers trec_eval -m map <(cat qrels) <(cat run.gz)
    calipers convert <(cat run) run.json && calipers evaluate <(cat qrels) <(cat run.json) -m AP --format json
    """
    known = {**os.environ, "PYTHON": sys.executable}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=known, capture_output=True, text=True, timeout=TIME_LIMIT, check=True
    )
    tables = "system,AP\nt,1.0\nsystem,AP,ERR\nt,1.0,0.5\n" + f"{'map':<22}\tall\t1.0000\n"
    assert done.stdout.startswith(tables), (tmp_path / "notes").read_text()
    assert '"AP": 1.0' in done.stdout
