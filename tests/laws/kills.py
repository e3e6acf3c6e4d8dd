"""Commands that are killed, or find the disk full or the folder closed, while they write.

Whatever happens, an output is the old one or the new one, whole. Commands run in forks of one process that has loaded
Calipers; a fork can be killed at exactly the n-th file operation, at a random moment, or get a disk that is full.

    python -m laws.kills --seconds 60 --seed 1 [--only NAME]
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import random
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from time_limit import TIME_LIMIT

OLD = b"what was there before\n"
HANGS = -1000  # what is returned after the limit of time


@dataclass(frozen=True)
class Output:
    """A command and what it writes: a file, or a folder of files."""

    name: str
    arguments: tuple[str, ...]  # with {out} for the output, and {in} for the folder of the inputs
    ending: str = ""
    is_folder: bool = False
    end: bytes = b""  # of a complete file, where two runs of a command do not write the same bytes


PAGE = b"</html>"
COLLECTION = ("{in}/qrels", "{in}/a.run", "{in}/b.run")
OUTPUTS = (
    Output("evaluate -o", ("evaluate", *COLLECTION, "-o", "{out}"), ".txt"),
    Output("evaluate -q -o", ("evaluate", *COLLECTION, "-q", "--format", "csv", "-o", "{out}"), ".csv"),
    Output("compare -o", ("compare", *COLLECTION, "--format", "latex", "-o", "{out}"), ".tex"),
    Output("bounds -o", ("bounds", "{in}/qrels", "-o", "{out}", "--format", "json"), ".json"),
    Output("properties -o", ("properties", "RR", "-o", "{out}"), ".txt"),
    Output("audit -o", ("audit", *COLLECTION, "-o", "{out}"), ".txt"),
    Output("fuse -o", ("fuse", "{in}/a.run", "{in}/b.run", "-o", "{out}"), ".run.gz"),
    Output("convert", ("convert", "{in}/a.run", "{out}"), ".parquet"),
    Output("convert to xz", ("convert", "{in}/a.run", "{out}"), ".json.xz"),
    Output("queries --plot", ("queries", *COLLECTION, "-m", "nDCG@10", "--plot", "{out}"), ".html", end=PAGE),
    Output("queries --plot svg", ("queries", *COLLECTION, "-m", "nDCG@10", "--plot", "{out}"), ".svg", end=b"</svg>"),
    Output(
        "queries --plot png",
        ("queries", *COLLECTION, "-m", "nDCG@10", "--plot", "{out}"),
        ".png",
        end=b"IEND\xaeB`\x82",
    ),
    Output("report", ("report", *COLLECTION, "-m", "nDCG@10 AP", "-o", "{out}"), ".html", end=PAGE),
    Output("vectors of texts", ("cache", "{out}"), is_folder=True),
)


def make_inputs(folder: Path) -> None:
    """A small collection."""
    import calipers as cal

    made = cal.simulate(topics=8, pool=30, systems=2, retrieved=300)
    cal.write_qrels(made.qrels, folder / "qrels")
    for name, run in zip("ab", made.runs.values(), strict=False):
        cal.write_run(run, folder / f"{name}.run", name=name)


def command(arguments: list[str]) -> None:
    """A command; and the text cache, which no command fills without a model."""
    if arguments[0] == "cache":
        import numpy as np

        from calipers.errors import CalipersError
        from calipers.texts.caches import VectorCache

        try:
            cache = VectorCache(arguments[1], "a model")
            for i in range(20):
                cache.put(f"text {i}", [np.arange(3), np.full((3, 8), float(i)), np.zeros(3, bool), np.array(False)])
        except CalipersError as error:
            print(f"calipers: {error}", file=sys.stderr)
            sys.exit(2)
        return
    from calipers.cli import main

    sys.argv = ["calipers", *arguments]
    main()


def load_everything() -> None:
    """So that forks need not: most of what a command takes is importing."""
    for name in (
        "click",
        "numpy",
        "scipy.stats",
        "pyarrow.parquet",
        "jinja2",
        "vl_convert",
        "calipers.report.page",
        "calipers.cli.commands",
    ):
        with suppress(ImportError):
            __import__(name)
    from calipers.errors import CalipersError
    from calipers.plot.vega import bundle

    with suppress(CalipersError):
        bundle()  # V8 cannot start under a limit of memory


# -- accidents -----------------------------------------------------------------------------------------------

WRITES = ("os.rename", "os.remove", "os.chmod", "os.mkdir", "os.truncate", "os.link", "os.chown", "shutil.move")


def _kill_at(n: int, folder: Path, with_signal: int = signal.SIGKILL) -> None:
    """A signal at the n-th operation on files of a folder: opening to write, renaming, changing modes ..."""
    left = [n]

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, mode, flags = arguments
            writes = (isinstance(mode, str) and set(mode) & set("wax+")) or (flags or 0) & (os.O_WRONLY | os.O_RDWR)
            if not writes or not str(path).startswith(str(folder)):
                return
        elif event not in WRITES or not any(str(each).startswith(str(folder)) for each in arguments):
            return
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), with_signal)

    sys.addaudithook(hook)


def _terminate_at(n: int, folder: Path) -> None:
    _kill_at(n, folder, signal.SIGTERM)


def _no_accident() -> None:
    pass


def _give_up_root() -> None:
    """Root without the right to write where modes forbid it."""
    if os.geteuid() == 0:
        header = (ctypes.c_uint32 * 2)(0x20080522, 0)
        sets = (ctypes.c_uint32 * 6)()
        libc = ctypes.CDLL(None, use_errno=True)
        assert libc.capget(header, sets) == 0
        sets[0] &= ~0b110  # effective: CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        assert libc.capset(header, sets) == 0


def _full_after(size: int) -> None:
    """Files grow to so many bytes, then writing fails as on a full disk."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def forked(
    arguments: list[str], accident: Callable[[], None] = lambda: None, kill_after: float | None = None
) -> tuple[int, str]:
    """Run a command in a fork, with an accident: the exit code, minus the signal that killed it, and what was said."""
    listening, saying = os.pipe()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.dup2(saying, 1)
            os.dup2(saying, 2)
            accident()
            try:
                command(arguments)
                code = 0
            except SystemExit as end:
                code = int(end.code or 0)
            except BaseException:  # of any kind: the process says it, and ends
                import traceback

                traceback.print_exc()
                code = 70
            with suppress(Exception):
                sys.stdout.flush()
        finally:
            os._exit(code)
    os.close(saying)
    start, said = time.monotonic(), b""
    killed = kill_after is None
    while time.monotonic() - start < TIME_LIMIT:
        if not killed and time.monotonic() - start >= (kill_after or 0):
            os.kill(child, signal.SIGKILL)
            killed = True
        if select.select([listening], [], [], 0.005)[0]:
            block = os.read(listening, 1 << 16)
            if not block:
                break
            said += block
    else:
        os.kill(child, signal.SIGKILL)
    os.close(listening)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if time.monotonic() - start >= TIME_LIMIT:
        code = HANGS
    return code, said.decode(errors="replace")


