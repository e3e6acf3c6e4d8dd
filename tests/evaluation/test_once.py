"""A name is parsed once and a file is sniffed once, whatever a command asks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.cli.commands import root
from calipers.collection import sources
from calipers.measures import grammar, registry

COMMANDS = ("evaluate", "compare", "diff", "ranges", "metaeval")


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter[str]]:
    """How often each name is parsed, and each file sniffed."""
    found: dict[str, Counter[str]] = {"parsed": Counter(), "sniffed": Counter()}

    def watch(module: Any, function: str, counter: Counter[str]) -> None:
        real = getattr(module, function)

        def watched(first: Any, *rest: Any, **named: Any) -> Any:
            counter[Path(str(first)).name] += 1
            return real(first, *rest, **named)

        monkeypatch.setattr(module, function, watched)

    registry._forget_cached()
    watch(grammar, "split_root", found["parsed"])
    watch(sources, "sniff", found["sniffed"])
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_parse_and_sniff_once(
    command: str, calls: dict[str, Counter[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels").write_text("1 0 a 1\n1 0 b 0\n2 0 c 1\n3 0 d 1\n3 0 e 0\n", encoding="utf-8")
    Path("one").write_text("1 Q0 a 1 2 x\n2 Q0 c 1 2 x\n3 Q0 e 1 2 x\n3 Q0 d 1 1 x\n", encoding="utf-8")
    Path("two").write_text("1 Q0 b 1 2 y\n1 Q0 a 1 1 y\n2 Q0 c 1 2 y\n3 Q0 d 1 2 y\n", encoding="utf-8")
    asked = [command, "qrels", "one", "two", "-m", "ndcg_cut_10 AP V2(RR)"]
    done = CliRunner().invoke(root, asked)
    assert done.exit_code == 0, done.output
    assert calls["sniffed"] == {"qrels": 1, "one": 1, "two": 1}
    assert {"ndcg_cut_10", "AP", "V2(RR)", "RR"} <= set(calls["parsed"])
    assert max(calls["parsed"].values()) == 1, calls["parsed"]


def declare(value: float) -> None:
    @cal.measure("DeclaredAnew")
    def own() -> Any:
        """Return the same score for every list."""
        return lambda ranking: value


def test_a_measure_that_is_declared_anew_is_parsed_anew() -> None:
    for value in (0.25, 0.5):
        declare(value)
        assert cal.evaluate({"q": {"a": 1}}, {"q": {"a": 1.0}}, "DeclaredAnew").values.item() == value
