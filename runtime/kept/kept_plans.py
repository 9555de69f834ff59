"""Conversion of plans to plain records and sections, and back."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from ...dialects.errors import InvalidModelError
from ...dialects.json_text import read_json
from ...dialects.page_blocks import BLOCK
from ...dialects.sizes.guards import Guard, Guards
from ...dialects.threads import MOST_THREADS
from ...passes.pass_counts import PassStatistics
from ..config import EngineConfig
from ..device import Array
from ..devices.cpu.cpu_device import DEVICE
from ..engine import CompiledModel
from ..limits import check_fits
from ..memory.mapped_file import MappedPart, PagedWeights, mapped_parts
from ..native.allowed_calls import ALLOWED, KERNELS_MAY_CALL
from ..native.images.image import PAGE, Image, Links
from ..native.images.loaded import LoadedImage, UnloadedImage
from ..native.team import have_team
from ..plan import InferencePlan
from ..specs import PlanRecord, values_of
from .begun_model import WrittenWeights
from .container import Blob, Container
from .records import KeptError, Reader, Writer
from .weight_files import WeightFiles

if TYPE_CHECKING:
    from ...passes.memory.report.memory_plan import MemoryPlan
    from ..arena import Arena

ENTRY = "mini_infer_run"
NAME = re.compile(r"[0-9a-f]{32}-\d{1,18}")
"""Of a file of weights."""


def can_be_kept(plan: InferencePlan) -> bool:
    """Whether the plan's code is an image: not that of GPUs, nor of systems without ELF."""
    return isinstance(plan.code, LoadedImage | UnloadedImage)


def plain_plan(
    made: CompiledModel, blobs: list[Blob], team: Image | None, weights: WrittenWeights | None = None
) -> Any:
    """A compiled model as plain values; large parts are appended to `blobs` and represented by their numbers.

    `team` is needed if the plan is for several threads; `weights` are those of a file that begins with them, and of
    files of their own.
    """
    plan, guards = made.plan, made.guards
    assert isinstance(plan.code, LoadedImage | UnloadedImage) and plan.weights.host is not None
    writer = Writer()
    report = writer.plain(plan.memory)
    found = {
        "plan": writer.plain(PlanRecord(**values_of(plan, PlanRecord))),
        "arena": None if plan.arena is None else writer.plain(plan.arena),
        "guards": None if guards is None else writer.plain(tuple(guards.noted.values())),
        "tables": writer.tables(),
        "image": _plain_image(plan.code.image, blobs),
        "team": None if plan.threads == 1 or team is None else _plain_image(team, blobs),
        "report": _added(blobs, Blob.of(json.dumps(report, separators=(",", ":")).encode())),
        "weights": _plain_weights(Blob(plan.weights.host, large=True) if weights is None else weights, blobs),
        "rewrites": [[*names, times] for names, times in made.statistics.counts.items()],
        "isolated": made.statistics.isolated,
    }
    return found


def read_plan(
    container: Container, found: Any, config: EngineConfig, files: WeightFiles | None = None
) -> CompiledModel:
    """The model of such values, for a CPU that its code runs on. Weights outside of the container lie in `files`.

    Raises KeptError, and OutOfMemoryError for a plan of one shape that doesn't fit.
    """
    reader = Reader(found["tables"])
    record = read_record(reader, found)
    report = container.section(found["report"])
    weights = _read_weights(container, found["weights"], files)
    if found["team"] is not None:
        have_team(LoadedImage(_read_image(container, found["team"])))
    elif record.threads > 1:
        raise KeptError("its plan is for threads, whose code it lacks")
    image = _read_image(container, found["image"])
    if ENTRY not in dict(image.links.exports):
        raise KeptError(f"its code has no function {ENTRY}")
    plan = InferencePlan(
        **values_of(record, PlanRecord),
        config=config,
        arena=None if found["arena"] is None else _read_arena(reader, found["arena"]),
        report=cache(lambda: _read_report(reader, report.tobytes())),
        weights=PagedWeights(weights, config.weights_bytes or 0) if record.pages_weights else DEVICE.hold(weights),
        code=LoadedImage(image),
    )
    guards = None
    if found["guards"] is not None:
        guards = Guards()
        for guard in reader.read(tuple[Guard, ...], found["guards"], "guards"):
            guards.note(guard)
    statistics = PassStatistics(isolated=[*map(str, found["isolated"])])
    for pass_name, what, times in found["rewrites"]:
        statistics.add(pass_name, what, times)
    if guards is None and config.max_workspace_size is None:
        check_fits(plan.arena_bytes, plan.inputs, plan.outputs, DEVICE.memory_bytes())
    return CompiledModel(plan, statistics, guards)


def read_record(reader: Reader, found: Any) -> PlanRecord:
    """The plan described by such values, except for its code. Raises KeptError."""
    record: PlanRecord = reader.read(PlanRecord, found["plan"], "plan")
    _check(record)
    return record


