"""Questions about an experiment or its scores: one module or package per command, with the name of the command."""

from typing import TYPE_CHECKING

from calipers.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from calipers.questions import (
        audit as audit,
        bounds as bounds,
        check as check,
        compare as compare,
        diff as diff,
        fuse as fuse,
        information as information,
        inspect as inspect,
        judges as judges,
        metaeval as metaeval,
        plan as plan,
        pool as pool,
        properties as properties,
        queries as queries,
        ranges as ranges,
        sampled as sampled,
    )
else:
    __getattr__, __dir__, __all__ = lazy_names(__name__)
