"""The list of all measures."""

from __future__ import annotations

from calipers.measures.dialects import trec_names
from calipers.measures.registry import all_declared, other_names
from calipers.results.tables import Table
from calipers.support.checks import check_type

COLUMNS = ("measure", "description", "other names")


def list_measures(text: str = "") -> Table:
    """Return the measures whose name, description or other names contain a text. Without a text, return all measures.

    Capital and small letters are the same. `measure_card` shows everything about one measure.

    >>> list_measures("geometric")["measure"]
    ['gm_bpref', 'gm_map']
    """
    rows = [
        (each.name, each.sentence.partition("\n")[0], ", ".join(other_names(each)), trec_names(each.name))
        for each in all_declared()
    ]
    check_type("text", text, str, "a part of a name or description")
    wanted = text.lower()
    return Table(COLUMNS, tuple(row[:3] for row in rows if wanted in " ".join([*row[:3], *row[3]]).lower()))
