"""The file of a code family, by the schedule that it carries out."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType


@cache
def _files(package: str) -> dict[str, str]:
    """The files below a package by their own names, which differ."""
    path = import_module(package).__path__
    return {file.name.rpartition(".")[2]: file.name for file in walk_packages(path, f"{package}.") if not file.ispkg}


def family_of(package: str, schedule: str) -> ModuleType:
    """The file below a package that has the name of a schedule: its `lower` writes a kernel's code."""
    return import_module(_files(package)[schedule])


def import_families(package: str) -> None:
    """Imports all files below a package."""
    for name in _files(package).values():
        import_module(name)
