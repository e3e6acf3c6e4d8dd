"""The command line."""

from __future__ import annotations

import os
import sys

from calipers.cli.quick import is_done
from calipers.cli.telling import note


def main() -> None:
    """Run a command: exit code 0, 1 where a check failed, 2 for bad input."""
    code = 0
    try:
        if not is_done(sys.argv[1:]):
            from calipers.cli.commands import run

            code = run(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        note("interrupted")
        code = 130
    except BrokenPipeError:
        # The reader of our output has gone; that is no error, and nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except MemoryError:
        note("out of memory")
        code = 2
    sys.exit(code)
