"""The exceptions that users of mini_infer can meet. A message names the model node, the operator and the fact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import override


class MiniInferError(Exception):
    """The base of all errors raised by mini_infer."""

    @override
    def __reduce__(self) -> tuple[object, ...]:
        """Pickles with all attributes, for any constructor arguments."""
        return _made_again, (type(self), self.args, self.__dict__)


def _made_again(
    kind: type[MiniInferError], arguments: tuple[object, ...], told: Mapping[str, object]
) -> MiniInferError:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(told)
    return error


class UnsupportedError(MiniInferError):
    """The model is valid, but uses something that mini_infer doesn't support."""


class UnknownValueError(UnsupportedError):
    """The compilation needs a value that isn't known yet; `inputs` names the model inputs it depends on."""

    def __init__(self, message: str, inputs: tuple[str, ...]) -> None:
        super().__init__(message)
        self.inputs = inputs


class InvalidModelError(MiniInferError):
    """The model, or a file it refers to, is malformed.

    `contradiction`: the operands of a node are invalid for it with their actual shapes, types and values.
    """

    def __init__(self, message: str, *, contradiction: bool = False) -> None:
        super().__init__(message)
        self.contradiction = contradiction


class InvalidInputError(MiniInferError):
    """An array given to a model doesn't fit it.

    It is missing, unknown, or of the wrong shape or type; an index in it (or computed from it) is out of range; or it
    selects a branch that can't be run.
    """


class BusyError(InvalidInputError):
    """A context is used, bound, given other shapes or closed while another thread, or a run it enqueued, uses it."""


class RunCancelledError(MiniInferError):
    """A run was cancelled before it was over. What it has written to bound outputs is undefined."""


class TimeLimitError(MiniInferError, TimeoutError):
    """A run was not over within its time limit. What it has written to bound outputs is undefined."""


class NonFiniteError(MiniInferError):
    """A run with `check` met a NaN, or an infinity.

    In the `tensor` of this name, at `index`; made by the call of `kernel`, which computes the ONNX `nodes`, in its run
    number `turn` (more than 0 in a loop). Of an input of the model the kernel is "".
    """

    def __init__(
        self,
        message: str,
        tensor: str,
        index: tuple[int, ...],
        kernel: str = "",
        nodes: tuple[str, ...] = (),
        turn: int = 0,
    ) -> None:
        super().__init__(message)
        self.tensor, self.index, self.kernel, self.nodes, self.turn = tensor, index, kernel, nodes, turn


class OpenDimensionsError(InvalidInputError):
    """Dimensions of a model's inputs are unbound. `dims` and `shapes` are an example that binds all of them.

    `shapes` has the inputs with unnamed dimensions; None for one whose rank the model doesn't declare. `places` are the
    sizes that `shapes` gives to open dimensions, the unnamed ones by input and axis ("x.0").
    """

    def __init__(
        self,
        names: Sequence[str],
        dims: Mapping[str, int],
        shapes: Mapping[str, Sequence[int] | None],
        places: Mapping[str, int] | None = None,
    ):
        self.dims, self.shapes, self.places = dims, shapes, places or {}
        self.subject = f"dimensions of inputs have no size: {', '.join(names)}"
        sizes = [f"dims={dict(dims)}"] if dims else []
        if shapes:
            given = {name: "..." if shape is None else list(shape) for name, shape in shapes.items()}
            sizes.append(f"shapes={given}".replace("'...'", "[...]"))
        ranges = f", or ranges: profile=OptimizationProfile(dims={self.ranges})" if self.ranges else ""
        super().__init__(f"{self.subject}; give them sizes, such as {', '.join(sizes)}{ranges}")

    @property
    def ranges(self) -> dict[str, tuple[int, int, int]]:
        """An example of ranges instead; empty if the model doesn't declare the rank of an input."""
        if None in self.shapes.values():
            return {}
        return {name: (1, size, 8 * size) for name, size in {**self.dims, **self.places}.items()}


class ConfigError(MiniInferError):
    """An invalid option or combination of options."""


class OperatorError(MiniInferError):
    """A user's operator is wrong: its registration, its function, or its kernel. Names the operator and the place."""


class PlanError(MiniInferError):
    """A memory plan is impossible or wrong: an invalid or infeasible problem, or an incorrect plan.

    `buffers` are the names of the buffers concerned. `proven`: no plan exists, rather than none was found.
    """

    def __init__(self, message: str, buffers: Sequence[str] = (), *, proven: bool = True) -> None:
        super().__init__(message)
        self.buffers = tuple(buffers)
        self.proven = proven


class OutOfMemoryError(MiniInferError):
    """A model, or its plan, needs more memory than is available."""


class DeviceError(MiniInferError):
    """A device or its driver reports an error."""


class CompileError(MiniInferError):
    """Code generation failed."""


class KernelError(MiniInferError):
    """An emulated kernel has undefined behaviour: a data race, a read of uninitialised bytes, ..."""


def out_of_range(subject: str, index: int, size: int) -> InvalidInputError:
    """The error for a run-time index out of range; `subject` names the op."""
    return InvalidInputError(f"{subject}: index {index} is outside of a dimension of {size} elements")
