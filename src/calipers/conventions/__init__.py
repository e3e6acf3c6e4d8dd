"""Conventions of other tools: the choices that they make where the definition of a measure leaves one.

A convention fills only what the user leaves open. An argument or a parameter in the name of a measure overrides it. A
measure that is given as an object is not changed.
"""

from calipers.conventions.built_in import CONVENTIONS, PLAIN, TOOLS, convention
from calipers.conventions.profile import Convention, LabelRange

__all__ = ["CONVENTIONS", "PLAIN", "TOOLS", "Convention", "LabelRange", "convention"]
