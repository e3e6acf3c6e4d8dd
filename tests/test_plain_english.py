"""The script of `make lint` that checks docstrings and messages."""

from __future__ import annotations

from scripts.plain_english import findings


def reasons(source: str) -> list[str]:
    return [finding.reason for finding in findings(source)]


def test_riddles_are_found() -> None:
    assert reasons('"""What a file holds."""') == ["starts with 'What'"]
    assert reasons('class A:\n    """Of each list: its score."""') == ["starts with 'Of'"]
    assert reasons('def f():\n    """The score of a list."""') == [
        "a function's docstring starts with a verb, not 'The'"
    ]
    assert reasons('raise ValueError("not so many")  # whatever it is') == ["contains 'so many'", "contains 'whatever'"]
    assert reasons('x = f"{n} lie beside"') == ["contains 'beside'"]


def test_plain_sentences_pass() -> None:
    assert not reasons('def f():\n    """Return the score of each list, or None if no rule is known."""')
    assert not reasons('@property\ndef f():\n    """The score of each list."""')
    assert not reasons('@measure("nDCG")\ndef f():\n    """DCG as a share of the best."""')
    assert not reasons('"""Charts of results. Besides Vega they need nothing, so many as there are."""')
