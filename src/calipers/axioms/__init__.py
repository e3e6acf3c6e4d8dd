"""The seven numeric properties of measures, decided by program.

A search over every small ranking refutes a property with its smallest counterexample, or finds none; a proof from the
form of the measure settles it for rankings of any size.

Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013.
"""

from calipers.lazy_names import lazy_names

_HOMES = {
    "cards": ("Card", "measure_card", "references"),
    "examined_measures": ("subjects_of",),
    "measure_list": ("list_measures",),
    "impossibility": ("contradictions", "in_words"),
    "property_tables": ("DOCUMENT", "FURTHER", "annotated", "notes_of", "reasons"),
    "verdicts": ("NINE", "SEVEN", "Counterexample", "Properties", "Verdict", "examine", "properties"),
}
__all__ = [name for names in _HOMES.values() for name in names]
__getattr__ = lazy_names(__name__, _HOMES)
