"""The registry of operators by domain, name and version: the import's own handlers, and what users register.

As in ONNX, a node gets the operator with the highest `since` that is not above the version of its domain that the model
imports. Packages register operators on demand: each entry point of the group "mini_infer.operators" names a module,
which is imported when a model uses an operator that is not known yet.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from ..errors import OperatorError

if TYPE_CHECKING:
    from .operator import Operator

GROUP = "mini_infer.operators"
BUILT_IN = "built in"
STANDARD_DOMAINS = (
    "",
    "ai.onnx.ml",
    "ai.onnx.preview",
    "ai.onnx.preview.training",
    "ai.onnx.training",
    "com.microsoft",
)
"""Domains whose operators this package defines, or could."""


class Registry:
    """Operators by (domain, name), then by `since`."""

    def __init__(self) -> None:
        self._operators: dict[tuple[str, str], dict[int, Operator]] = {}
        self._loaded = False

    def add(self, operator: Operator) -> None:
        """Registers an operator.

        A user's replaces one that was defined by the same function of the same module: a cell that is run again, or a
        module that is imported again. Raises OperatorError if another has this name and version, or if it is one of
        this package's and `override` isn't set.
        """
        known = self._operators.setdefault((operator.domain, operator.name), {})
        if operator.kind == BUILT_IN:
            known[operator.since] = operator
            return
        if not operator.override and any(each.kind == BUILT_IN for each in known.values()):
            raise OperatorError(
                f"operator {operator.full_name}: mini_infer has it; override=True replaces it for every model"
            )
        before = known.get(operator.since)
        if before is not None and before.kind != BUILT_IN and not _is_again(before, operator):
            raise OperatorError(
                f"operator {operator.full_name} since {operator.since} is registered twice: at {before.origin} and at "
                f"{operator.origin}"
            )
        known[operator.since] = operator

    def find(self, domain: str, name: str, version: int) -> Operator | None:
        """The operator for a version of its domain; None if there is none.

        For a domain that is not standard, packages are asked before the answer is None.
        """
        found = self._find(domain, name, version)
        if found is None and domain not in STANDARD_DOMAINS and not self._loaded:
            self.load_packages()
            found = self._find(domain, name, version)
        return found

    def _find(self, domain: str, name: str, version: int) -> Operator | None:
        known = self._operators.get((domain, name), {})
        suited = [since for since in known if since <= version]
        return known[max(suited)] if suited else None

    def exactly(self, domain: str, name: str, since: int) -> Operator | None:
        """The operator that is registered since exactly this version."""
        self.find(domain, name, since)
        return self._operators.get((domain, name), {}).get(since)

    def versions(self, domain: str, name: str) -> list[int]:
        """The versions since which the operator is registered."""
        return sorted(self._operators.get((domain, name), {}))

    def listed(self) -> list[Operator]:
        """All operators that are registered so far, by domain, name and version."""
        keys = sorted(self._operators)
        return [self._operators[key][since] for key in keys for since in sorted(self._operators[key])]

    def remove(self, operator: Operator) -> None:
        """Forgets an operator."""
        known = self._operators.get((operator.domain, operator.name), {})
        if known.get(operator.since) is operator:
            del known[operator.since]

    def load_packages(self) -> None:
        """Imports the modules that installed packages name in the group GROUP, once; warns of one that fails."""
        if self._loaded:
            return
        self._loaded = True
        from importlib.metadata import entry_points  # takes 10 ms to import

        for entry in entry_points(group=GROUP):
            try:
                import_module(entry.value.partition(":")[0])
            except Exception as error:  # another package's code may raise anything; models without it still compile
                warnings.warn(
                    f"operators of {entry.name} ({entry.value}) can't be imported: {type(error).__name__}: {error}",
                    stacklevel=2,
                )


def _is_again(before: Operator, now: Operator) -> bool:
    one, other = before.function, now.function
    return (
        one is not None
        and other is not None
        and (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
    )


OPERATORS = Registry()
"""The operators of this process."""
