"""The report: what is in it, how it is written, and what becomes of input that is hard to show."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import calipers as cal
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError, CheckFailed
from calipers.evaluation.inputs import as_runs
from calipers.measures.grammar import DEFAULT_MEASURES
from run_calipers import calipers

pytest.importorskip("vl_convert")

from calipers.plot.vega import script_data
from calipers.questions.diff.first_documents import first_documents
from calipers.report import page as pages
from calipers.report.material import Material
from calipers.report.section import by_column
from calipers.report.sections import SECTIONS

QRELS = {"q1": {"a": 2, "b": 0, "c": 1}, "q2": {"a": 1, "d": 0}, "q3": {"x": 0, "y": 1, "z": 0}}
RUNS = {
    "one": {"q1": {"a": 3, "b": 2, "u": 1}, "q2": {"d": 2, "a": 2}, "q3": {"y": 1}},
    "two": {"q1": {"b": 3, "c": 2}, "q2": {"a": 1}, "q3": {"x": 2, "y": 1}},
}


def write_report(
    judgments: Any, runs: Any, path: Any, measures: Any = DEFAULT_MEASURES, *, empty: Any = None, **choices: Any
) -> cal.Report:
    return cal.Experiment(judgments, runs, measures, empty=empty, warn=False).report(path, **choices)


def block(text: str, name: str) -> Any:
    """A block of data inside a page."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', text, re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


@pytest.fixture(scope="module")
def simulated() -> Any:
    return simulate(topics=6, systems=4, retrieved=30, ties=0.1, unjudged=0.2, seed=7)


