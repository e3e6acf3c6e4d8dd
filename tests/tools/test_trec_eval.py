"""`calipers trec_eval` against trec_eval's own tests, its options, and NIST's published figures."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.cli.options import Profile
from calipers.conventions import CONVENTIONS
from calipers.errors import CalipersError

Run = Callable[..., Result]

QRELS = """\
q1 0 a 1
q1 0 b 0
q1 0 c 2
q2 0 a 1
q2 0 d -1
q10 0 x 1
"""
RUN = """\
q1 Q0 b 1 3.0 tag
q1 Q0 a 2 2.0 tag
q1 Q0 u 3 1.0 tag
q2 Q0 d 1 2.0 tag
q2 Q0 a 2 1.0 tag
q10 Q0 x 1 1.0 tag
"""


@pytest.fixture
def trec_eval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Call the command on small files of its own: `qrels` and `run`."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels").write_text(QRELS)
    (tmp_path / "run").write_text(RUN)

    def call(*arguments: str, stdin: str | None = None) -> Result:
        return CliRunner().invoke(root, ["trec_eval", *arguments], input=stdin)

    return call


def values(text: str) -> dict[tuple[str, str], str]:
    """The values by (measure, query)."""
    return {(name.strip(), query): value for name, query, value in (line.split("\t") for line in text.splitlines())}


# --- trec_eval's own tests --------------------------------------------------------------------------------

# The list of `make quicktest`, as trec_eval's Makefile has it, and its files with comments.
QUICKTEST = """\
qrels.test results.test | out.test
-m all_trec qrels.test results.test | out.test.a
-m all_trec -q qrels.test results.test | out.test.aq
-m all_trec -q -c qrels.test results.trunc | out.test.aqc
-m all_trec -q -c -M100 qrels.test results.trunc | out.test.aqcM
-m all_trec -mrelstring.20 -q -l2 qrels.rel_level results.test | out.test.aql
-q -miprec_at_recall..10,.20,.25,.75,.50 -m P.5,7,3 -m recall.20,2000 -m Rprec_mult.5.0,0.2,0.35 -mutility.2,-1,0,0 \
-m 11pt_avg..25,.5,.75 -mndcg.1=3,2=9,4=4.5 -mndcg_cut.10,20,23.4 -msuccess.2,5,20 qrels.test results.test \
| out.test.meas_params
-q -m all_trec -Z zscores_file qrels.test results.test | out.test.aqZ
qrels.comment.test results.comment.test.xz | out.comment.test
qrels.test.with-comments results.test | out.test
"""


def without_rbp(text: str) -> str:
    """Theirs reads memory that was never set, and shows it where grades are above 1."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("rbp"))


