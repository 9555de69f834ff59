"""Names of C++ variables: those of the IR, unless taken or reserved by C++ or the prelude."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files

from .library import FUNCTIONS

_WORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
    double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
    true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor xor_eq
    lane threadIdx blockIdx blockDim gridDim warpSize INFINITY NAN NULL
"""


def prelude() -> str:
    """The text emitted before the kernels."""
    return _file("prelude.cuh")


def warpgroup_prelude() -> str:
    """The text emitted behind it if kernels use warpgroups, bulk copies or their barriers."""
    return _file("warpgroup.cuh")


def cluster_prelude() -> str:
    """The text emitted behind it if blocks form clusters."""
    return _file("cluster.cuh")


def grid_barrier_prelude() -> str:
    """The text emitted behind it if kernels are cooperative."""
    return _file("grid_barrier.cuh")


@cache
def _file(name: str) -> str:
    return (files("mini_infer.lowering.gpu_to_cuda") / name).read_text(encoding="utf-8")


@cache
def reserved() -> frozenset[str]:
    """Names that no variable may have."""
    text = prelude() + warpgroup_prelude() + cluster_prelude() + grid_barrier_prelude()
    own = re.findall(r"(?:#define|using|struct|\w[\w<>, ]*(?= \w+\())(?: alignas\(.*\))? (\w+)", text)
    functions = {f"{name}{suffix}" for name in FUNCTIONS.values() for suffix in ("", "f")}
    return frozenset((*_WORDS.split(), "wgmma", *own, *functions))


class Names:
    """The names in scope; names taken inside braces are released after them."""

    def __init__(self) -> None:
        self._taken = set(reserved())

    def take(self, wish: str) -> str:
        """`wish` as an identifier, with a number appended if it is taken."""
        stem = re.sub(r"\W", "_", wish, flags=re.ASCII).strip("_") or "value"
        if stem[0].isdigit():
            stem = f"v{stem}"
        name, number = stem, 1
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}" if stem[-1].isdigit() else f"{stem}{number}"
        self._taken.add(name)
        return name

    def take_first(self, wishes: Sequence[str]) -> str:
        """The first free wish, else the first one with a number."""
        return self.take(next((wish for wish in wishes if wish not in self._taken), wishes[0]))

    @contextmanager
    def scope(self) -> Generator[None]:
        """A context after which the names taken in it are free again."""
        outer = set(self._taken)
        yield
        self._taken = outer
