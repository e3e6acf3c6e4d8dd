"""Run one process, and say how long it took and how much memory it had at most.

This module, and whoever imports it, stays small on purpose: Linux counts the memory that a process had before
it became another program, so a parent that had loaded NumPy would be measured along with its children.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Measured:
    seconds: float
    cpu: float  # over all threads
    megabytes: float
    output: str


class Failed(Exception):
    """The process failed or took too long."""


def environment() -> dict[str, str]:
    """One numeric thread, and bytecode caches as every user has them."""
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return inherited | {"OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def measure(command: Sequence[str], *, timeout: float = 1800) -> Measured:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=output, stderr=errors, env=environment())
        killer = threading.Timer(timeout, os.kill, (process.pid, signal.SIGKILL))
        killer.start()
        # wait4, not wait: it says what this one child used.
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        killer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        errors.seek(0)
        if process.returncode == -signal.SIGKILL and seconds >= timeout:
            raise Failed(f"took more than {timeout:.0f} s")
        if process.returncode:
            lines = errors.read().decode(errors="replace").strip().splitlines() or ["no message"]
            raise Failed(f"exit code {process.returncode}: {lines[-1]}")
        # Kilobytes on Linux, bytes on macOS.
        unit = 1 if sys.platform == "darwin" else 1024
        cpu = usage.ru_utime + usage.ru_stime
        return Measured(seconds, cpu, usage.ru_maxrss * unit / 1e6, output.read().decode())
