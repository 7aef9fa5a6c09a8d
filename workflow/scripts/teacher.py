"""Run the chains of some cells once: record their readings, keep what the ensembles say of the evaluated inputs."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from gped.networks.network import Network
from gped.readings.recording import record
from gped.sampling.chain import Chain
from gped.sampling.reference import Reference
from gped.sampling.sgld import SGLD
from gped.support.randomness import stream
from workflow.experiments.models import MODELS
from workflow.jobs import job
from workflow.jobs.arrays import save_arrays
from workflow.jobs.cell_inputs import prepare
from workflow.jobs.checkpoints import checkpointed


def run(settings: dict[str, Any], sets: dict[str, str], files: list[str], folder: Path, unfinished: ExitStack) -> None:
    """Write the readings and the reference of a cell. Its checkpoint stays in the folder as long as others run."""
    inputs = prepare(settings["inputs"], sets)
    references = {
        name: Reference(images, settings["reference_every" if name == "test" else "ood_every"])
        for name, images in inputs.evaluated.items()
    }
    seed = settings["seed"]
    architecture = MODELS[settings["role"]].architecture
    chain = Chain(
        Network(architecture, inputs.classes, stream(seed, "teacher's initialisation")),
        inputs.labelled,
        inputs.labels,
        inputs.unlabelled,
        SGLD(settings["step_size"], settings["prior_precision"]),
        steps=settings["steps"],
        burn_in=settings["burn_in"],
        thinning=settings["thinning"],
        further_steps=settings["further_steps"],
        batch_size=settings["batch_size"],
        reading_size=settings["reading_size"],
        seed=seed,
        references=references,
        noise=settings["noise"],
        device=settings["device"],
    )
    checkpoint = unfinished.enter_context(checkpointed(folder, files, settings, inputs.digest))
    if checkpoint:
        readings, reference = files
        record(chain, readings, settings, checkpoint)
        expectations = {name: one.result() for name, one in references.items()}
        save_arrays(
            reference,
            {f"{name}/{what}": values for name, said in expectations.items() for what, values in said.items()},
        )


def main() -> None:
    """Write the two files of each cell in --output."""
    given = job.arguments(__doc__, "settings", "sets=", "output+", "checkpoints", "logs+")
    with ExitStack() as unfinished:
        for (cell, files), log in zip(job.by_cell(given.output).items(), given.logs, strict=True):
            job.go_on_in(log)
            settings = job.read_settings(f"{given.settings}/{cell}/teacher.json")
            run(settings, dict(given.sets), files, Path(given.checkpoints, cell, "teacher"), unfinished)


if __name__ == "__main__":
    job.run(main)
