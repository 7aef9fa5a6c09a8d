"""The chain, its readings and its reference."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from tests.naive.images import Seen
from tests.naive.networks import NETWORKS, Parameters, forward, initial, shapes, stream


class Reading(NamedTuple):
    """What a draw says of some inputs of D'."""

    step: int
    indices: list[int]
    log_probabilities: np.ndarray


def readings_in(file: Path) -> tuple[dict[str, Any], list[Reading]]:
    """The header and the readings of a file, by its documented layout."""
    content = file.read_bytes()
    length = int.from_bytes(content[8:16], "little")
    header, position, readings = json.loads(content[16 : 16 + length]), 16 + length + 4, []
    size, classes = header["size"], header["values"]
    while position < len(content):
        step = int.from_bytes(content[position : position + 8], "little")
        indices = np.frombuffer(content, "<i4", size, position + 8)
        log_p = np.frombuffer(content, "<f4", size * classes, position + 8 + 4 * size).reshape(size, classes)
        readings.append(Reading(step, indices.tolist(), log_p.astype(np.float64)))
        position += 8 + 4 * size + 4 * size * classes + 4
    return header, readings


def draws(role: str, seen: Seen, chain: dict[str, Any], seed: int, last: int) -> Iterator[tuple[int, Parameters]]:
    """θ_1, θ_2, … θ_last by stochastic gradient Langevin dynamics.

    Args:
        role: Of the model.
        seen: The images of the cell.
        chain: The model's section of that name in the configuration.
        seed: Of the cell.
        last: The last step.
    """
    _, _, channels, hidden = NETWORKS[role]
    classes, step_size, precision = 10, chain["step_size"], chain["prior_precision"]
    theta = initial(shapes(role, channels, hidden, classes), stream(seed, "teacher's initialisation"))
    x, y = torch.from_numpy(seen.scaled(seen.labelled)).float(), torch.from_numpy(seen.labels)
    order, noise = stream(seed, "order of D"), stream(seed, "noise")
    to_come: list[Tensor] = []
    for t in range(1, last + 1):
        if not to_come:  # a pass over D is at its end
            to_come = list(torch.randperm(len(y), generator=order).split(chain["batch_size"]))
        batch = to_come.pop(0)
        theta = [(weight.clone().requires_grad_(), bias.clone().requires_grad_()) for weight, bias in theta]
        log_p = torch.log_softmax(forward(theta, x[batch]), 1)
        log_likelihood = len(y) / len(batch) * log_p[torch.arange(len(batch)), y[batch]].sum()
        log_prior = sum(-precision / 2 * (part**2).sum() for layer in theta for part in layer)
        flat = [part for layer in theta for part in layer]
        gradient = torch.autograd.grad(log_likelihood + log_prior, flat)
        z = normal(flat, noise)
        moved = [
            (part + step_size / 2 * slope + math.sqrt(step_size) * deviation).detach()
            for part, slope, deviation in zip(flat, gradient, z, strict=True)
        ]
        theta = list(zip(moved[::2], moved[1::2], strict=True))
        yield t, theta


def normal(like: list[Tensor], generator: torch.Generator) -> list[Tensor]:
    """Noise for each parameter, drawn as one vector in which filters lie with their channels last."""
    vector = torch.empty(sum(part.numel() for part in like)).normal_(generator=generator)
    result, position = [], 0
    for part in like:
        piece, position = vector[position : position + part.numel()], position + part.numel()
        if part.dim() == 4:
            out, depth, height, width = part.shape
            piece = piece.view(out, height, width, depth).permute(0, 3, 1, 2)
        result.append(piece.reshape(part.shape))
    return result


def log_probabilities(theta: Parameters, seen: Seen, images: np.ndarray) -> np.ndarray:
    """What a draw says of images."""
    return torch.log_softmax(forward(theta, torch.from_numpy(seen.scaled(images)).float()).double(), 1).numpy()


def entropies(log_p: np.ndarray) -> np.ndarray:
    """−Σ p log p of each row."""
    return np.array([-sum(math.exp(value) * value for value in row) for row in log_p.tolist()])


def mean_and_error(values: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The mean over draws, and its standard error by the means of at most twenty blocks of consecutive draws."""
    count, blocks = len(values), min(20, len(values))
    together: list[list[np.ndarray]] = [[] for _ in range(blocks)]
    for number, value in enumerate(values):
        together[number * blocks // count].append(value)
    means = np.stack([np.mean(block, axis=0) for block in together])
    return np.mean(values, axis=0), means.std(0, ddof=1) / math.sqrt(blocks)
