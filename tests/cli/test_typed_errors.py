"""The command line decides by the type and the fields of an error, never by its words."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import calipers as cal
from calipers.errors import ConflictingGrades, MissingFile, WrongFormat

SOURCE = Path(cal.__file__).parent
TESTS_OF_TEXT = {"startswith", "endswith", "partition", "replace", "find", "index", "split", "removeprefix"}


def reads_message(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "message"


def test_no_command_looks_at_the_text_of_a_message() -> None:
    found = []
    for file in sorted((SOURCE / "cli").glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and node.attr in TESTS_OF_TEXT and reads_message(node.value):
                found.append(f"{file.name}:{node.lineno}")
            if isinstance(node, ast.Compare) and any(map(reads_message, [node.left, *node.comparators])):
                found.append(f"{file.name}:{node.lineno}")
    assert found == []


def test_errors_have_types_and_fields(tmp_path: Path) -> None:
    run, torn, table = tmp_path / "a.run", tmp_path / "torn.qrels", tmp_path / "torn.csv"
    run.write_text("1 Q0 a 1 2.5 x\n", encoding="utf-8")
    torn.write_text("1 0 a 1\n1 0 a 2\n", encoding="utf-8")
    table.write_text("query,document,grade\n1,a,1\n1,a,2\n", encoding="utf-8")
    with pytest.raises(WrongFormat, match="looks like a run") as wrong:
        cal.read_judgments(run)
    assert wrong.value.found == "run"
    for path in (torn, table):
        with pytest.raises(ConflictingGrades, match="judged 2 here and 1 before; the argument combine"):
            cal.read_judgments(path)
    for name in ("none.qrels", "none*.qrels"):
        with pytest.raises(MissingFile):
            cal.read_runs(tmp_path / name)
