"""The exceptions a user of mini_infer can meet. A message names the model node, the operator and the fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override


class MiniInferError(Exception):
    """Anything that mini_infer refuses or fails to do."""

    @override
    def __reduce__(self) -> tuple[object, ...]:
        """Copied and sent to other processes with all that it tells, whatever it was made of."""
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(
    kind: type[MiniInferError], arguments: tuple[object, ...], told: Mapping[str, object]
) -> MiniInferError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(told)
    return error


class UnsupportedError(MiniInferError):
    """The model is valid, but holds something that mini_infer doesn't do."""


class UnknownValueError(UnsupportedError):
    """What is compiled hangs on a value that isn't known yet; `inputs` names the model's inputs that it depends on."""

    def __init__(self, message: str, inputs: tuple[str, ...]) -> None:
        super().__init__(message)
        self.inputs = inputs


class InvalidModelError(MiniInferError):
    """The model, or a file it refers to, is malformed.

    It is a contradiction where the operands of a node don't fit it, with the shapes, types and values they have here.
    """

    def __init__(self, message: str, *, contradiction: bool = False) -> None:
        super().__init__(message)
        self.contradiction = contradiction


class InvalidInputError(MiniInferError):
    """An array given to a model doesn't fit it: missing, unknown, of the wrong shape or type; an index in it (or
    computed from it) is out of range; or it leads to a branch that can't be run."""


class OpenDimensionsError(InvalidInputError):
    """Dimensions of a model's inputs have no size. `dims` and `shapes` are an example of what gives one to all of them.

    `shapes` are of inputs with dimensions that have no name; None where the model doesn't even say how many there are.
    """

    def __init__(self, names: Sequence[str], dims: Mapping[str, int], shapes: Mapping[str, Sequence[int] | None]):
        self.dims, self.shapes = dims, shapes
        self.subject = f"dimensions of inputs have no size: {', '.join(names)}"
        sizes = [f"dims={dict(dims)}"] if dims else []
        if shapes:
            given = {name: "..." if shape is None else list(shape) for name, shape in shapes.items()}
            sizes.append(f"shapes={given}".replace("'...'", "[...]"))
        ranges = f", or ranges: profile=OptimizationProfile(dims={self.ranges})" if self.ranges else ""
        super().__init__(f"{self.subject}; give them sizes, such as {', '.join(sizes)}{ranges}")

    @property
    def ranges(self) -> dict[str, tuple[int, int, int]]:
        """An example of ranges instead; none where dimensions have no names to give ranges to."""
        return {} if self.shapes else {name: (1, size, 8 * size) for name, size in self.dims.items()}


class ConfigError(MiniInferError):
    """An option or a combination of options that makes no sense."""


class PlanError(MiniInferError):
    """A memory plan is impossible or wrong: a problem that is malformed or can't be met, or a plan with a mistake.

    `buffers` are the names it speaks of. `proven` says that no plan exists, as against none having been found.
    """

    def __init__(self, message: str, buffers: Sequence[str] = (), *, proven: bool = True) -> None:
        super().__init__(message)
        self.buffers = tuple(buffers)
        self.proven = proven


class OutOfMemoryError(MiniInferError):
    """A model, or its plan, needs more memory than there is."""


class DeviceError(MiniInferError):
    """A device, or its driver, reports a fault."""


class CompileError(MiniInferError):
    """Turning the IR into machine code failed."""


class KernelError(MiniInferError):
    """An emulated kernel did what no GPU promises to do right: threads race, bytes are read that nobody wrote, ..."""


def out_of_range(subject: str, index: int, size: int) -> InvalidInputError:
    """The error for an index that an op, by the name in `subject`, was given at run time."""
    return InvalidInputError(f"{subject}: index {index} is outside of a dimension of {size} elements")
