"""What is written: whole or not at all, to where the user pointed, and as text that nobody takes for a command."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from calipers.results.tables import Table, visible
from calipers.support import extras
from calipers.support.atomic_files import TEMPORARY, check_output, replacing, write_whole
from conftest import Require
from time_limit import TIME_LIMIT

pytestmark = pytest.mark.skipif(os.name != "posix", reason="devices, links and signals of Unix")

CALIPERS = [sys.executable, "-c", "from calipers.cli import main; main()"]
MODULE = [sys.executable, "-m", "calipers"]
root = os.geteuid() == 0


def shell(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run lines of bash in a folder, with $calipers for the command."""
    return subprocess.run(
        ["bash", "-c", f'calipers() {{ "{sys.executable}" -m calipers "$@"; }}\n{script}'],
        cwd=folder,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=TIME_LIMIT,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("outputs")
    simulate(topics=6, systems=2, retrieved=20, seed=3).write(place)
    (place / "one.run").write_bytes(next(place.glob("*.run")).read_bytes())
    return place


def leftovers(place: Path) -> list[Path]:
    return [*place.rglob(f"{TEMPORARY}*")]


# -- the writer --------------------------------------------------------------------------------------------


def test_a_link_is_followed_and_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link, second = tmp_path / "real" / "out", tmp_path / "link", tmp_path / "second"
    link.symlink_to("real/out")
    second.symlink_to("link")
    write_whole(second, b"new")  # the last of them leads to nothing yet
    write_whole(second, b"newer")
    assert (link.is_symlink(), second.is_symlink(), target.is_symlink()) == (True, True, False)
    assert target.read_bytes() == b"newer"
    assert leftovers(tmp_path) == []


def test_mode_and_owner_are_kept_and_a_new_file_has_those_of_any_other(tmp_path: Path) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    other.touch()
    write_whole(out, b"1")
    assert stat.S_IMODE(out.stat().st_mode) == stat.S_IMODE(other.stat().st_mode)
    for mode in (0o600, 0o640, 0o666):
        out.chmod(mode)
        write_whole(out, b"2")
        assert stat.S_IMODE(out.stat().st_mode) == mode
    if root:
        os.chown(out, 12345, 23456)
        write_whole(out, b"3")
        assert (out.stat().st_uid, out.stat().st_gid, stat.S_IMODE(out.stat().st_mode)) == (12345, 23456, 0o666)


def test_while_it_is_written_nobody_else_may_read_it_and_the_old_one_is_whole(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    with replacing(str(out)) as temporary:
        Path(temporary).write_bytes(b"ne")
        assert stat.S_IMODE(os.stat(temporary).st_mode) == 0o600
        assert out.read_bytes() == b"old"
    assert out.read_bytes() == b"ne"


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt(), SystemExit(143), OSError(28, "No space")])
def test_what_fails_leaves_the_old_file_and_no_fragment(tmp_path: Path, error: BaseException) -> None:
    out = tmp_path / "out"
    out.write_bytes(b"old")
    with pytest.raises((type(error), CalipersError)), replacing(str(out)) as temporary:  # noqa: PT012  the block is what fails
        Path(temporary).write_bytes(b"half")
        raise error
    assert out.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


