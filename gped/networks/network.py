"""Networks built from an architecture, with their initialisation and dropout from generators passed in."""

import itertools
from dataclasses import replace

import torch
from torch import Tensor, nn

from gped.networks.architectures import Architecture
from gped.support.checkpoint import State
from gped.support.memory import channels_last
from gped.support.randomness import drawing_from


class Dropout(nn.Module):
    """Dropout with its own generator. On images it drops whole channels.

    Torch's dropout draws from the global generator, so that one student's dropout would change another's.
    """

    def __init__(self, rate: float, generator: torch.Generator) -> None:
        super().__init__()
        self.rate = rate
        self.generator = generator

    def forward(self, inputs: Tensor) -> Tensor:
        """Zero a random part of the inputs and scale up the rest; in evaluation mode, do nothing."""
        if not self.training:
            return inputs
        shape = inputs.shape[:2] + (1,) * (inputs.dim() - 2)
        keep = inputs.new_empty(shape).bernoulli_(1 - self.rate, generator=self.generator)
        return inputs * keep.div_(1 - self.rate)


class Network(nn.Sequential):
    """The layers of an architecture and an output layer.

    Args:
        architecture: Convolutions and hidden layers.
        outputs: Units of the output layer.
        generator: Source of the initial parameters (torch's default initialisation).
        dropout: Rate after every hidden layer; 0 for none.
        dropout_generator: Source of the dropped units, needed where dropout is not 0.
        dropout_layers: Only after so many of the first hidden layers; None for all.
    """

    def __init__(
        self,
        architecture: Architecture,
        outputs: int,
        generator: torch.Generator,
        dropout: float = 0.0,
        dropout_generator: torch.Generator | None = None,
        dropout_layers: int | None = None,
    ) -> None:
        if outputs < 1:
            raise ValueError(f"a network with {outputs} outputs says nothing: at least 1 is needed.")
        if not 0 <= dropout < 1:
            raise ValueError(f"dropout is {dropout}: it must be at least 0 and less than 1.")
        if dropout and dropout_generator is None:
            raise ValueError(f"dropout is {dropout} but there is no dropout_generator to draw it from.")

        hidden = itertools.count()

        def after_hidden() -> list[nn.Module]:
            dropped = dropout_layers is None or next(hidden) < dropout_layers
            if not dropout or dropout_generator is None or not dropped:
                return [nn.ReLU()]
            return [nn.ReLU(), Dropout(dropout, dropout_generator)]

        layers: list[nn.Module] = []
        with drawing_from(generator):  # torch's layers initialise themselves from the global generator
            depth = architecture.input_shape[0]
            for channels in architecture.channels:
                # Pooling before the ReLU gives the same numbers as after it, on a quarter of the pixels.
                layers += [
                    nn.Conv2d(depth, channels, architecture.kernel, dtype=torch.float32),
                    nn.MaxPool2d(2),
                    *after_hidden(),
                ]
                depth = channels
            layers.append(nn.Flatten())
            fan_in = architecture.features
            for units in architecture.hidden:
                layers += [nn.Linear(fan_in, units, dtype=torch.float32), *after_hidden()]
                fan_in = units
            layers.append(nn.Linear(fan_in, outputs, dtype=torch.float32))
        super().__init__(*layers)
        self.architecture = architecture
        self.outputs = outputs
        self.dropout = dropout
        self.dropout_generator = dropout_generator
        self.dropout_layers = dropout_layers
        for layer in self.weighted:
            if isinstance(layer, nn.Conv2d):
                layer.weight.data = channels_last(layer.weight.data)

    @property
    def weighted(self) -> list[nn.Conv2d | nn.Linear]:
        """The layers that have weights, in order; the last is the output layer."""
        return [layer for layer in self if isinstance(layer, nn.Conv2d | nn.Linear)]

    def resized(self, channels: tuple[int, ...], hidden: tuple[int, ...]) -> "Network":
        """A network with other widths, the same dropout, and parameters of no meaning yet."""
        architecture = replace(self.architecture, channels=channels, hidden=hidden)
        dropout = self.dropout, self.dropout_generator, self.dropout_layers
        network = Network(architecture, self.outputs, torch.Generator(), *dropout)
        first = next(self.parameters())
        return network.to(device=first.device, dtype=first.dtype)

    def named(self) -> dict[str, Tensor]:
        """Parameters by name, for a file."""
        layers = enumerate(self.weighted)
        return {f"{number}.{name}": getattr(layer, name) for number, layer in layers for name in ("weight", "bias")}

    def state(self) -> State:
        """Widths and parameters; see `Checkpoint`."""
        return {
            "channels": self.architecture.channels,
            "hidden": self.architecture.hidden,
            "parameters": list(self.parameters()),
        }

    @torch.no_grad()
    def restored(self, state: State) -> "Network":
        """A network with these widths and parameters, and the same dropout."""
        network = self.resized(tuple(state["channels"]), tuple(state["hidden"]))
        for parameter, saved in zip(network.parameters(), state["parameters"], strict=True):
            parameter.copy_(saved)
        return network

    def snapshot(self) -> "Network":
        """A copy for prediction: the same parameters, in evaluation mode, without dropout."""
        network = Network(self.architecture, self.outputs, torch.Generator())
        first = next(self.parameters())
        network.to(device=first.device, dtype=first.dtype)
        for layer, original in zip(network.weighted, self.weighted, strict=True):
            layer.load_state_dict(original.state_dict())
        return network.eval()
