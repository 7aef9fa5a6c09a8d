"""What is chosen for a set of images: the network, the chain's step size and length, when the student listens."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gped.networks import cost
from gped.networks.architectures import Architecture
from gped.support.checks import whole
from gped.training.material import Material

STEP = 0.1  # of the chain, times the number of images that it learns from


@dataclass(frozen=True)
class Plan:
    """All else that decides what the student becomes."""

    architecture: Architecture
    step_size: float
    steps: int
    burn_in: int
    thinning: int
    batch_size: int
    seed: int

    @classmethod
    def of(cls, material: Material, steps: int | None, seed: int) -> "Plan":
        """What suits these images.

        The gradient that moves the chain is a sum over all N images, so the step η that it bears goes with 1/N. With
        pixels of variance 1, 0.1/N is safe for the networks here, and fits them within a thousand steps. Weights forget
        where they were within 2/(ητ) steps; with the prior precision τ = 10 that is 2N. So the chain gets N steps, or
        3,000 where that is more, and patience ends at 20,000.
        """
        images = len(material.train)
        steps = min(max(images, 3000), 20_000) if steps is None else whole("--steps", steps, 100)
        return cls(
            architecture=architecture_for(material.train.shape),
            step_size=STEP / images,
            steps=steps,
            burn_in=steps // 4,
            thinning=min(max(steps // 10_000, 1), 10),
            batch_size=min(images, 100),
            seed=seed,
        )

    def told(self, material: Material) -> Iterator[str]:
        """What was chosen, for a person."""
        layers = self.architecture
        convolutions = f"convolutions to {_listed(layers.channels)} channels, then " if layers.channels else ""
        parameters = cost.parameters(layers, len(material.class_names) + 1)
        yield f"network: {convolutions}{_listed(layers.hidden)} hidden units; {parameters:,} parameters in the student"
        updates = self.steps // self.thinning - self.burn_in // self.thinning
        yield (
            f"chain: {self.steps:,} steps of size {self.step_size:.3g}, the first {self.burn_in:,} of them to settle; "
            f"the student listens {updates:,} times"
        )


def architecture_for(shape: tuple[int, ...]) -> Architecture:
    """A small network for images of this shape: convolutions as long as something is left to look at."""
    channels, width, side = list[int](), 8 if shape[0] == 1 else 16, min(shape[1:])
    while (side := (side - 2) // 2) >= 4:  # what a kernel of 3 and pooling leave
        channels.append(width * 2 ** len(channels))
    if not channels:
        return Architecture(shape, (), 0, (200, 200))
    return Architecture(shape, tuple(channels), 3, (100,))


def _listed(numbers: Sequence[int]) -> str:
    return " and ".join(map(str, numbers))
