"""NVIDIA's compiler from its wheel: code, what it needs, what it says of mistakes, and what is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mini_infer.dialects.errors import CompileError, ConfigError
from mini_infer.runtime.devices.cuda import nvrtc
from mini_infer.runtime.devices.cuda.nvrtc import Cubin, compile_cubin, compile_kernels, error_in, resources_in
from mini_infer.runtime.file_cache import FileCache

TEXT = """\
// /layer/Mul
#line 3 "/layer/Mul"
extern "C" __global__ void __launch_bounds__(64) scale(const float* x, float* y) {
  __shared__ float kept[64];
  kept[threadIdx.x] = x[threadIdx.x] * 2.0f;
  __syncthreads();
  y[threadIdx.x] = kept[63 - threadIdx.x];
}
"""
MISTAKE = TEXT.replace("2.0f", "factor")


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90a", "sm_100a"])
def test_a_text_becomes_machine_code(architecture: str) -> None:
    made = compile_kernels(TEXT, architecture, None)
    (needed,) = made.resources
    assert made.code.startswith(b"\x7fELF")
    assert needed.kernel == "scale" and needed.static_shared == 256
    assert 0 < needed.registers < 64 and needed.spill_stores == needed.spill_loads == 0


def test_a_kernel_that_spills_is_compiled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real, texts = nvrtc.nvrtc(), list[str]()

    class Spilling:
        version = real.version

        def compile(self, text: str, architecture: str) -> tuple[bytes, str]:
            code, log = real.compile(text, architecture)
            texts.append(text)
            return code, log if "(64, 1) scale(" in text else log.replace(
                "0 bytes spill stores", "8 bytes spill stores"
            )

    monkeypatch.setattr(nvrtc, "nvrtc", Spilling)
    made = compile_kernels(TEXT + TEXT.replace("scale", "rescale"), "sm_80", None)
    assert [each.spill_stores for each in made.resources] == [0, 0]
    assert len(texts) == 2 and texts[1].count("__launch_bounds__(64, 1)") == 2


def test_only_kernels_that_spill_are_compiled_otherwise() -> None:
    text = nvrtc.without_sharing(TEXT + TEXT.replace("scale", "rescale"), ["scale"])
    assert "__launch_bounds__(64, 1) scale(" in text and "__launch_bounds__(64) rescale(" in text


def test_a_mistake_names_the_kernel_and_the_node() -> None:
    with pytest.raises(CompileError, match=r'^/layer/Mul \(scale\): .*"factor" is undefined: kept\[') as raised:
        compile_cubin(MISTAKE, "sm_80", None)
    assert "\n" not in str(raised.value)


def test_a_mistake_outside_all_nodes_names_the_kernel() -> None:
    with pytest.raises(CompileError, match=r'^scale: .*"factor" is undefined'):
        compile_cubin(MISTAKE.replace("#line 3", "// line 3"), "sm_80", None)


def test_a_mistake_outside_all_kernels_names_the_line() -> None:
    with pytest.raises(CompileError, match=r"^kernels.cu, line 1: "):
        compile_cubin("int x = ;", "sm_80", None)


def test_what_the_assembler_refuses_is_told() -> None:
    with pytest.raises(CompileError, match=r"assembler: .*'scale' uses too much shared data"):
        compile_cubin(TEXT.replace("kept[64]", "kept[1 << 20]"), "sm_80", None)
    assert error_in("nothing wrong", TEXT) == ""


def test_an_unknown_architecture_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"doesn't know sm_20; it knows .*sm_90"):
        compile_cubin(TEXT, "sm_20", None)


def test_spills_are_read_from_the_log() -> None:
    log = """\
ptxas info    : Compiling entry function 'busy' for 'sm_90a'
ptxas info    : Function properties for busy
ptxas         .     16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem
"""
    (needed,) = resources_in(log)
    assert (needed.registers, needed.spill_stores, needed.spill_loads) == (255, 12, 8)
    assert (needed.stack, needed.static_shared) == (16, 1024)


def test_a_compiler_that_is_missing_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_files(package: str) -> list[Path]:
        return []

    monkeypatch.setattr(nvrtc, "_files", no_files)
    nvrtc.nvrtc.cache_clear()
    try:
        with pytest.raises(ConfigError, match=r"pip install 'mini-infer\[cuda13\]'"):
            compile_cubin(TEXT, "sm_80", None)
    finally:
        nvrtc.nvrtc.cache_clear()


class Compiler:
    """Stands in for the library, and counts."""

    version: tuple[int, int] = (13, 0)
    runs = 0

    def compile(self, text: str, architecture: str) -> tuple[bytes, str]:
        self.runs += 1
        return f"{architecture}: {text}".encode(), ""


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Compiler:
    made = Compiler()
    monkeypatch.setattr(nvrtc, "nvrtc", lambda: made)
    return made


def test_what_was_compiled_is_kept_by_content(compiler: Compiler, tmp_path: Path) -> None:
    folder = tmp_path / "some" / "cubins"
    assert compile_kernels("a", "sm_80", folder) == Cubin(b"sm_80: a", ()) == compile_kernels("a", "sm_80", folder)
    assert compiler.runs == 1
    compile_kernels("b", "sm_80", folder)
    compile_kernels("a", "sm_90", folder)
    compiler.version = (13, 1)
    compile_kernels("a", "sm_80", folder)
    assert compiler.runs == 4
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_damaged_entry_is_made_again(compiler: Compiler, tmp_path: Path) -> None:
    compile_kernels("a", "sm_80", tmp_path)
    (entry,) = tmp_path.glob("*.entry")
    whole = entry.read_bytes()
    for damaged in (whole[:-1], whole[:5], b"", whole[:-1] + b"?"):
        entry.write_bytes(damaged)
        assert compile_kernels("a", "sm_80", tmp_path).code == b"sm_80: a"
        assert entry.read_bytes() == whole
    assert compiler.runs == 5


def test_a_folder_that_cannot_be_used_keeps_nothing(compiler: Compiler, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    shared = tmp_path / "shared"
    shared.mkdir()
    os.chmod(shared, 0o777)
    for folder in (tmp_path / "file", tmp_path / "file" / "below", shared, None):
        assert compile_kernels("a", "sm_80", folder).code == b"sm_80: a"
    assert compiler.runs == 4 and not list(shared.iterdir())


def test_the_oldest_entries_go_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("mini_infer.runtime.file_cache.MOST_BYTES", 300)
    kept = FileCache(tmp_path)
    for number in range(4):
        kept.put(str(number), bytes(100))
        os.utime(tmp_path / f"{number}.entry", (number, number))
        assert number != 1 or kept.get("0") == bytes(100)  # which makes it the latest one
        if number == 1:
            os.utime(tmp_path / "0.entry", (9, 9))
    assert kept.get("0") == kept.get("3") == bytes(100)
    assert kept.get("1") is kept.get("2") is None


def test_cubins_are_kept_where_caches_are(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiler: Compiler) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compile_cubin("a", "sm_80")
    assert len(list((tmp_path / "mini_infer" / "cubins").iterdir())) == 1
