"""The Spark engine against the local one, on a cluster of two worker processes; one of them is killed half way.

All in one session, whose batches are so small that lists are cut by them everywhere.
"""

from __future__ import annotations

import gzip
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError, CheckFailed
from calipers.measures.registry import declared, examples
from laws.odd import collection
from laws.ways import WAYS, difference, on_spark
from time_limit import TIME_LIMIT

pytestmark = [pytest.mark.java, pytest.mark.filterwarnings("ignore::FutureWarning")]

JVM = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"  # these jobs are over before better code would pay
SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "23",
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": JVM,
    "spark.executor.extraJavaOptions": JVM,
    "spark.log.level": "OFF",
    "spark.task.maxFailures": "2",  # each try of what must fail starts a Python
    "spark.network.timeout": f"{TIME_LIMIT}s",
    "spark.python.authenticate.socketTimeout": f"{TIME_LIMIT}s",
}


@pytest.fixture(scope="module")
def session(require):
    require.module("pyspark")
    require.tool("java")
    from calipers import spark

    running = spark.session("local-cluster[2,1,1024]", SETTINGS)
    work = Path(sys.modules["pyspark"].__file__).parent / "work" / running.sparkContext.applicationId
    yield running
    running.stop()
    shutil.rmtree(work, ignore_errors=True)


SIMULATED = {
    "topics": 24,
    "pool": 14,
    "systems": 4,
    "retrieved": 25,
    "ties": 0.5,
    "missing": 0.15,
    "empty": 0.1,
    "unjudged": 0.4,
}


@pytest.fixture(scope="module")
def simulated():
    return simulate(**SIMULATED)


@pytest.fixture(scope="module")
def frames(session, simulated, tmp_path_factory):
    """Judgments and runs as DataFrames, rows in no order; `place` is where they stood."""
    return frames_of(session, tmp_path_factory.mktemp("frames"), simulated.qrels, simulated.runs)


def frames_of(session, folder, judgments, runs):
    import pyarrow as pa
    from pyarrow import parquet

    graded = [(q, d, g) for q, documents in judgments.items() for d, g in documents.items()]
    ranked = [
        (s, q, d, v, place)
        for s, run in runs.items()
        for q, documents in run.items()
        for place, (d, v) in enumerate(documents.items())
    ]
    found = []
    for name, rows, columns in (
        ("judgments", graded, ("qid", "docno", "label")),
        ("runs", ranked, ("system", "qid", "docno", "score", "place")),
    ):
        rows = [rows[i] for i in np.random.default_rng(7).permutation(len(rows))]
        table = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
        parquet.write_table(table, folder / f"{name}.parquet", row_group_size=200)
        found.append(session.read.parquet(str(folder / f"{name}.parquet")))
    return found


