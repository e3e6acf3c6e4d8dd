"""Our provider inside ir_measures, measure by measure against its own ones, and PyTerrier's experiments on it."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from calipers.errors import CalipersError
from calipers.tools import ir_measures as bridge

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]

# By the provider that works them out there; those of trec_eval also where scores tie.
MEASURES = {
    "pytrec_eval": "nDCG nDCG@5 nDCG(judged_only=True)@5 nDCG(gains={1:5,2:1})@10 P@5 P(rel=2)@10 "
    "P(judged_only=True)@5 RR RR(rel=2) RR(judged_only=True) Rprec Rprec(rel=2) AP AP@7 AP(rel=2) R@5 "
    "AP(rel=2,judged_only=True)@9 "
    "R(rel=2)@10 Bpref Bpref(rel=2) NumRet NumRet(rel=2) NumQ NumRel SetAP SetAP(rel=2) SetF SetF(beta=2.0) "
    "SetF(beta=0.5,rel=2) SetP SetP(relative=True) SetP(judged_only=True) SetR SetR(rel=2) Success@1 Success(rel=2)@5 "
    "IPrec@0.1 IPrec@0.55 IPrec(rel=2)@0.3 infAP infAP(rel=2)",
    "cwl_eval": "RBP(rel=1) RBP(rel=2,p=0.5) RBP(rel=1,p=0.95) SDCG(max_rel=3)@10 SDCG(max_rel=3,min_rel=0)@5 "
    "INST(max_rel=3) INST(T=2.5,max_rel=2) INST(max_rel=3,min_rel=1) INSQ(max_rel=3) "
    "INSQ(T=3.0,max_rel=3,min_rel=1) SDCG(max_rel=2)@5 BPM(max_rel=3)@10 BPM(T=2.5,max_rel=3,min_rel=1)@20 "
    "NERR8(max_rel=3)@5 NERR9(max_rel=3)@9 NERR10(p=0.8,max_rel=3) NERR11(T=2.0,max_rel=3,min_rel=1)",
    "accuracy": "Accuracy Accuracy@15 Accuracy(rel=2)@12 Accuracy(rel=3)",  # it fails where all are relevant
    "compat": "Compat Compat(p=0.8,normalize=False)",
    "judged": "Judged@5 Judged@10",
    "msmarco": "RR@3 RR(rel=2)@10",
    "gdeval": "nDCG(dcg='exp-log2')@10 ERR@5 ERR@20",
}
OF_SUBTOPICS = (
    "ERR_IA@5 ERR_IA@10 ERR_IA(rel=2)@10 nERR_IA@10 alpha_DCG@10 alpha_nDCG@10 alpha_nDCG(alpha=0.3)@20 NRBP "
    "NRBP(beta=0.8) nNRBP AP_IA P_IA@5 P_IA@10 StRecall@5 StRecall@20"
)
OURS = [
    "V2(nDCG@10)",
    "GAP",
    "RIC",
    "gm_map",
    "num_nonrel_judged_ret",
    "AP[ties=worst]",
    "nDCG@10[yahoo]",
    "RBP(p=0.5)[ties=best,depth=5]",
]
DOCUMENTS = [f"d{i}" for i in range(30)]


def generated(seed: int, ties: bool) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Judgments, with a query that the run lacks; ids that are numbers, as gdeval wants them."""
    draw = random.Random(seed)
    qrels = {f"{q}": {d: draw.choice([0, 0, 1, 2, 3]) for d in draw.sample(DOCUMENTS, 18)} for q in range(1, 9)}
    qrels["9"] = {"d1": 0}
    run = {
        q: {d: float(draw.randint(1, 6)) if ties else 1 + draw.random() for d in draw.sample(DOCUMENTS, 22)}
        for q in [*qrels][1:]
    }
    return qrels, run


def by_query(provider: Any, measure: Any, qrels: Any, run: Any) -> dict[str, float]:
    return {metric.query_id: metric.value for metric in provider.iter_calc([measure], qrels, run)}


