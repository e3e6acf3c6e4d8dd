"""What other tools do where definitions leave a choice: conventions, as values.

A convention only fills what the user leaves open. An argument that is given wins over it, and so does a parameter
that a measure's name gives; a measure that comes as an object is taken as it is.
"""

from calipers.conventions.built_in import CONVENTIONS, PLAIN, TOOLS, convention
from calipers.conventions.profile import Convention, LabelRange
from calipers.conventions.toml import read_convention

__all__ = ["CONVENTIONS", "PLAIN", "TOOLS", "Convention", "LabelRange", "convention", "read_convention"]
