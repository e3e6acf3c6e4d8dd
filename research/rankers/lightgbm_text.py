"""The text of a LightGBM model, checked: what reaches the library is written anew from what was understood here.

LightGBM reads its text without looking: a child, leaf or feature that is not there is read from wherever it points to,
and a node that is its own ancestor keeps it busy for ever. So every tree is taken apart first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

OBJECTIVES = ("lambdarank", "regression")
DECISIONS = (0, 2, 4, 6, 8, 10)  # numerical; go left or right without a value, which may be a zero or a NaN
DEEPEST = 10_000
_WHOLE = re.compile(r"-?\d{1,10}")
_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")

Fields = dict[str, str]


def checked(text: str) -> tuple[str, int]:
    """Return the same trees as text that LightGBM can read safely, and the number of features.

    Raise a ValueError if the text is not a model.
    """
    head, _, rest = text.partition("\n\n")
    lines = head.split("\n")
    header = _fields(lines[1:])
    features = _features(header)
    if lines[0] != "tree" or header.get("version") not in ("v3", "v4"):
        raise ValueError("not the text of a LightGBM model")
    if header.get("num_class") != "1" or header.get("num_tree_per_iteration") != "1":
        raise ValueError("more than one class")
    if header.get("objective") not in OBJECTIVES:
        raise ValueError(f"objective {header.get('objective', '')[:40]!r} is not one of {', '.join(OBJECTIVES)}")
    body, end, _ = rest.partition("end of trees")
    if not end:
        raise ValueError("the trees end too early")
    trees = [
        f"Tree={number}\n" + "".join(f"{key}={value}\n" for key, value in _tree(block, number, features)) + "\n\n"
        for number, block in enumerate(block for block in body.split("\n\n") if block.strip())
    ]
    wanted = [
        "tree",
        f"version={header['version']}",
        "num_class=1",
        "num_tree_per_iteration=1",
        "label_index=0",
        f"max_feature_idx={features - 1}",
        f"objective={header['objective']}",
        *(["average_output"] if "average_output" in header else []),
        "feature_names=" + " ".join(f"Column_{place}" for place in range(features)),
        "feature_infos=" + " ".join(["none"] * features),
        "tree_sizes=" + " ".join(str(len(tree)) for tree in trees),
    ]
    return "\n".join(wanted) + "\n\n" + "".join(trees) + "end of trees\n\npandas_categorical:null\n", features


def _fields(lines: list[str]) -> Fields:
    found: Fields = {}
    for line in lines:
        key, _, value = line.partition("=")
        if key in found:
            raise ValueError(f"'{key[:40]}' is there twice")
        found[key] = value
    return found


def _features(header: Fields) -> int:
    """Return the number of feature names, which the length of the text limits."""
    features = len(header.get("feature_names", "").split())
    if not features or header.get("max_feature_idx") != str(features - 1):
        raise ValueError(f"{features} names of features, and the last one is {header.get('max_feature_idx', '')[:20]}")
    return features


def _tree(block: str, number: int, features: int) -> Iterator[tuple[str, str]]:
    """Yield the fields of a tree that decide what it predicts."""
    lines = block.strip("\n").split("\n")
    if lines[0] != f"Tree={number}":
        raise ValueError(f"tree {number} begins with {lines[0][:40]!r}")
    fields = _fields(lines[1:])

    def refuse(why: str) -> ValueError:
        return ValueError(f"tree {number}: {why}")

    def numbers(key: str, count: int, pattern: re.Pattern[str]) -> NDArray[np.float64]:
        written = fields.get(key, "").split()
        if len(written) != count or not all(map(pattern.fullmatch, written)):
            raise refuse(f"{key} does not hold {count} numbers")
        found = np.array([float(each) for each in written])
        if not np.isfinite(found).all():
            raise refuse(f"{key} holds a number that is not finite")
        return found

    if fields.get("num_cat") != "0" or fields.get("is_linear", "0") != "0":
        raise refuse("categories or linear leaves, which are not read")
    leaves = int(numbers("num_leaves", 1, _WHOLE)[0])
    if leaves < 1:
        raise refuse("no leaf")
    numbers("leaf_value", leaves, _NUMBER)
    numbers("shrinkage", 1, _NUMBER)
    kept = ["num_leaves", "num_cat"]
    if leaves > 1:
        nodes = leaves - 1
        feature = numbers("split_feature", nodes, _WHOLE)
        if feature.min() < 0 or feature.max() >= features:
            raise refuse(f"a feature beyond the {features} of the model")
        numbers("threshold", nodes, _NUMBER)
        if not np.isin(numbers("decision_type", nodes, _WHOLE), DECISIONS).all():
            raise refuse("a decision of an unknown kind")
        child = np.stack([numbers("left_child", nodes, _WHOLE), numbers("right_child", nodes, _WHOLE)], axis=1)
        _check_shape(child.astype(np.int64), refuse)
        kept += ["split_feature", "threshold", "decision_type", "left_child", "right_child"]
    for key in (*kept, "leaf_value", "shrinkage"):
        yield key, fields[key]


def _check_shape(child: NDArray[np.int64], refuse: Callable[[str], ValueError]) -> None:
    """Check that every node but the first, and every leaf, has one parent, which comes before it."""
    nodes = len(child)
    hung = np.sort(child.ravel())
    wanted = np.concatenate([np.arange(-nodes - 1, 0), np.arange(1, nodes)])
    if len(hung) != len(wanted) or (hung != wanted).any():
        raise refuse("a node or a leaf that is not there, or is there twice")
    if ((child >= 0) & (child <= np.arange(nodes)[:, None])).any():
        raise refuse("a node below itself")
    depth = np.zeros(nodes, np.int64)
    for node, pair in enumerate(child.tolist()):
        for below in pair:
            if below > 0:
                depth[below] = depth[node] + 1
    if depth.max(initial=0) > DEEPEST:
        raise refuse("nested too deeply")
