"""The files that people have from other tools, read without any option: each as that tool writes it."""

from __future__ import annotations

import gzip
import json
import math
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.cli.commands import run as run_command
from calipers.collection.column_names import NAMES
from calipers.errors import CalipersError, CalipersWarning
from calipers.evaluation.inputs import as_judgments, as_runs
from conftest import ROOT

Write = Callable[..., str]
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: Any, name: str = "file") -> str:
        path = tmp_path / name
        if not isinstance(content, str | bytes):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def refusal(call: Callable[..., Any], *arguments: Any, **named: Any) -> str:
    with pytest.raises(CalipersError) as caught:
        call(*arguments, **named)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def first_note(run: Any) -> str:
    """On how a run was read, where its kind has notes."""
    return str(run.notes[0])


def grades(path: Any, **named: Any) -> dict[str, dict[str, float]]:
    return cal.read_judgments(path, **named).to_dict()


def scores(path: Any, **named: Any) -> dict[str, dict[str, float]]:
    return cal.read_run(path, **named).to_dict()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """A command as `calipers.cli.main` runs it: exit code, output, and what it said."""

    def command(*arguments: Any) -> tuple[int, str, str]:
        words = [*map(str, arguments)]
        try:
            code = run_command(words)
        except CalipersError as error:
            return 2, "", str(error)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


# -- BEIR and MTEB -----------------------------------------------------------------------------------

BEIR_QRELS = "query-id\tcorpus-id\tscore\nPLAIN-2\tMED-2427\t2\nPLAIN-2\tMED-10\t0\nPLAIN-12\tMED-2513\t1\n"
BEIR_GRADES = {"PLAIN-2": {"MED-2427": 2, "MED-10": 0}, "PLAIN-12": {"MED-2513": 1}}
BEIR_RESULTS = {"PLAIN-2": {"MED-10": 0.71, "MED-2427": 0.62}, "PLAIN-12": {"MED-2513": 0.5}}


def test_beir(write: Write) -> None:
    qrels, results = write(BEIR_QRELS, "test.tsv"), write(BEIR_RESULTS, "results.json")
    assert grades(qrels) == BEIR_GRADES
    rows = [{"query-id": "PLAIN-2", "corpus-id": "MED-10", "score": 1}]  # the same as on the Hugging Face hub
    assert grades(write("\n".join(map(json.dumps, rows)), "test.jsonl")) == {"PLAIN-2": {"MED-10": 1}}
    assert scores(results) == BEIR_RESULTS
    assert cal.evaluate(qrels, results, ["RR"])["RR"].tolist() == [[0.5, 1.0]]
    # A score is the grade in BEIR's judgments alone.
    assert "'score' makes it look like a run" in refusal(grades, write("qid,docno,score\n1,a,3\n"))


def test_texts(write: Write) -> None:
    queries = write(
        '{"_id": "PLAIN-2", "text": "Do statins cause cancer?", "metadata": {"url": "x"}}\n'
        '{"_id": "PLAIN-12", "text": "Exploiting autophagy"}\n',
        "queries.jsonl",
    )
    assert cal.read_titles(queries) == {"PLAIN-2": "Do statins cause cancer?", "PLAIN-12": "Exploiting autophagy"}
    assert cal.read_titles(queries, ids={"PLAIN-12", "other"}) == {"PLAIN-12": "Exploiting autophagy"}
    corpus = write('{"_id": "MED-10", "title": "Statin use", "text": "Recent studies"}\n', "corpus.jsonl")
    assert cal.read_titles(corpus) == {"MED-10": "Statin use Recent studies"}
    assert cal.read_titles(write("1048585\twhat is\tpaula\n2\tx\n")) == {"1048585": "what is\tpaula", "2": "x"}
    assert cal.read_titles(write("1\t{x} tea\n{2}\tcup\n{\ttea\n")) == {"1": "{x} tea", "{2}": "cup", "{": "tea"}
    assert cal.read_titles(write("{1}\ttea\n2\tcup\n")) == {"{1}": "tea", "2": "cup"}
    assert cal.read_titles(write("qid,query\n1,red shoes\n2,socks\n")) == {"1": "red shoes", "2": "socks"}
    assert cal.read_titles(write('Doc ID,Title,Text\n7,Tea,"hot, sweet"\n')) == {"7": "hot, sweet"}
    assert "file:2: not JSON" in refusal(cal.read_titles, write('{"_id": "1", "text": "a"}\n{"_id"\n'))
    assert "two different texts" in refusal(cal.read_titles, write("1\ta\n1\tb\n"))
    assert "an id and a text" in refusal(cal.read_titles, write("alone\n"))


def test_mteb(write: Write) -> None:
    """Predictions as MTEB 2 writes them; its results are means, and say so."""
    meta = {"model_name": "intfloat/e5-small", "revision": "e272f30"}
    one = write({"mteb_model_meta": meta, "default": {"test": BEIR_RESULTS}}, "NFCorpus_predictions.json")
    assert cal.read_run(one).name == "intfloat/e5-small"
    assert scores(one) == BEIR_RESULTS
    other = {"PLAIN-2": {"MED-10": 0.5}}
    two = write({"mteb_model_meta": meta, "fin": {"test": BEIR_RESULTS}, "swe": {"test": other}})
    runs = {run.name: run.to_dict() for run in cal.read_runs(two)}
    assert runs == {"intfloat/e5-small:fin:test": BEIR_RESULTS, "intfloat/e5-small:swe:test": other}
    assert scores(write({"default": {"test": BEIR_RESULTS}})) == BEIR_RESULTS
    assert cal.evaluate(BEIR_GRADES, one, ["RR"])["RR"].tolist() == [[0.5, 1.0]]
    result = {"dataset_revision": "ec0fa4", "mteb_version": "1.38.9", "scores": {"test": [{"ndcg_at_10": 0.3}]}}
    assert "mean scores, without rankings" in refusal(scores, write(result))
    assert "predictions of MTEB: judgments come first" in refusal(grades, one)


# -- tables ------------------------------------------------------------------------------------------

MSMARCO = "1048585\t7187158\t1\n1048585\t7187157\t2\n1048585\t7187163\t3\n2\t4339068\t1\n2\t1782337\t2\n"


