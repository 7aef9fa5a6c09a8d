"""One SGLD step: ours, those of others, and what no step can do without.

    python benchmarks/steps.py [--rounds 30] [--output benchmarks/results]

All contenders take turns in one process on one thread, and the CPU time of each is told as the median over the rounds
with its quartiles, so that a busy machine slows all of them alike. Ratios are what counts.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from math import sqrt
from pathlib import Path

import pandas as pd
import torch
from torch import Tensor, nn
from torch.func import functional_call

import gped

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about defaults of its own classes
    import posteriors

INPUTS, BATCH, PRIOR, STEP_SIZE = 6000, 100, 10.0, 4e-6
NETWORKS = {"fcnn_mnist": gped.FCNN_MNIST, "cnn_mnist": gped.CNN_MNIST, "cnn_cifar10": gped.CNN_CIFAR10}
Step = Callable[[], object]


def contenders(role: str) -> dict[str, Step]:
    """What takes turns, each a function that makes one step."""
    architecture = NETWORKS[role]
    generator = gped.stream(0, "benchmark")
    images = torch.randint(0, 256, (INPUTS, *architecture.input_shape), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 10, (INPUTS,), generator=generator)
    inputs = gped.Inputs(images)

    def network() -> gped.Network:
        return gped.Network(architecture, 10, gped.stream(0, "θ"))

    def batch() -> tuple[Tensor, Tensor]:
        chosen = torch.randint(0, INPUTS, (BATCH,), generator=generator)
        return inputs[chosen], labels[chosen]

    def chain(noise: str) -> gped.Chain:
        options = {"steps": 10**9, "burn_in": 10**9 - 1, "thinning": 1, "noise": noise}
        return gped.Chain(network(), inputs, labels, inputs, gped.SGLD(STEP_SIZE, PRIOR), **options)

    return {
        "ours": chain("torch").step,
        "ours, native noise": chain("native").step,
        "posteriors": with_posteriors(_contiguous(network()), lambda: _contiguous_batch(*batch())),
        "plain loop": with_a_plain_loop(_contiguous(network()), lambda: _contiguous_batch(*batch())),
        "forward and backward": forward_and_backward(network(), *batch()),
        "matrix products": products(network(), *batch()),
    }


def _contiguous(network: nn.Module) -> nn.Module:
    """The layout that torch gives a network of which nobody has thought."""
    return network.to(memory_format=torch.contiguous_format)


def _contiguous_batch(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    return x.contiguous(memory_format=torch.contiguous_format), y


def with_posteriors(network: nn.Module, batch: Callable[[], tuple[Tensor, Tensor]]) -> Step:
    """`posteriors.sgmcmc.sgld` as its documentation uses it."""

    def log_posterior(parameters: dict[str, Tensor], data: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        x, y = data
        outputs = functional_call(network, parameters, x)
        prior = posteriors.diag_normal_log_prob(parameters, mean=0.0, sd_diag=PRIOR**-0.5)
        return -nn.functional.cross_entropy(outputs, y) + prior / INPUTS, outputs

    transform = posteriors.sgmcmc.sgld.build(log_posterior, lr=STEP_SIZE * INPUTS / 2, temperature=1 / INPUTS)
    state = [transform.init({name: p.detach().clone() for name, p in network.named_parameters()})]

    def step() -> None:
        state[0] = transform.update(state[0], batch())[0]

    return step


def with_a_plain_loop(network: nn.Module, batch: Callable[[], tuple[Tensor, Tensor]]) -> Step:
    """The loss with its prior, backward, and a loop over the parameters: what one writes first."""

    def step() -> None:
        x, y = batch()
        network.zero_grad()
        loss = nn.functional.cross_entropy(network(x), y) * INPUTS
        loss = loss + PRIOR / 2 * sum(parameter.square().sum() for parameter in network.parameters())
        loss.backward()
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(parameter.grad, alpha=-STEP_SIZE / 2)
                parameter.add_(torch.randn_like(parameter), alpha=sqrt(STEP_SIZE))

    return step


def forward_and_backward(network: nn.Module, x: Tensor, y: Tensor) -> Step:
    """The gradient of one minibatch that never changes, in our memory layout, and nothing else."""
    parameters = list(network.parameters())
    return lambda: torch.autograd.grad(nn.functional.cross_entropy(network(x), y), parameters)


def products(network: gped.Network, x: Tensor, y: Tensor) -> Step:
    """The convolutions and matrix products of that gradient alone."""
    work: list[Step] = []
    flowing = x
    with torch.no_grad():
        for layer in network:
            before, flowing = flowing, layer(flowing)
            if isinstance(layer, nn.Conv2d):
                work.append(_convolution(layer, before, torch.ones_like(flowing), first=not work))
            elif isinstance(layer, nn.Linear):
                work.append(_linear(layer, before, torch.ones_like(flowing), first=not work))

    @torch.no_grad()
    def step() -> None:
        for part in work:
            part()

    return step


def _convolution(layer: nn.Conv2d, x: Tensor, gradient: Tensor, first: bool) -> Step:
    weight, bias = layer.weight.detach(), layer.get_parameter("bias").detach()
    wanted = [not first, True, False]

    def part() -> None:
        nn.functional.conv2d(x, weight, bias)
        torch.ops.aten.convolution_backward(gradient, x, weight, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, wanted)

    return part


def _linear(layer: nn.Linear, x: Tensor, gradient: Tensor, first: bool) -> Step:
    weight, bias = layer.weight.detach(), layer.get_parameter("bias").detach()

    def part() -> None:
        torch.addmm(bias, x, weight.t())
        gradient.t() @ x
        if not first:
            gradient @ weight

    return part


def measure(role: str, rounds: int) -> pd.DataFrame:
    """CPU milliseconds of a step of each contender, round by round."""
    steps = contenders(role)
    for step in steps.values():
        for _ in range(3):
            step()
    rows = []
    for number in range(rounds):
        for name, step in steps.items():
            start, count = time.process_time(), 0
            while count < 3 or time.process_time() - start < 0.2:  # long enough to be at home in the cache
                step()
                count += 1
            rows.append(
                {"network": role, "round": number, "step": name, "ms": 1e3 * (time.process_time() - start) / count}
            )
    return pd.DataFrame(rows)


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Median and quartiles of each contender, and how its time compares with ours in the same round."""
    ours = rows[rows["step"] == "ours"].set_index(["network", "round"])["ms"]
    rows = rows.assign(
        ratio=rows["ms"].to_numpy() / ours.loc[list(zip(rows["network"], rows["round"], strict=True))].to_numpy()
    )
    groups = rows.groupby(["network", "step"], sort=False)
    table = groups["ms"].quantile([0.25, 0.5, 0.75]).unstack().set_axis(["lower", "ms", "upper"], axis=1)
    return table[["ms", "lower", "upper"]].join(groups["ratio"].median().rename("times_ours")).reset_index()


def main() -> None:
    """Print the table, and write it with a picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    table = summary(pd.concat([measure(role, arguments.rounds) for role in NETWORKS]))
    print(table.to_string(index=False, float_format="%.2f"))
    arguments.output.mkdir(parents=True, exist_ok=True)
    table.to_csv(arguments.output / "steps.csv", index=False, float_format="%.4g")


if __name__ == "__main__":
    main()
