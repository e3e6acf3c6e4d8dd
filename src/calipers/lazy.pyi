from dataclasses import dataclass as dataclass
from dataclasses import field as field
from dataclasses import replace as replace
from typing import Any

import numpy as numpy

class Later:
    def __init__(self, name: str) -> None: ...
    def __getattr__(self, attribute: str) -> Any: ...
