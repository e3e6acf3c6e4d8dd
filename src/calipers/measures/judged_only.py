"""The form of a measure with `judged_only=True`: one rule per form."""

from __future__ import annotations

from functools import singledispatch

from calipers.measures.forms import Form, JudgedOnly, JudgedPairs
from calipers.measures.information import PairInformation


@singledispatch
def judged_only(form: Form) -> Form:
    """Return a form of the same lists without their unjudged documents."""
    return JudgedOnly(form)


@judged_only.register(JudgedPairs)
@judged_only.register(PairInformation)
def judged_only_of_judged_pairs(form: Form) -> Form:
    """Keep a form that never looks at unjudged documents."""
    return form
