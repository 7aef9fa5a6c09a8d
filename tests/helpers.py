"""What tests of several modules share: small networks and data, students, a posterior in closed form, the workflow."""

import math
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml
from torch import Tensor, nn

import gped
from workflow.experiments.matrix import Matrix
from workflow.reporting.published import PUBLISHED_TABLES, published

SHARED = Path(__file__).parent.parent.parent / "shared" / "data"
TINY_DENSE = gped.Architecture(input_shape=(1, 8, 8), channels=(), kernel=0, hidden=(12, 10))
TINY_CONV = gped.Architecture(input_shape=(1, 10, 10), channels=(4, 6), kernel=3, hidden=(8,))


def random_images(architecture: gped.Architecture, count: int, name: str = "images") -> Tensor:
    shape = (count, *architecture.input_shape)
    return torch.randint(0, 256, shape, generator=gped.stream(0, name), dtype=torch.uint8)


def bytes_of(student: gped.Student, folder: Path) -> bytes:
    """The student as it is written to a file."""
    student.save(folder / "student")
    return (folder / "student").read_bytes()


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def same(one: gped.Reading, other: gped.Reading) -> bool:
    return one.step == other.step and torch.equal(one[1], other[1]) and torch.equal(one[2], other[2])


COMMON = {"steps": 60, "thinning": 2}
CONFIDENCE = gped.Expectation("confidence", lambda log_p: log_p.exp().amax(1), gped.Exponential())
PREDICTIVE = gped.Target(gped.predictive, "us")


