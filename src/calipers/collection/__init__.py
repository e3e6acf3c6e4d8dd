"""Judgments and runs: model, reader, formats, writing, simulation."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.collection.reader import processors as processors
    from calipers.collection.runs import ArrayRun as ArrayRun, RememberedRun as RememberedRun
    from calipers.collection.subtopics import SubtopicPool as SubtopicPool
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
