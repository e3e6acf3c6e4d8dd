"""Commands that take texts where they take rankings: the content of DATA decides."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import calipers as cal
from calipers.cli.commands import root
from calipers.evaluation.evaluation import ONLY_RANKINGS
from calipers.texts import Evaluation, parallel_texts
from calipers.texts.recognition import holds_texts

ROWS = [
    {
        "qid": f"q{number}",
        "run_id": system,
        "answer": "in Ulm" if system == "rag0" or number % 2 else "Bern",
        "answers": ["Ulm"],
        "retrieved": ["d1", f"d{2 + number}"],
        "relevant": {f"d{2 + number}": 1},
    }
    for number in range(6)
    for system in ("rag0", "rag1")
]
Ask = Callable[..., Result]


@pytest.fixture
def answers(tmp_path: Path) -> str:
    return written(tmp_path / "answers.jsonl", ROWS)


@pytest.fixture
def ask() -> Ask:
    def ask(*arguments: Any, code: int = 0) -> Result:
        result = CliRunner().invoke(root, [*map(str, arguments)])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            assert code == 2, result.exception
            assert isinstance(result.exception, cal.CalipersError)
            return result
        assert result.exit_code == code, result.output
        return result

    return ask


def written(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def cells(result: Result) -> list[dict[str, str]]:
    return [*csv.DictReader(result.stdout.splitlines())]


def test_evaluate_prints_the_scores_of_an_experiment_of_texts(answers: str, ask: Ask) -> None:
    found = cells(ask("evaluate", answers, "-m", "F1 nDCG@10 ContextRecall", "--format", "csv"))
    means = cal.Experiment(cal.read_texts(answers), measures="F1 nDCG@10 ContextRecall", warn=False).scores.mean()
    assert [row["system"] for row in found] == ["rag0", "rag1"]
    for row in found:
        for measure in ("F1", "nDCG@10", "ContextRecall"):
            assert float(row[measure]) == means[row["system"], measure]


def test_intervals_of_texts_stay_within_their_range(answers: str, ask: Ask) -> None:
    for row in cells(ask("evaluate", answers, "-m", "F1 EM", "--interval", 0.99, "--format", "csv")):
        for low, high in ((row[f"{name} low"], row[f"{name} high"]) for name in ("F1", "EM")):
            assert low == high == "" or 0 <= float(low) < float(high) <= 1


def test_stored_scores_of_texts_are_compared_like_texts(answers: str, ask: Ask, tmp_path: Path) -> None:
    scores = tmp_path / "scores.csv"
    ask("evaluate", answers, "-m", "F1", "-q", "-o", scores)
    one, other = (ask("compare", data, "-m", "F1", "--format", "csv") for data in (answers, scores))
    assert one.stdout == other.stdout
    assert cells(ask("evaluate", scores, "--format", "csv")) == cells(
        ask("evaluate", answers, "-m", "F1", "--format", "csv")
    )
    limits = ("-m", "F1", "--max-drop", 0.1)
    plain = ask("check", answers, "rag1", "--baseline", "rag0", *limits, code=1)
    stored = ask("check", answers, "rag1", "--baseline", f"rag0={scores}", *limits, code=1)
    assert plain.stdout == stored.stdout


def test_later_arguments_are_names_of_systems_or_further_files(answers: str, ask: Ask, tmp_path: Path) -> None:
    for system in ("rag0", "rag1"):
        rows = [{k: v for k, v in row.items() if k != "run_id"} for row in ROWS if row["run_id"] == system]
        written(tmp_path / f"{system}.jsonl", rows)
    options = ("-m", "F1", "--format", "csv")
    both = cells(ask("evaluate", answers, *options))
    one, other = tmp_path / "rag0.jsonl", tmp_path / "rag1.jsonl"
    assert cells(ask("evaluate", one, other, *options)) == both
    assert cells(ask("evaluate", f"rag0={one}", f"rag1={other}", *options)) == both
    assert cells(ask("evaluate", answers, "rag1", *options)) == both[1:]
    assert cells(ask("evaluate", f"old={one}", *options)) == [{**both[0], "system": "old"}]
    found = ask("check", f"old={one}", f"new={other}", "--baseline", "old", "-m", "F1", "--max-drop", 0.1, code=1)
    assert "new drops by more than is allowed against old" in found.stdout
    assert "unknown system 'rag2'" in str(ask("evaluate", answers, "rag2", code=2).exception)


def test_diff_and_plan(answers: str, ask: Ask) -> None:
    found = cells(ask("diff", answers, "rag0", "rag1", "-m", "F1", "--format", "csv"))
    assert set(found[0]) == {"query", "F1 old", "F1 new", "F1 difference"}
    assert min(float(row["F1 difference"]) for row in found) == -2 / 3
    assert int(cells(ask("plan", answers, "-m", "F1", "--difference", 0.1, "--format", "csv"))[0]["queries"]) > 1


def test_the_seed_that_is_printed_is_that_of_the_measure(tmp_path: Path, ask: Ask) -> None:
    rows = [{"summary": "the cat sat", "references": ["a cat on the mat", "the cat"], "source": "the cat sat on a mat"}]
    data = written(tmp_path / "data.jsonl", rows)
    for measure, seed in (("V2(F1, texts=20, seed=3)", 3), ("V2(F1, texts=20)", 42)):
        assert f"20 per summary, seed {seed}," in ask("evaluate", data, "-m", measure).stderr


def test_inspect_names_missing_empty_and_equal_texts(tmp_path: Path, ask: Ask) -> None:
    answers = {"a": ["x", "y", None], "b": ["x", "x", " "], "c": ["x", "y", None], "d": ["z", "z", "z"]}
    rows = [
        {
            "id": f"q{number}",
            "system": system,
            "answer": text,
            "references": ["x"],
            "relevant": ["d1"],
            "retrieved": ["D1"],
        }
        for system, texts in answers.items()
        for number, text in enumerate(texts)
    ]
    found = json.loads(ask("inspect", written(tmp_path / "answers.jsonl", rows), "--format", "json").stdout)
    assert [(each["about"], each["finding"]) for each in found["findings"]][1:] == [
        ("a", "1 answer of 3 is missing"),
        ("b", "1 answer of 3 is empty"),
        ("c", "1 answer of 3 is missing"),
        ("c", "has the same texts as a"),
        ("d", "writes one and the same answer about every query"),
    ]
    assert found["findings"][0]["finding"] == "no retrieved document is relevant: do the ids match?"
    assert found["systems"][1] == {"system": "b", "texts": 3, "missing": 0, "empty": 1, "words": 1}
    assert {"field": "references", "values": 3} in found["fields"]
    nothing = written(
        tmp_path / "nothing.jsonl", [{**row, "answer": None} if row["system"] == "a" else row for row in rows]
    )
    assert "every answer is missing" in ask("inspect", nothing, code=1).output


def test_corpus_scores_are_an_extra_table(tmp_path: Path, ask: Ask, require: Any) -> None:
    require.module("sacrebleu")
    rows = [
        {"id": str(n), "system": "a", "summary": text, "references": ["the cat sat on the mat"]}
        for n, text in enumerate(("the cat sat on the mat", "a dog"))
    ]
    data = written(tmp_path / "data.jsonl", rows)
    folder = tmp_path / "tables"
    ask("evaluate", data, "-m", "ROUGE-1 BLEU", "--format", "csv", "-o", f"{folder}/")
    assert [path.name for path in sorted(folder.iterdir())] == ["corpus.csv", "scores.csv"]
    assert (folder / "corpus.csv").read_text().splitlines()[0] == "system,BLEU"
    assert "corpus scores" in ask("evaluate", data, "-m", "BLEU").stdout
    assert "corpus" not in ask("evaluate", data, "-m", "BLEU", "--format", "csv").stdout


def test_a_dataset_of_ragas_is_texts_and_as_its_own_run_rankings(tmp_path: Path, ask: Ask) -> None:
    rows = [
        {
            "user_input": f"what is {n}?",
            "response": "in Ulm",
            "reference": "Ulm",
            "retrieved_context_ids": [f"d{n}", "d9", "d8"],
            "reference_context_ids": ["d8", "d7"],
        }
        for n in range(7, 10)
    ]
    data = written(tmp_path / "ragas.jsonl", rows)
    texts, rankings = (
        cells(ask("evaluate", *files, "-m", "nDCG@5 AP RR", "--format", "csv")) for files in ([data], [data, data])
    )
    assert [[row[name] for name in ("nDCG@5", "AP", "RR")] for row in texts] == [
        [row[name] for name in ("nDCG@5", "AP", "RR")] for row in rankings
    ]
    assert cells(ask("evaluate", data, "-m", "F1", "--format", "csv"))[0]["F1"] == str(2 / 3)
    run = tmp_path / "some.run"
    run.write_text("".join(f"{json.dumps({'query': row['user_input'], 'doc': 'd8', 'score': 1})}\n" for row in rows))
    assert cells(ask("evaluate", data, run, "-m", "RR", "--format", "csv"))[0]["RR"] == "1.0"


def test_convert_writes_rows_of_parallel_files(tmp_path: Path, ask: Ask) -> None:
    texts = {
        "a": "the cat\na dog\n",
        "b": "x cat\nthe dog\n",
        "r": "a cat\nthe dog\n",
        "r2": "cat\ndog\n",
        "s": "A cat.\nA dog.\n",
    }
    files = {name: tmp_path / f"{name}.txt" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text, encoding="utf-8")
    references = ("--references", files["r"], "--references", files["r2"], "--source", files["s"])
    out = tmp_path / "rows.jsonl"
    ask("convert", f"one={files['a']}", files["b"], *references, "-o", out)
    rows = cal.read_texts(out)
    parallel = parallel_texts({"one": files["a"], "b": files["b"]}, [files["r"], files["r2"]], files["s"])
    assert (rows.systems, rows.texts, rows.documents) == (parallel.systems, parallel.texts, parallel.documents)
    ask("convert", files["a"], *references, tmp_path / "same.jsonl")
    (tmp_path / "short.txt").write_text("one\n", encoding="utf-8")
    for arguments, words in (
        ([files["a"], f"a={files['b']}", *references, "-o", out], "two systems have the name 'a'"),
        ([tmp_path / "short.txt", *references, "-o", out], "line n of each file"),
        ([files["a"], *references, tmp_path / "rows.csv"], "rows of texts are written as .jsonl"),
        ([files["a"]], "expected IN and OUT"),
        ([files["a"], "--source", files["s"], out], "expected IN and OUT"),
    ):
        assert words in str(ask("convert", *arguments, code=2).exception)


@pytest.mark.parametrize(
    "question",
    [
        "ranges DATA rag0",
        "ranges DATA DATA",
        "bounds DATA",
        "queries DATA DATA",
        "audit DATA DATA",
        "sampled DATA DATA --items 10",
        "information ric DATA DATA",
        "fuse DATA DATA",
        "pool DATA --depth 1",
        "convert DATA out.csv",
        "evaluate DATA --engine spark",
    ],
)
def test_questions_about_rankings_refuse_texts(question: str, answers: str, ask: Ask) -> None:
    result = ask(*(answers if word == "DATA" else word for word in question.split()), code=2)
    assert ONLY_RANKINGS in str(result.exception)


def test_trec_eval_refuses_texts(answers: str) -> None:
    result = CliRunner().invoke(root, ["trec_eval", answers, answers])
    assert ONLY_RANKINGS in result.output


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ('{"id": "1", "summary": "a", "references": ["b"]}\n', True),
        ('[{"input": "q", "actual_output": "a", "expected_output": "b"}]', True),
        ('{"d1": {"src": "s", "ref_summs": ["r"], "sys_summs": {"a": {"sys_summ": "t"}}}}', True),
        ("query_id;answer;reference\nq1;a;b\n", True),
        ("id\tprediction\tanswer1\tanswer2\nq1\t1\t2\t3\n", True),
        ("q1 0 d1 1\n", False),
        ("q1 Q0 d1 1 0.5 run\n", False),
        ("query,document,grade,answer\nq1,d1,1,Ulm\n", False),
        ('{"query": "q1", "doc_id": "d1", "score": 2, "summary": "a document"}\n', False),
        ('{"q1": {"answer": 1, "summary": 2}}', False),
        ("system,query,answer\na,q1,0.5\n", False),
        ('{"hits": {"hits": [{"_id": "d1", "_source": {"summary": "a"}}]}}', False),
        ("", False),
    ],
)
def test_what_texts_are(content: str, texts: bool, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text(content)
    assert holds_texts(str(file)) is texts


def test_columns_tell_texts_from_rankings(tmp_path: Path, ask: Ask) -> None:
    file = tmp_path / "table.csv"
    file.write_text("key,final,gold\nq1,in Ulm,Ulm\n")
    assert holds_texts(str(file), {"text": "final"})
    assert not holds_texts(str(file), {"query": "key"})
    columns = "id=key,text=final,references=gold"
    found = cells(ask("evaluate", file, "--columns", columns, "-m", "F1", "--format", "csv"))
    assert float(found[0]["F1"]) == Evaluation([{"answer": "in Ulm", "references": "Ulm"}], "F1").scores.values[0, 0, 0]
