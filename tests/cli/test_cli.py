"""The commands as a user runs them: real files, what they print and how they end."""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import calipers as cal
from calipers.cli.commands import COMMANDS
from run_calipers import calipers, process

QRELS = "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 d 0\n3 0 x 0\n"
RUN = "1 Q0 b 1 3.0 one\n1 Q0 a 2 2.0 one\n1 Q0 u 3 1.0 one\n2 Q0 d 1 2.5 one\n2 Q0 a 2 2.5 one\n3 Q0 x 1 1 one\n"


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "one.run").write_text(RUN)
    (tmp_path / "two.run.gz").write_bytes(gzip.compress(RUN.replace("one", "two").replace("3.0", "1.5").encode()))
    return tmp_path


def test_a_table_of_systems_and_measures(folder: Path) -> None:
    done = process("evaluate", folder / "qrels.txt", folder / "*.run*", "-m", "nDCG@{1,10} AP RR")
    assert done.returncode == 0, done.stderr
    head, line, one, two = done.stdout.splitlines()
    assert head.split() == ["system", "nDCG@1", "nDCG@10", "AP", "RR"]
    assert set(line) == {"-", " "}
    assert one.split()[0] == "one"
    assert two.split()[0] == "two"


@pytest.mark.parametrize(
    ("command", "rest"),
    [
        ("evaluate", ["one.run"]),
        ("compare", ["one.run", "two.run.gz"]),
        ("diff", ["one.run", "two.run.gz"]),
        ("check", ["one.run", "--baseline", "two.run.gz", "--max-drop", "1"]),
        ("ranges", ["one.run"]),
        ("judges", ["qrels.txt", "--systems", "one.run", "--systems", "two.run.gz", "--show", "effects"]),
    ],
)
def test_a_measure_has_a_name_of_ones_own(folder: Path, command: str, rest: list[str]) -> None:
    files = [folder / each if "." in each else each for each in rest]
    done = calipers(command, folder / "qrels.txt", *files, "-m", "mine=nDCG(gain=exp)@10")
    assert done.returncode == 0, done.stderr
    assert "mine" in done.stdout
    assert "nDCG" not in done.stdout


def test_csv_is_what_the_library_says(folder: Path) -> None:
    done = calipers(
        "evaluate", folder / "qrels.txt", folder / "one.run", "-m", "nDCG@10 ap RBP(p=0.5)", "--format", "csv"
    )
    scores = cal.evaluate(folder / "qrels.txt", folder / "one.run", "nDCG@10 ap RBP(p=0.5)")
    (row,) = rows(done.stdout)
    assert list(row) == ["system", "nDCG@10", "ap", "RBP(p=0.5)"]
    assert row["system"] == "one"
    assert [float(row[name]) for name in scores.measures] == [scores.mean()["one", name] for name in scores.measures]


def test_per_query_csv_leaves_undefined_fields_empty(folder: Path) -> None:
    done = calipers(
        "evaluate", folder / "qrels.txt", folder / "one.run", "-q", "-m", "AP", "--format", "csv", "--empty", "skip"
    )
    assert done.stdout.splitlines()[0] == "system,query,AP"
    found = {row["query"]: row["AP"] for row in rows(done.stdout)}
    assert found == {"1": repr(0.25), "2": repr(0.75), "3": ""}  # query 2: the mean of 1 and 1/2


def test_json_is_a_list_of_objects(folder: Path) -> None:
    done = calipers(
        "evaluate", folder / "qrels.txt", folder / "one.run", "-q", "-m", "AP", "--format", "json", "--empty", "skip"
    )
    digest = cal.read_judgments(folder / "qrels.txt").digest
    assert json.loads(done.stdout)[2] == {"judgments": digest, "system": "one", "query": "3", "AP": None}


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_tables_for_papers(folder: Path, form: str) -> None:
    done = calipers("evaluate", folder / "qrels.txt", folder / "one.run", "--format", form)
    assert done.returncode == 0
    assert {"markdown": "| system |", "latex": r"\toprule"}[form] in done.stdout