# -- the law -----------------------------------------------------------------------------------------------------


def contents(path: Path) -> dict[str, bytes]:
    """The files that a user would see there."""
    if path.is_dir():
        return {
            str(file.relative_to(path)): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file() and not file.name.startswith(".calipers-")
        }
    return {"": path.read_bytes()} if path.exists() else {}


def broken(output: Output, found: dict[str, bytes], before: dict[str, bytes], new: dict[str, bytes]) -> str | None:
    """What is wrong with the files that an accident left."""
    for name in before:
        if name not in found:
            return f"{name or 'the output'} has gone"
    for name, content in found.items():
        if content in (before.get(name), new.get(name)):
            continue
        if not (output.end and content.rstrip().endswith(output.end)):
            return f"{name or 'the output'} is neither old nor new: {len(content)} bytes, {content[:60]!r} ..."
    return None


class Site:
    """A folder with inputs, in which outputs are written under accidents."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.inputs, self.work = folder / "in", folder / "out"
        self.inputs.mkdir()
        self.work.mkdir()
        make_inputs(self.inputs)
        self.new: dict[str, tuple[dict[str, bytes], float]] = {}
        self.counts: Counter[str] = Counter()

    def arguments(self, output: Output) -> tuple[list[str], Path]:
        out = self.work / f"output{output.ending}"
        places = {"{in}": str(self.inputs), "{out}": str(out)}
        arguments = []
        for argument in output.arguments:
            for mark, place in places.items():
                argument = argument.replace(mark, place)
            arguments.append(argument)
        return arguments, out

    def prepare(self, output: Output) -> tuple[list[str], Path, dict[str, bytes]]:
        """The command, and its output as it was before."""
        arguments, out = self.arguments(output)
        shutil.rmtree(self.work)
        self.work.mkdir()
        os.chmod(self.work, 0o777)
        if not output.is_folder:
            out.write_bytes(OLD)
            os.chmod(out, 0o666)
        return arguments, out, contents(out)

    def whole(self, output: Output) -> str | None:
        """Run without an accident, to know what is new."""
        arguments, out, _ = self.prepare(output)
        start = time.monotonic()
        code, told = forked(arguments)
        if code:
            return f"{output.name}: exit {code}: {told[-600:]}"
        self.new[output.name] = contents(out), time.monotonic() - start
        if not output.is_folder and contents(out) == {"": OLD}:
            return f"{output.name}: nothing was written"
        return None

    def accident(self, output: Output, kind: str) -> str | None:
        """One accident; what it broke."""
        new, duration = self.new[output.name]
        arguments, out, before = self.prepare(output)
        pick, after = self.random, None
        setup: Callable[[], None] = _no_accident
        detail = ""
        if kind == "killed":
            n = pick.randint(1, 6 + 4 * len(new))
            detail, setup = f"operation {n}", lambda: _kill_at(n, self.work)
        elif kind == "terminated":
            n = pick.randint(1, 3)
            detail, setup = f"operation {n}", lambda: _terminate_at(n, self.work)
        elif kind == "killed at a moment":
            after = pick.uniform(0.3, 1) * duration
            detail = f"after {after:.3f} s"
        elif kind == "full":
            size = pick.randint(0, max(max(map(len, new.values()), default=1) - 1, 0))
            detail, setup = f"{size} bytes", lambda: _full_after(size)
        elif kind == "closed":
            os.chmod(self.work, 0o555)
            setup = _give_up_root
        code, told = forked(arguments, setup, after)
        os.chmod(self.work, 0o777)
        self.counts[kind] += 1
        where = f"{output.name}, {kind} {detail}"
        if wrong := broken(output, contents(out), before, new):
            return f"{where}: {wrong}"
        if code == HANGS:
            return f"{where}: does not end"
        fine = (0, 1, 2, 128 + signal.SIGTERM) if kind == "terminated" else (0, 1, 2)
        if code >= 0 and (code not in fine or "Traceback" in told):
            return f"{where}: exit {code}: {told[-1500:]}"
        if kind in ("full", "closed") and code == 0 and contents(out) == before and not output.is_folder:
            return f"{where}: exit 0, and nothing was written"
        if kind in ("full", "closed", "terminated"):
            left = [file.name for file in self.work.rglob(".calipers-*")]
            if left:
                return f"{where}: leaves {left}"
        return None

    def again(self, output: Output) -> str | None:
        """After an accident the command works, whatever was left."""
        arguments, out = self.arguments(output)
        code, told = forked(arguments)
        if code:
            return f"{output.name}, again: exit {code}: {told[-600:]}"
        found, new = contents(out), self.new[output.name][0]
        if not output.end and found != new:
            return f"{output.name}, again: another output than without the accident"
        return None


KINDS = ("full", "killed", "closed", "terminated", "killed at a moment")


def accidents(
    seconds: float, seed: int, only: str | None = None, rounds: int | None = None
) -> tuple[list[str], Counter[str]]:
    """Accidents for so long, or so many of each kind for each output: what was broken, and how many there were.

    A single round leaves out half of them, so that it takes seconds.
    """
    found: list[str | None] = []
    with tempfile.TemporaryDirectory(prefix="laws-") as name:
        site = Site(Path(name), seed)
        outputs = [output for output in OUTPUTS if only in (None, output.name)]
        found += map(site.whole, outputs)
        outputs = [output for output in outputs if output.name in site.new]
        end, done = time.monotonic() + seconds, 0
        while time.monotonic() < end and (rounds is None or done < rounds):
            for place, output in enumerate(outputs):
                kinds = (KINDS[0], KINDS[1 + place % 4]) if rounds == 1 else KINDS
                found += [site.accident(output, kind) for kind in kinds]
                if rounds != 1:
                    found.append(site.again(output))
            done += 1
        if os.geteuid() == 0 and rounds is None:
            found += full_disk(site, outputs)
        return [*filter(None, found)], site.counts


def full_disk(site: Site, outputs: list[Output]) -> list[str]:
    """The same on a disk that is really full, where one can be mounted."""
    found: list[str] = []
    for output in outputs:
        new, _ = site.new[output.name]
        site.prepare(output)
        room = max(8, sum(map(len, new.values())) // 2048)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={room}k", "laws", str(site.work)], capture_output=True
        )
        if mounted.returncode:
            return found
        try:
            arguments, out = site.arguments(output)
            if not output.is_folder:
                with suppress(OSError):
                    out.write_bytes(OLD)
            before = contents(out)
            code, told = forked(arguments)
            site.counts["full disk"] += 1
            if wrong := broken(output, contents(out), before, new):
                found.append(f"{output.name}, full disk of {room} KiB: {wrong}")
            elif code not in (0, 1, 2) or "Traceback" in told:
                found.append(f"{output.name}, full disk of {room} KiB: exit {code}: {told[-800:]}")
        finally:
            subprocess.run(["umount", str(site.work)], check=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--rounds", type=int, help="at most so many accidents of each kind for each output")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=[output.name for output in OUTPUTS])
    options = parser.parse_args()
    load_everything()
    found, counts = accidents(options.seconds, options.seed, options.only, options.rounds)
    print("\n".join(found))
    print(json.dumps({"seed": options.seed, "broken": len(found), **counts}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
