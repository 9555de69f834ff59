"""The pipeline for a configuration: which passes run when optimisations are switched on and off."""

from __future__ import annotations

from .pipelines import BUFFERS, GRAPH, KERNELS, LLVM, LOOPS, Phase

# Without optimisation every ONNX op is its own kernel. Types are checked, and what only a fold can express is folded.
PLAIN_GRAPH = "infer-shapes,fold-constants,cse,dce"


def engine_phases(
    *,
    optimize: bool = True,
    plan_memory: bool = True,
    profile: bool = False,
    alignment: int = 256,
    planner: str = "auto",
) -> tuple[Phase, ...]:
    """All phases from the graph level to the llvm level."""
    graph = GRAPH if optimize else PLAIN_GRAPH
    kernels = KERNELS if optimize else KERNELS.replace("form-kernels", "form-kernels{fuse=false}")
    buffers = BUFFERS if plan_memory else "bufferize"
    strategy = planner if plan_memory else "naive"
    arena = f"plan-arena{{strategy={strategy} alignment={alignment}}},verify-arena,insert-barriers"
    loops = f"{LOOPS},profile-kernels" if profile else LOOPS
    return (
        Phase("graph", graph),
        Phase("kernels", kernels),
        Phase("buffers", buffers),
        Phase("arena", arena),
        Phase("loops", loops),
        Phase("llvm", LLVM),
    )
