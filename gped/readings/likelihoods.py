"""What a network's outputs mean: p(y|x, θ), by which the sampler learns, and what a draw says of an input.

Students never see a draw, only what it says. For a classifier that is the log-probability of every class, for a
regression the mean and the logarithm of the variance: all that decides p(y|x, θ), so that any expectation
g(y, x, θ) is a function of it.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from gped.readings import functions
from gped.support.checks import whole

Function = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Likelihood:
    """The outputs as they are: enough for an ensemble whose members say anything, but a chain needs more.

    `Categorical` and `Gaussian` are likelihoods. For one of your own, derive a class with a name and a log_likelihood;
    and says, if what a draw says of an input is not the outputs as they are.

    Args:
        outputs: Of the network, for one input.
    """

    outputs: int
    name: ClassVar[str] = "outputs"
    """What it is called in readings and student files: students of one name cannot listen to readings of another."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outputs", whole(f"outputs of the likelihood {self.name!r}", self.outputs, 1))

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """log p(y|x, θ), one number for each input."""
        raise ValueError(
            f"the likelihood {self.name!r} does not say how likely targets are, so that no chain can learn from them: "
            "use gped.Categorical or gped.Gaussian, or derive a class with a log_likelihood."
        )

    def says(self, outputs: Tensor) -> Tensor:
        """What a draw with these outputs says: one row for each input."""
        return outputs

    def examples(self) -> Tensor:
        """A few things that draws may say, on which functions g are tried before anything is trained."""
        return self.says(_SIZES * torch.linspace(-1, 1, self.outputs))

    @property
    def expectations(self) -> Mapping[str, Function]:
        """The functions g that a reference averages unless it is told others, by name."""
        return {"mean": functions.itself}

    def checked(self, targets: Tensor) -> Tensor:
        """Targets of D as log_likelihood takes them; a ValueError if they cannot be."""
        return targets


def likelihood_of(which: Callable[[int], Likelihood], outputs: int) -> Likelihood:
    """The likelihood of a network with so many outputs."""
    if isinstance(which, Likelihood):
        raise ValueError(
            f"the likelihood is {which}: pass the class alone, {type(which).__name__}; how many outputs there are is "
            "the network's to tell."
        )
    return which(outputs)


# From no certainty to a great deal, either way.
_SIZES = torch.tensor([[0.0], [1.0], [10.0], [100.0], [-1.0], [-10.0], [-100.0]])


@dataclass(frozen=True)
class Categorical(Likelihood):
    """A classifier: the outputs are logits, one for each class, and a draw says log-probabilities."""

    name: ClassVar[str] = "categorical"

    def __post_init__(self) -> None:
        super().__post_init__()
        whole("classes", self.outputs, 2)

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Of each label under the softmax of the outputs."""
        return -nn.functional.cross_entropy(outputs, targets, reduction="none")

    def says(self, outputs: Tensor) -> Tensor:
        """Log-probabilities."""
        return torch.log_softmax(outputs, 1)

    @property
    def expectations(self) -> Mapping[str, Function]:
        """The predictive distribution and the expected entropy."""
        return {"predictive": functions.probabilities, "entropy": functions.entropy}

    def checked(self, targets: Tensor) -> Tensor:
        """Whole numbers, one for each input, each a class."""
        if targets.dim() != 1 or targets.is_floating_point() or targets.dtype == torch.bool:
            raise ValueError(
                f"labels are {targets.dtype} of shape {tuple(targets.shape)}: they must be one whole number for each "
                "input. For numbers to be predicted, pass likelihood=gped.Gaussian."
            )
        least, greatest = int(targets.min()), int(targets.max())
        if not 0 <= least <= greatest < self.outputs:
            raise ValueError(
                f"labels go from {least} to {greatest}, but the network has {self.outputs} outputs: labels must be 0 "
                f"to {self.outputs - 1}."
            )
        return targets.long()


@dataclass(frozen=True)
class Gaussian(Likelihood):
    """A regression: the outputs are means, then as many logarithms of variances, and a draw says just these.

    Several targets are independent given x and θ. Scale them to a variance near 1, or the prior will not suit them.
    """

    name: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.outputs % 2:
            raise ValueError(
                f"the network has {self.outputs} outputs, but a Gaussian takes two for each target: its means, then "
                "the logarithms of its variances."
            )

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Of each input's targets under their means and variances."""
        mean, log_variance = outputs.chunk(2, 1)
        residual = (targets.view_as(mean) - mean).square() * torch.exp(-log_variance)
        return -(residual + log_variance + math.log(2 * math.pi)).sum(1) / 2

    def examples(self) -> Tensor:
        """Small and large means, with variances that are still numbers in single precision."""
        return (_SIZES * torch.linspace(-1, 1, self.outputs)).clamp(-30, 30)

    @property
    def expectations(self) -> Mapping[str, Function]:
        """E[μ], E[σ²] and E[μ² + σ²], of which the predictive mean and both parts of the variance are made."""
        return {
            "mean": functions.mean,
            "noise": functions.noise,
            "second_moment": functions.second_moment,
        }

    def checked(self, targets: Tensor) -> Tensor:
        """Finite numbers in single precision, one for each input and target."""
        wanted = self.outputs // 2
        if not targets.is_floating_point() or targets.dim() > 2 or targets[0].numel() != wanted:
            raise ValueError(
                f"targets are {targets.dtype} of shape {tuple(targets.shape)}: with {self.outputs} outputs they must "
                f"be {wanted} floating point number{'s' * (wanted > 1)} for each input."
            )
        if not targets.isfinite().all():
            raise ValueError("some targets are not finite: mend them or leave their inputs out.")
        return targets.float()
