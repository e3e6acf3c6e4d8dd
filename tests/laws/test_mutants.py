"""Every mutant still finds its place in the source. `make mutants` checks that a test fails for each of them."""

from __future__ import annotations

import pytest

from conftest import ROOT
from laws.mutants import MUTANTS, Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_the_place_that_a_mutant_breaks_occurs_once(mutant: Mutant) -> None:
    assert (ROOT / mutant.file).read_text(encoding="utf-8").count(mutant.old) == 1
    assert (ROOT / mutant.tests[0]).exists()