def test_three_columns_are_ranks_or_scores_by_the_rule(write: Write, command: Command) -> None:
    by_rank = {"1048585": {"7187158": -1, "7187157": -2, "7187163": -3}, "2": {"4339068": -1, "1782337": -2}}
    run = cal.read_run(write(MSMARCO, "run.tsv"))
    assert run.to_dict() == by_rank
    assert "the third runs 1, 2, ... in every query and is taken as the rank" in first_note(run)
    # In file order, query by query: also where the lines of queries are mixed, and with blanks instead of tabs.
    mixed = "".join(sorted(MSMARCO.splitlines(keepends=True), key=lambda line: line.split("\t")[2]))
    assert scores(write(mixed.replace("\t", " "))) == {query: dict(of) for query, of in by_rank.items()}
    # One that does not run 1, 2, ... makes all of them scores.
    for old, new in (("\t3\n", "\t4\n"), ("1\n2\t1782337\t2", "2\n2\t1782337\t1"), ("7157\t2", "7157\t2.5")):
        changed = write(MSMARCO.replace(old, new))
        assert min(value for of in scores(changed).values() for value in of.values()) == 1
        assert "is taken as the score" in first_note(cal.read_run(changed))
    judged = {"1048585": {"7187157": 1}, "2": {"4339068": 1}}
    with pytest.warns(CalipersWarning, match="taken as the rank"):
        found = cal.evaluate(judged, write(MSMARCO), ["RR"])
    assert found["RR"].tolist() == [[0.5, 1.0]]
    assert "taken as the rank" in found.notes[0]
    qrels = write("1048585 0 7187157 1\n2 0 4339068 1\n", "qrels")
    _, out, said = command("evaluate", qrels, write(MSMARCO, "run.tsv"), "-m", "RR", "--format", "csv")
    assert out.splitlines()[1] == "run,0.75"
    assert said.count("taken as the rank") == 1
    many = [write(MSMARCO, f"run{i}.tsv") for i in range(5)]
    said = command("evaluate", qrels, *many, "-m", "RR")[2]
    assert said.count("taken as the rank") == 1  # one line for all of them
    assert "run2.tsv and 2 more: three columns" in said
    # Naming the columns says it all.
    assert scores(write(MSMARCO), columns={"query": "1", "document": "2", "score": "3"})["2"]["1782337"] == 2
    assert scores(write(MSMARCO), columns={"query": "1", "document": "2", "rank": "3"})["2"]["1782337"] == -2
    assert scores(write("2,0.5,d\n"), columns={"query": "1", "document": "3", "score": "2"}) == {"2": {"d": 0.5}}


def test_headerless(write: Write) -> None:
    want = {"q1": {"d1": 3, "d2": 0}, "q2": {"d1": 1}}
    for delimiter in ("\t", ",", ";", "|", " ", "  "):
        assert grades(write("q1,d1,3\nq1,d2,0\nq2,d1,1\n".replace(",", delimiter))) == want
    assert grades(write("q1,0,d1,3\nq1,0,d2,0\nq2,0,d1,1\n")) == want
    run = "q1,Q0,d1,1,2.5,bm25\nq1,Q0,d2,2,1.5,bm25\n"
    assert (cal.read_run(write(run)).name, scores(write(run))) == ("bm25", {"q1": {"d1": 2.5, "d2": 1.5}})
    assert "4 columns without a header: say which is which" in refusal(scores, write("q1,d1,1,2.5\n"))
    assert scores(write("q1,d1,1,2.5\n"), columns={"query": "1", "document": "2", "score": "4"}) == {"q1": {"d1": 2.5}}
    assert "file:2: expected 3 fields (query document number), found 4" in refusal(grades, write("q d 1\nq d 1 2\n"))
    ranked = "".join(f"q1\td{i}\t{i}\n" for i in range(1, 13))
    assert "as ranks of a run do" in cal.read_judgments(write(ranked)).notes[0]


def test_queries_that_are_texts(write: Write) -> None:
    want = {"red shoes": {"d1": 3}, "warm winter socks": {"d7": 0}, "hat": {"d1": 1}}
    rows = [(query, document, grade) for query, of in want.items() for document, grade in of.items()]
    for ordered in (rows, rows[::-1]):  # the first line may have three fields, four or six
        for delimiter in ("\t", ",", ";"):
            path = write("".join(delimiter.join(map(str, row)) + "\n" for row in ordered))
            assert grades(path) == want, delimiter
    run = {query: {document: 1.5} for query, document, _ in rows}
    assert cal.evaluate(path, run, ["RR"])["RR"].tolist() == [[1.0, 0.0, 1.0]]
    assert grades(write('query,docid,rating\n"shoes, red",doc 1,3\nboots,doc-2,0\n')) == {
        "shoes, red": {"doc 1": 3},
        "boots": {"doc-2": 0},
    }


def test_quepid(write: Write, command: Command) -> None:
    """Ratings as Quepid exports them (some documents have none), and a snapshot, which has positions."""
    ratings = "query,docid,rating\nstar wars,11,3\nstar wars,1893,\nrambo,7555,1\n"
    judgments = cal.read_judgments(write(ratings, "case.csv"))
    assert judgments.to_dict() == {"star wars": {"11": 3}, "rambo": {"7555": 1}}
    assert "1 row without a grade in 'rating'; left out" in judgments.notes[0]
    snapshot = (
        "Snapshot Name,Snapshot Time,Case ID,Query Text,Doc ID,Doc Position,title\r\n"
        "(3/5/26) Weekly,2026-03-05T12:00:00Z,8,star wars,1893,1,Episode I\r\n"
        '(3/5/26) Weekly,2026-03-05T12:00:00Z,8,star wars,11,2,"Star, Wars"\r\n'
    )
    run = cal.read_run(write(snapshot, "snapshot.csv"))
    assert (run.name, run.to_dict()) == ("(3/5/26) Weekly", {"star wars": {"1893": -1, "11": -2}})
    _, out, said = command("evaluate", write(ratings, "a.csv"), write(snapshot, "b.csv"), "-m", "RR", "--format", "csv")
    assert out.splitlines()[1] == "(3/5/26) Weekly,0.25", said
    assert "documents are ordered by 'Doc Position' (score = -rank)" in said
    assert "without a grade" in said


