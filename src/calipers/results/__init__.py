"""Scores, files of scores, and tables."""

from calipers.lazy_names import lazy_names

_HOMES = {
    "result": ("Result",),
    "scores": ("Scores",),
    "tables": ("Cell", "FORMATS", "Markdown", "Table", "markdown_text"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
