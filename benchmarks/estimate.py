"""How many core-hours a run takes on this machine, from a few seconds of measurement.

python benchmarks/estimate.py reduced mine.yaml     a preset, and a file that is laid over it
"""

import argparse
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import yaml
from snakemake.utils import update_config

import gped
from gped.distillation import update
from gped.networks.architectures import Architecture
from gped.support.suggestions import meant, missing

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))  # the workflow is not an installed package

from workflow.experiments.configuration import ConfigurationError, check  # noqa: E402
from workflow.experiments.matrix import Matrix, chosen_models  # noqa: E402
from workflow.experiments.models import MODELS  # noqa: E402
from workflow.experiments.settings import teacher  # noqa: E402

TEST, OOD = 10_000, 5000  # images of a real test set, and of an out-of-distribution set


def configuration(files: list[Path]) -> dict[str, Any]:
    """The default configuration with others laid over it, as Snakemake does it."""
    config: dict[str, Any] = {}
    for file in (ROOT / "config.yaml", *files):
        update_config(config, yaml.safe_load(file.read_text()))
    return config


def _seconds(work: Any, least: float = 0.3) -> float:
    """CPU time of one call, as the best of a few."""
    work()
    best = float("inf")
    until = time.process_time() + least
    while time.process_time() < until:
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


class _Random:
    """Readings of random images, to learn from."""

    def __init__(self, architecture: Architecture) -> None:
        self.info = gped.ReadingsInfo(1000, "categorical", 10, 100, 1, 0, 10**9, 10**9)
        self.available = self.info.due
        self.inputs = gped.Inputs(torch.randint(0, 256, (1000, *architecture.input_shape), dtype=torch.uint8))


@cache
def update_seconds(architecture: Architecture) -> float:
    """One update of a student."""
    readings = _Random(architecture)
    spec = gped.StudentSpec(
        architecture, (gped.Target(gped.predictive, "uo"),), gped.Categorical(10), steps=10**9, thinning=1
    )
    learner = gped.Learner(spec, readings)  # type: ignore[arg-type]
    indices, log_p = torch.arange(100), torch.log_softmax(torch.randn(100, 10), 1)
    x = readings.inputs[indices]
    return _seconds(lambda: update(learner, gped.Reading(1, indices, log_p), x))


@cache
def chain_seconds(role: str, noise: str) -> tuple[float, float]:
    """One step of a chain, and one forward pass of 1,000 inputs."""
    readings = _Random(MODELS[role].architecture)
    labels = torch.randint(0, 10, (1000,))
    network = gped.Network(MODELS[role].architecture, 10, gped.stream(0, "θ"))
    images = readings.inputs
    length = {"steps": 10**9, "burn_in": 10**9 - 1, "thinning": 1}
    chain = gped.Chain(network, images, labels, images, gped.SGLD(4e-6), **length, noise=noise)
    reference = gped.Reference(images)
    reference.start(10**9, gped.Categorical(10), torch.device("cpu"))
    return _seconds(chain.step), _seconds(lambda: reference.update(chain.network))


def estimate(matrix: Matrix) -> pd.DataFrame:
    """Core-hours by model and stage."""
    rows = []
    for role in matrix.models:
        step, thousand = chain_seconds(role, matrix.models[role]["chain"]["noise"])
        chains = students = 0.0
        cells = [cell for cell in matrix.cells() if cell.role == role]
        for cell in cells:
            settings = teacher(matrix, cell)
            steps, after = settings["steps"], settings["steps"] - settings["burn_in"]
            chains += step * (steps + settings["further_steps"])
            chains += thousand * after * TEST / 1000 / settings["reference_every"]
            variants = 2 if cell.mask else 1
            chains += thousand * after * len(matrix.ood(cell)) * variants * OOD / 1000 / settings["ood_every"]
            for student in matrix.students(cell):
                listens = after + (settings["further_steps"] if student.strength is not None else 0)
                architecture = MODELS[role].architecture.scaled(student.k1, student.k2)
                students += update_seconds(architecture) * listens / student.thinning
        count = sum(len(matrix.students(cell)) for cell in cells)
        rows.append(
            {
                "model": role,
                "chains": len(cells),
                "students": count,
                "chain hours": chains / 3600,
                "student hours": students / 3600,
            }
        )
    table = pd.DataFrame(rows)
    return pd.concat([table, pd.DataFrame([{"model": "all"} | table.drop(columns="model").sum().to_dict()])])


def file_of(name: str) -> Path:
    """A preset or a file."""
    preset = ROOT / f"workflow/presets/{name}.yaml"
    if preset.is_file() or Path(name).is_file():
        return preset if preset.is_file() else Path(name)
    presets = [path.stem for path in preset.parent.glob("*.yaml")]
    sys.exit(f"There is no preset and no file {name}.{meant(name, presets) or missing(Path(name))}")


def main() -> None:
    """Print the estimate for the presets or files named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    names = "a preset by its name, or a configuration file; each is laid over those before it, and all over config.yaml"
    parser.add_argument("configurations", nargs="*", metavar="PRESET or FILE", help=names)
    config = configuration([file_of(name) for name in parser.parse_args().configurations])
    config["models"] = chosen_models(config)
    try:
        check(config, yaml.safe_load((ROOT / "workflow/schemas/config.schema.yaml").read_text()))
    except ConfigurationError as error:
        sys.exit(f"The configuration cannot be run.\n{error}")
    torch.set_num_threads(1)
    matrix = Matrix(config)
    table = estimate(matrix)
    hours = table.iloc[-1][["chain hours", "student hours"]].sum()
    print(table.to_string(index=False, float_format="%.1f"))
    print(f"\nThe run {matrix.config['run']!r} takes about {hours:.1f} core-hours on this machine.")


if __name__ == "__main__":
    main()