@pytest.mark.parametrize("provider", MEASURES)
def test_their_measures(provider: str, require: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = require.module("ir_measures")
    monkeypatch.chdir(tmp_path)  # where one of them writes a log
    theirs = library.providers.registry[provider]
    assert theirs.is_available(), theirs.install_instructions()
    within = 5.1e-6 if provider == "gdeval" else 1e-6  # it prints five digits
    for seed, ties in ((1, False), (2, False), *([(3, True)] if provider == "pytrec_eval" else [])):
        qrels, run = generated(seed, ties)
        for name in MEASURES[provider].split():
            measure = library.parse_measure(name)
            assert theirs.supports(measure)
            assert library.calipers.supports(measure), name
            expected = by_query(theirs, measure, qrels, run)
            assert by_query(library.calipers, measure, qrels, run) == pytest.approx(expected, abs=within), name


def test_their_measures_of_diversity(require: Any) -> None:
    library = require.module("ir_measures")
    require.module("pyndeval")
    draw = random.Random(4)
    qrels = [
        library.Qrel(f"{q}", d, draw.choice([0, 0, 1, 2]), f"{s}")
        for q in range(10)
        for s in range(1, 4)
        for d in draw.sample(DOCUMENTS, 15)
    ]
    run = {f"{q}": {d: draw.random() for d in draw.sample(DOCUMENTS, 22)} for q in range(9)}
    for name in OF_SUBTOPICS.split():
        measure = library.parse_measure(name)
        expected = by_query(library.pyndeval, measure, qrels, run)
        assert by_query(library.calipers, measure, qrels, run) == pytest.approx(expected, abs=1e-6), name
    assert "iteration" in library.calipers.qrel_inputs([library.ERR_IA @ 10])


def test_the_default_pipeline_asks_us(require: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    library = require.module("ir_measures")
    monkeypatch.setattr(library.pytrec_eval, "_evaluator", None)  # which is not called
    qrels, run = generated(5, True)
    measures = [library.nDCG @ 10, library.AP(rel=2), library.RR, library.RR @ 10]
    found = library.calc_aggregate(measures, qrels, run)
    assert found[measures[2]] == found[measures[3]]  # one tie rule for all of them
    per_query = [*library.iter_calc(measures, qrels, run)]
    assert len(per_query) == len(measures) * len(qrels)
    for measure in measures:
        mean = sum(metric.value for metric in per_query if metric.measure == measure) / len(qrels)
        assert found[measure] == pytest.approx(mean)
    assert library.calc_aggregate([library.AP], qrels, {"nobody": {"d": 1.0}})[library.AP] == 0.0
    without = {"1": {}, "2": {"a": 1}}, {"1": {"a": 1.0}, "2": {"a": 1.0}}  # a query without judgments counts 0 there
    for provider in (library.calipers, library.providers.PytrecEvalProvider()):
        assert provider.calc_aggregate([library.AP], *without) == {library.AP: 0.5}


def test_infinite_scores(require: Any) -> None:
    library = require.module("ir_measures")
    qrels, run = {"1": {"a": 1, "b": 0}}, {"1": {"a": float("-inf"), "b": 1.0}}
    for measure in (library.RR, library.AP @ 5, library.parse_measure("AP[ties=average]")):
        assert library.calc_aggregate([measure], qrels, run) == {measure: 0.5}


def test_graded_rbp_is_that_of_trectools(require: Any) -> None:
    """Grades count as they are, and ties are averaged over."""
    library = require.module("ir_measures")
    qrels, run = generated(8, True)
    for name, p, cutoff in (("RBP", 0.8, 30), ("RBP(p=0.5)", 0.5, 30), ("RBP(p=0.9)@5", 0.9, 5)):
        got = by_query(library.calipers, library.parse_measure(name), qrels, run)
        for query, scored in run.items():
            ranked = sorted(scored, key=scored.__getitem__, reverse=True)
            spans = [[i for i, d in enumerate(ranked) if scored[d] == scored[each]] for each in ranked]
            gained = [
                (1 - p) * sum(p**i for i in span if i < cutoff) / len(span) * qrels[query].get(document, 0)
                for document, span in zip(ranked, spans, strict=True)
            ]
            assert got[query] == pytest.approx(sum(gained)), (name, query)
        assert got["1"] == 0.0  # which the run lacks


def test_accuracy_leaves_queries_out(require: Any) -> None:
    library = require.module("ir_measures")
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"b": 0}, "4": {"a": 1}}
    run = {"1": {"b": 2.0, "a": 1.0, "x": 0.5}, "2": {"x": 1.0}, "3": {"b": 1.0}}
    for provider in (library.calipers, library.accuracy):
        assert by_query(provider, library.Accuracy, qrels, run) == {"1": 0.5}
        assert provider.calc_aggregate([library.Accuracy], qrels, run) == {library.Accuracy: 0.5}
    both = library.calipers.calc_aggregate([library.Accuracy, library.RR], qrels, run)
    assert both == {library.Accuracy: 0.5, library.RR: 0.5 / 4}


def test_what_is_not_known_here_is_left_to_others(require: Any) -> None:
    library = require.module("ir_measures")
    assert not library.calipers.supports(library.parse_measure("INST(T=0.25,max_rel=3)"))
    for named in (library.INST, library.INSQ):  # grade 0 gains more than unjudged there
        assert not library.calipers.supports(named(max_rel=3, min_rel=-1))
    assert not library.calipers.supports(library.SetF(beta=-1.0))


@pytest.mark.parametrize("name", OURS)
def test_our_names_parse_there(name: str, require: Any) -> None:
    library = require.module("ir_measures")
    measure = library.parse_measure(name)
    assert str(measure) == name
    assert library.parse_trec_measure(name) == [measure]
    assert library.parse_measure(str(measure)) == measure
    qrels, run = generated(6, True)
    typed, _, said = name.rstrip("]").partition("[")
    policies: dict[str, Any] = {}
    for part in filter(None, said.split(",")):
        key, equals, value = part.partition("=")
        policies[key if equals else "like"] = int(value) if value.isdigit() else value or key
    if "like" not in policies:  # then ties are broken as by measures of theirs
        policies = {"ties": "docid", "precision": "single", **policies}
    expected = cal.evaluate(qrels, run, typed, warn=False, **policies).mean().rows[0][1]
    for calculate in (library.calc_aggregate, library.calipers.calc_aggregate):
        assert calculate([measure], qrels, run)[measure] == pytest.approx(expected)