def check_equal(found, expected, coverage=True):
    """Scores, reasons and coverage, whatever the order of systems and queries."""
    assert set(found.systems) == set(expected.systems)
    assert set(found.queries) == set(expected.queries)
    s = [found.systems.index(name) for name in expected.systems]
    q = [found.queries.index(name) for name in expected.queries]
    place = np.ix_(range(len(expected.measures)), s, q)
    np.testing.assert_allclose(found.values[place], expected.values, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(found.reasons[place], expected.reasons)
    if coverage:
        for name in ("length", "tied", "judged_at_10"):
            ours, theirs = (getattr(each.coverage, name) for each in (found, expected))
            np.testing.assert_array_equal(ours[np.ix_(s, q)], theirs)


def both(frames, simulated, measures, columns=None, coverage=True, **options):
    from calipers import spark

    scores = spark.evaluate(*frames, measures, columns=columns, **options)
    for own in ("precut", "partitions"):
        options.pop(own, None)
    found = spark.collect(scores)
    check_equal(found, cal.evaluate(simulated.qrels, simulated.runs, measures, **options), coverage)
    return scores


# -- equality ----------------------------------------------------------------------------------------


def test_every_measure_gives_the_scores_of_the_local_engine(frames, simulated):
    populations = [f"V2(nDCG@10, population={population})" for population in ("pool", "retrieved", "collection(500)")]
    package = str(Path(cal.__file__).parent)  # other tests and doctests of this process declare measures, too
    ours = [each.example for each in declared() if each.function.__code__.co_filename.startswith(package)]
    both(frames, simulated, [*ours, *populations])


def test_warnings_are_those_of_the_local_engine(frames, simulated):
    from calipers import spark

    scores = spark.evaluate(*frames, ["AP"], missing="skip")
    with pytest.warns(cal.CalipersWarning) as caught:
        found = spark.collect(scores)
    assert [str(each.message) for each in caught] == ["; ".join(found.notes)]
    local = cal.evaluate(simulated.qrels, simulated.runs, ["AP"], missing="skip", warn=False)
    assert any("lack" in note for note in found.notes)
    assert {*found.notes} <= {*local.notes}


def test_notes_on_ties_name_the_measures_whose_orders_are_drawn(session):
    from calipers import spark

    judgments = session.createDataFrame([("q", "a", 1), ("q", "b", 0)], "query string, doc string, grade int")
    runs = session.createDataFrame(
        [("s", "q", d, 1.0) for d in "ab"], "system string, query string, doc string, score double"
    )
    scores = spark.evaluate(judgments, runs, ["AP", "infAP", "Z(ERR)"])
    notes = spark.collect(scores, warn=False).notes
    assert any("averaged over all orders (infAP: over drawn orders)" in note for note in notes)


def test_collected_scores_of_runs_that_stopped_early_are_refused(session):
    from calipers import spark

    judgments = session.createDataFrame([(f"q{i}", "a", 1) for i in range(5)], "query string, doc string, grade int")
    rows = [("whole", f"q{i}", "a", 1.0) for i in range(5)] + [("stopped", "q0", "a", 1.0)]
    runs = session.createDataFrame(rows, "system string, query string, doc string, score double")
    with pytest.raises(cal.CheckFailed, match="stopped lacks 4 of 5"):
        cal.compare(spark.collect(spark.evaluate(judgments, runs, ["RR"]), warn=False), warn=False)
    cal.compare(spark.collect(spark.evaluate(judgments, runs, ["RR"], missing=0), warn=False), warn=False)


@pytest.mark.parametrize(
    "options",
    [
        {"ties": "docid", "depth": 9},
        {"ties": "input", "columns": {"order": "place"}},
        {"ties": "worst", "condensed": True, "empty": "skip", "missing": "skip"},
        {"ties": "best", "empty": 1.0, "missing": 0.5, "degenerate": "skip"},
        {"like": "trec_eval-9"},
        {"like": "mslr", "columns": {"order": "place"}},
        {"relevant": 2},
    ],
    ids=str,
)
def test_every_rule_gives_the_scores_of_the_local_engine(frames, simulated, options):
    measures = ["nDCG@5", "AP"] if options.get("like") == "mslr" else ["nDCG@5", "AP", "V2(nDCG@5)", "SN-AP@5", "RR"]
    both(frames, simulated, measures, **options)


def test_lists_may_be_cut_before_they_are_moved(frames, simulated):
    """Ties at the cut, and at the depth, stay whole. What is read of a list is then less than its length."""
    measures = ["nDCG@5", "V2(AP@10, population=pool)", "ERR@10", "P@3", "SN-DCG@5"]
    scores = both(frames, simulated, measures, precut=True, coverage=False)
    read = scores.agg({"about.read": "sum"}).first()[0]
    assert read < sum(len(ranked) for run in simulated.runs.values() for ranked in run.values())
    plan = scores._jdf.queryExecution().executedPlan().toString()
    assert "WindowGroupLimit" in plan  # Spark drops most of it before the exchange
    both(frames, simulated, ["AP", "nDCG"], depth=11, ties="docid", precut=True)


def test_few_queries_are_dealt_out_by_system(session, tmp_path, simulated):
    few = list(simulated.qrels)[:2]
    judgments = {q: simulated.qrels[q] for q in few}
    runs = {f"{s}{i}": {q: run[q] for q in few if q in run} for s, run in simulated.runs.items() for i in range(2)}
    from calipers import spark

    scores = spark.evaluate(*frames_of(session, tmp_path, judgments, runs), ["V2(AP)", "nDCG@10"], degenerate=0.0)
    assert "bucket" in scores._jdf.queryExecution().analyzed().toString()
    check_equal(spark.collect(scores), cal.evaluate(judgments, runs, ["V2(AP)", "nDCG@10"], degenerate=0.0))


def test_diversity(session, tmp_path):
    from calipers import spark

    random = np.random.default_rng(5)
    drawn = {(q, i): random.choice(12, 6, replace=False) for q in range(8) for i in range(3)}
    nested = {
        f"q{q}": {str(i): {f"d{d}": int(random.integers(0, 2)) for d in drawn[q, i]} for i in range(3)}
        for q in range(8)
    }
    runs = {"one": {q: {f"d{d}": float(random.integers(0, 6)) for d in range(10)} for q in nested}}
    chances = {q: {str(i): (i + 1) / 6 for i in range(3)} for q in nested}
    lines = tmp_path / "diversity.qrels"
    graded = [(q, i, *pair) for q, intents in nested.items() for i, each in intents.items() for pair in each.items()]
    lines.write_text("".join(f"{q} {i} {d} {g}\n" for q, i, d, g in graded))
    judgments = spark.read_judgments(session, str(lines), subtopics=True)
    _, frame = frames_of(session, tmp_path, {"q0": {"d0": 1}}, runs)
    measures = examples("subtopics")
    known = cal.SubtopicJudgments.from_subtopics(nested, chances)
    found = spark.collect(spark.evaluate(judgments, frame, measures, intents=chances))
    check_equal(found, cal.evaluate(known, runs, measures))


# -- means -------------------------------------------------------------------------------------------


def test_means_are_those_of_the_local_engine(frames, simulated):
    from calipers import spark

    measures = ["nDCG@5", "nDCG@10", "AP", "gm_map", "NumRelRet", "V2(AP)"]
    scores = spark.evaluate(*frames, measures, missing="skip", empty="skip")
    expected = cal.evaluate(simulated.qrels, simulated.runs, measures, missing="skip", empty="skip")
    mean = {row["system"]: row for row in spark.means(scores).collect()}
    for row in expected.mean().rows:
        np.testing.assert_allclose([mean[row[0]][name] for name in measures], row[1:], rtol=1e-12)
    with pytest.raises(CalipersError, match="not a DataFrame of scores"):
        spark.means(frames[1])


# -- files and the command ---------------------------------------------------------------------------


def test_the_command_prints_what_the_local_engine_prints(session, tmp_path, require, monkeypatch):
    from calipers.cli.evaluate import command

    folder = tmp_path / "with space é"
    qrels, runs = simulate(**SIMULATED | {"topics": 16}).write(folder)  # so few that an interval would leave the range
    first = runs[0].read_text().splitlines()
    runs[0].write_bytes(("# a comment\r\n\r\n" + "\r\n".join(line.replace(" ", " \t", 1) for line in first)).encode())
    (folder / "s2.run.gz").write_bytes(gzip.compress(runs[1].read_bytes()))
    (folder / "s3.packed").write_bytes(require.module("backports.zstd").compress(runs[2].read_bytes()))
    files = [str(qrels), str(runs[0]), str(folder / "s2.run.gz"), str(folder / "s3.packed"), *map(str, runs[3:])]
    monkeypatch.setattr("calipers.spark.files.SPLIT", 2_000)

    def run(*extra):
        result = CliRunner().invoke(command, [*files, "-m", "nDCG@10 AP V2(nDCG@10)", *extra])
        assert result.exit_code == 0, result.output
        return result

    here, there = (run("--ties", "input", "--interval", "0.9", *engine) for engine in ([], ["--engine", "spark"]))
    assert there.stdout == here.stdout
    assert there.stderr == here.stderr
    here, there = (
        run("-q", "--format", "csv", "--like", "trec_eval", *engine).stdout.splitlines()
        for engine in ([], ["--engine", "spark"])
    )
    assert there[0] == here[0]
    ours, theirs = ({tuple(line.split(",")[:2]): line.split(",")[2:] for line in each[1:]} for each in (there, here))
    assert ours.keys() == theirs.keys()
    for key, cells in theirs.items():
        np.testing.assert_allclose(
            [float(c or "nan") for c in ours[key]], [float(c or "nan") for c in cells], atol=1e-12
        )


def test_files_that_spark_cannot_read_are_refused_by_name(session, tmp_path):
    from calipers import spark

    (tmp_path / "a.run").write_text("q1 Q0 d1 1 x y z\n")
    with pytest.raises(CalipersError, match="no known format"):
        spark.read_runs(session, [str(tmp_path / "a.run")])
    (tmp_path / "b.svm").write_text("1 qid:3 1:0.5\n")
    with pytest.raises(CalipersError, match="reads judgments as TREC text or Parquet, not as letor"):
        spark.read_judgments(session, str(tmp_path / "b.svm"))
    (tmp_path / "folder").mkdir()
    with pytest.raises(CalipersError, match="a directory without Parquet files"):
        spark.read_runs(session, [str(tmp_path / "folder")])


def test_a_line_is_refused_in_the_words_of_the_local_engine(session, tmp_path, frames, monkeypatch):
    from calipers import spark

    lines = [f"q1 Q0 d{i} {i} 2.5 x\n" for i in range(50)]
    (tmp_path / "bad.run").write_text("".join([*lines, "q1 Q0 d2 2 abc x\n", *lines]))
    monkeypatch.setattr("calipers.spark.files.SPLIT", 300)
    runs = spark.read_runs(session, [str(tmp_path / "bad.run")])
    with pytest.raises(CalipersError, match=r"bad\.run:51: score 'abc' is not a number"):
        spark.collect(spark.evaluate(frames[0], runs, ["RR"]))


def test_lines_at_an_address_are_read_by_spark(session, simulated, tmp_path):
    """As of hdfs:// or s3a://; file:// goes the same way."""
    from calipers import spark

    qrels, runs = simulated.write(tmp_path / "with space é")
    address = [f"file://{path}" for path in (qrels, *runs)]
    judgments = spark.read_judgments(session, address[0])
    found = spark.collect(
        spark.evaluate(judgments, spark.read_runs(session, address[1:], ordered=True), ["AP"], ties="input")
    )
    check_equal(found, cal.evaluate(str(qrels), [str(run) for run in runs], ["AP"], ties="input"))


# -- bad input ---------------------------------------------------------------------------------------


def test_columns_that_are_missing_or_of_the_wrong_type_are_named(frames):
    from calipers import spark

    judgments, runs = frames
    for bad, message in (
        ((judgments.drop("label"), runs), "judgments: there is no column for the grade"),
        ((judgments, runs.drop("docno")), "runs: there is no column for the document"),
        (
            (judgments.selectExpr("qid", "docno", "'x' AS label"), runs),
            "column 'label' holds string: a grade is a number",
        ),
        ((judgments, runs.selectExpr("qid", "docno", "array(score) AS score")), "column 'score' holds array<double>"),
        ((judgments, runs.selectExpr("qid", "score AS docno", "score")), "column 'docno' holds double: ids are text"),
    ):
        with pytest.raises(CalipersError) as caught:
            spark.evaluate(*bad, ["RR"])
        assert message in str(caught.value)
    with pytest.raises(CalipersError, match="which Spark does not keep"):
        spark.evaluate(judgments, runs, ["RR"], ties="input")
    with pytest.raises(CalipersError, match="there is no column 'when' for the order"):
        spark.evaluate(judgments, runs, ["RR"], ties="input", columns={"order": "when"})
    with pytest.raises(CalipersError, match="there are no judgments"):
        spark.evaluate(judgments.limit(0), runs, ["RR"])
    with pytest.raises(CalipersError, match="there is no column for the subtopic"):
        spark.evaluate(judgments, runs, ["ERR-IA@5"])


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("CASE WHEN place = 3 THEN NULL ELSE score END", "runs: column 'score': a row has no value"),
        ("CASE WHEN place = 3 THEN double('NaN') ELSE score END", "runs: column 'score': NaN is not a finite number"),
    ],
)
def test_values_that_are_no_scores_are_refused(frames, score, message):
    from calipers import spark

    judgments, runs = frames
    with pytest.raises(CalipersError) as caught:
        spark.collect(spark.evaluate(judgments, runs.selectExpr("qid", "docno", f"{score} AS score"), ["AP"]))
    assert str(caught.value) == message


