"""Inputs of commands from .npy and .npz files or a seed, and outputs to .npz files."""

from __future__ import annotations

import zipfile
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias, cast

import numpy as np

from ..dialects.atomic_file import atomic_file
from ..dialects.errors import ConfigError, InvalidInputError
from ..dialects.regular_file import open_regular
from ..runtime.inputs import checked
from ..runtime.memory.kv_cache_memory import beginning, lies_in
from ..runtime.specs import TensorSpec

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def seeded_inputs(specs: Iterable[TensorSpec], seed: int) -> dict[str, Array]:
    """Standard normal floats; 0 or 1 for integers (valid as indices of tables) and booleans."""
    random = np.random.default_rng(seed)
    made: dict[str, Array] = {}
    for spec in specs:
        floats = spec.dtype.kind not in "biu"
        numbers = random.standard_normal(spec.shape) if floats else random.integers(0, 2, spec.shape)
        made[spec.name] = np.asarray(numbers).astype(spec.dtype)
    return made


def load_inputs(files: Iterable[str], specs: Iterable[TensorSpec], seed: int | None) -> dict[str, Array]:
    """Inputs from `FILE.npz` (arrays by name) and `NAME=FILE.npy`; seeded ones for the others.

    Raises InvalidInputError naming the invalid file or input, ConfigError for a seed without use.
    """
    wanted = {spec.name: spec for spec in specs}
    given = arrays_of(files, wanted)
    left = [spec for name, spec in wanted.items() if name not in given]
    if seed is not None and not left:
        raise ConfigError("seed does nothing: no input is left to be made")
    seeded = seeded_inputs(left, seed or 0)
    return {name: seeded[name] if name in seeded else _typed(spec, given[name]) for name, spec in wanted.items()}


def _typed(spec: TensorSpec, array: Array) -> Array:
    """An array of an input's type; files have no name for some of them, such as bfloat16, and hold plain bytes."""
    is_unnamed = array.dtype.kind == "V" and array.dtype.itemsize == spec.dtype.itemsize
    return checked(spec, array.view(spec.dtype) if is_unnamed else array)


def arrays_of(files: Iterable[str], names: Collection[str]) -> dict[str, Array]:
    """The arrays in `FILE.npz` and `NAME=FILE.npy` for inputs of these names. Raises as `load_inputs`.

    Of a file that has all inputs, as that of a run's tensors has (`mini-infer run --dump`), the others are left out.
    """
    given: dict[str, Array] = {}
    for file in files:
        name, separator, path = file.partition("=")
        loaded = _load(path if separator else file)
        if isinstance(loaded, dict):
            given |= {name: loaded[name] for name in names} if loaded.keys() >= {*names} else loaded
        elif separator:
            given[name] = loaded
        elif len(names) == 1:
            given[next(iter(names))] = loaded
        else:
            raise InvalidInputError(f"{file}: which input is it? Write NAME={file}; there are {', '.join(names)}")
    if unknown := sorted(set(given) - set(names)):
        raise InvalidInputError(f"there is no input {', '.join(unknown)}; the model has {', '.join(names)}")
    return given


def in_place(inputs: Mapping[str, Array], outputs: Mapping[str, Array], caches: Mapping[str, str]) -> dict[str, Array]:
    """The inputs of a run with caches taken from the previous run's outputs, so that none is copied."""
    rooms = {past: lies_in(outputs[present]) for past, present in caches.items()}
    kept = {past: beginning(room.array(), inputs[past].shape) for past, room in rooms.items() if room is not None}
    return {**inputs, **kept}


def load_array(path: str) -> Array:
    """The array in a .npy file. Raises InvalidInputError naming the file."""
    loaded = _load(path)
    if isinstance(loaded, dict):
        raise InvalidInputError(f"{path}: not a .npy file")
    return loaded


def load_named(path: str) -> dict[str, Array]:
    """The arrays in a .npz file by name. Raises InvalidInputError naming the file."""
    loaded = _load(path)
    if not isinstance(loaded, dict):
        raise InvalidInputError(f"{path}: not a .npz file")
    return loaded


def _load(path: str) -> Array | dict[str, Array]:
    try:
        file = open_regular(path)
    except FileNotFoundError:
        raise InvalidInputError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidInputError(f"{path}: is a folder") from None
    except OSError as error:
        raise InvalidInputError(f"{path}: can't be read: {error.strerror}") from None
    try:
        with file:
            loaded: Any = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return cast("Array", loaded)
            with loaded:
                return {name: loaded[name] for name in loaded.files}
    except (EOFError, OSError, ValueError, zipfile.BadZipFile):
        raise InvalidInputError(f"{path}: not a .npy or .npz file of plain arrays") from None


def save_arrays(path: str, arrays: Mapping[str, Array]) -> None:
    """Writes an .npz file of arrays by any names, atomically. Raises MiniInferError if it can't be written."""
    with atomic_file(path) as stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
