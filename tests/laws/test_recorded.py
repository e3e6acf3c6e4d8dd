"""Exit codes and numbers of all commands are those of the recording."""

from __future__ import annotations

import pytest

from calipers.cli.commands import COMMANDS
from laws import recorded


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> recorded.Recorded:
    return recorded.recorded(tmp_path_factory.mktemp("recorded"))


def test_numbers_are_those_of_the_recording(found: recorded.Recorded) -> None:
    different = recorded.differences(found, recorded.read())
    assert not different, "\n".join(
        [*different, "If that is meant: PYTHONPATH=tests:src python -m laws.recorded --update"]
    )


def test_every_command_is_recorded(found: recorded.Recorded) -> None:
    words = {word for name in found for word in name.replace(":", " ").split()}
    assert COMMANDS.keys() <= words


def test_a_changed_number_is_noticed() -> None:
    before: recorded.Recorded = {"evaluate": [0, "0.5 1"], "check": [0]}
    assert recorded.differences(before, before) == []
    now: recorded.Recorded = {"evaluate": [0, "0.5 0.9"], "check": [1]}
    assert len(recorded.differences(now, before)) == 2


def test_numbers_are_read_without_their_words() -> None:
    text = "system,AP,note\nrun 1,0.123456789,3 of 4\nb,-0.00001,2\nc,,none\n"
    assert recorded.numbers(text, is_csv=True) == ["0.1235", "0 2"]