@pytest.mark.parametrize("role", ["query", "document", "grade", "score", "rank"])
def test_synonyms(role: str, write: Write) -> None:
    """Every name of the one table, in any case and with any separator."""
    usual = {"query": "qid", "document": "docno", "grade": "grade", "score": "score", "rank": "rank"}
    number = role if role in ("score", "rank") else "grade"
    for name in (name for names in NAMES[role] for name in names):
        for shown in {
            name,
            name.upper(),
            name.replace("_", "-"),
            name.replace("_", " ").title(),
            name.replace("_", ""),
        }:
            header = [shown if each == role else usual[each] for each in ("query", "document", number)]
            path = write(",".join(header) + "\n1,a,3\n")
            found = grades(path) if number == "grade" else scores(path)
            assert found == {"1": {"a": -3 if role == "rank" else 3}}, shown


def test_rank_only(write: Write) -> None:
    pandas = pytest.importorskip("pandas")
    table = {"qid": ["1", "1"], "docno": ["a", "b"], "rank": [0, 1]}
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    frame = pandas.DataFrame(table)
    frame.to_parquet(path := write("", "run.parquet"))
    for source in (frame, path, write(rows, "rows.json"), write(frame.to_csv(index=False), "run.csv")):
        run = cal.read_run(source)
        assert run.to_dict() == {"1": {"a": 0, "b": -1}}
        assert "there is no score: documents are ordered by 'rank'" in first_note(run)
        with pytest.warns(CalipersWarning, match="ordered by 'rank'"):
            assert cal.evaluate({"1": {"b": 1}}, source, ["RR"])["RR"].tolist() == [[0.5]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf_16(encoding: str, write: Write, command: Command) -> None:
    mark = {"utf-16": "", "utf-16-le": "\ufeff", "utf-16-be": "\ufeff"}[encoding]
    texts = {
        "qrels": "é1 0 d1 3\né1 0 d2 0\n",
        "tsv": "query\tdocid\trating\né1\td1\t3\né1\td2\t0\n",
        "json": '{"é1": {"d1": 3, "d2": 0}}',
        "csv": "é1,d1,3\né1,d2,0\n",
    }
    for name, text in texts.items():
        path = write((mark + text).encode(encoding), name)
        assert grades(path) == {"é1": {"d1": 3, "d2": 0}}, name
    run = write((mark + "é1 Q0 d2 1 2.5 t\né1 Q0 d1 2 1.5 t\n").encode(encoding), "run")
    _, out, said = command("evaluate", path, run, "-m", "RR", "--format", "csv")
    assert out.splitlines()[1] == "t,0.5", said
    assert "not text in UTF-16" in refusal(grades, write((mark + texts["qrels"]).encode(encoding)[:-1]))


# -- search engines ----------------------------------------------------------------------------------


def elastic(*hits: tuple[str, float | None]) -> dict[str, Any]:
    found = [
        {"_index": "products", "_id": name, "_score": score, "_source": {"sku": f"S{name}"}} for name, score in hits
    ]
    top = max((score for _, score in hits if score is not None), default=None)
    total = {"value": len(hits), "relation": "eq"}
    return {
        "took": 3,
        "timed_out": False,
        "_shards": {"total": 1},
        "hits": {"total": total, "max_score": top, "hits": found},
    }


def solr(*docs: tuple[str, float | None]) -> dict[str, Any]:
    found = [{"id": name} | ({} if score is None else {"score": score}) for name, score in docs]
    return {
        "responseHeader": {"status": 0, "QTime": 1, "params": {"q": "red"}},
        "response": {"numFound": len(docs), "start": 0, "docs": found},
    }


ENGINE = {"q1": {"a": 2.5, "b": 1.5}, "red shoes": {"c": 1.0}}
ANSWERS = [elastic(("a", 2.5), ("b", 1.5)), elastic(("c", 1.0))]


@pytest.mark.parametrize("name", ["query_id", "qid", "query", "id"])
@pytest.mark.parametrize("answer", [elastic, solr])
def test_responses_with_ids_beside(name: str, answer: Any, write: Write) -> None:
    answers = [{name: query} | answer(*of.items()) for query, of in ENGINE.items()]
    wrapped = [{name: query, "response": answer(*of.items())} for query, of in ENGINE.items()]
    for content in (answers, wrapped, "\n".join(map(json.dumps, answers)), "\n".join(map(json.dumps, wrapped))):
        assert scores(write(content)) == ENGINE
    assert scores(write({query: answer(*of.items()) for query, of in ENGINE.items()})) == ENGINE
    assert scores(write(answers[0])) == {"q1": ENGINE["q1"]}
    assert scores(write({"took": 7, "responses": answers})) == ENGINE


def test_responses_by_order(write: Write, command: Command) -> None:
    """_msearch answers in the order of the requests: the ids are those of a list."""
    path = write({"took": 7, "responses": ANSWERS}, "msearch.json")
    assert "give the ids in the order of the responses with query_ids" in refusal(scores, path)
    assert scores(path, query_ids=["q1", "red shoes"]) == ENGINE
    for ids in ("q1\nred shoes\n", "q1\tthe first\nred shoes\tthe second\n", '{"_id": "q1"}\n{"_id": "red shoes"}\n'):
        assert scores(path, query_ids=write(ids, "ids")) == ENGINE
    assert "2 responses for 3 ids" in refusal(scores, path, query_ids=["1", "2", "3"])
    assert "more responses than the 1 ids" in refusal(scores, path, query_ids=["1"])
    assert "query_ids are for search responses" in refusal(scores, write(MSMARCO), query_ids=["1"])
    qrels = write({"q1": {"b": 1}, "red shoes": {"c": 1}}, "qrels.json")
    _, out, said = command(
        "evaluate", qrels, path, "--query-ids", write("q1\nred shoes\n", "ids"), "-m", "RR", "--format", "csv"
    )
    assert out == "system,RR\nmsearch,0.75\n", said
    code, _, said = command("convert", path, path + ".txt", "--query-ids", write("q1\nq2\n", "ids"))
    assert (code, Path(path + ".txt").read_text(encoding="utf-8").splitlines()[0].split()[:3]) == (
        0,
        ["q1", "Q0", "a"],
    ), said


def test_responses_without_scores_and_with_other_ids(write: Write) -> None:
    sorted_by_field = write([{"qid": "1"} | elastic(("a", None), ("b", None))])
    assert scores(sorted_by_field) == {"1": {"a": -1, "b": -2}}
    assert "their order counts" in first_note(cal.read_run(sorted_by_field))
    assert scores(write({"qid": "1"} | solr(("a", None), ("b", None)))) == {"1": {"a": -1, "b": -2}}
    answers = write([{"qid": 7} | elastic(("a", 2.5), ("b", 1.5))])
    assert scores(answers, columns={"document": "sku"}) == {"7": {"Sa": 2.5, "Sb": 1.5}}
    assert "some documents have a score" in refusal(scores, write({"qid": "1"} | elastic(("a", 1.0), ("b", None))))
    failed = {"qid": "1", "error": {"type": "index_not_found_exception"}, "status": 404}
    assert "response 2: " in refusal(scores, write([{"qid": "0"} | ANSWERS[0], failed]))
    assert "appears twice" in refusal(scores, write({"qid": "1"} | elastic(("a", 2.0), ("a", 1.0))))
    for read in (grades, cal.read_qrels):
        assert "a file of search responses: judgments come first" in refusal(read, answers)


def test_judgment_lists_of_opensearch(write: Write) -> None:
    ratings = [
        {"query": "red dress", "ratings": [{"docId": "B077", "rating": "0.000"}, {"docId": "B071", "rating": 3}]},
        {"query": "laptop", "ratings": [{"docId": "B1", "rating": "0.5"}]},
    ]
    want = {"red dress": {"B077": 0, "B071": 3}, "laptop": {"B1": 0.5}}
    imported = {"name": "Imported", "type": "IMPORT_JUDGMENT", "judgmentRatings": ratings}
    assert grades(write(imported)) == want
    answered = {"took": 3, "hits": {"total": {"value": 1}, "hits": [{"_id": "x", "_source": imported}]}}
    assert grades(write(answered)) == want
    assert "a judgment list of OpenSearch: judgments come first" in refusal(scores, write(imported))
    ratings[1]["ratings"] = [{"docId": "B1", "rating": "good"}]
    assert 'grade of query "laptop", document "B1": "good" is not a number' in refusal(grades, write(imported))
    assert "expected docId and rating" in refusal(
        grades, write({"judgmentRatings": [{"query": "a", "ratings": [{"doc": 1}]}]})
    )


def test_rank_eval(write: Write) -> None:
    """A request of Elasticsearch's documentation has ratings; its response has hits, and names failed searches."""
    ratings = [{"_index": "shop", "_id": "a", "rating": 0}, {"_index": "shop", "_id": "b", "rating": 3}]
    requests = [
        {"id": "JFK query", "request": {"query": {"match_all": {}}}, "ratings": ratings},
        {"id": "shoes", "template_id": "t", "params": {"q": "shoes"}, "ratings": [{"_id": "c", "rating": 1}]},
    ]
    request = write({"requests": requests, "metric": {"precision": {"k": 20}}}, "request.json")
    assert grades(request) == {"JFK query": {"a": 0, "b": 3}, "shoes": {"c": 1}}
    hits = [
        {"hit": {"_index": "shop", "_type": "page", "_id": "a", "_score": 1.5}, "rating": 0},
        {"hit": {"_index": "shop", "_type": "page", "_id": "b", "_score": 0.5}, "rating": 3},
    ]
    details = {"JFK query": {"metric_score": 0.5, "unrated_docs": [], "hits": hits}, "shoes": {"hits": []}}
    answer = {"rank_eval": None, "metric_score": 0.4, "details": details, "failures": {"boots": {"error": "timeout"}}}
    response = write(answer, "response.json")
    assert scores(response) == {"JFK query": {"a": 1.5, "b": 0.5}, "shoes": {}}
    assert "the search failed for 1 query (boots)" in first_note(cal.read_run(response))
    assert cal.evaluate(request, response, ["RR"])["RR"].tolist() == [[0.5, 0.0]]
    assert "a request of _rank_eval: judgments come first" in refusal(scores, request)
    assert "a response of _rank_eval: judgments come first" in refusal(grades, response)
    for hit in hits:
        hit["hit"]["_score"] = None
    assert scores(write(answer))["JFK query"] == {"a": -1, "b": -2}
    broken = {"requests": [{"id": "q", "ratings": [{"_id": "a"}]}]}
    assert "request 'q': expected _id and rating" in refusal(grades, write(broken))


def test_titles_in_responses_are_texts_of_documents(write: Write) -> None:
    answers = [{"query_id": "q1"} | elastic(("a", 2.5), ("b", 1.5)), {"query_id": "q2"} | elastic(("b", 1.0))]
    titles = {"a": "Red shoes", "b": "Blue hat"}
    for answer in answers:
        for hit in answer["hits"]["hits"]:
            hit["_source"] = {"title": titles[hit["_id"]], "price": 3}
    path = write("\n".join(map(json.dumps, answers)), "responses.jsonl")
    assert cal.read_titles(path) == titles
    assert cal.read_titles(path, ids=["b"]) == {"b": "Blue hat"}
    assert cal.read_titles(write({"responses": answers})) == titles
    answers[0]["hits"]["hits"][0]["_source"] |= {"text": "For running.", "title": ["Red shoes"]}
    assert cal.read_titles(write(answers))["a"] == "Red shoes For running."
    docs = {"response": {"docs": [{"id": "x", "title": "Solr"}, {"id": "y"}]}}
    assert cal.read_titles(write(docs)) == {"x": "Solr"}


def test_titles_in_responses_are_shown_in_the_report(write: Write, command: Command, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    answers = [{"query_id": "q1"} | elastic(("a", 2.5), ("b", 1.5)), {"query_id": "q2"} | elastic(("b", 1.0))]
    answers[0]["hits"]["hits"][0]["_source"] = {"title": "Red shoes"}
    path = write("\n".join(map(json.dumps, answers)), "responses.jsonl")
    page = tmp_path / "report.html"
    qrels = write("q1 0 a 1\nq1 0 b 0\nq2 0 b 1\nq2 0 a 0\n", "qrels.txt")
    code, _, said = command("report", qrels, path, "-m", "RR", "--document-texts", path, "-o", page)
    assert code == 0, said
    assert "Red shoes" in page.read_text(encoding="utf-8")


# -- retrieval for generated answers -----------------------------------------------------------------

SAMPLE = {
    "user_input": "Who wrote Hamlet?",
    "response": "Shakespeare.",
    "reference": "William Shakespeare",
    "retrieved_context_ids": ["d7", "d2"],
    "retrieved_contexts": ["A play.", "By Shakespeare."],
    "reference_context_ids": ["d2"],
    "reference_contexts": ["By Shakespeare."],
}
SAMPLES = [SAMPLE, SAMPLE | {"user_input": "When?", "retrieved_context_ids": [], "reference_context_ids": ["d9", "d8"]}]


def test_ragas(write: Write) -> None:
    """A dataset as RAGAS writes it: JSON lines, a list, or CSV with lists in its cells."""
    import csv
    import io

    table = io.StringIO()
    writer = csv.DictWriter(table, [*SAMPLE])
    writer.writeheader()
    writer.writerows(SAMPLES)
    files = ("\n".join(map(json.dumps, SAMPLES)), json.dumps(SAMPLES), table.getvalue())
    for source in (*map(write, files, ("a.jsonl", "b.json", "c.csv")), SAMPLES):
        assert grades(source) == {"Who wrote Hamlet?": {"d2": 1}, "When?": {"d9": 1, "d8": 1}}
        assert scores(source) == {"Who wrote Hamlet?": {"d7": -1, "d2": -2}, "When?": {}}
        assert cal.evaluate(source, source, ["RR"])["RR"].tolist() == [[0.5, 0.0]]


def test_frames_of_ragas(require: Any) -> None:
    frame = require.module("pandas").DataFrame(SAMPLES)
    assert grades(frame) == {"Who wrote Hamlet?": {"d2": 1}, "When?": {"d9": 1, "d8": 1}}
    assert scores(frame) == {"Who wrote Hamlet?": {"d7": -1, "d2": -2}, "When?": {}}


def test_ragas_in_parquet(tmp_path: Path, require: Any) -> None:
    """A Parquet file has the lists as they are, and scores that RAGAS could not give are NaN in JSON."""
    pd = require.module("pandas")
    samples = [
        {
            "user_input": "red shoes",
            "retrieved_context_ids": ["d7", "d2"],
            "reference_context_ids": ["d2"],
            "response": "x" * 200_000,
            "faithfulness": math.nan,
        }
    ]
    pd.DataFrame(samples).to_parquet(tmp_path / "ragas.parquet")
    pd.DataFrame(samples).to_csv(tmp_path / "ragas.csv")
    (tmp_path / "ragas.json").write_text(json.dumps(samples))
    for name in ("ragas.parquet", "ragas.csv", "ragas.json"):
        assert cal.evaluate(tmp_path / name, tmp_path / name, ["RR"])["RR"].tolist() == [[0.5]]


def test_ragas_without_ids(write: Write) -> None:
    """Texts are the ids; older datasets have other names, and no relevant documents."""
    texts = [{name: cell for name, cell in SAMPLE.items() if not name.endswith("_ids")}]
    path = write(texts, "texts.json")
    assert grades(path) == {"Who wrote Hamlet?": {"By Shakespeare.": 1}}
    assert scores(path) == {"Who wrote Hamlet?": {"A play.": -1, "By Shakespeare.": -2}}
    assert "the texts of retrieved_contexts are taken as the ids" in first_note(cal.read_run(path))
    older = [{"question": "Why?", "answer": "So.", "contexts": ["x", "y", "x"], "ground_truth": "Because."}]
    path = write(older, "older.json")
    assert scores(path) == {"Why?": {"x": -1, "y": -2}}
    assert "1 document listed more than once" in str(getattr(cal.read_run(path), "notes", ()))
    assert "ground_truth and reference are answers, not documents" in refusal(grades, path)
    assert "conversation of 1 message" in refusal(grades, write([SAMPLE | {"user_input": [{"content": "Hi"}]}]))
    assert "appears twice" in refusal(grades, write([SAMPLE, SAMPLE]))
    numpy = write("user_input,retrieved_context_ids\nWhy?,\"['a' 'b']\"\n", "numpy.csv")
    assert "expected a list" in refusal(scores, numpy)
    assert scores(path, columns={"document": "contexts"}) == {"Why?": {"x": -1, "y": -2}}


def span(query: str, documents: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    flat = {
        f"retrieval.documents.{i}.document.{name}": cell for i, of in enumerate(documents) for name, cell in of.items()
    }
    return {
        "name": "retrieve",
        "attributes": {"openinference.span.kind": "RETRIEVER", "input.value": query} | flat | more,
    }


def test_openinference_spans(write: Write) -> None:
    """Spans of Phoenix and of OTLP, flat or nested; other spans are left out."""
    found = [{"id": "d7", "score": 0.5, "content": "x"}, {"id": "d2", "score": 0.25, "content": "y"}]
    model = {"name": "llm", "attributes": {"openinference.span.kind": "LLM", "input.value": "red shoes"}}
    spans = [model, span("red shoes", found), span("nothing", [])]
    want = {"red shoes": {"d7": 0.5, "d2": 0.25}, "nothing": {}}
    assert scores(write("\n".join(map(json.dumps, spans)), "spans.jsonl")) == want
    assert scores(write(spans, "spans.json")) == want
    otlp = [
        {"key": name, "value": {"doubleValue" if isinstance(cell, float) else "stringValue": cell}}
        for name, cell in spans[1]["attributes"].items()
    ]
    assert scores(write({"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": otlp}]}]}]})) == {
        "red shoes": want["red shoes"]
    }
    nested = {"input": {"value": "red shoes"}, "retrieval": {"documents": [{"document": each} for each in found]}}
    assert scores(write([{"attributes": nested}])) == {"red shoes": want["red shoes"]}
    listed = [{"document.id": each["id"], "document.score": each["score"]} for each in found]
    frame = {"attributes.input.value": "red shoes", "attributes.retrieval.documents": listed}
    assert scores(write([frame])) == {"red shoes": want["red shoes"]}
    again = cal.read_run(write([*spans, span("red shoes", [{"id": "d1", "score": 1.0}])]))
    assert again.to_dict()["red shoes"] == {"d1": 1.0}
    assert "1 query with several spans; the last span counts" in first_note(again)
    assert scores(write([span("q", [{"id": "b"}, {"id": "a"}])])) == {"q": {"b": -1, "a": -2}}
    assert "document 0 has no id" in refusal(scores, write([span("q", [{"score": 0.5}])]))
    assert "OpenInference spans: judgments come first" in refusal(grades, write(spans))
    qrels = {"red shoes": {"d2": 1}, "nothing": {"d1": 1}}
    assert cal.evaluate(qrels, write(spans), ["RR"])["RR"].tolist() == [[0.5, 0.0]]


