"""The error about a ranker that has not been fitted. It is scikit-learn's, which is loaded only for this error."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from calipers import CalipersError


class NotFitted(CalipersError, NotFittedError):  # type: ignore[misc]  # untyped there
    """A ranker is to predict or to be saved before it has been fitted."""
