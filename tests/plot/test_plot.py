"""Charts: every one is a function, valid, labelled, safe with any name, and can be written in every form."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from browser_page import new_context
from calipers import plot
from calipers.collection.simulate import simulate
from calipers.errors import CalipersError
from calipers.plot.specifications import COLOURS
from calipers.plot.systems import placed
from calipers.questions.metaeval.human_agreement import Agreement, HumanCorrelation
from calipers.report.section import chart_spec
from conftest import Require, valid_spec

ODD = ["constructor", "<b>bold", "a.b[0]", 'say "hi"']


@pytest.fixture(scope="module")
def charts() -> dict[str, Any]:
    simulation = simulate(topics=6, systems=4, retrieved=20, ties=0.1, unjudged=0.2, seed=5)
    runs = dict(zip(ODD, simulation.runs.values(), strict=True))
    qrels = simulation.qrels
    scores = cal.evaluate(qrels, runs, ["nDCG@10", "AP"])
    bounds = cal.bounds(qrels, ["nDCG@10", "AP"])
    difference = cal.questions.information.difference(cal.Experiment(qrels, runs))
    types = cal.query_types(scores.of_measures(["AP"]), bounds)
    return {
        "means": plot.means(scores, "AP"),
        "between_bounds": plot.between_bounds(scores, bounds, "AP"),
        "differences": plot.differences(cal.compare(scores), "AP"),
        "unjudged": plot.unjudged(scores),
        "query_map": plot.query_map(types, "AP"),
        "expected_histogram": plot.expected_histogram(bounds, "AP"),
        "significance_curves": plot.significance_curves(cal.questions.metaeval.discriminative_power(scores)),
        "tool_causes": plot.tool_causes(cal.Experiment(qrels, runs, "nDCG@10").audit()),
        "tool_scores": plot.tool_scores(cal.Experiment(qrels, runs, "nDCG@10").audit()),
        "dendrogram": plot.dendrogram(difference),
        "heat_map": plot.heat_map(difference),
        "power_curves": plot.power_curves(cal.plan(scores, difference=0.1)),
        "difference_scatter": plot.difference_scatter(difference),
        "user_models": plot.user_models([cal.user_model(name, [0, 1, 0]) for name in ("RBP", "INST")]),
    }


NAMES = [
    "means",
    "between_bounds",
    "differences",
    "unjudged",
    "query_map",
    "expected_histogram",
    "significance_curves",
    "tool_causes",
    "tool_scores",
    "dendrogram",
    "heat_map",
    "power_curves",
    "difference_scatter",
    "user_models",
]


@pytest.mark.parametrize("systems", [3, 14])
def test_the_charts_of_a_report_are_valid(systems: int) -> None:
    simulation = simulate(topics=6, systems=systems, retrieved=20, ties=0.1, unjudged=0.2, seed=5)
    qrels, runs = simulation.qrels, simulation.runs
    scores = cal.evaluate(qrels, runs, ["nDCG@10"])
    bounds, difference = (
        cal.bounds(qrels, ["nDCG@10"]),
        cal.questions.information.difference(cal.Experiment(qrels, runs)),
    )
    types = cal.query_types(scores.of_measures(["nDCG@10"]), bounds)
    old, new = list(runs)[:2]
    change = cal.Experiment(qrels, runs, "AP").diff(old, new)
    turned = {query: {d: 2 - grade for d, grade in graded.items()} for query, graded in qrels.items()}
    aspects = [Agreement(measure, "people", "system", "tau-b", 0.5, 0.1, 0.9, 4, 0.75) for measure in ("AP", "RR")]
    people = HumanCorrelation(tuple(aspects), 6, 3, 0, 0)
    study = cal.Experiment(qrels, runs, ["AP"], warn=False).judges({"turned": turned, "same": qrels})
    confusions = list(study.confusion.values())
    compared, to_baseline = cal.compare(scores), cal.compare(scores, baseline=old)
    audit, power, plan = (
        cal.Experiment(qrels, runs, "nDCG@10").audit(),
        cal.questions.metaeval.discriminative_power(scores),
        cal.plan(scores, difference=0.1),
    )
    ranges = cal.Experiment(qrels, runs, "nDCG@10").ranges()
    for chart in (
        plot.means(scores),
        plot.between_bounds(scores, bounds, "nDCG@10"),
        plot.differences(compared),
        plot.against_baseline(to_baseline),
        plot.unjudged(scores),
        plot.query_map(types),
        plot.tool_causes(audit),
        plot.significance_curves(power),
        plot.dendrogram(difference),
        plot.heat_map(difference),
        plot.power_curves(plan),
        plot.gains_and_losses(change),
        plot.score_ranges(ranges),
        plot.slopes(study.effect),
        plot.stacked(*map(plot.confusion, confusions)),
        plot.stacked(plot.confusion(confusions[0])),
        plot.agreement_chart(people),
    ):
        assert valid_spec(chart)["$schema"]


def test_a_page_has_the_rows_of_charts_by_column() -> None:
    chart = plot.Chart.of(
        [{"system": "a", "score": 1 / 3}, {"system": "b", "score": 0.5}],
        {"mark": "bar"},
        {"mark": "rule", "data": {"values": [{"at": 0}]}},
        {"mark": "text", "data": {"values": []}},
        title="Scores",
        width=480,
    )
    assert chart_spec(chart) == {
        "data": {"columns": {"system": ["a", "b"], "score": [0.333333, 0.5]}},
        "layer": [
            {"mark": "bar"},
            {"mark": "rule", "data": {"columns": {"at": [0]}}},
            {"mark": "text", "data": {"values": []}},
        ],
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
    }
    (inner,) = chart_spec(plot.stacked(chart))["vconcat"]
    assert inner["data"] == {"columns": {"system": ["a", "b"], "score": [0.333333, 0.5]}}
    assert chart.spec["title"] == "Scores"


def layers(spec: dict[str, Any]) -> list[dict[str, Any]]:
    return [spec, *(inner for part in spec.get("layer", ()) for inner in layers(part))]


@pytest.mark.parametrize("name", NAMES)
def test_every_chart_is_valid_and_its_quantities_are_labelled(charts: dict[str, Any], name: str) -> None:
    spec = valid_spec(charts[name])
    assert spec["title"]
    titles = {}
    for layer in layers(spec):
        for axis in ("x", "y"):
            channel = layer.get("encoding", {}).get(axis, {})
            if channel.get("type") == "quantitative" and channel.get("axis", True) is not None:
                titles.setdefault(axis, []).append(channel.get("title"))
    for axis, found in titles.items():
        assert any(found), (name, axis)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_user_stands_in_an_expression(charts: dict[str, Any], name: str) -> None:
    """Vega takes no `constructor` in one, and a name might be one."""
    keys = {"expr", "labelExpr", "calculate", "test"}
    expressions = [text for layer in layers(charts[name].to_dict()) for text in strings(layer, keys)]
    assert not [text for text in expressions for odd in ODD if odd in text]


def strings(part: Any, keys: set[str], inside: bool = False) -> list[str]:
    if isinstance(part, dict):
        return [s for key, value in part.items() for s in strings(value, keys, key in keys)]
    if isinstance(part, list):
        return [s for value in part for s in strings(value, keys, inside)]
    return [part] if inside and isinstance(part, str) else []


def test_colours_are_those_that_colour_blind_readers_can_tell_apart(charts: dict[str, Any]) -> None:
    safe = {colour.lower() for colour in COLOURS} | {"#dfe3e8", "#888888", "white", "#555555"}
    for name, chart in charts.items():
        spec = json.dumps(chart.spec).lower()
        assert {f"#{part[:6]}" for part in spec.split('"#')[1:]} <= safe, name


@pytest.mark.parametrize("form", ["html", "svg", "png", "json"])
def test_charts_are_written_in_every_form(charts: dict[str, Any], tmp_path: Path, form: str) -> None:
    Require().module("vl_convert")
    path = tmp_path / f"chart.{form}"
    plot.save(charts["between_bounds"], str(path))
    content = path.read_bytes()
    start = {"html": b"<!DOCTYPE html>", "svg": b"<svg", "png": b"\x89PNG", "json": b"{"}[form]
    assert content.lstrip().startswith(start)
    if form == "html":
        assert b'src="http' not in content
    if form == "svg":
        assert b"constructor" in content


@pytest.mark.parametrize("form", ["html", "svg", "json"])
def test_names_that_are_no_utf_8_are_written_out(tmp_path: Path, form: str) -> None:
    Require().module("vl_convert")
    qrels = {"x\udcff": {"a": 1, "b": 0}, "y": {"a": 0, "b": 1}}
    types = cal.query_types(cal.evaluate(qrels, qrels, "AP"), cal.bounds(qrels, "AP"))
    plot.save(plot.query_map(types, "AP"), str(tmp_path / f"chart.{form}"))
    content = (tmp_path / f"chart.{form}").read_text(encoding="utf-8")
    assert "x\\xff" in content.replace("\\\\", "\\")


def test_a_chart_that_cannot_be_written(charts: dict[str, Any], tmp_path: Path) -> None:
    Require().module("vl_convert")
    with pytest.raises(CalipersError, match="can be written as"):
        plot.save(charts["means"], str(tmp_path / "chart.docx"))
    with pytest.raises(CalipersError, match="there is no such folder"):
        plot.save(charts["means"], str(tmp_path / "nowhere" / "chart.json"))


def test_the_scale_from_random_to_ideal_is_that_of_v2() -> None:
    simulation = simulate(topics=5, systems=3, retrieved=20, seed=4)
    scores = cal.evaluate(simulation.qrels, simulation.runs, ["AP", "V2(AP)"])
    assert placed(scores, cal.bounds(simulation.qrels, "AP"), "AP") == pytest.approx(scores["V2(AP)"])


def test_which_measure_is_asked_where_there_are_several() -> None:
    scores = cal.evaluate({"q": {"a": 1}, "r": {"b": 1}}, {"q": {"a": 1}, "r": {"b": 2}}, ["AP", "RR"])
    for draw in (
        lambda: plot.means(scores),
        lambda: plot.between_bounds(scores, cal.bounds({"q": {"a": 1, "b": 0}}, "AP")),
    ):
        with pytest.raises(CalipersError, match="which measure"):
            draw()
    with pytest.raises(CalipersError, match="unknown measure 'P'"):
        plot.means(scores, "P")


def test_charts_need_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(CalipersError, match=r"calipers\[report\]"):
        plot.save(plot.stacked(), "chart.html")


def test_every_tool_has_a_point_for_every_system() -> None:
    simulation = simulate(topics=6, systems=4, retrieved=20, seed=5)
    audit = cal.Experiment(simulation.qrels, simulation.runs, "nDCG@10").audit(like=["letor4", "yahoo"])
    rows = plot.tool_scores(audit).to_dict()["data"]["values"]
    table = audit.figures()
    wanted = {
        (row[0], tool): value
        for row in table.rows
        for tool, value in zip(table.columns[1:], row[1:], strict=True)
        if value != "n/a"
    }
    assert len(wanted) == 8, "letor4 cannot read the labels 3 and 4"
    assert {(row["system"], row["tool"]): row["score"] for row in rows} == wanted


# -- in notebooks -------------------------------------------------------------------------------------------


def test_the_package_lists_charts_and_what_is_done_with_them() -> None:
    assert {"Chart", "save", "means"} <= {*dir(cal.plot)}
    assert not {"drawing", "vega", "COLOURS"} & {*dir(cal.plot)}


def test_a_notebook_shows_a_chart_without_a_network(charts: dict[str, Any]) -> None:
    Require().module("vl_convert")
    for chart in (charts["means"], plot.stacked(charts["means"])):
        ((kind, shown),) = chart._repr_mimebundle_().items()
        assert kind == "text/html"
        page = html.unescape(shown)
        assert page.startswith('<iframe srcdoc="<!DOCTYPE html>')
        assert "default-src 'none'" in page
        assert "window.vegaEmbed=" in page
        assert re.findall(r'<(?:script|link)[^>]*(?:src|href)="(?!data:,)', page) == []


def test_results_draw_themselves(simulated: Any) -> None:
    exp = cal.Experiment(simulated.qrels, simulated.runs, "nDCG@10", warn=False)
    old, new = exp.systems[:2]
    for found in (exp.ranges(), exp.plan(difference=0.05), exp.audit(), exp.diff(old, new)):
        assert found.plot().to_dict() == _drawn(found).to_dict()


def _drawn(found: Any) -> Any:
    functions = {
        "Ranges": plot.score_ranges,
        "SampleSizePlan": plot.power_curves,
        "Audit": plot.tool_scores,
        "Difference": plot.gains_and_losses,
    }
    return functions[type(found).__name__](found)


@pytest.fixture(scope="module")
def simulated() -> Any:
    return simulate(topics=6, systems=4, retrieved=20, unjudged=0.2, seed=5)


@pytest.mark.browser
@pytest.mark.slow
def test_a_browser_draws_it_without_a_request(browser: Any, charts: dict[str, Any], tmp_path: Path) -> None:
    page = tmp_path / "notebook.html"
    page.write_text(f"<!DOCTYPE html><body>{charts['means']._repr_mimebundle_()['text/html']}", encoding="utf-8")
    context = new_context(browser, offline=True)
    opened = context.new_page()
    requests: list[str] = []
    opened.on("request", lambda request: requests.append(request.url))
    opened.goto(page.as_uri())
    opened.frame_locator("iframe").locator(
        "body[data-charts=drawn] canvas, body[data-charts=drawn] svg"
    ).first.wait_for()
    assert [url for url in requests if not url.startswith(("file:", "about:", "data:", "blob:"))] == []
    context.close()
