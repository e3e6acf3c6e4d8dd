"""Errors of Spark as errors of Calipers: one line instead of the pages that an executor returns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from calipers.errors import CalipersError, CheckFailed, UnknownName

MARK = "CalipersError"  # stands before the words of an error that Spark's own expressions raise
_OURS = re.compile(r"\b(CalipersError|CheckFailed|UnknownName): (.+)")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*$")  # Spark's own number of the error
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_KILLED = ("Python worker exited unexpectedly", "java.lang.OutOfMemoryError", "ExecutorLostFailure")


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of Spark into errors of Calipers. It surrounds every call that starts a job."""
    try:
        yield
    except CalipersError:
        raise
    except Exception as error:  # Spark raises many kinds, from Java and from Python
        raise _as_ours(error) from None


def _as_ours(error: Exception) -> Exception:
    text = str(error)
    if found := _OURS.search(text):
        kind = {kind.__name__: kind for kind in (CalipersError, CheckFailed, UnknownName)}[found[1]]
        return kind(_STATE.sub("", found[2]).strip())
    if found := _NO_MODULE.search(text):
        return CalipersError(
            f"the workers of Spark have no module '{found[1]}': install calipers[spark] for the Python that they run "
            "(PYSPARK_PYTHON, or spark.archives with a packed environment)"
        )
    if any(sign in text for sign in _KILLED):
        return CalipersError(
            "an executor of Spark died, most likely because it ran out of memory. Give it more (spark.executor.memory, "
            f"spark.executor.memoryOverhead) or use more partitions. Its message: {_reason(text)}"
        )
    if type(error).__module__.startswith(("pyspark", "py4j")):
        return CalipersError(f"Spark failed: {_reason(text)}")
    return error


def _reason(text: str) -> str:
    """Return the first line of a message, or the last line of a traceback from a worker."""
    lines = [line.strip() for line in text.partition("JVM stacktrace")[0].strip().splitlines() if line.strip()]
    if any(line.startswith("Traceback") for line in lines):
        ours = [line for line in lines if not line.startswith(("at ", "SQLSTATE", "^"))]
        return ours[-1][:300]
    return _STATE.sub("", lines[0])[:300] if lines else "no reason given"
