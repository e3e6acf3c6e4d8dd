"""Forms that read only some of the rows. Fewer rows also mean fewer orders of a tie to go through."""

from __future__ import annotations

from calipers.lists import Floats, Lists
from calipers.measures.forms.base import Wrapper
from calipers.measures.values import Value
from calipers.native.plan import Plan


class Worthy(Wrapper):
    """A form of the documents that are worth something alone: where the others stand shows in the ranks."""

    value: Value

    def error(self, lists: Lists) -> Floats:
        return self.of.error(lists.worthy(self.value))

    def score(self, lists: Lists) -> Floats:
        return self.of.score(lists.worthy(self.value))

    def plan(self) -> Plan | None:
        return self.of.plan()

    @property
    def reader(self) -> str:
        return self.of.reader

    @property
    def worth(self) -> Value:
        return self.value
