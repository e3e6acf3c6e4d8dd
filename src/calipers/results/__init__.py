"""Scores, files of scores, and tables."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.results.result import Result as Result
    from calipers.results.scores import Scores as Scores
    from calipers.results.tables import (
        FORMATS as FORMATS,
        Cell as Cell,
        Markdown as Markdown,
        Table as Table,
        markdown_text as markdown_text,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
