"""The command `calipers trec_eval`."""

from __future__ import annotations

import click

from calipers.cli.printing import show
from calipers.errors import CalipersError
from calipers.tools.trec_eval.request import HELP, QRELS, Request, read_request


class _Untouched(click.Command):
    """A command that leaves its arguments to trec_eval's own syntax."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.args = list(args)
        return context.args

    def get_help(self, context: click.Context) -> str:
        return HELP


@click.command("trec_eval", cls=_Untouched, add_help_option=False)
@click.pass_context
def command(context: click.Context) -> None:
    """Print what trec_eval prints, for one run or for several.

    \b
    calipers trec_eval -q -c -m all_trec qrels.txt run.txt
    """
    try:
        request = read_request(context.args)
        if request.version:
            from calipers._version import __version__

            click.echo(f"calipers {__version__}, as trec_eval 10.0 (--v9: 9.0)", err=True)
        elif request.help:
            click.echo(HELP + _explained(request), nl=False)
        else:
            _note(request.notes())
            _run(request)
    except CalipersError as error:
        click.echo(f"calipers trec_eval: {error}", err=True)
        context.exit(getattr(error, "code", 2))


def _run(request: Request) -> None:
    from calipers.collection.sources import read_qrels
    from calipers.texts.recognition import refuse_texts
    from calipers.tools.trec_eval.report import TrecRun, columns, reports

    columns(request)  # a wrong parameter is refused before anything is read
    judgments, *files = request.files
    for file in request.files:
        refuse_texts(file)
    known = read_qrels(judgments)
    if known.repeated:
        _note([_repeated(known.repeated)])
    for text in reports(known, [TrecRun(file) for file in files], request, request.jobs, lambda note: _note([note])):
        show(text)


def _repeated(lines: int) -> str:
    """Return a note about lines that repeat another line."""
    return (
        f"{lines} repeated line{'s' if lines > 1 else ''} of judgments count{'s' * (lines == 1)} once; trec_eval "
        "refuses a query that is evaluated with them"
    )


def _note(notes: list[str]) -> None:
    for note in notes:
        click.echo(f"calipers trec_eval: {note}", err=True)


def _explained(request: Request) -> str:
    """Return a description of the measures that the call names."""
    if not request.measures:
        return ""
    from calipers.measures.registry import look_up

    lines = [f"\n-R qrels: one line per document, {QRELS}\n"] if request.format == "qrels" else []
    for root, _ in request.roots():
        measure = look_up(root.measure) if root.measure else None
        lines.append(f"\n{root.name}\n    {measure[0].sentence if measure else 'Text, not a number.'}\n")
    return "".join(lines)