@pytest.mark.parametrize("name", ["nDCG@10", "AP", "RR", "P@5"])
def test_all_measures_of_a_row_break_ties_alike(require: Any, name: str) -> None:
    """A measure of theirs, the same measure of ours, and its normalised form see one ranking."""
    library = require.module("ir_measures")
    qrels, run = generated(3, ties=True)
    theirs, ours, normalised = library.parse_measure(name), bridge.named(name), bridge.named(f"V2({name})")
    found = {each: by_query(library.calipers, each, qrels, run) for each in (theirs, ours, normalised)}
    averaged = by_query(library.calipers, bridge.named(f"{name}[ties=average]"), qrels, run)
    assert {query: found[ours][query] for query in found[theirs]} == pytest.approx(found[theirs])
    assert {query: averaged[query] for query in found[theirs]} != pytest.approx(found[theirs])
    expected = cal.evaluate(qrels, run, f"V2({name})", ties="docid", precision="single", warn=False)
    values = dict(zip(expected.queries, expected.values[0, 0].tolist(), strict=True))
    assert found[normalised] == pytest.approx({query: values[query] for query in found[normalised]}, nan_ok=True)


def test_names_that_nobody_knows(require: Any) -> None:
    library = require.module("ir_measures")
    with pytest.raises(NameError, match="measure not found: Nope"):
        library.parse_measure("Nope@10")
    with pytest.raises(ValueError, match="Nope"):
        library.parse_trec_measure("Nope@10")
    with pytest.raises(CalipersError, match="unknown option 'tie'"):
        bridge.named("AP[tie=worst]")
    assert library.parse_trec_measure("ndcg_cut_10") == [library.nDCG @ 10]
    assert library.parse_trec_measure("nDCG@10") == [library.nDCG @ 10]


def test_their_command_line(tmp_path: Path, require: Any) -> None:
    require.module("ir_measures")
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 b 1 2.0 t\n1 Q0 a 2 1.0 t\n")
    call = [sys.executable, "-W", "ignore", "-m", "calipers.tools.ir_measures", "qrels", "run"]
    done = subprocess.run(
        [*call, "AP", "V2(AP)", "--provider", "calipers"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (sorted(done.stdout.splitlines()), done.stderr) == (["AP\t0.5000", "V2(AP)\t-0.3333"], "")


# -- PyTerrier -------------------------------------------------------------------------------------------


def test_pyterrier(require: Any) -> None:
    """An experiment on frames: PyTerrier's Java part is not needed for it."""
    pandas, pt = require.module("pandas"), require.module("pyterrier")
    qrels, run = generated(7, True)
    del qrels["9"], run["9"]  # for which V2 is undefined: PyTerrier's own mean would be NaN
    judged = pandas.DataFrame(
        [(q, d, g) for q in qrels for d, g in qrels[q].items()], columns=["qid", "docno", "label"]
    )
    systems = []
    for sign in (1, -1):
        rows = [(q, d, sign * s) for q in run for d, s in run[q].items()]
        frame = pandas.DataFrame(rows, columns=["qid", "docno", "score"])
        frame["rank"] = frame.groupby("qid").score.rank(ascending=False, method="first").astype(int) - 1
        systems.append(frame)
    topics = pandas.DataFrame({"qid": [*qrels], "query": "x"})
    names = ["nDCG@10", "V2(nDCG@10)", "GAP", "AP[ties=average]", "map"]
    found = pt.Experiment(systems, topics, judged, eval_metrics=names, names=["up", "down"]).set_index("name")
    down = {q: {d: -s for d, s in ranked.items()} for q, ranked in run.items()}
    for system, scores in (("up", run), ("down", down)):
        alike: Any = {"ties": "docid", "precision": "single"}
        ours = cal.evaluate(qrels, scores, ["V2(nDCG@10)", "GAP"], warn=False, **alike).mean()
        averaged = cal.evaluate(qrels, scores, ["AP"], warn=False).mean()
        theirs = cal.evaluate(qrels, scores, ["nDCG@10", "AP"], like="trec_eval-9", warn=False).mean()
        for name, table, column in (
            ("V2(nDCG@10)", ours, "V2(nDCG@10)"),
            ("GAP", ours, "GAP"),
            ("AP[ties=average]", averaged, "AP"),
            ("nDCG@10", theirs, "nDCG@10"),
            ("map", theirs, "AP"),
        ):
            assert found.loc[system, name] == pytest.approx(table["run", column]), (system, name)
    each = pt.Experiment(systems[:1], topics, judged, eval_metrics=["V2(AP)"], names=["up"], perquery=True)
    assert set(each.qid) == set(qrels)
    assert pt.Evaluate(systems[0], judged, metrics=["GAP"])["GAP"] == pytest.approx(found.loc["up", "GAP"])
