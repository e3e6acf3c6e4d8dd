"""Spark sessions, checks for Java, and calls of PySpark without needless warnings."""

from __future__ import annotations

import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from calipers.errors import CalipersError, CheckFailed, UnknownName
from calipers.support.extras import check_online, load

NO_JAVA = (
    "Spark needs a Java runtime (17 or later), and none was found. Install one, for example openjdk-17-jre-headless on "
    "Debian, or set JAVA_HOME to its folder"
)


@contextmanager
def quietly() -> Iterator[None]:
    """Suppress warnings of PySpark about the version of pandas, which is not used here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


def map_in_arrow(frame: Any, function: Callable[[Any], Any], schema: Any) -> Any:
    """Call `frame.mapInArrow` without warnings."""
    with quietly():
        return frame.mapInArrow(function, schema)


def sql(part: str = "") -> Any:
    """Return the module pyspark.sql, or a part of it such as `functions`."""
    return load(f"pyspark.sql.{part}".rstrip("."), extra="spark", what="DataFrames of Spark")


def session(master: str | None = None, config: Mapping[str, str] | None = None, *, name: str = "calipers") -> Any:
    """Return the session of this process, or a new one.

    master: address of Spark ("local[2]", "spark://host:7077", "yarn"); by default the settings of Spark decide.

    A new session has no web page. A local session listens on the loopback interface only. Workers run this Python.
    """
    if master is not None and not master.startswith("local"):
        check_online(f"Spark on {master}")
    sessions = sql().SparkSession
    if (running := sessions.getActiveSession()) is not None and master in (
        None,
        running.conf.get("spark.master"),
    ):
        return running
    check_java()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": str(sys.stderr.isatty()).lower()}
    if master is not None:
        settings["spark.master"] = master
        if master.startswith("local"):
            settings |= _here(master)
    builder = sessions.builder.appName(name)
    for key, value in {**settings, **(config or {})}.items():
        builder = builder.config(key, value)
    try:
        with quietly():
            return builder.getOrCreate()
    except Exception as error:  # Spark has many, from Java and from Python
        reason = str(error).strip().partition("\n")[0]
        raise CalipersError(f"Spark does not start{f' on {master}' if master else ''}: {reason}") from None


def _here(master: str) -> dict[str, str]:
    """Return the settings for Spark on this machine alone."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    cores = re.match(r"local\[(\d+)", master)
    return {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # A few per core: what a partition needs is what it keeps, and Spark's 200 are for clusters.
        "spark.sql.shuffle.partitions": str(4 * int(cores[1] if cores else os.cpu_count() or 1)),
    }


def check_java() -> None:
    """Refuse to start what would end in a page of Java's own words."""
    home = os.environ.get("JAVA_HOME")
    if home and not (Path(home) / "bin" / "java").exists():
        raise CalipersError(
            f"JAVA_HOME is {home}, where there is no bin/java: Spark needs a Java runtime (17 or later)"
        )
    if not home and shutil.which("java") is None:
        raise CalipersError(NO_JAVA)


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
