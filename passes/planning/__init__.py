"""The arena solver: from buffers with sizes and lifetimes to offsets and a certificate. It knows no IR.

    plan = solve(Problem(buffers, alignment=256), "auto")
    check(problem, plan)

`solve.py` names the strategies; the planners are in `greedy.py`, `pools.py`, `beam.py`, `repeated_greedy.py` and
`exact.py`; `checker.py` validates their plans and shares nothing with them.
"""

from .bound import live_at, lower_bound
from .checker import check
from .problem import Bound, Buffer, Id, Interval, Plan, Pool, Problem, Role
from .solve import BUDGETS, STRATEGIES, Strategy, solve

__all__ = [
    "BUDGETS",
    "STRATEGIES",
    "Bound",
    "Buffer",
    "Id",
    "Interval",
    "Plan",
    "Pool",
    "Problem",
    "Role",
    "Strategy",
    "check",
    "live_at",
    "lower_bound",
    "solve",
]