@pytest.mark.data
@pytest.mark.parametrize("line", QUICKTEST.splitlines())
def test_quicktest(line: str, data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(data / "trec/trec_eval-test")
    arguments, _, expected = line.rpartition("|")
    result = CliRunner().invoke(root, ["trec_eval", *arguments.split()])
    assert result.exit_code == 0, result.stderr
    texts = [result.stdout_bytes.decode(), Path(expected.strip()).read_bytes().decode()]
    one, other = [without_rbp(text) if "-l2" in line else text for text in texts]
    assert one == other


@pytest.mark.data
def test_several_runs_are_printed_one_after_the_other(data: Path) -> None:
    folder = data / "trec/trec_eval-test"
    files = [str(folder / "qrels.test"), *[str(folder / "results.test")] * 3]
    result = CliRunner().invoke(root, ["trec_eval", *files])
    assert result.stdout == 3 * (folder / "out.test").read_text()


# --- options ----------------------------------------------------------------------------------------------


def test_the_order_of_queries_is_that_of_their_bytes(trec_eval: Run) -> None:
    lines = trec_eval("-q", "-m", "map", "qrels", "run").stdout.splitlines()
    assert [line.split("\t")[1] for line in lines] == ["q1", "q10", "q2", "all"]


@pytest.mark.parametrize(
    "options", [["-q", "-M", "2"], ["-qM2"], ["-q", "-M2"], ["--query_eval_wanted", "--Max_retrieved_per_topic=2"]]
)
def test_options_in_every_style(options: list[str], trec_eval: Run) -> None:
    got = values(trec_eval(*options, "-m", "num_ret", "qrels", "run").stdout)
    assert got["num_ret", "q1"] == "2"
    assert got["num_ret", "all"] == "5"


def test_options_may_follow_the_files(trec_eval: Run) -> None:
    assert trec_eval("qrels", "run", "-m", "map").stdout == trec_eval("-m", "map", "qrels", "run").stdout


def test_no_summary(trec_eval: Run) -> None:
    assert {query for _, query in values(trec_eval("-n", "-q", "qrels", "run").stdout)} == {"q1", "q2", "q10"}
    assert trec_eval("-n", "qrels", "run").stdout == ""


def test_relevance_level_leaves_ndcg_alone(trec_eval: Run) -> None:
    one, two = (values(trec_eval("-l", level, "-q", "-m", "all_trec", "qrels", "run").stdout) for level in "12")
    assert one["num_rel", "q1"] == "2"
    assert two["num_rel", "q1"] == "1"
    assert two["map", "q1"] == "0.0000"
    assert all(two[key] == value for key, value in one.items() if key[0].startswith("ndcg"))


def test_judged_documents_only(trec_eval: Run) -> None:
    """A grade below 0 is unjudged too."""
    got = values(trec_eval("-J", "-q", "-m", "num_ret", "-m", "recip_rank", "qrels", "run").stdout)
    assert got["num_ret", "q1"] == "2"
    assert got["num_ret", "q2"] == "1"
    assert got["recip_rank", "q2"] == "1.0000"


def test_documents_in_the_collection(trec_eval: Run) -> None:
    got = values(trec_eval("-N", "100", "-q", "-m", "utility.0,0,0,1", "qrels", "run").stdout)
    assert got["utility_0,0,0,1", "q1"] == f"{100 - 3 - 2 + 1:.4f}"


def test_relstring(trec_eval: Run) -> None:
    got = values(trec_eval("-q", "-m", "relstring.2", "qrels", "run").stdout)
    assert got == {("relstring_2", "q1"): "'01'", ("relstring_2", "q2"): "'.1'", ("relstring_2", "q10"): "'1'"}


def test_missing_queries(trec_eval: Run, tmp_path: Path) -> None:
    """10.0 stops; with -c they count 0; 9.x leaves them out, and out of the lines by query even with -c."""
    (tmp_path / "run").write_text(RUN.replace("q10 Q0 x 1 1.0 tag\n", ""))
    options = ["-q", "-m", "map", "-m", "gm_map", "-m", "num_rel", "-m", "num_q"]
    stopped = trec_eval(*options, "qrels", "run")
    assert stopped.exit_code == 2
    assert "lacks 1 of 3 judged queries" in stopped.stderr
    assert "'q10'" in stopped.stderr
    complete = values(trec_eval("-c", *options, "qrels", "run").stdout)
    assert complete["map", "q10"] == "0.0000"
    assert complete["map", "all"] == f"{(1 / 4 + 1 / 2 + 0) / 3:.4f}"
    assert complete["gm_map", "all"] == f"{exp((log(1 / 4) + log(1 / 2) + log(1e-5)) / 3):.4f}"
    assert (complete["num_rel", "all"], complete["num_q", "all"]) == ("4", "3")
    left_out = values(trec_eval("--v9", *options, "qrels", "run").stdout)
    assert left_out["map", "all"] == f"{(1 / 4 + 1 / 2) / 2:.4f}"
    assert (left_out["num_rel", "all"], left_out["num_q", "all"]) == ("3", "2")
    both = values(trec_eval("--v9", "-c", *options, "qrels", "run").stdout)
    assert ("map", "q10") not in both
    assert {key: value for key, value in both.items() if key[1] == "all"} == {
        key: value for key, value in complete.items() if key[1] == "all"
    }


@pytest.mark.parametrize("version", [[], ["--v9"]])
def test_all_queries_count_beside_a_level_or_a_query_for_debugging(version: list[str], trec_eval: Run) -> None:
    """With -c the number of relevant documents is of all grades above 0 whatever the level, and -D leaves the other
    queries at 0.
    """
    plain = values(trec_eval(*version, "-l2", "-m", "num_rel", "qrels", "run").stdout)
    complete = values(trec_eval(*version, "-c", "-l2", "-q", "-m", "num_rel", "qrels", "run").stdout)
    assert [plain["num_rel", "all"], complete["num_rel", "all"], complete["num_rel", "q1"]] == ["1", "4", "1"]
    options = ["-D0.q1", "-m", "num_q", "-m", "num_rel", "-m", "num_ret", "-m", "map", "-m", "gm_map", "-m", "P.2"]
    got = values(trec_eval(*version, "-c", *options, "qrels", "run").stdout)
    assert {name: value for (name, _), value in got.items()} == {
        "num_q": "3",
        "num_rel": "4",
        "num_ret": "3",
        "map": f"{1 / 4 / 3:.4f}",
        "gm_map": f"{(1 / 4 * 1e-5**2) ** (1 / 3):.4f}",
        "P_2": f"{1 / 2 / 3:.4f}",
    }


def test_versions_differ_in_precision(trec_eval: Run, tmp_path: Path) -> None:
    """Scores that float32 cannot tell apart are a tie in 9.x, which the id decides."""
    (tmp_path / "qrels").write_text("q 0 a 1\n")
    (tmp_path / "run").write_text("q Q0 z 1 1.00000000001 t\nq Q0 a 2 1.00000000002 t\n")
    assert trec_eval("-m", "recip_rank", "qrels", "run").stdout.endswith("1.0000\n")
    assert trec_eval("--v9", "-m", "recip_rank", "qrels", "run").stdout.endswith("0.5000\n")


def test_versions_differ_in_interpolation(trec_eval: Run, tmp_path: Path) -> None:
    """A share of 0.2 of 6 is 1.2 documents: 1 when rounded, 2 when 0.9 is added and the fraction dropped."""
    (tmp_path / "qrels").write_text("".join(f"q 0 d{i} 1\n" for i in range(6)))
    (tmp_path / "run").write_text("q Q0 d0 1 9 t\nq Q0 x 2 8 t\nq Q0 d1 3 7 t\n")
    assert trec_eval("-m", "iprec_at_recall.0.2", "qrels", "run").stdout.endswith("1.0000\n")
    assert trec_eval("--v9", "-m", "iprec_at_recall.0.2", "qrels", "run").stdout.endswith("0.6667\n")


def test_version_9_lacks_the_measures_of_10(trec_eval: Run) -> None:
    new = {"unj_5", "unj_10", "unj_20", "rbp", "rbp_resid"}
    names = {
        flag: {name for name, _ in values(trec_eval(flag, "-m", "all_trec", "qrels", "run").stdout)}
        for flag in ("-c", "--v9")
    }
    assert names["-c"] - names["--v9"] == new


def test_grades_lose_their_fraction(trec_eval: Run, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("q 0 a 1.7\nq 0 b 0.9\n")
    (tmp_path / "run").write_text("q Q0 a 1 2 t\nq Q0 b 2 1 t\n")
    assert values(trec_eval("-q", "-m", "relstring", "qrels", "run").stdout) == {("relstring", "q"): "'10'"}


def test_standard_input(trec_eval: Run) -> None:
    assert trec_eval("qrels", "-", stdin=RUN).stdout == trec_eval("qrels", "run").stdout
    assert trec_eval("-", "run", stdin=QRELS).stdout == trec_eval("qrels", "run").stdout


def test_fields_after_the_tag_are_left_alone(trec_eval: Run, tmp_path: Path) -> None:
    wanted = trec_eval("-q", "-m", "all_trec", "qrels", "run").stdout
    (tmp_path / "run").write_text(RUN.replace(" tag", " tag and more", 3))
    assert trec_eval("-q", "-m", "all_trec", "qrels", "run").stdout == wanted


def test_parameters_of_the_first_naming_count(trec_eval: Run) -> None:
    got = trec_eval("-m", "P", "-m", "P.7", "-m", "P.9", "-m", "map", "qrels", "run").stdout
    assert [name for name, _ in values(got)] == ["map", "P_7"]


def test_help_needs_no_files(trec_eval: Run) -> None:
    result = trec_eval("-h", "-m", "bpref")
    assert result.exit_code == 0
    assert "judged non-relevant" in result.stdout
    assert trec_eval("-v").exit_code == trec_eval("--v").exit_code == 0


def test_a_query_for_debugging_is_the_only_one(trec_eval: Run) -> None:
    plain = trec_eval("-q", "-n", "-m", "map", "-m", "P.2", "qrels", "run")
    alone = trec_eval("-q", "-D", "2.q1", "-m", "map", "-m", "P.2", "qrels", "run")
    of_q1 = [line for line in plain.stdout.splitlines() if "\tq1\t" in line]
    assert alone.stdout.splitlines() == [*of_q1, *(line.replace("\tq1\t", "\tall\t") for line in of_q1)]
    assert alone.stderr == "calipers trec_eval: -D: debugging output is not printed\n"
    assert trec_eval("-D", "0", "qrels", "run").stderr == ""


def test_options_that_change_nothing(trec_eval: Run) -> None:
    plain = trec_eval("qrels", "run").stdout
    assert plain == trec_eval("-o", "-T", "trec_results", "-R", "qrels", "qrels", "run").stdout
    assert (
        plain == trec_eval("--Output_old_results_format", "x", "--Results_format=trec_results", "qrels", "run").stdout
    )


def test_one_line_says_where_the_output_differs_on_purpose(trec_eval: Run) -> None:
    assert trec_eval("-m", "map", "qrels", "run").stderr == ""
    (line,) = trec_eval("-m", "all_trec", "qrels", "run").stderr.splitlines()
    assert line.startswith("calipers trec_eval: rbp and rbp_resid: by definition")
    plain = trec_eval("qrels", "run").stdout
    Path("qrels").write_text(QRELS + "q1 0 b 0\nq2 0 a 1\n", encoding="utf-8")
    again = trec_eval("qrels", "run")
    assert again.stdout == plain
    assert "2 repeated lines of judgments count once; trec_eval refuses" in again.stderr


# --- wrong calls and wrong input --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], 1, "Usage"),
        (["qrels"], 1, "Usage"),
        (["-k", "qrels", "run"], 1, "-k"),
        (["-I", "qrels", "run"], 1, "Usage"),
        (["-M", "-1", "qrels", "run"], 1, "-M -1 is not a whole number of at least 1"),
        (["--jobs", "0", "qrels", "run"], 1, "--jobs 0 is not a whole number of at least 1"),
        (["-m", "nope", "qrels", "run"], 1, "illegal measure 'nope'"),
        (["-m", "MAP", "qrels", "run"], 1, "illegal measure 'MAP'"),
        (["-m", "prefs_simp", "qrels", "run"], 1, "`prefs_simp` left Calipers in 0.4: use trec_eval 10"),
        (["-m", "all_prefs", "qrels", "run"], 1, "`all_prefs` left Calipers in 0.4: use trec_eval 10"),
        (["-m", "P_avgjg.5", "qrels", "run"], 1, "`P_avgjg.5` left Calipers in 0.4: use trec_eval 10"),
        (["-R", "qrels_prefs", "qrels", "run"], 2, "`-R qrels_prefs` left Calipers in 0.4: use trec_eval 10"),
        (["-Z", "nothing", "qrels", "run"], 2, "nothing"),
        (["-D", "1.q3", "qrels", "run"], 7, "no query of run 'tag' has both"),
        (["-m", "P.0", "qrels", "run"], 2, "cutoff 0 of 'P'"),
        (["-m", "P.5,5", "qrels", "run"], 2, "given twice"),
        (["-m", "P.x", "qrels", "run"], 2, "parameter 'x' of 'P' is not a number"),
        (["-m", "iprec_at_recall.inf", "qrels", "run"], 2, "parameter 'inf' of 'iprec_at_recall' is not a number"),
        (["-m", "ndcg.3", "qrels", "run"], 2, "not of the form grade=gain"),
        (["-m", "utility.1,2", "qrels", "run"], 2, "is not a list of 4 numbers"),
        (["-R", "nope", "qrels", "run"], 2, "illegal format 'nope'"),
        (["-T", "nope", "qrels", "run"], 2, "illegal format 'nope'"),
        (["nothing", "run"], 2, "nothing"),
        (["qrels", "nothing"], 2, "nothing"),
        (["-", "-"], 1, "standard input"),
        (["run", "qrels"], 2, "run:1"),
    ],
)
def test_refused(arguments: list[str], code: int, message: str, trec_eval: Run) -> None:
    result = trec_eval(*arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_no_query_in_common(trec_eval: Run, tmp_path: Path) -> None:
    (tmp_path / "run").write_text("other Q0 a 1 1 t\n")
    for options in ([], ["--v9"], ["--v9", "-c"]):
        assert trec_eval(*options, "qrels", "run").exit_code == 7


@pytest.mark.parametrize(
    ("line", "message"),
    [("q1 Q0 a 9 0.5 tag", "twice"), ("q1 Q0 z 9", "6 fields"), ("q1 Q0 \0 9 1 tag", "NUL")],
)
def test_bad_lines(line: str, message: str, trec_eval: Run, tmp_path: Path) -> None:
    (tmp_path / "run").write_text(f"q1 Q0 a 1 3.0 tag\n{line}\n")
    result = trec_eval("-c", "qrels", "run")
    assert result.exit_code == 2
    assert "run:2" in result.stderr
    assert message in result.stderr


def test_points_of_recall_are_added_up_from_the_last_one() -> None:
    """As trec_eval does: the double is its own, and so is what -Z finds equal to a mean."""
    scores = cal.evaluate({"q": {"a": 1, "b": 1}}, {"q": {"a": 3.0, "x": 2.0, "b": 1.0}}, ["11pt_avg"])
    assert scores["11pt_avg"] == (2 / 3 + 2 / 3 + 2 / 3 + 8 * 1.0) / 11  # which is 10/11; from the first on it is not


# --- the same measures in `evaluate`, and its `like` ------------------------------------------------------


@pytest.mark.parametrize(("like", "flags"), [("trec_eval", []), ("trec_eval-9", ["--v9"])])
def test_evaluate_like_trec_eval(like: str, flags: list[str], trec_eval: Run) -> None:
    got = values(trec_eval(*flags, "-q", "-m", "all_trec", "qrels", "run").stdout)
    names = list(dict.fromkeys(name for name, _ in got if name not in ("runid", "relstring", "rbp")))
    scores = cal.evaluate("qrels", "run", names, like=like)
    mean = scores.mean()
    for name in names:
        assert f"{mean[scores.systems[0], name]:.4f}" == f"{float(got[name, 'all']):.4f}", name
        for query, value in zip(scores.queries, scores[name][0], strict=True):
            if (name, query) in got:
                assert f"{value:.4f}" == f"{float(got[name, query]):.4f}", (name, query)


def test_what_is_given_wins_over_like() -> None:
    pools, run = {"q": {"a": 1, "z": 0}}, {"q": {"a": 1.0, "z": 1.0}}
    assert cal.evaluate(pools, run, ["RR"], like="trec_eval")["RR"] == 1 / 2
    assert cal.evaluate(pools, run, ["RR"], like="trec_eval", ties="best")["RR"] == 1
    assert cal.evaluate(pools, run, ["RR"], like="trec_eval", ties="average")["RR"] == 3 / 4
    pools = {"q": {f"d{i}": 1 for i in range(6)}}
    run = {"q": {"d0": 9.0, "x": 8.0, "d1": 7.0}}
    for like, names, wanted in [
        (None, ["IPrec@0.2"], 1),
        ("trec_eval", ["IPrec@0.2"], 1),
        ("trec_eval-9", ["IPrec@0.2"], 2 / 3),
        ("trec_eval-9", ["IPrec(rounding=nearest)@0.2"], 1),
        ("trec_eval-9", [cal.parse("IPrec@0.2")], 1),
        ("trec_eval", ["IPrec(rounding=up)@0.2"], 2 / 3),
    ]:
        assert cal.evaluate(pools, run, names, like=like).values[0, 0, 0] == wanted


def test_like_reads_grades_as_the_tool_does() -> None:
    pools, run = {"q": {"a": 1.7, "b": 0.9}}, {"q": {"b": 2.0, "a": 1.0}}
    assert cal.evaluate(pools, run, ["DCG@1"])["DCG@1"] == 0.9
    assert cal.evaluate(pools, run, ["DCG@1"], like="trec_eval")["DCG@1"] == 0


def test_unknown_conventions_are_named() -> None:
    with pytest.raises(CalipersError, match="did you mean trec_eval"):
        cal.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, ["AP"], like="trec-eval")


