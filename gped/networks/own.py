"""A student's network that is a module of the user's own, with what else a student needs of a network."""

import copy
from collections.abc import Callable

import torch
from torch import Tensor, nn

from gped.support.checkpoint import State
from gped.support.randomness import drawing_from, stream

Factory = Callable[[int, torch.Generator], nn.Module]
"""Makes a module, given the number of its outputs and a generator. Layers that torch initialises have random numbers of
the student's own; what else is random in it must be drawn from the generator."""


def name_of(factory: Factory) -> str:
    """What a factory is called in a student file."""
    named = factory if hasattr(factory, "__qualname__") else type(factory)
    return f"{named.__module__}.{named.__qualname__}"


class OwnNetwork(nn.Module):
    """Any module. Its dropout draws from a generator passed in, so that no student disturbs another (on a CPU).

    Args:
        module: The module.
        generator: Source of the units that its dropout layers drop; None if it will not be trained.
    """

    def __init__(self, module: nn.Module, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.module = module
        self.generator = generator

    @classmethod
    def made_by(
        cls, factory: Factory, outputs: int, seed: int, generator: torch.Generator | None = None
    ) -> "OwnNetwork":
        """The network that a factory makes."""
        with drawing_from(stream(seed, "initialisation")):
            module = factory(outputs, stream(seed, "factory"))
        if not isinstance(module, nn.Module):
            raise ValueError(f"the factory {name_of(factory)} made a {type(module).__name__}: it must make a module.")
        return cls(module, generator)

    def forward(self, x: Tensor) -> Tensor:
        """The module's outputs."""
        if not self.training or self.generator is None:
            return self.module(x)
        with drawing_from(self.generator):
            outputs = self.module(x)
        if not isinstance(outputs, Tensor):
            raise ValueError(
                f"the network of the student returns a {type(outputs).__name__} in training mode: it must return one "
                "tensor there, too, such as without auxiliary outputs."
            )
        return outputs

    def named(self) -> dict[str, Tensor]:
        """Parameters and buffers by name, for a file."""
        return dict(self.module.state_dict())

    def state(self) -> State:
        """The same; see `Checkpoint`."""
        return self.named()

    def restored(self, state: State) -> "OwnNetwork":
        """A network with these parameters, and the same source of dropout."""
        network = OwnNetwork(copy.deepcopy(self.module), self.generator)
        network.module.load_state_dict(state)
        return network

    def snapshot(self) -> "OwnNetwork":
        """A copy for prediction: the same parameters, in evaluation mode."""
        return OwnNetwork(copy.deepcopy(self.module)).eval()
