"""A small synthetic collection of answers, for demonstrations: questions, passages, answers, and judgments of people.

Each question asks about an invented museum, of which five facts are known. One passage states each fact; passages about
other museums are not relevant. A system retrieves some passages and states the facts that it found in them, some of
them vaguely or wrongly. The judgments follow from the statements: nuggets are the facts, and a citation supports its
statement if the cited passage states that fact.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from calipers.measures.random_rankings import SEED

NAMES = ("Aldra", "Bervik", "Corvan", "Delmar", "Elsin", "Farrow", "Gedling", "Hovde", "Istra", "Jarlow")
KINDS = ("Maritime", "Clock", "Glass", "Railway")
TOWNS = ("Velm", "Oster Bay", "Lindau Hill", "Port Amity", "Krems Ford", "Sandvig")
ARCHITECTS = ("Ida Korn", "Tomas Reyl", "Nora Bishop", "Emil Sand", "Ruth Avery")
ASSIGNMENTS = ("not_support", "partial_support", "support")  # of nuggets: by half points of support
MISTAKES, TOO_KIND = 0.25, 0.75  # of the simulated language model: share of labels, and of mistakes
SUPPORT = ("none", "partial", "full")  # of citations


@dataclass(frozen=True)
class SimulatedSystem:
    """Quality of a simulated system."""

    recall: float  # chance that a relevant passage is retrieved
    distractors: int  # passages about other museums that it retrieves
    errors: float  # chance that a statement is wrong; as often, it is vague
    cites: float  # chance that a statement has a citation


SYSTEMS = {
    "strong": SimulatedSystem(recall=0.9, distractors=1, errors=0.05, cites=0.95),
    "fair": SimulatedSystem(recall=0.7, distractors=3, errors=0.12, cites=0.8),
    "careless": SimulatedSystem(recall=0.75, distractors=2, errors=0.25, cites=0.7),
    "weak": SimulatedSystem(recall=0.4, distractors=5, errors=0.2, cites=0.6),
}


@dataclass(frozen=True)
class Fact:
    """A fact about a museum, as a wrong, a vague and a true statement."""

    passage: str  # id of the passage that states it
    statements: tuple[str, ...]  # wrong, vague, true
    importance: str

    @property
    def text(self) -> str:
        """The true statement."""
        return self.statements[-1]


def write_answers(folder: str | os.PathLike[str], *, questions: int = 40, seed: int = SEED) -> tuple[Path, Path]:
    """Write synthetic answers: `answers.jsonl`, judged by people, and `llm.jsonl`, judged by a language model.

    Both files have the same answers of four systems. Three of four mistakes of the model are too kind. Returns both
    paths.

    >>> import tempfile
    >>> people, model = write_answers(tempfile.mkdtemp(), questions=2)
    >>> people.name, len(people.read_text().splitlines())
    ('answers.jsonl', 8)
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(seed)
    museums = {f"q{number + 1}": _museum(number, random) for number in range(questions)}
    rows = [_answer(query, museums, name, system, random) for query in museums for name, system in SYSTEMS.items()]
    people, model = folder / "answers.jsonl", folder / "llm.jsonl"
    for path, given in ((people, rows), (model, [_judged_by_model(row, random) for row in rows])):
        path.write_text("".join(json.dumps(row) + "\n" for row in given), encoding="utf-8")
    return people, model


def _museum(number: int, random: np.random.Generator) -> tuple[str, list[Fact]]:
    """Return the name of a museum and its facts."""
    name = f"{NAMES[number % len(NAMES)]} {KINDS[number // len(NAMES) % len(KINDS)]} Museum"
    towns, people = random.permutation(TOWNS)[:2], random.permutation(ARCHITECTS)[:2]
    years, rooms = random.choice(np.arange(1840, 1960), 2, replace=False), random.choice(np.arange(8, 60), 2, False)
    shows = random.permutation(("model ships", "old maps", "tower clocks", "steam engines", "stained glass"))[:2]
    templates = (
        (f"The {name} is in {{}}.", towns, "a town", "vital"),
        (f"The {name} was founded in {{}}.", years, "a year before 1960", "vital"),
        (f"The {name} was designed by {{}}.", people, "an architect", "vital"),
        (f"The {name} has {{}} rooms.", rooms, "several", "okay"),
        (f"The {name} is known for its {{}}.", shows, "collections", "okay"),
    )
    facts = [
        Fact(f"d{number + 1}-{place}", tuple(text.format(each) for each in (values[1], vague, values[0])), importance)
        for place, (text, values, vague, importance) in enumerate(templates, 1)
    ]
    return name, facts


def _answer(
    query: str,
    museums: dict[str, tuple[str, list[Fact]]],
    system: str,
    quality: SimulatedSystem,
    random: np.random.Generator,
) -> dict[str, Any]:
    """Return the answer of one system to one question, as a row of JSON lines."""
    name, facts = museums[query]
    found = [fact for fact in facts if random.random() < quality.recall]
    others = [fact for other, (_, known) in museums.items() if other != query for fact in known]
    places = random.choice(len(others), quality.distractors, replace=False).tolist()
    retrieved = [*found, *(others[place] for place in places)]
    # Relevant passages tend to stand above the others.
    order = np.argsort([random.random() + (0 if fact in found else 0.4) for fact in retrieved])
    retrieved = [retrieved[place] for place in order.tolist()]
    chances = (quality.errors, quality.errors, 1 - 2 * quality.errors)  # of wrong, vague and true statements
    stated = {fact: int(random.choice(3, p=chances)) for fact in found}
    statements: list[dict[str, Any]] = [
        {
            "text": fact.statements[how],
            "citations": [{"document": fact.passage, "support": SUPPORT[how]}] * (random.random() < quality.cites),
        }
        for fact, how in stated.items()
    ]
    share = sum(stated.values()) / (2 * len(facts))
    faithful = sum(stated.values()) / (2 * len(found)) if found else 0.0
    return {
        "id": query,
        "system": system,
        "question": f"Where is the {name}, when was it founded, who designed it, and what is there to see?",
        "answer": " ".join(each["text"] for each in statements) or "I do not know.",
        "references": [" ".join(fact.text for fact in facts)],
        "retrieved": [fact.passage for fact in retrieved],
        "passages": [fact.text for fact in retrieved],
        "relevant": {fact.passage: 2 if fact.importance == "vital" else 1 for fact in facts},
        "nuggets": [
            {"text": fact.text, "importance": fact.importance, "assignment": ASSIGNMENTS[stated.get(fact, 0)]}
            for fact in facts
        ],
        "statements": statements,
        "human": {"helpfulness": int(np.clip(round(1 + 4 * share + random.normal(0, 0.5)), 1, 5))},
        "scores": {"faithfulness": round(float(np.clip(faithful + random.normal(0, 0.1), 0, 1)), 3)},
    }


def _judged_by_model(row: dict[str, Any], random: np.random.Generator) -> dict[str, Any]:
    """Return an answer with the labels of a simulated language model."""

    def label(given: str, known: tuple[str, ...]) -> str:
        if random.random() >= MISTAKES:
            return given
        step = 1 if random.random() < TOO_KIND else -1
        return known[int(np.clip(known.index(given) + step, 0, 2))]

    nuggets = [{**each, "assignment": label(each["assignment"], ASSIGNMENTS)} for each in row["nuggets"]]
    statements = [
        {**each, "citations": [{**cited, "support": label(cited["support"], SUPPORT)} for cited in each["citations"]]}
        for each in row["statements"]
    ]
    return {**row, "nuggets": nuggets, "statements": statements}
