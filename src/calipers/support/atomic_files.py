"""Writing of files: a file gets its whole content, or stays as it was.

The content of a regular file is written to a temporary file in the same folder, which is then renamed. Mode and owner
stay the same. Symbolic links are followed. Devices, pipes and open files (/dev/stdout) are written to directly.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from calipers.errors import CalipersError

__all__ = ["TEMPORARY", "check_folder", "check_output", "replacing", "write_whole"]

TEMPORARY = ".calipers-"  # prefix of the names of temporary files
_MOST_LINKS = 40  # symbolic links that are followed


@contextmanager
def replacing(output: str) -> Iterator[str]:
    """Yield a path to write to. At the end, its content becomes the content of `output`, unless an error was raised."""
    check_output(output)
    import tempfile

    target, status = _followed(output)
    through = _is_written_through(target, status)
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(dir=None if through else os.path.dirname(target), prefix=TEMPORARY)
        os.close(handle)
        yield temporary
        if through:
            _copy(temporary, output)
        else:
            _keep_owner_and_mode(temporary, status)
            os.replace(temporary, target)
    except BrokenPipeError:
        raise  # the reader has seen enough
    except OSError as error:
        raise _refused(error, output, temporary) from None
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)


def write_whole(output: str | os.PathLike[str], content: bytes) -> None:
    """Write a file, or leave it as it was."""
    with replacing(os.fspath(output)) as temporary:
        Path(temporary).write_bytes(content)


def check_output(output: str) -> None:
    """Raise an error if a file cannot be written. Call this before the work whose result is to be written.

    >>> check_output("no-such-folder/scores.csv")
    Traceback (most recent call last):
    ...
    calipers.errors.CalipersError: no-such-folder/scores.csv: cannot write here: there is no such folder
    """
    try:
        target, status = _followed(output)
    except OSError as error:
        raise CalipersError(f"cannot write here: {error.strerror}", file=output) from None
    if _is_written_through(target, status):
        return
    if (status and stat.S_ISDIR(status.st_mode)) or not output or output.endswith(os.sep):
        raise CalipersError("is a folder: name the file to write", file=output or ".")
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise CalipersError("cannot write here: there is no such folder", file=output)
    _try_folder(folder, output)
    if status and not os.access(target, os.W_OK):
        raise CalipersError("cannot be written: the file is read-only", file=output)


def check_folder(folder: str) -> None:
    """Raise an error if files cannot be written to a folder. The folder need not exist yet."""
    place = Path(folder)
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise CalipersError("cannot be a folder: there is a file of this name", file=str(place))
    _try_folder(str(place), folder)


def _try_folder(folder: str, output: str) -> None:
    import tempfile  # a command that writes no file need not load it

    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise CalipersError(f"cannot write here: {error.strerror}", file=output) from None


def _followed(output: str) -> tuple[str, os.stat_result | None]:
    """Return the path that symbolic links lead to, and its status. Links to open files (/proc/self/fd/1) are kept."""
    path = output
    for _ in range(_MOST_LINKS):
        path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
        if path.startswith("/proc/") or not os.path.islink(path):
            break
        path = os.path.join(os.path.dirname(path), os.readlink(path))
    try:
        return path, os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return path, None


def _is_written_through(target: str, status: os.stat_result | None) -> bool:
    """Return True for a device, a pipe or an open file, which cannot be replaced by another file."""
    if status is None or stat.S_ISDIR(status.st_mode):
        return False
    return target.startswith("/proc/") or not stat.S_ISREG(status.st_mode)


def _copy(temporary: str, output: str) -> None:
    # Appending: an open file may have content already, and a pipe or device does not mind.
    handle = os.open(output, os.O_WRONLY | os.O_APPEND | getattr(os, "O_NOCTTY", 0))
    with open(temporary, "rb") as file, open(handle, "wb", buffering=0) as out:
        while block := file.read(1 << 20):
            while block:
                block = block[out.write(block) :]


def _keep_owner_and_mode(temporary: str, before: os.stat_result | None) -> None:
    if before is None:
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    now = os.stat(temporary)
    if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):  # only root may give files away; a group of one's own is possible
            os.chown(temporary, -1, before.st_gid)
        with suppress(OSError):
            os.chown(temporary, before.st_uid, -1)
    os.chmod(temporary, stat.S_IMODE(before.st_mode))


def _refused(error: OSError, output: str, temporary: str) -> CalipersError:
    """Return the error with the name of the output file, or of another file that could not be read."""
    other = error.filename if isinstance(error.filename, str) else None
    file = output if other is None or other == temporary or Path(other).name.startswith(TEMPORARY) else other
    return CalipersError(f"cannot be {'written' if file == output else 'used'}: {error.strerror or error}", file=file)


# Endings that stand for no format (input.bm25, run.2) are not in this list.
_FOREIGN = frozenset(
    (
        "xlsx",
        "xls",
        "ods",
        "numbers",
        "docx",
        "doc",
        "odt",
        "rtf",
        "pdf",
        "pptx",
        "html",
        "htm",
        "md",
        "markdown",
        "tex",
        "xml",
        "yaml",
        "yml",
        "toml",
        "pkl",
        "pickle",
        "npy",
        "npz",
        "h5",
        "hdf5",
        "feather",
        "arrow",
        "avro",
        "orc",
        "db",
        "sqlite",
        "sqlite3",
        "png",
        "svg",
        "jpg",
        "jpeg",
        "gif",
        "zip",
        "tar",
        "tgz",
        "7z",
        "rar",
        "csv",
        "tsv",
        "json",
        "jsonl",
        "ndjson",
        "parquet",
        "gz",
        "bz2",
        "xz",
        "zst",
        "lz4",
    )
)


def ending_of(path: str) -> str:
    """Return the last ending of a file name, in lower case and without its dot.

    >>> ending_of("runs/Table.CSV"), ending_of("runs.d/table")
    ('csv', '')
    """
    return os.path.splitext(os.path.basename(path))[1].lower().lstrip(".")


def refuse_foreign(path: str, written: tuple[str, ...], hint: str) -> None:
    """Raise an error if the ending of a file name stands for a format that is not in `written`."""
    ending = ending_of(path)
    if ending in _FOREIGN and ending not in written:
        raise CalipersError(f"cannot be written as .{ending}; {hint}", file=path)
