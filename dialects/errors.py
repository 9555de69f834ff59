"""The exceptions a user of mini_infer can meet. A message names the model node, the operator and the fact."""


class MiniInferError(Exception):
    """Anything that mini_infer refuses or fails to do."""


class UnsupportedError(MiniInferError):
    """The model is valid, but holds something that mini_infer doesn't do."""


class UnknownValueError(UnsupportedError):
    """What is compiled hangs on a value that isn't known yet; `inputs` names the model's inputs that it depends on."""

    def __init__(self, message: str, inputs: tuple[str, ...]) -> None:
        super().__init__(message)
        self.inputs = inputs


class InvalidModelError(MiniInferError):
    """The model, or a file it refers to, is malformed."""


class InvalidInputError(MiniInferError):
    """An array given to a model doesn't fit it: missing, unknown, of the wrong shape or type, or an index in it (or
    computed from it) is out of range."""


class ConfigError(MiniInferError):
    """An option or a combination of options that makes no sense."""


class PlanError(MiniInferError):
    """A memory plan is impossible or wrong."""


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
