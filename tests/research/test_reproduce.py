"""The printed figures: exactly those of MATH.md 6 come out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import calipers as cal
from calipers.errors import CalipersError
from calipers.evaluation.candidates import ScoredCandidates
from calipers.evaluation.evaluation import evaluate
from calipers.evaluation.inputs import as_judgments, as_runs
from calipers.lists import Floats, Ints
from calipers.questions.fuse.combine import judged_part
from calipers.questions.fuse.methods import METHODS as FUSING, Votes, condorcet_order
from calipers.questions.fuse.oracles import judged as with_grades, sorted_score
from calipers.questions.information.rankings import Rankings
from research.__main__ import root
from research.golbus2013 import groups as golbus2013_groups, surrogates as golbus2013_surrogates, tables as golbus2013
from research.golbus2013.fusion_study import FUSIONS, fused_score
from research.karmaker2022.rerun import COLLECTIONS, METHODS
from research.karmaker2022.tables import _pad_interval, averages_of
from research.printed_figures import VERDICTS, Figure, cut, decimals, judged
from research.readings import readings_of, search
from research.registry import ALIASES, Reproduction, listing, printed, reproductions

NONE = ("consistent", "repeated", "needs data")


def found(name: str) -> dict[str, tuple[str, float, str, str]]:
    """cell -> printed, computed, verdict, reason."""
    (one,) = reproductions(name)
    return {str(row[1]): row[2:] for row in one.table().rows}


PAD = {  # MATH.md 6: computed, verdict
    "karmaker2022/table-9": {
        "MSLR-WEB30K, nDCG, all": (29.780, "differs"),
        "MSLR-WEB30K, DCG-V1, all": (35.789, "exact"),
        "MSLR-WEB30K, DCG-V2, all": (46.720, "exact"),
        "MQ2007, nDCG, all": (1.7490, "exact"),
        "MQ2007, DCG-V1, all": (2.1101, "differs"),
        "MQ2007, DCG-V2, all": (6.4357, "within rounding"),
    },
    "karmaker2022/table-19": {
        "MSLR-WEB30K, MAP, all": (25.578, "exact"),
        "MSLR-WEB30K, MSP-V1, all": (31.842, "exact"),
        "MSLR-WEB30K, MSP-V2, all": (97.510, "within rounding"),
        "MQ2007, MAP, all": (5.9132, "exact"),
        "MQ2007, MSP-V1, all": (6.9619, "differs"),
        "MQ2007, MSP-V2, all": (20.0164, "exact"),
    },
}


@pytest.mark.parametrize(
    ("paper", "dissertation"),
    [("karmaker2022/table-9", "feng2023/table-6.8"), ("karmaker2022/table-19", "feng2023/table-7.8")],
)
def test_pad(paper: str, dissertation: str) -> None:
    for name in (paper, dissertation):
        cells = found(name)
        for cell, (value, verdict) in PAD[paper].items():
            assert cells[cell][1] == pytest.approx(value, abs=5.1e-4 if value > 10 else 5.1e-5)
            assert cells[cell][2] == verdict, cell
        assert {cells[cell][2] for cell in cells if not cell.endswith("all")} == {"needs data"}


def test_what_is_said_about_the_odd_ones() -> None:
    cells = found("karmaker2022/table-19")
    assert "97.389 with max as printed" in cells["MSLR-WEB30K, MSP-V2, all"][3]
    assert "ARank@15 read as 0.116; as printed 22.845" in cells["MQ2007, MSP-V2, all"][3]


@pytest.mark.parametrize(
    ("measure", "collection", "low", "high"),
    [("DCG-V2", "MQ2007", 6.414, 6.456), ("MSP-V1", "MQ2007", 6.941, 6.982), ("MSP-V2", "MSLR-WEB30K", 97.39, 97.64)],
)
def test_intervals_of_pad(measure: str, collection: str, low: float, high: float) -> None:
    assert _pad_interval(averages_of(measure, collection)) == pytest.approx(
        (low, high), abs=0.01 if low > 90 else 1.5e-3
    )


@pytest.mark.parametrize(
    "names", [("karmaker2022/table-6", "karmaker2022/table-16"), ("feng2023/table-6.5", "feng2023/table-7.5")]
)
def test_tau(names: tuple[str, str]) -> None:
    cells = {**found(names[0]), **found(names[1])}
    expected = {
        "MSLR-WEB30K, nDCG vs DCG-V1, all": 1,
        "MSLR-WEB30K, nDCG vs DCG-V2, all": 1,
        "MQ2007, nDCG vs DCG-V1, all": 1,
        "MQ2007, nDCG vs DCG-V2, all": 22 / 28,
        "MSLR-WEB30K, MAP vs MSP-V1, all": 1,
        "MSLR-WEB30K, MAP vs MSP-V2, all": 26 / 28,
        "MQ2007, MAP vs MSP-V1, all": 1,
        "MQ2007, MAP vs MSP-V2, all": 22 / 28,
    }
    for cell, value in expected.items():
        assert cells[cell][1] == pytest.approx(value)
        assert cells[cell][2] == "exact"
    others = {cell: row for cell, row in cells.items() if cell not in expected}
    impossible = [cell for cell, row in others.items() if row[2] == "impossible"]
    assert impossible == ["MQ2007, MAP vs MSP-V2, uninformative"], "0.624"
    assert "0.6429" in others[impossible[0]][3]
    assert {row[1:3] for cell, row in others.items() if cell not in impossible} == {(None, "consistent")}


@pytest.mark.parametrize(
    "names", [("karmaker2022/table-10", "karmaker2022/table-20"), ("feng2023/table-6.9", "feng2023/table-7.9")]
)
def test_swaps_across_collections(names: tuple[str, str]) -> None:
    cells = {**found(names[0]), **found(names[1])}
    expected = {
        "nDCG": (2, "differs"),
        "DCG-V1": (2, "differs"),
        "DCG-V2": (3, "exact"),
        "MAP": (7, "exact"),
        "MSP-V1": (7, "exact"),
        "MSP-V2": (5, "exact"),
    }
    for measure, (swaps, verdict) in expected.items():
        _, computed, said, reason, _ = cells[f"{measure}, all"]
        assert (round(computed * 28, 9), said) == (swaps, verdict)
        if said == "differs":
            assert reason.startswith("not under means over cutoffs; at k = "), reason
            assert "k = 15" in reason
            assert reason.endswith("the printed scores give exactly 0.107")
    assert {row[2] for cell, row in cells.items() if not cell.endswith("all")} == {"consistent"}


@pytest.mark.parametrize(
    "name",
    [
        "karmaker2022/table-11",
        "karmaker2022/table-21",
        "feng2023/table-6.10",
        "feng2023/table-7.10",
        "feng2023/table-6.11",
        "feng2023/table-7.11",
        "feng2023/table-7.12",
    ],
)
def test_all_other_swap_rates_are_steps_of_a_28th(name: str) -> None:
    assert {row[2] for row in found(name).values()} == {"consistent"}


def test_a_table_that_repeats_another() -> None:
    assert {row[2] for row in found("feng2023/table-6.12").values()} == {"differs"}


@pytest.mark.parametrize(
    "names", [("karmaker2022/table-7", "karmaker2022/table-17"), ("feng2023/table-6.6", "feng2023/table-7.6")]
)
def test_conflicts_against_significant_tests(names: tuple[str, str]) -> None:
    cells = {**found(names[0]), **found(names[1])}
    verdicts = [row[2] for row in cells.values()]
    assert len(cells) == 24
    assert verdicts.count("consistent") == 22
    assert cells["MQ2007, MAP vs MSP-V1, all"][2] == cells["MQ2007, MAP vs MSP-V2, all"][2] == "impossible"
    assert "disagree on the relative performance" in cells["MSLR-WEB30K, nDCG vs DCG-V2, uninformative"][3]


@pytest.mark.parametrize("paper", ["karmaker2022", "feng2023"])
def test_a_contradiction_between_two_tables_is_counted_once(paper: str) -> None:
    conflicts, power = ("table-17", "table-18") if paper == "karmaker2022" else ("table-7.6", "table-7.7")
    assert [row[2] for row in found(f"{paper}/{conflicts}").values()].count("impossible") == 2
    assert "impossible" not in [row[2] for row in found(f"{paper}/{power}").values()]
    assert [
        row[3] for row in found(f"{paper}/{power}").values() if row[3].endswith("counted in the table of conflicts")
    ]


def test_increases() -> None:
    for number in ("8.1", "8.2", "8.3"):
        cells = found(f"feng2023/table-{number}")
        assert {row[2] for cell, row in cells.items() if not cell.startswith("tau-b")} == {"exact"}
    assert [found(f"feng2023/table-{n}")["mean"][0] for n in ("8.1", "8.2", "8.3")] == ["160", "210", "-1.02"]
    rouge = found("feng2023/table-9.1")
    assert rouge["mean"][1:3] == (pytest.approx(0.7775), "exact")
    assert rouge["ROUGE V2, fluency"][1:3] == (None, "differs")


def test_claims() -> None:
    abstract = found("feng2023/abstract")
    assert [(row[0], row[2]) for row in abstract.values()] == [
        ("23", "exact"),
        ("19", "differs"),
        ("28", "exact"),
        ("26", "exact"),
    ]
    assert [round(row[1], 1) for row in abstract.values()] == [23.2, 16.1, 28.8, 26.1]
    text = found("karmaker2022/text")
    rounded = [row[0] for row in text.values() if row[2] == "within rounding"]
    assert rounded == ["26"], "36 of 140 is the one that is rounded"
    assert {row[2] for row in text.values()} == {"exact", "within rounding"}


def test_the_dissertation_repeats_the_papers_scores() -> None:
    for one in reproductions("feng2023"):
        if printed("feng2023").get(one.id.removeprefix("feng2023/"), {}).get("kind") == "scores":
            assert {row[4] for row in one.table().rows} == {"repeated"}, one.id


def test_orderings_are_safe_against_rounding() -> None:
    gaps = [
        np.diff(np.sort(averages_of(measure, collection))).min()
        for measure in ("nDCG", "DCG-V1", "DCG-V2", "MAP", "MSP-V1", "MSP-V2")
        for collection in COLLECTIONS
    ]
    assert min(gaps) > 1e-4


def test_every_table_gives_verdicts() -> None:
    names = [row[0] for row in listing().rows]
    assert {f"karmaker2022/table-{i}" for i in range(2, 22)} <= set(names)
    for one in reproductions():
        table = one.table()
        assert table.columns == ("table", "cell", "printed", "computed", "verdict", "reason", "reading")
        assert {row[4] for row in table.rows} <= set(VERDICTS)
        assert all(row[3] is not None or row[4] in (*NONE, "impossible", "differs") for row in table.rows)
        assert all(row[3] is None for row in table.rows if row[4] in ("repeated", "impossible", "needs data"))
        assert len({row[1] for row in table.rows}) == len(table.rows)


COUNTS = {  # without data: figures, then the verdicts in their order
    "busafekete2012": (34, {"exact": 15, "consistent": 3, "differs": 1, "needs data": 15}),
    "feng2023": (
        743,
        {
            "exact": 50,
            "within rounding": 10,
            "consistent": 92,
            "repeated": 480,
            "differs": 10,
            "impossible": 3,
            "needs data": 98,
        },
    ),
    "golbus2013": (71, {"needs data": 71}),
    "karmaker2022": (
        638,
        {"exact": 26, "within rounding": 3, "consistent": 83, "differs": 5, "impossible": 3, "needs data": 518},
    ),
    "moffat2013": (108, {"exact": 107, "within rounding": 1}),
}


def test_numbers_of_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line per paper, and the same numbers every time: a change of one of them is a change of what is claimed."""
    monkeypatch.delenv("CALIPERS_DATA", raising=False)
    shown = CliRunner().invoke(root, ["reproduce", "--format", "json"], standalone_mode=False)
    assert shown.exception is None
    rows = json.loads(shown.stdout)
    assert [row["paper"] for row in rows] == list(COUNTS)
    for row in rows:
        figures, counts = COUNTS[row["paper"]]
        assert {name: row[name] for name in VERDICTS if row[name]} == counts
        assert row["figures"] == figures == sum(counts.values())


