"""Smaller students: group ℓ1/ℓ2 regularisation, and real removal of the units that it silences.

A group is the incoming weights of one unit: a row of a linear layer, or all kernels of an output channel.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from gped.networks.network import Network
from gped.support.checks import real, whole


@dataclass(frozen=True)
class GroupLasso:
    """R(φ) = Σ_k ‖φ_k‖ over groups k, with strength λ until step T; then pruning; then fine-tuning without R.

    Args:
        strength: λ, relative to the mean loss of an input.
        fine_tuning_steps: F, steps of the chain after T on whose readings the pruned student is trained further.
        fine_tuning_rate: Adam's learning rate there, at the beginning.
        threshold: ε; a unit is removed if all its incoming weights are smaller.
        proximal: Shrink the groups after Adam's step, which gives exact zeros, instead of following the
            subgradient of R as the paper does.
        biases: Also regularise the biases, one group per layer, as the authors' released code does.
        output_layer: Also regularise the output layer, as the authors' released code does.
    """

    strength: float
    fine_tuning_steps: int = 0
    fine_tuning_rate: float = 1e-3
    threshold: float = 1e-3
    proximal: bool = False
    biases: bool = False
    output_layer: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "fine_tuning_steps", whole("fine_tuning_steps", self.fine_tuning_steps, 0))
        for name in ("strength", "threshold", "fine_tuning_rate"):
            value = real(f"{name} of the group lasso", getattr(self, name), above=name == "fine_tuning_rate")
            object.__setattr__(self, name, value)

    def penalty(self, network: nn.Module) -> Tensor:
        """R(φ). Its subgradient at a group of zeros is zero."""
        return torch.stack(
            [torch.linalg.vector_norm(part, dim=dims).sum() for part, dims in self._groups(network)]
        ).sum()

    @torch.no_grad()
    def shrink(self, network: nn.Module, learning_rate: float) -> None:
        """The proximal step of λR: shorten each group by learning_rate × λ, to zero if it is no longer than that."""
        for part, dims in self._groups(network):
            norms = torch.linalg.vector_norm(part, dim=dims, keepdim=True)
            part.mul_((1 - learning_rate * self.strength / norms.clamp_min(1e-30)).clamp_min(0))

    def _groups(self, network: nn.Module) -> Iterator[tuple[Tensor, tuple[int, ...]]]:
        """Parameters, and the dimensions over which a group extends."""
        weighted = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d | nn.Linear)]
        for layer in weighted if self.output_layer else weighted[:-1]:
            yield layer.weight, tuple(range(1, layer.weight.dim()))
            if self.biases:
                yield layer.get_parameter("bias"), (0,)


@torch.no_grad()
def zero_dead_units(network: Network, threshold: float) -> None:
    """Set to zero the incoming weights of units where all are below the threshold; the biases stay.

    The output layer is left alone, and so is the strongest unit of each layer: a layer never dies whole.
    """
    for layer in network.weighted[:-1]:
        strength = _strongest_weights(layer.weight)
        dead = strength < threshold
        dead[strength.argmax()] = False
        layer.weight[dead] = 0


@torch.no_grad()
def without_dead_units(network: Network) -> Network:
    """A smaller network that computes the same in evaluation mode, without the units whose weights are all zero.

    Such a unit's output is the constant relu(bias), at every position; what the next layer makes of it goes into
    the next layer's bias.
    """
    layers = network.weighted
    for layer in layers:
        if isinstance(layer, nn.Conv2d) and any(layer.padding):
            raise ValueError(
                f"a convolution has padding {layer.padding}: a silenced channel is then not constant at the edges, and "
                "cannot be removed exactly. Only unpadded convolutions can be pruned."
            )
    weights = [layer.weight.double() for layer in layers]
    biases = [layer.get_parameter("bias").double() for layer in layers]
    widths = []
    for number in range(len(layers) - 1):
        strength = _strongest_weights(weights[number])
        alive = strength > 0
        alive[strength.argmax()] = True
        constants = biases[number][~alive].relu()
        weights[number], biases[number] = weights[number][alive], biases[number][alive]
        # The next layer's weights by input unit: kernel positions, or the positions that flattening put side by side.
        following = weights[number + 1]
        by_unit = following.reshape(len(following), len(alive), -1)
        biases[number + 1] = biases[number + 1] + by_unit[:, ~alive].sum(2) @ constants
        weights[number + 1] = by_unit[:, alive].reshape(len(following), -1, *following.shape[2:])
        widths.append(int(alive.sum()))

    convolutions = len(network.architecture.channels)
    smaller = network.resized(tuple(widths[:convolutions]), tuple(widths[convolutions:]))
    for layer, weight, bias in zip(smaller.weighted, weights, biases, strict=True):
        layer.load_state_dict({"weight": weight, "bias": bias})
    return smaller


def _strongest_weights(weight: Tensor) -> Tensor:
    """The largest magnitude among the incoming weights of each unit."""
    return weight.abs().flatten(1).amax(1)
