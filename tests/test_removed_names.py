"""Names that left Calipers say so, and what to use instead, for one release."""

from __future__ import annotations

from importlib import import_module

import pytest

import calipers as cal
from calipers.cli.commands import COMMANDS, run
from calipers.measures.grammar import parse
from calipers.measures.registry import look_up
from calipers.support import removed_names


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make one name of each kind a removed one."""
    gone = {kind: {name: "use something else"} for kind, name in EXAMPLES.items()}
    monkeypatch.setattr(removed_names, "_REMOVED", gone)


EXAMPLES = {"command": "oracle", "option": "evaluate --oracle", "measure": "gone", "name": "oracle"}


@pytest.mark.usefixtures("removed")
@pytest.mark.parametrize("arguments", [["oracle"], ["evaluate", "--oracle"], ["measures", "Gone"]])
def test_commands_say_what_to_use_instead(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "left Calipers in 0.4: use something else; see CHANGELOG" in capsys.readouterr().err


@pytest.mark.usefixtures("removed")
def test_python_says_what_to_use_instead() -> None:
    with pytest.raises(AttributeError, match=r"`oracle` left Calipers in 0\.4: use something else"):
        cal.oracle  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(cal.UnknownName, match=r"left Calipers in 0\.4"):
        parse("gone@10")


@pytest.mark.parametrize(
    ("package", "name", "instead"),
    [
        ("plot", "judging_curves", "draw a table"),
        ("spark", "compare", "spark.collect"),
        ("statistics", "rankers", "train"),
    ],
)
def test_packages_say_what_to_use_instead(package: str, name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=rf"`{name}` left Calipers in 0\.4: .*{instead}"):
        getattr(import_module(f"calipers.{package}"), name)
    with pytest.raises(AttributeError, match="has no attribute 'summarise'"):
        cal.summarise  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(ModuleNotFoundError, match=r"left Calipers in 0\.4"):
        import_module("calipers.tools.scikit_learn_estimator")


@pytest.mark.parametrize("option", ["--min-mean", "--power"])
def test_options_that_left_check(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "q", "a", option, "0.8"]) == 2
    assert f"`{option}` left Calipers in 0.4" in capsys.readouterr().err


def test_commands_that_left_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["text", "judges", "people.jsonl", "llm.jsonl"]) == 2
    assert "`text judges` left Calipers in 0.4: use `judges`" in capsys.readouterr().err


def test_no_removed_name_is_still_there() -> None:
    removed = removed_names._REMOVED
    assert not set(removed["command"]) & set(COMMANDS)
    assert not set(removed["name"]) & set(dir(cal))
    assert not [name for name in removed["measure"] if look_up(name)]
    assert all(name == name.lower() for name in removed["measure"])
