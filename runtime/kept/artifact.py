"""A compiled model in one file with code for several CPUs, and engines loaded from it."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError, InvalidInputError, InvalidModelError
from ...dialects.json_text import read_json
from ...dialects.regular_file import open_regular
from ..config import EngineConfig
from ..engine import CompiledModel, Engine
from ..profile import OptimizationProfile
from ..shapes.start_engine import start_engine
from ..specs import TensorSpec
from .container import Blob, Container, write
from .cpu_levels import CpuLevel
from .cpus import HostCpu, host_cpu
from .kept_plans import plain_plan, read_plan, read_record
from .keys import interface_text, options_text, version
from .records import KeptError, Reader, Writer

if TYPE_CHECKING:
    from ..native.images.image import Image

_UNKNOWN_HERE = {"specialize", "best"}  # of the options, what is a digest only, or no option


def write_artifact(
    path: str | os.PathLike[str],
    model: str,
    config: EngineConfig,
    built: Sequence[tuple[CpuLevel, Sequence[CompiledModel]]],
    teams: Mapping[str, Image],
) -> int:
    """Writes a file with plans for CPUs, best first, and `teams` by architecture; returns its size in bytes.

    Raises MiniInferError if the file can't be written.
    """
    blobs: list[Blob] = []
    variants = [
        {
            "level": Writer().plain(level),
            "plans": [plain_plan(each, blobs, teams.get(level.architecture)) for each in plans],
        }
        for level, plans in built
    ]
    about = {
        "model": model,
        "version": version(),
        "interface": interface_text(),
        "options": options_text(config),
        "variants": variants,
    }
    with atomic_file(os.fspath(path)) as stream:
        write(stream, about, blobs)
        return os.fstat(stream.fileno()).st_size


def load(path: str | os.PathLike[str]) -> Engine:
    """Loads an engine from a file made by `mini-infer build`, with the best code in it that this CPU can run.

    Everything used of the file is checked first, and its weights are memory-mapped: it must not change while an engine
    is in use. It contains machine code: load only files you would execute.

    Raises InvalidModelError, which names the file, if it is missing, broken, of another version, or without code for
    this CPU, and for a value that is no path; OutOfMemoryError if the model doesn't fit.
    """
    with _container(path) as container:
        return _engine(container, host_cpu())


def signature(path: str | os.PathLike[str]) -> tuple[tuple[TensorSpec, ...], tuple[TensorSpec, ...]]:
    """The inputs and the outputs of a file made by `mini-infer build`, for any CPU; sizes may be symbolic.

    Raises InvalidModelError as `load` does, except for missing code for this CPU.
    """
    with _container(path) as container:
        _check_interface(container)
        plan = container.about["variants"][0]["plans"][0]
        record = read_record(Reader(plan["tables"]), plan)
        return record.inputs, record.outputs


@contextmanager
def _container(path: str | os.PathLike[str]) -> Generator[Container]:
    """The file's container; any error in it becomes an InvalidModelError that names the file."""
    if not isinstance(cast("object", path), str | os.PathLike):
        raise InvalidModelError(f"load takes the path of a .mi file, not {type(path).__name__}")
    name = os.fspath(path)
    try:
        with open_regular(name) as file:
            container = Container(file)
        yield container
    except OSError as error:
        raise InvalidModelError(f"{name}: can't be read: {error.strerror}") from None
    except (KeptError, ConfigError) as error:
        raise InvalidModelError(f"{name}: {error}") from None
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidModelError(f"{name}: is no compiled model: {error!r}") from None


def _check_interface(container: Container) -> None:
    if container.about.get("interface") != interface_text():
        made = container.about.get("version", "another version")
        raise KeptError(f"it was made by mini_infer {made} and is not for this one, {version()}: build it again")


def _engine(container: Container, cpu: HostCpu) -> Engine:
    """An engine with the file's code for this CPU, for the shapes that it was compiled for."""
    about = container.about
    _check_interface(container)
    read = Reader().read
    levels: list[CpuLevel] = [read(CpuLevel, each["level"], "level") for each in about["variants"]]
    plans = [each["plans"] for level, each in zip(levels, about["variants"], strict=True) if level.suits(cpu)]
    if not plans:
        known = ", ".join(level.name for level in levels)
        raise KeptError(f"it has code for {known}; this CPU ({cpu.title}) is none of these")
    config = _config(about["options"])
    found = [read_plan(container, each, config) for each in plans[0]]
    names = found[0].plan.input_names

    def build(best: Mapping[str, Sequence[int]]) -> CompiledModel:
        if not best:
            return found[0]
        from ..shapes.shape_family import ShapeFamily

        shapes = tuple(tuple(best[name]) for name in names)
        for each in found:
            if ShapeFamily(each).suits(shapes):
                return each
        listed = ", ".join(f"{name}={list(shape)}" for name, shape in best.items())
        raise InvalidInputError(f"the file has no code for the shapes {listed}: build it with these, too")

    return start_engine(config, build, lambda: names)


def _config(text: str) -> EngineConfig:
    options = {name: value for name, value in read_json(text).items() if name not in _UNKNOWN_HERE}
    if options.get("profile") is not None:
        options["profile"] = OptimizationProfile(**options["profile"])
    return EngineConfig.of(**options)
