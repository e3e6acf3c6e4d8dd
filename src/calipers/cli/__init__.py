"""The command line."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from contextlib import suppress
from typing import NoReturn, TextIO

from calipers.cli.printing import note, told_of_output
from calipers.errors import CalipersError, CalipersWarning

BUG = 3


def main() -> None:
    """Run a command and exit: code 0, 1 if a check failed, 2 for bad input, 3 for a bug in Calipers."""
    _have_streams()
    _end_cleanly()
    _warn_in_one_line()
    code = 0
    try:
        from calipers.cli.commands import run

        code = run(sys.argv[1:])
        with told_of_output():
            sys.stdout.flush()
    except KeyboardInterrupt:
        note("interrupted")
        code = 130
        _drop_output()
    except SystemExit:
        _drop_output()
        raise
    except BrokenPipeError:
        _drop_output()  # the reader of our output has gone; that is no error
    except CalipersError as error:
        _drop_output()
        note(str(error))
        code = 2
    except MemoryError:
        note("out of memory")
        code = 2
    except OSError as error:
        _drop_output()
        note(f"{error.filename or 'a file or stream cannot be used'}: {error.strerror or error}")
        code = 2
    except Exception as error:  # a bug in Calipers: the user gets a file to send
        from calipers.cli.suggestions import reported

        note(reported(error, sys.argv[1:]))
        code = BUG
    sys.exit(code)


def _have_streams() -> None:
    """Replace closed standard streams. Otherwise the next file to be opened would get their number and their output."""
    if None not in (sys.stdin, sys.stdout, sys.stderr):
        return
    for number, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):  # to use the first two is an error
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8", closefd=False, errors="backslashreplace")


def _end_cleanly() -> None:
    """Make SIGTERM and SIGHUP remove temporary files, as an interrupt does."""
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:  # nohup stays what it is
            with suppress(ValueError):  # not in the main thread
                signal.signal(number, _end)


def _warn_in_one_line() -> None:
    """Print warnings of the library as one line, like all notes of a command."""
    shown = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, CalipersWarning):
            note(f"warning: {message}")
        else:
            shown(message, category, filename, lineno, file, line)

    warnings.showwarning = show


def _end(number: int, frame: object) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # some senders send it twice
    sys.exit(128 + number)


def _drop_output() -> None:
    """Discard output that could not be written, so that Python does not try again at exit."""
    with suppress(OSError, ValueError):  # it may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