def test_a_reading_that_was_searched_says_so() -> None:
    (pad,) = reproductions("karmaker2022/table-9")
    computed = [row for row in pad.table().rows if row[3] is not None]
    assert {row[6] for row in computed} == {
        "best of 8 readings; departs from the text: denominator absolute, slips mended"
    }
    assert {row[6] for row in pad.table().rows if row[3] is None} == {""}
    said = {each.id: each.reading for each in reproductions() if each.reading}
    assert said["golbus2013/table-3"].endswith("readings; departs from the text: cut none")
    assert "departs" not in said["golbus2013/table-2"]
    assert "karmaker2022/table-8" not in said, "the reading of the text, not a searched one"


def test_figures_are_cut_not_rounded() -> None:
    assert [judged("", *pair).verdict for pair in (("0.785", 0.78571), ("0.786", 0.78571), ("0.79", 0.78))] == [
        "exact",
        "within rounding",
        "differs",
    ]
    assert (decimals("31.000"), decimals("7"), cut(-0.0389, 3)) == (0, 0, -0.038)
    assert judged("", "-16", -16.67).verdict == "exact"
    assert [judged("", *pair, rounds=True).verdict for pair in (("0.785", 0.78571), ("0.786", 0.78571))] == [
        "within rounding",
        "exact",
    ]
    assert judged("", "0.71", 0.75, (0.69, 0.76), drawn=True).verdict == "within chance"