@pytest.mark.parametrize("ties", ["average", "docid", "input", "best", "worst"])
def test_tie_rules(folder: Path, ties: str) -> None:
    done = calipers(
        "evaluate", folder / "qrels.txt", folder / "one.run", "-q", "-m", "RR", "--ties", ties, "--format", "csv"
    )
    found = {row["query"]: float(row["RR"]) for row in rows(done.stdout)}
    assert found["2"] == {"average": 0.75, "docid": 0.5, "input": 0.5, "best": 1, "worst": 0.5}[ties]


def test_letor_labels_and_scores(tmp_path: Path) -> None:
    lines = ["2 qid:7 1:0.5 2:0.1 #docid = A", "0 qid:7 1:0.2 2:0.9 #docid = B", "1 qid:9 1:0.1 2:0 #docid = C"]
    (tmp_path / "test.svm").write_text("\n".join(lines) + "\n")
    (tmp_path / "model-a.txt").write_text("0.1\n0.9\n3e-1\n")
    (tmp_path / "model-b.txt.xz").write_bytes(lzma.compress(b"0.9\n0.1\n3e-1\n"))
    done = calipers(
        "evaluate",
        tmp_path / "test.svm",
        tmp_path / "model-a.txt",
        tmp_path / "model-b.txt.xz",
        "-m",
        "nDCG(gain=exp)@10 RR",
        "-q",
        "--format",
        "csv",
    )
    assert done.returncode == 0, done.stderr
    found = {(row["system"], row["query"]): float(row["RR"]) for row in rows(done.stdout)}
    assert found == {
        ("model-a", "7"): 0.5,
        ("model-a", "9"): 1,
        ("model-b", "7"): 1,
        ("model-b", "9"): 1,
    }


def test_standard_input(folder: Path) -> None:
    done = process("evaluate", folder / "qrels.txt", "-", "-m", "AP", "--format", "csv", stdin=RUN.encode())
    assert rows(done.stdout)[0]["system"] == "one"


def test_warnings_are_counted_and_strict_makes_them_errors(folder: Path) -> None:
    (folder / "odd.run").write_text("1 Q0 a 1 2 odd\n1 Q0 u 2 2 odd\n9 Q0 a 1 1 odd\n")
    done = calipers("evaluate", folder / "qrels.txt", folder / "odd.run")
    assert done.returncode == 0
    for words in (
        "without judgments",
        "lacks judged queries (2 in all",
        "has ties",
        "unjudged",
        "no relevant document",
    ):
        assert words in done.stderr
    strict = calipers("evaluate", folder / "qrels.txt", folder / "odd.run", "--strict")
    assert strict.returncode == 2
    assert strict.stdout == ""


def test_output_goes_whole_to_a_file(folder: Path) -> None:
    out = folder / "out.csv"
    done = calipers("evaluate", folder / "qrels.txt", folder / "one.run", "--format", "csv", "-o", out)
    assert (done.returncode, done.stdout) == (0, "")
    assert out.read_text().startswith("system,")
    before = out.read_text()
    bad = calipers("evaluate", folder / "qrels.txt", folder / "missing.run", "--format", "csv", "-o", out)
    assert bad.returncode == 2
    assert out.read_text() == before
    assert not list(folder.glob(".calipers-*"))


def test_a_path_that_cannot_be_written(folder: Path) -> None:
    done = calipers("evaluate", folder / "qrels.txt", folder / "one.run", "-o", folder / "no" / "such" / "out.csv")
    assert done.returncode == 2
    assert "cannot write" in done.stderr


def endless(path: Path) -> None:
    """Nine gigabytes of newlines in a few kilobytes."""
    inner = gzip.compress(b"\n" * (1 << 20), 9)
    path.write_bytes(inner * 9000)


