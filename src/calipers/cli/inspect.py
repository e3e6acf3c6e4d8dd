"""The command `calipers inspect`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from calipers.cli.inputs import Inputs, inputs
from calipers.cli.option_groups import grouped_command
from calipers.cli.options import relevant_option
from calipers.cli.output import Output, several_outputs
from calipers.cli.printing import note
from calipers.errors import ConflictingGrades

if TYPE_CHECKING:
    from calipers.experiment import Experiment


@grouped_command("inspect")
@inputs(measures=False, texts=True)
@relevant_option
@several_outputs
def command(inputs: Inputs, relevant: float | None, output: Output) -> None:
    """Check judgments and runs, or texts, before any score is computed.

    Prints ids that do not match, duplicates, grades, ties, odd characters, and queries without results; of texts,
    missing, empty and equal ones, and which fields were found. Exits with 1 if something makes scores meaningless, for
    example if no document of a run is judged.

    \b
    calipers inspect qrels.txt runs/*
    calipers inspect qrels.txt run.txt --format json
    calipers inspect answers.jsonl
    """
    result = _experiment(inputs, relevant).inspect()
    titles = {"grades": "Grades of the judgments", "fields": "Fields that were found"}
    tables = {
        name: (titles.get(name, name.capitalize()), table) for name, table in result.tables().items() if len(table.rows)
    }
    output.write_several(tables)
    note(result.summary)
    if not result.ok:
        click.get_current_context().exit(1)


def _experiment(inputs: Inputs, relevant: float | None) -> Experiment:
    """Return the experiment. If a document has several grades, this is noted and the largest grade is used."""
    try:
        return inputs.experiment(relevant=relevant)
    except ConflictingGrades as error:
        note(f"warning: {error}; here the largest grade is used")
        return replace(inputs, combine_grades="max").experiment(relevant=relevant)
