"""Run the chain of one cell once: record its readings, and keep the ensemble's expectations on the evaluated inputs."""

from pathlib import Path

from gped.architectures import BY_ROLE
from gped.chain import Chain
from gped.networks import Network
from gped.randomness import stream
from gped.readings import record
from gped.reference import Reference
from gped.sgld import SGLD
from workflow.scripts import jobs
from workflow.scripts.cells import prepare
from workflow.scripts.checkpoints import checkpointed


def main() -> None:
    """Write --readings and --reference."""
    job = jobs.arguments(__doc__, "settings", "sets=", "readings", "reference", "checkpoints")
    settings = job.settings
    inputs = prepare(settings["inputs"], dict(job.sets))
    references = {
        name: Reference(images, settings["reference_every" if name == "test" else "ood_every"])
        for name, images in inputs.evaluated.items()
    }
    seed = settings["seed"]
    classes = int(inputs.labels.max()) + 1
    chain = Chain(
        Network(BY_ROLE[settings["role"]], classes, stream(seed, "teacher's initialisation")),
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
    with checkpointed(
        Path(job.checkpoints) / "teacher", [job.readings, job.reference], settings, inputs.digest
    ) as checkpoint:
        if checkpoint:
            record(chain, job.readings, settings, checkpoint)
            jobs.save_arrays(
                job.reference,
                {f"{name}/{what}": v for name, one in references.items() for what, v in one.result().items()},
            )


if __name__ == "__main__":
    jobs.run(main)