BAD = {
    "missing file": (lambda f: f / "nowhere", "no such file"),
    "empty file": (lambda f: _put(f / "bad", b""), "empty"),
    "directory": (lambda f: (f / "folder").mkdir() or f / "folder", "no file"),
    "binary junk": (lambda f: _put(f / "bad", bytes(range(256)) * 50), "format|binary|fields"),
    "truncated gzip": (lambda f: _put(f / "bad.gz", gzip.compress(RUN.encode() * 5000)[:-300]), "truncated|cut|end"),
    "too few fields": (
        lambda f: _put(f / "bad", RUN.encode() + b"4 Q0 a 1 2.0\n"),
        r":7: expected 6 fields .* found 5",
    ),
    "score not a number": (lambda f: _put(f / "bad", RUN.encode() + b"4 Q0 a 1 abc t\n"), ":7: .*'abc'.* not a number"),
    "NaN": (lambda f: _put(f / "bad", RUN.encode() + b"4 Q0 a 1 nan t\n"), ":7: .*'nan'.* not a"),
    "infinite": (lambda f: _put(f / "bad", RUN.encode() + b"4 Q0 a 1 -inf t\n"), ":7: .*'-inf'.* not a"),
    "duplicate document": (
        lambda f: _put(f / "bad", RUN.encode() + b"3 Q0 x 2 0.5 t\n"),
        ":7: document 'x' .*twice.* '3'",
    ),
    "qrels": (lambda f: _put(f / "bad", QRELS.encode()), "looks like qrels"),
    "no query in common": (lambda f: _put(f / "bad", b"77 Q0 a 1 2.0 t\n"), "no query in common"),
}


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("what", BAD)
def test_bad_runs_are_answered_by_one_line(folder: Path, what: str) -> None:
    make, words = BAD[what]
    path = make(folder)
    done = calipers("evaluate", folder / "qrels.txt", path, "-o", folder / "out")
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    (line,) = done.stderr.strip().splitlines()
    assert re.search(words, line), line
    assert not (folder / "out").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"1 0 a 1\n1 0 a 2\n", ":2: document 'a' of query '1' is judged 2 here and 1 before"),
        (b"1 0 a high\n", "grade 'high'|no known format"),
        (b"1 0 a 1\n1 0 b\n", ":2: expected 4 fields"),
        (RUN.encode(), "looks like a run"),
    ],
)
def test_bad_judgments(folder: Path, content: bytes, words: str) -> None:
    done = calipers("evaluate", _put(folder / "bad", content), folder / "one.run")
    assert done.returncode == 2
    assert re.search(words, done.stderr), done.stderr


def test_labels_and_scores_of_different_length(tmp_path: Path) -> None:
    (tmp_path / "l").write_text("1 qid:1 1:0\n0 qid:1 1:1\n")
    (tmp_path / "s").write_text("1\n2\n3\n")
    done = calipers("evaluate", tmp_path / "l", tmp_path / "s")
    assert done.returncode == 2
    assert "3 scores for 2 labels" in done.stderr


def test_a_file_that_unpacks_without_end(folder: Path) -> None:
    endless(folder / "bomb.gz")
    done = calipers(
        "evaluate", folder / "qrels.txt", folder / "bomb.gz", "--max-unpacked", "0.05", "--systems-as", "run"
    )
    assert done.returncode == 2
    assert "--max-unpacked" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-m", "ndgc@10"], "did you mean nDCG"),
        (["-m", "nDCG@0"], "cutoff"),
        (["-m", "nDCG@-3"], "cutoff|not the name"),
        (["-m", "AP(p=3)"], "no parameter 'p'"),
        (["--ties", "coin"], "coin"),
        (["--depth", "0"], "depth"),
        (["--empty", "maybe"], "not a number, skip or error"),
    ],
)
def test_bad_options_are_refused_before_anything_is_read(arguments: list[str], words: str) -> None:
    done = calipers("evaluate", "does-not-exist", "neither", *arguments)
    assert done.returncode == 2
    assert re.search(words, done.stderr), done.stderr


def test_unknown_command() -> None:
    done = calipers("evalute")
    assert done.returncode == 2
    assert "did you mean evaluate" in done.stderr


def test_a_closed_pipe_is_no_error(folder: Path) -> None:
    program = f"{sys.executable} -c 'from calipers.cli import main; main()'"
    command = f"{program} evaluate {folder}/qrels.txt {folder}/one.run -q | true"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr


