"""What the interpreter of GPU code refuses: each fault is found, and the code without it runs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from gpu_runs import kernel_function, run

from mini_infer.dialects.errors import KernelError
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

X = "memref<64xf32>"
SHARED = "memref<64xf32, #gpu.address_space<workgroup>>"
COMMON = f"""
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c31 = arith.constant 31 : index
    %c32 = arith.constant 32 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %one = arith.constant 1.0 : f32
    %bytes = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %s = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to {SHARED}
    %back = arith.subi %c63, %tid : index
    %mirror = arith.subi %c31, %tid : index
    %first = arith.cmpi ult, %tid, %c32 : index
    %only = arith.cmpi eq, %tid, %c0 : index
    %block0 = arith.cmpi eq, %bid, %c0 : index
    %block1 = arith.cmpi eq, %bid, %c1 : index
"""
LOAD = f"%v = memref.load %x[%tid] : {X}\n"
STORE = f"memref.store %v, %y[%tid] : {X}\n"
PUT = f"memref.store %v, %s[%tid] : {SHARED}\n"
STORE_BACK = f"memref.store %v, %y[%back] : {X}\n"
GET = f"%w = memref.load %s[%back] : {SHARED}\nmemref.store %w, %y[%tid] : {X}\n"
ROWS = "memref<32x4xf32, #gpu.address_space<workgroup>>"
BARRIER = "gpu.barrier\n"
COPY = f"nvgpu.device_async_copy %x[%tid], %s[%tid], 1 : {X} to {SHARED}\n"
GROUP = "nvgpu.device_async_create_group\n"
WAIT = "nvgpu.device_async_wait 0\n"
MEET = "nvgpu.cluster_barrier\n"
RANK = "%other = arith.xori %bid, %c1 : index\n%rank = arith.andi %other, %c1 : index\n"
BORROW = f"%w = nvgpu.cluster_load %s[%tid] of %rank : {SHARED} -> f32\n"
GRID = "nvgpu.grid_barrier %n : memref<1xi32>\n"
OWN_BLOCK = f"scf.if %only {{\nmemref.store %one, %y[%bid] : {X}\n}}\n"
OTHER_BLOCK = f"%o = arith.xori %bid, %c1 : index\n%w = memref.load %y[%o] : {X}\n"
SHUFFLE = """%off = arith.constant 1 : i32
    %width = arith.constant 32 : i32
    %u, %valid = gpu.shuffle xor %v, %off, %width : f32
"""


def matrices(index: str = "tid") -> str:
    """32 rows of 16 bytes, to one of which each lane points."""
    return f"""%t = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to {ROWS}
    %p = nvgpu.ldmatrix %t[%{index}, %c0] {{numTiles = 4 : i32, transpose = false}} : {ROWS} -> vector<4xf32>
    %e = vector.extract %p[0] : f32 from vector<4xf32>
    memref.store %e, %y[%tid] : {X}
    """


ROW = f"""%v = vector.load %x[%c0] : {X}, vector<4xf32>
    %r = memref.view %bytes[%c0][] : memref<?xi8, #gpu.address_space<workgroup>> to {ROWS}
    vector.store %v, %r[%tid, %c0] : {ROWS}, vector<4xf32>