# -- from data -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both collections in small: what the papers did, on made-up documents and methods."""
    random = np.random.default_rng(6)
    top = tmp_path_factory.mktemp("letor")
    for collection in COLLECTIONS:
        path = top / collection
        path.mkdir()
        labels = random.choice(3, size=(40, 35), p=(0.3, 0.2, 0.5))
        (path / "judgments.txt").write_text(
            "".join(f"{label} qid:{q} 1:0\n" for q, row in enumerate(labels.tolist(), 1) for label in row)
        )
        for m, method in enumerate(METHODS):
            scores = labels + random.normal(size=labels.shape) * (4 - 0.4 * m)
            (path / f"{method}.txt").write_text("".join(f"{score!r}\n" for score in scores.ravel().tolist()))
    return top


@pytest.mark.parametrize(
    "name", [f"karmaker2022/table-{i}" for i in (2, 5, 6, 7, 8, 9, 10, 11, 15, 21)] + ["feng2023/table-7.11"]
)
def test_tables_run_on_a_folder_of_data(folder: Path, name: str) -> None:
    (one,) = reproductions(name)
    table = one.table(folder)
    assert {row[4] for row in table.rows} <= {"exact", "within rounding", "differs"}
    assert any(row[3] is not None for row in table.rows)


def test_folders_without_the_data(folder: Path, tmp_path: Path) -> None:
    (one,) = reproductions("karmaker2022/table-2")
    with pytest.raises(CalipersError, match="has neither of the collections; expected for each of MSLR-WEB30K"):
        one.table(tmp_path)
    with pytest.raises(CalipersError, match="no such directory"):
        one.table(tmp_path / "nowhere")
    (tmp_path / "MQ2007").mkdir()
    (three,) = reproductions("karmaker2022/table-3")
    with pytest.raises(CalipersError, match=r"there is no file \w+.txt; expected for each of"):
        three.table(tmp_path)
    assert {row[4] for row in one.table(tmp_path).rows} == {"needs data"}, "the other collection"


@pytest.mark.data
def test_table_2_of_the_information_paper_from_scores_alone(data: Path) -> None:
    (one,) = reproductions("golbus2013/table-2")
    rows = {row[1]: row for row in one.table(data / "scores").rows}
    assert rows["TREC 8, AP"][4] in ("exact", "within rounding", "within chance")
    assert rows["TREC 8, AP"][3] == pytest.approx(0.716, abs=0.004)
    assert "10 seeds" in str(rows["TREC 8, AP"][5])
    assert rows["TREC 9, AP"][4] == "needs data"


