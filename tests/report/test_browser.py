"""The report in a real browser: it makes no request, sorts, filters, shows, and survives whatever ids contain."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import calipers as cal
from browser_page import Opened, new_context
from calipers.collection.simulate import simulate
from calipers.measures.grammar import DEFAULT_MEASURES
from conftest import absent

pytestmark = [pytest.mark.browser, pytest.mark.slow]

MEASURES = "nDCG@10 AP RR"


def write_report(judgments: Any, runs: Any, path: Path, measures: Any = DEFAULT_MEASURES, **choices: Any) -> cal.Report:
    return cal.Experiment(judgments, runs, measures, warn=False).report(path, **choices)


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    simulation = simulate(topics=8, systems=7, retrieved=40, ties=0.2, unjudged=0.2, seed=11)
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(simulation.qrels, simulation.runs, path, MEASURES, title="Seven systems")
    return path


@pytest.fixture
def opened(browser: Any, written: Path) -> Iterator[Opened]:
    found = Opened(browser, written, viewport={"width": 1300, "height": 900}, color_scheme="light")
    yield found
    found.context.close()


def test_no_request_no_complaint_every_chart_drawn(opened: Opened) -> None:
    for _ in range(3):
        opened.page.mouse.wheel(0, 4000)
    assert opened.requests == [opened.address]
    assert opened.complaints == []
    figures = opened.page.query_selector_all(".chart")
    assert len(figures) >= 10
    for figure in figures:
        box = figure.query_selector("svg, canvas").bounding_box()
        assert box["width"] > 100, figure.get_attribute("data-chart")
        assert box["height"] > 40


def test_the_policy_of_the_page_forbids_requests(opened: Opened) -> None:
    refused = opened.page.evaluate("fetch('http://127.0.0.1:9/').then(() => 'sent', error => 'refused')")
    assert refused == "refused"
    assert any("Content Security Policy" in text for text in opened.complaints)
    assert opened.requests == [opened.address]


def test_sorts_by_any_column_both_ways(opened: Opened) -> None:
    page = opened.page
    head = page.locator('[data-grid="systems"] thead th').nth(2)  # AP
    head.locator("button").click()
    values = [float(text.split("±")[0]) for text in opened.column("systems", 3)]
    assert values == sorted(values, reverse=True)
    assert head.get_attribute("aria-sort") == "descending"
    head.locator("button").press("Enter")
    values = [float(text.split("±")[0]) for text in opened.column("systems", 3)]
    assert values == sorted(values)
    assert head.get_attribute("aria-sort") == "ascending"
    page.locator('[data-grid="systems"] thead th').nth(0).locator("button").click()
    names = opened.column("systems", 1)
    assert names == sorted(names, key=lambda name: [int(n) if n.isdigit() else n for n in re.split(r"(\d+)", name)])


def test_filters_and_says_how_many_are_left(opened: Opened) -> None:
    names = opened.column("systems", 1)
    box = opened.page.locator('[data-grid="systems"] input')
    box.fill(names[2].upper())
    assert opened.column("systems", 1) == [name for name in names if names[2] in name]
    assert opened.texts('[data-grid="systems"] .count') == ["1 of 7 systems"]
    box.fill("nothing of this name")
    assert opened.column("systems", 1) == []
    box.fill("")
    assert len(opened.column("systems", 1)) == 7


def test_downloads_what_is_shown_in_full_precision(opened: Opened, tmp_path: Path) -> None:
    names = opened.column("systems", 1)
    opened.page.locator('[data-grid="systems"] input').fill(names[0])
    with opened.page.expect_download() as waiting:
        opened.page.locator('[data-grid="systems"] .csv').click()
    waiting.value.save_as(tmp_path / "systems.csv")
    assert waiting.value.suggested_filename == "systems.csv"
    rows = list(csv.DictReader(io.StringIO((tmp_path / "systems.csv").read_text(encoding="utf-8"))))
    assert list(rows[0])[:4] == ["system", "nDCG@10", "nDCG@10 low", "nDCG@10 high"]
    assert [row["system"] for row in rows] == [names[0]]
    assert float(rows[0]["AP low"]) < float(rows[0]["AP"]) < float(rows[0]["AP high"])
    assert len(rows[0]["AP"]) > 10
    assert opened.requests == [opened.address]


def test_light_and_dark(opened: Opened) -> None:
    page = opened.page
    background = "getComputedStyle(document.body).backgroundColor"
    words = "getComputedStyle(document.querySelector('.chart .role-axis-label text')).fill"
    light, light_words = page.evaluate(background), page.evaluate(words)
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.evaluate(background) != light
    assert page.evaluate(words) != light_words
    opened.drawn()
    page.click("#theme")
    assert page.evaluate(background) == light
    assert opened.complaints == []


def test_dark_where_the_system_is_dark(browser: Any, written: Path) -> None:
    found = Opened(browser, written, color_scheme="dark")
    red, green, blue = map(
        int, re.findall(r"\d+", found.page.evaluate("getComputedStyle(document.body).backgroundColor"))
    )
    assert max(red, green, blue) < 60
    found.context.close()


def test_tips_of_cells_and_of_charts(opened: Opened) -> None:
    page = opened.page
    cell = page.locator('[data-grid="properties"] td.no').first
    cell.scroll_into_view_if_needed()
    cell.hover()
    assert page.is_visible("#tip")
    assert "No: " in page.inner_text("#tip")
    page.keyboard.press("Escape")
    assert not page.is_visible("#tip")
    point = page.locator('[data-chart="queries"] .mark-symbol path').nth(2)
    point.scroll_into_view_if_needed()
    point.hover(force=True)
    page.wait_for_selector("#vg-tooltip-element.visible")
    shown = page.inner_text("#vg-tooltip-element")
    for word in ("query", "actual", "expected"):
        assert word in shown


def test_a_click_on_a_query_shows_its_rankings(opened: Opened) -> None:
    page = opened.page
    point = page.locator('[data-chart="queries"] .mark-symbol path').first
    point.scroll_into_view_if_needed()
    point.click(force=True)
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#ranking-title").startswith("Query ")
    assert len(opened.texts("dialog .side")) == 2
    assert len(page.query_selector_all("dialog .side:first-child .document")) == 10
    assert "tied with the document above" in page.inner_text("dialog .key")
    first, second = (page.locator("dialog .side select").nth(i).input_value() for i in (0, 1))
    other = next(str(s) for s in range(7) if str(s) not in (first, second))
    page.locator("dialog .side select").nth(1).select_option(other)
    assert page.locator("dialog .side select").nth(1).input_value() == other
    page.hover("dialog .document >> nth=0")
    same = page.query_selector_all("dialog .document.this")
    assert len({each.get_attribute("data-document") for each in same}) == 1
    before = page.inner_text("#ranking-title")
    page.click('dialog [data-step="1"]')
    assert page.inner_text("#ranking-title") != before
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#ranking-title") == before
    page.keyboard.press("Escape")
    assert not page.is_visible("dialog")


def test_the_table_of_queries_opens_them_by_keyboard(opened: Opened) -> None:
    name = opened.column("queries", 1)[3]
    button = opened.page.locator('[data-grid="queries"] .open').nth(3)
    button.focus()
    button.press("Enter")
    assert opened.page.inner_text("#ranking-title") == f"Query {name}"


def test_another_measure_draws_the_charts_again(opened: Opened) -> None:
    page = opened.page
    assert page.get_attribute('[data-chart="means"]', "data-drawn") == "nDCG@10"
    page.select_option("#measure", "AP")
    page.wait_for_selector('[data-chart="queries"][data-drawn="AP"]')
    opened.drawn()
    assert "mean AP" in page.text_content('[data-chart="means"]')
    assert opened.complaints == []


# -- at the widths of a phone, a laptop and a desk ---------------------------------------------------------

BEYOND = """[...document.querySelectorAll(".chart")].flatMap((figure) => {
  const place = figure.getBoundingClientRect();
  const wide = figure.scrollWidth > figure.clientWidth + 1;
  const texts = [...figure.querySelectorAll("svg .role-axis-title text, svg .role-axis-label text")];
  const cut = texts.filter((text) => text.textContent && !wide &&
    (text.getBoundingClientRect().right > place.right + 2 || text.getBoundingClientRect().left < place.left - 2));
  return cut.map((text) => `${figure.dataset.chart}: ${text.textContent}`);
})"""
COLLISIONS = """[...document.querySelectorAll(".chart svg .role-axis-label")].flatMap((axis) => {
  const all = [...axis.querySelectorAll("text")];
  const seen = all.filter((text) => text.textContent && getComputedStyle(text).opacity !== "0");
  const boxes = seen.map((text) => [text.textContent, text.getBoundingClientRect()]);
  return boxes.slice(1).filter(([, box], i) => {
    const before = boxes[i][1];
    const across = box.left < before.right - 2 && before.left < box.right - 2;
    return across && box.top < before.bottom - 3 && before.top < box.bottom - 3;
  }).map(([text]) => text);
})"""


@pytest.fixture(scope="session")
def by_systems(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """Pages on 2 and on 24 systems."""
    folder = tmp_path_factory.mktemp("systems")
    for systems in (2, 24):
        simulation = simulate(topics=8, systems=systems, retrieved=30, ties=0.1, unjudged=0.2, seed=4)
        texts = {query: f"what is asked as {query}" for query in simulation.qrels} if systems == 2 else None
        write_report(simulation.qrels, simulation.runs, folder / f"{systems}.html", MEASURES, query_texts=texts)
    return {systems: folder / f"{systems}.html" for systems in (2, 24)}


@pytest.fixture(scope="session")
def axe() -> str:
    """The rules of accessibility that browsers' own tools have, too."""
    import importlib.util

    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or not spec.submodule_search_locations:
        absent("needs axe_playwright_python (requirements/alone.txt)")
    return (Path(next(iter(spec.submodule_search_locations))) / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize(("systems", "width"), [(2, 390), (24, 390), (24, 1100), (2, 1600), (24, 1600)])
def test_nothing_is_cut_off_collides_or_keeps_anybody_out(
    browser: Any, by_systems: dict[int, Path], axe: str, systems: int, width: int
) -> None:
    scheme = "dark" if width == 1600 else "light"
    found = Opened(
        browser, by_systems[systems], viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True
    )
    page = found.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('.masthead').getBoundingClientRect().right") <= width
    assert page.evaluate(BEYOND) == []
    assert page.evaluate(COLLISIONS) == []
    if width > 1000:  # a matrix of 24 systems fits whole, and one of 2 systems is not drawn
        wide = "all => all.filter(f => f.scrollWidth > f.clientWidth + 1).map(f => f.dataset.chart)"
        assert page.eval_on_selector_all(".chart", wide) == []
    scrolls = "all => all.map(s => [s.scrollHeight > s.clientHeight + 4, s.parentElement.classList.contains('longer')])"
    assert all(more == cue for more, cue in page.eval_on_selector_all(".scroll, .chart", scrolls))
    if systems == 24:  # charts that are too long for their place scroll, and say so
        page.eval_on_selector_all(".chart.tall", "all => all.forEach(f => { f.style.maxHeight = '8rem'; })")
        page.wait_for_function("[...document.querySelectorAll('.chart.tall')].every(f => f.closest('.longer'))")
    bars = "all => all.map(each => getComputedStyle(each).backgroundSize)"
    assert all(size.endswith(" 3px") for size in page.eval_on_selector_all("td.bar", bars))  # below the digits
    page.locator('[data-grid="queries"] .open').first.click()
    page.evaluate(axe + ";0")
    rules = "axe.run({resultTypes: ['violations']}).then(r => r.violations.map(v => [v.id, v.nodes[0].html]))"
    assert page.evaluate(rules) == []
    page.keyboard.press("Escape")
    assert page.evaluate(rules) == []
    assert found.complaints == []
    found.context.close()


def test_a_finger_does_what_a_pointer_does(browser: Any, by_systems: dict[int, Path]) -> None:
    found = Opened(browser, by_systems[2], viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    page = found.page
    cell = page.locator('[data-grid="properties"] td.no').first
    cell.scroll_into_view_if_needed()
    cell.tap()
    assert "No: " in page.inner_text("#tip")
    assert "Hover" not in page.inner_text("main")
    bar = page.locator('[data-chart="changes"] .layer_1_marks path').first
    bar.scroll_into_view_if_needed()
    bar.tap(force=True)
    page.wait_for_selector("dialog[open]")
    assert "what is asked as" in page.inner_text("dialog .about")
    page.locator("dialog .document").first.tap()
    assert page.locator("dialog .document.this").count() >= 1
    found.context.close()


def test_prints_all_rows_without_what_only_a_screen_needs(opened: Opened) -> None:
    page = opened.page
    page.click("#theme")
    page.emulate_media(media="print")
    assert not page.is_visible(".masthead")
    assert not page.is_visible(".tools")
    assert page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 10_000
    page.set_viewport_size({"width": 700, "height": 1000})  # what a sheet holds
    assert page.evaluate("document.documentElement.scrollWidth") <= 700


# -- what ids and names may contain --------------------------------------------------------------------

AWKWARD = (
    "<script>alert('x')</script>",
    "</script><img src=x onerror=alert(1)>",
    "\"quoted\" & 'single' `back`",
    "{{ 7 * 7 }}${7*7}",
    "שלום עולם",
    "مرحبا",
    "日本語テスト🎉",
    "\u202eright-to-left override",
    "__proto__",
    "constructor",
    "a" * 300,
    "../../etc/passwd",
    "=HYPERLINK(1)",
    "-->]]><!--",
)


@pytest.fixture(scope="session")
def awkward(tmp_path_factory: pytest.TempPathFactory) -> Path:
    names = list(enumerate(AWKWARD))
    qrels = {query: {document: (i + q) % 3 for i, document in names} for q, query in names}
    runs = {
        system: {query: {document: float((7 * i + 3 * s + q) % 11) for i, document in names} for q, query in names}
        for s, system in names
    }
    path = tmp_path_factory.mktemp("awkward") / "report.html"
    write_report(qrels, runs, path, "nDCG@10 AP", title=AWKWARD[1], command=f"calipers report {AWKWARD[0]}")
    return path


def test_awkward_names_are_shown_as_they_are(browser: Any, awkward: Path) -> None:
    found = Opened(browser, awkward)
    page = found.page
    assert page.title() == AWKWARD[1]
    assert page.inner_text("h1") == AWKWARD[1]
    assert sorted(found.column("systems", 1)) == sorted(AWKWARD)
    assert sorted(found.column("queries", 1)) == sorted(AWKWARD)
    assert page.query_selector_all("main img, main script, dialog script") == []
    page.locator('[data-grid="queries"] .open').first.click()
    names = set(found.texts("dialog .document .id"))
    assert names <= set(AWKWARD)
    assert len(names) > 5
    assert found.complaints == []
    assert found.requests == [found.address]
    found.context.close()


def test_awkward_names_in_tips_filters_and_downloads(browser: Any, awkward: Path, tmp_path: Path) -> None:
    found = Opened(browser, awkward)
    page = found.page
    points = page.locator('[data-chart="queries"] .mark-symbol path')
    points.first.scroll_into_view_if_needed()
    shown = set()
    for place in range(points.count()):
        points.nth(place).hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible")
        shown.add(page.inner_text("#vg-tooltip-element td.value >> nth=0"))
    assert page.query_selector_all("#vg-tooltip-element img, #vg-tooltip-element script") == []
    assert len(shown) > 1
    page.locator('[data-grid="systems"] input').fill("<script>")
    assert found.column("systems", 1) == [AWKWARD[0]]
    page.locator('[data-grid="systems"] input').fill("")
    with page.expect_download() as waiting:
        page.locator('[data-grid="systems"] .csv').click()
    waiting.value.save_as(tmp_path / "systems.csv")
    with open(tmp_path / "systems.csv", newline="", encoding="utf-8") as file:
        assert {row["system"] for row in csv.DictReader(file)} == set(AWKWARD)
    assert found.complaints == []
    found.context.close()


# -- pages of one chart ------------------------------------------------------------------------------------

RUNS_A_SCRIPT = (
    "</script><script>window.hit = 1</script>",
    "</SCRIPT ><svg onload='window.hit = 2'>",
    "<!--<script>window.hit = 3",
    "--><img src=x onerror='window.hit = 4'>",
    "\"'`);window.hit = 5;//",
    "\u2028window.hit = 6\u2029",
    "\u202eright-to-left\u200f\u2067",
    "${window.hit = 7}{{ 7 * 7 }}",
    "datum.constructor",
    "__proto__",
)


def charts_of_odd_names() -> dict[str, Any]:
    """Every chart that a command or the library draws, each with the worst names in all places that names have."""
    import calipers as cal
    from calipers import plot
    from calipers.questions.metaeval.human_agreement import human_correlation

    names = list(enumerate(RUNS_A_SCRIPT))
    qrels = {query: {document: (i + q) % 3 for i, document in names} for q, query in names}
    runs = {
        system: {query: {document: float((7 * i + 3 * s + q) % 11) for i, document in names} for q, query in names}
        for s, system in names
    }
    scores = cal.evaluate(qrels, runs, ["nDCG@10", "AP", "P@3"])
    bounds = cal.bounds(qrels, ["nDCG@10", "AP"])
    difference = cal.questions.information.difference(cal.Experiment(qrels, runs))
    people = {name: scores.values[place % 3] for place, name in names}
    correlation = human_correlation(scores, people, ["system"], ["tau-b"], samples=10)
    return {
        "means": plot.means(scores, "AP"),
        "between_bounds": plot.between_bounds(scores, bounds, "AP"),
        "differences": plot.differences(cal.compare(scores), "AP"),
        "unjudged": plot.unjudged(scores),
        "query_map": plot.query_map(cal.query_types(scores.of_measures(["AP"]), bounds), "AP"),
        "expected_histogram": plot.expected_histogram(bounds, "AP"),
        "significance_curves": plot.significance_curves(cal.questions.metaeval.discriminative_power(scores)),
        "tool_causes": plot.tool_causes(cal.Experiment(qrels, runs, "nDCG@10").audit()),
        "stacked": plot.stacked(plot.dendrogram(difference), plot.heat_map(difference)),
        "difference_scatter": plot.difference_scatter(difference),
        "tau_scatter": plot.tau_scatter(cal.questions.information.tau(scores, given=["P@3"])),
        "correlations": plot.correlation_chart(correlation),
    }


def test_no_name_becomes_a_script_in_a_saved_chart(browser: Any, tmp_path: Path) -> None:
    from calipers import plot

    context = new_context(browser)
    page = context.new_page()
    heard: list[str] = []
    page.on("request", lambda request: heard.append(request.url))
    page.on("pageerror", lambda error: heard.append(str(error)))
    page.on("console", lambda message: heard.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: (heard.append(dialog.message), dialog.dismiss()))
    seen, tips = set(), 0
    for name, chart in charts_of_odd_names().items():
        path = tmp_path / f"{name}.html"
        plot.save(chart, str(path))
        heard.clear()
        page.goto(path.as_uri())
        page.wait_for_selector("body[data-charts=drawn]")
        assert heard == [path.as_uri()], name
        assert page.evaluate("window.hit") is None, name
        assert page.evaluate("document.scripts.length") == 3, name
        assert page.query_selector_all("body > :not(#chart, script, style, #vg-tooltip-element)") == [], name
        assert page.query_selector("#chart canvas, #chart svg").bounding_box()["width"] > 100, name
        kept = page.evaluate("JSON.stringify(JSON.parse(document.getElementById('chart-data').textContent))")
        seen |= {odd for odd in RUNS_A_SCRIPT if json.dumps(odd, ensure_ascii=False)[1:-1] in kept}
        box = page.query_selector("#chart canvas, #chart svg").bounding_box()
        for step in range(25):
            page.mouse.move(
                box["x"] + box["width"] * (step % 5 + 0.5) / 5, box["y"] + box["height"] * (step // 5 + 0.5) / 5
            )
        tips += page.locator("#vg-tooltip-element td.value").count()
        assert page.evaluate("window.hit") is None, name
        assert page.query_selector_all("#vg-tooltip-element img, #vg-tooltip-element svg") == []
    assert seen == set(RUNS_A_SCRIPT), "the names are there, as data"
    assert tips > 0, "and in tips"
    context.close()


def test_no_name_becomes_a_script_in_a_report(browser: Any, tmp_path: Path) -> None:
    names = list(enumerate(RUNS_A_SCRIPT))
    qrels = {query: {document: (i + q) % 3 for i, document in names} for q, query in names}
    runs = {s: {q: {d: float((7 * i + 3 * n + j) % 11) for i, d in names} for j, q in names} for n, s in names}
    write_report(qrels, runs, tmp_path / "r.html", "AP", title=RUNS_A_SCRIPT[0], command=RUNS_A_SCRIPT[2])
    found = Opened(browser, tmp_path / "r.html")
    assert found.complaints == []
    assert found.requests == [found.address]
    assert found.page.evaluate("window.hit") is None
    stripped = found.page.evaluate("all => all.map((name) => name.trim())", list(RUNS_A_SCRIPT))
    assert sorted(found.column("systems", 1)) == sorted(stripped)
    found.context.close()


def test_no_name_becomes_a_script_in_a_page_of_markdown_or_of_a_notebook(browser: Any, tmp_path: Path) -> None:
    """Studies and tables for papers are Markdown, which others turn into HTML; notebooks ask tables for theirs."""
    from markdown_it import MarkdownIt

    from calipers.results.tables import Table
    from research.study_page import write_study

    table = Table(("system", RUNS_A_SCRIPT[0]), tuple((name, 0.5) for name in RUNS_A_SCRIPT), notes=RUNS_A_SCRIPT)
    write_study(tmp_path / "study", "A study", ["Words."], {"one": (RUNS_A_SCRIPT[3], table)}, {})
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    text = (tmp_path / "study" / "study.md").read_text(encoding="utf-8")
    bodies = {"study": parser.render(text), "notebook": table._repr_html_()}
    page = new_context(browser).new_page()
    for name, body in bodies.items():
        path = tmp_path / f"{name}.html"
        path.write_text(f'<meta charset="utf-8"><body>{body}', encoding="utf-8", errors="backslashreplace")
        page.goto(path.as_uri())
        page.wait_for_timeout(100)
        assert page.evaluate("window.hit") is None, name
        assert page.query_selector_all("script, svg, img") == [], name
        assert page.locator("tbody tr").count() == len(RUNS_A_SCRIPT), name
    page.context.close()


def test_a_link_opens_one_query(browser: Any, written: Path) -> None:
    found = Opened(browser, written)
    found.page.locator('[data-grid="queries"] .open').nth(2).click()
    title = found.page.inner_text("#ranking-title")
    link = found.page.locator("dialog a.link").get_attribute("href")
    page = found.context.new_page()
    page.goto(found.address + link)
    page.wait_for_selector("dialog[open]")
    assert page.inner_text("#ranking-title") == title
    found.context.close()


def test_the_verdict_follows_the_choice_of_a_measure(opened: Opened) -> None:
    for measure in MEASURES.split():
        opened.page.select_option("#measure", measure)
        shown = opened.page.locator(".conclusion:visible")
        assert shown.count() == 1
        assert shown.get_attribute("data-measure") == measure
        assert measure in shown.inner_text()


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_and_no_hint_covers_figures(browser: Any, tmp_path: Path, width: int) -> None:
    """Long names that differ at their ends stay different; hints to scroll stand below the tables."""
    simulation = simulate(topics=8, systems=6, retrieved=30, unjudged=0.2, seed=4)
    names = [f"the-official-input-of-the-year.system_with_a_long_name_{i}" for i in range(6)]
    runs = dict(zip(names, simulation.runs.values(), strict=True))
    documents = {document for pool in simulation.qrels.values() for document in pool}
    titles = {document: f"A title of {document} " + "word " * 25 for document in documents}
    write_report(simulation.qrels, runs, tmp_path / "r.html", MEASURES, document_texts=titles)
    found = Opened(browser, tmp_path / "r.html", viewport={"width": width, "height": 900})
    page = found.page
    labels = page.evaluate(
        "[...document.querySelector('[data-chart=means]').querySelectorAll('.role-axis-label text')]"
        ".map((each) => each.textContent).filter((text) => /system/.test(text) || /name/.test(text))"
    )
    assert len(labels) == len(set(labels)) == 6
    positions = "[...document.querySelectorAll('.more')].map((each) => getComputedStyle(each).position)"
    assert "absolute" not in page.evaluate(positions)
    page.locator('[data-grid="queries"] .open').first.click()
    page.wait_for_selector("dialog[open]")
    cut = page.evaluate(
        "[...document.querySelectorAll('dialog *')].filter((each) => each.scrollWidth > each.clientWidth + 1"
        " && getComputedStyle(each).overflowX !== 'visible' && each.tagName !== 'SELECT').length"
    )
    assert cut == 0
    found.context.close()


# -- small and large ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("topics", "systems"), [(8, 1), (1, 3), (1, 1)])
def test_one_run_or_one_query(browser: Any, tmp_path: Path, topics: int, systems: int) -> None:
    simulation = simulate(topics=topics, systems=systems, retrieved=20, seed=5)
    write_report(simulation.qrels, simulation.runs, tmp_path / "r.html", "nDCG@10 AP")
    found = Opened(browser, tmp_path / "r.html")
    assert found.complaints == []
    assert len(found.column("systems", 1)) == systems
    assert found.page.inner_text(".verdict")
    found.page.locator('[data-grid="queries"] .open').first.click()
    assert len(found.texts("dialog .side")) == min(systems, 2)
    found.context.close()


@pytest.fixture(scope="session")
def trec_8(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page on 126 systems and 50 topics."""
    path, folder = tmp_path_factory.mktemp("trec-8") / "r.html", data / "trec/trec8-adhoc"
    written = write_report(folder / "qrels.txt", sorted((folder / "runs").iterdir())[:126], path)
    assert written.notes == ()
    assert written.size < 4_000_000
    return path


@pytest.mark.data
@pytest.mark.parametrize("width", [390, 1100, 1600])
def test_126_runs_of_trec_8_on_50_topics(browser: Any, trec_8: Path, width: int) -> None:
    found = Opened(browser, trec_8, viewport={"width": width, "height": 844})
    page = found.page
    assert found.complaints == []
    assert found.requests == [found.address]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(BEYOND) == []
    assert page.evaluate(COLLISIONS) == []
    assert "of 7,875" in page.inner_text(".findings")
    assert len(found.column("systems", 1)) == 126
    assert page.query_selector('[data-chart="differs"] canvas') is not None  # pixels for 16,000 squares
    page.locator('[data-grid="queries"] .open').first.click()
    assert len(page.query_selector_all("dialog .side:first-child option")) == 126
    found.context.close()