def test_version_and_help_do_not_load_numpy() -> None:
    for argument in ("--version", "--help"):
        lines = (
            f"import sys; sys.argv = ['calipers', '{argument}']",
            "from calipers.cli import main",
            "try: main()",
            "except SystemExit: pass",
            "assert 'numpy' not in sys.modules",
        )
        done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_version_tells_the_scanner() -> None:
    assert "(plain scanner)" in process("--version", CALIPERS_PLAIN="1").stdout


def test_the_plain_scanner_gives_the_same(folder: Path) -> None:
    arguments = ["evaluate", folder / "qrels.txt", folder / "one.run", "-q", "--format", "csv"]
    assert process(*arguments, CALIPERS_PLAIN="1").stdout == calipers(*arguments).stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    done = calipers(command, "--help")
    assert done.returncode == 0, done.stderr
    assert f"calipers {command}" in done.stdout


def test_demo(tmp_path: Path) -> None:
    done = calipers("demo", "-o", tmp_path / "demo")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[0] for line in lines[3:8]] == ["ideal", "strong", "fair", "weak", "random"]
    if all(find_spec(name) for name in ("jinja2", "vl_convert")):
        assert lines[-1] == str(tmp_path / "demo" / "report.html")
        assert Path(lines[-1]).is_file()
    else:
        assert "pip install 'calipers[report]'" in done.stderr


def test_bounds(folder: Path) -> None:
    done = calipers("bounds", folder / "qrels.txt", "-m", "nDCG@10 AP", "--format", "csv")
    assert done.stdout.splitlines()[0] == "query,measure,n,relevant,ideal,expected,sd,worst"
    found = cal.bounds(folder / "qrels.txt", ["nDCG@10", "AP"])
    assert [float(row["expected"]) for row in rows(done.stdout) if row["measure"] == "AP" and row["expected"]] == [
        value for value in found.expected["AP"].tolist() if value == value
    ]


def test_bounds_of_what_a_run_retrieved(folder: Path) -> None:
    done = calipers(
        "bounds", folder / "qrels.txt", folder / "one.run", "-m", "RR", "--population", "retrieved", "--format", "csv"
    )
    assert [row["n"] for row in rows(done.stdout)] == ["3", "2", "1"]
    assert calipers("bounds", folder / "qrels.txt", "--population", "retrieved").returncode == 2


def test_queries_and_their_map(folder: Path) -> None:
    pytest.importorskip("vl_convert")
    done = calipers(
        "queries",
        folder / "qrels.txt",
        folder / "one.run",
        "-m",
        "nDCG@10",
        "--plot",
        folder / "map.svg",
        "--format",
        "csv",
    )
    assert done.returncode == 0, done.stderr
    assert [row["query"] for row in rows(done.stdout)] == ["1", "2", "3"]
    assert "<svg" in (folder / "map.svg").read_text()


def test_more_than_half_degenerate_is_a_failed_check(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 a 1\n3 0 a 1\n3 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 r\n2 Q0 a 1 1 r\n3 Q0 a 1 1 r\n")
    done = calipers("evaluate", tmp_path / "qrels", tmp_path / "run", "-m", "V2(AP)")
    assert done.returncode == 1
    assert "collection(" in done.stderr


def test_names_are_no_commands_to_githubs_runner(folder: Path) -> None:
    """The runner obeys lines of a log that start with `::`, as the name of a run may."""
    name = "::stop-commands::x"
    arguments = ("evaluate", folder / "qrels.txt", f"{name}={folder / 'one.run'}", "-m", "AP", "--format", "csv")
    assert f"\n{name}," in process(*arguments, GITHUB_ACTIONS="").stdout
    assert f"\n\\x3a{name[1:]}," in process(*arguments, GITHUB_ACTIONS="true").stdout
    limits = ("--baseline", f"{folder / 'one.run'}", "-m", "AP", "--max-drop", "0.01", "--annotate")
    annotated = process("check", folder / "qrels.txt", f"{name}={folder / 'one.run'}", *limits, GITHUB_ACTIONS="true")
    assert "\n::notice " in annotated.stdout
