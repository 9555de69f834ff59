"""Which ops become one kernel: the rules of fusion, without building anything.

A group is a root and ops that ride along:
- A contraction, window, row, attention or recurrence op is a root of its family; elementwise ops without one form
  clusters of the family `map`, and so does every op that no other family has code for.
- Elementwise users join as an epilogue while the group keeps one value that is used outside and the shape stays the
  root's. Every other operand is computed before the last op of the group, where the kernel is called, and nothing
  in between uses a value of the group: so `main` stays acyclic, and nothing is computed twice.
- Elementwise ops in front of a matrix product's left-hand side (or a 1x1 convolution's picture) join as a prologue
  where nobody else uses them: the code computes a block of rows of it once and reads the weights once per block, so the
  weights must be small enough to stay in the second-level cache.
- A max pool joins the convolution that alone feeds it where that makes a picture of more than half the second-level
  cache disappear, again with small weights.
- Views (reshape, transpose, slice) in front of a matrix product or attention join where they are strided windows on
  one value and nobody else uses them; a transpose behind attention joins where the result can be written through it.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from math import inf

from xdsl.dialects.builtin import f32, f64
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.graph import (
    AttentionOp,
    ConstantOp,
    ConvOp,
    ElementwiseOp,
    LrnOp,
    MatmulOp,
    MaxPoolOp,
    PoolOp,
    RecurrenceOp,
    ReductionOp,
    ReshapeOp,
    SliceOp,
    TransposeOp,
    WeightOp,
    element_type_of_value,
    ints,
    nbytes_of,
    shape_of,
    type_of,
)
from ...dialects.kernel import TargetAttr
from ..geometry.strided_views import strided_view
from .forms.contraction import conv_geometry, is_contraction, is_depthwise

# How many ops may follow each other before a group is down to one result again (gelu spelled out has 8), and how many
# a prologue or a chain of views may have.
LONGEST_CHAIN = 16
# The most ops of a group. Reading and writing an element costs about as much as 2 to 4 of them, so beyond 64 a longer
# loop would save under a tenth of the time, while it would need more registers and operands than there are, and code
# that is optimised in more than linear time. The largest group of the usual models has about 20.
MOST_OPS = 64
FREE = (WeightOp, ConstantOp, ReshapeOp, ReturnOp)


@dataclass
class Group:
    """Ops that become one kernel of `family`, in order: `root` and those that ride along."""

    family: str
    root: Operation
    ops: list[Operation] = field(init=False)
    members: set[Operation] = field(init=False)

    def __post_init__(self) -> None:
        self.ops, self.members = [self.root], {self.root}

    def results(self) -> list[SSAValue]:
        """Values that are used outside of the group."""
        return [result for op in self.ops for result in op.results if self.is_used_outside(result)]

    def is_used_outside(self, value: SSAValue) -> bool:
        """Whether an op that is no member reads the value."""
        return any(use.operation not in self.members for use in value.uses)


def family_of(op: Operation) -> str:
    """The code family whose root `op` is; `map` takes what no other does."""
    if is_contraction(op):
        return "depthwise" if is_depthwise(op) else "contraction"
    if isinstance(op, AttentionOp):
        return "attention"
    if isinstance(op, RecurrenceOp):
        return "recurrence"
    if isinstance(op, LrnOp) and op.layout.data == "NHWC" and element_type_of_value(op.x) in (f32, f64):
        return "lrn"
    if isinstance(op, PoolOp | LrnOp):
        return "windows"
    return "rows" if isinstance(op, ReductionOp) else "map"


def form_groups(block: Block, fuse: bool, target: TargetAttr) -> list[Group]:
    """Groups of the ops of `main`, in the order of their last ops."""
    order = {op: position for position, op in enumerate(block.ops)}
    weights = {op.result for op in order if isinstance(op, WeightOp)}
    taken: set[Operation] = set()
    groups: list[Group] = []

    def add(op: Operation) -> None:
        group = Group(family_of(op), op)
        if fuse:
            _take_views(group, op, taken)
            _take_epilogue(group, op, order, taken)
            _take_output_view(group, taken)
            if _weight_bytes(op, weights) <= target.l2.data // 2:
                _take_prologue(group, op, taken)
                _take_pool(group, op, taken, target.l2.data // 2)
        taken.update(group.ops)
        groups.append(group)

    roots = [op for op in order if not isinstance(op, FREE)]
    for op in roots:  # heavy roots first, so that elementwise ops go to them
        if op not in taken and family_of(op) != "map":
            add(op)
    for op in roots:
        if op not in taken:
            add(op)
    groups.sort(key=lambda group: order[group.ops[-1]])
    return groups


def _take_views(group: Group, root: Operation, taken: set[Operation]) -> None:
    """Views in front of the root's operands that nobody else uses."""
    if group.family not in ("contraction", "attention") or isinstance(root, ConvOp):
        return
    for operand in root.operands[: 2 if isinstance(root, MatmulOp) else 3]:
        chain: list[Operation] = []
        base = operand
        while (
            isinstance(owner := base.owner, ReshapeOp | TransposeOp | SliceOp)
            and owner not in taken
            and base.has_one_use()
            and len(chain) < LONGEST_CHAIN
            and strided_view(operand, stop=owner.operands[0]).base is owner.operands[0]
        ):
            chain.append(owner)
            base = owner.operands[0]
        # Reshapes stay in main, where they cost nothing, so a chain is only worth having down to its last mover.
        while chain and isinstance(chain[-1], ReshapeOp):
            base = chain.pop().results[0]
        inner_is_dense = strided_view(operand, stop=base).strides[-1] == 1
        if inner_is_dense or isinstance(root, MatmulOp):
            group.ops[:0] = reversed(chain)
            group.members.update(chain)


