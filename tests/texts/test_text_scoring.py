"""Summaries from files to scores: reading, normalising, agreement with people, preferences, the commands."""

from __future__ import annotations

import csv
import json
import lzma
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given, strategies as st
from scipy import stats

import calipers as cal
from calipers.cli.commands import root
from calipers.errors import CalipersError
from calipers.measures.normalisation import Limits, upper, v1, v2
from calipers.questions.metaeval import Preference, human_correlation, read_preferences, win_lost_tie
from calipers.questions.metaeval.people import people_of
from calipers.results.scores import Reason
from calipers.texts import (
    Document,
    Evaluation,
    TextCollection,
    TextOptions,
    as_collection,
    expected_rouge,
    rouge,
)
from calipers.texts.bounded_scores import BoundedScores
from calipers.texts.measure_names import text_measure, text_measures
from calipers.texts.random_texts import RandomTexts
from conftest import Require

LINES = [
    {
        "id": "d1",
        "system": "a",
        "source": "the cat sat on the mat the end",
        "summary": "the cat sat",
        "references": ["the cat on the mat", "a cat sat down"],
        "human": {"coherence": 3, "relevance": 1.5},
    },
    {"id": "d1", "system": "b", "summary": "on the mat the cat", "human": {"coherence": 5, "relevance": 4}},
    {
        "id": "d2",
        "system": "a",
        "source": "rain fell all day in the hills",
        "summary": "rain in the hills",
        "references": "rain fell in the hills",
        "human": {"coherence": 4, "relevance": 5},
    },
    {
        "id": "d2",
        "system": "b",
        "source": "rain fell all day in the hills",
        "summary": "",
        "references": "rain fell in the hills",
        "human": {"coherence": 1, "relevance": 1},
    },
]


