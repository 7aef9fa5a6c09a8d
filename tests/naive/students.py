"""How students learn from readings, and what they say."""

import math
from typing import Any

import numpy as np
import torch
from scipy.special import digamma
from torch import Tensor

from tests.naive.chain import Reading
from tests.naive.images import Seen
from tests.naive.networks import Parameters, forward, initial, stream
from tests.naive.told import CLASSES, Told, steps


def values_of(name: str, log_p: np.ndarray, end2: dict[str, float]) -> list[list[float]]:
    """g of a draw, for each input."""
    result = []
    for row in log_p.tolist():
        p = [math.exp(value) for value in row]
        entropy = -sum(q * value for q, value in zip(p, row, strict=True))
        if name == "log_predictive":
            warm = [math.exp(value / end2["teacher_temperature"]) for value in row]
            share = [value / sum(warm) for value in warm]
            epsilon = end2["smoothing"]
            result.append([math.log((1 - epsilon) * (q - 1 / len(p)) + 1 / len(p)) for q in share])
        else:
            result.append({"predictive": p, "entropy": [entropy], "predictive_and_entropy": [*p, entropy]}[name])
    return result


class Memory:
    """U_s forgets; U_o keeps the mean of what each input has met, a draw that meets it twice being met once."""

    def __init__(self, estimator: str) -> None:
        self.estimator = estimator
        self.met: dict[int, list[list[float]]] = {}

    def __call__(self, indices: list[int], values: list[list[float]]) -> Tensor:
        if self.estimator == "us":
            return torch.tensor(values, dtype=torch.float64)
        for index, value in dict(zip(indices, values, strict=True)).items():
            self.met.setdefault(index, []).append(value)
        return torch.tensor(np.array([np.mean(self.met[index], axis=0) for index in indices]))


def loss_of(name: str, z: Tensor, target: Tensor, students: dict[str, Any]) -> Tensor:
    """How far outputs are from the estimates, averaged over inputs."""
    if name == "predictive":
        return -(target * torch.log_softmax(z, 1)).sum(1).mean()
    if name == "entropy":
        z, target = z[:, 0], target[:, 0]
        errors = {
            "absolute": (z.exp() - target).abs(),
            "squared": (z.exp() - target) ** 2,
            "deviance": z.exp() - target * z,
        }
        return errors[students["entropy_loss"]].mean()
    if name == "predictive_and_entropy":
        log_q = torch.log_softmax(z[:, :-1], 1)
        total = -(log_q.exp() * log_q).sum(1).detach()
        share = torch.sigmoid(z[:, -1])
        return (total * share - target[:, -1] * share.log() - (target[:, :-1] * log_q).sum(1)).mean()
    alpha = torch.exp(z / students["end2"]["temperature"])
    log_density = torch.lgamma(alpha.sum(1)) - torch.lgamma(alpha).sum(1) + ((alpha - 1) * target).sum(1)
    return -log_density.mean()


class Adam:
    """Kingma and Ba's, for each parameter."""

    def __init__(self, parameters: list[Tensor]) -> None:
        self.m, self.v = ([torch.zeros_like(part) for part in parameters] for _ in range(2))
        self.count = 0

    def step(self, parameters: list[Tensor], gradients: list[Tensor], rate: float) -> list[Tensor]:
        self.count += 1
        moved = []
        for number, (part, gradient) in enumerate(zip(parameters, gradients, strict=True)):
            self.m[number] = 0.9 * self.m[number] + 0.1 * gradient
            self.v[number] = 0.999 * self.v[number] + 0.001 * gradient**2
            mean, square = self.m[number] / (1 - 0.9**self.count), self.v[number] / (1 - 0.999**self.count)
            moved.append(part - rate * mean / (square.sqrt() + 1e-8))
        return moved


class Dropout:
    """Drops units of the hidden layers, whole channels of images, in one pass through a network.

    Args:
        rate: Share of the units.
        layers: Only in so many of the first layers; None for all.
        generator: Decides which.
    """

    def __init__(self, rate: float, layers: int | None, generator: torch.Generator) -> None:
        self.rate, self.left, self.generator = rate, layers, generator

    def __call__(self, hidden: Tensor) -> Tensor:
        if not self.rate or self.left == 0:
            return hidden
        self.left = self.left - 1 if self.left else None
        shape = (*hidden.shape[:2], *[1] * (hidden.dim() - 2))
        return hidden * torch.empty(shape).bernoulli_(1 - self.rate, generator=self.generator) / (1 - self.rate)


