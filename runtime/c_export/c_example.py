"""The example program beside each C header: it runs a model once on files of raw bytes."""

from __future__ import annotations

from .c_interface import CInterface

_HELPERS = """\
/* So many bytes of which the first is aligned. */
static void *aligned(size_t bytes, size_t alignment) {
  char *memory = malloc(bytes + alignment);
  if (memory == NULL) {
    fprintf(stderr, "there is no memory\\n");
    exit(1);
  }
  return memory + (alignment - (uintptr_t)memory % alignment) % alignment;
}

static void *read_file(const char *path, size_t bytes, size_t alignment) {
  void *memory = aligned(bytes, alignment);
  FILE *file = fopen(path, "rb");
  if (file == NULL || fread(memory, 1, bytes, file) != bytes) {
    fprintf(stderr, "%s: can't be read, or is too short\\n", path);
    exit(1);
  }
  fclose(file);
  return memory;
}

static void write_file(const char *path, const void *memory, size_t bytes) {
  FILE *file = fopen(path, "wb");
  if (file == NULL || fwrite(memory, 1, bytes, file) != bytes || fclose(file) != 0) {
    fprintf(stderr, "%s: can't be written\\n", path);
    exit(1);
  }
}
"""


def example(interface: CInterface) -> str:
    """The text of NAME_example.c."""
    name, upper = interface.name, interface.name.upper()
    read = [each for each in interface.parameters if each.is_input]
    written = [each for each in interface.parameters if each.written]
    files = [*([] if interface.embedded else [f"{name}.weights"])]
    files += [f"{each.name}.bin" for each in read] + [f"{each.name}.out" for each in written]
    several = interface.threads > 1
    source = [
        f"{name}_example.c",
        *([f"{name}_weights.S"] if interface.embedded else []),
        f"{name}.o",
        *interface.kernels,
    ]
    lines = [
        f"/* Runs {name} once: reads a file of raw bytes for each input, and writes one for each output.",
        "",
        f"     cc -O2 {'-fopenmp ' if several else ''}{' '.join(source)} -lm -o {name}_example",
        f"     ./{name}_example {' '.join(files)}",
        "*/",
        "#include <stdio.h>",
        "#include <stdlib.h>",
        *(["#ifdef _OPENMP", "#include <omp.h>", "#endif"] if several else []),
        "",
        f'#include "{name}.h"',
        "",
        _HELPERS,
    ]
    if several:
        lines += [
            f"static void share({name}_work *work, void *args, int64_t shares, int64_t seats) {{",
            "  int64_t i;",
            "#ifdef _OPENMP",
            "#pragma omp parallel for schedule(dynamic) num_threads((int)seats)",
            "  for (i = 0; i < shares; i++) work(args, i, shares, omp_get_thread_num());",
            "#else",
            "  (void)seats;",
            "  for (i = 0; i < shares; i++) work(args, i, shares, 0);",
            "#endif",
            "}",
            "",
        ]
    lines += [
        "int main(int count, char **paths) {",
        f"  if (count != {len(files) + 1}) {{",
        f'    fprintf(stderr, "usage: {name}_example {" ".join(files)}\\n");',
        "    return 1;",
        "  }",
        "  char **next = paths + 1;",
    ]
    if interface.embedded:
        lines.append(f"  const void *weights = {name}_weights;")
    else:
        lines.append(f"  const void *weights = read_file(*next++, {upper}_WEIGHTS_BYTES, {upper}_WEIGHTS_ALIGNMENT);")
    lines += [
        f"  if ({name}_check_weights(weights, {upper}_WEIGHTS_BYTES) != {upper}_OK) {{",
        '    fprintf(stderr, "these weights are not those of the code\\n");',
        "    return 1;",
        "  }",
        f"  void *arena = aligned({upper}_ARENA_BYTES, {upper}_ARENA_ALIGNMENT);",
    ]
    for each in interface.parameters:
        size = f"{upper}_{each.name.upper()}_BYTES, sizeof({each.type})"
        lines.append(
            f"  {each.type} *{each.name} = {f'read_file(*next++, {size})' if each.is_input else f'aligned({size})'};"
        )
    given = ["weights", "arena", *(each.name for each in interface.parameters), *["share"] * several]
    lines += [
        f"  int status = {name}_run({', '.join(given)});",
        f"  if (status != {upper}_OK) {{",
        '    fprintf(stderr, "the run gave status %d\\n", status);',
        "    return 1;",
        "  }",
        *(f"  write_file(*next++, {each.name}, {upper}_{each.name.upper()}_BYTES);" for each in written),
        "  return 0;",
        "}",
        "",
    ]
    return "\n".join(lines)
