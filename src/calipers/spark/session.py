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

from calipers.errors import CalipersError
from calipers.support.extras import load
from calipers.support.extras import check_online

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