"""


def when(condition: str, body: str) -> str:
    return f"scf.if %{condition} {{\n{body}}}\n"


def every_other(body: str) -> str:
    odd = "%c2 = arith.constant 2 : index\n%rest = arith.remui %tid, %c2 : index\n"
    return f"{odd}%even = arith.cmpi eq, %rest, %c0 : index\n{when('even', body)}"


def behind(offset: int) -> str:
    """A window that starts so many elements behind the start."""
    window = f"memref<64xf32, strided<[1], offset: {offset}>>"
    cast = f"%p = memref.reinterpret_cast %x to offset: [{offset}], sizes: [64], strides: [1] : {X} to {window}\n"
    return f"{cast}%v = memref.load %p[%tid] : {window}\n{STORE}"


PRIVATE = "memref<4xf32, #gpu.address_space<private>>"
OWN = f"%p = memref.alloca() : {PRIVATE}\n"
TAKE = f"%v = memref.load %p[%c1] : {PRIVATE}\n"


@dataclass(frozen=True)
class Fault:
    """Code that is wrong, what is said of it, and the same code mended."""

    wrong: str
    message: str
    right: str
    threads: int = 64
    blocks: int = 1
    unwritten: tuple[int, ...] = ()
    shared: int = 256
    cluster: int = 1
    cooperative: bool = False


def indexed(index: str) -> str:
    return f"%i = arith.addi %tid, %{index} : index\n%v = memref.load %x[%i] : {X}\n{STORE}"


def vector_at(factor: str, shift: str) -> str:
    return f"""%j = arith.muli %tid, %{factor} : index
    %i = arith.addi %j, %{shift} : index
    %v = vector.load %x[%i] : {X}, vector<4xf32>
    vector.store %v, %y[%j] : {X}, vector<4xf32>
    """


def store_at(index: str) -> str:
    return f"{LOAD}memref.store %v, %y[%{index}] : {X}\n"


FAULTS = {
    "an index beyond the end": Fault(
        indexed("c1"), r"index 64 is outside of dimension 0 of 64; .*thread \(63, 0, 0\)", indexed("c0")
    ),
    "a negative index": Fault(
        f"%i = arith.subi %tid, %c1 : index\n%v = memref.load %x[%i] : {X}\n{STORE}",
        r"index -1 is outside .*thread \(0, 0, 0\)",
        indexed("c0"),
    ),
    "an index beyond the end behind a branch": Fault(
        when("first", indexed("c63")), r"index 64 is outside .*thread \(1, 0, 0\)", when("first", indexed("c31"))
    ),
    "a vector over the end": Fault(
        vector_at("c4", "c4"), r"index 64 with 4 lanes is outside", vector_at("c4", "c0"), threads=16
    ),
    "a vector between its places": Fault(
        vector_at("c4", "c1"), r"byte 4 is no multiple of 16", vector_at("c4", "c0"), threads=15
    ),
    "a window over the end of its buffer": Fault(
        behind(32), r"byte 256 is outside of the argument's 256 bytes", behind(0)
    ),
    "no barrier between writing and reading": Fault(
        LOAD + PUT + GET,
        r"reads bytes of shared memory that thread \d+ of block 0.* writes too",
        LOAD + PUT + BARRIER + GET,
    ),
    "no barrier between reading and writing again": Fault(
        LOAD + PUT + BARRIER + GET + PUT, r"shared memory that thread", LOAD + PUT + BARRIER + GET + BARRIER + PUT
    ),
    "no barrier between writing in one order and in another": Fault(
        LOAD + STORE + STORE_BACK, r"writes bytes of global memory that thread", LOAD + STORE + BARRIER + STORE_BACK
    ),
    "a barrier of another block, in shared memory": Fault(
        LOAD + PUT + when("block0", BARRIER) + when("block1", GET),
        r"reads bytes of shared memory that thread \d+ of block 1",
        LOAD + PUT + when("block0", BARRIER + GET),
        blocks=2,
    ),
    "a barrier of another block, in global memory": Fault(
        LOAD + when("block1", STORE) + when("block0", BARRIER) + when("block1", STORE_BACK),
        r"writes bytes of global memory that thread \d+ of block 1",
        LOAD + when("block0", STORE + BARRIER + STORE_BACK),
        blocks=2,
    ),
    "a barrier that only some reach": Fault(
        LOAD + PUT + when("first", BARRIER), r"some threads of the block don't reach it", LOAD + PUT + BARRIER
    ),
    "a barrier in a loop that ends early for some": Fault(
        f"scf.for %k = %c0 to %tid step %c1 {{\n{BARRIER}}}",
        r"don't reach it",
        f"scf.for %k = %c0 to %c4 step %c1 {{\n{BARRIER}}}",
    ),
    "a warp's words through shared memory without a barrier": Fault(
        LOAD + PUT + GET.replace("%back", "%mirror"), r"with no barrier between", LOAD + SHUFFLE, threads=32
    ),
    "shared memory that are uninitialised": Fault(
        LOAD + when("first", PUT) + BARRIER + GET,
        r"reads bytes of shared memory that are uninitialised",
        LOAD + PUT + BARRIER + GET,
    ),
    "two threads write one place": Fault(store_at("c0"), r"global memory that thread", LOAD + when("only", STORE)),
    "two blocks write one place": Fault(
        LOAD + when("only", STORE),
        r"writes bytes of global memory that thread 0 of block 1",
        LOAD + when("only", when("block0", STORE)),
        blocks=2,
    ),
    "a block reads what another writes": Fault(
        LOAD + when("block0", f"memref.store %v, %x[%tid] : {X}\n"), r"global memory that thread", LOAD, blocks=3
    ),
    "global memory that are uninitialised": Fault(
        f"%v = memref.load %y[%tid] : {X}\nmemref.store %v, %y[%tid] : {X}\n",
        r"reads bytes of global memory that are uninitialised",
        LOAD + STORE + f"%z = memref.load %y[%tid] : {X}\n",
        unwritten=(1,),
    ),
    "a copy that nobody waits for": Fault(
        COPY + GROUP + BARRIER + GET, r"still being copied", COPY + GROUP + WAIT + BARRIER + GET
    ),
    "a copy that is in no group": Fault(
        COPY + WAIT + BARRIER + GET, r"still being copied", COPY + GROUP + WAIT + BARRIER + GET
    ),
    "a wait for too few groups": Fault(
        COPY + GROUP + "nvgpu.device_async_wait 1\n" + BARRIER + GET,
        r"still being copied",
        COPY + GROUP + GROUP + "nvgpu.device_async_wait 1\n" + BARRIER + GET,
    ),
    "a copy read by others without a barrier": Fault(
        COPY + GROUP + WAIT + GET, r"with no barrier between", COPY + GROUP + WAIT + BARRIER + GET
    ),
    "a store where a copy goes": Fault(LOAD + COPY + PUT, r"still being copied", LOAD + COPY + GROUP + WAIT + PUT),
    "a copy over what others still read": Fault(
        LOAD + PUT + BARRIER + GET + COPY + GROUP + WAIT,
        r"no barrier between",
        LOAD + PUT + BARRIER + GET + BARRIER + COPY + GROUP + WAIT,
    ),
    "a shuffle that some lanes miss": Fault(
        LOAD + every_other(SHUFFLE), r"some threads of the warp take no part", LOAD + when("first", SHUFFLE)
    ),
    "matrices that some lanes don't load": Fault(
        ROW + BARRIER + every_other(matrices()),
        r"some threads of the warp take no part",
        ROW + BARRIER + matrices(),
        threads=32,
        shared=512,
    ),
    "a row of a matrix beyond the end": Fault(
        ROW + BARRIER + f"%i = arith.addi %tid, %c1 : index\n{matrices('i')}",
        r"index 32 is outside of dimension 0 of 32; .*thread \(31, 0, 0\)",
        ROW + BARRIER + f"%i = arith.addi %tid, %c0 : index\n{matrices('i')}",
        threads=32,
        shared=512,
    ),
    "matrices loaded without a barrier": Fault(
        ROW + f"%i = arith.subi %c31, %tid : index\n{matrices('i')}",
        r"reads bytes of shared memory that thread \d+ of block 0.* writes too",
        ROW + BARRIER + f"%i = arith.subi %c31, %tid : index\n{matrices('i')}",
        threads=32,
        shared=512,
    ),
    "no barrier before another block's memory is read": Fault(
        RANK + LOAD + PUT + BARRIER + BORROW + MEET,
        r"reads what another block has written with no barrier of the cluster since",
        RANK + LOAD + PUT + MEET + BORROW + MEET,
        blocks=4,
        cluster=2,
    ),
    "a block that ends while another one reads its memory": Fault(
        RANK + LOAD + PUT + MEET + BORROW,
        r"another block may end before it reads, with no barrier of the cluster since; block \(0,",
        RANK + LOAD + PUT + MEET + BORROW + MEET,
        blocks=2,
        cluster=2,
    ),
    "a block that ends while some threads of another one read its memory": Fault(
        RANK + LOAD + PUT + MEET + when("block1", when("first", BORROW)),
        r"another block may end before it reads",
        RANK + LOAD + PUT + MEET + when("block1", when("first", BORROW)) + MEET,
        blocks=2,
        cluster=2,
    ),
    "memory that is written while another block reads it": Fault(
        RANK + LOAD + PUT + MEET + BORROW + BARRIER + PUT + MEET,
        r"writes bytes of shared memory that another block of the cluster may still read",
        RANK + LOAD + PUT + MEET + BORROW + MEET + PUT + MEET,
        blocks=2,
        cluster=2,
    ),
    "memory that another block has not written": Fault(
        RANK + LOAD + when("block0", PUT) + MEET + BORROW + MEET,
        r"another block's shared memory that are uninitialised; block \(0,",
        RANK + LOAD + when("block0", PUT) + MEET + when("block1", BORROW) + MEET,
        blocks=2,
        cluster=2,
    ),
    "a block that the cluster hasn't": Fault(
        RANK + LOAD + PUT + MEET + BORROW.replace("%rank", "%c4") + MEET,
        r"there is no block 4 in a cluster of 2",
        RANK + LOAD + PUT + MEET + BORROW.replace("%rank", "%c1") + MEET,
        blocks=2,
        cluster=2,
    ),
    "a place outside of another block's memory": Fault(
        RANK + LOAD + PUT + MEET + BORROW.replace("%tid", "%c64") + MEET,
        r"index 64 is outside of dimension 0 of 64",
        RANK + LOAD + PUT + MEET + BORROW.replace("%tid", "%c63") + MEET,
        blocks=2,
        cluster=2,
    ),
    "a barrier that only one block of the cluster reaches": Fault(
        when("block0", MEET), r"some blocks of the cluster don't reach it", MEET, blocks=2, cluster=2
    ),
    "a barrier that only some threads of the cluster reach": Fault(
        when("first", MEET), r"some threads of the block don't reach it", MEET, blocks=2, cluster=2
    ),
    "a copy over what another block may still read": Fault(
        RANK + LOAD + PUT + MEET + BORROW + COPY + GROUP + WAIT + MEET,
        r"another block of the cluster may still read",
        RANK + LOAD + PUT + MEET + BORROW + MEET + COPY + GROUP + WAIT,
        blocks=2,
        cluster=2,
    ),
    "the own memory, without a barrier": Fault(
        LOAD + PUT + f"%w = nvgpu.cluster_load %s[%back] of %bid : {SHARED} -> f32\n" + MEET,
        r"shared memory that thread \d+ of block 0.* writes too",
        LOAD + PUT + BARRIER + f"%w = nvgpu.cluster_load %s[%back] of %bid : {SHARED} -> f32\n",
        blocks=2,
        cluster=2,
    ),
    "no barrier of the grid before what another block writes is read": Fault(
        OWN_BLOCK + BARRIER + OTHER_BLOCK,
        r"reads bytes of global memory that block \d, counted flat, writes too, in the same launch",
        OWN_BLOCK + GRID + OTHER_BLOCK,
        blocks=2,
        cooperative=True,
    ),
    "no barrier of the grid before what another block reads is overwritten": Fault(
        OWN_BLOCK + GRID + OTHER_BLOCK + BARRIER + OWN_BLOCK,
        r"writes bytes of global memory that block \d, counted flat, reads too, in the same launch",
        OWN_BLOCK + GRID + OTHER_BLOCK + GRID + OWN_BLOCK,
        blocks=2,
        cooperative=True,
    ),
    "a barrier that only one block of the grid reaches": Fault(
        when("block0", GRID), r"some blocks of the grid don't reach it; block \(0,", GRID, blocks=3, cooperative=True
    ),
    "a barrier that only some threads of the grid reach": Fault(
        when("first", GRID), r"some threads of the block don't reach it", GRID, blocks=2, cooperative=True
    ),
    "a counter that is set in the same launch": Fault(
        "%zero = arith.constant 0 : i32\n" + when("block0", "memref.store %zero, %n[%c0] : memref<1xi32>\n") + GRID,
        r"global memory",
        GRID + GRID,
        blocks=2,
        cooperative=True,
    ),
    "a private array that nobody wrote": Fault(
        OWN + TAKE + STORE,
        r"element 1 of a private array was not written",
        OWN + f"memref.store %one, %p[%c1] : {PRIVATE}\n" + TAKE + STORE,
    ),
}


def execute(body: str, fault: Fault, checked: bool = True) -> list[Array]:
    arrays = [np.arange(64, dtype=np.float32), np.zeros(64, np.float32)]
    arguments = f"%x: {X}, %y: {X}"
    if fault.cooperative:
        arrays, arguments = [*arrays, np.zeros(1, np.int32)], f"{arguments}, %n: memref<1xi32>"
    function = kernel_function(arguments, COMMON + body, fault.cluster, cooperative=fault.cooperative)
    run(
        function,
        arrays,
        threads=fault.threads,
        blocks=fault.blocks,
        shared=fault.shared,
        checked=checked,
        unwritten=fault.unwritten,
    )
    return arrays


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found(name: str) -> None:
    fault = FAULTS[name]
    with pytest.raises(KernelError, match=fault.message) as caught:
        execute(fault.wrong, fault)
    assert str(caught.value).startswith("tested: ")
    assert " block (" in str(caught.value)


@pytest.mark.parametrize("name", FAULTS)
def test_code_without_the_fault_runs(name: str) -> None:
    fault = FAULTS[name]
    checked, unchecked = (execute(fault.right, fault, checked) for checked in (True, False))
    for a, b in zip(checked, unchecked, strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_counter_is_0_at_first_and_turned_over_by_each_barrier() -> None:
    kernel = Kernel(kernel_function("%n: memref<1xi32>", GRID, cooperative=True))
    counter = np.zeros(1, np.int32)
    for expected in (-(2**31), 0, -(2**31)):
        run(kernel, [counter], threads=32, blocks=5)
        assert counter[0] == expected
    with pytest.raises(KernelError, match="the counter is 5: an earlier launch must set it to 0"):
        run(kernel, [np.full(1, 5, np.int32)], threads=32, blocks=5)
    with pytest.raises(KernelError, match="that are uninitialised"):
        run(kernel, [np.zeros(1, np.int32)], threads=32, blocks=5, unwritten=[0])


def test_all_blocks_of_a_cooperative_launch_run_together() -> None:
    """More of them than are run at once otherwise."""
    function = kernel_function(f"%y: {X}, %n: memref<1xi32>", f"{COMMON}{GRID}", cooperative=True)
    run(function, [np.zeros(64, np.float32), np.zeros(1, np.int32)], threads=1024, blocks=132)


def test_status_may_be_written_by_several_threads() -> None:
    kernel = Kernel(kernel_function("%x: memref<1xf32>", COMMON + "memref.store %one, %x[%c0] : memref<1xf32>"))
    data = np.zeros(4, np.uint8)
    kernel.run((2, 1, 1), (64, 1, 1), 256, [GlobalRange(data, is_status=True)])
    assert data.view(np.float32)[0] == 1
    with pytest.raises(KernelError):
        kernel.run((2, 1, 1), (64, 1, 1), 256, [GlobalRange(data)])


def test_memory_that_may_only_be_read() -> None:
    kernel = Kernel(kernel_function(f"%y: {X}", COMMON + "%v = arith.constant 2.0 : f32\n" + STORE))
    data = np.zeros(256, np.uint8)
    data.flags.writeable = False
    with pytest.raises(KernelError, match="memory that may only be read"):
        kernel.run((1, 1, 1), (64, 1, 1), 256, [GlobalRange(data)])


def test_a_batch_has_whole_clusters() -> None:
    """Of more blocks than are run at once, in clusters of a number that doesn't divide it."""
    function = kernel_function(f"%x: {X}", f"{COMMON}{LOAD}{PUT}{MEET}", 6)
    run(function, [np.zeros(64, np.float32)], threads=1024 // 16, blocks=1026, shared=256)
    with pytest.raises(KernelError, match="1025 blocks along x are no whole number of clusters of 6"):
        run(function, [np.zeros(64, np.float32)], threads=64, blocks=1025, shared=256)


def test_races_between_batches_of_blocks_are_found() -> None:
    """More blocks than are run at once."""
    wide = "memref<1024xf32>"
    body = f"""%v = memref.load %x[%tid] : {wide}
    %k = arith.remui %bid, %c64 : index
    {when("only", f"memref.store %v, %y[%k] : {X}")}"""
    function = kernel_function(f"%x: {wide}, %y: {X}", COMMON + body)
    arrays = [np.zeros(1024, np.float32), np.zeros(64, np.float32)]
    run(function, arrays, threads=1024, blocks=64, shared=256)
    with pytest.raises(KernelError, match=r"global memory that block 0, counted flat, writes too, in the same launch"):
        run(function, arrays, threads=1024, blocks=65, shared=256)
