"""The types of the compiled scanner of features; what it does, `_features_plain.py` says."""

from typing_extensions import Buffer

from calipers.collection.columns import Features

COMPILED: bool

class FeatureScanner:
    @property
    def lines(self) -> int: ...
    @property
    def rows(self) -> int: ...
    @property
    def idle(self) -> bool: ...
    def feed(self, block: Buffer, /) -> None: ...
    def finish(self) -> Features: ...