# -- readings --------------------------------------------------------------------------------------------------------


def test_a_grid_of_readings_goes_on_where_it_was_stopped(tmp_path: Path) -> None:
    axes = {"plus": ("0", "1"), "times": ("1", "2", "3")}
    computed: list[dict[str, str]] = []

    def check(folder: Path | None, reading: Mapping[str, str]) -> list[Figure]:
        computed.append(dict(reading))
        if len(computed) == 4:
            raise KeyboardInterrupt
        value = (5 + int(reading["plus"])) * int(reading["times"])
        return [judged("a", "12", value, rounds=True), judged("b", "10", value, rounds=True)]

    with pytest.raises(KeyboardInterrupt):
        search("paper/table-1", axes, check, None, tmp_path)
    with open(tmp_path / "paper-table-1.jsonl", "a", encoding="utf-8") as file:
        file.write('{"reading": {"plus"')  # stopped in the middle of a line
    found = search("paper/table-1", axes, check, None, tmp_path)
    assert len(computed) == 4 + 3
    assert found.best in ({"plus": "0", "times": "2"}, {"plus": "1", "times": "2"})
    assert found.table().rows[0][2:6] == (1, 0, 0, 2)
    assert [row[3:5] for row in found.cells().rows] == [(1, 6), (1, 6)]
    assert search("paper/table-1", axes, check, None, tmp_path).figures == found.figures
    assert len(computed) == 7, "all of it is known"
    search("paper/table-1", {**axes, "minus": ("0",)}, check, None, tmp_path)
    assert len(computed) == 13, "other axes are another search"


def test_the_best_readings_are_among_those_that_are_searched() -> None:
    with_grid = [each for each in reproductions() if each.under is not None]
    assert {each.id for each in with_grid} >= {
        f"golbus2013/{name}" for name in ("table-2", "table-3", "table-4", "figure-2")
    }
    for number in (12, 13, 14, 15, 16, 17, 18, 19, 20, 21):
        (one,) = reproductions(f"karmaker2022/table-{number}")
        assert one.axes["normaliser"] == ("k", "R", "min(R, k)", "found")
    assert {each.id.split("/")[0] for each in with_grid} == {"golbus2013", "karmaker2022", "feng2023"}


@pytest.mark.data
def test_table_4_of_the_information_paper(data: Path) -> None:
    """All information differences come out without the cut, all differences in AP at depth 100."""
    (one,) = reproductions("004/table-4")
    rows = {str(row[1]): row for row in one.table(data).rows}
    assert rows["UB99T, UB99SW: id"][0] == "004/table-4"
    assert {row[4] for cell, row in rows.items() if cell.endswith((": id", "|delta AP|"))} == {"exact"}
    ranks = [row[3] for cell, row in rows.items() if cell.endswith("rank")]
    assert ranks == [1, 2, 3, 4, 5, 27, 29, 30, 31, 32], "printed: 28 for 27"
    (five,) = reproductions("golbus2013/figure-5")
    assert five.table(data).rows[0][3] == pytest.approx(0.86, abs=0.02)


