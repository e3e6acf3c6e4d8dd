"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from calipers.errors import CalipersError

TEMPORARY = ".calipers-"  # how the names of temporary files begin


@contextmanager
def replacing(output: str) -> Iterator[str]:
    """A temporary path beside `output`, which takes its place when all went well."""
    folder = Path(output).parent
    try:
        import tempfile  # a command that writes no file need not load it

        handle, temporary = tempfile.mkstemp(dir=folder, prefix=TEMPORARY)
    except OSError as error:
        raise CalipersError(f"cannot write here: {error.strerror}", file=output) from None
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, output)
    except OSError as error:
        raise CalipersError(f"cannot be written: {error.strerror}", file=output) from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
