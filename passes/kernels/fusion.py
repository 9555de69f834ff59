"""Which ops become one kernel: the rules of fusion, without building anything.

A group is a root and ops that ride along:
- A contraction, window, row, attention or recurrence op is a root of its form; elementwise ops without one form
  clusters of the form `map`, and so does every op whose elements stand for themselves.
- Elementwise users join as an epilogue while the group keeps one value that is used outside and the shape stays the
  root's. Every other operand is computed before the last op of the group, where the kernel is called, and nothing
  in between uses a value of the group: so `main` stays acyclic, and nothing is computed twice.
- So do those of the halves of a product's columns, where nothing else is read of it.
- So do, behind a contraction, elementwise ops that make another operand for the group alone from narrower elements.
- Elementwise ops in front of a contraction's left-hand side join as a prologue where nobody else uses them, and a max
  pool the convolution that alone feeds it. A cast alone doesn't where a depthwise convolution can join.
- A depthwise convolution joins the one that alone feeds it, and then a pointwise one both, each with its epilogue.
- The means of the rows of pictures join the depthwise convolution that makes these: a second result.
- What normalises the rows of a product's left-hand side, or of operands of its epilogue, for it alone, joins it, and so
  do the moments of the rows that it makes: a second result.
- What widens numbers of 16 bits for a product that reads them as they are, alone, joins it.
- Elementwise ops and gathers that make the rows of a normalisation join it; the rows may be a second result.
- The cast of a weight of narrower elements joins the contraction that alone reads it, and those of keys and values, or
  their product with a scale for each row, the attention.
- Elementwise ops and views that make the parts of a concatenation for it alone join it, with elementwise ops after it
  and what makes other operands of these.
- Elementwise ops that make other operands of elementwise ones, of their shape and for them alone, join these.
- Views (reshape, transpose, slice) in front of a root's operands join where they are strided windows on
  one value and nobody else uses them; a transpose behind it joins where the
  result can be written through it.
- Where there is code for it, and where it is worth the while, the device says (fusion_rules.py).

A group lies within one block: nothing moves into a loop or a branch, or out of it. A loop that reads a value is one
of its users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.dialects.builtin import f32
from xdsl.ir import Block, Operation, SSAValue

from ...dialects.graph.base import ContractionOp, ElementwiseOp, GraphOp
from ...dialects.graph.host import users_in
from ...dialects.graph.ops.attention import AttentionOp
from ...dialects.graph.ops.block_weight import BlockWeight
from ...dialects.graph.ops.contraction import ConvOp, MatmulOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.indexing import GatherOp
from ...dialects.graph.ops.movement import ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.ops.normalization import NormalizeOp, RowMomentsOp
from ...dialects.graph.ops.quantization import DequantizeOp
from ...dialects.graph.ops.reduction import ReduceMeanOp
from ...dialects.graph.ops.rows import EmptyOp, ExtractRowsOp, InsertRowsOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.ops.windows import MaxPoolOp
from ...dialects.graph.values import element_type_of_value, ints, numpy_dtype, shape_of
from ..geometry.axis_halves import halves_of
from ..geometry.strided_views import strided_view
from .forms.attention import scales_rows
from .fusion_rules import FusionRules, NormOp, weight_of

# How many ops may follow each other before a group is down to one result again (gelu spelled out has 8), and how many
# a prologue or a chain of views may have.
LONGEST_CHAIN = 16
# The most ops of a group. Reading and writing an element costs about as much as 2 to 4 of them, so beyond 64 a longer
# loop would save under a tenth of the time, while it would need more registers and operands than there are, and code
# that is optimised in more than linear time. The largest group of the usual models has about 20.
MOST_OPS = 64
FREE = (WeightOp, ConstantOp, ReshapeOp, EmptyOp, ExtractRowsOp, InsertRowsOp)


@dataclass
class Group:
    """Ops that become one kernel of a form, in order: `root` and the ops fused with it."""

    form: str
    root: GraphOp
    ops: list[Operation] = field(init=False)
    members: set[Operation] = field(init=False)
    normalises: bool = False
    """Whether its code makes moments of rows, and normalises rows that it reads."""

    def __post_init__(self) -> None:
        self.ops, self.members = [self.root], {self.root}

    def results(self) -> list[SSAValue]:
        """Values that are used outside of the group."""
        return [result for op in self.ops for result in op.results if self.is_used_outside(result)]

    def is_used_outside(self, value: SSAValue) -> bool:
        """Whether an op outside of the group reads the value."""
        return any(use.operation not in self.members for use in value.uses)


def form_groups(block: Block, rules: FusionRules | None) -> list[Group]:
    """Groups of the ops of a block of `main`, in the order of their last ops; without rules every op is one."""
    order = {op: position for position, op in enumerate(block.ops)}
    widening = [] if rules is None else [op for op in order if isinstance(op, CastOp) and _widens_rows(op, rules)]
    taken: set[Operation] = {*widening}
    groups: list[Group] = []

    def add(op: GraphOp) -> None:
        group = Group(op.FORM, op)
        if rules is not None:
            if isinstance(op, AttentionOp) and rules.widens_keys(op):
                _take_narrow_keys(group, op, taken)
            group.normalises = isinstance(op, MatmulOp) and rules.normalises_rows(op)
            if rules.reads_views(op):
                _take_views(group, op, taken)
            if rules.takes_epilogue(op):
                _take_epilogue(group, op, order, taken)
            if isinstance(op, NormOp) and rules.makes_rows(op):
                _take_rows(group, op, order, taken)
            if group.normalises:
                _take_normalised(group, op, taken)
                _absorb(group, [each for each in widening if each.result is op.operands[0]])
                _take_moments(group, order, taken)
            if op.FORM == "map" and isinstance(op, ElementwiseOp) and rules.joins_operands():
                _take_operands(group, taken)
            if group.ops[-1] is op and isinstance(op, MatmulOp) and rules.takes_halves(op):
                _take_halves(group, op, order, taken)
            if rules.writes_transposed(op):
                _take_output_view(group, taken)
                _take_rounding(group, taken, rules)
            if group.ops[0] is op and rules.takes_prologue(op) and not _rounds_for_bands(group, op, rules, taken):
                _take_prologue(group, op, taken)
            if group.ops[0] is op and (pool := _only_pool(group, taken)) and rules.takes_pool(op, pool):
                group.ops.append(pool)
                group.members.add(pool)
            elif group.ops[0] is op and isinstance(op, ConvOp):
                _take_convolutions(group, op, rules, order, taken)
                _take_means(group, rules, order, taken)
            _take_narrow_weight(group, op, rules, taken)
        taken.update(group.ops)
        groups.append(group)

    roots = [op for op in order if isinstance(op, GraphOp) and not isinstance(op, FREE)]
    for op in roots:  # heavy roots first, so that elementwise ops go to them
        if op not in taken and op.FORM != "map":
            add(op)
    for op in roots if rules is not None and rules.joins_parts() else ():
        if isinstance(op, ConcatOp) and op not in taken and (parts := _parts(op, taken)):
            group = Group(op.FORM, op)
            _absorb(group, parts)
            _take_elementwise(group, op, [op], order, taken)
            _absorb(group, _sources(group.ops, taken))
            taken.update(group.ops)
            groups.append(group)
    for op in roots:
        if op not in taken:
            add(op)
    groups.sort(key=lambda group: order[group.ops[-1]])
    return groups


def _take_narrow_keys(group: Group, root: AttentionOp, taken: set[Operation]) -> None:
    """Adds the ops that widen keys and values of narrower elements, if the root is their only user."""
    for wide in (root.key, root.value):
        op = wide.owner
        if not isinstance(op, CastOp | DequantizeOp) or op.parent is not root.parent or op in taken:
            continue
        if isinstance(op, DequantizeOp) and not scales_rows(op):
            continue
        if wide.has_one_use() and _item_bytes(op.x) < _item_bytes(wide):
            group.ops.insert(0, op)
            group.members.add(op)


def _take_views(group: Group, root: Operation, taken: set[Operation]) -> None:
    """Adds views of the root's operands, or of those of the ops that widen them, with no other users."""
    for operand in root.operands[: 2 if isinstance(root, MatmulOp) else 3]:
        widening = operand.owner
        if isinstance(widening, CastOp | DequantizeOp) and widening in group.members:
            for part in widening.operands:
                _take_view(group, root, part, taken)
        else:
            _take_view(group, root, operand, taken)