@pytest.mark.data
def test_table_2_and_figure_2_of_the_information_paper(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure on TREC 8 and 9; two seeds of the bootstrap, which moves the power by less than 0.01."""
    monkeypatch.setattr(golbus2013, "SEEDS", range(42, 44))
    (two,) = reproductions("golbus2013/table-2")
    rows = {str(row[1]): row for row in two.table(data).rows}
    assert len(rows) == 6
    assert all(abs(float(row[2]) - row[3]) < 0.012 for row in rows.values())
    assert rows["TREC 8, AP"][4] != "differs"
    (figure,) = reproductions("golbus2013/figure-2")
    cells = {str(row[1]): row for row in figure.table(data).rows}
    assert (cells["smallest tau, top ten"][3], cells["smallest tau, top ten"][4]) == (pytest.approx(29 / 45), "exact")
    assert {row[4] for cell, row in cells.items() if cell.endswith("all systems") and cell.startswith("tau")} == {
        "consistent"
    }
    assert cells["smallest tau, all systems"][3] > 0.799
    assert {row[4] for row in cells.values()} <= {"exact", "within rounding", "differs", "consistent"}


@pytest.mark.data
def test_table_3_and_figure_3_of_the_information_paper(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three groups of ten of twelve systems: too few for a correlation, enough to see where the joint value lies."""
    whole = golbus2013.collection(data, "TREC 8")
    assert whole is not None
    known = golbus2013.Collection(whole.folder, whole.judgments, whole.runs[::11])
    drawn = golbus2013.drawn_groups(known, golbus2013.BEST_3, 3)
    assert np.abs(drawn.joint - drawn.ric["naive"]).max() < 0.06, "not cut, the joint value is close to naive"
    cut = golbus2013.drawn_groups(known, {**golbus2013.BEST_3, "cut": "last relevant"}, 3)
    assert (cut.ric["naive"] - cut.joint > 0.1).all(), "cut, it is far below"
    assert (drawn.null > 0.4).all()
    assert (drawn.corrected < drawn.joint).all()
    assert (drawn.ric["pareto"] > drawn.ric["majoritarian"]).all()
    monkeypatch.setattr(golbus2013, "collection", lambda folder, name: known)
    verdicts = {row.cell: row.verdict for row in golbus2013.table_3(data, golbus2013.BEST_3, 3)}
    assert len(verdicts) == 18
    assert set(verdicts.values()) <= {"exact", "within rounding", "within chance", "differs"}
    assert {row.verdict for row in golbus2013.figure_3(data, 3)} <= {"consistent", "differs"}


@pytest.mark.data
def test_groups_are_kept_in_a_folder(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done is read again, also by who asks for fewer; and what is drawn by steps is what is drawn at once."""
    whole = golbus2013.collection(data, "TREC 8")
    assert whole is not None
    monkeypatch.setattr(golbus2013, "STEP", 2)
    shown, fusion = golbus2013.shown_under(golbus2013.BEST_3), golbus2013.fusions_under(golbus2013.BEST_3)[0]

    def drawn(samples: int, cache: Path | None) -> list[float]:
        known = golbus2013.Collection(whole.folder, whole.judgments, whole.runs[::11])
        golbus2013.fuse_in_steps(known, golbus2013.BEST_3, samples, cache)
        return [*known.joint[samples, shown.cut], *known.fused[fusion, shown, samples]]

    first = drawn(5, tmp_path)
    assert len((tmp_path / "golbus2013-groups.jsonl").read_text().splitlines()) == 3, (
        "a header, and two steps that are full"
    )
    monkeypatch.setattr(golbus2013, "rics_of_groups", None)
    assert drawn(4, tmp_path) == [*first[:4], *first[5:9]]


def test_groups_are_dealt() -> None:
    """Of every deal each system is in one group at most, so over many groups in about as many as any other."""
    groups = golbus2013_groups.dealt_groups(25, 40, 10, 1)
    assert groups.shape == (40, 10)
    for pair in groups.reshape(20, 20).tolist():
        assert len(set(pair)) == 20
    times = np.bincount(groups.ravel(), minlength=25)
    assert times.max() - times.min() <= 8 < np.ptp(np.bincount(np.random.default_rng(1).integers(0, 25, 400)))
    assert (golbus2013_groups.dealt_groups(25, 7, 10, 1) == groups[:7]).all()


def test_standard_errors_of_agreement() -> None:
    """What the jackknife says against how far apart the figures of 300 samples are."""
    draw = np.random.default_rng(5)
    x = draw.normal(size=(300, 60))
    y = 0.7 * x + draw.normal(size=x.shape)
    spread = np.std([golbus2013_groups.agreement(*both) for both in zip(x, y, strict=True)], axis=0)
    for block in (golbus2013_groups.scattered_blocks(60), golbus2013_groups.blocks_of_deals(60, 3)):
        said = [golbus2013_groups.errors_of_agreement(*both, block) for both in zip(x[:8], y[:8], strict=True)]
        assert np.mean(said, axis=0) == pytest.approx(spread, rel=0.2)


def test_groups_that_are_dealt_have_smaller_errors() -> None:
    """Systems add up: what the groups of a deal have in common cancels out, and blocks of whole deals say so."""
    draw = np.random.default_rng(3)
    worth = draw.normal(size=(2, 120))
    means = []
    for seed in range(30):
        groups = golbus2013_groups.dealt_groups(120, 480, 10, seed)
        joint, ric = 5 + worth[0][groups].mean(axis=1), worth[1][groups].mean(axis=1)
        means.append(golbus2013_groups.agreement(joint, ric)[2])
    blocks = golbus2013_groups.blocks_of_deals(480, 12), golbus2013_groups.scattered_blocks(480)
    dealt, alone = (golbus2013_groups.errors_of_agreement(joint, ric, block)[2] for block in blocks)
    assert dealt < alone / 3
    assert dealt == pytest.approx(np.std(means), rel=0.5)


@pytest.mark.parametrize("most", [1, 3])
def test_ric_of_groups_is_the_measure(most: int) -> None:
    """RIC that is counted from the order of fused lists, against the measure: ties, short lists, grades, both cuts."""
    draw = np.random.default_rng(most)
    names = [f"d{i}" for i in range(30)]
    qrels = {f"q{q}": {d: int(draw.integers(-1, most + 1)) for d in draw.permutation(names)[:22]} for q in range(4)}
    runs = {
        f"s{s}": {
            q: {d: float(draw.integers(0, 9)) for d in draw.permutation(names)[:12]} for q in [*qrels][: 4 - s % 2]
        }
        for s in range(12)
    }
    known = as_judgments(qrels)
    whole = with_grades(ScoredCandidates.of(as_runs(runs)), known)
    scored = {
        "kept": golbus2013_groups.numbered_by_id(whole),
        "left out": golbus2013_groups.numbered_by_id(whole.only_judged()),
    }
    readings = readings_of(golbus2013.TABLE_3)
    fusions = list(dict.fromkeys(golbus2013.fusion_under(name, each) for each in readings for name in FUSIONS))
    shown = [golbus2013_groups.ShownRanks(length, cut) for length in (None, 9) for cut in (0, 1)]
    groups = golbus2013_groups.dealt_groups(12, 3, 4, 1)
    found = golbus2013_groups.rics_of_groups(scored, known.pool, fusions, groups, shown)
    assert len(found) == 4 * len(fusions) == 4 * 50
    for number, group in enumerate(groups.tolist()):
        scores = {fusion: slow_score(whole, group, fusion) for fusion in fusions}
        lists = [(fusion, length) for fusion in fusions for length in (None, 9)]
        made = [judged_part(*scores[fusion], known, length, f"{i}") for i, (fusion, length) in enumerate(lists)]
        wanted = evaluate(known, made, ["RIC(rel=0)", "RIC(rel=1)"], empty="skip", warn=False).values
        for rel, i in product((0, 1), range(len(lists))):
            fusion, length = lists[i]
            value = found[fusion, golbus2013_groups.ShownRanks(length, rel)][number]
            assert value == pytest.approx(np.nanmean(wanted[rel, i]), abs=1e-9), (fusion, length, rel)


def test_what_a_group_finds_is_naive() -> None:
    """RIC from the numbers of documents that are found, against that of naive's lists; whole and short ones."""
    draw = np.random.default_rng(9)
    names = [f"d{i}" for i in range(90)]
    qrels = {f"q{q}": {d: int(draw.random() < 0.2) for d in draw.permutation(names)[:70]} for q in range(3)}
    runs = {f"s{s}": {q: {d: draw.random() for d in draw.permutation(names)[:20]} for q in qrels} for s in range(9)}
    known = as_judgments(qrels)
    scored = golbus2013_groups.numbered_by_id(with_grades(ScoredCandidates.of(as_runs(runs)), known).only_judged())
    naive = golbus2013_groups.PaperFusion("naive", "", "", "left out")
    groups = golbus2013_groups.dealt_groups(9, 6, 4, 1)
    rankings = Rankings.of(known, runs, 0, "docid")
    for length in (None, 25):
        shown = golbus2013_groups.ShownRanks(length, 0)
        wanted = golbus2013_groups.rics_of_groups({"left out": scored}, known.pool, [naive], groups, [shown])
        features = golbus2013_surrogates.GroupFeatures.of(rankings, np.arange(9.0), length)
        assert features.found_by(groups) == pytest.approx(wanted[naive, shown], abs=1e-12)


def test_predictions_make_figures_more_precise(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 10,626 groups of four of 24 systems: refined figures of some are near those of all, as far as they say."""
    monkeypatch.setattr(golbus2013_surrogates, "CHUNK", 3000)
    monkeypatch.setattr(golbus2013_surrogates, "PREDICTED", 60)
    draw = np.random.default_rng(4)
    found = draw.integers(0, 2**63, (24, 2), np.uint64) & draw.integers(0, 2**63, (24, 2), np.uint64)
    query = golbus2013_surrogates.FoundDocuments(found[:, :1], found[:, 1:], 64, 64)
    features = golbus2013_surrogates.GroupFeatures(24, draw.permutation(24), (query,), None)
    worth, together = draw.normal(size=(3, 24)), draw.normal(size=(3, 24, 24))

    def values_of(groups: Ints) -> Floats:
        """Three columns: what the members are worth, what each two are, and something that nothing predicts."""
        one, other = np.triu_indices(4, 1)
        pairs = together[:, groups[:, one], groups[:, other]].sum(axis=2)
        noise = np.sin(1e3 * worth[:, groups].prod(axis=2))
        return (worth[:, groups].sum(axis=2) + 0.3 * pairs + 0.2 * noise + 5 * features.found_by(groups)).T

    whole = values_of(np.array(list(combinations(range(24), 4))))
    groups = golbus2013_groups.dealt_groups(24, 1200, 4, 2)
    values = values_of(groups)
    better = golbus2013_surrogates.refined(features, groups, values, 7)
    for i in (1, 2):
        truth = np.array(golbus2013_groups.agreement(whole[:, 0], whole[:, i]))
        blocks = golbus2013_groups.blocks_of_deals(1200, 6)
        plain_error = np.array(golbus2013_groups.errors_of_agreement(values[:, 0], values[:, i], blocks))
        assert (np.abs(better.value[i - 1] - truth) < 4 * better.error[i - 1]).all()
        assert (better.error[i - 1, :2] < plain_error[:2] / 2).all()
    assert better.predicted == 72_000


def slow_score(
    whole: ScoredCandidates, group: list[int], fusion: golbus2013_groups.PaperFusion
) -> tuple[ScoredCandidates, Floats]:
    """Return the entries of a group and the score that `fuse` and its oracles would give."""
    part = (whole if fusion.unjudged == "kept" else whole.only_judged()).only(group)
    ones = np.ones(len(group))
    start = None
    if fusion.how == "ids":
        start = part.ordered(np.zeros(len(part)))
    elif fusion.how == "borda":
        start = part.ordered(FUSING["borda"].fuse(Votes(part, ones, "minmax")))
    if fusion.name == "condorcet":
        assert start is not None
        return part, condorcet_order(part, ones, start)
    if fusion.votes:
        return part, sorted_score(part, fusion.name, start, fusion.votes)
    return part, fused_score(part, fusion.name, fusion.how, "sort")


@pytest.mark.data
def test_what_needs_the_web_tracks(data: Path) -> None:
    for name in ("table-1", "figure-1"):
        (one,) = reproductions(f"golbus2013/{name}")
        assert {row[4] for row in one.table(data).rows} == {"needs data"}


@pytest.mark.data
@pytest.mark.skipif(os.environ.get("CALIPERS_SWEEP") != "1", reason="minutes of processor time: CALIPERS_SWEEP=1")
@pytest.mark.parametrize("name", ["table-2", "table-3", "table-4", "figure-2", "figure-3", "figure-5"])
def test_all_of_the_information_paper(name: str, data: Path) -> None:
    """Every printed figure has a verdict on the real data, and of each table at least a third comes out.

    The third is the bound that this test had when it was first written. Figure 5 fails it, and is known to: its one
    claim, that information difference and |delta AP| are not highly correlated, does not hold.

    CALIPERS_SWEEP_CACHE: a folder for the groups of systems, as for --cache.
    """
    (one,) = reproductions(f"golbus2013/{name}")
    verdicts = [row[4] for row in one.table(data, cache=os.environ.get("CALIPERS_SWEEP_CACHE")).rows]
    assert set(verdicts) <= {"exact", "within rounding", "differs", "consistent"}
    if name == "figure-5":
        assert verdicts == ["differs"]
    else:
        assert sum(verdict != "differs" for verdict in verdicts) >= len(verdicts) / 3


# -- Golbus & Aslam (2013), tables 1 and 4 -----------------------------------------------------------------------


def test_tables_1_and_4_from_a_folder(tmp_path: Path) -> None:
    one, four = reproductions("golbus2013/table-1", "golbus2013/table-4")
    assert {row[4] for table in (one.table(), four.table()) for row in table.rows} == {"needs data"}
    draw = np.random.default_rng(2)
    place = tmp_path / "web2010"
    place.mkdir()
    matrices = {name: draw.random((6, 9)) for name in ("ERR-IA", "alpha-nDCG", "D#-nDCG", "ERR", "nDCG")}
    for name, matrix in matrices.items():
        lines = [",".join(map(repr, row)) for row in matrix.tolist()]
        (place / f"{name}.csv").write_text("\n".join([",".join(f"s{i}" for i in range(9)), *lines]) + "\n")
    rows = {str(row[1]): row for row in one.table(tmp_path).rows}
    x, y, *conditions = (matrices[name] for name in ("ERR-IA", "D#-nDCG", "nDCG", "ERR"))
    wanted = np.mean([cal.questions.information.tau_between(x[q], y[q], [z[q] for z in conditions]) for q in range(6)])
    assert rows["TREC 2010, ERR-IA ; D#-nDCG | nDCG, ERR"][3] == pytest.approx(wanted)
    assert rows["TREC 2011, ERR-IA ; D#-nDCG"][4] == "needs data"
    eight = tmp_path / "trec/trec8-adhoc"
    (eight / "runs").mkdir(parents=True)
    made = cal.simulate(topics=6, pool=40, systems=2, retrieved=60)
    qrels, runs = made.write(tmp_path / "simulated")
    (eight / "qrels.txt").write_text(Path(qrels).read_text(encoding="utf-8"))
    for name, run in zip(("UB99T", "UB99SW"), runs, strict=True):
        lines = [[*line.split()[:5], name] for line in Path(run).read_text(encoding="utf-8").splitlines()]
        (eight / "runs" / name).write_text("".join(" ".join(line) + "\n" for line in lines))
    rows = {str(row[1]): row for row in four.table(tmp_path).rows}
    found = cal.questions.information.difference(
        cal.Experiment(eight / "qrels.txt", sorted((eight / "runs").iterdir(), reverse=True)), rel=0
    )
    assert rows["UB99T, UB99SW: id"][3] == pytest.approx(found.matrix[0, 1])
    assert rows["isa25t, cirtc82: id"][4] == "needs data"
    assert rows["first pairs of one group"][4] == "needs data"


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALIPERS_DATA", raising=False)
    runner = CliRunner()
    listed = runner.invoke(root, ["reproduce", "--list"], standalone_mode=False)
    assert "karmaker2022/table-9" in listed.stdout
    shown = runner.invoke(root, ["reproduce", "karmaker2022/table-9", "--format", "json"], standalone_mode=False)
    assert shown.exception is None
    first = json.loads(shown.stdout)[0]
    assert (first["printed"], first["verdict"]) == ("31", "differs")
    assert "18 figures: 3 exact, 1 within rounding, 2 differs, 12 needs data" in shown.stderr
    assert "--data FOLDER: for each of MSLR-WEB30K" in shown.stderr
    both = runner.invoke(root, ["reproduce", "karmaker2022", "feng2023", "--format", "csv"], standalone_mode=False)
    assert both.stdout.count("\n") > 1000
    for arguments, message in (
        (("karmaker2022/table-99",), "nothing to reproduce is called 'karmaker2022/table-99'"),
        (("karmaker2022/text", "--grid"), "no reading to search"),
        (("karmaker2022/table-10", "--grid"), "needs the data"),
        (("karmaker2022/table-9", "--cells"), "are for --grid"),
        (("golbus2013/table-4", "--grid"), "needs the data"),
        (("golbus2013/table-4", "--groups", "24"), "which draw groups"),
        (("golbus2013/table-4", "--cache", "done"), "--cache also for"),
        (("golbus2013/table-3", "--groups", "24", "--grid"), "without --grid"),
    ):
        assert message in str(runner.invoke(root, ["reproduce", *arguments], standalone_mode=False).exception)


def test_the_grid_as_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CALIPERS_DATA", raising=False)
    ask = ["reproduce", "karmaker2022/table-19", "--grid", "--cache", str(tmp_path / "done"), "--format", "json"]
    found = CliRunner().invoke(root, ask, standalone_mode=False)
    assert found.exception is None
    rows = json.loads(found.stdout)
    assert len(rows) == 8 * 4
    assert rows[0]["reading"] == "denominator absolute, scores means over cutoffs, slips mended, normaliser k"
    assert (tmp_path / "done/karmaker2022-table-19.jsonl").exists()
    cells = json.loads(CliRunner().invoke(root, [*ask, "--cells"], standalone_mode=False).stdout)
    giving = {row["cell"]: row["readings that give it"] for row in cells}
    assert giving["MQ2007, MSP-V1, all"] == 0
    assert giving["MQ2007, MSP-V2, all"] > 0


def test_readings_that_only_data_tells_apart(folder: Path) -> None:
    """The test, and how queries are chosen, of the tables on significance; without data the others are searched."""
    (one,) = reproductions("karmaker2022/table-8")
    found = one.grid(folder)
    assert len(found.readings) == 4
    of_test = {
        reading["test"]: [f.computed for f in figures]
        for reading, figures in zip(found.readings, found.figures, strict=True)
    }
    assert of_test["t"] != of_test["bootstrap"]
    ask = ["reproduce", "karmaker2022/table-8", "karmaker2022/table-9", "--grid", "--format", "json"]
    both = CliRunner().invoke(root, ask, standalone_mode=False)
    assert {row["table"] for row in json.loads(both.stdout)} == {"karmaker2022/table-9"}
    assert "1 table left out" in both.stderr


def test_numbers_are_other_names() -> None:
    for number, paper in ALIASES.items():
        old, new = reproductions(number), reproductions(paper)
        assert [each.id for each in old] == [each.id.replace(paper, number) for each in new] != []
    assert [each.id for each in reproductions("000/table-1?", "karmaker2022/table-10")] == [
        f"000/table-{n}" for n in range(10, 20)
    ]
    (one,) = reproductions("000/table-9")
    assert one.table().rows[0][0] == "000/table-9"


def test_others_can_add_to_the_list() -> None:
    from research import registry

    registry.reproduction("999/table-1", "made up")(lambda folder: [Figure("a", "1", 1.0, "exact")])
    try:
        (one,) = reproductions("999/*")
        assert isinstance(one, Reproduction)
        assert one.table().rows == (("999/table-1", "a", "1", 1.0, "exact", "", ""),)
    finally:
        del registry._FOUND["999/table-1"]


# -- Moffat (2013) and Busa-Fekete et al. (2012) ---------------------------------------------------------------------


def test_moffat() -> None:
    table = found("moffat2013/table-2")
    assert len(table) == 91
    assert {row[2] for row in table.values()} == {"exact"}
    assert table["RBP, monotone"][:2] == ("Yes a", "Yes a")
    text = found("moffat2013/text")
    assert [cell for cell, row in text.items() if row[2] != "exact"] == ["SN-DCG@5 of 10100"], "rounded"


def test_tools_of_busa_fekete() -> None:
    """The script of LETOR 3.0 counts 0 for lists shorter than the cutoff, as that of LETOR 4.0 does."""
    cells = found("busafekete2012/tools")
    assert [cell for cell, row in cells.items() if row[2] == "differs"] == ["LETOR 3.0, a list of 3 documents"]
    assert {cell for cell, row in cells.items() if row[2] == "consistent"} == {
        f"{tool}, a list of 12 documents" for tool in ("LETOR 3.0", "LETOR 4.0", "MS")
    }, "they have another discount"


def test_figures_of_busa_fekete_from_the_tables_of_a_study(tmp_path: Path) -> None:
    tables = tmp_path / "conventions/tables"
    tables.mkdir(parents=True)
    rankers = ("coordinateascent", "ranksvm", "lambdamart", "rankboost", "ranknet", "adarank")
    rows = ["ranker,trained,evaluated,cutoff,nDCG,error"]
    for place, ranker in enumerate(rankers):
        for cutoff in (8, 9, 10):
            for evaluated, value in (("definition", 0.5), ("yahoo", 0.75), ("letor4", 0.45 if cutoff == 8 else 0.25)):
                rows.append(f"{ranker},definition,{evaluated},{cutoff},{value - place / 1000},0.01")
    (tables / "curves.csv").write_text("\n".join(rows) + "\n")
    changes = [f"{ranker},{trained},-0.03,0.01,0.003,0" for ranker in rankers for trained in ("yahoo", "letor4")]
    (tables / "training.csv").write_text(
        "\n".join(["ranker,trained,difference to definition,error,p,same models", *changes]) + "\n"
    )
    (tmp_path / "letor/MQ2008").mkdir(parents=True)
    for number, labels in enumerate(((1, 0), (0, 0), (2, 1), (0, 1)), 1):
        lines = "".join(f"{label} qid:{number} 1:0\n" for label in labels)
        (tmp_path / f"letor/MQ2008/S{number}.txt").write_text(lines)
    one, two = reproductions("busafekete2012/figure-1", "busafekete2012/figure-2")
    first = {str(row[1]): row for row in one.table(tmp_path).rows}
    assert first["YAHOO above the definition, on average"][3:5] == (0.25, "consistent")
    verdicts = [first[f"LETOR below the definition at cutoff {k}"][4] for k in (8, 9, 10)]
    assert verdicts == ["differs", "consistent", "consistent"]
    assert first["adarank, trained under LETOR"][3:5] == (-0.03, "consistent")
    assert first["ranknet, trained under LETOR"][4] == first["adarank, trained under YAHOO"][4] == "differs"
    second = {str(row[1]): row[4] for row in two.table(tmp_path).rows}
    assert [*second.values()] == ["consistent"] * 3 + ["differs"] * 2
