"""Moffat (2013): the properties of table 2 with their notes, and the numbers that the text works out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import calipers as cal
from research.printed_figures import DIFFERS, EXACT, Figure, judged
from research.registry import printed, reproduction

BEYOND = 2  # relevant documents below the ranking: the text assumes that there are more than the ranking has


@reproduction("moffat2013/table-2", "Seven properties of thirteen measures, with their notes")
def table_2(folder: Path | None) -> Sequence[Figure]:
    """Compare each cell, a yes or no and the letter of its note, with what a search and a proof decide."""
    found = []
    for measure, cells in printed("moffat2013")["table-2"]["cells"].items():
        known = cal.properties(measure)
        for name, figure in cells.items():
            verdict = known[name]
            computed = f"{verdict.word.capitalize()} {verdict.note}".rstrip()
            same = EXACT if computed == figure else DIFFERS
            found.append(Figure(f"{measure}, {name}", figure, computed, same, str(verdict)))
    return found


@reproduction("moffat2013/text", "Scores of rankings that the text works out, and what it says of others")
def text(folder: Path | None) -> Sequence[Figure]:
    """Compare the scores of short rankings such as 11000: one digit per document, 1 if it is relevant."""
    claims = printed("moffat2013")["text"]
    found = [
        judged(f"{each['measure']} of {each['ranking']}", each["printed"], score(each["measure"], each["ranking"]))
        for each in claims["scores"]
    ]
    for each in claims["same score"]:
        one, other = each["rankings"]
        left, right = (score(each["measure"], ranking) for ranking in (one, other))
        cell = f"{each['measure']} of {one} and of {other}"
        found.append(Figure(cell, "the same", left, EXACT if left == right else DIFFERS, f"{left:.4g} and {right:.4g}"))
    for each in claims["larger score"]:
        value, least = score(each["measure"], each["ranking"]), score(each["than"], each["of"])
        cell = f"{each['measure']} of {each['ranking']}"
        said = f"more than {each['than']} of {each['of']}"
        found.append(Figure(cell, said, value, EXACT if value > least else DIFFERS, f"{least:.4g}"))
    rows = {tuple(cells.values()) for cells in _answers().values()}
    found.append(judged("different combinations of properties", claims["combinations"], float(len(rows))))
    return found


def _answers() -> dict[str, dict[str, bool]]:
    """Return for each measure of table 2 which properties it has."""
    cells = printed("moffat2013")["table-2"]["cells"]
    return {measure: {name: bool(cal.properties(measure)[name]) for name in names} for measure, names in cells.items()}


def score(measure: str, ranking: str) -> float:
    """Return the score of a ranking of which more documents are relevant than it shows, if it shows only such.

    >>> round(score("SN-DCG@5", "10100"), 2)
    0.92
    """
    one, _, times = ranking.partition(" x ")
    grades = [int(grade) for grade in one] * int(times or 1)
    names = [f"d{place}" for place in range(len(grades))]
    beyond = {f"beyond{i}": 1 for i in range(BEYOND)}
    judgments = {"q": dict(zip(names, grades, strict=True)) | beyond}
    scores = cal.evaluate(judgments, {"run": {"q": {name: -i for i, name in enumerate(names)}}}, measure, warn=False)
    return float(scores.values[0, 0, 0])