def _take_view(group: Group, root: Operation, operand: SSAValue, taken: set[Operation]) -> None:
    """Adds views that end in a value."""
    chain: list[Operation] = []
    base = operand
    while (
        isinstance(owner := base.owner, ReshapeOp | TransposeOp | SliceOp)
        and owner.parent is root.parent
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


def _parts(concat: ConcatOp, taken: set[Operation]) -> list[Operation]:
    """The ops that make the parts of a concatenation for it alone; none if one is not computed, or only a view.

    Such are pairs of elements that are rotated, half of a head with the other half.
    """
    found = _sources([concat], taken)
    made = [part.owner in found for part in concat.inputs]
    return found if all(made) and any(isinstance(op, ElementwiseOp) for op in found) else []


def _take_operands(group: Group, taken: set[Operation]) -> None:
    """Adds what makes other operands of an elementwise group, of its shape, for it alone."""
    shape = shape_of(group.root.results[0])
    _absorb(group, _sources(group.ops, taken, lambda op: isinstance(op, ElementwiseOp) and _is_of(op, shape)))


def _is_of(op: Operation, shape: tuple[int, ...]) -> bool:
    return all(shape_of(result) == shape for result in op.results)


def _sources(
    ops: Sequence[Operation],
    taken: set[Operation],
    joins: Callable[[Operation], bool] = lambda op: isinstance(op, ElementwiseOp | SliceOp | TransposeOp),
) -> list[Operation]:
    """Ops that may join, elementwise ones and views, that compute operands of `ops` for them alone; in order."""
    inside, found = set(ops), list[Operation]()
    left = list(ops)
    while left:
        for value in left.pop().operands:
            op = value.owner
            if (
                isinstance(op, Operation)
                and joins(op)
                and op not in inside
                and op not in taken
                and op.parent is ops[0].parent
                and all(use.operation in inside for result in op.results for use in result.uses)
                and len(found) < LONGEST_CHAIN
            ):
                found.insert(0, op)
                inside.add(op)
                left.insert(0, op)
    return found


def _absorb(group: Group, ops: Sequence[Operation]) -> None:
    """Adds ops in front of a group's."""
    group.ops[:0] = ops
    group.members.update(ops)


def _take_epilogue(group: Group, root: Operation, order: dict[Operation, int], taken: set[Operation]) -> None:
    """Adds elementwise users of the root's shape, as long as one value leaves the group."""
    if len(root.results) == 1:
        _take_elementwise(group, root, [root], order, taken)


def _take_halves(group: Group, root: MatmulOp, order: dict[Operation, int], taken: set[Operation]) -> None:
    """Adds elementwise ops that combine the two halves of a product's columns, which have no other users."""
    halves = _users(root, group, order)
    if len(halves) != 2 or not halves_of(root.result, halves) or taken.intersection(halves):
        return
    size = len(group.ops)
    group.ops += halves
    group.members.update(halves)
    _take_elementwise(group, root, halves, order, taken)
    if group.ops[size:] == halves:
        group.members.difference_update(halves)
        del group.ops[size:]


def _take_elementwise(
    group: Group, root: Operation, read: Sequence[Operation], order: dict[Operation, int], taken: set[Operation]
) -> None:
    """Adds elementwise users, of equal shape, of the results of `read`, as long as one value leaves the group."""
    shape = shape_of(read[0].results[0])
    best = len(group.ops)
    frontier = sorted({user for op in read for user in _users(op, group, order)}, key=order.__getitem__)
    leaving = {op.results[0] for op in read}  # values of the group that are used outside of it
    while frontier and len(group.ops) < min(best + LONGEST_CHAIN, MOST_OPS):
        op = frontier[0]
        if not isinstance(op, ElementwiseOp) or op in taken or shape_of(op.results[0]) != shape:
            break
        beside = _widened_beside(group, op, root, shape, taken)
        if group.normalises:
            beside += _normalised_beside(op, shape, taken)
        group.ops += [*beside, op]
        group.members.update((*beside, op))
        leaving = {value for value in (*leaving, *op.results) if group.is_used_outside(value)}
        if leaving == {op.results[0]}:
            best = len(group.ops)
        frontier = sorted({*frontier[1:], *_users(op, group, order)}, key=order.__getitem__)
    for op in group.ops[best:]:
        group.members.discard(op)
    del group.ops[best:]


def _widened_beside(
    group: Group, op: Operation, root: Operation, shape: tuple[int, ...], taken: set[Operation]
) -> list[Operation]:
    """Elementwise ops, in order, that compute other operands of `op`, for the group only, from narrower elements.

    As separate kernels they would store and reload these operands in a width that is needed only temporarily.
    """
    found: list[Operation] = []
    if not isinstance(root, ContractionOp):
        return found
    for operand in op.operands:
        chain: list[Operation] = []
        narrowest, taking, value = _item_bytes(operand), 0, operand  # bytes, and how many ops it takes from there
        while (
            isinstance(owner := value.owner, ElementwiseOp)
            and owner.parent is root.parent
            and owner not in taken
            and owner not in group.members
            and value.has_one_use()
            and shape_of(owner.operands[0]) == shape_of(value) == shape
            and len(chain) < LONGEST_CHAIN
        ):
            chain.append(owner)
            value = owner.operands[0]
            if _item_bytes(value) < narrowest:
                narrowest, taking = _item_bytes(value), len(chain)
        found += reversed(chain[:taking])
    return found


def _normalised_beside(op: Operation, shape: tuple[int, ...], taken: set[Operation]) -> list[Operation]:
    """What normalises rows of other operands of `op`, in order, with the scale and the bias, for `op` alone."""
    found: list[Operation] = []
    for operand in op.operands:
        chain: list[Operation] = []
        value = operand
        while (
            isinstance(owner := value.owner, ElementwiseOp | NormalizeOp)
            and owner.parent is op.parent
            and owner not in taken
            and value.has_one_use()
            and shape_of(value) == shape
        ):
            chain.append(owner)
            value = owner.operands[0]
            if isinstance(owner, NormalizeOp):
                found += reversed(chain)
                break
    return found


def _take_rows(group: Group, root: NormOp, order: dict[Operation, int], taken: set[Operation]) -> None:
    """Adds what makes the root's rows element by element; what else reads these comes behind the group."""
    op, last = root.x.owner, order[group.ops[-1]]
    if not isinstance(op, ElementwiseOp | GatherOp) or op in taken or op.parent is not root.parent:
        return
    if any(order[user] < last for user in _readers(op) if user not in group.members):
        return
    shape = shape_of(root.x)
    if not _is_of(op, shape):
        return
    found = _sources([op], taken, lambda each: isinstance(each, ElementwiseOp | GatherOp) and _is_of(each, shape))
    _absorb(group, [*found, op])


def _take_normalised(group: Group, root: Operation, taken: set[Operation]) -> None:
    """Adds what normalises the rows of the root's left-hand side, for it alone."""
    op = root.operands[0].owner
    if isinstance(op, NormalizeOp) and op.parent is root.parent and op not in taken and op.result.has_one_use():
        _absorb(group, [op])


def _widens_rows(op: CastOp, rules: FusionRules) -> bool:
    """Whether an op widens the left-hand side of a product alone, whose code reads it as it is."""
    readers = [use.operation for use in op.result.uses]
    if len(readers) != 1 or not isinstance(product := readers[0], MatmulOp) or product.lhs is not op.result:
        return False
    narrow = element_type_of_value(op.x) == rules.narrow_rows()
    return narrow and product.parent is op.parent and rules.normalises_rows(product)


def _take_moments(group: Group, order: dict[Operation, int], taken: set[Operation]) -> None:
    """Adds the moments of the group's rows, if they are its first user."""
    op = min(_readers(group.ops[-1]), key=order.__getitem__, default=None)
    if isinstance(op, RowMomentsOp) and op not in taken and len(group.results()) == 1:
        group.ops.append(op)
        group.members.add(op)


def _item_bytes(value: SSAValue) -> int:
    return numpy_dtype(element_type_of_value(value)).itemsize


def _take_output_view(group: Group, taken: set[Operation]) -> None:
    """Adds a transpose after the root, which becomes part of how its result is stored."""
    users = _readers(group.ops[-1])
    if len(users) == 1 and isinstance(users[0], TransposeOp) and users[0] not in taken:
        permutation = users[0].permutation.get_values()
        if permutation[-1] == len(permutation) - 1:
            group.ops.append(users[0])
            group.members.add(users[0])


def _take_rounding(group: Group, taken: set[Operation], rules: FusionRules) -> None:
    """Adds the op that alone reads the group's result, and rounds it for products."""
    users = _readers(group.ops[-1])
    if len(users) != 1 or not isinstance(op := users[0], CastOp) or op in taken:
        return
    if element_type_of_value(op.result) == rules.narrow_rows() and element_type_of_value(op.x) == f32:
        group.ops.append(op)
        group.members.add(op)


def _take_prologue(group: Group, root: Operation, taken: set[Operation]) -> None:
    """Adds a chain of elementwise ops that compute the left-hand side, where each element is evaluated once."""
    value, shape = root.operands[0], shape_of(root.operands[0])
    chain: list[Operation] = []
    while (
        isinstance(owner := value.owner, ElementwiseOp)
        and owner.parent is root.parent
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


def _rounds_for_bands(group: Group, root: Operation, rules: FusionRules, taken: set[Operation]) -> bool:
    """Whether the prologue would be a cast alone, and keep a depthwise convolution from joining, which saves more."""
    if not isinstance(root, ConvOp) or not isinstance(root.x.owner, CastOp):
        return False
    depthwise = _only_convolution(group, taken)
    return depthwise is not None and rules.takes_depthwise(root, depthwise)


def _take_narrow_weight(group: Group, root: Operation, rules: FusionRules, taken: set[Operation]) -> None:
    """Adds the ops that widen the root's weight, if the root is their only user."""
    if not isinstance(root, MatmulOp | ConvOp):
        return
    wide = root.operands[1]
    owner = wide.owner
    if not isinstance(owner, CastOp | BlockWeight) or owner in taken or not wide.has_one_use():
        return
    narrow = weight_of(root)
    if narrow is not None and _item_bytes(narrow) < _item_bytes(wide) and rules.widens_weights(root):
        group.ops.insert(0, owner)
        group.members.add(owner)


def _only_pool(group: Group, taken: set[Operation]) -> MaxPoolOp | None:
    """A max pool that is the only user of the group's result."""
    users = _readers(group.ops[-1])
    if len(users) == 1 and isinstance(pool := users[0], MaxPoolOp) and pool not in taken:
        return pool
    return None


def _take_convolutions(
    group: Group, root: ConvOp, rules: FusionRules, order: dict[Operation, int], taken: set[Operation]
) -> None:
    """Adds a depthwise convolution of the group's result, and a pointwise one of its result, with their epilogues."""

    def take(conv: ConvOp) -> None:
        group.ops.append(conv)
        group.members.add(conv)
        _take_epilogue(group, conv, order, taken)

    depthwise = _only_convolution(group, taken)
    if depthwise is not None and rules.takes_depthwise(root, depthwise):
        group.form = "separable"
        take(depthwise)
        pointwise = _only_convolution(group, taken)
        if pointwise is not None and rules.takes_pointwise(depthwise, pointwise):
            take(pointwise)


def _take_means(group: Group, rules: FusionRules, order: dict[Operation, int], taken: set[Operation]) -> None:
    """Adds means of the rows of the group's last convolution, if they are its first users."""
    last = [op for op in group.ops if isinstance(op, ConvOp)][-1]
    readers = _readers(group.ops[-1])
    means = min(readers, key=order.__getitem__, default=None)
    if not isinstance(means, ReduceMeanOp) or means in taken or len(readers) == 1 or not rules.makes_means(last):
        return
    same = element_type_of_value(means.x) == element_type_of_value(last.result)
    if same and means.keepdims is not None and ints(means.axes) == (2,) and len(group.results()) == 1:
        group.ops.append(means)
        group.members.add(means)


def _only_convolution(group: Group, taken: set[Operation]) -> ConvOp | None:
    """A convolution that is the only user of the group's result."""
    results, users = group.results(), _readers(group.ops[-1])
    if len(results) != 1 or len(users) != 1 or not isinstance(conv := users[0], ConvOp) or conv in taken:
        return None
    return conv if [*conv.operands].count(results[0]) == 1 and conv.x is results[0] else None


def _users(op: Operation, group: Group, order: dict[Operation, int]) -> list[Operation]:
    return sorted(set(_readers(op)) - group.members, key=order.__getitem__)


def _readers(op: Operation) -> list[Operation]:
    """The ops in the block of `op` that read its results, directly or in their regions."""
    block = op.parent
    assert block is not None
    return [user for result in op.results for user in users_in(block, result)]


def external_operands(ops: Sequence[Operation]) -> list[SSAValue]:
    """Values from outside that a group reads, in order of first use, without constants."""
    inside = {result for op in ops for result in op.results}
    seen = [value for op in ops for value in op.operands if value not in inside]
    return [value for value in dict.fromkeys(seen) if not isinstance(value.owner, ConstantOp)]
