"""docs/operators.md and docs/types.md, as `PYTHONPATH=.:test python -m backend.pages` writes them, or one of them."""

from __future__ import annotations

import sys
from pathlib import Path

from backend.support import foreign, number_of, operators, plain, tried
from onnx import defs

from mini_infer.dialects.errors import UnsupportedError
from mini_infer.dialects.graph.values import numpy_dtype
from mini_infer.lowering.onnx_to_graph.check import OLDEST_OPSET
from mini_infer.lowering.onnx_to_graph.element_types import element_type

DOCS = Path(__file__).parents[2] / "docs"
COMMAND = "PYTHONPATH=.:test .venv/bin/python -m backend.pages"
HOW = {"handler": "yes", "definition": "yes, by ONNX's definition"}


BF16_PRODUCTS = """\
## Products in bf16

`precision="bf16"` (`--precision bf16`) rounds the operands of f32 products and convolutions to bf16 and sums in f32,
on CPUs that multiply pairs of bf16: `vdpbf16ps` of AVX512-BF16 (AMD from Zen 4 on, Intel's Cooper Lake and from
Sapphire Rapids on), `bfdot` of ARM's bf16. On others it is an error; `weights="bf16"`, which computes in f32, needs no
such CPU. Weights take half the bytes, and so does in memory what only products read, which the kernel that makes it
rounds. All else is f32: norms, softmax, attention, recurrent networks, elementwise ops, residual sums, inputs and
outputs.

In f32 stays a product

- whose inner sum is shorter than 16 elements, or with fewer than 8 channels of a group: it takes little time, and such
  products make tables of positions;
- whose inner sum has a length of run time;
- by a constant of whose norm rounding loses more than 2^-8: one with numbers that are subnormal, or infinite once
  rounded (others lose about 2^-9.8);
- of transposed rows, of a convolution that is not channels-last within the model, by weights in blocks of few bits.

3x3 convolutions by Winograd's transforms, where these are faster, read rounded pictures and filters and compute in f32:
transformed numbers cancel each other, which bf16 doesn't bear.

Rounding is to nearest even. `vdpbf16ps` takes subnormal numbers for zeros and makes none, and so does the rounding to
bf16 beside it, whatever the thread's modes are; NaN and infinity are kept. How `bfdot` rounds sums is the CPU's, so
`reproducible` excludes this precision. Results are the same with any number of threads.

One thread of an AMD Zen 5 server, the least of 20 runs or more in ms, and max|error| / max|reference| against float64,
2026-11-26 (`mini-infer bench MODEL.onnx --precision bf16 --against openvino --beside io.npz -j 1`, which has OpenVINO
compute in bf16, too):

| | fp32 | bf16 | OpenVINO, bf16 | error | OpenVINO's |
|---|---|---|---|---|---|
| ResNet-50 | 25.8 | 15.2 | 18.0 | 7.7e-2 | 8.4e-2 |
| ViT-B/16 | 131.9 | 69.3 | 82.7 | 5.8e-3 | 1.2e-2 |
| BERT base, 128 tokens | 88.2 | 46.1 | 54.4 | 7.5e-3 | 9.7e-3 |
"""
"""The end of types.md, which is not about what operators take."""


def operators_page() -> str:
    """The text of operators.md."""
    known = operators()
    supported = [operator for operator in known.values() if operator.how in HOW]
    lines = [
        "# Operators",
        "",
        f"Of the {len(known)} operators that ONNX has in opset {defs.onnx_opset_version()}, {len(supported)} are "
        f"supported, from opset {OLDEST_OPSET} on. The numbers are of cases of ONNX's own suite that are about the "
        "operator alone: those that pass, of how many. [types.md](types.md) tells of element types.",
        f"This page is made by `{COMMAND} operators`; a test holds it to what the compiler does.",
        "",
        "| operator | changed in opset | supported | cases | what is refused, and why |",
        "|---|---|---|---|---|",
    ]
    for name, operator in sorted(known.items()):
        how = HOW.get(operator.how, "no")
        cases = f"{len(operator.passed)} / {len(operator.passed) + len(operator.refused)}"
        opsets = ", ".join(map(str, operator.opsets))
        reasons = [operator.how] if how == "no" else dict.fromkeys(map(plain, operator.refused.values()))
        lines.append(f"| {name} | {opsets} | {how} | {cases} | {'; '.join(reasons).replace('|', '/')} |")
    lines += ["", "## Operators of others", "", "Those of ONNX Runtime and its tools that are supported:", ""]
    for domain, names in sorted(foreign().items()):
        lines.append(f"- {domain or 'without a domain, as in files of older exporters'}: {', '.join(names)}")
    others = sorted({schema.domain for schema in defs.get_all_schemas()} - {"", *foreign()})
    lines += ["", f"Not supported are those of {', '.join(others)}.", ""]
    return "\n".join(lines)


def types_page() -> str:
    """The text of types.md: every operator is compiled in every type, which takes minutes."""
    known = {name: operator for name, operator in operators().items() if operator.passed}
    types = {name: tried(operator) for name, operator in known.items()}
    lines = [
        "# Element types",
        "",
        "What can be computed in each of ONNX's element types: of the operators that ONNX allows it for, as the type "
        "of their first operand, those that compile with it; then those that do not, and why. Operators of which no "
        "case of ONNX's suite passes alone are left out; [operators.md](operators.md) has all.",
        f"This page is made by `{COMMAND} types`; a test holds it to what the compiler does.",
        "",
    ]
    every = dict.fromkeys(type for operator in known.values() for type in operator.types)
    for type in sorted(every, key=number_of):
        lines += [f"## {type}", "", _stored(type), ""]
        if not _is_stored(type):
            continue
        given = {name: found[type] for name, found in types.items() if type in found}
        if done := sorted(name for name, reason in given.items() if not reason):
            lines += [f"{len(done)} of {len(given)} operators: {', '.join(done)}.", ""]
        reasons: dict[str, list[str]] = {}
        for name, reason in sorted(given.items()):
            if reason:
                reasons.setdefault(reason, []).append(name)
        if reasons:
            lines += [*(f"- not {', '.join(names)}: {reason}" for reason, names in sorted(reasons.items())), ""]
    return "\n".join(lines) + "\n" + BF16_PRODUCTS


def _is_stored(type: str) -> bool:
    try:
        element_type(number_of(type), type)
    except UnsupportedError:
        return False
    return True


def _stored(type: str) -> str:
    if not _is_stored(type):
        return "No tensor of this type is supported."
    element = element_type(number_of(type), type)
    return (
        f"`{element}` in the graph dialect, numpy's `{numpy_dtype(element)}`, {_bytes(numpy_dtype(element).itemsize)}."
    )


def _bytes(count: int) -> str:
    return "1 byte" if count == 1 else f"{count} bytes"


PAGES = {"operators": operators_page, "types": types_page}

if __name__ == "__main__":
    for name in sys.argv[1:] or PAGES:
        (DOCS / f"{name}.md").write_text(PAGES[name](), encoding="utf-8")
