"""The study of random texts: its gains against correlations worked out one by one, and its halves."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from calipers.errors import CalipersError
from calipers.questions.metaeval import human_correlation
from calipers.results.scores import Scores
from calipers.statistics.correction import holm
from calipers.texts import Document, Evaluation, TextCollection, TextOptions
from calipers.texts.options import CHANCES
from calipers.texts.rouge_measures import RougeScorer
from research.__main__ import root
from research.feng2023.text_study import normalised_texts, text_study

VOCABULARY = [f"w{i}" for i in range(12)]


@pytest.fixture(scope="module")
def given() -> TextCollection:
    """Eight documents and four systems that copy ever more of the reference; people see it, with noise."""
    random = np.random.default_rng(1)
    documents, texts, human = [], {}, {}
    for d in range(8):
        source = random.choice(VOCABULARY, 20).tolist()
        documents.append(Document(f"d{d}", (" ".join(source[:6]), " ".join(source[2:9])), " ".join(source) + "."))
        for s in range(4):
            words = source[: 2 + s] + random.choice(VOCABULARY, 5 - s).tolist()
            texts[f"d{d}", f"s{s}"] = " ".join(words[: 4 + (d + s) % 4])
            human[f"d{d}", f"s{s}"] = {"good": s + float(random.normal()), "short": float(random.normal())}
    return TextCollection.of(documents, texts, human)


def test_gains_are_those_of_correlations(given: TextCollection) -> None:
    options = TextOptions(texts=3)
    study = text_study(given, "ROUGE-2 ROUGE-L", options=options, samples=40, splits=6)
    assert study.normal.shape == (2, 5, 2, 2, 3, 1 + 40 + 12)
    for c, chance in enumerate(CHANCES):
        found = Evaluation(given, "ROUGE-2 ROUGE-L V1(ROUGE-2) V2(ROUGE-2) V2(ROUGE-L)", texts=3, chance=chance)
        given_scores = found.scores
        rounded = Scores(
            given_scores.measures,
            given_scores.systems,
            given_scores.queries,
            np.round(given_scores.values, 12),
            given_scores.reasons,
        )
        taus = human_correlation(rounded, given.human, coefficients=["tau-b"], samples=0)
        for m, n, name in ((0, 0, "V1(ROUGE-2)"), (0, 1, "V2(ROUGE-2)"), (1, 1, "V2(ROUGE-L)")):
            for a, aspect in enumerate(study.aspects):
                for lv, level in enumerate(study.levels):
                    base = taus.value(study.measures[m], aspect, level)
                    assert study.plain[m, a, lv, 0] == pytest.approx(base, abs=1e-12)
                    assert study.normal[m, c, n, a, lv, 0] == pytest.approx(taus.value(name, aspect, level), abs=1e-12)


def test_halves_and_looks(given: TextCollection) -> None:
    study = text_study(given, "ROUGE-1 ROUGE-L", ["lead", "other-document"], samples=60, splits=5)
    assert study.looks() == 2 * 2 * 2 * 2 * 3
    # A half is the documents that it has: the first of a split, then those that are left.
    rng = np.random.default_rng(42)
    rng.multinomial(8, np.full(8, 1 / 8), size=60)
    half = np.sort(rng.permutation(8)[:4])
    some = TextCollection(
        tuple(given.documents[d] for d in half),
        given.systems,
        tuple(tuple(r[d] for d in half) for r in given.texts),
        {a: v[:, half] for a, v in given.human.items()},
    )
    taus = human_correlation(Evaluation(some, "ROUGE-1").scores, some.human, coefficients=["tau-b"], samples=0)
    for lv, level in enumerate(study.levels):
        assert study.plain[0, 0, lv, 61] == pytest.approx(taus.value("ROUGE-1", "good", level), abs=1e-12)
    # The same bounds for all summaries of a document cannot reorder them.
    summary = study.levels.index("summary")
    assert study.gains[:, 1, :, :, summary, 0] == pytest.approx(0, abs=1e-12)
    alone, adjusted = study.p
    assert (adjusted >= alone - 1e-15).all()
    moving = study.gains[..., 1:61].std(axis=-1) > 1e-9
    assert adjusted[moving] == pytest.approx(holm(alone[moving]))
    chosen = study.chosen()
    assert [row[0] for row in chosen.rows] == list(study.levels)
    assert all(row[3] >= row[4] - 1 for row in chosen.rows)
    by_chance = study.by_chance()
    first = by_chance.rows[0]
    assert first[3] == pytest.approx(np.nanmean(study.gains[:, 0, 0, :, 0, 0]))


def test_the_command(given: TextCollection, tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    lines = [
        {
            "id": d.id,
            "system": system,
            "summary": given.texts[s][i],
            "references": d.references,
            "source": d.source,
            "human": {a: v[s, i] for a, v in given.human.items()},
        }
        for i, d in enumerate(given.documents)
        for s, system in enumerate(given.systems)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    out = tmp_path / "study"
    call = ["study", "text", str(path), "-m", "ROUGE-1", "--samples", "20", "--no-charts", "-o", str(out)]
    done = CliRunner().invoke(root, call)
    assert done.exit_code == 0, done.output
    page = (out / "study.md").read_text()
    assert "1 measure x 5 kinds of random text x 2 normalisations x 2 human judgments x 3 levels" in page
    assert len((out / "tables" / "gains.csv").read_text().splitlines()) == 1 + 5 * 2 * 2 * 3
    assert "surely up" in done.stdout


def test_an_error_agrees_by_falling(given: TextCollection) -> None:
    study = text_study(given, "TER", ["lead"], samples=20, splits=4)
    found = Evaluation(given, "TER V2(TER)", texts=5, chance="lead").scores
    taus = human_correlation(found, given.human, coefficients=["tau-b"], samples=0)
    for lv, level in enumerate(study.levels):
        less, more = (taus.value(name, "good", level) for name in ("TER", "V2(TER)"))
        assert study.plain[0, 0, lv, 0] == pytest.approx(-less, abs=1e-12)
        assert study.gains[0, 0, 1, 0, lv, 0] == pytest.approx(more + less, abs=1e-12)
    assert study.plain[0, 0, 0, 0] > 0 > taus.value("TER", "good", "system")  # who copies more has fewer edits


def test_some_systems_are_a_study_of_their_own(given: TextCollection) -> None:
    """What random texts score does not depend on who else wrote one; drawn words do, on the longest text."""
    chosen, chances = ["s0", "s2", "s3"], [chance for chance in CHANCES if chance != "words"]
    part = normalised_texts(given, "ROUGE-L ROUGE-1", chances).of_systems(chosen).study(samples=20, splits=4)
    alone = text_study(given.of_systems(chosen), "ROUGE-L ROUGE-1", chances, samples=20, splits=4)
    assert part.plain == pytest.approx(alone.plain, nan_ok=True)
    assert part.normal == pytest.approx(alone.normal, nan_ok=True)


def test_a_study_goes_on_where_it_was(given: TextCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = normalised_texts(given, "ROUGE-L", cache=tmp_path)
    monkeypatch.setattr(RougeScorer, "scores", lambda *given: pytest.fail("scored again"))
    again = normalised_texts(given, "ROUGE-L", cache=tmp_path)
    assert (again.normal == first.normal).all()


def test_what_it_cannot_do(given: TextCollection) -> None:
    for names, message in (("V2(ROUGE-1)", "normalises measures itself"), ("ROUGE-Lsum", "form no sentences")):
        with pytest.raises(CalipersError, match=message):
            text_study(given, names)
    with pytest.raises(CalipersError, match="unknown chance 'dice'"):
        text_study(given, "ROUGE-1", ["dice"])
    with pytest.raises(CalipersError, match="at least 4 documents and 3 systems"):
        text_study(given.of_systems(["s0", "s1"]), "ROUGE-1")
