"""The seven numeric properties of measures, decided by program.

A search over every small ranking refutes a property with its smallest counterexample, or finds none; a proof from the
form of the measure settles it for rankings of any size.

Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013.
"""

from typing import TYPE_CHECKING

from calipers.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.axioms.cards import Card as Card, measure_card as measure_card, references as references
    from calipers.axioms.examined_measures import subjects_of as subjects_of
    from calipers.axioms.impossibility import contradictions as contradictions, in_words as in_words
    from calipers.axioms.measure_list import list_measures as list_measures
    from calipers.axioms.property_tables import (
        DOCUMENT as DOCUMENT,
        FURTHER as FURTHER,
        annotated as annotated,
        notes_of as notes_of,
        reasons as reasons,
    )
    from calipers.axioms.verdicts import (
        NINE as NINE,
        SEVEN as SEVEN,
        Counterexample as Counterexample,
        Properties as Properties,
        Verdict as Verdict,
        examine as examine,
        properties as properties,
    )

__getattr__, __dir__, __all__ = lazy_names(__name__)
