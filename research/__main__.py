"""The command `python -m research`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from calipers import CalipersError
from research.command_line import note
from research.rankers.rank import rank
from research.rankers.train import train
from research.reproduce import reproduce
from research.study import study


@click.group("research")
def root() -> None:
    """Printed figures of the papers, the papers' experiments on any data, and the rankers that some of them train.

    \b
    python -m research reproduce --list
    python -m research study letor MQ2008/ -o study/
    python -m research train lambdamart --train S1 --valid S2 -o model.cal
    python -m research rank model.cal S3 -o scores.txt
    """


for command in (reproduce, study, train, rank):
    root.add_command(command)


def main(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code: 0, or 2 for bad input."""
    try:
        root.main([*arguments], "python -m research", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except CalipersError as error:
        note(str(error))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
