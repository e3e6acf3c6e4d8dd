"""Names of systems and measures, formats by ending, charts, and what commands conclude: in one process."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

import calipers as cal
from calipers.cli import commands
from calipers.collection.run_names import distinct_names

QRELS = "1 0 a 2\n1 0 b 0\n1 0 c 1\n2 0 a 1\n2 0 d 0\n3 0 x 0\n"
RUN = "1 Q0 b 1 3.0 one\n1 Q0 a 2 2.0 one\n1 Q0 u 3 1.0 one\n2 Q0 d 1 2.5 one\n2 Q0 a 2 2.5 one\n3 Q0 x 1 1 one\n"


class Done(NamedTuple):
    """What a command did."""

    returncode: int
    stdout: str
    stderr: str


Said = Callable[..., Done]


@pytest.fixture
def said(capfdbinary: pytest.CaptureFixture[bytes]) -> Said:
    """Run a command."""

    def said(*arguments: str) -> Done:
        capfdbinary.readouterr()
        code = commands.run(list(arguments))
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Done(code, out.decode(), err.decode())

    return said


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "one.run").write_text(RUN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_name_depends_on_the_runs_before_it_alone() -> None:
    """So that a run at the end renames no other, and one in front only runs with its tag, as decision 0008 has it."""
    draw = random.Random(1)
    for _ in range(500):
        runs = [Named(draw.choice("abc"), f"{draw.choice('xy')}/{draw.choice('abcd')}.run") for _ in range(5)]
        if len({run.path for run in runs}) < len(runs):
            continue
        names = [name for name, _ in distinct_names(runs)]
        assert len(set(names)) == len(names)
        for end in range(1, 6):
            assert [name for name, _ in distinct_names(runs[:end])] == names[:end]
        later = [Named(f"tag{i}", f"z/{i}.run") for i in range(4)]
        new = Named(draw.choice("abc"), "new.run")
        assert [name for name, _ in distinct_names([new, *later])][1:] == ["tag0", "tag1", "tag2", "tag3"]


class Named(NamedTuple):
    """A run, as far as its name goes."""

    name: str
    path: str


def test_a_run_in_front_takes_the_tag_and_a_warning_says_so(folder: Path, said: Said) -> None:
    (folder / "a.run").write_text(RUN)
    for commanded in ("evaluate", "ranges", "metaeval"):
        done = said(commanded, "qrels.txt", "a.run", "one.run", "-m", "AP RR", "--format", "csv")
        assert "warning: one.run: named by its file, as another run has the same tag. name=path gives" in done.stderr
    kept = rows(said("evaluate", "qrels.txt", "a.run", "one=one.run", "-m", "AP", "--format", "csv").stdout)
    assert [row["system"] for row in kept] == ["a", "one"]  # a name that was given stays, wherever it stands
    assert cal.evaluate("qrels.txt", ["a.run", "one=one.run"], "AP").systems == ("a", "one")
    named = cal.evaluate("qrels.txt", [cal.read_run("a.run"), {"one": {"1": {"a": 1.0}}}], "AP")
    assert named.systems == ("a", "one")


def test_no_run_changes_the_name_of_another(folder: Path, said: Said) -> None:
    """The tag, or what was given; the stem or the path of a file whose tag an earlier one has."""
    (folder / "copy.run").write_text(RUN)
    (folder / "input.one").write_text(RUN)
    (folder / "other").mkdir()
    (folder / "other/copy.txt").write_text(RUN)

    def names(*systems: str) -> list[str]:
        done = said("evaluate", "qrels.txt", *systems, "--format", "csv")
        assert done.returncode == 0, done.stderr
        assert ("named by its file" in done.stderr) == (len(systems) > 1 and "=" not in systems[1])
        return [row["system"] for row in rows(done.stdout)]

    assert names("one.run") == ["one"]
    assert names("one.run", "copy.run") == ["one", "copy"]
    assert names("copy.run", "one.run") == ["one", "one.run"]
    assert names("input.one", "new=one.run") == ["one", "new"]
    assert names("one.run", "copy.run", "other/copy.txt") == ["one", "copy", "other/copy.txt"]
    for wrong, message in (("two=*.run", "one name ('two') for"), ("new=nothing", "no such file")):
        done = said("evaluate", "qrels.txt", wrong)
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("command", ["compare", "evaluate"])
def test_a_baseline_is_a_name_tag_stem_or_path_and_is_checked_first(folder: Path, said: Said, command: str) -> None:
    (folder / "next.run").write_text(RUN.replace(" one", " tagged"))
    systems = ("new=one.run", "next.run", "--format", "csv")
    for baseline in ("next", "next.run", "./next.run", "tagged"):
        done = said(command, "qrels.txt", *systems, "-m", "AP", "--baseline", baseline)
        assert done.returncode == 0, done.stderr
    for baseline in ("new", "one.run", "one"):
        done = said(command, "qrels.txt", *systems, "-m", "AP", "--baseline", baseline)
        assert done.returncode == 0, done.stderr
    done = said(command, "nothing.txt", *systems, "--baseline", "nxt")
    assert (done.returncode, done.stderr) == (2, "calipers: unknown baseline 'nxt'; there are new, tagged\n")


@pytest.mark.parametrize("command", ["compare", "evaluate", "report"])
def test_a_baseline_that_fits_several_runs_is_refused(folder: Path, said: Said, command: str) -> None:
    """So that a run that is added, in front or at the end, never changes which system is the baseline."""
    for name in ("old.run", "new.run"):
        (folder / name).write_text(RUN.replace(" one", " tagged"))
    (folder / "tagged.run").write_text(RUN.replace(" one", " other"))
    output = ["--sections", "systems", "-o", "page.html"] if command == "report" else []

    def refused(*files: str) -> tuple[int, str]:
        several = " or ".join(files)
        advice = f"type the path, as ./{files[0]}, or give the run a name, as name={files[0]}"
        return 2, f"calipers: the baseline 'tagged' could be {several}: {advice}\n"

    def with_baseline(baseline: str, *systems: str, judgments: str = "qrels.txt") -> tuple[int, str]:
        done = said(command, judgments, *systems, "-m", "AP", "--baseline", baseline, *output)
        return done.returncode, done.stderr

    early = {"judgments": "nothing.txt"}  # it is found out before anything is read
    assert with_baseline("tagged", "old.run", "one.run")[0] == 0
    assert with_baseline("tagged", "new.run", "old.run", "one.run", **early) == refused("new.run", "old.run")
    assert with_baseline("tagged", "old.run", "one.run", "new.run", **early) == refused("old.run", "new.run")
    assert with_baseline("tagged", "old.run", "tagged.run", **early) == refused("old.run", "tagged.run")  # tag and stem
    for baseline in ("./old.run", "old.run", "new.run"):
        assert with_baseline(baseline, "new.run", "old.run", "one.run")[0] == 0
    assert (
        with_baseline("tagged", "new.run", "tagged=old.run", "one.run")[0] == 0
    )  # a name that was given is what it is


def test_a_baseline_of_the_library_that_fits_several_runs_is_refused(folder: Path) -> None:
    for name in ("old.run", "new.run"):
        (folder / name).write_text(RUN.replace(" one", " tagged"))
    (folder / "front.run").write_text(RUN.replace(" one", " old"))

    def compared(baseline: str, *runs: str) -> str | list[str] | None:
        scores = cal.evaluate("qrels.txt", runs, "AP", warn=False)
        found: str | list[str] | None = cal.compare(scores, baseline=baseline, warn=False).metadata["baseline"]
        page = cal.Experiment("qrels.txt", runs, "AP", warn=False)
        page.report("page.html", baseline=baseline, sections=["systems"], warn=False)
        return found

    assert compared("tagged", "old.run", "one.run") == "tagged"
    assert compared("tagged", "new.run", "tagged=old.run") == "tagged"
    assert compared("old", "new.run", "old.run") == "old"  # by its file
    for baseline, runs in (("tagged", ["new.run", "old.run"]), ("old", ["front.run", "new.run", "old.run"])):
        with pytest.raises(cal.CalipersError, match=f"the baseline '{baseline}' could be .*: give the run a name, as"):
            cal.compare(cal.evaluate("qrels.txt", runs, "AP", warn=False), baseline=baseline)
        with pytest.raises(cal.CalipersError, match=f"the baseline '{baseline}' could be"):
            cal.Experiment("qrels.txt", runs, "AP", warn=False).report("page.html", baseline=baseline)


def test_several_baselines_and_a_closing_sentence(folder: Path, said: Said) -> None:
    for name, shift in (("a", 1), ("b", 2), ("c", 3)):
        lines = (line.split() for line in RUN.splitlines())
        (folder / f"{name}.run").write_text(
            "".join(f"{q} {z} {d} {r} {(float(s) * shift) % 7} {name}\n" for q, z, d, r, s, _ in lines)
        )
    asked = ("compare", "qrels.txt", "a.run", "b.run", "c.run", "-m", "AP nDCG@10", "--format", "csv")
    done = said(*asked, "--baseline", "a", "--baseline", "b")
    pairs = [(row["system_a"], row["system_b"]) for row in rows(done.stdout) if row["measure"] == "AP"]
    assert pairs == [("b", "a"), ("c", "a"), ("c", "b")]
    assert re.search(r"calipers: AP: none of 3 pairs differs significantly; \w .*, p = \d\.\d{3}, Holm\n", done.stderr)
    assert said(*asked, "--baseline", "a", "--baseline", "b", "--test", "dunnett").returncode == 2


def test_the_ending_says_the_format_and_foreign_ones_are_refused(folder: Path, said: Said) -> None:
    begins = {"t.csv": "system,", "t.json": "[", "t.md": "| ", "t.tex": "% ", "t.html": "<!doc", "t.txt": "system  "}
    for file, begin in begins.items():
        assert said("evaluate", "qrels.txt", "one.run", "-o", file).returncode == 0
        assert (folder / file).read_text().startswith(begin)
    assert said("evaluate", "qrels.txt", "one.run", "-o", "x.xlsx", "--format", "csv").returncode == 0
    assert (folder / "x.xlsx").read_text().startswith("system,")
    for arguments in (
        ("evaluate", "qrels.txt", "one.run", "-o", "y.xlsx"),
        ("bounds", "qrels.txt", "-o", "y.parquet"),
        ("convert", "one.run", "y.xlsx"),
        ("convert", "one.run", "y.html.gz"),
    ):
        done = said(*arguments)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1)
        assert "cannot be written as ." in done.stderr
        assert not [*folder.glob("y.*")]
    assert said("convert", "one.run", "other.bm25").returncode == 0  # no format's ending: TREC's


def test_measures_without_quotes_are_noticed(folder: Path, said: Said) -> None:
    done = said("evaluate", "qrels.txt", "one.run", "-m", "nDCG@10", "AP")
    assert done.returncode == 2
    assert "'AP' is the name of a measure. Quote several measures: -m \"nDCG@10 AP\"" in done.stderr


@pytest.mark.parametrize("command", ["evaluate", "compare", "bounds", "audit"])
def test_charts_of_the_first_commands(folder: Path, said: Said, command: str) -> None:
    (folder / "two.run").write_text(RUN.replace(" one", " two"))
    done = said(command, "qrels.txt", "one.run", "two.run", "-m", "AP nDCG@10", "--plot", "c.json")
    assert done.returncode == 0, done.stderr
    charts = 4 if command == "audit" else 2  # one chart per measure; audit shows ranks and scores
    assert len(json.loads((folder / "c.json").read_text())["vconcat"]) == charts
    assert said(command, "qrels.txt", "one.run", "two.run", "--plot", "c.doc").returncode == 2


def test_metaeval_begins_with_the_answer(folder: Path, said: Said) -> None:
    for name, shift in (("a", 1), ("b", 2), ("c", 3)):
        lines = (line.split() for line in RUN.splitlines())
        (folder / f"{name}.run").write_text(
            "".join(f"{q} {z} {d} {r} {(float(s) * shift) % 7} {name}\n" for q, z, d, r, s, _ in lines)
        )
    done = said("metaeval", "qrels.txt", "a.run", "b.run", "c.run", "-m", "AP RR@10 nDCG@{1,2}")
    first, second, blank, title = done.stdout.splitlines()[:4]
    assert first.startswith("no measure tells any two systems apart: 0.0% of the pairs differ significantly")
    assert re.match(r"(\S+ orders|.* order) the systems most stably.*: -?\d\.\d{3} is the mean tau", second)
    assert (blank, title) == ("", "mean scores of the systems")
    lenient = said("metaeval", "qrels.txt", "a.run", "b.run", "c.run", "-m", "AP RR@10", "--alpha", "0.9").stdout
    assert re.match(r"(\S+ tells|.* tell) most systems apart.*: \d+\.\d% of the pairs differ significantly", lenient)
    assert "\nRR@10 " in done.stdout  # by its full name
    assert "calipers: nDCG: nDCG@1, nDCG@2 together" in done.stderr
    kept = said("metaeval", "qrels.txt", "a.run", "b.run", "-m", "AP RR@10", "--table", "power", "--format", "csv")
    assert [row["measure"] for row in rows(kept.stdout)] == ["AP", "RR@10"]
    assert "most stably" in kept.stderr


def test_small_p_values_and_stars_are_for_people(folder: Path, said: Said) -> None:
    scores = [[0.9, 0.81, 0.72, 0.91, 0.8, 0.75], [0.1, 0.01, -0.08, 0.11, 0.0, -0.05001]]
    lines = ["new,old", *(f"{x},{y}" for x, y in zip(*scores, strict=True))]
    (folder / "matrix.csv").write_text("\n".join(lines) + "\n")
    done = said("compare", "matrix.csv", "-m", "AP")
    assert re.search(r"0\.8000\* .* <0\.0001 +<0\.0001 ", done.stdout)
    assert "*: significant, adjusted p < 0.05." in done.stdout
    assert done.stderr.endswith("calipers: new beats old by 0.800 [0.800, 0.800], p < 0.0001, Holm\n")
    exact = rows(said("compare", "matrix.csv", "-m", "AP", "--format", "csv").stdout)[0]
    assert 0 < float(exact["p"]) < 0.0001
    assert float(exact["difference"]) == pytest.approx(0.8, abs=1e-5)


def test_means_against_a_baseline(folder: Path, said: Said) -> None:
    queries = range(12)
    (folder / "many.txt").write_text("".join(f"{q} 0 a 1\n{q} 0 b 0\n" for q in queries))
    for name, first in (("good", "a"), ("bad", "b"), ("same", "b")):
        (folder / f"{name}.run").write_text(
            "".join(f"{q} Q0 {d} 1 {2 if (d == first) != (q == 0) else 1} {name}\n" for q in queries for d in "ab")
        )
    asked = ("evaluate", "many.txt", "good.run", "bad.run", "same.run", "-m", "RR", "--baseline", "bad")
    done = said(*asked, "--test", "wilcoxon")
    good, bad, same = done.stdout.splitlines()[2:5]
    assert ("*" in good, "*" in bad, "*" in same) == (True, False, False)
    assert done.stdout.endswith("*: differs significantly from bad (Wilcoxon's test, holm, p < 0.05).\n")
    found = {row["system"]: row["RR p"] for row in rows(said(*asked, "--format", "csv").stdout)}
    assert (found["bad"], float(found["good"]) < 0.05) == ("", True)
    assert "†" in said(*asked, "--format", "markdown").stdout
    for wrong in (("--per-query",), ("--interval", "0.95")):
        assert said(*asked, *wrong).returncode == 2
    assert "--test needs --baseline" in said("evaluate", "qrels.txt", "one.run", "--test", "t").stderr


def test_every_screen_says_what_a_random_ranking_shuffles(folder: Path, said: Said) -> None:
    (folder / "two.run").write_text(RUN.replace(" one", " two"))
    pool = "a random ranking shuffles the judged documents of the query\n"
    for arguments in (
        ("evaluate", "-m", "V2(AP)"),
        ("compare", "-m", "V2(AP)"),
        ("bounds", "-m", "AP"),
        ("queries", "-m", "AP"),
        ("metaeval", "-m", "AP V2(AP)", "--table", "power"),
    ):
        done = said(arguments[0], "qrels.txt", "one.run", "two.run", *arguments[1:])
        assert pool in done.stderr, arguments
    several = said("evaluate", "qrels.txt", "one.run", "-m", "V2(AP) V2(AP, population=union) W(RR)").stderr
    assert "shuffles the judged documents of the query (V2(AP), W(RR))" in several
    assert "the unjudged ones that the run ranks above judged ones (V2(AP, population=union))" in several
    (folder / "poor.run").write_text("1 Q0 b 1 1 poor\n2 Q0 d 1 1 poor\n")
    assert "because they lack relevant documents" in said("evaluate", "qrels.txt", "poor.run", "-m", "W(AP)").stderr


POSITIVES = "".join(f"{query} 0 d{document} 1\n" for query in range(4) for document in range(2))


@pytest.mark.parametrize(
    "command",
    [
        ("evaluate", "-m", "V2(nDCG@10)"),
        ("queries", "-m", "nDCG@10"),
        ("bounds", "-m", "nDCG@10"),
        ("metaeval", "-m", "nDCG@10", "--sets", "all,easy"),
        ("metaeval", "-m", "V2(nDCG@10)"),
        ("report", "-m", "V2(nDCG@10)", "-o", "report.html"),
    ],
)
def test_judgments_of_relevant_documents_only_have_no_expected_scores(
    command: tuple[str, ...], folder: Path, said: Said
) -> None:
    (folder / "positives.txt").write_text(POSITIVES)
    lines = POSITIVES.replace(" 0 d", " Q0 d").replace(" 1\n", " 1 1 run\n")
    (folder / "a.run").write_text(lines)
    (folder / "b.run").write_text(lines.replace(" run", " other"))
    done = said(command[0], "positives.txt", "a.run", "b.run", *command[1:])
    assert done.returncode == 1, done.stderr
    assert "collection(N)" in done.stderr
    assert "or retrieved" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("bounds", "-m", "RIC", "--population", "retrieved"), 0),
        (("bounds", "-m", "AP", "--population", "pools"), 2),
        (("bounds", "-m", "AP", "--population", "collection(x)"), 2),
        (("queries", "-m", "AP", "--population", ""), 2),
        (("report", "-m", "AP", "--population", "all", "-o", "report.html"), 2),
        *(
            (("metaeval", "-m", "AP RR", "--unmatched", "warn", "--sets", name), 0)
            for name in ("hard", "easy,hard", "ideal", "broad", "left")
        ),
        (("metaeval", "-m", "AP RR", "--sets", "tough"), 2),
        (("metaeval", "-m", "AP RR", "--sets", ""), 2),
        (("metaeval", "-m", "AP RR", "--sets", "ideal", "--population", "reviewed"), 2),
    ],
)
def test_populations_and_sets_are_known_names(arguments: tuple[str, ...], code: int, folder: Path, said: Said) -> None:
    (folder / "none.run").write_text("1 Q0 u 1 1 none\n")
    done = said(arguments[0], "qrels.txt", "one.run", "none.run", *arguments[1:])
    assert done.returncode == code, done.stderr
    assert "Warning" not in done.stderr


def test_measures_are_listed_and_shown(folder: Path, said: Said) -> None:
    # In a process of its own: other tests may have declared measures in this one.
    command = [sys.executable, "-m", "calipers", "measures", "--format", "csv"]
    listed = rows(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert {"nDCG", "AP", "RBP", "alpha-nDCG", "V2"} <= {row["measure"] for row in listed}
    assert all(row["description"] for row in listed)
    shown = said("measures", "nDCG", "V2(AP)").stdout
    assert shown.startswith("# nDCG\n")
    assert "\n# V2(AP)\n" in shown
    assert said("measures", "hit rate").returncode == 2
    assert cal.parse("nDCG").declaration.sentence in shown
    plain = said("properties", "-m", "nDCG AP", "--format", "csv").stdout
    assert plain == said("properties", "nDCG", "AP", "--format", "csv").stdout


def test_evaluate_marks_against_every_baseline(folder: Path, said: Said) -> None:
    """The last baseline alone would be tested if the option took one value."""
    (folder / "next.run").write_text(RUN.replace(" one", " tagged"))
    systems = ("new=one.run", "next.run")
    done = said(
        "evaluate", "qrels.txt", *systems, "-m", "AP", "--baseline", "new", "--baseline", "next", "--format", "csv"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "system,AP,AP p new,AP p tagged"
