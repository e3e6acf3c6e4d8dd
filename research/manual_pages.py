"""The pages of the manual that are derived: a card for every measure, and the tables of properties.

python -m research.manual_pages docs
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from calipers import CalipersError, Properties, Table, measure_card
from calipers.atomic_files import write_whole
from calipers.axioms import (
    DOCUMENT,
    FURTHER,
    NINE,
    SEVEN,
    annotated,
    contradictions,
    examine,
    in_words,
    notes_of,
    reasons,
    references,
    subjects_of,
)
from calipers.measures import Declaration, declared
from calipers.results import Markdown

MARK = re.compile(r"(<!-- derived: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def pages(folder: Path) -> dict[Path, str]:
    """Each derived page and its text. What is written by hand around derived parts stays."""
    cards = {each.name: measure_card(card_name(each)) for each in declared() if _is_ours(each)}
    found = {folder / "measures" / f"{name}.md": str(card) for name, card in cards.items()}
    known = [(name, card.properties) for name, card in cards.items() if card.properties is not None]
    found[folder / "measures" / "README.md"] = _index(known)
    found[folder / "properties.md"] = _filled(folder / "properties.md")
    return found


def card_name(declaration: Declaration) -> str:
    """What stands for a declared measure: its plain name; an example where that is not enough."""
    return declaration.name if "cutoff" in declaration.defaults else declaration.example


def _is_ours(declaration: Declaration) -> bool:
    """Declared by a family of this package, which has its references in its documentation; not by a user."""
    documented = {inspect.getdoc(module) for name, module in sys.modules.items() if name.startswith("calipers.")}
    return declaration.citation in documented and bool(references(declaration))


def _index(cards: Sequence[tuple[str, Properties]]) -> str:
    rows = tuple(
        (Markdown(f"[{name}]({name}.md)"), *(properties[each].words for each in NINE))
        for name, properties in sorted(cards, key=lambda card: card[0].lower())
    )
    return (
        "# Measures\n\n"
        "A card for every measure: its formula, its range, the reader it models, what holds of it whatever the data "
        "and why. What the properties are: [properties](../properties.md).\n\n"
        + Table(("measure", *NINE), rows).to_markdown()
    )


def _filled(page: Path) -> str:
    try:
        text = page.read_text(encoding="utf-8")
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=str(page)) from None
    document = [examine(subject) for subject in subjects_of(DOCUMENT)]
    further = [examine(subject) for subject in subjects_of(FURTHER)]
    chains = contradictions()
    assert chains is not None
    parts = {
        "table": annotated(document, SEVEN, sizes=True).to_markdown() + _list(notes_of(document, SEVEN)),
        "further": annotated([*document, *further], NINE, sizes=True).to_markdown()
        + _list(notes_of([*document, *further], NINE)),
        "why": reasons(document, SEVEN).to_markdown(),
        "impossible": _list([f"- {in_words(chain)}." for chain in chains]),
    }
    return MARK.sub(lambda found: found.group(1) + parts[found.group(2)] + found.group(3), text)


def _list(lines: Sequence[str]) -> str:
    return "\n" + "".join(f"{line}  \n" for line in lines) if lines else ""


def main(arguments: Sequence[str]) -> None:
    """Write the pages into the folder of the manual."""
    for path, text in pages(Path(arguments[0] if arguments else "docs")).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())


if __name__ == "__main__":
    main(sys.argv[1:])