def test_tables_of_spans(tmp_path: Path, require: Any) -> None:
    """Phoenix gives spans as a frame. Documents that have only a text are matched by it."""
    pd = require.module("pandas")
    listed = [{"document.content": text, "document.score": score} for text, score in (("red", 0.5), ("blue", 0.25))]
    frame = pd.DataFrame(
        {
            "name": ["llm", "retriever"],
            "span_kind": ["LLM", "RETRIEVER"],
            "attributes.input.value": ["red shoes", "red shoes"],
            "attributes.retrieval.documents": [None, [*listed, listed[0]]],
        }
    )
    frame.to_csv(tmp_path / "spans.csv")
    frame.to_parquet(tmp_path / "spans.parquet")
    for source in (frame, tmp_path / "spans.csv", tmp_path / "spans.parquet"):
        run: Any = cal.read_run(source)
        assert run.to_dict() == {"red shoes": {"red": 0.5, "blue": 0.25}}
        assert "the texts of documents are taken as their ids" in " ".join(run.notes)
        assert "1 document listed more than once for a query; the first place counts" in " ".join(run.notes)
    qrels = {"red shoes": {"blue": 1}}
    assert cal.evaluate(qrels, tmp_path / "spans.parquet", ["RR"])["RR"].tolist() == [[0.5]]
    assert "spans hold retrieved documents" in refusal(grades, frame)
    mixed = [span("q", [{"id": "a"}, {"content": "b"}])]
    (tmp_path / "mixed").write_text(json.dumps(mixed))
    assert "document 1 has no id" in refusal(scores, tmp_path / "mixed")


