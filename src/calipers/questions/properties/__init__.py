"""The seven numeric properties of measures, decided by program.

A search over every small ranking refutes a property with its smallest counterexample, or finds none; a proof from the
form of the measure settles it for rankings of any size.

Moffat, Seven numeric properties of effectiveness metrics, AIRS 2013.
"""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions.properties.cards import (
        Card as Card,
        list_measures as list_measures,
        measure_card as measure_card,
        references as references,
    )
    from calipers.questions.properties.examined_measures import subjects_of as subjects_of
    from calipers.questions.properties.property_tables import (
        DOCUMENT as DOCUMENT,
        FURTHER as FURTHER,
        annotated as annotated,
        contradictions as contradictions,
        in_words as in_words,
        notes_of as notes_of,
        reasons as reasons,
    )
    from calipers.questions.properties.verdicts import (
        NINE as NINE,
        SEVEN as SEVEN,
        Counterexample as Counterexample,
        Properties as Properties,
        Verdict as Verdict,
        examine as examine,
        properties as properties,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
