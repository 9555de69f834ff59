"""Discovery of the modules of a package and the classes of a module, in place of lists kept by hand."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import walk_packages
from types import ModuleType
from typing import TypeVar

Class = TypeVar("Class")


@cache
def _names(package: str) -> dict[str, str]:
    """Qualified names of all modules below a package, by file name; file names are unique there."""
    path = import_module(package).__path__
    return {file.name.rpartition(".")[2]: file.name for file in walk_packages(path, f"{package}.") if not file.ispkg}


def module_named(package: str, name: str) -> ModuleType:
    """Imports the module below a package that is in the file of that name."""
    return import_module(_names(package)[name])


def modules_below(package: str) -> list[ModuleType]:
    """Imports all modules below a package."""
    return [*map(import_module, _names(package).values())]


def classes_in(module: ModuleType, base: type[Class]) -> list[type[Class]]:
    """Subclasses of `base` defined in a module, abstract ones included, in the order of their definition."""
    classes = [value for value in vars(module).values() if isinstance(value, type) and issubclass(value, base)]
    return [each for each in classes if each.__module__ == module.__name__]