def test_a_query_without_an_id_and_a_document_twice_are_refused(frames):
    from calipers import spark

    judgments, runs = frames
    for frame, message in (
        (
            runs.selectExpr("IF(place = 3, NULL, qid) AS qid", "docno", "score", "system"),
            "column 'qid': a row has no value",
        ),
        (runs.drop("system"), "appears twice for query"),
    ):
        with pytest.raises(CalipersError, match=message):
            spark.collect(spark.evaluate(judgments, frame, ["AP"]))


def test_a_measure_that_has_nothing_to_work_on_is_refused_at_once(session, tmp_path):
    from calipers import spark

    frames = frames_of(session, tmp_path, {f"q{i}": {"a": 1} for i in range(4)}, {"one": {"q0": {"a": 1.0}}})
    with pytest.raises(
        CheckFailed, match=r"for 4 of 4 queries every ranking of the judged documents of the query scores the same"
    ):
        spark.evaluate(*frames, ["V2(nDCG@5, population=pool)"])


def test_a_large_query_is_named_and_skew_is_in_the_logs(session, frames):
    from calipers import spark

    judgments, _ = frames
    heavy = session.range(120_000).selectExpr("'1' AS qid", "concat('x', id) AS docno", "double(id) AS score")
    light = session.range(5_000).selectExpr(
        "string(2 + id % 20) AS qid", "concat('y', id) AS docno", "double(id) AS score"
    )
    runs = heavy.union(light)
    with pytest.raises(
        CalipersError, match=r"query '1' is too large for an executor: system 'run' has more than 50,000"
    ):
        spark.collect(spark.evaluate(judgments, runs, ["AP"], largest_list=50_000))
    session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")
    spark.collect(spark.evaluate(judgments, runs, ["AP"], partitions=2), warn=False)
    session.conf.set(
        "spark.sql.execution.arrow.maxRecordsPerBatch", SETTINGS["spark.sql.execution.arrow.maxRecordsPerBatch"]
    )
    work = Path(sys.modules["pyspark"].__file__).parent / "work" / session.sparkContext.applicationId
    logs = "".join(file.read_text(errors="replace") for file in work.rglob("stderr"))
    assert "calipers: skew: query '1' has 120," in logs


