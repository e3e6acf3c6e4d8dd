"""Forms whose score never falls when a document gets better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from calipers.lists import Floats
from calipers.measures.forms.base import Form
from calipers.measures.forms.gradings import Steps, Unknown

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Rising(Form):
    """A form of the worths of retrieved documents: it is largest where all are at their best."""

    local = True

    def matters(self, grade: Floats) -> NDArray[np.bool_]:
        return np.asarray(self.worth(grade) != 0)

    def extreme(self, unknown: Unknown, largest: bool) -> Floats:
        """All unknown documents at their best, or all at their worst."""
        steps = Steps.of(self.worth, unknown.grades, unknown.lists.pool)
        return unknown.all(steps.grade[-1 if largest else 0])
