"""split-norms: a normalisation between products is done by these: moments by the one, the rest by those that read it.

before:  %x = graph.add %p, %r                          %y = graph.layer_norm %x, %scale, %bias
         %q = graph.matmul %y, %w                       %z = graph.add %s, %y
after:   %x = graph.add %p, %r                          %m = graph.row_moments %x
         %n = graph.normalize %x, %m                    %q' = graph.matmul %n, %w'    %q = graph.add %q', %b'
         %o = graph.normalize %x, %m    %o' = graph.mul %o, %scale    %y = graph.add %o', %bias    %z = graph.add %s, %y

with %w' = %w times the scales of its rows, and %b' = %bias times %w, computed in double precision and rounded once. So
form-kernels can have the moments of %x made with it, and each reader normalise what it reads (`normalises_rows` of the
device's rules of fusion): one pass over the rows less, and on a GPU a launch.

Only over the last dimension, with a constant scale and bias, and where all that reads %y is a product of its rows and a
weight that nothing else reads, or is added to one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.base import ElementwiseOp, GraphOp
from ...dialects.graph.blobs import BlobStore, Source, blob_store
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.elementwise import AddOp, MulOp
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.ops.normalization import LayerNormOp, NormalizeOp, RmsNormOp, RowMomentsOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array, element_type_of_value, shape_of, tensor, type_of
from ...dialects.kernel.targets import target_of
from ...dialects.sizes.sizes import is_fixed
from ..statistics import count
from .fusion_rules import FusionRules
from .schedules import fusion_rules

Constant: TypeAlias = ConstantOp | WeightOp

PIECE = 32
"""Elements of a row whose moments are made together: as many as the narrowest tile of sums has columns."""


@dataclass(frozen=True)
class SplitNorms(ModulePass):
    """A normalisation between products is done by these."""

    name = "split-norms"
    forbid: tuple[str, ...] = ()
    """Schedules that are not to be taken, so that nothing is split for their sake."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        store, rules = blob_store(ctx), fusion_rules(target_of(op), self.forbid)
        norms = [each for each in op.walk() if isinstance(each, LayerNormOp | RmsNormOp)]
        splits = [each for each in norms if _splits(each, rules)]
        for each in splits:
            _split(each, store)
        count(ctx, self.name, "normalisations", len(splits))


def _splits(op: LayerNormOp | RmsNormOp, rules: FusionRules) -> bool:
    """Whether moments can be made with what is normalised, and all readers can normalise."""
    columns = shape_of(op.x)[-1]
    if [*op.whole_axes] != [len(shape_of(op.x)) - 1] or element_type_of_value(op.x) != f32:
        return False
    if (
        not is_fixed(columns)
        or columns % PIECE
        or not all(isinstance(each.owner, Constant) for each in op.operands[1:])
    ):
        return False
    if not made_by_products(op.x, op, rules):
        return False
    users = [use.operation for use in op.result.uses]
    products = [each for each in users if _product_of(each, op.result, rules) is not None]
    return bool(products) and all(each in products or _is_added(each, op, rules) for each in users)


def _product_of(op: Operation, rows: SSAValue, rules: FusionRules) -> MatmulOp | None:
    """The product of rows and a weight of its own, by an op that reads them: it, or a reshape that keeps them whole."""
    if op.parent is not rows.owner.parent:
        return None
    if isinstance(op, ReshapeOp) and op.result.has_one_use() and shape_of(op.result)[-1:] == shape_of(rows)[-1:]:
        (use,) = op.result.uses
        return None if isinstance(use.operation, ReshapeOp) else _product_of(use.operation, op.result, rules)
    if not isinstance(op, MatmulOp) or op.lhs is not rows or op.rhs is rows:
        return None
    return op if op.rhs.has_one_use() and rules.normalises_rows(op) else None


def _is_added(op: Operation, norm: Operation, rules: FusionRules) -> bool:
    """Whether an op is behind a product, in whose code it will be, and takes the rows once."""
    rows = norm.results[0]
    others = [operand for operand in op.operands if operand is not rows]
    if not isinstance(op, ElementwiseOp) or op.parent is not norm.parent or len(others) != 1:
        return False
    same = shape_of(op.results[0]) == shape_of(rows) == shape_of(others[0])
    return same and others[0].has_one_use() and made_by_products(others[0], norm, rules)


def made_by_products(value: SSAValue, norm: Operation, rules: FusionRules) -> bool:
    """Whether a value is made by products that normalise rows, with elementwise ops that nothing else reads."""
    roots = [*_roots(value)]
    return bool(roots) and all(
        isinstance(root, MatmulOp) and root.parent is norm.parent and rules.normalises_rows(root) for root in roots
    )


def _roots(value: SSAValue) -> Iterator[Operation]:
    """The ops with a form of their own at the beginnings of the chains of elementwise ops that end in a value."""
    owner = value.owner
    if isinstance(owner, ElementwiseOp):
        for operand in owner.operands:
            if shape_of(operand) == shape_of(value) and operand.has_one_use():
                yield from _roots(operand)
    elif isinstance(owner, GraphOp) and owner.FORM != "map":
        yield owner