def trained(
    told: Told, model: dict[str, Any], seen: Seen, readings: list[Reading]
) -> tuple[dict[str, Parameters], int]:
    """A student's parameters after T, and where it is pruned also before and after that; and its number of updates."""
    chain, students, pruning = model["chain"], model["students"], model["pruning"]
    layers, expectations, H = told.layers(model), told.expectations(model), told.thinning(model)
    halving = steps(students["halving"], told.train_size, chain)
    tuning = steps(pruning["fine_tuning"], told.train_size, chain) if told.strength is not None else 0
    parameters = initial(layers, stream(told.seed, "initialisation"))
    memories = [Memory(estimator) for _, estimator, _ in expectations]
    dropped, noise = stream(told.seed, "dropout"), stream(told.seed, "input noise")
    rate, start, regularised, stages, updates = students["learning_rate"], chain["burn_in"], told.strength, {}, 0

    adam = Adam(flat(parameters))
    for t, indices, log_p in readings:
        if t % H or t > chain["steps"] + tuning:
            continue
        targets = [
            memory(indices, values_of(name, log_p, students["end2"]))
            for memory, (name, *_) in zip(memories, expectations, strict=True)
        ]
        pixels = torch.from_numpy(seen.unlabelled[indices] / 255)
        if students["input_noise"]:
            pixels = (pixels + students["input_noise"] * like_images(pixels, noise)).clamp(0, 1)
        x = (pixels - torch.from_numpy(seen.mean)[:, None, None]) / torch.from_numpy(seen.std)[:, None, None]
        parameters = unflat([part.clone().requires_grad_() for part in flat(parameters)])
        drop = Dropout(told.dropout(model), students.get("dropout_layers"), dropped)
        parts = forward(parameters, x.float(), drop).double().split([size for *_, size in expectations], 1)
        loss = sum(
            loss_of(name, z, target, students)
            for (name, *_), z, target in zip(expectations, parts, targets, strict=True)
        )
        alpha = rate * 0.5 ** ((t - start) // halving)
        moved = adam.step(flat(parameters), torch.autograd.grad(loss, flat(parameters)), alpha)
        parameters, updates = unflat([part.detach() for part in moved]), updates + 1
        if regularised is None:
            continue
        parameters = shrunk(parameters, alpha * regularised, pruning)
        if t + H > chain["steps"]:  # the last update before T
            stages = {"before pruning": parameters}
            parameters = without_silent_units(parameters, pruning["threshold"])
            stages["after pruning"] = parameters
            rate, start, regularised, adam = pruning["learning_rate"], chain["steps"], None, Adam(flat(parameters))
    return stages | {"": parameters}, updates


def flat(parameters: Parameters) -> list[Tensor]:
    """Weights and biases, one after the other."""
    return [part for layer in parameters for part in layer]


def unflat(parts: list[Tensor]) -> Parameters:
    """The opposite."""
    return list(zip(parts[::2], parts[1::2], strict=True))


def like_images(pixels: Tensor, generator: torch.Generator) -> Tensor:
    """Normal numbers for images whose channels lie last in memory."""
    return torch.empty(pixels.shape).contiguous(memory_format=torch.channels_last).normal_(generator=generator)


def shrunk(parameters: Parameters, by: float, pruning: dict[str, Any]) -> Parameters:
    """Every group shortened: the incoming weights of each unit, and where it is wished so the biases of each layer."""
    result = []
    for number, (weight, bias) in enumerate(parameters):
        if number < len(parameters) - 1 or pruning["output_layer"]:
            weight = torch.stack([shortened(unit, by) for unit in weight])
            bias = shortened(bias, by) if pruning["biases"] else bias
        result.append((weight, bias))
    return result


def shortened(group: Tensor, by: float) -> Tensor:
    """A vector of the same direction, shorter by so much; zero if it was no longer than that."""
    length = float(group.square().sum().sqrt())
    return group * 0 if length <= by else group * (1 - by / length)


def without_silent_units(parameters: Parameters, threshold: float) -> Parameters:
    """Units whose incoming weights are all small say nothing but relu(bias), which the next layer's biases can say."""
    layers = [(weight.clone(), bias.clone()) for weight, bias in parameters]
    for number in range(len(layers) - 1):
        (weight, bias), (following, next_bias) = layers[number], layers[number + 1]
        strength = [float(unit.abs().max()) for unit in weight]
        strongest = strength.index(max(strength))
        kept = [unit for unit in range(len(weight)) if strength[unit] >= threshold or unit == strongest]
        by_unit = following.reshape(len(following), len(weight), -1)  # what the next layer has for each unit
        for unit in set(range(len(weight))) - set(kept):
            next_bias = next_bias + by_unit[:, unit].sum(1) * max(0.0, float(bias[unit]))
        layers[number] = weight[kept], bias[kept]
        layers[number + 1] = by_unit[:, kept].reshape(len(following), -1, *following.shape[2:]), next_bias
    return layers


def said(told: Told, model: dict[str, Any], z: np.ndarray) -> dict[str, np.ndarray]:
    """What the outputs of a student mean: class probabilities and uncertainties, as far as it was taught them."""
    answers: dict[str, list[Any]] = {}
    for row in z.tolist():
        for name, value in answer(told, model["students"], row).items():
            answers.setdefault(name, []).append(value)
    return {name: np.array(values) for name, values in answers.items()}


def answer(told: Told, students: dict[str, Any], z: list[float]) -> dict[str, Any]:
    """The same for one input."""
    if told.target == "entropy":
        return {"data": math.exp(z[0])}
    if told.target == "end2":
        alpha = [math.exp(value / students["end2"]["prediction_temperature"]) for value in z]
        all_of_them = sum(alpha)
        p = [one / all_of_them for one in alpha]
        data = -sum(q * (digamma(one + 1) - digamma(all_of_them + 1)) for q, one in zip(p, alpha, strict=True))
    else:
        weights = [math.exp(value - max(z[:CLASSES])) for value in z[:CLASSES]]
        p = [weight / sum(weights) for weight in weights]
    total = -sum(q * math.log(q) for q in p if q > 0)
    if told.target == "predictive":
        return {"probabilities": p, "total": total}
    if told.target == "joint":
        shared = students["joint_head"] == "share"
        data = total / (1 + math.exp(-z[-1])) if shared else math.exp(z[-1])
    further = {"log_predictive": alpha} if told.target == "end2" else {}
    return {"probabilities": p, "total": total, "data": data, "knowledge": total - data, **further}