def test_a_pipe_stays_a_pipe_and_its_reader_gets_everything(tmp_path: Path) -> None:
    pipe, content = tmp_path / "pipe", os.urandom(300_000)  # more than a pipe holds
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, content)
    reader.join(timeout=TIME_LIMIT)
    assert found == [content]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_stays_a_device(tmp_path: Path) -> None:
    write_whole("/dev/null", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    (tmp_path / "link").symlink_to("/dev/null")
    write_whole(tmp_path / "link", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    with pytest.raises(CalipersError, match="/dev/full: cannot be written: No space left on device"):
        write_whole("/dev/full", b"x")


def test_an_open_file_is_written_after_what_it_has(folder: Path, tmp_path: Path) -> None:
    script = (
        f"echo before > log; calipers evaluate {folder}/qrels.txt {folder}/one.run -o /dev/stdout --format csv >> log"
    )
    done = shell(script, tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[0] == "before"
    assert lines[1].startswith("system,")
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("no/such/folder", "there is no such folder"),
        (".", "is a folder"),
        ("new/", "is a folder"),
        ("a-file/below", "there is no such folder"),
        ("x" * 300, "File name too long"),
        ("loop", "Too many levels of symbolic links"),
        ("/proc/nowhere", "cannot write here"),
    ],
)
def test_places_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, words: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a-file").touch()
    Path("loop").symlink_to("loop")
    with pytest.raises(CalipersError, match=words):
        check_output(place)
    with pytest.raises(CalipersError, match=words):
        write_whole(place, b"x")
    assert sorted(os.listdir()) == ["a-file", "loop"]


# -- every command that writes -----------------------------------------------------------------------------

WRITERS = {
    "evaluate": "evaluate {data}/qrels.txt {data}/one.run -o {out}",
    "bounds": "bounds {data}/qrels.txt -m AP -o {out}",
    "compare": "compare {data}/qrels.txt {data}/s1.run {data}/s2.run -o {out}",
    "properties": "properties --card AP -o {out}",
    "fuse": "fuse {data}/s1.run {data}/s2.run -o {out}",
    "convert": "convert {data}/one.run {out}",
    "plot": "queries {data}/qrels.txt {data}/one.run -m AP --plot {out}.html",
    "report": "report {data}/qrels.txt {data}/one.run -m AP -o {out}",
}
QUICK = ("evaluate", "convert")


@pytest.fixture(scope="module")
def data(folder: Path) -> Path:
    runs = sorted(path for path in folder.glob("*.run") if path.name != "one.run")
    for place, run in enumerate(runs, 1):
        (folder / f"s{place}.run").write_bytes(run.read_bytes())
    return folder


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in WRITERS]
)
def test_every_writer_on_a_full_disk_leaves_the_old_file_and_no_fragment(
    data: Path, tmp_path: Path, require: Require, name: str
) -> None:
    """A limit on the size of files stands for the full disk."""
    if name in ("plot", "report"):
        require.module("vl_convert")
    place = tmp_path / "here"
    place.mkdir()
    written = WRITERS[name].format(data=data, out=place / "out")
    out = next(Path(word) for word in written.split() if word.startswith(str(place)))
    out.write_bytes(b"old")
    out.chmod(0o600)
    full = shell(f"ulimit -f 0; trap '' XFSZ; calipers {written}", tmp_path)
    assert (full.returncode, out.read_bytes()) == (2, b"old"), full.stderr
    assert f"{out}: cannot be written: File too large" in full.stderr
    assert "Traceback" not in full.stderr
    assert [*place.iterdir()] == [out]
    done = shell(f"calipers {written}", tmp_path)
    assert done.returncode == 0, done.stderr
    assert out.read_bytes() != b"old"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert [*place.iterdir()] == [out]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("evaluate none none -o no/such/file", "there is no such folder"),
        ("plan none none -o .", "is a folder"),
        ("queries none none --plot chart.docx", "a chart can be written as .html, .svg, .png or .json"),
        ("queries none none --plot no/such/chart.html", "there is no such folder"),
        ("information difference none none --plot .html", "a chart can be written as"),
        ("report none none -o .", "is a folder"),
        ("fuse none none -o no/such/file", "there is no such folder"),
        ("convert none no/such/file", "there is no such folder"),
        ("compare none none -o file/below/", "cannot be a folder"),
        ("demo -o file", "cannot be a folder"),
    ],
)
def test_a_wrong_path_is_refused_before_any_work(tmp_path: Path, arguments: str, words: str) -> None:
    (tmp_path / "file").touch()
    done = shell(f"calipers {arguments}", tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1, "the input does not exist, and is not asked for"
    assert os.listdir(tmp_path) == ["file"]


# -- ends that nobody asked for ----------------------------------------------------------------------------

COMMANDS = {
    "fast": "evaluate {0}/qrels.txt {0}/one.run",
    "long": "evaluate {0}/qrels.txt {0}/one.run --ties docid --format markdown",
    "trec_eval": "trec_eval {0}/qrels.txt {0}/one.run",
    "card": "properties --card AP",
    "fuse": "fuse {0}/one.run {0}/one.run",
    "help": "evaluate --help",
    "version": "--version",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_standard_output_that_is_full_or_closed(folder: Path, tmp_path: Path, name: str) -> None:
    command = "calipers " + COMMANDS[name].format(folder)
    for stream in (">/dev/full", ">&-"):
        done = shell(f"{command} {stream}", tmp_path)
        assert done.returncode == 2, (stream, done.stderr)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr
        last = done.stderr.splitlines()[-1]
        assert ("No space left" if "full" in stream else "closed" if name not in ("help", "version") else "Bad") in last
    pipe = shell(f"{command} | head -c1 >/dev/null; echo ${{PIPESTATUS[0]}}", tmp_path)
    assert (pipe.stdout, "Traceback" in pipe.stderr) == ("0\n", False), pipe.stderr


def test_streams_that_nobody_needs_may_be_closed_or_full(folder: Path, tmp_path: Path) -> None:
    command = "calipers " + COMMANDS["fast"].format(folder)
    plain = shell(command, tmp_path)
    for stream in ("<&-", "2>&-", "2>/dev/full", "<&- 2>&-"):
        done = shell(f"{command} {stream}", tmp_path)
        assert (done.returncode, done.stdout) == (0, plain.stdout), stream
    done = shell(f"{command} -o out.txt <&- >&- 2>&-; cat out.txt", tmp_path)
    assert done.stdout == plain.stdout


def test_standard_input_that_is_closed(folder: Path, tmp_path: Path) -> None:
    for command in ("evaluate", "trec_eval"):
        done = shell(f"calipers {command} {folder}/qrels.txt - <&-", tmp_path)
        assert done.returncode == 2
        assert "standard input is closed" in done.stderr
        assert done.stderr.count("\n") == 1


WAITING = f"""\
import signal, sys, time

for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)  # whatever started the tests may ignore them

from pathlib import Path
from calipers.support import atomic_files as output
from calipers import cli
import calipers.cli.commands

def run(arguments, **options):
    with output.replacing("out") as temporary:
        Path(temporary).write_text("half")
        print("ready", flush=True)
        time.sleep({TIME_LIMIT})

calipers.cli.commands.run = run
cli.main()
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_request_to_end_leaves_no_temporary_file(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "out").write_text("old")
    process = subprocess.Popen(
        [sys.executable, "-c", WAITING], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    assert len(leftovers(tmp_path)) == 1
    process.send_signal(number)
    _, said = process.communicate(timeout=TIME_LIMIT)
    assert process.returncode == 128 + number
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == ["out"]
    assert (tmp_path / "out").read_text() == "old"


def test_a_spooled_pipe_leaves_no_copy_when_the_command_is_ended(folder: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*MODULE, "evaluate", str(folder / "qrels.txt"), "-"],
        stdin=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert process.stdin is not None
    process.stdin.write((folder / "one.run").read_bytes())
    process.stdin.flush()
    for _ in range(10 * TIME_LIMIT):
        if os.listdir(tmp_path):
            break
        time.sleep(0.1)
    assert os.listdir(tmp_path)
    process.terminate()
    assert process.wait(timeout=TIME_LIMIT) == 128 + signal.SIGTERM
    process.stdin.close()
    assert os.listdir(tmp_path) == []


BROKEN = """\
import sys
from calipers import cli
from calipers.cli import commands

def broken(*arguments, **named):
    raise ZeroDivisionError("deep\\x1binside")

commands.run = broken
sys.argv = ["calipers", "evaluate", "a file", "b"]
cli.main()
"""


def test_a_bug_of_ours_says_so_and_leaves_a_file_to_send(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert re.fullmatch(
        r"calipers: this is a bug in Calipers \S+ \(ZeroDivisionError: deep\\x1binside\); please report it with "
        r"the file \S+, and with the input if you can\n",
        done.stderr,
    )
    (file,) = tmp_path.glob("calipers-bug-*.txt")
    assert str(file) in done.stderr
    text = file.read_text()
    for words in (f"Calipers {cal.__version__}", "calipers evaluate 'a file' b", "Traceback", "in broken"):
        assert words in text
    environment["TMPDIR"] = "/proc"  # where nothing can be written, Python takes another folder, or none
    again = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, env=environment, check=False)
    assert again.returncode == 3
    assert "Traceback" not in again.stderr


# -- text that others interpret ----------------------------------------------------------------------------

ODD = (
    "\x1b[31mred\x1b]0;title\x07",
    "a\nb",
    "tab\there",
    "\x9b31m",
    "\u202eover",
    "**bold**",
    "_it_",
    "a_b_c",
    "`code`",
    "a|b",
    "a\\|b",
    "\\",
    "\\*",
    "[x](http://e.org)",
    "![i](x)",
    "<b>",
    "<!-- c",
    "&lt;",
    "~~no~~",
    "$x$",
    "*star",
    "[opt]",
    "[1]",
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "# head",
    "plain",
    "--long",
    "x*y*z",
    "http://a_b.org/c_d",
    "__init__",
    "_a",
    "b_",
)


def table() -> Table:
    return Table(("system", "AP"), tuple((name, 0.5) for name in ODD))


def test_a_terminal_is_given_no_command() -> None:
    shown = table().to_text()
    assert len(shown.splitlines()) == len(ODD) + 2
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]", shown)
    assert r"\x1b[31mred\x1b]0;title\x07" in shown
    assert visible("\udc9b31m\udcff", keep="") == r"\x9b31m" + "\udcff"
    assert visible("שלום 日本 é\n", keep="\n") == "שלום 日本 é\n"


@pytest.mark.parametrize("form", ["table", "csv", "json", "markdown", "latex"])
def test_nor_by_a_command_on_a_terminal(tmp_path: Path, form: str, require: Require) -> None:
    (tmp_path / "q").write_bytes(b"1 0 a 1\n1 0 b 0\n")
    (tmp_path / "r").write_bytes(b"1 Q0 a 1 2 \x1b[31m\x9b31m\n1 Q0 b 2 1 \x1b[31m\x9b31m\n")
    script = require.tool("script")
    for command in (f"evaluate q - --format {form} < r", "trec_eval q r", "evaluate q nothing\x1b[31m"):
        typed = f"{sys.executable} -m calipers {command}".replace("\x1b[31m", "$'\\x1b[31m'")
        done = subprocess.run(
            [script, "-qec", f'bash -c "{typed}"', "/dev/null"],
            cwd=tmp_path,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert b"\x1b" not in done.stdout, done.stdout
        assert b"\x9b" not in done.stdout
        assert re.search(rb"(\\x|\\u00|backslash{}x)1b\\?\[31m", done.stdout), done.stdout


def test_messages_are_one_line_whatever_files_are_called(folder: Path, tmp_path: Path) -> None:
    name = "no\n\x1b[2Jsuch"
    done = subprocess.run([*MODULE, "evaluate", name, name], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert r"no\n\x1b[2Jsuch" in done.stderr
    assert "\x1b" not in done.stderr


def test_markdown_shows_every_name_as_it_is() -> None:
    """Read back by a parser of Markdown, with HTML allowed, as GitHub has it."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    tokens = parser.parse(table().to_markdown())
    cells = [tokens[i + 1] for i, token in enumerate(tokens) if token.type == "td_open"][::2]
    for name, cell in zip(ODD, cells, strict=True):
        kinds = {child.type for child in cell.children or []}
        assert kinds <= {"text", "text_special"}, (name, cell.content)
        expected = visible(" ".join(name.splitlines()))
        assert "".join(child.content for child in cell.children or []) == expected


def test_latex_begins_no_row_with_what_a_line_break_takes() -> None:
    lines = table().to_latex().splitlines()
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert len(body) == len(ODD)
    assert not [line for line in body if line.startswith(("*", "["))]
    assert r"{}*star & 0.5000 \\" in body
    assert r"{}[opt] & 0.5000 \\" in body
    assert r"-{}-long & 0.5000 \\" in body
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", "\n".join(body))


def test_safe_csv_holds_no_formula_and_changes_nothing_else(tmp_path: Path) -> None:
    names = ["=1+1", "+1", "-1", "@SUM(A1)", "plain", "a=b"]
    (tmp_path / "q.json").write_text(json.dumps({name: {"a": 1, "b": 0} for name in names}))
    (tmp_path / "r.json").write_text(json.dumps({name: {"a": 1, "b": 2} for name in names}))
    command = "calipers evaluate q.json r.json -m P@1 -q --format csv"
    for option, marked in (("", ""), ("--safe-csv", "'")):
        done = shell(f"{command} {option}", tmp_path)
        assert done.returncode == 0, done.stderr
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        assert [row["query"] for row in rows] == [f"{marked}{name}" for name in names[:4]] + names[4:]
        assert {row["P@1"] for row in rows} == {"0.0"}
    negative = Table(("a",), ((-0.5,), ("-x",))).without_formulas().to_csv()
    assert negative == "a\n-0.5\n'-x\n"


# -- the network -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "wanted"), [("1", True), ("true", True), ("0", False), ("", False), ("no", False)])
def test_offline_is_what_the_variable_says(monkeypatch: pytest.MonkeyPatch, value: str, wanted: bool) -> None:
    monkeypatch.setenv("CALIPERS_OFFLINE", value)
    assert extras.offline() == wanted


def test_offline_ir_datasets_is_not_called(require: Require, monkeypatch: pytest.MonkeyPatch) -> None:
    ir_datasets: Any = require.module("ir_datasets")
    monkeypatch.setattr(ir_datasets, "load", lambda name: pytest.fail("called"))
    monkeypatch.setenv("CALIPERS_OFFLINE", "1")
    with pytest.raises(CalipersError, match="irds:x: a dataset of ir_datasets needs a network connection, and CALIPER"):
        cal.read_judgments("irds:x")


@pytest.mark.parametrize(("value", "wanted"), [("1", "1"), ("", "0")])
def test_offline_the_hub_is_switched_off(monkeypatch: pytest.MonkeyPatch, value: str, wanted: str) -> None:
    monkeypatch.setenv("CALIPERS_OFFLINE", value)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    extras.set_offline_switches()
    assert os.environ["HF_HUB_OFFLINE"] == wanted


def test_offline_spark_reaches_no_cluster_and_no_address(monkeypatch: pytest.MonkeyPatch, require: Require) -> None:
    require.module("pyspark")
    from calipers.spark.files import read_judgments, read_runs
    from calipers.spark.session import session

    monkeypatch.setenv("CALIPERS_OFFLINE", "1")
    doors: list[Callable[[], Any]] = [
        lambda: session("spark://host:7077"),
        lambda: session("yarn"),
        lambda: read_judgments(None, "hdfs://host/qrels"),
        lambda: read_runs(None, ["s3a://bucket/run"], format="parquet"),
    ]
    for door in doors:
        with pytest.raises(CalipersError, match="needs a network connection, and CALIPERS_OFFLINE is set"):
            door()