def written(path: Path, lines: Sequence[object] = LINES) -> Path:
    path.write_text("\n".join(json.dumps(line) for line in lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "data.jsonl")


@pytest.fixture(scope="module")
def summeval(data: Path) -> TextCollection:
    return as_collection(data / "summaries/SummEval.json.xz")


def run(*arguments: str | Path) -> Result:
    result = CliRunner().invoke(root, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit | CalipersError):
        raise result.exception
    return result


# -- reading -----------------------------------------------------------------------------------------------


def test_json_lines(file: Path) -> None:
    found = as_collection(file)
    assert found.systems == ("a", "b")
    assert found.documents[1] == Document("d2", ("rain fell in the hills",), "rain fell all day in the hills")
    assert found.texts == (("the cat sat", "rain in the hills"), ("on the mat the cat", ""))
    assert found.human["relevance"].tolist() == [[1.5, 5.0], [4.0, 1.0]]
    assert found.empty == (1, 0)
    assert found.has_text.all()


def test_layouts_say_the_same(tmp_path: Path, file: Path) -> None:
    """SummEval's two layouts, packed and with a byte order mark."""
    plain = as_collection(file)
    nested = {
        document.id: {
            "src": document.source,
            "ref_summs": list(document.references),
            "sys_summs": {
                system: {"sys_summ": plain.texts[s][d], "scores": {a: v[s, d] for a, v in plain.human.items()}}
                for s, system in enumerate(plain.systems)
            },
        }
        for d, document in enumerate(plain.documents)
    }
    packed = tmp_path / "nested.json.xz"
    packed.write_bytes(lzma.compress(b"\xef\xbb\xbf" + json.dumps(nested, indent=1).encode()))
    released = [
        {
            "id": line["id"],
            "model_id": line["system"],
            "decoded": line["summary"],
            "text": plain.documents[plain.ids.index(str(line["id"]))].source,
            "references": list(plain.documents[plain.ids.index(str(line["id"]))].references),
            "expert_annotations": [{a: v + by for a, v in dict(line["human"]).items()} for by in (-1, 1)],
        }
        for line in LINES
    ]
    for other in (as_collection(packed), as_collection(written(tmp_path / "released.jsonl", released))):
        assert other.documents == plain.documents
        assert other.texts == plain.texts
        for aspect, values in plain.human.items():
            assert (other.human[aspect] == values).all()


def test_tables_say_the_same(tmp_path: Path, file: Path) -> None:
    """CSV, TSV and one JSON array; a cell may hold line ends, quotes and delimiters."""
    plain = as_collection(file)
    header = ["id", "system", "summary", "reference1", "reference2", "source", "human.coherence", "human_relevance"]
    rows = []
    for line in LINES:
        given = plain.documents[plain.ids.index(str(line["id"]))]
        more = [*given.references, ""][:2]
        rows.append([line["id"], line["system"], line["summary"], *more, given.source, *dict(line["human"]).values()])
    for name, delimiter in (("d.csv", ","), ("d.tsv", "\t"), ("d.txt", ";")):
        with open(tmp_path / name, "w", encoding="utf-8", newline="") as out:
            csv.writer(out, delimiter=delimiter).writerows([header, *rows])
    (tmp_path / "d.json").write_text(json.dumps(LINES, indent=1))
    for name in ("d.csv", "d.tsv", "d.txt", "d.json"):
        other = as_collection(tmp_path / name)
        assert other.documents == plain.documents
        assert other.texts == plain.texts
        assert all((other.human[aspect] == values).all() for aspect, values in plain.human.items())
    odd = tmp_path / "odd.csv"
    odd.write_bytes(b'Summary;References\r\n"a ""b"";\r\nc";"[""r1"", ""r2""]"\r\n')
    found = as_collection(odd)
    assert (found.systems, found.ids, found.texts) == (("odd",), ("1",), (('a "b";\r\nc',),))
    assert found.documents[0].references == ("r1", "r2")


@pytest.mark.parametrize(
    "references",
    [["a cat", "two cats"], ["it's", 'a "cat"'], ["a, b"], ["[laughs] no"], ["one\ttwo", "é"], []],
)
def test_list_columns_of_pandas(tmp_path: Path, references: list[str]) -> None:
    """A list column is the same list whether it was written as JSON or as pandas writes it."""
    file = tmp_path / "data.csv"
    for cell in (json.dumps(references), str(references)):
        with open(file, "w", newline="", encoding="utf-8") as out:
            writer = csv.writer(out)
            writer.writerows([["summary", "references", "nuggets"], ["a cat", cell, "[]"]])
        assert as_collection(file).documents[0].references == tuple(references)


@pytest.mark.parametrize("cell", ["['a' 'b']", "['a'\n 'b']", "['a', nan]", "['a', 'b'", '["a", b]'])
def test_a_broken_list_is_no_reference(tmp_path: Path, cell: str) -> None:
    file = tmp_path / "data.csv"
    with open(file, "w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows([["summary", "references"], ["a cat", cell]])
    with pytest.raises(CalipersError, match="'references' is not JSON, nor a list as Python writes it"):
        as_collection(file)


def test_a_text_in_brackets_is_a_reference(tmp_path: Path) -> None:
    file = tmp_path / "data.csv"
    file.write_text("summary,references\na cat,[laughs] a cat\n")
    assert as_collection(file).documents[0].references == ("[laughs] a cat",)


def test_without_ids_and_systems(tmp_path: Path) -> None:
    """The nth summary of each system is about document n; a file without systems is one."""
    lines = [{"system": s, "summary": f"{s}{d}", "reference": f"r{d}"} for s in "ab" for d in (1, 2)]
    found = as_collection(written(tmp_path / "d.jsonl", lines))
    assert (found.ids, found.texts) == (("1", "2"), (("a1", "a2"), ("b1", "b2")))
    alone = as_collection(written(tmp_path / "mine.jsonl.txt", [{"prediction": "x", "answer": "y"}] * 2))
    assert (alone.systems, alone.ids) == (("mine.jsonl",), ("1", "2"))
    assert alone.documents[1].references == ("y",)


def test_parallel_texts(tmp_path: Path, file: Path) -> None:
    """Line n of each file belongs to document n: the same scores as from JSON lines."""
    plain = as_collection(file).first_references(1)
    for name, texts in (
        ("a", plain.texts[0]),
        ("b", plain.texts[1]),
        ("r", [d.references[0] for d in plain.documents]),
        ("s", [d.source for d in plain.documents]),
    ):
        (tmp_path / f"{name}.txt").write_bytes("".join(f"{text}\r\n" for text in texts).encode())
    files = [tmp_path / "a.txt", f"other={tmp_path / 'b.txt'}"]
    rows = tmp_path / "rows.jsonl"
    run("convert", *files, "--references", tmp_path / "r.txt", "--source", tmp_path / "s.txt", "-o", rows)
    names = "rouge1 V2(rougeL) rouge2_recall"
    shown = run("evaluate", rows, "-m", names, "--format", "csv").stdout.splitlines()
    expected = Evaluation(plain, names).scores.mean().to_csv().splitlines()
    assert shown[0] == expected[0] == "system,ROUGE-1,V2(ROUGE-L),ROUGE-2(part=recall)"
    assert [row.split(",")[1:] for row in shown] == [row.split(",")[1:] for row in expected]
    assert [row.split(",")[0] for row in shown[1:]] == ["a", "other"]


@pytest.mark.data
def test_summeval(summeval: TextCollection) -> None:
    assert (len(summeval.documents), len(summeval.systems)) == (100, 16)
    assert {len(document.references) for document in summeval.documents} == {11}
    assert list(summeval.human) == ["coherence", "consistency", "fluency", "relevance"]
    assert not any(np.isnan(values).any() for values in summeval.human.values())


def test_names_of_deepeval_and_mlflow(tmp_path: Path, require: Require) -> None:
    """Fields of MLflow may be objects, also as text in CSV."""
    pa, pq = require.module("pyarrow"), require.module("pyarrow.parquet")
    asked: dict[str, Any] = {"input": "Where?", "actual_output": "in Ulm", "expected_output": "Ulm"}
    flat = {"inputs": "Where?", "outputs": "in Ulm", "expectations": "Ulm"}
    nested = {
        "inputs": {"question": "Where?", "language": "en"},
        "outputs": {"answer": "in Ulm"},
        "expectations": {"expected_response": "Ulm", "guidelines": ["be short"]},
    }
    chat = {
        "inputs": {"messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Where?"}]},
        "outputs": {"choices": [{"index": 0, "message": {"role": "assistant", "content": "in Ulm"}}]},
        "expectations": {"expected_response": "Ulm"},
    }
    frame = pa.Table.from_pylist([nested])
    pq.write_table(frame, tmp_path / "nested.parquet")
    for name, rows in (("asked", asked), ("nested", nested), ("chat", chat)):
        with open(tmp_path / f"{name}.csv", "w", newline="", encoding="utf-8") as out:
            cells = [json.dumps(cell) if isinstance(cell, dict) else cell for cell in rows.values()]
            csv.writer(out).writerows([rows, cells])
    files = [tmp_path / name for name in ("asked.csv", "nested.csv", "chat.csv", "nested.parquet")]
    for source in ([asked], [flat], [nested], [chat], frame, *files):
        found = as_collection(source)
        assert found.texts == (("in Ulm",),)
        assert (found.documents[0].question, found.documents[0].references) == ("Where?", ("Ulm",))
        assert found.kind.text == "answer"
    for outputs, expected in (({"a": 1, "b": "x"}, "'outputs' is not text"), ({"answer": None}, "there are no texts")):
        with pytest.raises(CalipersError, match=expected):
            as_collection([{**nested, "outputs": outputs}])
    assert as_collection([{**asked, "retrieval_context": ["Ulm is a city"]}]).judged["1", "the rows"].passages


