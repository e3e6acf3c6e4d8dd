"""The law about wrong types, for every public name."""

from __future__ import annotations

from laws.wrong_types import broken


def test_wrong_types_give_an_error_that_says_what_is_wrong() -> None:
    assert broken() == []
