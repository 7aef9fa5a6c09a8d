"""Run the chain of one cell once: record its readings, and keep the ensemble's expectations on the evaluated inputs."""

from pathlib import Path

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


def main() -> None:
    """Write --readings and --reference."""
    given = job.arguments(__doc__, "settings", "sets=", "readings", "reference", "checkpoints")
    settings = job.read_settings(given.settings)
    inputs = prepare(settings["inputs"], dict(given.sets))
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
    outputs = [given.readings, given.reference]
    with checkpointed(Path(given.checkpoints), outputs, settings, inputs.digest) as checkpoint:
        if checkpoint:
            record(chain, given.readings, settings, checkpoint)
            expectations = {name: reference.result() for name, reference in references.items()}
            save_arrays(
                given.reference,
                {f"{name}/{what}": values for name, said in expectations.items() for what, values in said.items()},
            )


if __name__ == "__main__":
    job.run(main)
