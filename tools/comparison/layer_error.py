"""The error of one tensor of a model beside the same tensor of another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerError:
    """A tensor of both models; errors are relative to the first one's values.

    `error` is max|e| / max|reference| and `rms` the same ratio of root mean squares. `entering` is the largest `error`
    that reaches the node; None if these are inputs of the model.
    """

    name: str
    node: str
    operator: str
    error: float
    rms: float
    entering: float | None

    @property
    def growth(self) -> float | None:
        """error / entering; None where nothing enters that could grow."""
        return self.error / self.entering if self.entering else None
