"""Adam (Kingma and Ba, 2015), with its state in plain tensors."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from gped.support.checkpoint import State


class Adam:
    """The optimiser of all students, with torch's default β and ε and no weight decay.

    The same arithmetic as torch.optim.Adam(fused=True), whose kernel it calls. That class imports torch's compiler,
    which takes longer than training a small student, and hands out its state for pickling.

    Args:
        parameters: What to optimise, by their gradients.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters: list[Tensor] = list(parameters)
        self.means = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.steps = [torch.zeros((), device=parameter.device) for parameter in self.parameters]

    def state(self) -> State:
        """The moments and counts; see `Checkpoint`."""
        return {"means": self.means, "squares": self.squares, "steps": self.steps}

    def restore(self, state: State) -> None:
        """Go on from these moments. They are copied, so that they keep the memory layout of the parameters."""
        for name in ("means", "squares", "steps"):
            for own, saved in zip(getattr(self, name), state[name], strict=True):
                own.copy_(saved)

    @torch.no_grad()
    def step(self, gradients: Iterable[Tensor], learning_rate: float) -> None:
        """Move the parameters, in place, against their gradients."""
        for count in self.steps:
            count += 1
        torch._fused_adam_(
            self.parameters,
            list(gradients),
            self.means,
            self.squares,
            [],
            self.steps,
            lr=learning_rate,
            beta1=0.9,
            beta2=0.999,
            weight_decay=0.0,
            eps=1e-8,
            amsgrad=False,
            maximize=False,
        )