def _read_arena(reader: Reader, found: Any) -> Arena:
    from ..arena import Arena  # with the planner, which a plan for one shape has no use for

    arena: Arena = reader.read(Arena, found, "arena")
    return arena


def _read_report(reader: Reader, text: bytes) -> MemoryPlan:
    """The memory plan, parsed when it is first used, after the file has been checked."""
    from ...passes.memory.report.memory_plan import MemoryPlan  # for the few who look at it

    try:
        return reader.read(MemoryPlan, read_json(text), "report")
    except (ValueError, KeyError, TypeError, IndexError, AttributeError) as error:
        raise InvalidModelError(f"the compiled model has no plan of its memory: {error!r}") from None


def _added(blobs: list[Blob], blob: Blob) -> int:
    blobs.append(blob)
    return len(blobs) - 1


def _plain_weights(weights: Blob | WrittenWeights, blobs: list[Blob]) -> Any:
    if isinstance(weights, Blob):
        return _added(blobs, weights)
    files = [[offset, name, blob.data.nbytes, blob.digest] for offset, name, blob in weights.files]
    return {"nbytes": weights.data.nbytes, "own": _added(blobs, weights.own), "files": files}


def _read_weights(container: Container, found: Any, files: WeightFiles | None) -> Array:
    """The segment of weights, mapped and checked, none of it resident."""
    if type(found) is int or files is None:
        return container.section(found)
    nbytes = int(found["nbytes"])
    own, digest = container.part(found["own"])
    parts, digests, names = [own], [digest], [""]
    with ExitStack() as opened:
        for offset, name, size, digest in cast("list[tuple[int, str, int, str]]", found["files"]):
            if offset % BLOCK or not 0 <= offset <= offset + size <= nbytes or not NAME.fullmatch(name):
                raise KeptError(f"its weight {name} lies outside of the others")
            file = files.open(name, size)
            if file is None:
                raise KeptError(f"its weight {name} is gone")
            opened.enter_context(file)
            parts.append(MappedPart(file.fileno(), 0, size, offset))
            digests.append(digest)
            names.append(name)
        if own.nbytes > nbytes:
            raise KeptError("its weights lie outside of their segment")
        whole, advise = mapped_parts(parts, nbytes)
    for part, digest, name in zip(parts, digests, names, strict=True):
        if Blob.within(whole, advise, part.place, part.nbytes).digest != digest:
            if name:
                files.drop(name)
            raise KeptError(f"its weight {name} is damaged")
    return whole


def _plain_image(image: Image, blobs: list[Blob]) -> dict[str, Any]:
    return {"data": _added(blobs, Blob.of(image.data)), "links": Writer().plain(image.links)}


def _read_image(container: Container, found: Any) -> Image:
    data = container.section(found["data"]).tobytes()
    links: Links = Reader().read(Links, found["links"], "code")
    if links.writable % PAGE or not 0 <= links.writable <= len(data):
        raise KeptError(f"its code's writable part begins at byte {links.writable}")
    if any(not links.writable <= at <= len(data) - 8 for at in (*(at for _, at in links.imports), *links.moved)):
        raise KeptError("its code has a pointer where none may be")
    if strange := sorted({name for name, _ in links.imports} - ALLOWED - KERNELS_MAY_CALL):
        raise KeptError(f"its code calls {', '.join(strange)}")
    places = [*(at for _, at in links.exports), *(at + size for _, at, size in links.functions)]
    if any(not 0 <= at <= len(data) for at in places):
        raise KeptError("its code has a function outside of it")
    return Image(data, links)


def _check(record: PlanRecord) -> None:
    """Raises KeptError for a plan whose code would access memory out of bounds."""
    specs = (*record.inputs, *record.outputs, *record.counts)
    if any(type(size) is int and size < 0 for spec in specs for size in spec.shape):
        raise KeptError("it has a shape with a negative size")
    if not 1 <= record.threads <= MOST_THREADS or (type(record.needed) is int and record.needed < 0):
        raise KeptError(f"its plan is for {record.threads} threads and {record.needed} bytes")
    if record.alignment < 1 or record.alignment & (record.alignment - 1):
        raise KeptError(f"its arena is aligned to {record.alignment} bytes")
    if len(record.cuts) != len(record.counts):
        raise KeptError("its counts are not those of its cuts")
    for number, axis in (cut for cuts in record.cuts for cut in cuts):
        if not 0 <= number < len(record.outputs) or not 0 <= axis < len(record.outputs[number].shape):
            raise KeptError(f"it cuts axis {axis} of output {number}")
    for cache_ in record.caches:
        if not (0 <= cache_.input < len(record.inputs) and 0 <= cache_.output < len(record.outputs)):
            raise KeptError("it has a cache that is no input and output")
