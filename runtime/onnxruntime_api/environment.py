"""Functions of the module `onnxruntime` that are about the installation rather than a model."""

from __future__ import annotations

import logging
import sys
from typing import Any

VERSION = "1.32.0"
"""The version of ONNX Runtime whose interface this is."""
PROVIDERS = ("CPUExecutionProvider",)
"""The execution providers that there are."""
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR, logging.CRITICAL)


def get_available_providers() -> list[str]:
    """The execution providers that there are: the CPU's."""
    return [*PROVIDERS]


def get_all_providers() -> list[str]:
    """The execution providers that there could be: the CPU's."""
    return [*PROVIDERS]


def get_device() -> str:
    """The device that models run on: "CPU"."""
    return "CPU"


def get_version_string() -> str:
    """The version of ONNX Runtime whose interface this is."""
    return VERSION


def get_build_info() -> str:
    """What runs models."""
    own = sys.modules[__name__.partition(".")[0]].__version__
    return f"mini_infer {own} with the interface of ONNX Runtime {VERSION}"


def set_default_logger_severity(severity: int) -> None:
    """Sets the level of the logger "mini_infer": 0 is all there is to tell, 4 next to nothing.

    Raises RuntimeError for another number.
    """
    if severity not in range(len(_LEVELS)):
        raise RuntimeError("Invalid logging severity. 0:Verbose, 1:Info, 2:Warning, 3:Error, 4:Fatal")
    logging.getLogger("mini_infer").setLevel(_LEVELS[severity])


def set_default_logger_verbosity(level: int) -> None:
    """Does nothing: there is one degree of verbosity."""


def set_seed(seed: int) -> None:
    """Does nothing: operators that draw random numbers have seeds of their own."""


def disable_telemetry_events() -> None:
    """Does nothing: nothing is ever reported."""


def enable_telemetry_events() -> None:
    """Does nothing: nothing is ever reported."""


def preload_dlls(*arguments: Any, **options: Any) -> None:
    """Does nothing: no libraries of a GPU are used."""