def some_log_probabilities(count: int, name: str = "p", classes: int = 4) -> Tensor:
    return torch.log_softmax(2 * torch.randn(count, classes, generator=gped.stream(0, name)), 1)


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[: len(content) // 2]
    elif how == "altered":
        content[len(content) // 2] ^= 1
    elif how == "empty":
        content.clear()
    path.unlink()
    if how != "missing":
        path.write_bytes(content)


def spec(*targets: gped.Target, **options: object) -> gped.StudentSpec:
    return gped.StudentSpec(TINY_DENSE, targets, **({"likelihood": gped.Categorical(3)} | COMMON | options))


def trained(make_chain: Callable[..., gped.Chain], specification: gped.StudentSpec) -> gped.Student:
    return gped.distill(make_chain(specification.architecture), [specification])[0]


PRIOR, NOISE_PRECISION, OBSERVATIONS, DIMENSIONS = 2.0, 0.5, 8, 400
PRECISION = PRIOR + OBSERVATIONS * NOISE_PRECISION  # of the posterior


class Mean(nn.Module):
    """A network whose output is its parameter, for each input: the mean of a Gaussian."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(DIMENSIONS, dtype=torch.float64))

    def forward(self, inputs: Tensor) -> Tensor:
        return self.mean.expand(len(inputs), -1)


class KnownNoise(gped.Likelihood):
    """Outputs are means of Gaussians whose precision is known."""

    name = "known noise"

    def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return -NOISE_PRECISION / 2 * (outputs - targets).square().sum(1)


def hearing(batches: list[Tensor]) -> type[gped.Likelihood]:
    """The same, keeping the targets of every minibatch."""

    class Hearing(KnownNoise):
        def log_likelihood(self, outputs: Tensor, targets: Tensor) -> Tensor:
            batches.append(targets)
            return super().log_likelihood(outputs, targets)

    return Hearing


def gaussian_chain(sampler: gped.Sampler, **options: object) -> gped.Chain:
    targets = torch.empty(OBSERVATIONS, DIMENSIONS, dtype=torch.float64).normal_(1, generator=gped.stream(1, "y"))
    inputs = torch.zeros(OBSERVATIONS, 1)
    settings = {"steps": 10**6, "burn_in": 0, "thinning": 1, "batch_size": OBSERVATIONS, "likelihood": KnownNoise}
    return gped.Chain(Mean(), inputs, targets, inputs, sampler, **(settings | options))


def check_stationary_distribution(sampler: gped.Sampler, step_size: float, friction: float = 1.0) -> None:
    """Mean and variance over many steps and dimensions against the discretised chain's closed form.

    On a Gaussian of precision a the chain is an autoregression of the second order (of the first, with friction 1).
    """
    chain = gaussian_chain(sampler)
    posterior_mean = NOISE_PRECISION * chain.labels.sum(0) / PRECISION
    deviations = []
    for _ in range(4000):
        chain.step()
        deviations.append(chain.theta - posterior_mean)
    deviations = torch.stack(deviations[100:])
    variance = 1 / (PRECISION * (1 - step_size * PRECISION / (4 * (2 - friction))))
    assert abs(deviations.mean()) < 0.05 * math.sqrt(variance)
    assert deviations.mean(0).abs().mean() < 0.05 * math.sqrt(variance)
    assert abs(deviations.square().mean() / variance - 1) < 0.05


class Louder(gped.Noise):
    """The same noise, scaled."""

    def __init__(self, noise: gped.Noise, scale: float) -> None:
        self.generator, self.noise, self.scale = noise.generator, noise, scale

    def __call__(self) -> list[Tensor]:
        return [self.scale * z for z in self.noise()]


class Listening(gped.SGLD):
    """Keeps the last gradient it was given."""

    def update(self, theta: list[Tensor], gradient: list[Tensor], t: int, noise: gped.Noise) -> None:
        self.gradient = gradient
        super().update(theta, gradient, t, noise)


KINDS = {
    "joint": lambda architecture, **options: gped.joint(architecture, 3, **options),
    "end2": lambda architecture, **options: gped.end2(architecture, 3, **options),
    "entropy": lambda architecture, **options: gped.StudentSpec(
        architecture, (gped.Target(gped.entropy, "us"),), 3, **options
    ),
    "own": lambda architecture, **options: gped.StudentSpec(
        architecture,
        (gped.Target(gped.predictive, "us"), gped.Target(CONFIDENCE, "uo"), gped.Target(gped.variance, "us")),
        3,
        **options,
    ),
}

# The workflow

ROOT = Path(__file__).parent.parent
ENVIRONMENT = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
NOTHING = "Nothing to be done"


def snakemake(folder: Path, *arguments: str, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run Snakemake as a user would; standard error goes with standard output."""
    command = [*prefix, sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    return subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=1500
    )


def tiny(folder: Path, *arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return snakemake(folder, *arguments, "--configfile", "tests/tiny.yaml", **options)


def jobs_in(output: str) -> dict[str, int]:
    """How many jobs of each rule Snakemake tells of; the rules of students count as one, and so do those of tables."""
    if NOTHING in output:
        return {}
    table = re.search(r"job +count\n-+ +-+\n(.*?)\ntotal", output, re.DOTALL)
    assert table, output
    counts: dict[str, int] = {}
    for line in table[1].splitlines():
        rule, count = line.split()
        rule = next((many for many in ("students", "measure", "teacher") if rule.startswith(f"{many}_")), rule)
        counts[rule] = counts.get(rule, 0) + int(count)
    return counts


def planned(folder: Path, *arguments: str) -> dict[str, int]:
    """How many jobs of each rule a dry-run would run."""
    counts = jobs_in(tiny(folder, "--dry-run", *arguments).stdout)
    jobs = ("data", "teacher", "students", "measure", "tidy", "draw", "report")
    named = {rule: count for rule, count in counts.items() if rule in jobs}
    return named or dict.fromkeys(["pages about the others"][: len(counts)], 1)


def copy_of_the_project(folder: Path) -> Path:
    """A checkout of one's own, so that code can be changed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in (
        "Snakefile",
        "config.yaml",
        "LICENSE",
        "CITATION.cff",
        "profiles",
        "gped",
        "workflow",
        "envs",
        "tests",
    ):
        source = ROOT / name
        ignore = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source, folder / name, ignore=ignore) if source.is_dir() else shutil.copy(source, folder / name)
    return folder


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def merged(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    """One configuration laid over another, as Snakemake does it."""
    result = dict(base)
    for key, value in over.items():
        result[key] = merged(result[key], value) if isinstance(value, dict) and key in result else value
    return result


def configuration(preset: str | None = None) -> dict[str, Any]:
    """The default configuration, perhaps with a preset or the file tests/tiny.yaml laid over it."""
    config = yaml.safe_load((ROOT / "config.yaml").read_text())
    if preset:
        file = ROOT / ("tests/tiny.yaml" if preset == "tiny" else f"workflow/presets/{preset}.yaml")
        config = merged(config, yaml.safe_load(file.read_text()))
    return config


def of_experiments(*experiments: int, preset: str | None = "paper") -> Matrix:
    return Matrix(configuration(preset) | {"experiments": list(experiments)})


LONG = [("FCNN", "MNIST", 10**6), ("CNN", "MNIST", 10**6), ("CNN", "CIFAR10", 10**6)]  # the published chains


def published_tables(*more: str) -> dict[str, pd.DataFrame]:
    """The paper's numbers."""
    return {name: published(name) for name in (*PUBLISHED_TABLES, *more)}
