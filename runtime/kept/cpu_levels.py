"""CPUs for which a file has code: architecture levels, and the builder's own CPU."""

from __future__ import annotations

from dataclasses import dataclass

from ...dialects.errors import ConfigError
from ..machine_facts import may_use_amx
from .cpus import HostCpu

_V2 = ("cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3")
_V3 = (*_V2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe", "xsave")
_V4 = (*_V3, "avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl")
_LEVELS = {"x86-64": (), "x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
_TRIPLES = {"x86_64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
OWN = "native"


@dataclass(frozen=True)
class CpuLevel:
    """A CPU target: LLVM's name, and the features, by Linux's names, that a CPU needs to run its code."""

    name: str
    architecture: str
    machine: str
    """As targets.cpu_target takes it."""
    flags: tuple[str, ...]
    model: str = ""
    """Where only CPUs of one model are known to have all that code uses."""

    def suits(self, cpu: HostCpu) -> bool:
        """Whether that CPU can run the code."""
        same = self.architecture == cpu.architecture and self.model in ("", cpu.model)
        return same and cpu.flags.issuperset(self.flags) and ("amx_tile" not in self.flags or may_use_amx())


def level_named(name: str, host: HostCpu) -> CpuLevel:
    """A level: x86-64, -v2, -v3, -v4, aarch64, or native. Raises ConfigError for any other."""
    if name in _LEVELS:
        machine = name if host.architecture == "x86_64" else f"{_TRIPLES['x86_64']}:{name}"
        return CpuLevel(name, "x86_64", machine, _LEVELS[name])
    if name == "aarch64":
        machine = "generic" if host.architecture == "aarch64" else f"{_TRIPLES['aarch64']}:generic"
        return CpuLevel(name, "aarch64", machine, ("asimd",))
    if name == OWN:
        return CpuLevel(name, host.architecture, "", _known_to_llvm(host), host.model)
    raise ConfigError(f"there is no CPU level {name!r}; there are {', '.join((*_LEVELS, 'aarch64', OWN))}")


def usual_levels(host: HostCpu) -> tuple[str, ...]:
    """The default levels of a file: those of this architecture, and its own CPU."""
    return ("x86-64-v2", "x86-64-v3", "x86-64-v4", OWN) if host.architecture == "x86_64" else ("aarch64", OWN)


def _known_to_llvm(host: HostCpu) -> tuple[str, ...]:
    """This CPU's features that LLVM may use, by Linux's names; the others follow from the CPU model."""
    from ..native.llvm_worker import binding

    features = {_plain(name) for name, there in binding().get_host_cpu_features().items() if there}
    return tuple(sorted(flag for flag in host.flags if _plain(flag) in features))


def _plain(name: str) -> str:
    return name.replace("_", "").replace(".", "").replace("-", "")
