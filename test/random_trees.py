"""Random decision trees as attributes of the operators of ai.onnx.ml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Leaf = Sequence[tuple[int, float]]


@dataclass
class RandomTrees:
    """Trees drawn with a seed: node attributes as lists, and the targets and weights of leaves."""

    seed: int
    features: int = 5
    targets: int = 1
    modes: Sequence[str] = ("BRANCH_LEQ",)
    missing: float = 0.0
    """The share of nodes whose missing values go the true way."""
    one_target: bool = True
    """Whether a leaf has a weight for one target, which is that of its tree, else for several."""
    lowest: float = -1.0
    nodes: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    leaves: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        names = ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        self.nodes = {f"nodes_{name}": [] for name in (*names, "missing_value_tracks_true")}
        self.leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def grow(self, tree: int, depth: int, full: float = 1.0) -> None:
        """Adds a tree; `full` is the chance that a node above the greatest depth has children."""
        count = [0]

        def grow_node(level: int) -> int:
            number, at = count[0], len(self.nodes["nodes_modes"])
            count[0] += 1
            inner = level < depth and (level == 0 or self.random.random() < full)
            mode = str(self.random.choice(self.modes)) if inner else "LEAF"
            threshold = float(np.float32(self.random.integers(-4, 5) / 4)) if inner else 0.0
            feature = int(self.random.integers(self.features)) if inner else 0
            missing = int(inner and self.random.random() < self.missing)
            row = (tree, number, feature, threshold, mode, 0, 0, missing)
            for column, value in zip(self.nodes.values(), row, strict=True):
                column.append(value)
            if inner:
                self.nodes["nodes_truenodeids"][at] = grow_node(level + 1)
                self.nodes["nodes_falsenodeids"][at] = grow_node(level + 1)
            else:
                self._weigh(tree, number)
            return number

        grow_node(0)

    def _weigh(self, tree: int, number: int) -> None:
        several = not self.one_target and self.targets > 1
        targets = self.random.permutation(self.targets)[: self.random.integers(1, self.targets + 1)]
        for target in targets.tolist() if several else [tree % self.targets]:
            weight = float(np.float32(self.random.uniform(self.lowest, 1.0)))
            for column, value in zip(self.leaves.values(), (tree, number, target, weight), strict=True):
                column.append(value)

    def attributes(self, leaf: str) -> dict[str, Any]:
        """All attributes; `leaf` is "target" or "class"."""
        return {**self.nodes, **{f"{leaf}_{name}": column for name, column in self.leaves.items()}}

    def rows(self, count: int, nan: float = 0.0) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Rows of features, many of which are thresholds; a share of them is NaN."""
        x = (self.random.integers(-6, 7, (count, self.features)) / 4).astype(np.float32)
        x[self.random.random(x.shape) < nan] = np.nan
        return x
