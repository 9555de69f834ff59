"""Runs programs written for ONNX Runtime: `import onnxruntime` in them finds mini_infer's interface.

python -m mini_infer.onnxruntime program.py arguments...
python -m mini_infer.onnxruntime -m module arguments...
"""

from __future__ import annotations

import builtins
import os
import sys
from types import ModuleType
from typing import Any

USAGE = "usage: python -m mini_infer.onnxruntime [-m module | program.py] arguments..."
_STATE = "onnxruntime_pybind11_state"


def install(interface: ModuleType) -> None:
    """Makes `import onnxruntime` find `interface` in this process, for modules that import it from now on.

    Raises RuntimeError if the real onnxruntime was imported before.
    """
    found = sys.modules.get("onnxruntime")
    if found is interface:
        return
    if found is not None:
        raise RuntimeError("onnxruntime is imported already: call install() before")
    capi = ModuleType("onnxruntime.capi", "The modules of onnxruntime.capi that programs import names from.")
    capi.__path__ = []
    capi.__version__ = interface.__version__  # type: ignore[attr-defined]
    sys.modules |= {"onnxruntime": interface, "onnxruntime.capi": capi}
    for name in (_STATE, "_pybind_state", "onnxruntime_inference_collection"):
        made = ModuleType(f"onnxruntime.capi.{name}", interface.__doc__)
        made.__dict__.update(_public(interface))
        setattr(capi, name, made)
        sys.modules[made.__name__] = made
    interface.capi = capi  # type: ignore[attr-defined]
    interface.__path__ = []  # so that a submodule that there is not is a ModuleNotFoundError that names it


def _public(interface: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(interface).items() if not name.startswith("__")}


def run_program(interface: ModuleType, arguments: list[str]) -> None:
    """Runs a program, or with "-m" a module, as Python would. Exits with an error if there is none."""
    if not arguments or arguments == ["-m"]:
        sys.exit(USAGE)
    if arguments[0] in ("-h", "--help"):
        print(USAGE)
        return
    install(interface)
    if arguments[0] == "-m":
        if not _is_module(arguments[1]):
            sys.exit(f"{sys.executable}: No module named {arguments[1]}")
        import runpy

        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    path = arguments[0]
    if not os.path.isfile(path) and not os.path.isdir(path):
        print(f"{sys.executable}: can't open file {os.path.abspath(path)!r}: no such file", file=sys.stderr)
        sys.exit(2)
    sys.argv = arguments
    if os.path.isdir(path) or path.endswith(".pyz"):
        import runpy

        sys.path[0] = path
        runpy.run_path(path, run_name="__main__")
        return
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    with open(path, "rb") as file:
        code = compile(file.read(), path, "exec")
    main = ModuleType("__main__")
    main.__dict__.update(__file__=path, __builtins__=builtins)
    sys.modules["__main__"] = main
    exec(code, main.__dict__)


def _is_module(name: str) -> bool:
    import importlib.util

    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):  # of the package around it, or of no name at all
        return False