def test_documents_that_phoenix_retrieved(tmp_path: Path, require: Any) -> None:
    """The frame of `get_retrieved_documents`, whose index is written into CSV."""
    cells = {"context.trace_id": "t", "input": "red shoes", "reference": ["red", "blue"], "document_score": [0.5, 0.25]}
    index = {"context.span_id": ["s", "s"], "document_position": [0, 1]}
    frame = require.module("pandas").DataFrame({**index, **cells}).set_index(list(index))
    frame.to_csv(tmp_path / "documents.csv")
    frame.drop(columns="document_score").to_csv(tmp_path / "ranks.csv")
    for source in (frame, tmp_path / "documents.csv"):
        assert scores(source) == {"red shoes": {"red": 0.5, "blue": 0.25}}
    assert scores(tmp_path / "ranks.csv") == {"red shoes": {"red": 0, "blue": -1}}


# -- spreadsheets ------------------------------------------------------------------------------------


def test_decimal_commas_in_semicolon_files(write: Write) -> None:
    """Spreadsheets of many countries write 0,75 and semicolons between the cells."""
    want = {"q1": {"a": 0.75, "b": -1.5}, "q2": {"a": 2}}
    rows = "q1;a;0,75\nq1;b;-1,5\nq2;a;2\n"
    assert scores(write("query;doc;score\n" + rows)) == want
    assert scores(write(rows)) == want
    assert grades(write("query;doc;grade\n" + rows)) == want
    assert "'0,75' is not a number" in refusal(scores, write("query;doc;score\n" + rows.replace("2\n", "2.5\n")))
    assert "is not a number" in refusal(scores, write("query;doc;score\nq1;a;1,2,3\n"))
    assert "is not a number" in refusal(scores, write('query,doc,score\nq1,a,"0,75"\n'))