def test_columns_have_the_names_that_the_user_says(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("Frage,final,answer,gold\nWo?,in Ulm,no,Ulm\n")
    columns = {"text": "final", "references": "gold", "question": "Frage"}
    found = as_collection(tmp_path / "d.csv", columns=columns)
    assert (found.texts, found.documents[0].references) == ((("in Ulm",),), ("Ulm",))
    assert found.documents[0].question == "Wo?"
    with pytest.raises(CalipersError, match="there is no 'score', only id, system, text, "):
        as_collection(tmp_path / "d.csv", columns={"score": "final"})
    with pytest.raises(CalipersError, match="there is no column 'golden' for the references"):
        as_collection(tmp_path / "d.csv", columns={"references": "golden", "nuggets": "x"})
    with pytest.raises(CalipersError, match=":2: there is no text: expected the field end; found Frage, final"):
        as_collection(tmp_path / "d.csv", columns={"text": "end"})


def test_missing_texts_and_numbers(tmp_path: Path, require: Require) -> None:
    """null, None and NaN are missing; numbers are texts, as in CSV."""
    pd, nan = require.module("pandas"), float("nan")
    answers: list[Any] = ["1879", 1879, None, nan, 2.5]
    rows = [{"id": f"q{i}", "answer": text, "answers": [1879]} for i, text in enumerate(answers)]
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    numbers = pd.DataFrame({"id": ["q0", "q1"], "answer": [1879.0, None], "answers": ["1879", "x"]})
    for source in (rows, tmp_path / "d.jsonl", pd.DataFrame(rows)):
        found = as_collection(source)
        assert found.texts == (("1879", "1879", None, None, "2.5"),)
        scored = Evaluation(found, "EM")
        assert np.nan_to_num(scored.scores["EM"], nan=-1).tolist() == [[1, 1, -1, -1, 0]]
        assert "2 answers are missing and left out" in scored.notes
    assert as_collection(numbers).texts == (("1879", None),)
    with pytest.raises(CalipersError, match="there are no texts"):
        as_collection([{"answer": None, "answers": ["x"]}])


def test_a_document_that_was_retrieved_twice_counts_once() -> None:
    row = {"id": "q", "answer": "a", "answers": ["a"], "retrieved": ["d2", "d1", "d2"], "relevant": ["d1", "d1"]}
    found = Evaluation([row], "RR P@2")
    assert found.scores.values.ravel().tolist() == [0.5, 0.5]
    said = "the rows: 1 document listed more than once for a query; the first place counts"
    assert said in found.notes
    assert said not in found.warnings


def test_data_of_ragas_without_ids_are_matched_by_text(tmp_path: Path) -> None:
    """The same numbers as those of `evaluate`, which reads judgments and a run from such a file."""
    rows = [
        {
            "user_input": f"q{i}",
            "response": "in Ulm",
            "reference": "Ulm",
            "retrieved_contexts": ["a", "b", "b", f"c{i}"],
            "reference_contexts": [f"c{i}", "a"][i:],
        }
        for i in range(2)
    ]
    file = tmp_path / "ragas.json"
    file.write_text(json.dumps(rows))
    found = Evaluation(as_collection(file), "nDCG@5 ContextRecall F1").scores
    expected = cal.evaluate(file, file, ["nDCG@5"], warn=False)
    assert found["nDCG@5"].tolist() == expected["nDCG@5"].tolist()
    assert any("the texts of retrieved documents are taken as their ids" in note for note in found.notes)


def test_columns_of_numbers_are_scores_by_their_names(tmp_path: Path) -> None:
    """They are no measures by default: nobody said that more is better."""
    file = tmp_path / "d.csv"
    file.write_text("id,answer,answers,faithfulness,latency,note,F1\nq1,a,a,0.5,20,7,0.1\nq2,b,c,,30,late,0.2\n")
    given = as_collection(file)
    assert {*given.other_scores} == {"faithfulness", "latency", "F1"}
    found = Evaluation(given, "faithfulness F1 latency(lower=true)").scores
    assert np.nan_to_num(found["faithfulness"], nan=-1).tolist() == [[0.5, -1]]
    assert found["F1"].tolist() == [[1, 0]]  # the measure
    assert found.lower == {"latency"}
    assert Evaluation(given).scores.measures == ("EM", "F1")
    told = cal.read_texts(file, scores=[{"id": "q1", "latency": 3}])
    assert Evaluation(told).scores.measures == ("EM", "F1", "latency")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1, "system": "a"', ":1: not JSON"),
        ('\n{"id": "x"}', ":2: there is no text: expected the field summary, decoded, sys_summ, answer, ...; found id"),
        ('{"id": "x", "system": true, "summary": "s"}', ":1: 'system' is not text"),
        ("[1, 2]", ": row 1: expected an object"),
        ('{"id": 1, "summary": "s", "references": "r"}\n{"summary": "s"}', ":2: 'id' is in some of the rows only"),
        (
            '{"system": "a", "summary": "s", "references": "r"}\n{"system": "b", "summary": "s", "references": "q"}',
            ":2: document '1' has another 'references' than before; without 'id', the nth text of each system",
        ),
        ("some text\nmore", ":2: there is no text: expected the field summary, decoded"),
        ("id,summary\n1,a,b", "row 1: expected 2 cells, as in the first line, found 3"),
        ("id,id,summary\n1,a,b", ":1: two columns are called 'id'"),
        ("summary,reference,human.style\na,b,good", ":2: the column 'human.style' has no number: 'good'"),
        ('summary,nuggets\na,"[1"', ":2: 'nuggets' is not JSON"),
        ("summary,nuggets\na,", "query '1' has no reference"),
        ('{"summary": "s", "nuggets": [{"text": "n"}]}', ":1: query '1': the nugget 'n' has no assignment"),
        ('{"summary": "s", "nuggets": [{"assignment": "some"}]}', "the support 'some' is not full, partial"),
        ('{"summary": "s", "nuggets": [{"assignment": 1, "importance": 2}]}', "importance 2 of a nugget is not vital"),
        ('{"summary": "s", "nuggets": [{"assignment": 1, "weight": -1}]}', "weight -1 of a nugget"),
        ('{"summary": "s", "statements": {}}', "'statements' is not a list"),
        ('{"summary": "s", "statements": [{"citations": [null]}]}', "None is not the id of a document"),
        ('{"summary": "s", "references": "r", "relevant": {"d": "x"}}', "'relevant' is not a list of documents"),
        ('{"id": "x", "system": "a", "references": "r"}', ":1: there is no text"),
        ('{"id": "x", "system": "a", "summary": {"a": 1}, "references": "r"}', ":1: 'summary' is not text"),
        ('{"id": "x", "system": "a", "summary": "s", "references": [null]}', "'references' is not a list of texts"),
        ('{"id": "x", "system": "a", "summary": "s", "references": "r", "source": 5}', "'source' is not text"),
        ('{"id": "x", "system": "a", "summary": "s"}', "document 'x' has no reference"),
        ('{"id": "x", "system": "a", "summary": "s", "references": "r", "human": {"c": "x"}}', "not an object of num"),
        ('{"summary": "s"}\n{"summary": "s", "human": {"c": Infinity}}', ":2: Infinity is not a finite number"),
        ('{"id": "x", "system": "a", "summary": "s", "references": "r"}\n' * 2, ":2: document 'x' has a second"),
        (
            '{"id": "x", "system": "a", "summary": "s", "references": "r"}\n'
            '{"id": "x", "system": "b", "summary": "s", "references": "q"}',
            ":2: document 'x' has another 'references'",
        ),
        (
            '{"id": "x", "system": "a", "summary": "s", "references": "r", "source": "1"}\n'
            '{"id": "x", "system": "b", "summary": "s", "source": "2"}',
            ":2: document 'x' has another 'source'",
        ),
        ("", "the file is empty"),
        ("\n\n", "there are no texts"),
        ('{"d1": {"src": "x", "ref_summs": ["r"], "sys_summs": {"a": {}}}}', "document 'd1', system 'a': 'sys_summ'"),
        ('{"d1": {"src": "x", "sys_summs": {}}, "d2": 5}', "document 'd2': 'sys_summs' is not an object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_bad_lines(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(CalipersError, match=re.escape(message)) as caught:
        as_collection(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bad_bytes(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(b'{"id": "x"}\n{"id": "\xe9"}\n')
    with pytest.raises(CalipersError, match=r"latin.jsonl:2: not UTF-8"):
        as_collection(path)
    with pytest.raises(CalipersError, match="absent"):
        as_collection(tmp_path / "absent.jsonl")


# -- scoring -----------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_functions(file: Path) -> None:
    """Batches and single calls are one and the same; so are the normalisations of rankings."""
    given = as_collection(file)
    measures = [
        "ROUGE-1",
        "ROUGE-2(part=recall)",
        "ROUGE-L",
        "E(ROUGE-1)",
        "U(ROUGE-1)",
        "V1(ROUGE-1)",
        "V2(ROUGE-1)",
        "V2(ROUGE-2(part=recall))",
    ]
    found = Evaluation(given, measures)
    assert found.scores.measures == tuple(measures)
    for s in range(2):
        for d, document in enumerate(given.documents):
            text = given.texts[s][d] or ""
            single = rouge(text, document.references)
            length = len(text.split()) or round(np.mean([len(r.split()) for r in document.references]))
            expected = [expected_rouge(document.source or "", document.references, length, n) for n in (1, 2)]
            value = {name: found.scores[name][s, d] for name in measures}
            assert value["ROUGE-1"] == pytest.approx(single["ROUGE-1"].f1)
            assert value["ROUGE-2(part=recall)"] == pytest.approx(single["ROUGE-2"].recall)
            assert value["ROUGE-L"] == pytest.approx(single["ROUGE-L"].f1)
            assert value["E(ROUGE-1)"] == pytest.approx(expected[0].f1)
            score = np.array([single["ROUGE-1"].f1])
            limits = Limits(np.ones(1), np.array([expected[0].f1]), np.zeros(1))
            for name, function in (("U", upper), ("V1", v1), ("V2", v2)):
                assert value[f"{name}(ROUGE-1)"] == pytest.approx(function(score, limits)[0])
            recall = Limits(np.ones(1), np.array([expected[1].recall]), np.zeros(1))
            assert value["V2(ROUGE-2(part=recall))"] == pytest.approx(
                v2(np.array([single["ROUGE-2"].recall]), recall)[0]
            )


def test_saying_nothing_gets_minus_one(file: Path) -> None:
    """And not 0, which an empty random summary of the same length would get."""
    found = Evaluation(as_collection(file), "ROUGE-1 V1(ROUGE-1) V2(ROUGE-1)")
    assert found.scores.values[:, 1, 1].tolist() == [0, 0, -1]
    assert found.notes == ("1 summary is empty and scored like any other",)


def test_missing_summaries_are_left_out(tmp_path: Path) -> None:
    found = Evaluation(as_collection(written(tmp_path / "d.jsonl", LINES[:3])), "ROUGE-1 V2(ROUGE-1)")
    assert found.notes[0] == "1 summary is missing and left out"
    assert np.isnan(found.scores["V2(ROUGE-1)"][1, 1])
    assert found.scores.reasons[0, 1, 1] == Reason.MISSING
    assert found.scores.mean()["b", "ROUGE-1"] == pytest.approx(
        rouge("on the mat the cat", LINES[0]["references"])["ROUGE-1"].f1
    )


def test_a_document_that_nobody_summarised(file: Path) -> None:
    given = as_collection(file)
    without = TextCollection(
        given.documents, given.systems, tuple((text, None) for text, _ in given.texts), given.human
    )
    found = Evaluation(without, "ROUGE-1 ROUGE-Lsum V2(ROUGE-1)", length="reference")
    assert np.isnan(found.scores.values[..., 1]).all()
    assert not np.isnan(found.scores.values[..., 0]).any()
    assert found.cannot_reorder == ("ROUGE-1",)


def test_an_expectation_needs_a_source(tmp_path: Path) -> None:
    lines = [{key: value for key, value in line.items() if key != "source"} for line in LINES]
    given = as_collection(written(tmp_path / "d.jsonl", lines))
    assert not np.isnan(Evaluation(given, "ROUGE-1 U(ROUGE-1)").scores.values).any()
    with pytest.raises(CalipersError, match="document 'd1' has no source, which expected scores"):
        Evaluation(given, "V1(ROUGE-1)").scores.mean()
    blank = [{**line, "source": "..."} for line in LINES]
    with pytest.raises(CalipersError, match="source of document 'd1' has no words"):
        Evaluation(as_collection(written(tmp_path / "b.jsonl", blank)), "V1(ROUGE-1)").scores.mean()


def test_lengths_and_bounds(file: Path) -> None:
    given = as_collection(file)
    fixed = Evaluation(given, "E(ROUGE-1)", length=2).scores.values[0, 0]
    assert fixed.tolist() == pytest.approx(
        [expected_rouge(d.source or "", d.references, 2).f1 for d in given.documents]
    )
    mean = Evaluation(given, "E(ROUGE-1)", length="reference").scores.values[0, :, 0]
    references = given.documents[0].references
    assert mean[0] == mean[1] == pytest.approx(expected_rouge(given.documents[0].source or "", references, 4).f1)
    # "the cat sat" against 5 and 4 words: at most 2 * 3 / 7 of the shorter one.
    attainable = Evaluation(given, "ROUGE-1 U(ROUGE-1)", upper="attainable")
    assert attainable.scores["U(ROUGE-1)"][0, 0] == pytest.approx(attainable.scores["ROUGE-1"][0, 0] / (6 / 7))


def test_expected_above_the_upper_bound_is_lowered(file: Path) -> None:
    found = Evaluation(as_collection(file), "V1(ROUGE-1) V2(ROUGE-1)", length=200, upper="attainable")
    assert found.bounded["ROUGE-1"].clamped > 0
    assert np.nanmax(found.scores.values) <= 1


shares = st.floats(0, 1, allow_subnormal=False)


@given(st.lists(shares, min_size=2, max_size=6), st.floats(0.001, 0.999))
def test_v1_and_v2_cannot_reorder_within_a_document(scores: list[float], expected: float) -> None:
    """With one expected score and one upper bound; with bounds of their own they can."""
    values = np.array(scores)[:, None, None]
    parts = np.concatenate([values] * 3, axis=2)
    fixed = BoundedScores("m", parts, np.ones_like(parts), np.full_like(parts, expected))
    assert fixed.same_within_documents
    for name in ("V1(ROUGE-1)", "V2(ROUGE-1)"):
        made = fixed.value(text_measure(name))[:, 0]
        order = np.argsort(scores, kind="stable")
        assert (np.diff(made[order]) >= -1e-12).all()
    own = np.full_like(parts, expected)
    own[0] /= 2
    assert not BoundedScores("m", parts, np.ones_like(parts), own).same_within_documents


@pytest.mark.data
def test_the_warning_is_about_something(summeval: TextCollection) -> None:
    """With a fixed length, tau at the summary level does not move; with the candidate's own it does."""
    measures = "ROUGE-2 V1(ROUGE-2) V2(ROUGE-2)"
    for length, same in (("reference", True), ("candidate", False)):
        found = Evaluation(summeval, measures, length=length, several="mean")
        assert found.cannot_reorder == (("ROUGE-2",) if same else ())
        taus = human_correlation(found.scores, summeval.human, ["summary"], ["tau-b"], samples=0)
        values = [[taus.value(name, aspect, "summary") for aspect in summeval.human] for name in found.scores.measures]
        assert (values[0] == pytest.approx(values[1], abs=1e-12)) is same
        assert (values[0] == pytest.approx(values[2], abs=1e-12)) is same


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("ROGUE", "unknown measure 'ROGUE'; did you mean ROUGE-L"),
        ("V1(V2(ROUGE-1))", "is not normalised again"),
        ("ROUGE-1(part=f2)", "part=f2 of 'ROUGE-1' is not one of precision, recall, f1"),
        ("V2(ROUGE-Lsum)", "words drawn at random form no sentences"),
        ("BERTScore", "needs a model"),
        ("", "no measure is named"),
    ],
)
def test_bad_measures(file: Path, names: str, message: str) -> None:
    with pytest.raises(CalipersError, match=re.escape(message)):
        Evaluation(as_collection(file), names).scores.mean()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"upper": "2"}, "unknown upper bound '2'"),
        ({"several": "min"}, "unknown way to combine references 'min'"),
        ({"length": 0}, "length '0' is not"),
        ({"length": "long"}, "length 'long' is not"),
        ({"draws": 1}, "texts and draws are at least 2"),
    ],
)
def test_bad_options(options: dict[str, object], message: str) -> None:
    with pytest.raises(CalipersError, match=re.escape(message)):
        TextOptions(**options)


