"""Models of torchvision and Transformers by torch.compile: mini_infer beside inductor and PyTorch itself, as a table.

    python -m mini_infer.tools.bench.torch_models resnet50 bert --threads 1 --rounds 9

Weights are random; nothing is downloaded. The engines take turns in one process. Errors are the largest ones of a
model's outputs, compared with PyTorch in float64, relative to the largest element of the output.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.util import find_spec
from statistics import median
from typing import Annotated, Any

import typer
from rich.console import Console

from ...dialects.errors import ConfigError
from ...runtime.devices.cpu.machine_limits import cpu_title
from ...runtime.from_torch.torch_package import torch_module
from ..one_line_errors import run_alone

PICTURES = (
    "resnet18",
    "resnet50",
    "mobilenet_v2",
    "mobilenet_v3_large",
    "efficientnet_b0",
    "densenet121",
    "squeezenet1_1",
    "shufflenet_v2_x1_0",
    "vit_b_16",
    "convnext_tiny",
    "swin_t",
)
"""torchvision's models."""
WIDE = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 8, "intermediate_size": 1024}
TEXTS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("BertModel", "BertConfig", WIDE),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_embd": 256, "n_layer": 4, "n_head": 8}),
    "distilbert": (
        "DistilBertModel",
        "DistilBertConfig",
        {"dim": 256, "n_layers": 4, "n_heads": 8, "hidden_dim": 1024},
    ),
    "roberta": ("RobertaModel", "RobertaConfig", WIDE),
    "t5": ("T5EncoderModel", "T5Config", {"d_model": 256, "num_layers": 4, "num_heads": 8, "d_kv": 32, "d_ff": 1024}),
    "llama": ("LlamaForCausalLM", "LlamaConfig", {**WIDE, "num_key_value_heads": 4}),
}
"""Transformers' models and configurations by the names of their classes, and options of the latter."""
SIDE, TOKENS, WORDS = 224, 128, 1000


@dataclass
class Runs:
    """The seconds of a first call, with its compile, and of later ones, and the largest error of the first."""

    call: Callable[[], Any]
    first: float = 0.0
    error: float = 0.0
    times: list[float] = field(default_factory=list[float])


def picture_model(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A model of torchvision with an example of its arguments."""
    torch = torch_module("torch")
    models = _torchvision().models
    return getattr(models, name)(weights=None).eval(), (torch.randn(1, 3, SIDE, SIDE),), {}


_declared: list[Any] = []


def _torchvision() -> Any:
    """torchvision; built for another build of PyTorch, it lacks operators that it imports, and no model here needs."""
    torch = torch_module("torch")
    try:
        return torch_module("torchvision")
    except RuntimeError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        _declared.append(library)  # which its operators last as long as
        for name in ("nms", "qnms"):
            library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return torch_module("torchvision")


def text_model(name: str) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """A model of Transformers with an example of its arguments."""
    if find_spec("torchvision") is not None:
        _torchvision()  # which Transformers imports
    torch, transformers = torch_module("torch"), torch_module("transformers")
    kind, config, options = TEXTS[name]
    unknown = {"vocab_size": WORDS, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "use_cache": False}
    made = getattr(transformers, kind)(getattr(transformers, config)(**options, **unknown))
    tokens = torch.randint(3, WORDS, (1, TOKENS))
    return made.eval(), (), {"input_ids": tokens, "attention_mask": torch.ones_like(tokens)}


def tensors(result: Any) -> list[Any]:
    """The tensors of a module's result."""
    torch = torch_module("torch")
    return [each for each in torch_module("torch.utils._pytree").tree_leaves(result) if isinstance(each, torch.Tensor)]


def largest_error(found: Sequence[Any], exact: Sequence[Any]) -> float:
    """The largest error of any output, relative to its largest element."""
    pairs = zip(found, exact, strict=True)
    return max(float((one.double() - right).abs().max() / right.abs().max().clamp(min=1e-30)) for one, right in pairs)


def measured(name: str, threads: int, rounds: int, backends: Sequence[str]) -> tuple[dict[str, Runs], int]:
    """How each way to run a model did, by its name, and the number of graphs that Dynamo made of the model."""
    torch, dynamo = torch_module("torch"), torch_module("torch._dynamo")
    torch.manual_seed(0)
    model, args, kwargs = picture_model(name) if name in PICTURES else text_model(name)
    for parameter in model.parameters():  # of which some begin as zeros, as would their results
        if not parameter.any():
            torch.nn.init.normal_(parameter, std=0.02)
    ways = {"PyTorch": Runs(lambda: model(*args, **kwargs))}
    for backend in backends:
        options = {"threads": threads, "cache": False} if backend == "mini_infer" else None
        code = torch.compile(model, backend=backend, options=options)
        ways[backend] = Runs(lambda code=code: code(*args, **kwargs))
    dynamo.reset()
    torch_module("torch._dynamo.utils").counters.clear()
    with torch.no_grad():
        results: dict[str, list[Any]] = {}
        for way, runs in ways.items():
            start = time.perf_counter()
            results[way] = tensors(runs.call())
            runs.first = time.perf_counter() - start
        graphs = torch_module("torch._dynamo.utils").counters["stats"]["unique_graphs"] // max(1, len(backends))
        for _ in range(rounds):
            for runs in ways.values():
                runs.call()
                for _ in range(3):
                    start = time.perf_counter()
                    runs.call()
                    runs.times.append(time.perf_counter() - start)
        wide = [each.double() if each.is_floating_point() else each for each in args]
        exact = tensors(model.double()(*wide, **kwargs))
    for way, runs in ways.items():
        runs.error = largest_error(results[way], exact)
    return ways, graphs


def row(name: str, ways: dict[str, Runs], graphs: int) -> str:
    """A line of the table."""
    cells = [name, str(graphs)]
    for runs in ways.values():
        times = [1000 * each for each in runs.times]
        cells += [f"{median(times):.2f} ({min(times):.2f})", f"{runs.error:.1e}", f"{runs.first:.1f}"]
    return f"| {' | '.join(cells)} |"


def measure(
    names: Annotated[list[str] | None, typer.Argument(help="Models; all if none is given.")] = None,
    threads: Annotated[int, typer.Option(min=1, help="Threads of an inference.")] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Turns of each engine, of three inferences.")] = 9,
    against: Annotated[str, typer.Option(help="Another backend of torch.compile, or none.")] = "inductor",
) -> None:
    """Prints the median and least time in ms, the error, and the seconds of the first call."""
    known = (*PICTURES, *TEXTS)
    if unknown := [name for name in names or () if name not in known]:
        raise ConfigError(f"there is no model {unknown[0]}; there are {', '.join(known)}")
    torch_module("torch").set_num_threads(threads)
    backends = ["mini_infer", *([] if against == "none" else [against])]
    console = Console(soft_wrap=True)
    ways = ["PyTorch", *backends]
    heads = [f"{way}: ms (least) | error | first call, s" for way in ways]
    title = f"{cpu_title()}, {threads} {'thread' if threads == 1 else 'threads'}, {date.today().isoformat()}"
    lines = [title, "", f"| model | graphs | {' | '.join(heads)} |", f"|---|---|{'---|' * 3 * len(ways)}"]
    console.print("\n".join(lines), markup=False, highlight=False)
    for name in names or known:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="torch")
            line = row(name, *measured(name, threads, rounds, backends))
        console.print(line, markup=False, highlight=False)


if __name__ == "__main__":
    run_alone(measure)
