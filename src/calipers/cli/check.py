"""The command `calipers check`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, ScoreFiles
from calipers.cli.option_groups import LibraryChoice, declared, grouped_command, option_group
from calipers.cli.options import (
    FILE,
    NOT_NEGATIVE,
    OUTPUT,
    SHARE,
    WholeNumber,
    alpha_option,
    how_to_read,
    judgments_argument,
    measures_option,
    note,
    show,
    warn,
)
from calipers.cli.output import Output, output
from calipers.cli.policies import ListPolicies, lists
from calipers.cli.printing import write_text
from calipers.errors import CalipersError

if TYPE_CHECKING:
    from calipers.changes.check import Check
    from calipers.collection.runs import Run
    from calipers.results.scores import Scores

READ_BY_PEOPLE = ("table", "markdown")


@dataclass(frozen=True, kw_only=True)
class NewAndOld(Inputs):
    """Judgments, a new system, and the old one: a run, or a file of its scores."""

    new: str
    baseline: str

    def new_and_old(self, lists: ListPolicies) -> tuple[Scores, Scores]:
        """The scores of the new and of the old system."""
        from calipers.changes.difference import two_runs
        from calipers.cli.evaluate import note_undefined
        from calipers.evaluation.evaluation import evaluate
        from calipers.results.score_files import are_stored_scores

        wanted = self.wanted()
        system, path = self._baseline_file()
        stored = self._stored(system, path, lists.strict) if are_stored_scores(path) else None
        known = self.read_judgments(self.judgments, wanted.values())
        new = self.read_systems([self.new])
        runs: list[Run] = new if stored else two_runs(self.read_systems([self.baseline]), new)
        if len(runs) > 2 or (stored and len(runs) > 1):
            raise CalipersError(f"the new system is {len(runs)} runs: expected one")
        scores = evaluate(known, runs, list(wanted), jobs=lists.jobs, warn=False, **lists.policies)
        warn(scores.notes, lists.strict)
        note_undefined(scores)
        if stored:
            return scores, stored
        old, fresh = scores.systems
        return scores.of_systems([fresh]), scores.of_systems([old])

    def _baseline_file(self) -> tuple[str | None, str]:
        """The system and the file of NAME=FILE, or the file alone."""
        system, equals, path = self.baseline.partition("=")
        return (system, path) if equals and not os.path.exists(self.baseline) else (None, self.baseline)

    def _stored(self, system: str | None, path: str, strict: bool) -> Scores:
        scores = ScoreFiles(files=(path,), max_unpacked=self.max_unpacked, strict=strict).open()
        if system is not None:
            return scores.of_systems([system])
        if len(scores.systems) > 1:
            raise CalipersError(
                f"holds {len(scores.systems)} systems: choose one, as --baseline {scores.systems[0]}={path}", file=path
            )
        return scores


@dataclass(frozen=True)
class AllowedLoss:
    """What may be lost, and how sure a verdict is."""

    max_drop: float
    alpha: float
    power: float
    worst: int


@dataclass(frozen=True)
class Reports:
    """What a job is told beside the result."""

    fail_undecided: bool
    junit: str | None
    annotate: bool

    def refuse_mixed_output(self, output: Output) -> None:
        """Refuse annotations on the screen if the result is printed there for programs."""
        if self.annotate and output.file is None and output.format not in READ_BY_PEOPLE:
            raise CalipersError(
                f"--annotate prints to the screen, where the {output.format} would be: give it a file (-o)"
            )


# What may be lost, and what a job is told.
verdict_options = declared(
    option_group(
        "limits", AllowedLoss,
        click.option("--max-drop", type=NOT_NEGATIVE, required=True, metavar="D",
                     help="What the mean of a measure may lose."),
        alpha_option,
        click.option("--power", type=SHARE, default=0.8, show_default=True,
                     help="Power of the number of queries that would decide an undecided measure."),
        click.option("--worst", type=WholeNumber(0), default=5, show_default=True, metavar="N",
                     help="Queries with the largest loss that are named for each measure."),
    ),
    option_group(
        "reports", Reports,
        click.option("--fail-undecided", is_flag=True, help="Exit with 1 if the verdict is undecided, too."),
        click.option("--junit", metavar="FILE", type=OUTPUT,
                     help="Write JUnit's XML as well: one test case per measure."),
        click.option("--annotate", is_flag=True,
                     help="Print GitHub's annotations as well: an error, a warning or a notice for each measure."),
    ),
)  # fmt: skip


@grouped_command("check")
@option_group(
    "inputs", NewAndOld, judgments_argument, click.argument("new", metavar="NEW", type=FILE), how_to_read,
    measures_option,
)  # fmt: skip
@click.option("--baseline", required=True, metavar="OLD", type=FILE,
              help="The old system: a run, or its scores as evaluate -q writes them in CSV or JSON (NAME=FILE where "
                   "the file has several systems).")  # fmt: skip
@verdict_options
@click.option("--other-judgments", type=LibraryChoice("calipers.changes.check:OTHER_JUDGMENTS"), default="error",
              show_default=True,
              help="What to do if the old scores were made with other judgments: fail, or warn and go on.")  # fmt: skip
@lists
@output
def command(
    inputs: NewAndOld,
    limits: AllowedLoss,
    other_judgments: str,
    reports: Reports,
    lists: ListPolicies,
    output: Output,
) -> None:
    """Whether a new system is worse than the old one by more than may be lost: a gate for jobs and pull requests.

    Worse, where the upper one-sided 1 - alpha limit of the mean difference new - old is below -D: exit 1. Not worse,
    where the lower limit is above -D: exit 0. Undecided otherwise: exit 0, with the number of queries that would decide
    it. One measure that is worse makes the new system worse.

    \b
    calipers check qrels.txt new.run --baseline old.run -m "nDCG@10 RR" --max-drop 0.01
    calipers check qrels.txt new.run --baseline bm25=scores.csv -m "AP" --max-drop 0.01 --format json
    calipers check qrels.txt new.run --baseline old.run -m "AP" --max-drop 0.01 --junit check.xml --annotate
    """
    from calipers.changes.check import check

    reports.refuse_mixed_output(output)
    new, old = inputs.new_and_old(lists)
    found = check(new, old, other_judgments=other_judgments, warn=False, **vars(limits))  # type: ignore[arg-type]
    conclude(found, reports, lists.strict, output)


def conclude(found: Check, reports: Reports, strict: bool, output: Output) -> None:
    """Write the verdict for people and other programs, and exit with 1 if the new system is worse."""
    warn(found.notes, strict)
    for text in found.remarks:
        note(text)
    _write(found, output)
    if reports.junit is not None:
        write_text(found.to_junit(reports.fail_undecided), reports.junit)
    if reports.annotate:
        lines = found.annotations(reports.fail_undecided)
        show("".join(f"{line}\n" for line in lines), workflow_commands=True)
    if found.fails(reports.fail_undecided):
        click.get_current_context().exit(1)


def _write(found: Check, output: Output) -> None:
    """For people a sentence, the measures and the worst queries; for programs a table, and the sentence beside it."""
    if output.format == "json":
        output.write_text(found.to_json())
    elif output.format not in READ_BY_PEOPLE:
        output.write(found.table())
    else:
        output.write_text(found.text() if output.format == "table" else found.to_markdown())
        return
    note(found.sentence())
