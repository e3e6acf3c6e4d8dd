"""The page tools.md of the manual, which the site generates: the choices of each tool that has a convention."""

from __future__ import annotations

from calipers.conventions import CONVENTIONS, TOOLS, LabelRange
from calipers.results import Table

COLUMNS = ("profile", "gain", "discount", "empty", "short", "ties", "ideal", "relevant", "labels")

TEXT = """# The choices of each tool

`calipers evaluate --like PROFILE` (`like=` in Python) scores as the tool does. [An audit](conventions.md) compares tools.

{table}
- *empty*: score of a query without a relevant document.
- *short*: rule for a list of n < k documents. The missing ranks hold nothing (`pad`), k becomes n (`n`), or the score is 0 (`zero`).
- *ideal*: documents of the ideal ranking. The k best judged (`pool`), the k best retrieved (`list`), all judged without a cutoff (`whole`), or k relevant documents (`k`). [Why nDCG differs between tools](why-ndcg-differs.md) has examples.
- *relevant*: lowest grade that counts for P and AP.
- `jk2` weighs ranks 1 and 2 the same and discounts by log2(rank) from then on.
"""  # noqa: E501


def tool_page() -> str:
    """Return the page with one row per tool."""
    rows = []
    for name in TOOLS:
        tool = CONVENTIONS[name]
        short = ", ".join(f"{m} {tool.short_for(m)}" for m in ("nDCG", "P") if tool.short_for(m) != "pad")
        rows.append(
            (
                name,
                tool.gain,
                tool.discount,
                tool.empty if isinstance(tool.empty, str) else f"{tool.empty:g}",
                short or "pad",
                tool.ties + (", float32" if tool.precision == "single" else ""),
                tool.ideal,
                f">= {tool.rel:g}",
                "any" if tool.labels == LabelRange() else str(tool.labels),
            )
        )
    return TEXT.format(table=Table(COLUMNS, tuple(rows)).to_markdown())