def test_the_option_knows_every_convention() -> None:
    for name, convention in CONVENTIONS.items():
        assert Profile().convert(name, None, None) is convention


def test_evaluate_notes_the_convention(trec_eval: Run) -> None:
    result = CliRunner().invoke(root, ["evaluate", "qrels", "run", "--like", "trec_eval-9", "-m", "map"])
    assert CONVENTIONS["trec_eval-9"].sentence in result.stderr


def test_counts_are_added_up_and_gm_measures_averaged_geometrically() -> None:
    pools = {"q1": {"a": 1}, "q2": {"a": 1, "b": 0}, "q3": {"c": 1}}
    run = {"q1": {"a": 1.0}, "q2": {"b": 2.0, "a": 1.0}, "q3": {"x": 1.0}}
    mean = cal.evaluate(pools, run, ["NumRet", "NumQ", "num_rel_ret", "gm_map", "AP"]).mean()
    assert [mean["run", name] for name in ("NumRet", "NumQ", "num_rel_ret")] == [4, 3, 2]
    assert mean["run", "AP"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert mean["run", "gm_map"] == pytest.approx((1 * 1 / 2 * 1e-5) ** (1 / 3))


# --- published figures ------------------------------------------------------------------------------------


def printed(judgments: Path, runs: Iterable[Path], *options: str) -> list[dict[str, str]]:
    """{measure: figure} for each run, in its order."""
    files = [str(judgments), *map(str, runs)]
    result = CliRunner().invoke(root, ["trec_eval", "--v9", "-c", "-m", "runid", *options, *files])
    assert result.exit_code == 0, result.stderr
    blocks: list[dict[str, str]] = []
    for line in result.stdout.splitlines():
        name, _, value = line.split("\t")
        if name.strip() == "runid":
            blocks.append({})
        blocks[-1][name.strip()] = value
    return blocks


def same(printed: str, figure: str) -> bool:
    """Equal to the digits that were printed; a leaderboard may drop a final 0."""
    return float(printed) == float(figure)


def nist(data: Path, track: str) -> dict[tuple[str, str], str]:
    with (data / "trec/nist-summaries.tsv").open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    return {(row["run"], row["measure"]): row["value"] for row in rows if row["track"] == track}


@pytest.mark.data
def test_trec_covid_to_the_digit(data: Path) -> None:
    """143 runs, 572 figures: trec_eval 9 printed them."""
    folder = data / "trec/covid-round1"
    with (folder / "leaderboard.csv").open(encoding="utf-8") as lines:
        board = {row["run"]: row for row in csv.DictReader(lines)}
    options = ["-m", "ndcg_cut.10", "-m", "P.5", "-m", "bpref", "-m", "map"]
    columns = {"ndcg_cut_10": "ndcg@10", "P_5": "p@5", "bpref": "bpref", "map": "MAP"}
    files = sorted((folder / "runs").glob("*.xz"))
    blocks = printed(folder / "qrels-rnd1.txt", files, *options)
    assert {block["runid"] for block in blocks} == set(board)
    compared = [
        (block["runid"], name, block[name], board[block["runid"]][column])
        for block in blocks
        for name, column in columns.items()
    ]
    assert len(compared) == 572
    assert not [row for row in compared if not same(*row[2:])]


@pytest.mark.data
def test_deep_learning_2019_to_the_digit(data: Path) -> None:
    figures = nist(data, "trec28/deep")
    files = sorted((data / "trec/dl19-passage/runs").glob("*.xz"))
    judgments = data / "trec/qrels/qrels.dl19-passage.txt.xz"
    for options, names in [
        (["-m", "ndcg_cut.10"], ["ndcg_cut_10"]),
        (["-l2", "-m", "map", "-m", "recip_rank"], ["map", "recip_rank"]),
    ]:
        blocks = printed(judgments, files, *options)
        assert len(blocks) == 37
        wrong = [
            (block["runid"], name, block[name])
            for block in blocks
            for name in names
            if not same(block[name], figures[block["runid"], name])
        ]
        assert not wrong


@pytest.mark.data
def test_robust_2003_map_to_the_digit(data: Path) -> None:
    figures = nist(data, "trec12/robust")
    files = sorted((data / "trec/robust03").glob("input.*.xz"))
    blocks = printed(data / "trec/robust03/robust03_qrels.txt.xz", files, "-m", "map")
    assert len(blocks) == 17
    assert not [block for block in blocks if not same(block["map"], figures[block["runid"], "map"])]


# --- single measures, from their definitions --------------------------------------------------------------


def value(name: str, grades: list[int | None], others: dict[str, int] | None = None, **options: Any) -> float:
    """The score of a ranking of grades (None: unjudged), with further judged documents that are not retrieved."""
    pool = {f"d{i}": grade for i, grade in enumerate(grades) if grade is not None}
    run = {f"d{i}": float(len(grades) - i) for i in range(len(grades))}
    return float(cal.evaluate({"q": {**pool, **(others or {})}}, {"q": run}, [name], **options).values[0, 0, 0])


def test_definitions() -> None:
    log2 = np.log2
    assert value("infAP", [1, None, 0, -1, 1]) == pytest.approx(
        (1 + (1 + 3 * (1 + 1e-5) / (2 + 2e-5)) / 5) / 2, rel=1e-12
    )
    assert value("binG", [0, 1, None, 1], {"x": 1}) == pytest.approx((1 / log2(3) + 1 / log2(4)) / 3)
    assert value("G", [0, 2, 1]) == pytest.approx((2 / log2(2 + 3 - 2) + 1 / log2(2 + 4 - 3)) / 3)
    assert value("ndcg_rel", [0, 2], {"x": 1}) == pytest.approx(2 * (2 / log2(3)) / (2 + 1 / log2(3)) / 2)
    # the ideal goes down to gain 1 after one document and to 0 after two; the list goes on to the fourth
    at = [0 / 2, (2 / log2(3)) / (2 + 1 / log2(3)), (2 / log2(3) + 1 / log2(5)) / (2 + 1 / log2(3))]
    assert value("Rndcg", [0, 2, None, 1]) == pytest.approx(sum(at) / 3)
    assert value("Rndcg", [0, 2, 1]) == pytest.approx((at[0] + at[1]) / 2)
    assert value("relative_P@3", [1, 0, 0, 1]) == 1 / 2
    assert value("Rprec_mult@1.5", [1, 0, 1]) == 2 / 3
    assert value("SetRelP", [1, 0, 0]) == 1
    assert value("SetAP", [1, 0, 0], {"x": 1}) == pytest.approx(1 / 3 * 1 / 2)
    assert value("unj@4", [None, -1, 0]) == 2 / 4
    assert value("yaap", [1, 0, 1]) == pytest.approx(log((1 + 5 / 3) / (1 + 2 - 5 / 3)))
    assert value("utility(weights=[2,-1,-3,0.5],documents=10)", [1, 0, 0], {"x": 1}) == 2 - 2 - 3 + 0.5 * 6
    assert value("num_nonrel_judged_ret", [1, 0, -1, None, 0]) == 2
    assert value("ideal_dcg", [0, None], {"x": 3, "y": 1}) == pytest.approx(3 + 1 / log2(3))
    assert value("Accuracy", [1, 0, None, 1]) == pytest.approx(1 - 2 / 4)


@pytest.mark.parametrize("target", [0.5, 1, 2.5])
def test_inst_adds_up_its_endless_weights(target: float) -> None:
    """Against the definition, rank by rank, over a very long list."""
    draw = np.random.default_rng(3)
    grades = draw.integers(0, 4, 30).tolist()
    gain = np.concatenate([np.array(grades) / 3, np.zeros(400_000)])
    rank = np.arange(1, len(gain) + 1)
    step = rank + 2 * target - np.cumsum(gain)
    weight = np.concatenate([[1.0], np.cumprod(((step - 1) / step) ** 2)[:-1]])
    tail = weight[-1] * (step[-1] - 1) ** 2 / step[-1]  # the sum of 1/x^2 from there on
    got = value(f"INST(T={target}, gain=linear)", grades, {"top": 3})
    assert got == pytest.approx((weight * gain).sum() / (weight.sum() + tail), rel=1e-9)
    for ranks in (1, 7, 30, 1000):
        first = slice(ranks)
        got = value(f"INST(T={target}, gain=linear, ranks={ranks})", grades, {"top": 3})
        assert got == pytest.approx((weight * gain)[first].sum() / weight[first].sum(), rel=1e-12)


def test_ties_are_averaged_where_there_is_no_closed_form() -> None:
    """Two orders of one tie: the mean of both, for every measure that only a list without ties defines."""
    pools = {"q": {"a": 2, "b": 0, "c": 1}}
    names = "IPrec@0.5 11pt_avg infAP binG G ndcg_rel Rndcg Compat Accuracy INST yaap"
    for name in names.split():
        one, other, tied = (
            cal.evaluate(pools, {"q": scores}, [name]).values[0, 0, 0]
            for scores in ({"c": 3, "a": 2, "b": 1}, {"c": 3, "b": 2, "a": 1}, {"c": 3, "a": 1, "b": 1})
        )
        assert tied == pytest.approx((one + other) / 2, rel=1e-12), name
