"""What the compiled scanner can score by itself: terms that `_scoring.hpp` knows."""

from __future__ import annotations

from typing import NamedTuple


class Plan(NamedTuple):
    """One measure for the scanner. A form hands it over (`Form.plan`); nothing here knows a measure by name."""

    form: str  # sum, prefix, precision, first, preference, interpolated
    weight: str = "flat"  # of ranks: flat, log2, zipf, geometric
    worth: str = "relevant"  # of documents: relevant, linear, exponential
    over: str = "one"  # the divisor: one, cutoff, relevant, ideal
    cutoff: int = 0  # 0: none
    rel: float = 1.0  # the least grade of a relevant document
    p: float = 0.0  # of the geometric weight; the recall that is interpolated at

    @property
    def reads_orders(self) -> bool:
        """Whether ties must have been broken: the scanner does not average this one over them."""
        return self.form in ("preference", "interpolated")
