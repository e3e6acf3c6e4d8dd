"""Advice that follows from an audit, in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from calipers.support.plurals import counted, verb

if TYPE_CHECKING:
    from calipers.questions.audit.tool_audit import Audit

SHOWN = 5e-5  # smallest difference that four digits show


def advice(audit: Audit) -> str:
    """Return which figure to report, and which figures not to compare it with.

    The figure to report is that of the reference, by default the figure that `calipers evaluate` prints.
    """
    if not audit.attributions:
        return f"No other tool has a figure for {', '.join(audit.measures)} here, so there is nothing to compare."
    name = max(audit.measures, key=lambda each: _largest(audit, each))
    if _largest(audit, name) < SHOWN:
        return f"All tools agree on {', '.join(audit.measures)} here; report it, and name the tool."
    found = [about for cause, sentence in SENTENCES.items() if (about := _about(audit, name, cause, sentence))]
    said = [about for _, about in sorted(found, reverse=True)[:MOST]]
    swap = audit.largest_swap
    if len(audit.systems) > 1:
        if swap is None:
            said.append("the order of the systems is the same under all tools")
        else:
            measure, one, other, count = swap
            pairs = f"{counted(count, 'pair')} of systems {verb(count, 'changes', 'change')} places"
            said.append(f"{pairs} between {one} and {other} under {measure}, so never mix the figures of two tools")
    return f"Report {name} as {_reported(audit, name)}, and say so: {'; '.join(said)}."


def _reported(audit: Audit, name: str) -> str:
    """Return the name of the figure to report, and the convention that gives it."""
    from calipers.conventions import PLAIN
    from calipers.measures.grammar import parse_all

    reference = audit.reference
    [(_, measure)] = parse_all([name], reference.defaults)
    gain = measure.parameters.get("gain")
    with_gain = f", with the {gain} gain" if isinstance(gain, str) else ""
    if reference == PLAIN.with_(rel=reference.rel):
        return f"calipers evaluate prints it{with_gain}"
    return f"{reference.name} has it (like={reference.name!r}){with_gain}"


def _largest(audit: Audit, name: str) -> float:
    """Return the largest difference from the reference."""
    return max((float(abs(a.difference).max()) for (of, _), a in audit.attributions.items() if of == name), default=0.0)


MOST = 2  # causes that the sentence names
SENTENCES = {
    "no relevant document": "{lists} lists belong to queries without a relevant document, which {tools} {verb} as "
    "{setting} for any ranking ({part}): leave such queries out",
    "lists shorter than k": "{lists} lists are shorter than k, which {tools} {verb} {setting} ({part}): do not "
    "compare with such figures",
    "where the ideal comes from": "{tools} {verb} the ideal of {setting} ({part})",
    "gain": "{tools} {verb} the {setting} gain ({part})",
    "discount": "{tools} {verb} the {setting} discount ({part})",
    "relevance level": "{tools} {verb} relevant what has grade {setting} or more ({part})",
    "tied scores": "{tools} {verb} tied scores by {setting} ({part})",
}
_SETTINGS = {
    ("lists shorter than k", "zero"): "0",
    ("lists shorter than k", "n"): "lists of n documents",
    ("where the ideal comes from", "list"): "the retrieved documents alone, which rewards leaving relevant ones out",
    ("where the ideal comes from", "pool"): "all judged documents",
    ("where the ideal comes from", "whole"): "all judged documents without a cutoff",
    ("where the ideal comes from", "k"): "k relevant documents, even if there are fewer",
}
_VERBS = {
    "no relevant document": "count",
    "lists shorter than k": "count as",
    "where the ideal comes from": "take",
    "gain": "use",
    "discount": "use",
    "relevance level": "call",
    "tied scores": "order",
}
_FOR_ONE = {
    "count": "counts",
    "count as": "counts as",
    "take": "takes",
    "use": "uses",
    "call": "calls",
    "order": "orders",
}


def _about(audit: Audit, name: str, cause: str, sentence: str) -> tuple[float, str] | None:
    """Return the largest effect of one cause, and a sentence on the tools that it affects most."""
    moved = {}
    for tool in audit.tools:
        found = audit.attributions.get((name, tool.name))
        if found is None or cause not in found.causes:
            continue
        place = found.causes.index(cause)
        part = float(found.parts[place].mean())
        if abs(part) >= SHOWN:
            setting = _SETTINGS.get((cause, found.settings[place][1]), found.settings[place][1])
            moved[tool.name] = (setting, found.lists[place], part)
    if not moved:
        return None
    setting = max(moved.values(), key=lambda each: abs(each[2]))[0]
    alike = {tool: each for tool, each in moved.items() if each[0] == setting}
    parts = sorted(each[2] for each in alike.values())
    span = f"{parts[0]:+.4f}" if parts[-1] - parts[0] < SHOWN else f"{parts[0]:+.4f} to {parts[-1]:+.4f}"
    tools = list(alike)
    several = len(tools) > 1
    verb = _VERBS[cause] if several else _FOR_ONE[_VERBS[cause]]
    listed = ", ".join(tools[:-1]) + " and " + tools[-1] if several else tools[0]
    lists = max(each[1] for each in alike.values())
    size = max(abs(part) for part in parts)
    return size, sentence.format(lists=lists, tools=listed, verb=verb, setting=setting, part=span)
