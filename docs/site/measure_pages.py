"""Pages about measures that nobody writes by hand.

The site gets a card for every measure and a table of all properties when it is built (hooks.py). The table of Moffat's
thirteen measures in properties.md is in the repository; this writes it anew:

python docs/site/measure_pages.py
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from calipers import CalipersError, Table, measure_card
from calipers.measures import Declaration, declared
from calipers.questions.properties import (
    DOCUMENT,
    NINE,
    SEVEN,
    Properties,
    annotated,
    contradictions,
    examine,
    in_words,
    notes_of,
    references,
    subjects_of,
)
from calipers.results import Markdown
from calipers.support.atomic_files import write_whole

MARK = re.compile(r"(<!-- derived: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def measure_pages() -> dict[str, str]:
    """Return the card of every measure and the table of all of them, by the path of the page."""
    cards = {each.name: measure_card(card_name(each)) for each in declared() if _is_ours(each)}
    known = [(name, card.properties) for name, card in cards.items() if card.properties is not None]
    return {f"measures/{name}.md": str(card) for name, card in cards.items()} | {"measures/README.md": _index(known)}


def card_name(declaration: Declaration) -> str:
    """Return the name under which a measure is shown: its plain name, or an example if it needs parameters."""
    return declaration.name if "cutoff" in declaration.defaults else declaration.example


def _is_ours(declaration: Declaration) -> bool:
    """Return True for measures of this package, which cite their sources, and False for those of a user."""
    documented = {inspect.getdoc(module) for name, module in sys.modules.items() if name.startswith("calipers.")}
    return declaration.citation in documented and bool(references(declaration))


def _index(cards: Sequence[tuple[str, Properties]]) -> str:
    rows = tuple(
        (Markdown(f"[{name}]({name}.md)"), *(properties[each].words for each in NINE))
        for name, properties in sorted(cards, key=lambda card: card[0].lower())
    )
    return (
        "# Measures\n\n"
        "Each measure has a card with its formula, range, parameters and properties, and the model of a reader behind "
        "it. The page on [properties](../properties.md) explains the columns of this table.\n\n"
        + Table(("measure", *NINE), rows).to_markdown()
    )


def with_derived_tables(page: Path) -> str:
    """Return the text of properties.md with its derived tables made anew."""
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=str(page)) from None
    document = [examine(subject) for subject in subjects_of(DOCUMENT)]
    chains = contradictions()
    assert chains is not None
    parts = {
        "table": annotated(document, SEVEN, sizes=True).to_markdown() + _list(notes_of(document, SEVEN)),
        "impossible": _list([f"- {in_words(chain)}." for chain in chains]),
    }
    return MARK.sub(lambda found: found.group(1) + parts[found.group(2)] + found.group(3), text)


def _list(lines: Sequence[str]) -> str:
    return "\n" + "".join(f"{line}  \n" for line in lines) if lines else ""


if __name__ == "__main__":
    derived = Path(__file__).parents[1] / "properties.md"
    write_whole(derived, with_derived_tables(derived).encode())
