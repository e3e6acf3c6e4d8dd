"""All ways to scores agree, on collections drawn from seeds; and each way is the one that it says it is.

More collections: `make fuzz`. One of them again: `make fuzz N=1 SEED=... WAYS=all`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from calipers.native.scanner import COMPILED
from laws.odd import collection, usual
from laws.ways import WAYS, Taken, Way, difference, plain_twin, traced

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is only one scanner to compare")

COLLECTIONS, AT_ONCE = 300, 10


@pytest.mark.parametrize("start", range(0, COLLECTIONS, AT_ONCE))
def test_all_ways_agree(start: int, tmp_path: Path) -> None:
    taken: Taken = Counter()
    for seed in range(start, start + AT_ONCE):
        folder = tmp_path / str(seed)
        folder.mkdir()
        found = difference(collection(seed), folder, taken)
        assert found is None, found
    always = ("library", "command", "two jobs", "plain twin", "packed")
    assert all(taken[name] == AT_ONCE for name in always)


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_a_way_is_the_one_that_it_says_it_is(way: Way, tmp_path: Path) -> None:
    case = usual(7)
    assert way.takes(case)
    with traced() as called:
        found = way.run(case, tmp_path)
    assert found is not None
    assert found.refusal is None
    assert found.values
    for wanted in way.passes:
        assert wanted in called, f"{way.name} does not pass through {wanted}"
    for other in way.avoids:
        assert not any(name.startswith(other) for name in called), f"{way.name} passes through {other}"


def test_the_twin_is_put_back() -> None:
    from calipers.collection import reader as module

    reader: Any = module
    before = reader.RunScanner
    with plain_twin():
        assert reader.RunScanner is not before
    assert reader.RunScanner is before


def test_collections_are_replayable_and_odd() -> None:
    """The same seed gives the same files; all traits and defects that the laws speak of do occur."""
    cases = [collection(seed) for seed in range(COLLECTIONS)]
    assert [collection(seed) for seed in range(COLLECTIONS)] == cases
    traits = {trait for case in cases for trait in case.traits}
    defects = {defect.partition(": ")[2] for case in cases for defect in case.defects}
    assert len(traits) == 17, traits
    assert len(defects) >= 12, defects
    assert 0.6 * COLLECTIONS < sum(case.is_legal for case in cases) < 0.9 * COLLECTIONS