def _split(op: LayerNormOp | RmsNormOp, store: BlobStore) -> None:
    moments = RowMomentsOp(op.x, PIECE, location=op.location)
    made = op.x.owner
    assert isinstance(made, Operation)
    Rewriter.insert_op(moments, InsertPoint.after(made))
    users = [use.operation for use in op.result.uses]
    for user in users:
        given, before = [op.x, moments.result], list[Operation]()
        reader = user
        if isinstance(user, ReshapeOp):
            before += [_reshaped_rows(value, op, user) for value in given]
            given = [each.results[0] for each in before]
            (use,) = user.result.uses
            reader = use.operation
        centred = isinstance(op, LayerNormOp)
        before.append(NormalizeOp(*given, epsilon=op.epsilon.value.data, centred=centred, location=op.location))
        normalised = before[-1].results[0]
        if isinstance(reader, MatmulOp):
            reader.operands[0] = normalised
            before += _take_affine(reader, op, store)
        else:
            before.append(MulOp(normalised, op.scale, location=op.location))
            if isinstance(op, LayerNormOp) and op.bias is not None:
                before.append(AddOp(before[-1].results[0], op.bias, location=op.location))
            reader.operands[[*reader.operands].index(op.result)] = before[-1].results[0]
        Rewriter.insert_op(before, InsertPoint.before(reader))
    _erase_unread([*users, op, *(each.owner for each in op.operands[1:])])


def _reshaped_rows(value: SSAValue, op: Operation, reshape: ReshapeOp) -> ReshapeOp:
    """Rows of the norm's operand, or their moments, in the shape that its result is given."""
    whole = len(shape_of(op.results[0])) - 1
    return ReshapeOp(value, (*shape_of(reshape.result)[:-1], *shape_of(value)[whole:]), location=reshape.location)


def _take_affine(product: MatmulOp, op: LayerNormOp | RmsNormOp, store: BlobStore) -> list[Operation]:
    """Gives a product a weight with the norm's scale in it, and adds what its bias makes; returns new constants."""
    weight, columns = product.rhs, shape_of(op.x)[-1]
    turned = product.transpose_b is not None
    lines = "columns" if turned else "rows"

    def scaled(matrix: Array, scale: Array) -> Array:
        factors = np.broadcast_to(scale, (columns,)).astype(np.float64)
        return (matrix * (factors if turned else factors[:, None])).astype(np.float32)

    def shifted(matrix: Array, bias: Array, *added: Array) -> Array:
        wide, matrix = np.broadcast_to(bias, (columns,)).astype(np.float64), matrix.astype(np.float64)
        return sum(added, matrix @ wide if turned else wide @ matrix).astype(np.float32)

    new = _computed(store, [weight, op.scale], shape_of(weight), f"{lines} times a scale", scaled, product)
    made: list[Operation] = [new]
    if isinstance(op, LayerNormOp) and op.bias is not None:
        shape = shape_of(product.result)[-1:]
        total, bias = _bias_of(product, shape)
        given = [weight, op.bias, *([] if bias is None else [bias])]
        made.append(_computed(store, given, shape, f"a bias times {lines}", shifted, product))
        if bias is None:
            total = AddOp(product.result, made[-1].results[0], location=product.location)
            product.result.replace_uses_with_if(total.result, lambda use: use.operation is not total)
            Rewriter.insert_op(total, InsertPoint.after(product))
        else:
            total.operands[[*total.operands].index(bias)] = made[-1].results[0]
            _erase_unread([bias.owner])
    product.operands[1] = new.results[0]
    _erase_unread([weight.owner])
    return made


def _computed(
    store: BlobStore,
    operands: Sequence[SSAValue],
    shape: tuple[int, ...],
    how: str,
    compute: Callable[..., Array],
    product: MatmulOp,
) -> WeightOp:
    """A weight that is computed of constants when it is asked for; `how` identifies the computation."""

    def fill(arrays: Sequence[Array], out: Array) -> None:
        out[...] = compute(*arrays)

    sources: list[Source] = [
        (each.owner.blob, type_of(each))
        if isinstance(each.owner, WeightOp)
        else cast("ConstantOp", each.owner).to_numpy()
        for each in operands
    ]
    return WeightOp(store.add_made(tensor(f32, shape), sources, how, fill), tensor(f32, shape), product.location)


def _bias_of(product: MatmulOp, shape: tuple[int, ...]) -> tuple[Operation, SSAValue | None]:
    """The op that adds a constant of a product's columns to its result, which nothing else reads, and the constant."""
    readers = [use.operation for use in product.result.uses]
    if len(readers) == 1 and isinstance(readers[0], AddOp):
        for value in readers[0].operands:
            if value is not product.result and isinstance(value.owner, Constant) and shape_of(value) == shape:
                return readers[0], value
    return product, None


def _erase_unread(owners: Sequence[Operation | Block]) -> None:
    """Erases ops that nothing reads, in order."""
    for owner in dict.fromkeys(owners):
        if isinstance(owner, Operation) and not any(result.uses for result in owner.results):
            Rewriter.erase_op(owner)