def test_spreadsheets_are_refused(write: Write) -> None:
    """By their content: the first bytes of .xlsx, .xls, .ods and .zip."""
    import io
    import zipfile

    def packed(*names: str) -> bytes:
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as file:
            for name in names:
                file.writestr(name, "application/vnd.oasis.opendocument.spreadsheet" if name == "mimetype" else "x")
        return archive.getvalue()

    excel = "this is an Excel file; save it as CSV UTF-8"
    for content, words in (
        (packed("[Content_Types].xml", "xl/workbook.xml"), excel),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), excel),
        (packed("mimetype", "content.xml"), "this is an OpenDocument spreadsheet; save it as CSV UTF-8"),
        (packed("qrels.txt"), "this is a ZIP archive; unpack it first"),
    ):
        path = write(content, "book.xlsx")
        for read in (grades, scores, cal.read_qrels):
            assert words in refusal(read, path)


# -- learning to rank --------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".query", ".group"])
def test_sizes_of_queries_beside_svmlight(ending: str, write: Write) -> None:
    path = write("# made by hand\n2 1:0.5 3:1\n0 2:1\r\n\n1 1:0.25 # x\n0 1:0.75\n", "rank.train")
    assert "or the size of each query in rank.train.query or rank.train.group" in refusal(grades, path)
    write("2\n2\n", f"rank.train{ending}")
    judgments = cal.read_judgments(path)
    assert (judgments.queries, judgments.pool.grade.tolist()) == (("1", "2"), [2, 0, 1, 0])
    with_scores = cal.evaluate(path, write("0.1\n0.9\n0.9\n0.1\n", "scores"), ["RR"])
    assert with_scores["RR"].tolist() == [[0.5, 1.0]]
    write("2\n3\n", f"rank.train{ending}")
    assert "4 documents, where" in refusal(grades, path)
    write("2\n999999999999\n", f"rank.train{ending}")  # which no memory holds
    assert "4 documents, where" in refusal(grades, path)
    write("2\n-2\n", f"rank.train{ending}")
    assert "whole number" in refusal(grades, path)


# -- what other libraries hold in memory -------------------------------------------------------------

HELD = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
RUN = {"1": {"b": 3.5, "a": 2.5}, "2": {"c": 9.0}}


def flat(nested: dict[str, dict[str, float]]) -> list[tuple[str, str, float]]:
    return [(query, document, value) for query, of in nested.items() for document, value in of.items()]


def test_lists_of_ir_measures(require: Any) -> None:
    ir_measures = require.module("ir_measures")
    qrels = [ir_measures.Qrel(*row) for row in flat(HELD)]
    run = [ir_measures.ScoredDoc(*row) for row in flat(RUN)]
    want = cal.evaluate(HELD, RUN, ["nDCG", "RR"]).values.tolist()
    for judgments, runs in ((qrels, run), (iter(qrels), iter(run)), (qrels, {"bm25": run}), (qrels, [run])):
        assert cal.evaluate(judgments, runs, ["nDCG", "RR"]).values.tolist() == want
    assert cal.read_judgments(iter(qrels)).to_dict() == HELD
    assert cal.read_runs(run)[0].to_dict() == RUN
    Row = namedtuple("Row", "topic url stars")
    assert cal.read_judgments([Row(7, "x", 2)]).to_dict() == {"7": {"x": 2}}
    assert "column 'stars', row 2: \"good\" is not a number" in refusal(
        cal.read_judgments, [Row("1", "x", 2), Row("1", "y", "good")]
    )
    assert "judged 1 here and 2 before" in refusal(cal.read_judgments, [Row("1", "x", 2), Row("1", "x", 1)])


