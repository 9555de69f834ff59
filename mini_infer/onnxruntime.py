"""ONNX Runtime's Python interface on mini_infer: programs written for `onnxruntime` run unchanged.

    import mini_infer.onnxruntime as ort

    session = ort.InferenceSession("model.onnx")
    outputs = session.run(None, {"x": x})

`python -m mini_infer.onnxruntime program.py arguments...` runs a program whose `import onnxruntime` finds this module;
`install()` does the same for what the calling program imports afterwards.
"""

import sys

from .runtime.onnxruntime_api import program_runner
from .runtime.onnxruntime_api.environment import (
    VERSION as __version__,
)
from .runtime.onnxruntime_api.environment import (
    disable_telemetry_events,
    enable_telemetry_events,
    get_all_providers,
    get_available_providers,
    get_build_info,
    get_device,
    get_version_string,
    preload_dlls,
    set_default_logger_severity,
    set_default_logger_verbosity,
    set_seed,
)
from .runtime.onnxruntime_api.io_bindings import IOBinding
from .runtime.onnxruntime_api.node_args import ModelMetadata, NodeArg
from .runtime.onnxruntime_api.ort_values import OrtDevice, OrtValue
from .runtime.onnxruntime_api.session import InferenceSession
from .runtime.onnxruntime_api.session_options import (
    ExecutionMode,
    ExecutionOrder,
    GraphOptimizationLevel,
    OrtAllocatorType,
    OrtMemType,
    RunOptions,
    SessionOptions,
)
from .runtime.onnxruntime_api.status_errors import (
    EngineError,
    EPFail,
    Fail,
    InvalidArgument,
    InvalidGraph,
    InvalidProtobuf,
    ModelLoaded,
    NoModel,
    NoSuchFile,
    NotImplemented,
    RuntimeException,
)

SessionIOBinding = IOBinding

__all__ = [
    "EPFail",
    "EngineError",
    "ExecutionMode",
    "ExecutionOrder",
    "Fail",
    "GraphOptimizationLevel",
    "IOBinding",
    "InferenceSession",
    "InvalidArgument",
    "InvalidGraph",
    "InvalidProtobuf",
    "ModelLoaded",
    "ModelMetadata",
    "NoModel",
    "NoSuchFile",
    "NodeArg",
    "NotImplemented",
    "OrtAllocatorType",
    "OrtDevice",
    "OrtMemType",
    "OrtValue",
    "RunOptions",
    "RuntimeException",
    "SessionIOBinding",
    "SessionOptions",
    "__version__",
    "disable_telemetry_events",
    "enable_telemetry_events",
    "get_all_providers",
    "get_available_providers",
    "get_build_info",
    "get_device",
    "get_version_string",
    "install",
    "preload_dlls",
    "set_default_logger_severity",
    "set_default_logger_verbosity",
    "set_seed",
]


def install() -> None:
    """Makes `import onnxruntime` find this module in this process, for what is imported from now on.

    Raises RuntimeError if the real onnxruntime was imported before.
    """
    program_runner.install(sys.modules[__name__])


if __name__ == "__main__":
    from . import onnxruntime  # this module under its own name: classes are to be there once

    program_runner.run_program(onnxruntime, sys.argv[1:])
