"""mini_infer_operator.h: the C prototype of an operator's kernel, and the structure of its attributes."""

from __future__ import annotations

from ...dialects.operators.operator import Operator

_TEXT = """\
/* The kernel of operator {full_name}, since version {since} of its domain.

   inputs[i] and outputs[i] point to row-major elements; an input that a node doesn't give is NULL. sizes[i] are the
   sizes of input i, and sizes[{count} + i] those of output i; MINI_INFER_RANK(sizes[i]) is their number. scratch has
   the bytes that the operator asked for, aligned to 64. {shares} */
#ifndef MINI_INFER_OPERATOR_H
#define MINI_INFER_OPERATOR_H
#include <stdint.h>

#define MINI_INFER_RANK(sizes) ((sizes)[-1])

typedef struct {{
{fields}
}} {name}Attributes;

void {symbol}(const void *const *inputs, void *const *outputs, void *scratch, const int64_t *const *sizes,
    const {name}Attributes *attributes, int64_t thread, int64_t threads){label};
#endif
"""
_LABEL = """
#define MINI_INFER_TEXT(prefix) #prefix
#define MINI_INFER_PREFIX(prefix) MINI_INFER_TEXT(prefix)
{text}"""
_FIELDS = {
    "int": "int64_t {0};",
    "bool": "int64_t {0};  /* 0 or 1 */",
    "float": "double {0};",
    "str": "const char *{0};  /* UTF-8, ends with a zero */\n  int64_t {0}_length;  /* bytes without it */",
    "ints": "const int64_t *{0};\n  int64_t {0}_count;",
    "floats": "const double *{0};\n  int64_t {0}_count;",
}
KINDS = frozenset(_FIELDS)
"""The kinds of attributes that a kernel can take."""


def header_of(operator: Operator, label: str = "") -> str:
    """The text of the header for an operator with a kernel; `label` is another name of its symbol in object code."""
    kernel, signature = operator.kernel, operator.signature
    assert kernel is not None and signature is not None
    fields = [f"  {_FIELDS[each.kind].format(each.name)}" for each in signature.attributes]
    if kernel.threads:
        shares = "Each of `threads` calls, made at one time, does its share, number `thread`, with scratch of its own."
    else:
        shares = "thread is 0, and threads is 1."
    text = _TEXT.format(
        full_name=operator.full_name,
        since=operator.since,
        count="number of inputs" if signature.variadic else len(signature.inputs),
        shares=shares,
        fields="\n".join(fields) or "  int64_t none;",
        name="".join(each if each.isalnum() and each.isascii() else "_" for each in operator.name),
        symbol=kernel.symbol,
        label=f' __asm__(MINI_INFER_PREFIX(__USER_LABEL_PREFIX__) "{label}")' if label else "",
    )
    return _LABEL.format(text=text) if label else text
