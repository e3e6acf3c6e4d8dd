"""Forms that read only some of the rows. Fewer rows also mean fewer orders of a tie to go through."""

from __future__ import annotations

from calipers.lists import Floats, Lists
from calipers.measures.forms.base import Exactness, Form
from calipers.measures.values import Value


class Worthy(Form):
    """A form of the documents that are worth something alone: where the others stand shows in the ranks."""

    of: Form
    value: Value

    @property
    def exactness(self) -> Exactness:
        return self.of.exactness

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists.worthy(self.value))

    @property
    def worth(self) -> Value:
        return self.value