def test_dictionaries_of_pyserini() -> None:
    """Ids of digits are whole numbers there, the others text; grades are text."""
    qrels = {301: {12: "1", "FBIS-1": "0"}, "302b": {13: "2"}}
    assert as_judgments(qrels).to_dict() == {"301": {"12": 1, "FBIS-1": 0}, "302b": {"13": 2}}
    run = {301: {12: 0.5}, 302: {"x": 0.25}}
    assert as_runs(run)[0].to_dict() == {"301": {"12": 0.5}, "302": {"x": 0.25}}
    assert "grade is not a number" in refusal(as_judgments, {"1": {"a": "good"}})


def test_frames_of_pyterrier(require: Any) -> None:
    pandas = require.module("pandas")
    qrels = pandas.DataFrame(flat(HELD), columns=["qid", "docno", "label"])
    run = pandas.DataFrame(flat(RUN), columns=["qid", "docno", "score"])
    run = run.assign(query="a text", docid=range(len(run)), rank=range(len(run)))
    want = cal.evaluate(HELD, RUN, ["nDCG"]).values.tolist()
    assert cal.evaluate(qrels, run, ["nDCG"]).values.tolist() == want


# -- several judgments of one document, several passages ---------------------------------------------

TWICE = "1 0 a 1\n1 0 a 3\n1 0 b 0\n1 0 a 1\n2 0 c 2\n1 0 a 0\n"


@pytest.mark.parametrize(
    ("how", "grade"), [("max", 3), ("min", 0), ("mean", (1 + 3 + 1 + 0) / 4), ("median", 1), ("last", 0)]
)
def test_combine(how: str, grade: float, write: Write, command: Command) -> None:
    table = "qid,docno,label\n" + "".join(
        line.replace(" 0 ", ",", 1).replace(" ", ",") + "\n" for line in TWICE.splitlines()
    )
    rows = [dict(zip(("qid", "docno", "label"), line.split(","), strict=True)) for line in table.splitlines()[1:]]
    entries = [row | {"label": int(row["label"])} for row in rows]
    Row = namedtuple("Row", "qid docno label")
    for source in (write(TWICE), write(table, "t.csv"), write(entries, "t.json"), [Row(**entry) for entry in entries]):
        words = refusal(cal.read_judgments, source)
        assert "is judged 3 here and 1 before; the argument combine (for" in words
        judgments = cal.read_judgments(source, combine=how)
        assert judgments.to_dict() == {"1": {"a": grade, "b": 0}, "2": {"c": 2}}
        assert f"1 document has several judgments, of which the {how} is taken" in judgments.notes[0]
    code, _, said = command("convert", write(TWICE), write("", "out.json"), "--combine", how)
    assert (code, said.count("several judgments")) == (0, 1)
    assert json.loads(Path(write(TWICE)).with_name("out.json").read_text())["1"]["a"] == grade


def test_combine_of_two_is_what_statistics_say(write: Write) -> None:
    even = write("1 0 a 1\n1 0 a 2\n1 0 b 1\n")
    assert grades(even, combine="median")["1"]["a"] == (1 + 2) / 2
    assert cal.read_judgments(write("1 0 a 1\n"), combine="mean").notes == ()
    # Also where the second field differs: judges, not subtopics, says who combines.
    assert grades(write("1 judge1 a 1\n1 judge2 a 3\n"), combine="mean") == {"1": {"a": 2}}
    assert "is not one of max, min" in refusal(cal.read_judgments, even, combine="best")
    assert "is for qrels and tables" in refusal(cal.read_judgments, write("1 qid:1 1:2\n"), combine="max")


PASSAGES = "1 Q0 D7#1 1 9 t\n1 Q0 D8#0 2 8 t\n1 Q0 D7#0 3 5 t\n1 Q0 D9 4 4 t\n2 Q0 D7#10 1 3 t\n2 Q0 D7#9 2 2 t\n"
ROLLED = {
    "max": {"1": {"D7": 9, "D8": 8, "D9": 4}, "2": {"D7": 3}},
    "sum": {"1": {"D7": 14, "D8": 8, "D9": 4}, "2": {"D7": 5}},
    "first": {"1": {"D7": 5, "D8": 8, "D9": 4}, "2": {"D7": 2}},
}


@pytest.mark.parametrize("how", ["max", "sum", "first"])
def test_rollup(how: str, write: Write, tmp_path: Path, command: Command) -> None:
    run, want = write(PASSAGES, "run"), ROLLED[how]
    assert scores(run, rollup=how) == want
    assert [*scores(run, rollup=how)["1"]] == ["D7", "D8", "D9"]
    by_colon = write(PASSAGES.replace("#", ":"), "colon")
    assert scores(by_colon, rollup=cal.Rollup(how, ":")) == want
    # A table has them in the order of the document: 0 before 1, and 9 before 10.
    named = {"D7#0": "p1", "D7#1": "p2", "D8#0": "p3", "D7#9": "p4", "D7#10": "p5"}
    text = PASSAGES
    for old in sorted(named, key=len, reverse=True):
        text = text.replace(old, named[old])
    table = {new: old.partition("#")[0] for old, new in named.items()}
    for delimiter in ("\t", ","):
        file = write("".join(f"{passage}{delimiter}{document}\n" for passage, document in table.items()), "passages")
        assert scores(write(text, "named"), rollup=cal.Rollup(how, file)) == want
    assert cal.read_run(write(text, "named"), rollup=cal.Rollup(how, table)).to_dict() == want
    cal.write_run(cal.read_run(run), tmp_path / "run.csv")
    assert scores(tmp_path / "run.csv", rollup=how) == want
    qrels = write("1 0 D8 1\n2 0 D7 1\n", "qrels")
    _, out, said = command("evaluate", qrels, run, "--rollup", how, "-m", "RR", "--format", "csv")
    first = 1 / (1 + sum(score > want["1"]["D8"] for score in want["1"].values()))
    assert out.splitlines()[1] == f"t,{(first + 1) / 2}", said
    assert f"passages are made into documents by {how}" in said
    assert "--rollup-by says whose" in command("evaluate", qrels, run, "--rollup-by", "#")[2]
    assert "appears twice" in refusal(scores, write(PASSAGES + "1 Q0 D7#1 9 1 t\n"), rollup=how)
    ranks = write("1\tD7#0\t1\n1\tD8#0\t2\n1\tD7#1\t3\n", "ranks")
    if how == "sum":
        assert "a document would lose by every passage" in refusal(scores, ranks, rollup=how)
    else:
        assert scores(ranks, rollup=how) == {"1": {"D7": -1, "D8": -2}}
    assert "no such table of passages" in refusal(scores, run, rollup=cal.Rollup(how, "passages.tsv"))


