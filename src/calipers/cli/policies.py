"""How lists are scored, and how differences are tested."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from calipers.cli.options import list_options, significance_options
from calipers.cli.together import Command, together

Policy = float | str | None


@dataclass(frozen=True)
class Lists:
    """How lists are read and undefined scores counted; whether warnings are errors, and how many threads read."""

    like: Any = None
    ties: str | None = None
    depth: int | None = None
    condensed: bool = False
    empty: Policy = None
    missing: Policy = None
    degenerate: Policy = None
    strict: bool = False
    jobs: int | None = None

    @property
    def policies(self) -> dict[str, Any]:
        """What scores depend on, as `evaluate` takes it."""
        return {name: value for name, value in vars(self).items() if name not in ("strict", "jobs")}


@dataclass(frozen=True)
class Significance:
    """Which test, corrected how."""

    test: str
    correction: str
    alpha: float
    samples: Any
    seed: int


lists = together("lists", Lists, list_options)  # as `lists`


def significance(correction: str) -> Callable[[Command], Command]:
    """As `significance`, with this correction where none is named."""
    return together("significance", Significance, significance_options(correction))
