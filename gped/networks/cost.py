"""What a network costs: stored parameters, and multiply-adds for one input."""

from math import prod

from gped.networks.architectures import Architecture


def parameters(architecture: Architecture, outputs: int) -> int:
    """Weights and biases of all layers."""
    weights = sum(fan_in * units for fan_in, units, _ in layers(architecture, outputs))
    return weights + sum(architecture.channels) + sum(architecture.hidden) + outputs


def multiply_adds(architecture: Architecture, outputs: int) -> int:
    """Multiply-adds of the convolutions and linear layers for one input, which the paper calls FLOPS."""
    return sum(fan_in * units * positions for fan_in, units, positions in layers(architecture, outputs))


def layers(architecture: Architecture, outputs: int) -> list[tuple[int, int, int]]:
    """Inputs of a unit, number of units, and positions at which each unit is computed, layer by layer."""
    layers = []
    depth = architecture.input_shape[0]
    for units, shape in zip(architecture.channels, architecture.spatial_shapes, strict=True):
        layers.append((depth * architecture.kernel**2, units, prod(shape)))
        depth = units
    fan_in = architecture.features
    for units in (*architecture.hidden, outputs):
        layers.append((fan_in, units, 1))
        fan_in = units
    return layers
