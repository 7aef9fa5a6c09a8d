"""Networks as lists of weights and biases: unpadded convolutions with pooling, then linear layers, ReLU between."""

import hashlib
import math
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

Parameters = list[tuple[Tensor, Tensor]]
NETWORKS = {  # shape of an input, side of kernels, channels, hidden units
    "fcnn_mnist": ((1, 28, 28), 0, (), (400, 400)),
    "cnn_mnist": ((1, 28, 28), 4, (10, 20), (80,)),
    "cnn_cifar10": ((3, 32, 32), 5, (16, 32), (200, 50)),
}


def stream(seed: int, name: str) -> torch.Generator:
    """Torch's random numbers for one use."""
    number = int.from_bytes(hashlib.sha256(f"{seed}/{name}".encode()).digest()[:8], "big")
    return torch.Generator().manual_seed(number >> 1)


def widths(role: str, k1: float, k2: float) -> tuple[list[int], list[int]]:
    """Channels and hidden units of a student: K1 on convolutions, or on the first hidden layer if there are none."""
    _, _, channels, hidden = NETWORKS[role]
    if not channels:
        return [], [math.floor(hidden[0] * k1), *(math.floor(units * k2) for units in hidden[1:])]
    return [math.floor(units * k1) for units in channels], [math.floor(units * k2) for units in hidden]


def shapes(role: str, channels: list[int], hidden: list[int], outputs: int) -> list[tuple[int, ...]]:
    """Of the weights, layer by layer."""
    (depth, side, _), kernel, _, _ = NETWORKS[role]
    result: list[tuple[int, ...]] = []
    for units in channels:
        result.append((units, depth, kernel, kernel))
        depth, side = units, (side - kernel + 1) // 2
    fan_in = depth * side * side
    for units in (*hidden, outputs):
        result.append((units, fan_in))
        fan_in = units
    return result


def initial(layers: list[tuple[int, ...]], generator: torch.Generator) -> Parameters:
    """As torch starts its layers: uniform within ± 1/√(inputs of a unit), weights first and then biases."""
    result = []
    for shape in layers:
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        weight = torch.empty(shape).uniform_(-bound, bound, generator=generator)
        result.append((weight, torch.empty(shape[0]).uniform_(-bound, bound, generator=generator)))
    return result


def forward(parameters: Parameters, x: Tensor, drop: Callable[[Tensor], Tensor] = lambda hidden: hidden) -> Tensor:
    """The outputs, where gradients are wanted."""
    for weight, bias in parameters[:-1]:
        if weight.dim() == 4:
            x = torch.max_pool2d(torch.relu(torch.conv2d(x, weight, bias)), 2)
        else:
            x = torch.relu(x.flatten(1) @ weight.T + bias)
        x = drop(x)
    weight, bias = parameters[-1]
    return x.flatten(1) @ weight.T + bias


def outputs(tensors: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
    """The outputs of a student's file, without torch: tensors are called 0.weight, 0.bias, 1.weight, …"""
    layers = len(tensors) // 2
    for layer in range(layers):
        weight, bias = (tensors[f"{layer}.{name}"].astype(np.float64) for name in ("weight", "bias"))
        x = convolved(x, weight, bias) if weight.ndim == 4 else x.reshape(len(x), -1) @ weight.T + bias
        if layer < layers - 1:
            x = np.maximum(x, 0)
    return x


def convolved(x: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Convolution by its definition, and the largest of each 2×2 square."""
    kernel, x = weight.shape[2], np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    height, width = x.shape[1] - kernel + 1, x.shape[2] - kernel + 1
    sums = np.zeros((len(x), height, width, len(weight))) + bias
    for row in range(kernel):
        for column in range(kernel):
            sums += x[:, row : row + height, column : column + width] @ weight[:, :, row, column].T
    height, width = height // 2 * 2, width // 2 * 2
    corners = [sums[:, row:height:2, column:width:2] for row in (0, 1) for column in (0, 1)]
    return np.maximum.reduce(corners).transpose(0, 3, 1, 2)


def cost(role: str, layers: list[tuple[int, ...]]) -> tuple[int, int]:
    """Weights and biases, and multiply-adds for one input."""
    (_, side, _), _, _, _ = NETWORKS[role]
    weights = multiply_adds = 0
    for shape in layers:
        positions = 1
        if len(shape) == 4:
            side = side - shape[2] + 1
            positions, side = side * side, side // 2
        weights += math.prod(shape) + shape[0]
        multiply_adds += math.prod(shape) * positions
    return weights, multiply_adds
