"""C++ for vector operations: loads and stores of up to 16 bytes, and access to lanes."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.dialects.vector import CombiningKindAttr
from xdsl.ir import Operation, SSAValue

from ..op_facts import fail, integers_of
from .arith_ops import FLOAT_FUNCTIONS, FUNCTIONS, LIBRARY, TRUTH, WRAPPING, rounded, widened
from .expressions import Expression, Lanes, binary, call, literal
from .kernel_text import Handler, KernelText
from .memref_ops import indices_of
from .types import element_of, is_half, is_truth, lanes_of


def _load(kernel: KernelText, op: Operation) -> None:
    buffer, *indices = op.operands
    place, count = kernel.place(buffer), lanes_of(op.results[0].type)
    given = indices_of(kernel, indices)
    text = f"load<{count}>({place.address(given)})"
    loaded = Expression(text, depends=place.element(given).depends)
    if is_truth(op.results[0].type):
        name = kernel.names.take("bytes")
        kernel.line(f"const vec<u8, {count}> {name} = {text};", op)
        lanes = Lanes(at=lambda lane: binary("!=", Expression(f"{name}[{lane}]"), literal(0)))
        kernel.define(op.results[0], lanes, op)
    else:
        kernel.define(op.results[0], Lanes(whole=loaded), op)


def _store(kernel: KernelText, op: Operation) -> None:
    value, buffer, *indices = op.operands
    place = kernel.place(buffer)
    if is_truth(value.type):
        lanes, name = kernel.lanes(value), kernel.names.take("bytes")
        kernel.line(f"vec<u8, {lanes_of(value.type)}> {name};", op)
        kernel.line(f"EACH_LANE({lanes_of(value.type)}) {name}[lane] = {lanes('lane').text};")
        text = name
    else:
        text = kernel.whole(value).text
    address = place.address(indices_of(kernel, indices))
    kernel.changed(place.space)
    kernel.line(f"store({address}, {text});", op)


def _broadcast(kernel: KernelText, op: Operation) -> None:
    (value,) = op.operands
    if lanes_of(value.type) is not None:
        if kernel.types.spelled(value.type) != kernel.types.spelled(op.results[0].type):
            fail(op, "only a number can be broadcast")
        kernel.define(op.results[0], kernel.value(value), op)
        return
    scalar = kernel.scalar_atom(value)
    kernel.define(op.results[0], Lanes(at=lambda _: scalar), op, many=True)


def _position(kernel: KernelText, op: Operation, dynamic: list[SSAValue]) -> Expression:
    positions = integers_of(op, "static_position")
    if len(positions) != 1:
        fail(op, "only one-dimensional vectors are supported in CUDA C++")
    return kernel.scalar(dynamic[0]) if positions[0] == DYNAMIC_INDEX else literal(positions[0])


def _extract(kernel: KernelText, op: Operation) -> None:
    vector, *dynamic = op.operands
    lane = _position(kernel, op, dynamic)
    kernel.define(op.results[0], kernel.lanes(vector)(lane.text), op)


def _insert(kernel: KernelText, op: Operation) -> None:
    """Replaces one lane; a chain of insertions that sets every lane is emitted as one vector."""
    given = _inserted(kernel, op)
    result, count = op.results[0], lanes_of(op.results[0].type)
    user = next(iter(result.uses)).operation if result.has_one_use() else None
    if user is not None and user.name == op.name and user.operands[1] is result and _is_static(user):
        return  # emitted by the last insertion of its chain
    chain, source = given
    if len(chain) == count:
        lanes = [kernel.scalar(chain[lane]) for lane in range(count or 0)]
        kernel.define(result, kernel.vector(op, lanes), op)
        return
    first = kernel.whole(source)
    name = kernel.name(result)
    kernel.line(f"{kernel.types.spelled(result.type)} {name} = {first.text};", op)
    if chain:
        for lane, value in sorted(chain.items()):
            kernel.line(f"{name}[{lane}] = {kernel.scalar(value).text};")
    else:
        lane = _position(kernel, op, list(op.operands[2:]))
        kernel.line(f"{name}[{lane.text}] = {kernel.scalar(op.operands[0]).text};")
    kernel.variable(result, name)


def _is_static(op: Operation) -> bool:
    return DYNAMIC_INDEX not in integers_of(op, "static_position")


def _inserted(kernel: KernelText, op: Operation) -> tuple[dict[int, SSAValue], SSAValue]:
    """The lanes set by a chain of insertions, last first, and the vector at its start."""
    chain: dict[int, SSAValue] = {}
    source = op.results[0]
    owner: object = op
    while isinstance(owner, Operation) and owner.name == op.name and _is_static(owner):
        if owner is not op and not source.has_one_use():
            break
        (lane,) = integers_of(owner, "static_position")
        chain.setdefault(lane, owner.operands[0])
        source = owner.operands[1]
        owner = source.owner
        if isinstance(owner, Operation) and owner.parent_block() is not op.parent_block():
            break
    return chain, op.operands[1] if source is op.results[0] else source


def _from_elements(kernel: KernelText, op: Operation) -> None:
    lanes = [kernel.scalar(each) for each in op.operands]
    kernel.define(op.results[0], kernel.vector(op, lanes), op)


def _shuffle(kernel: KernelText, op: Operation) -> None:
    first = lanes_of(op.operands[0].type) or 0
    for each in op.operands:
        kernel.atom(each)
    a, b = (kernel.lanes(each) for each in op.operands)
    mask = integers_of(op, "mask")
    lanes = [a(str(lane)) if lane < first else b(str(lane - first)) for lane in mask]
    kernel.define(op.results[0], kernel.vector(op, lanes), op)


_SYMBOLS = {"add": "+", "mul": "*", "and": "&", "or": "|", "xor": "^"}


def _reduction(kernel: KernelText, op: Operation) -> None:
    """Tree reduction by halves: the order of a float sum is unspecified, and this one has the shortest chain."""
    vector, *accumulator = op.operands
    kernel.atom(vector)
    type = op.results[0].type
    join = _joining(kernel, op)
    at, count = kernel.lanes(vector), lanes_of(vector.type) or 0
    parts = [widened(at(str(lane)), type) for lane in range(count)]
    while len(parts) > 1:
        pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    (result,) = parts
    if accumulator:
        result = join(widened(kernel.scalar(accumulator[0]), type), result)
    kernel.define(op.results[0], rounded(result, type), op)


def _joining(kernel: KernelText, op: Operation) -> Callable[[Expression, Expression], Expression]:
    kind, type = op.properties["kind"], op.results[0].type
    assert isinstance(kind, CombiningKindAttr)
    name = str(kind.data)
    is_float = is_half(type) or kernel.types.spelled(type) in ("float", "double")
    symbol = _SYMBOLS.get(name, "")
    if is_truth(type) and symbol:
        return lambda a, b: binary(TRUTH[f"{name}i"], a, b)
    if symbol in WRAPPING and not is_float and not isinstance(element_of(type), IndexType):
        return lambda a, b: call(WRAPPING[symbol], a, b)
    if symbol:
        return lambda a, b: binary(symbol, a, b)
    if name in LIBRARY:
        suffix = "" if kernel.types.spelled(type) == "double" else "f"
        return lambda a, b: call(LIBRARY[name] + suffix, a, b)
    function = FUNCTIONS.get(name) or FLOAT_FUNCTIONS.get(name)
    if function is not None:
        return lambda a, b: call(function, a, b)
    fail(op, f"there is no reduction '{name}' in CUDA C++")


def _bitcast(kernel: KernelText, op: Operation) -> None:
    (value,) = op.operands
    target = kernel.types.spelled(op.results[0].type)
    if target == kernel.types.spelled(value.type):
        kernel.define(op.results[0], kernel.value(value), op)
    else:
        kernel.define(op.results[0], Lanes(whole=call(f"bits_as<{target}>", kernel.whole(value))), op)


def _step(kernel: KernelText, op: Operation) -> None:
    kernel.define(op.results[0], Lanes(at=lambda lane: Expression(lane)), op, many=True)


HANDLERS: dict[str, Handler] = {
    "vector.load": _load,
    "vector.store": _store,
    "vector.broadcast": _broadcast,
    "vector.splat": _broadcast,
    "vector.extract": _extract,
    "vector.insert": _insert,
    "vector.from_elements": _from_elements,
    "vector.shuffle": _shuffle,
    "vector.reduction": _reduction,
    "vector.bitcast": _bitcast,
    "vector.step": _step,
}
