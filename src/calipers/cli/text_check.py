"""The command `calipers text check`."""

from __future__ import annotations

import click

from calipers.cli.check import GateLimits, Reports, conclude, verdict_options
from calipers.cli.option_groups import grouped_command
from calipers.cli.options import strict_option, warn
from calipers.cli.output import Output, output
from calipers.cli.text_options import TextRequest, details_of_measures, text_request, texts_and_measures


@grouped_command("check")
@texts_and_measures
@click.argument("new", metavar="NEW")
@click.option("--baseline", metavar="OLD", help="The old system.")
@verdict_options
@details_of_measures
@strict_option
@text_request
@output
def command(
    request: TextRequest, new: str, baseline: str | None, limits: GateLimits, reports: Reports, output: Output
) -> None:
    """Check that the texts of a new system do not drop against those of the old one, or reach a floor.

    NEW and OLD are systems of DATA. Facts, verdicts and exit codes are those of `calipers check`. Errors
    such as TER are negated, so that more is better.

    \b
    calipers text check data.jsonl s0 --baseline s1 -m "ROUGE-1 ROUGE-2" --max-drop 0.2
    calipers text check answers.jsonl rag1 --baseline rag0 -m "F1" --max-drop 0.5 --junit check.xml
    """
    reports.refuse_mixed_output(output)
    keywords = limits.keywords(baseline)
    systems = [new] if baseline is None else [new, baseline]
    evaluation = request.evaluate(*systems)
    found = evaluation.check(new, baseline=baseline, warn=False, **keywords)
    warn([text for text in found.notes if text not in evaluation.notes], request.strict)
    conclude(found, reports, output)