def test_names_come_back() -> None:
    names = [
        "ROUGE-1",
        "ROUGE-Lsum",
        "BERTScore(part=recall)",
        "V1(ROUGE-2(part=precision))",
        "E(ROUGE-L)",
        "U(BERTScore)",
    ]
    assert [measure.named() for measure in text_measures(" ".join(names))] == names
    assert text_measure("v2(rouge-lsum)".replace("v2", "U")).base == "ROUGE-Lsum"


# -- agreement with people ---------------------------------------------------------------------------------

SCIPY = {"tau-b": stats.kendalltau, "spearman": stats.spearmanr, "pearson": stats.pearsonr}


def by_hand(x: np.ndarray, y: np.ndarray, level: str, coefficient: str) -> float:
    there = ~(np.isnan(x) | np.isnan(y))

    def of(a: np.ndarray, b: np.ndarray) -> float:
        if len(set(a)) < 2 or len(set(b)) < 2:
            return math.nan
        return float(SCIPY[coefficient](a, b)[0])

    if level == "pooled":
        return of(x[there], y[there])
    if level == "system":
        means = [np.array([round(row[t].mean(), 12) for row, t in zip(v, there, strict=True)]) for v in (x, y)]
        return of(*means)
    each = [of(x[t, d], y[t, d]) for d, t in enumerate(there.T)]
    return float(np.nanmean(each))


