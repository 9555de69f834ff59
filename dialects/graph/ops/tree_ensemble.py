"""Decision trees: sums, minima or maxima over groups of trees of the weights in the leaves that each row reaches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar, cast

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, StringAttr, f32, f64, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ..axes import Axes, Whole
from ..base import GraphOp, require
from ..values import AnyTensor, Array, element_type_of_value, shape_of, tensor

AGGREGATES = {"sum": 0.0, "min": np.inf, "max": -np.inf}
"""How the leaves of a group's trees are combined, and the result of no tree."""
COMPLETE_WORDS = ("feature", "threshold")
"""The words of a node of a complete tree."""
LINKED_WORDS = ("feature", "threshold", "left", "right")
"""The words of a node that names its children."""
STEP_INSTRUCTIONS = 8
"""Instructions of a step from a node to a child: three loads, an addition of addresses, a comparison, arithmetic."""


def word_type(element: Attribute) -> Attribute:
    """The type of a node's words: integers as wide as the thresholds, which are kept as their bits."""
    return i32 if element == f32 else i64


@irdl_op_definition
class TreeEnsembleOp(GraphOp):
    """x [N, F] -> [G, N, V]: for each row the aggregate of V weights of the leaves it reaches in G groups of trees.

    Weights are added one after the other in their own type, which may be wider than that of x.

    At a node a row goes left where x[feature] <= threshold, and right where it is greater or NaN.

    Complete trees: nodes [G, P, 2^depth, 2], of each of P trees the node n with its children 2n and 2n + 1, beginning
    at 1, where a node is a feature and the bits of its threshold; weights [G, P, 2^depth, V]. Trees from number `trees`
    of each group on are padding: their weights must be the aggregate of no tree.

    Linked trees, where roots [G, P] are given: nodes [nodes, 4] of all trees, where a node is a feature, the bits of
    its threshold, and its children's numbers. The last ones are leaves, whose children are themselves, with weights
    [leaves, V]. A path has at most `depth` other nodes.

    Small trees may be there in a second form, for many rows: tests [G, P, K, 2 + M], of each tree up to K inner nodes
    in any order, where a test is a feature, the bits of a threshold, and a mask of M words, low bits first. Where x is
    greater than the threshold, or NaN, the mask's zeros, the leaves on the node's left, are out of reach. The leaf that
    a row reaches is the first of those left, from left to right. (Lucchese et al., "QuickScorer", SIGIR 2015.) Tests
    that do nothing have a mask of ones. Then linked trees have equally many leaves each, from left to right.
    """

    name = "graph.tree_ensemble"
    FORM: ClassVar[str] = "tree_ensemble"
    LINEAR: ClassVar[bool] = False

    x = operand_def()
    nodes = operand_def()
    weights = operand_def()
    roots = opt_operand_def()
    tests = opt_operand_def()
    trees = prop_def(IntegerAttr[IntegerType])
    depth = prop_def(IntegerAttr[IntegerType])
    aggregate = prop_def(StringAttr)
    result = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        x: SSAValue | Operation,
        nodes: SSAValue | Operation,
        weights: SSAValue | Operation,
        roots: SSAValue | Operation | None = None,
        tests: SSAValue | Operation | None = None,
        *,
        trees: int,
        depth: int,
        aggregate: str = "sum",
        location: LocationAttr | None = None,
    ):
        self._build((x, nodes, weights, roots, tests), location, trees=trees, depth=depth, aggregate=aggregate)

    @property
    def groups(self) -> tuple[int, int]:
        """The number of groups, and of trees in each with padding."""
        groups, trees = shape_of(self.nodes if self.roots is None else self.roots)[:2]
        return groups, trees

    @property
    def inner_nodes(self) -> int:
        """The number of linked trees' nodes that are no leaves."""
        return shape_of(self.nodes)[0] - shape_of(self.weights)[0]

    @property
    def leaves(self) -> int:
        """The number of leaves of each tree that has tests."""
        return prod(shape_of(self.weights)[:-1]) // prod(self.groups)

    @property
    def words(self) -> tuple[str, ...]:
        """What a node's words are."""
        return COMPLETE_WORDS if self.roots is None else LINKED_WORDS

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        element, depth = element_type_of_value(self.x), self.depth.value.data
        require(element in (f32, f64), f"features must be f32 or f64, not {element}")
        sums = element_type_of_value(self.weights)
        require(sums in (f32, f64), f"weights must be f32 or f64, not {sums}")
        word = word_type(element)
        require(element_type_of_value(self.nodes) == word, f"nodes of features of {element} are words of {word}")
        require(self.aggregate.data in AGGREGATES, f"there is no aggregate '{self.aggregate.data}'")
        x, nodes, weights = shape_of(self.x), shape_of(self.nodes), shape_of(self.weights)
        require(len(x) == 2, f"features of shape {list(x)} are no matrix")
        if self.roots is None:
            require(1 <= depth <= 24, f"complete trees of depth {depth}: it must be 1 to 24")
            require(len(nodes) == 4 and nodes[2:] == (1 << depth, 2), f"nodes of shape {list(nodes)}")
            fits = len(weights) == 4 and weights[:3] == nodes[:3]
            require(fits, f"weights of shape {list(weights)} for nodes of shape {list(nodes)}")
        else:
            require(depth >= 0, f"paths of {depth} nodes")
            require(element_type_of_value(self.roots) == word, f"roots must be words of {word}")
            require(len(shape_of(self.roots)) == 2, "roots are those of groups of trees")
            require(len(nodes) == 2 and nodes[1] == 4, f"nodes of shape {list(nodes)}")
            fits = len(weights) == 2 and 1 <= weights[0] <= nodes[0]
            require(fits, f"weights of shape {list(weights)} for nodes of shape {list(nodes)}")
        groups, padded = self.groups
        if self.tests is not None:
            require(element_type_of_value(self.tests) == word, f"tests of features of {element} are words of {word}")
            shape, each = shape_of(self.tests), self.leaves
            require(len(shape) == 4 and shape[:2] == (groups, padded), f"tests of shape {list(shape)}")
            require(prod(weights[:-1]) == groups * padded * each, "trees with tests have equally many leaves")
            bits = cast("IntegerType", word).width.data
            require(each <= (shape[3] - 2) * bits, f"masks of {shape[3] - 2} words for {each} leaves")
        require(0 <= self.trees.value.data <= padded, f"{self.trees.value.data} trees of {padded}")
        return [tensor(sums, (groups, x[0], weights[-1]))]

    @property
    @override
    def instructions(self) -> int:
        steps = self.groups[0] * self.trees.value.data * (STEP_INSTRUCTIONS * self.depth.value.data)
        return shape_of(self.x)[0] * (steps + 2 * prod(self.groups) * shape_of(self.weights)[-1])

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        tables = ["gpab", "gpcv"] if self.roots is None else ["ab", "cv", "gp"]
        tables += [] if self.tests is None else ["gpkm"]
        return self.labelled_axes(["nf", *tables], "gnv", dict.fromkeys("fpabckm", Whole))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        x, nodes, weights, *others = arrays
        roots = [] if self.roots is None else others[:1]
        words = nodes.reshape(-1, len(self.words))
        thresholds = np.ascontiguousarray(words[:, 1]).view(np.float32 if words.dtype.itemsize == 4 else np.float64)
        (groups, padded), depth = self.groups, self.depth.value.data
        leaves, combine = weights.reshape(-1, weights.shape[-1]), self.combine
        y = np.full((groups, len(x), leaves.shape[-1]), AGGREGATES[self.aggregate.data], leaves.dtype)
        rows = np.arange(len(x))
        for group in range(groups):
            for tree in range(self.trees.value.data):
                number = group * padded + tree
                first = 0 if roots else number << depth
                at = np.full(len(x), roots[0].reshape(-1)[number] if roots else 1, np.int64)
                for _ in range(depth):
                    node = first + at
                    right = ~(x[rows, words[node, 0]] <= thresholds[node])
                    at = words[node, 2 + right] if roots else 2 * at + right
                leaf = at - self.inner_nodes if roots else first + at - (1 << depth)
                y[group] = combine(y[group], leaves[leaf])
        return (y,)

    def combine(self, a: Array, b: Array) -> Array:
        """The aggregate of two."""
        return {"sum": np.add, "min": np.minimum, "max": np.maximum}[self.aggregate.data](a, b)