@pytest.fixture(scope="module")
def whole(simulated: Any, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(simulated.qrels, simulated.runs, path, "nDCG@10 AP V2(nDCG@10)", title="Four systems")
    return path.read_text(encoding="utf-8")


def test_the_method_has_the_keywords_of_the_function() -> None:
    method, function = (inspect.signature(each).parameters for each in (cal.Experiment.report, pages.write_report))
    assert [(name, each.default, each.kind) for name, each in [*method.items()][1:]] == [
        (name, each.default, each.kind) for name, each in [*function.items()][1:]
    ]


def test_every_section_is_there_with_a_sentence_and_no_section_is_empty(whole: str) -> None:
    wanted = {key: kind.title for key, kind in SECTIONS.items() if kind.only != "texts"}
    for key in ("changes", "groups", "judges"):
        del wanted[key]
    assert re.findall(r'<section id="(\w+)">', whole) == list(wanted)
    for key, title in wanted.items():
        found = re.search(rf'<section id="{key}">(.*?)</section>', whole, re.DOTALL)
        assert found is not None, key
        assert f"<h2>{title}</h2>" in found.group(1)
        sentence = re.search(r'<p class="see">(.*?)</p>', found.group(1), re.DOTALL)
        assert sentence is not None, key
        assert len(sentence.group(1)) > 60
    assert "Nothing to show here" not in whole


def test_the_figures_are_those_of_the_library(whole: str, simulated: Any) -> None:
    scores = cal.evaluate(simulated.qrels, simulated.runs, "nDCG@10 AP V2(nDCG@10)")
    for row in scores.mean().rows:
        for value in row[1:]:
            assert f'data-value="{value!r}"' in whole
    shown = block(whole, "rankings-data")
    assert shown["measures"] == list(scores.measures)
    assert np.allclose(np.array(shown["scores"], float), scores.values, rtol=1e-3, atol=1e-4)


def test_charts_are_of_every_measure(whole: str) -> None:
    charts = block(whole, "charts-data")
    for name in ("means", "between", "differs", "queries"):
        assert list(charts[name]) == ["nDCG@10", "AP", "V2(nDCG@10)"]
    for name in ("power", "dendrogram", "heat", "unjudged"):
        assert list(charts[name]) == [""]


def test_nothing_is_loaded_and_only_our_scripts_may_run(whole: str) -> None:
    head = whole[: whole.index("<style>")]
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', head)
    assert policy is not None
    assert "default-src &#39;none&#39;" in policy.group(1) or "default-src 'none'" in policy.group(1)
    assert "unsafe-eval" not in policy.group(1)
    assert whole.count("sha256-") >= 5
    outside = re.sub(r"<script.*?</script>", "", whole, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!#|data:,)[^"]*"', outside) == []
    assert "@import" not in outside
    assert "url(" not in outside


def test_the_bundle_is_there_once_with_its_notice(whole: str) -> None:
    assert whole.count("University of Washington Interactive Data Lab") == 2  # before the script, and for the reader
    assert whole.count("window.vegaEmbed=") == 1
    assert "Redistributions in binary form must reproduce" in whole


def test_a_report_can_be_repeated_byte_for_byte(simulated: Any, tmp_path: Path) -> None:
    qrels, runs = simulated.write(tmp_path)
    for name in ("first.html", "second.html"):
        write_report(qrels, runs, tmp_path / name, "AP", command="the same")
    assert (tmp_path / "first.html").read_bytes() == (tmp_path / "second.html").read_bytes()


def test_how_it_was_computed(simulated: Any, tmp_path: Path) -> None:
    import hashlib

    qrels, runs = simulated.write(tmp_path)
    page = tmp_path / "r.html"
    done = calipers(
        "report", qrels, *runs, "-m", "AP", "--ties", "docid", "--test", "bootstrap", "--seed", 7, "-o", page
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{page}\n"
    text = page.read_text(encoding="utf-8")
    method = text[text.index('<section id="method">') :]
    for file in (qrels, *runs):
        assert hashlib.sha256(file.read_bytes()).hexdigest() in method
    for said in (cal.__version__, "--seed 7", "bootstrap", "docid", "seed of the tests"):
        assert said in method


def test_the_first_documents_of_each_list() -> None:
    known = cal.Judgments.from_dict(QRELS)
    runs = as_runs(RUNS)
    found = first_documents(known, runs, 2)
    first, second = found[0], found[1]
    assert [first.documents[i] for i in first.lists[0]] == ["a", "b"]
    assert dict(zip(first.documents, first.grades, strict=True)) == {"a": 2, "b": 0, "c": 1}
    tied = second.lists[0]
    assert tied[1] < 0  # the second is tied with the first
    assert {second.documents[tied[0]], second.documents[~tied[1]]} == {"a", "d"}


def test_bare_scores_beside_labels(tmp_path: Path) -> None:
    simulation = simulate(topics=4, systems=2, retrieved=10, unjudged=0.0, seed=3)
    labels, scores = simulation.write_letor(tmp_path)
    written = write_report(labels, scores, tmp_path / "letor.html", "nDCG(gain=exp)@10")
    lists = block((tmp_path / "letor.html").read_text(encoding="utf-8"), "rankings-data")["lists"]
    assert all(each["l"][0] and None not in each["g"] for each in lists)
    assert not [note for note in written.notes if "Query map" in note]


def test_one_run_is_compared_with_nothing(tmp_path: Path) -> None:
    written = write_report(QRELS, {"one": RUNS["one"]}, tmp_path / "r.html", "AP")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert written.notes == ()
    assert not {"differs", "changes", "plan", "alike"} & set(re.findall(r'<section id="(\w+)">', text))
    assert "one has a mean AP of" in verdict_of(text)


def test_one_query_has_no_intervals(tmp_path: Path) -> None:
    write_report({"q1": QRELS["q1"]}, RUNS, tmp_path / "r.html", "AP RR")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "There is only one query, so there are no intervals" in text
    assert "share one query: too few to say which one is better" in verdict_of(text)
    assert 'id="plan"' not in text


# -- the verdict, two systems, options -------------------------------------------------------------------


def verdict_of(text: str) -> str:
    import html

    found = re.search(r'<div class="conclusion" data-measure="[^"]*">(.*?)</div>', text, re.DOTALL)
    assert found is not None
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", found.group(1))).split())


def ranked(better: float, queries: int = 40) -> dict[str, dict[str, float]]:
    """The relevant document first on this share of the queries, else third."""
    first = round(better * queries)
    return {f"q{q}": {"a": 3.0 if q < first else 1.5, "b": 2.0, "c": 1.8 if q % 2 else 1.7} for q in range(queries)}


FORTY = {f"q{q}": {"a": 1, "b": 0, "c": 0} for q in range(40)}


def test_the_verdict_names_the_leader_the_figures_and_the_next_step(tmp_path: Path) -> None:
    runs = {"good": ranked(0.9), "fair": ranked(0.85), "bad": ranked(0.0)}
    write_report(FORTY, runs, tmp_path / "r.html", "RR", sections=["systems"])
    said = verdict_of((tmp_path / "r.html").read_text(encoding="utf-8"))
    scores = cal.evaluate(FORTY, runs, "RR")
    lead = float(scores["RR"][0].mean() - scores["RR"][1].mean())
    found = cal.compare(scores)
    p, low, high = found.p_adjusted[0][0], found.outcomes[0].low[0], found.outcomes[0].high[0]
    assert said.startswith(
        "undecided good leads 3 systems in RR over 40 queries, but is not shown to differ from fair."
    )
    detail = f"Student's 95% interval {low:+.4f} to {high:+.4f}, adjusted p {p:.4f}, t test"
    assert f"{lead:+.4f} difference from fair ({detail})" in said
    gain = scores["RR"][0] - scores["RR"][1]
    needed = cal.plan(cal.as_scores(np.array([gain, 0 * gain])), difference=lead).queries[0]
    assert f"{needed} queries needed to detect a true difference of this size (paired t test, power 0.8)" in said
    assert "unjudged" not in said, "every document is judged"
    assert f"What to do next Evaluate on more queries. About {needed} detect" in said
    assert "exp.diff('fair', 'good')" in said


def test_the_verdict_follows_the_measure_and_commands_name_the_files(tmp_path: Path) -> None:
    cal.write_qrels(FORTY, tmp_path / "my qrels.txt")
    for name, run in (("old", ranked(0.5)), ("new", ranked(0.9))):
        cal.write_run(run, tmp_path / f"{name}.run", name=name)
    experiment = cal.Experiment(tmp_path / "my qrels.txt", [tmp_path / "old.run", tmp_path / "new.run"], "RR P@3")
    experiment.report(tmp_path / "r.html", sections=["systems"])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    verdicts = re.findall(r'<div class="conclusion" data-measure="([^"]*)"( hidden)?>(.*?)</div>', text, re.DOTALL)
    (first, shown, better), (second, hidden, same) = verdicts
    assert (first, shown, second, hidden) == ("RR", "", "P@3", " hidden")
    assert '<span class="badge better">better</span> new is better than old: mean RR from' in better
    assert "have the same P@3 on all queries" in same
    assert (
        f"calipers check &#39;{tmp_path}/my qrels.txt&#39; {tmp_path}/new.run --baseline {tmp_path}/old.run" in better
    )


def test_a_worse_system(tmp_path: Path) -> None:
    runs = {"old": ranked(0.9), "new": ranked(0.2)}
    write_report(FORTY, runs, tmp_path / "r.html", "RR", sections=["systems"])
    assert verdict_of((tmp_path / "r.html").read_text()).startswith("worse new is worse than old: mean RR from")


def test_two_systems_are_an_old_and_a_new_one(tmp_path: Path) -> None:
    runs = {"new": ranked(0.9), "old": ranked(0.5)}
    texts = {"q1": "a <b>question</b>"}
    write_report(
        FORTY,
        runs,
        tmp_path / "r.html",
        "RR AP",
        baseline="old",
        query_texts=texts,
        document_texts={"a": "The document " + "x" * 400},
    )
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    keys = re.findall(r'<section id="(\w+)">', text)
    assert "changes" in keys
    assert not {"differs", "alike"} & set(keys)
    found = cal.Experiment(FORTY, runs, "RR AP").diff("old", "new")
    mean = found.means[0]
    said = verdict_of(text)
    assert said.startswith(f"better new is better than old: mean RR from {mean.old:.4f} to {mean.new:.4f}.")
    assert f"{mean.low:+.4f} to {mean.high:+.4f} Student's 95% interval of the difference (p <0.0001, t test)" in said
    assert f"{mean.wins} : {mean.losses} queries won and lost by new; {mean.ties} are equal" in said
    assert '<h1 dir="auto">new and old on judgments</h1>' in text
    assert '<p class="lead">40 queries · 120 judgments · RR, AP</p>' in text
    charts = block(text, "charts-data")
    assert list(charts["changes"]) == ["RR", "AP"]
    assert not {"power", "dendrogram", "heat", "differs"} & set(charts)
    shown = block(text, "rankings-data")
    assert shown["texts"][1] == texts["q1"]
    assert "a &lt;b&gt;question&lt;/b&gt;" in text
    assert shown["lists"][0]["t"][0] == "The document ..."


def test_of_many_systems_ranges_are_those_of_the_first_measure(
    simulated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("calipers.report.material.MANY_SYSTEMS", 3)
    write_report(simulated.qrels, simulated.runs, tmp_path / "r.html", "nDCG@10 AP", sections=["unjudged"])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert list(block(text, "charts-data")["ranges"]) == ["nDCG@10"]
    assert "No ranges of AP: with more than 3 systems" in text


def test_a_baseline_and_chosen_sections(simulated: Any, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    names = cal.evaluate(simulated.qrels, simulated.runs, "AP").systems
    write_report(simulated.qrels, simulated.runs, page, "AP", baseline=names[1], sections=["differs", "systems"])
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'<section id="(\w+)">', text) == ["systems", "differs"]
    assert f"better than {names[1]} in AP" in verdict_of(text)
    found = cal.compare(cal.evaluate(simulated.qrels, simulated.runs, "AP"), baseline=names[1])
    for difference in found.outcomes[0].difference:
        assert f'data-value="{float(difference)!r}"' in text
    for wrong in ({"baseline": "nobody"}, {"sections": ["system"]}):
        with pytest.raises(CalipersError, match="unknown"):
            write_report(simulated.qrels, simulated.runs, page, "AP", **wrong)
    with pytest.raises(CalipersError, match="none of these sections applies"):
        write_report(simulated.qrels, simulated.runs, page, "AP", sections=["judges"])


def test_measures_of_diversity_lack_what_needs_one_grade_a_document(tmp_path: Path) -> None:
    judged = {"q1": {"s1": {"a": 1, "b": 0}, "s2": {"b": 1}}, "q2": {"s1": {"a": 1}, "s2": {"c": 1, "d": 0}}}
    runs = {"one": {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}}, "two": {"q1": {"b": 2, "a": 1}, "q2": {"d": 2, "c": 1}}}
    written = write_report(judged, runs, tmp_path / "r.html", "ERR-IA@10")
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert 'data-value="ERR-IA@10"' in text
    for note in written.notes:
        assert note.startswith("no section")


def test_no_sentence_contradicts_the_table_below_it(tmp_path: Path) -> None:
    """Of two systems, the table says in words if judging could reverse their order, as the sentence does."""
    qrels = {f"q{q}": {"a": 1, "b": 0} for q in range(6)}
    runs = {
        "old": {f"q{q}": {"b": 3, "a": 2, "u": 1} for q in range(6)},
        "new": {f"q{q}": {"u": 3, "b": 2, "a": 1} if q else {"a": 1} for q in range(6)},
    }
    write_report(qrels, runs, tmp_path / "r.html", "P@1", sections=["unjudged", "between"])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    found = cal.Experiment(qrels, runs, "P@1", warn=False).ranges().pair_ranges()
    words = "cannot" if found.decided[0] else "could"
    assert f"Judging {words} reverse the order of the two systems in P@1." in text
    row = re.search(r'data-grid="decided".*?<tbody>(.*?)</tbody>', text, re.DOTALL)
    assert row is not None
    answer = "no" if found.decided[0] else "yes"
    assert re.sub(r"<[^>]*>", " ", row.group(1)).split()[:3] == ["P@1", answer, "no"]


def test_measures_without_room_are_left_out_of_the_table_of_random_rankings(tmp_path: Path) -> None:
    write_report(QRELS, RUNS, tmp_path / "r.html", "Recall@1000 AP", sections=["between"])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    table = re.search(r'data-grid="bounds".*?</table>', text, re.DOTALL)
    assert table is not None
    assert "Recall@1000" not in table.group(0)
    assert "worst" not in table.group(0)
    assert "Left out: Recall@1000." in text


def test_pairs_that_depend_on_one_query_are_one_table(simulated: Any, tmp_path: Path) -> None:
    write_report(simulated.qrels, simulated.runs, tmp_path / "r.html", "nDCG@10 AP RR P@5", sections=["differs"])
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    scores = cal.evaluate(simulated.qrels, simulated.runs, "nDCG@10 AP RR P@5", warn=False)
    rows = cal.questions.compare.influence(scores, cal.compare(scores, warn=False)).rows
    assert rows
    table = re.search(r'data-grid="influence".*?</table>', text, re.DOTALL)
    assert table is not None
    assert table.group(0).count("<tr>") == len(rows) + 1


@pytest.mark.parametrize("texts", ["query_texts", "document_texts"])
def test_a_missing_file_of_texts_is_an_error(tmp_path: Path, texts: str) -> None:
    with pytest.raises(CalipersError, match=r"none\.tsv: there is no such file"):
        write_report(QRELS, RUNS, tmp_path / "r.html", "AP", **{texts: tmp_path / "none.tsv"})
    assert list(tmp_path.iterdir()) == []


def test_a_page_is_html(tmp_path: Path) -> None:
    with pytest.raises(CalipersError, match=r"cannot be written as \.pdf; a report is an HTML page: name it r\.html"):
        write_report(QRELS, RUNS, tmp_path / "r.pdf", "AP")


def test_groups_of_queries(tmp_path: Path) -> None:
    runs = {"old": ranked(0.5), "new": ranked(0.9)}
    groups = {f"q{q}": "odd" if q % 2 else "even" for q in range(40)} | {"q0": "alone"}
    write_report(FORTY, runs, tmp_path / "r.html", "RR", sections=["groups"], query_groups=groups)
    text = (tmp_path / "r.html").read_text(encoding="utf-8")
    scores = cal.evaluate(FORTY, runs, "RR", warn=False)
    found = cal.compare(scores, query_groups=groups, warn=False).groups["odd"]
    means = scores.by(groups)["odd"].mean()
    assert f'data-value="{means["new", "RR"] - means["old", "RR"]!r}"' in text
    assert f'data-value="{float(found.p_adjusted[0][0])!r}"' in text
    three = {**runs, "best": ranked(1.0)}
    write_report(FORTY, three, tmp_path / "r.html", "RR", sections=["groups"], query_groups=groups)
    rows = re.search(r'data-grid="groups".*?<tbody>(.*?)</tbody>', (tmp_path / "r.html").read_text(), re.DOTALL)
    assert rows is not None
    assert rows.group(1).count("<tr") == 9
    write_report(FORTY, runs, tmp_path / "r.html", "RR")
    assert 'id="groups"' not in (tmp_path / "r.html").read_text()


# -- bad input -----------------------------------------------------------------------------------------


def test_no_query_in_common(tmp_path: Path) -> None:
    with pytest.raises(CalipersError, match="no query in common"):
        write_report(QRELS, {"one": {"other": {"a": 1.0}}}, tmp_path / "r.html")
    assert list(tmp_path.iterdir()) == []


def test_all_scores_undefined(tmp_path: Path) -> None:
    with pytest.raises(CheckFailed, match="every score is undefined"):
        write_report(
            {"q1": {"a": 0}, "q2": {"a": 0}}, {"one": {"q1": {"a": 1.0}}}, tmp_path / "r.html", "AP", empty="skip"
        )
    assert list(tmp_path.iterdir()) == []


def test_one_measure_undefined_among_others(tmp_path: Path) -> None:
    qrels = {"q1": {"a": 1}, "q2": {"b": 1}}  # every ranking of one document is the same: V2 has no room
    runs = {"one": {"q1": {"a": 1.0}, "q2": {"b": 1.0}}, "two": {"q1": {"b": 1.0}, "q2": {"b": 1.0}}}
    written = write_report(qrels, runs, tmp_path / "r.html", "AP RR")
    assert written.size > 900_000


@pytest.mark.parametrize("output", ["nowhere/report.html", "."])
def test_a_place_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path, output: str) -> None:
    with pytest.raises(CalipersError, match=r"cannot write here|is a folder"):
        write_report(QRELS, RUNS, tmp_path / output)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder that nobody may write to")
def test_a_folder_without_leave_to_write() -> None:
    with pytest.raises(CalipersError, match="cannot write here"):
        write_report(QRELS, RUNS, "/proc/report.html")


def test_an_existing_report_stays_where_the_new_one_fails(tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    page.write_text("old")
    with pytest.raises(CalipersError):
        write_report(QRELS, {"one": {"other": {"a": 1.0}}}, page)
    assert page.read_text() == "old"
    assert list(tmp_path.iterdir()) == [page]


def test_too_large_a_page_is_thinned_and_says_so(
    simulated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = write_report(simulated.qrels, simulated.runs, tmp_path / "full.html", "AP RR")
    assert full.notes == ()
    monkeypatch.setattr(pages, "LIMIT", full.size - 1)
    once = write_report(simulated.qrels, simulated.runs, tmp_path / "once.html", "AP RR")
    assert once.size <= full.size - 1
    assert "charts of pairs of systems are of the first measure only" in once.notes[0]
    text = (tmp_path / "once.html").read_text(encoding="utf-8")
    assert "Left out: charts of pairs" in text
    assert list(block(text, "charts-data")["differs"]) == ["AP"]
    monkeypatch.setattr(pages, "LIMIT", 1)
    least = write_report(simulated.qrels, simulated.runs, tmp_path / "least.html", "AP RR")
    assert least.size < once.size
    assert "rankings are left out" in least.notes[0]
    assert "make it smaller" in least.notes[1]
    assert block((tmp_path / "least.html").read_text(encoding="utf-8"), "rankings-data")["lists"] == []


def test_thinned_pairs_are_those_of_the_best_systems(simulated: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from calipers.report.section import Detail

    material = Material(cal.Experiment(simulated.qrels, simulated.runs, "AP"))
    best = {material.scores.systems[s] for s in material.order[:2]}
    placed = {each.key: each for each in pages.make(material, Detail(measures=1, systems=2))}
    (chart,) = placed["differs"].section.charts["differs"].values()
    columns = chart["layer"][0]["data"]["columns"] if "data" in chart["layer"][0] else chart["data"]["columns"]
    assert {*_words(columns["row"]), *_words(columns["column"])} == best


def _words(column: Any) -> list[str]:
    return column if isinstance(column, list) else [column["words"][i] for i in column["at"]]


def test_names_that_are_no_file_names_and_ids_that_are_no_utf8(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_bytes(b"q\xff 0 d\xfe 1\nq\xff 0 e 0\n2 0 a 1\n2 0 b 0\n")
    odd = tmp_path / "..a b'c;$(x)"
    odd.write_bytes(b"q\xff Q0 d\xfe 1 2 a/b:c*?\nq\xff Q0 e 2 1 a/b:c*?\n2 Q0 a 1 1 a/b:c*?\n")
    written = write_report(tmp_path / "qrels", {"a/b:c*?": odd}, tmp_path / "r.html", "AP")
    text = Path(written.path).read_text(encoding="utf-8")
    assert "a/b:c*?" in text
    assert block(text, "rankings-data")["queries"][0] == "q\udcff"


def test_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(CalipersError, match=r"calipers\[report\]"):
        write_report(QRELS, RUNS, tmp_path / "r.html")


# -- pieces --------------------------------------------------------------------------------------------


def test_data_cannot_leave_its_script() -> None:
    awkward = {"</script><script>alert(1)": ["<!--", "]]>", "\u2028", "\udcff", "&amp;", "'\""]}
    text = script_data(awkward)
    assert not set("<>&\u2028\udcff") & set(text)
    assert json.loads(text) == awkward


def test_rows_by_column_lose_nothing_that_is_seen() -> None:
    rows = [{"a": "x", "b": 1.23456789, "c": None}, {"a": "y", "b": float("nan"), "c": 2}, {"a": "x", "b": 3.0, "c": 1}]
    packed = by_column(rows)
    assert packed == {"a": {"words": ["x", "y"], "at": [0, 1, 0]}, "b": [1.23457, None, 3], "c": [None, 2, 1]}


@pytest.mark.slow
def test_fifty_runs_on_fifty_topics_are_below_two_megabytes(tmp_path: Path) -> None:
    simulation = simulate(topics=50, systems=50, retrieved=100, ties=0.1, unjudged=0.2, seed=1)
    written = write_report(simulation.qrels, simulation.runs, tmp_path / "r.html")
    assert written.notes == ()
    assert written.size < 2_000_000
