"""What the whole ensemble says of test and out-of-distribution inputs: the truth that students are compared with."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gped.inputs import Inputs, Rows
from gped.networks.outputs import outputs_of
from gped.readings.functions import values_of
from gped.readings.likelihoods import Likelihood
from gped.support.checkpoint import State
from gped.support.checks import whole

BATCH = 1000  # inputs forwarded at once: large enough for full speed, small enough to stay in the cache
BLOCKS = 20  # of consecutive draws, from whose means the Monte Carlo error is estimated


class Reference:
    """Posterior expectations on fixed inputs: means over the chain's draws in (B, T], in double precision.

    Args:
        inputs: The inputs.
        every: Steps between two draws of a chain that count; of an ensemble, every member counts.
        expectations: The functions g of what a draw says to average, by name; unless given, those of its likelihood:
            "predictive" and "entropy" for a classifier, "mean", "noise" and "second_moment" for a regression.
    """

    def __init__(
        self,
        inputs: Rows | Inputs,
        every: int = 100,
        expectations: Mapping[str, Callable[[Tensor], Tensor]] | None = None,
    ) -> None:
        self.inputs = Inputs.of(inputs)
        self.every = whole("every of a reference", every, 1)
        self.expectations = dict(expectations or {})
        self.draws = 0
        self._expected_draws = 0
        self._means: dict[str, _BlockedMean] = {}

    def start(self, draws: int, likelihood: Likelihood, device: torch.device) -> None:
        """Say how many draws will come, and what their outputs mean."""
        if self._means:
            raise ValueError("a reference is of one chain, and this one already has its own: make another Reference.")
        self.inputs = self.inputs.to(device)
        self.likelihood = likelihood
        self.expectations = self.expectations or dict(likelihood.expectations)
        for name, g in self.expectations.items():
            values_of(name, g, likelihood.examples().to(device))  # now, because the first draw may be hours away
        self._expected_draws = draws
        self._means = {name: _BlockedMean() for name in self.expectations}

    @torch.inference_mode()
    def update(self, network: Callable[[Tensor], Tensor]) -> None:
        """Add what the current draw says."""
        values: dict[str, list[Tensor]] = {name: [] for name in self.expectations}
        for start in range(0, len(self.inputs), BATCH):
            said = self.likelihood.says(outputs_of(network, self.inputs[start : start + BATCH]))
            if not said.isfinite().all():
                raise FloatingPointError("the network's outputs are not finite")
            for name, g in self.expectations.items():
                values[name].append(g(said.clone()))
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
            device = self.inputs.device
            for key, value in state["means"][name].items():
                setattr(mean, key, value.to(device) if isinstance(value, Tensor) else value)

    def result(self) -> dict[str, np.ndarray]:
        """The mean of each expectation under its name, and its Monte Carlo standard error under name_error.

        The error is that of the mean of consecutive blocks, which are nearly independent where draws are not. Where
        a block is shorter than the chain's relaxation time they are not either, and the error is a lower bound: see
        `gped.evaluation.montecarlo`.
        """
        if not self.draws:
            raise ValueError("the reference has met no draw yet: run the chain first.")
        result = {}
        for name, mean in self._means.items():
            result[name] = mean.mean().cpu().numpy()
            result[f"{name}_error"] = mean.error().cpu().numpy()
        return result


def between_chains(references: Sequence[Reference]) -> dict[str, np.ndarray]:
    """What several chains of one posterior say of the same inputs, and how far they agree.

    One chain cannot see what it has not reached; chains that started apart can. For each expectation, under its name
    the mean of the chains; under name_error its standard error, by how far the chains are apart; and under name_r_hat
    the potential scale reduction R̂ of Gelman and Rubin (1992): 1 where the chains cannot be told apart, more where they
    are further from each other than their own draws are.

    Args:
        references: One of each chain, with the same inputs, expectations and number of draws.
    """
    if len(references) < 2:
        raise ValueError(f"there are {len(references)} references: it takes two chains to compare them.")
    first = references[0]
    for number, other in enumerate(references):
        if not other.draws:
            raise ValueError(f"reference {number} has met no draw yet: run its chain first.")
        same = (first.inputs.digest, first.draws, first._means.keys())
        if (other.inputs.digest, other.draws, other._means.keys()) != same:
            raise ValueError(
                f"reference {number} has other inputs or expectations than the first, or another number of draws: only "
                "chains of one posterior, looked at in the same way, can be compared."
            )
    result = {}
    for name in first._means:
        means = torch.stack([reference._means[name].mean() for reference in references])
        within = torch.stack([reference._means[name].variance() for reference in references]).mean(0)
        between = means.var(0)
        result[name] = means.mean(0).cpu().numpy()
        result[f"{name}_error"] = (between / len(references)).sqrt().cpu().numpy()
        ratio = ((first.draws - 1) / first.draws * within + between) / within
        # Where no draw of any chain differs from another, there is nothing to tell apart.
        result[f"{name}_r_hat"] = ratio.sqrt().where(between > 0, torch.ones_like(ratio)).cpu().numpy()
    return result


class _BlockedMean:
    """A mean of tensors, their variance, and the spread of the means of its blocks."""

    def __init__(self) -> None:
        self.blocks = 0
        self.draws = 0
        self.draws_in_block = 0
        self.total, self.block_total, self.block_mean, self.squares = (torch.zeros(()) for _ in range(4))
        self.draw_squares = torch.zeros(())

    def add(self, values: Tensor, closes_block: bool) -> None:
        self.draws += 1
        self.draws_in_block += 1
        if self.draws > 1:  # the sum of squared deviations from the mean, again Welford's
            before = self.total / (self.draws - 1)
            self.draw_squares = self.draw_squares + (values - before) ** 2 * (self.draws - 1) / self.draws
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

    def variance(self) -> Tensor:
        if self.draws < 2:
            return torch.full_like(self.total, torch.nan)
        return self.draw_squares / (self.draws - 1)

    def error(self) -> Tensor:
        if self.blocks < 2:
            return torch.full_like(self.total, torch.nan)
        return (self.squares / (self.blocks - 1) / self.blocks).sqrt()
