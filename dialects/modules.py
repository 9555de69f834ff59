"""The modules of a package, by what lies in its folder: what each defines is collected without a list of them."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import TypeVar

Class = TypeVar("Class")


@cache
def _names(package: str) -> dict[str, str]:
    """The full names of the modules below a package, by the names of their files, which differ."""
    path = import_module(package).__path__
    return {file.name.rpartition(".")[2]: file.name for file in walk_packages(path, f"{package}.") if not file.ispkg}


def module_named(package: str, name: str) -> ModuleType:
    """The module below a package whose file has that name, imported."""
    return import_module(_names(package)[name])


def modules_below(package: str) -> list[ModuleType]:
    """All modules below a package, imported."""
    return [*map(import_module, _names(package).values())]


def classes_in(module: ModuleType, base: type[Class]) -> list[type[Class]]:
    """The classes below `base` that a module defines, abstract ones too."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)]
    return [each for each in classes if each.__module__ == module.__name__]
