"""The recipe for search engineers: its commands on responses of `_msearch` and ratings as Quepid exports them."""

from __future__ import annotations

import csv
import json
import random
import re
import shlex
from pathlib import Path

import pytest

import calipers as cal
from calipers.cli import commands
from conftest import ROOT

QUERIES = [f"{colour} {what}" for colour in ("red", "blue", "cheap", "warm") for what in ("shoes", "hat", "coat")]
DOCUMENTS = [f"sku{number}" for number in range(40)]


def write_files(draw: random.Random) -> None:
    rated = {query: {each: draw.choice([0, 1, 2, 3]) for each in draw.sample(DOCUMENTS, 12)} for query in QUERIES}
    rows = [f"{query},{document},{grade}\n" for query, graded in rated.items() for document, grade in graded.items()]
    Path("queries.txt").write_text("".join(f"{query}\n" for query in QUERIES), encoding="utf-8")
    Path("ratings.csv").write_text("query,docid,rating\n" + "".join(rows), encoding="utf-8")
    for name, noise in (("old", 0.5), ("new", 4.0)):
        responses = []
        for graded in rated.values():
            found = {*graded, *draw.sample(DOCUMENTS, 4)}
            ranked = sorted(sorted(found), key=lambda each: -graded.get(each, 0) - draw.gauss(0, noise))
            hits = [
                {"_id": document, "_score": 20.0 - rank, "_source": {"title": f"Product {document}"}}
                for rank, document in enumerate(ranked[:10])
            ]
            responses.append({"took": 3, "status": 200, "hits": {"total": {"value": len(found)}, "hits": hits}})
        Path(f"{name}.json").write_text(json.dumps({"took": 9, "responses": responses}), encoding="utf-8")


def test_the_recipe_works_as_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_files(random.Random(5))
    page = (ROOT / "docs/search-engineers.md").read_text(encoding="utf-8")
    called = [shlex.split(line, comments=True) for line in re.findall(r"^    calipers (.*)$", page, re.MULTILINE)]
    assert [call[0] for call in called] == ["inspect", "evaluate", "check", "diff", "diff", "pool", "evaluate"]
    for call in called[:-1]:
        assert commands.run(call) == (1 if call[0] == "check" else 0), (call, capfd.readouterr().err)
    comment = Path("check.md").read_text(encoding="utf-8")
    assert comment.startswith("**Failed: new drops by more than is allowed against old: nDCG@10 by")
    assert "<failure" in Path("check.xml").read_text(encoding="utf-8")
    assert "<details>" in Path("changes.md").read_text(encoding="utf-8")
    rows = [*csv.DictReader(Path("to-rate.csv").read_text(encoding="utf-8").splitlines())]
    empty = [row for row in rows if not row["rating"]]
    assert empty
    assert any(row["title"].startswith("Product ") for row in empty)
    with Path("to-rate.csv").open("w", encoding="utf-8", newline="") as file:
        filled = csv.DictWriter(file, rows[0])
        filled.writeheader()
        filled.writerows({**row, "rating": row["rating"] or "1"} for row in rows)
    capfd.readouterr()
    assert commands.run(called[-1]) == 0
    assert "unjudged" not in capfd.readouterr().err
    assert len(cal.read_judgments("to-rate.csv")) == len(rows)
    stale = [word.replace("ratings.csv", "to-rate.csv") for word in called[2]]
    assert commands.run(stale) == 1
    assert "were scored with different judgments" in capfd.readouterr().err


def test_the_jobs_call_the_command_of_the_recipe() -> None:
    """The command lines for GitLab and Jenkins, and the inputs for GitHub, are those of step 3."""
    page = (ROOT / "docs/search-engineers.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^    (calipers check .*?) +#", page, re.MULTILINE)
    assert f"sh '{line}'" in page
    assert re.sub(r"\s+", " ", line) in re.sub(r"\s+", " ", page.split("**GitLab**")[1].split("after_script")[0])
    github = page.split("**GitHub**")[1].split("**GitLab**")[0]
    for option, value in re.findall(r"--(baseline|query-ids|max-drop) (\S+)", line):
        assert f"{option}: {value}" in github.replace('"', "")
