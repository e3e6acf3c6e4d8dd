"""Which group each system is of, from a file."""

from __future__ import annotations

import csv
from collections.abc import Collection

from calipers.errors import CalipersError


def read_groups(path: str, systems: Collection[str] = ()) -> dict[str, str]:
    """From CSV whose first two columns are a system and its group. A first row that names a system is no header."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError as error:
        raise CalipersError(f"cannot be read: {error.strerror}", file=path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise CalipersError(f"is not CSV: {error}", file=path) from None
    if any(len(row) < 2 for row in rows) or not rows:
        raise CalipersError("expected a header and rows that begin with a system and its group", file=path)
    rows = rows if rows[0][0].strip() in systems else rows[1:]
    if not rows:
        raise CalipersError("expected a header and rows that begin with a system and its group", file=path)
    return {row[0].strip(): row[1].strip() for row in rows}