def test_without_java_it_says_what_to_install(tmp_path, simulated):
    qrels, runs = simulated.write(tmp_path)
    environment = {key: value for key, value in os.environ.items() if key not in ("JAVA_HOME", "PATH")}
    command = [sys.executable, "-m", "calipers", "evaluate", str(qrels), str(runs[0]), "--engine", "spark"]
    for extra, message in (
        ({"PATH": str(tmp_path)}, "Spark needs a Java runtime (17 or later), and none was found. Install one"),
        ({"PATH": str(tmp_path), "JAVA_HOME": str(tmp_path)}, "where there is no bin/java"),
    ):
        result = subprocess.run(command, env=environment | extra, capture_output=True, text=True, check=False)
        assert result.returncode == 2
        assert message in result.stderr
        assert result.stderr.count("\n") == 1
        assert result.stdout == ""


# -- a worker dies -----------------------------------------------------------------------------------


def executors(session):
    """The processes that work for this session: children of its Java process."""
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            command = (status.parent / "cmdline").read_bytes()
        except OSError:
            continue
        if b"CoarseGrainedExecutorBackend" in command and session.sparkContext.applicationId.encode() in command:
            found[int(status.parent.name)] = command.split(b"--executor-id\0")[1].split(b"\0")[0].decode()
    return found


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_worker_killed_half_way_changes_nothing(session, frames, simulated, tmp_path, monkeypatch):
    """A measure of the user's own leaves a mark for every list, and waits in the middle until a worker was killed."""
    from calipers import spark
    from calipers.measures import registry

    for known in ("_DECLARED", "_BY_NAME"):  # nobody else is to meet it
        monkeypatch.setattr(registry, known, dict(getattr(registry, known)))

    marks, waiting, killed = tmp_path / "marks", tmp_path / "waiting", tmp_path / "killed"
    for folder in (marks, waiting):
        folder.mkdir()
    lists = len(simulated.qrels) * len(simulated.runs)
    folders = tuple(map(str, (marks, waiting, killed)))

    @cal.measure("Waits", rel=1)
    def waits(rel):
        """The share of relevant documents among the first three."""

        def score(ranking):
            import os
            import time

            marks, waiting, killed = folders
            daemon = os.getppid()  # Spark's parent of the Python processes of one worker
            with open(f"{marks}/{daemon}", "a", encoding="utf-8") as file:
                file.write("x")
            while not os.path.exists(killed) and sum(mark.stat().st_size for mark in os.scandir(marks)) > lists / 3:
                open(f"{waiting}/{daemon}", "w", encoding="utf-8").close()
                time.sleep(0.01)
            return float((ranking[:3] >= rel).sum() / 3)

        return score

    killed.touch()
    expected = cal.evaluate(simulated.qrels, simulated.runs, ["Waits", "V2(nDCG@5)", "AP"], ties="docid")
    killed.unlink()
    for mark in marks.iterdir():
        mark.unlink()
    scores = spark.evaluate(*frames, ["Waits", "V2(nDCG@5)", "AP"], ties="docid", partitions=8)
    result = {}
    thread = threading.Thread(target=lambda: result.update(found=spark.collect(scores)), daemon=True)
    before = executors(session)
    assert len(before) == 2
    thread.start()
    deadline = time.monotonic() + TIME_LIMIT
    while not (found := [*waiting.iterdir()]):
        assert thread.is_alive()
        assert time.monotonic() < deadline
        time.sleep(0.01)
    worker = parent(int(found[0].name))
    assert worker in before
    os.kill(worker, signal.SIGKILL)
    while worker in executors(session):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    killed.touch()
    thread.join(deadline - time.monotonic())
    check_equal(result["found"], expected)
    done = sum(mark.stat().st_size for mark in marks.iterdir())
    assert done > lists  # what the dead one had done was done again


def test_odd_collections(session, tmp_path):
    """More of them: `make fuzz SPARK=50`."""
    way = on_spark(session)
    cases = [case for case in map(collection, range(30)) if way.takes(case)][:4]
    for case in cases:
        folder = tmp_path / str(case.seed)
        folder.mkdir()
        found = difference(case, folder, ways={"library": WAYS["library"], "Spark": way}, printed=False)
        assert found is None, found