def _take_epilogue(group: Group, root: Operation, order: dict[Operation, int], taken: set[Operation]) -> None:
    """Elementwise users of the root's shape, as long as one value leaves the group."""
    if len(root.results) != 1 or group.family in ("attention", "lrn"):
        return
    if group.family == "map" and not isinstance(root, ElementwiseOp):
        return
    shape = shape_of(root.results[0])
    # A tile's sums may be kept where the result goes, so that has their type.
    stored = element_type_of_value(root.results[0]) if group.family in ("contraction", "depthwise") else None
    best = len(group.ops)
    frontier = _users(root, group, order)
    leaving = set(root.results)  # values of the group that are used outside of it
    while frontier and len(group.ops) < min(best + LONGEST_CHAIN, MOST_OPS):
        op = frontier[0]
        if not isinstance(op, ElementwiseOp) or op in taken or shape_of(op.results[0]) != shape:
            break
        group.ops.append(op)
        group.members.add(op)
        leaving = {value for value in (*leaving, *op.results) if group.is_used_outside(value)}
        if leaving == {op.results[0]} and stored in (None, element_type_of_value(op.results[0])):
            best = len(group.ops)
        frontier = sorted({*frontier[1:], *_users(op, group, order)}, key=order.__getitem__)
    for op in group.ops[best:]:
        group.members.discard(op)
    del group.ops[best:]


def _take_output_view(group: Group, taken: set[Operation]) -> None:
    """A transpose behind attention becomes part of how its result is stored."""
    if group.family != "attention":
        return
    users = [use.operation for use in group.ops[-1].results[0].uses]
    if len(users) == 1 and isinstance(users[0], TransposeOp) and users[0] not in taken:
        permutation = users[0].permutation.get_values()
        if permutation[-1] == len(permutation) - 1:
            group.ops.append(users[0])
            group.members.add(users[0])


def _weight_bytes(root: Operation, weights: Container[SSAValue]) -> float:
    """Bytes of a contraction's one matrix of weights; infinite where it has no such weights."""
    match root:
        case MatmulOp() if root.rhs in weights and len(shape_of(root.rhs)) == 2 and root.transpose_a is None:
            return nbytes_of(type_of(root.rhs))
        case ConvOp() if root.weight in weights and is_contraction(root) and root.groups.value.data == 1:
            return nbytes_of(type_of(root.weight))
        case _:
            return inf


def _take_prologue(group: Group, root: Operation, taken: set[Operation]) -> None:
    """Elementwise ops that make the left-hand side, one after the other, where each is read once."""
    if group.family != "contraction" or group.ops[0] is not root:
        return
    if isinstance(root, ConvOp):
        geometry = conv_geometry(root)
        if not geometry.pointwise or geometry.stride != (1, 1) or len(shape_of(root.x)) != 4:
            return
    value, shape = root.operands[0], shape_of(root.operands[0])
    chain: list[Operation] = []
    while (
        isinstance(owner := value.owner, ElementwiseOp)
        and owner not in taken
        and value.has_one_use()
        and shape_of(value) == shape
        and element_type_of_value(value) == element_type_of_value(root.operands[0])
        and len(chain) < LONGEST_CHAIN
    ):
        chain.append(owner)
        whole = [operand for operand in owner.operands if shape_of(operand) == shape]
        if not whole:
            break
        value = next((each for each in whole if isinstance(each.owner, ElementwiseOp)), whole[0])
    for op in chain:
        group.ops.insert(0, op)
        group.members.add(op)


def _take_pool(group: Group, root: Operation, taken: set[Operation], large: int) -> None:
    """A max pool that alone reads a large result of a convolution."""
    if group.family != "contraction" or not isinstance(root, ConvOp) or group.ops[0] is not root:
        return
    result = group.ops[-1].results[0]
    users = [use.operation for use in result.uses]
    if len(users) != 1 or not isinstance(pool := users[0], MaxPoolOp) or pool in taken:
        return
    fits = pool.layout.data == "NHWC" and len(shape_of(result)) == 4 and set(ints(pool.dilations)) == {1}
    same = element_type_of_value(result) == element_type_of_value(root.results[0])
    if fits and same and nbytes_of(type_of(result)) > large:
        group.ops.append(pool)
        group.members.add(pool)


def _users(op: Operation, group: Group, order: dict[Operation, int]) -> list[Operation]:
    users = {use.operation for result in op.results for use in result.uses} - group.members
    return sorted(users, key=order.__getitem__)


def external_operands(ops: Sequence[Operation]) -> list[SSAValue]:
    """Values that a group reads from outside, in the order of their first use; constants are not among them."""
    inside = {result for op in ops for result in op.results}
    seen = [value for op in ops for value in op.operands if value not in inside]
    return [value for value in dict.fromkeys(seen) if not isinstance(value.owner, ConstantOp)]