# -- what is said where it does not fit --------------------------------------------------------------


def test_columns_of_judgments_and_systems_apart(write: Write, command: Command) -> None:
    qrels, run = write("t,u,stars\n1,a,1\n", "qrels.csv"), write("topic;sku;bm25\n1;b;2\n1;a;1\n", "run.csv")
    names = ("--judgments-columns", "query=t,document=u", "--systems-columns", "document=sku,score=bm25")
    assert command("evaluate", qrels, run, *names, "-m", "RR", "--format", "csv")[1] == "system,RR\nrun,0.5\n"
    both = write("t,d,score\n1,b,2\n1,a,1\n", "both.csv"), write("t,d,grade\n1,a,1\n", "graded.csv")
    found = cal.evaluate(both[1], both[0], ["RR"], columns={"query": "t", "document": "d"})
    assert found["RR"].tolist() == [[0.5]]
    wrong = command("evaluate", qrels, run, "--judgments-columns", "query")[2]
    assert "--judgments-columns 'query': expected query=NAME" in wrong


@pytest.mark.parametrize(
    ("text", "nearest"),
    [
        ("q1 Q0 d1 1 2.5\n", ["qrels (query iteration document grade): 5 fields, not 4", "run (", "5 fields, not 6"]),
        ("hello\n", ["scores (one score): 'hello' is not a number", "qrels", "1 field, not 4"]),
        ("<?xml version='1.0'?>\n", ["'<?xml version='1.0'?>'", "fields, not"]),
        ("q1 d1 good\n", ["headerless (query document number): 'good' in the third column is not a number", "qrels"]),
        ("2 q:1 1:0.5 2:1 3:1\n", ["letor (label qid:ID 1:0.3 2:0.1 ...): 'q:1' after the label is no qid:ID"]),
        ("\x00\x01PK\x03\n", ["the file is not text"]),
    ],
)
def test_no_known_format_shows_the_nearest(text: str, nearest: list[str], write: Write) -> None:
    words = refusal(cal.read_judgments, write(text))
    assert "no known format; the first line is '" in words
    for part in nearest:
        assert part in words


def test_exchanged_arguments_are_noticed(write: Write, command: Command) -> None:
    qrels, run = write("1 0 a 1\n1 0 b 0\n", "qrels"), write("1 Q0 a 1 0.5 t\n1 Q0 b 2 0.25 t\n", "run")
    assert "looks like a run: judgments come first, then runs" in command("evaluate", run, qrels)[2]
    assert "looks like qrels: judgments come first" in refusal(scores, qrels)
    tables = (
        write("qid,docno,label\n1,a,1\n1,b,0\n", "qrels.csv"),
        write("qid,docno,score\n1,a,0.5\n1,b,0.25\n", "run.csv"),
    )
    assert "'score' makes it look like a run" in command("evaluate", *reversed(tables))[2]
    assert "'label' makes it look like judgments" in refusal(cal.read_runs, tables[0])
    for judged, scored in (
        (write({"1": {"a": 1, "b": 0}}, "a.json"), write({"1": {"a": 0.53, "b": 0.25}}, "b.json")),
        (write("1\ta\t1\n1\tb\t0\n", "a.tsv"), write("1\ta\t0.53\n1\tb\t0.25\n", "b.tsv")),
    ):
        _, _, said = command("evaluate", scored, judged, "-m", "AP")
        assert "the judgments look like scores (grade 0.53) and the scores like grades" in said
        assert "look like scores" not in command("evaluate", judged, scored, "-m", "AP")[2]


def test_no_query_in_common_shows_both(write: Write, command: Command) -> None:
    qrels, run = write("q1 0 a 1\n", "qrels"), write("1 Q0 a 1 0.5 t\n", "run")
    words = "(the judgments have 'q1', the runs have '1')"
    assert words in command("evaluate", qrels, run)[2]
    assert words in refusal(cal.evaluate, qrels, run)
    assert words in refusal(cal.Experiment(qrels, run).audit)
    assert words in refusal(cal.Experiment(qrels, run, "P@5").ranges)
    assert words in refusal(cal.questions.fuse.fusion_bound, qrels, [run, write("1 Q0 a 1 0.5 u\n", "other")])
    assert math.isclose(cal.evaluate(qrels, write("q1 Q0 a 1 0.5 t\n"), ["RR"])["RR"][0, 0], 1)


def test_packed_files_that_would_take_all_memory(write: Write) -> None:
    """What a few packed bytes may unpack to is bounded for JSON of every kind, for texts and for tables of passages."""
    blank = b" " * (100 << 20)
    answer = json.dumps([{"qid": "1"} | ANSWERS[0]])[:-1].encode()
    for start, read in ((answer, scores), (b'{"judgmentRatings": [', grades), (b'{"mteb_model_meta": {', scores)):
        path = write(gzip.compress(start + blank, 1), "bomb.gz")
        assert "unpacks to more than" in refusal(read, path)
    path = write(gzip.compress(b"1\t" + blank, 1), "bomb.gz")
    assert "a line has more than" in refusal(cal.read_titles, path)
    assert "unpacks to more than" in refusal(cal.Rollup("max", path).of, ["a"])


def test_the_manual_has_the_names_of_columns() -> None:
    page = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
    table = page.partition("<!-- names -->")[2].partition("<!-- /names -->")[0]
    for role, ranks in NAMES.items():
        row = next(line for line in table.splitlines() if line.startswith(f"| {role}"))
        assert row.endswith(f"| {'; else '.join(', '.join(names) for names in ranks)} |"), role
