"""No result of any command depends on the order of lines or files."""

from __future__ import annotations

from pathlib import Path

import pytest

from laws import orders

Folders = tuple[Path, Path, list[str]]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Folders:
    """A collection as it was written, the same with shuffled lines, and the names of its runs."""
    written, shuffled = (tmp_path_factory.mktemp(name) for name in ("written", "shuffled"))
    runs = orders.write(written)
    orders.shuffled(written, shuffled, seed=1)
    return written, shuffled, runs


@pytest.mark.parametrize("question", orders.ALL)
def test_no_result_depends_on_the_order_of_lines_and_files(question: str, folders: Folders) -> None:
    written, shuffled, runs = folders
    code, rows = orders.answer(written, question, runs)
    assert code in (0, 1), "the question cannot be asked"
    assert rows
    for order in (runs, runs[::-1]):
        again, other = orders.answer(shuffled, question, order)
        assert again == code
        assert not orders.differences(rows, other)


def test_a_changed_number_and_a_turned_pair_are_told_apart() -> None:
    row = {"system_a": "a", "system_b": "b", "difference": "0.5", "low": "0.1", "high": "0.9", "p": "0.01"}
    turned = {"system_a": "b", "system_b": "a", "difference": "-0.5", "low": "-0.9", "high": "-0.1", "p": "0.01"}
    assert orders.differences([row], [turned]) == []
    assert len(orders.differences([row], [{**turned, "p": "0.02"}])) == 1
    assert orders.differences([row], [{**row, "system_b": "c"}])
