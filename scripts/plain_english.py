"""Report docstrings, messages and comments in src/calipers that are not plain English (STYLE.md).

    python scripts/plain_english.py                 # all packages; exit 1 if anything is found
    python scripts/plain_english.py statistics lists    # these packages or modules

Two rules:

1. A function's docstring starts with a verb ("Return the score of each list."). A class, module or property starts with
   a noun phrase. None starts with "What ...", "Whether ..." or "Of each ...".
2. No docstring, message or comment contains one of the PHRASES.

Ruff's D401 also checks the first word of a function's docstring. It knows many verbs but few other words.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).resolve().parent.parent / "src" / "calipers"

# First words that no docstring may have.
RIDDLE = re.compile(
    r"as|at|by|either|for|from|how|if|in|neither|of|on|over|than|that|those|though|to|under|were|what|whatever|when|where"
    r"|whether|which|while|who|whom|whose|why|with|without"
)
# First words that are not verbs. No function's docstring may have them.
NOT_A_VERB = re.compile(
    r"a|about|above|all|also|an|and|another|any|apart|are|around|below|best|better|between|beyond|both|but|can|cannot"
    r"|distinct|does|each|even|every|everything|expected|first|four|given|half|has|here|is|it|its|just|larger|largest"
    r"|last|least|less|many|may|more|most|much|never|no|none|not|nothing|numbers|often|once|one|only|or|other|others"
    r"|pairs|per|same|scores|second|several|should|since|smaller|smallest|so|some|such|text|the|their|then|there|these"
    r"|they|this|three|together|too|true|twice|two|until|up|whole|will|words|would"
)

# The docstrings of functions with these decorators are noun phrases.
NOUN_DECORATORS = ("property", "cached_property", "setter", "measure", "register")

PHRASES = (
    r"[Ss]o (many|much)(?! (as|that))",
    r"[Ww]hatever",
    r"[Ww]hichever",
    r"[Bb]eside",
    r"that there (is|are)",
    r"(there )?(is|are) none",
    r"(is|are) (to be )?said",
    r"(is|are|be) told",
    r"what is left",
    r"(for|of|in|with|to) whose",
    r"where it is one",
    r"are alike",
    r"in the place of",
    r"by how much",
    r"a user means",
    r"as it were",
    r"one (segment|row|line|bar|column|value|number) a",
)
PHRASE = re.compile(rf"\b(?:{'|'.join(PHRASES)})\b|[.:;] [Oo]f (?:each|every|what)\b")
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Finding(NamedTuple):
    """A sentence to rewrite."""

    line: int
    reason: str
    text: str


def findings(source: str) -> list[Finding]:
    """Return what is to be rewritten in a module, in the order of its lines."""
    tree = ast.parse(source)
    return sorted({*opening_findings(tree), *phrase_findings(tree, source)})


def opening_findings(tree: ast.Module) -> Iterator[Finding]:
    """Yield the docstrings that start with the wrong kind of word."""
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
            continue
        docstring = ast.get_docstring(node)
        if not docstring or not docstring.strip():
            continue
        first = docstring.split()[0]
        word = first.strip("`'\"*(,.:").lower()
        line = node.body[0].lineno
        if RIDDLE.fullmatch(word):
            yield Finding(line, f"starts with {first!r}", shorten(docstring))
        elif is_verb_phrase(node) and (NOT_A_VERB.fullmatch(word) or not first[0].isalpha() or first.endswith(":")):
            yield Finding(line, f"a function's docstring starts with a verb, not {first!r}", shorten(docstring))


def is_verb_phrase(node: ast.AST) -> bool:
    """Return True for a function whose docstring must start with a verb."""
    if not isinstance(node, FUNCTIONS):
        return False
    return not any(decorator_name(decorator) in NOUN_DECORATORS for decorator in node.decorator_list)


def decorator_name(decorator: ast.expr) -> str:
    """Return the last part of a decorator's name: `register` for `@rule.register(Linear)`."""
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def phrase_findings(tree: ast.Module, source: str) -> Iterator[Finding]:
    """Yield the docstrings, messages and comments that contain one of the phrases."""
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    texts = [(node.lineno, " ".join(node.value.split())) for node in constants if isinstance(node.value, str)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts += [(token.start[0], token.string) for token in tokens if token.type == tokenize.COMMENT]
    for line, text in texts:
        for match in PHRASE.finditer(text):
            around = text[max(0, match.start() - 40) : match.end() + 40]
            yield Finding(line, f"contains {match.group().strip('.:; ')!r}", around)


def shorten(docstring: str) -> str:
    """Return the start of a docstring on one line."""
    text = " ".join(docstring.split())
    return text if len(text) <= 90 else text[:87] + "..."


def package_of(path: Path) -> str:
    """Return the package below `calipers` that a file belongs to, or its own name if it belongs to none."""
    return path.relative_to(SOURCES).parts[0].removesuffix(".py")


def main(arguments: list[str] | None = None) -> int:
    """Print all findings. Return 1 if there are any."""
    parser = argparse.ArgumentParser(description="Report docstrings, messages and comments that are not plain English.")
    parser.add_argument("packages", nargs="*", help="packages or modules of calipers (default: all)")
    options = parser.parse_args(arguments)
    files: dict[str, list[Path]] = {}
    for path in sorted(SOURCES.rglob("*.py")):
        files.setdefault(package_of(path), []).append(path)
    for name in options.packages:
        if name not in files:
            parser.error(f"calipers has no package or module named {name!r}")
    found = 0
    for package in options.packages or files:
        for path in files[package]:
            for finding in findings(path.read_text(encoding="utf-8")):
                found += 1
                place = path.relative_to(SOURCES.parent.parent)
                print(f"{place}:{finding.line}: {finding.reason}: {finding.text}")
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