@pytest.mark.parametrize("coefficient", list(SCIPY))
@pytest.mark.parametrize("level", ["system", "summary", "pooled"])
def test_correlations_are_scipys(level: str, coefficient: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Point and every resample, with ties and with scores that are missing, some documents at a time."""
    monkeypatch.setattr("calipers.questions.metaeval.human_agreement.CELLS_AT_ONCE", 700)
    random = np.random.default_rng(5)
    for _ in range(5):
        x = random.integers(0, 6, size=(6, 8)) / 5
        y = random.integers(1, 6, size=(6, 8)).astype(float)
        x[random.random(x.shape) < 0.1] = np.nan
        scores = cal.as_scores(x, measure="m")
        found = human_correlation(scores, {"h": y}, [level], [coefficient], samples=30, confidence=0.9, seed=3)
        assert found.value("m", "h", level, coefficient) == pytest.approx(by_hand(x, y, level, coefficient), abs=1e-12)
        drawn = np.random.default_rng(3).multinomial(8, np.full(8, 1 / 8), size=30)
        again = [by_hand(x[:, d], y[:, d], level, coefficient) for d in (np.repeat(np.arange(8), w) for w in drawn)]
        (row,) = found.found
        assert (row.low, row.high) == pytest.approx(tuple(np.nanpercentile(again, [5, 95])), abs=1e-12)


def test_increase_over_the_base(file: Path) -> None:
    given = as_collection(file)
    found = Evaluation(given, "ROUGE-1 V2(ROUGE-1)")
    table = human_correlation(found.scores, given.human, ["pooled"], ["pearson"], bases={"V2(ROUGE-1)": "ROUGE-1"})
    base, new = (table.value(name, "coherence", "pooled", "pearson") for name in ("ROUGE-1", "V2(ROUGE-1)"))
    (increase,) = [f.increase for f in table.found if (f.measure, f.aspect) == ("V2(ROUGE-1)", "coherence")]
    assert increase == pytest.approx(100 * (new - base) / abs(base))


def test_bad_correlations(file: Path) -> None:
    given = as_collection(file)
    scores = Evaluation(given, "ROUGE-1").scores
    for arguments, message in (
        ({"levels": ["topic"]}, "unknown level 'topic'"),
        ({"coefficients": ["tau-c"]}, "unknown coefficient 'tau-c'"),
        ({"confidence": 1.0}, "not between 0 and 1"),
    ):
        with pytest.raises(CalipersError, match=message):
            human_correlation(scores, given.human, **arguments)
    with pytest.raises(CalipersError, match="no human scores for 'style'; there are coherence, relevance"):
        given.judgments("style")
    with pytest.raises(CalipersError, match="the human scores"):
        human_correlation(scores, {"c": np.zeros((1, 1))})


# -- preferences -------------------------------------------------------------------------------------------


def simulated(
    agreement: tuple[float, float], documents: int = 4000, seed: int = 0
) -> tuple[cal.Scores, list[Preference]]:
    """Two measures that see what three annotators prefer with given chances, independently of each other."""
    random = np.random.default_rng(seed)
    wanted = random.choice([-1, 1], size=documents)
    values = []
    for chance in agreement:
        sees = np.where(random.random(documents) < chance, wanted, -wanted)
        values.append(np.stack([0.5 + 0.1 * sees, np.full(documents, 0.5)]))
    ids = [f"d{i}" for i in range(documents)]
    votes = []
    for i, sign in enumerate(wanted):
        better, worse = ("a", "b") if sign > 0 else ("b", "a")
        minority = random.random() < 0.3
        votes += [Preference(ids[i], "a", "b", better)] * 2
        votes.append(Preference(ids[i], "b", "a", worse if minority else better))
    return cal.as_scores(np.array(values), ["a", "b"], ids, ["base", "new"]), votes


def test_win_lost_tie_of_simulated_people() -> None:
    """With chances p and q of being right: win q (1 - p), lost p (1 - q)."""
    scores, votes = simulated((0.6, 0.8))
    found = win_lost_tie(scores, "base", "new", votes)
    assert found.pairs == (("a", "b"),)
    assert found.items == (4000,)
    win, broken, lost, tie = found.shares[0]
    assert broken == 0, "the base never ties"
    for share, chance in ((win, 0.8 * 0.4), (lost, 0.6 * 0.2), (tie, 0.8 * 0.6 + 0.2 * 0.4)):
        assert abs(share - chance) < 4.5 * math.sqrt(chance * (1 - chance) / 4000)
    assert found.table().rows[-1][0] == "mean"
    swapped = win_lost_tie(scores, "new", "base", votes).shares[0]
    assert (swapped[0], swapped[2]) == (lost, win)


def test_means_are_over_pairs_and_undecided_items_are_left_out() -> None:
    scores = cal.as_scores(
        [[[1, 1], [0, 0], [0, 0]], [[0, 0], [1, 1], [2, 2]]], ["a", "b", "c"], ["d1", "d2"], ["base", "new"]
    )
    votes = [
        Preference("d1", "a", "b", "b"),
        Preference("d2", "a", "b", None),
        Preference("d1", "b", "c", "c"),
        Preference("d2", "b", "c", "c"),
        Preference("d2", "c", "b", "b"),
    ]
    found = win_lost_tie(scores, "base", "new", votes)
    assert found.undecided == 2, "one says neither, and one has a vote for each"
    assert found.items == (1, 1)
    assert found.shares.tolist() == [[1, 0, 0, 0], [0, 1, 0, 0]], "the base ties b and c, which is not seeing it"


@pytest.mark.parametrize(
    ("base", "new", "outcome"),
    [
        (-1, 1, "win"),
        (0, 1, "tie broken"),
        (1, 1, "tie"),
        (-1, 0, "tie"),
        (0, 0, "tie"),
        (1, 0, "lost"),
        (-1, -1, "tie"),
        (0, -1, "lost"),
        (1, -1, "lost"),
    ],
)
def test_each_outcome_of_an_item(base: int, new: int, outcome: str) -> None:
    """A tie of the base that is broken as people want it is no full win, and one that is broken wrongly is lost."""
    scores = cal.as_scores([[[float(base)], [0.0]], [[float(new)], [0.0]]], ["a", "b"], ["d"], ["base", "new"])
    found = win_lost_tie(scores, "base", "new", [Preference("d", "a", "b", "a")]).table()
    row = dict(zip(found.columns, found.rows[0], strict=True))
    assert [name for name in ("win", "tie broken", "lost", "tie") if row[name] == 1] == [outcome]


def test_fixed_bounds_never_win_or_lose(file: Path) -> None:
    """What MATH.md 7 says of tables 8.4 and 9.2."""
    given = as_collection(file)
    votes = [Preference(d, "a", "b", who) for d in given.ids for who in ("a", "b", "a")]
    found = Evaluation(given, "ROUGE-1 V2(ROUGE-1)", length="reference")
    assert win_lost_tie(found.scores, "ROUGE-1", "V2(ROUGE-1)", votes).shares.tolist() == [[0, 0, 0, 1]]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id,first,second\nd1,a,b\n", ":2: expected the columns"),
        ("id,first,second,preferred\nd1,a,,a\n", ":2: expected the columns"),
        ("id,first,second,preferred\nd1,a,b,c\n", ":2: 'c' is not one of two systems"),
        ("id,first,second,preferred\n", "no preference"),
    ],
)
def test_bad_preferences(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(content)
    with pytest.raises(CalipersError, match=re.escape(message)):
        read_preferences(path)
    scores = cal.as_scores([[0.1], [0.2]], ["a", "b"], ["d1"], "m")
    for vote, said in (
        (Preference("d9", "a", "b", "a"), "document 'd9'"),
        (Preference("d1", "a", "x", "a"), "system 'x'"),
    ):
        with pytest.raises(CalipersError, match=said):
            win_lost_tie(scores, "m", "m", [vote])


# -- the commands ------------------------------------------------------------------------------------------


def test_score_command(file: Path, tmp_path: Path) -> None:
    shown = run("evaluate", file, "-m", "ROUGE-1 V2(ROUGE-1)", "--format", "csv")
    assert shown.exit_code == 0
    assert shown.stdout.splitlines()[0] == "system,ROUGE-1,V2(ROUGE-1)"
    assert "1 summary is empty and scored like any other" in shown.stderr
    output = tmp_path / "out.json"
    run("evaluate", file, "-m", "ROUGE-L", "-q", "--format", "json", "-o", output)
    rows = json.loads(output.read_text())
    assert [(row["system"], row["query"]) for row in rows] == [("a", "d1"), ("a", "d2"), ("b", "d1"), ("b", "d2")]
    assert rows[1]["ROUGE-L"] == pytest.approx(8 / 9)


def test_strict_and_systems(file: Path) -> None:
    assert "1 summary is empty and scored like any other (--strict)" in str(
        run("evaluate", file, "-m", "ROUGE-1", "--strict").exception
    )
    only = run("evaluate", file, "a", "-m", "ROUGE-1", "--strict", "--format", "csv")
    assert len(only.stdout.splitlines()) == 2
    assert "unknown system 'z'; there are a, b" in str(run("evaluate", file, "z").exception)


def test_v1_and_v2_that_keep_the_order_of_texts(file: Path) -> None:
    collection = as_collection(file)
    for length, expected in (("reference", ["ROUGE-1"]), ("candidate", [])):
        found = Evaluation(collection, "ROUGE-1 V2(ROUGE-1)", length=length)
        notes = people_of(found, "relevance", None, None, correlation="tau-b", samples=20, seed=1, alpha=0.05).notes
        said = [note for note in notes if note.endswith("at the summary level are those of ROUGE-1")]
        assert len(said) == len(expected)


def test_compare_command(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests of `calipers compare`, over documents."""
    shown = run("compare", file, "-m", "ROUGE-2 V2(ROUGE-2)", "--baseline", "b", "--format", "csv")
    found = Evaluation(as_collection(file), "ROUGE-2 V2(ROUGE-2)")
    assert shown.stdout == cal.compare(found.scores, baseline="b").table().to_csv()
    matrix = run(
        "compare",
        file,
        "-m",
        "ROUGE-2",
        "--test",
        "randomization",
        "--seed",
        "7",
        "--samples",
        "50",
        "--show",
        "matrix",
    )
    assert "seed 7" in matrix.stderr
    monkeypatch.setattr("calipers.texts.evaluation.bounded", lambda *given, **named: pytest.fail("scored first"))
    assert "unknown system 'c'; there are a, b" in str(run("compare", file, "--baseline", "c").exception)


def test_a_subset_of_documents(file: Path) -> None:
    whole = as_collection(file)
    wanted = Evaluation(whole.of_documents(["d2"]), "ROUGE-1").scores
    assert wanted.values[0, :, 0] == pytest.approx(Evaluation(whole, "ROUGE-1").scores.values[0, :, 1])
    part = whole.of_documents(["d2"])
    assert all((part.human[aspect][:, 0] == whole.human[aspect][:, 1]).all() for aspect in whole.human)
    with pytest.raises(CalipersError, match="d9"):
        whole.of_documents(["d9"])


def test_the_expected_text_is_one_draw_from_the_source() -> None:
    """It is the first of the random texts whose mean score is the expected one."""
    source = "the cat sat on the mat and the dog saw the cat"
    text = cal.texts.expected_summary(source, length=5)
    document = cal.texts.Document("d", ("five words are in here",), source)
    options = TextOptions(length=5)
    drawn = RandomTexts(TextCollection.of([document], {("d", "s"): "a b c"}, {}), options).drawn_for(
        "words", document, ("x",)
    )
    assert text == drawn.groups[0][0]
    assert text == cal.texts.expected_summary(source, references=document.references)
    other = {cal.texts.expected_summary(source, length=5, options=TextOptions(seed=seed)) for seed in range(9)}
    assert len(other) > 5
    long = cal.texts.expected_summary(source, length=20_000).split()
    assert long.count("the") / len(long) == pytest.approx(4 / 12, abs=0.02), "by how often a word occurs"
    for wrong, message in (({}, "needs its length"), ({"length": 0}, "at least 1")):
        with pytest.raises(CalipersError, match=message):
            cal.texts.expected_summary(source, **wrong)
    with pytest.raises(CalipersError, match="no words"):
        cal.texts.expected_summary("...", length=3)


def test_the_expected_texts_as_a_command(file: Path) -> None:
    found = json.loads(run("text", "expected", file, "--length", "7", "--format", "json").stdout)
    given = as_collection(file)
    wanted = [cal.texts.expected_summary(str(each.source), length=7) for each in given.documents]
    assert [row["expected"] for row in found] == wanted


def test_bad_commands(file: Path, tmp_path: Path) -> None:
    for arguments, message in (
        ((file, "-m", "BERTScore"), "BERTScore needs"),
        ((tmp_path / "no.jsonl",), "no.jsonl"),
        ((file, "-m", "METEER"), "unknown measure 'METEER'"),
    ):
        found = run("evaluate", *arguments)
        assert isinstance(found.exception, CalipersError)
        assert message in str(found.exception)
    assert "need an encoder" in str(run("text", "documents", file).exception)
