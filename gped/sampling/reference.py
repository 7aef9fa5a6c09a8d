"""What the whole ensemble says of test and out-of-distribution inputs: the truth that students are compared with."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from gped.inputs import Inputs
from gped.readings import functions
from gped.support.checkpoint import State
from gped.support.checks import whole

BATCH = 1000  # inputs forwarded at once: large enough for full speed, small enough to stay in the cache
BLOCKS = 20  # of consecutive draws, from whose means the Monte Carlo error is estimated


class Reference:
    """Posterior expectations on fixed inputs: means over the chain's draws in (B, T], in double precision.

    Args:
        inputs: The inputs.
        every: Steps between two draws that count.
        expectations: The functions g of the log-probabilities to average, by name; probabilities as "predictive" and
            entropy as "entropy" unless given.
    """

    def __init__(
        self,
        inputs: Tensor | np.ndarray | Inputs,
        every: int = 100,
        expectations: Mapping[str, Callable[[Tensor], Tensor]] | None = None,
    ) -> None:
        self.inputs = Inputs.of(inputs)
        self.every = whole("every of a reference", every, 1)
        self.expectations = expectations or {"predictive": functions.probabilities, "entropy": functions.entropy}
        self.draws = 0
        self._expected_draws = 0
        self._means: dict[str, _BlockedMean] = {}

    def start(self, burn_in: int, steps: int, device: torch.device) -> None:
        """Say which draws will come: those at multiples of `every` in (burn_in, steps]."""
        if self._means:
            raise ValueError("a reference is of one chain, and this one already has its own: make another Reference.")
        self.inputs = self.inputs.to(device)
        self.draws = 0
        self._expected_draws = steps // self.every - burn_in // self.every
        if not self._expected_draws:
            raise ValueError(
                f"a reference every {self.every} steps gets no draw between the burn-in {burn_in} and the end "
                f"{steps}. Lower `every` or add steps."
            )
        self._means = {name: _BlockedMean() for name in self.expectations}

    @torch.inference_mode()
    def update(self, network: nn.Module) -> None:
        """Add what the current draw says."""
        values: dict[str, list[Tensor]] = {name: [] for name in self.expectations}
        for start in range(0, len(self.inputs), BATCH):
            log_probabilities = torch.log_softmax(network(self.inputs[start : start + BATCH]), 1)
            if not log_probabilities.isfinite().all():
                raise FloatingPointError("the network's outputs are not finite")
            for name, g in self.expectations.items():
                values[name].append(g(log_probabilities.clone()))
        self.draws += 1
        blocks = min(BLOCKS, self._expected_draws)
        closes = self.draws * blocks // self._expected_draws > (self.draws - 1) * blocks // self._expected_draws
        for name, parts in values.items():
            self._means[name].add(torch.cat(parts).double(), closes)

    def state(self) -> State:
        """The sums so far; see `Checkpoint`."""
        return {"draws": self.draws, "means": {name: vars(mean) for name, mean in self._means.items()}}

    def restore(self, state: State) -> None:
        """Go on from these sums."""
        if state["means"].keys() != self._means.keys():
            raise ValueError("the state is that of a reference with other expectations")
        self.draws = state["draws"]
        for name, mean in self._means.items():
            device = self.inputs.images.device
            for key, value in state["means"][name].items():
                setattr(mean, key, value.to(device) if isinstance(value, Tensor) else value)

    def result(self) -> dict[str, np.ndarray]:
        """The mean of each expectation under its name, and its Monte Carlo standard error under name_error.

        The error is that of the mean of consecutive blocks, which are nearly independent where draws are not.
        """
        if not self.draws:
            raise ValueError("the reference has met no draw yet: run the chain first.")
        result = {}
        for name, mean in self._means.items():
            result[name] = mean.mean().cpu().numpy()
            result[f"{name}_error"] = mean.error().cpu().numpy()
        return result


class _BlockedMean:
    """A mean of tensors, and the spread of the means of its blocks."""

    def __init__(self) -> None:
        self.blocks = 0
        self.draws = 0
        self.draws_in_block = 0
        self.total, self.block_total, self.block_mean, self.squares = (torch.zeros(()) for _ in range(4))

    def add(self, values: Tensor, closes_block: bool) -> None:
        self.draws += 1
        self.draws_in_block += 1
        self.total = self.total + values
        self.block_total = self.block_total + values
        if closes_block:  # Welford's update with the mean of the block
            self.blocks += 1
            mean = self.block_total / self.draws_in_block
            deviation = mean - self.block_mean
            self.block_mean = self.block_mean + deviation / self.blocks
            self.squares = self.squares + deviation * (mean - self.block_mean)
            self.draws_in_block, self.block_total = 0, torch.zeros(())

    def mean(self) -> Tensor:
        return self.total / self.draws

    def error(self) -> Tensor:
        if self.blocks < 2:
            return torch.full_like(self.total, torch.nan)
        return (self.squares / (self.blocks - 1) / self.blocks).sqrt()
