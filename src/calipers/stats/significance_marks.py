"""Tables for papers: means of systems, the best in bold, and marks that say which differences are significant."""

from __future__ import annotations

import numpy as np

from calipers.errors import CalipersError
from calipers.results.score_files import ScoresLike, as_scores
from calipers.results.tables import Cell, PValue, Table
from calipers.stats.comparison import LETTERS, Comparison, compare

MOST = 26  # systems that have a letter each
NAMES = {
    "t": "paired t test", "wilcoxon": "Wilcoxon's test", "sign": "sign test", "randomization": "randomisation test",
}  # fmt: skip


def marked(
    scores: ScoresLike,
    baseline: str | None = None,
    *,
    test: str = "t",
    correction: str | None = "holm",
    alpha: float = 0.05,
    stars: bool = False,
) -> Table:
    """The means of the systems as a paper prints them.

    With a baseline, † and ‡ say that a system is significantly better or worse than it; `stars` are for terminals: *
    says that a system differs significantly from it, and its mean in which direction. Without one, systems have
    letters, and the letters beside a mean are those of the systems that it is significantly better than; more than 26
    systems have none. The best mean of each measure is in bold.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31]], systems=["new", "old"], measure="AP")
    >>> print(marked(scores).to_markdown(), end="")
    |  | system | AP |
    | --- | --- | ---: |
    | a | new | **0.8000**<sup>b</sup> |
    | b | old | 0.4033 |
    <BLANKLINE>
    Letters: significantly better than these systems (paired t test, holm, p < 0.05).
    """
    scores = as_scores(scores)
    table = scores.best_in_bold(scores.mean())
    if len(scores.systems) < 2 or len(scores.queries) < 2:
        if baseline is not None:
            raise CalipersError("a baseline needs another system, and at least two queries")
        return table
    if baseline is None and len(scores.systems) > MOST:
        return table
    found = compare(scores, test, correction, baseline, alpha=alpha, warn=False)
    about = f"({NAMES.get(test, test)}, {found.metadata['correction']}, p < {alpha:g})"
    if baseline is not None:
        if stars:
            marks = dict.fromkeys(_against(found), "*")
            sentence = "*: differs" if marks else "No system differs"
            return table.changed(marks=marks, notes=(f"{sentence} significantly from {baseline} {about}.",))
        note = f"†, ‡: significantly better, worse than {baseline} {about}."
        return table.changed(marks=_against(found), notes=(note,))
    rows: list[tuple[Cell, ...]] = [(LETTERS[s], *row) for s, row in enumerate(table.rows)]
    return Table(
        ("", *table.columns),
        tuple(rows),
        table.metadata,
        frozenset((row, column + 1) for row, column in table.bold),
        {(row, column + 1): mark for (row, column), mark in _letters(found).items()},
        (f"Letters: significantly better than these systems {about}.",),
    )


def with_p(scores: ScoresLike, baseline: str, *, test: str = "t") -> Table:
    """The means, and beside each the p value, adjusted by Holm, of its difference from the baseline's: for programs.

    >>> import calipers as cal
    >>> scores = cal.as_scores([[0.9, 0.8, 0.7], [0.5, 0.4, 0.31]], systems=["new", "old"], measure="AP")
    >>> with_p(scores, "old").columns
    ('system', 'AP', 'AP p')
    """
    scores = as_scores(scores)
    found = compare(scores, test, "holm", baseline, warn=False)
    table = scores.mean()
    p = {
        (int(found.a[pair]), m): PValue(found.p_adjusted[m, pair])
        for m in range(len(scores.measures))
        for pair in range(len(found.a))
    }
    columns = [name for measure in scores.measures for name in (measure, f"{measure} p")]
    rows = [
        (system, *(cell for m, mean in enumerate(means) for cell in (mean, p.get((s, m)))))
        for s, (system, *means) in enumerate(table.rows)
    ]
    return Table(("system", *columns), tuple(rows), table.metadata)


def _against(found: Comparison) -> dict[tuple[int, int], str]:
    """Marks of the systems that differ from the baseline."""
    return {
        (int(found.a[pair]), m + 1): "†" if found.improvement(m)[pair] > 0 else "‡"
        for m, pair in np.argwhere(found.significant).tolist()
    }


def _letters(found: Comparison) -> dict[tuple[int, int], str]:
    """The letters of the systems that each system beats under each measure."""
    marks: dict[tuple[int, int], list[str]] = {}
    for m, pair in np.argwhere(found.significant).tolist():
        a, b = int(found.a[pair]), int(found.b[pair])
        better, worse = (a, b) if found.improvement(m)[pair] > 0 else (b, a)
        marks.setdefault((better, m + 1), []).append(LETTERS[worse])
    return {place: "".join(sorted(letters)) for place, letters in marks.items()}
