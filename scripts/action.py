"""Write action.yml from the options of `calipers check`.

    python scripts/action.py

Run it after an option of `check` was added, removed or described in other words. A test compares the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from calipers.cli.check import command

ACTION = Path(__file__).resolve().parent.parent / "action.yml"
OWN = ("annotate", "format", "judgments", "output", "safe-csv")  # which the action sets itself, or does not need

START = """\
# Written by scripts/action.py from the options of `calipers check`.
name: Calipers check
description: Check that a new ranking does not drop against the old one, or reaches a floor, as a gate for pull requests
branding:
  icon: check-circle
  color: blue

inputs:
  judgments:
    description: Judgments, for example qrels.txt, or texts, for example answers.jsonl
    required: true
  run:
    description: The run of the new system, or its name in the texts
    required: true
  package:
    description: What pip installs; empty if calipers is installed already
    required: false
    default: calipers
"""
OUTPUTS = """
outputs:
  observed:
    description: The observed fact, as dropped, below the floor or ok
    value: ${{ steps.check.outputs.observed }}
  verdict:
    description: What that shows, as worse, below the floor, undecided, not worse or not below the floor
    value: ${{ steps.check.outputs.verdict }}
  json:
    description: The file with all figures
    value: ${{ steps.check.outputs.json }}
  markdown:
    description: The file with a comment for the pull request
    value: ${{ steps.check.outputs.markdown }}

runs:
  using: composite
  steps:
    - name: Install Calipers
      if: inputs.package != ''
      shell: bash
      env:
        PACKAGE: ${{ inputs.package }}
      run: python -m pip install --quiet "$PACKAGE"
    # Inputs arrive as environment variables. Their values never become part of a script.
    - name: Check
      id: check
      shell: bash
      env:
        JUDGMENTS: ${{ inputs.judgments }}
        NEW: ${{ inputs.run }}
"""
SCRIPT = """\
      run: |
        found="$RUNNER_TEMP/calipers-check"
        question=()
        for name in %(values)s; do
          variable="OPTION_$(printf %%s "$name" | tr a-z- A-Z_)"
          if [ -n "${!variable}" ]; then question+=("--$name" "${!variable}"); fi
        done
        for name in %(flags)s; do
          variable="OPTION_$(printf %%s "$name" | tr a-z- A-Z_)"
          if [ "${!variable}" = true ]; then question+=("--$name"); fi
        done
        written=(--annotate --format json -o "$found.json")
        if [ -n "$OPTION_JUNIT" ]; then written+=(--junit "$OPTION_JUNIT"); fi
        code=0
        python -m calipers check "${question[@]}" "${written[@]}" -- "$JUDGMENTS" "$NEW" || code=$?
        if [ "$code" -gt 1 ] || [ ! -f "$found.json" ]; then exit "$code"; fi
        python -m calipers check "${question[@]}" --format markdown -o "$found.md" -- "$JUDGMENTS" "$NEW" \\
          2>/dev/null || true
        cat "$found.md" >> "$GITHUB_STEP_SUMMARY"
        read_fact='import json, sys; print(json.load(open(sys.argv[1], encoding="utf-8"))[sys.argv[2]])'
        observed=$(python -c "$read_fact" "$found.json" observed)
        verdict=$(python -c "$read_fact" "$found.json" verdict)
        { echo "observed=$observed"; echo "verdict=$verdict"; } >> "$GITHUB_OUTPUT"
        { echo "json=$found.json"; echo "markdown=$found.md"; } >> "$GITHUB_OUTPUT"
        exit "$code"
"""


def options() -> dict[str, Any]:
    """Return the options of `check` that the action takes, by name."""
    found = {each.opts[-1].removeprefix("--"): each for each in command.params if each.opts[-1].startswith("--")}
    return {name: each for name, each in found.items() if name not in OWN}


def action() -> str:
    """Return the text of action.yml."""
    known = options()
    inputs = "".join(
        f'  {name}:\n    description: {_quoted(each.help)}\n    required: false\n    default: ""\n'
        for name, each in known.items()
    )
    variables = "".join(f"        {variable(name)}: ${{{{ inputs.{name} }}}}\n" for name in known)
    flags = [name for name, each in known.items() if each.is_flag]
    values = [name for name in known if name not in (*flags, "junit")]  # the second call must not write it again
    script = SCRIPT % {"values": " ".join(values), "flags": " ".join(flags)}
    return f"{START}{inputs}{OUTPUTS}{variables}{script}"


def variable(name: str) -> str:
    """Return the environment variable of an option.

    >>> variable("max-drop")
    'OPTION_MAX_DROP'
    """
    return "OPTION_" + name.upper().replace("-", "_")


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    ACTION.write_text(action(), encoding="utf-8")
