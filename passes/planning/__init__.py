"""The arena solver: from buffers with sizes and lifetimes to offsets and a certificate. It knows no IR.

    plan = solve(Problem(buffers, alignment=256), "auto")
    check(problem, plan)

`solve.py` names the strategies; the planners are in `greedy.py`, `pools.py`, `beam.py`, `repeated_greedy.py`,
`random_greedy.py` and `exact.py`. `stacking.py` places buffers of other sizes as in a known plan. `checker.py`
validates plans and shares nothing with their planners.
"""

from .bound import MOST_BYTES, live_at, lower_bound, refuse_hopeless
from .checker import check
from .problem import Bound, Buffer, Id, Interval, Plan, Pool, Problem, Role
from .solve import BEAM_WIDTH, BUDGETS, STRATEGIES, Strategy, solve
from .stacking import Stacking, Stacks

__all__ = [
    "BEAM_WIDTH",
    "BUDGETS",
    "MOST_BYTES",
    "STRATEGIES",
    "Bound",
    "Buffer",
    "Id",
    "Interval",
    "Plan",
    "Pool",
    "Problem",
    "Role",
    "Stacking",
    "Stacks",
    "Strategy",
    "check",
    "live_at",
    "lower_bound",
    "refuse_hopeless",
    "solve",
]
