"""Tabulate Bayesian Dark Knowledge beside what one would otherwise take, from what teachers and students say."""

import json
from pathlib import Path

from gped.data.images import ImageSet
from gped.networks import cost
from gped.support.files import write_text
from workflow.experiments.models import MODELS
from workflow.experiments.paths import TABLE_FORMS, Paths
from workflow.jobs import job
from workflow.jobs.arrays import load_arrays
from workflow.reporting.bdk_table import as_text, note, rows, with_published
from workflow.reporting.frames import frame_of
from workflow.reporting.writing import FORMS

TITLE = "Bayesian Dark Knowledge beside what one would otherwise take"


def main() -> None:
    """Write the table bdk to the folder --run."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths = job.read_settings(given.settings), Paths(given.run)
    labels = ImageSet.load(paths.images(settings["set"], "test")).labels
    parameters = cost.parameters(MODELS[settings["role"]].architecture, int(labels.max()) + 1)
    every = []
    for cell in settings["cells"]:
        latency = json.loads(Path(paths.latency(cell)).read_text())
        for one in settings["teachers"]:
            name, chain = one["name"], one["name"] == settings["chain"]
            teacher = paths.reference(cell) if chain else paths.ensemble(cell, name)
            student = paths.predictions(cell, settings["slug"]) if chain else paths.ensemble_student(cell, name)[1]
            said = {
                "teacher": load_arrays(teacher)["test/predictive"],
                "student": load_arrays(student)["test/probabilities"],
            }
            made = rows(one["method"], labels, said, latency[name], one["passes"], one["networks"], parameters)
            every += [{"dataset": settings["dataset"], **row} for row in made]
    numbers = with_published(frame_of("bdk", every, len(settings["cells"])))
    chosen = {
        kind: [json.loads(Path(paths.network(cell, f"{kind}-0")[1]).read_text()) for cell in settings["cells"]]
        for kind in ("plain", "dropout")
    }
    text, told = as_text(numbers), note(settings["caption"], settings["dataset"], chosen)
    for form in TABLE_FORMS:
        write_text(paths.table("bdk", form), FORMS[form](numbers, text, TITLE, told))


if __name__ == "__main__":
    job.run(main)
