"""All jobs of a run: what each is called, and what it needs to know. The rules ask here."""

import json
from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gped.support.files import write_text
from gped.support.status import write_jobs
from workflow.experiments import settings
from workflow.experiments.ablations import ablated_cells
from workflow.experiments.batches import Batch, batches
from workflow.experiments.figures import figures
from workflow.experiments.matrix import Matrix
from workflow.experiments.paths import Jobs, Paths
from workflow.experiments.resources import jobs
from workflow.experiments.tables import ABLATIONS, EXPERIMENTS, TABLES, Measurement, Need, measurements


class Plan:
    """What a configuration asks for.

    Args:
        config: A configuration that has passed `workflow.experiments.configuration.check`.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        self.matrix = Matrix(config)
        self.paths = Paths(f"results/{config['run']}")
        self.cells = {cell.path: cell for cell in [*self.matrix.cells(), *ablated_cells(self.matrix)]}
        self.figures = figures(self.matrix, self.paths)
        self.tables = [table for table in TABLES if table.parts_in(self.matrix)]
        self.measurements = {one.name: one for one in measurements(self.matrix, [*TABLES, ABLATIONS])}

    # Students, some to a job

    def batches(self) -> dict[str, tuple[Batch, list[str]]]:
        """The students that share a job, and the cells that have them, by the name of their rule."""
        together: dict[Batch, list[str]] = {}
        for path, cell in self.cells.items():
            for batch in batches(self.matrix, cell):
                together.setdefault(batch, []).append(path)
        counted: Counter[str] = Counter()
        named = {}
        for batch, cells in together.items():
            roles = "_and_".join(dict.fromkeys(self.cells[path].role for path in cells))
            kind = "_".join(filter(None, ("students", batch[0].kind, batch[0].variant, roles)))
            counted[kind] += 1
            named[f"{kind}_{counted[kind]}" if counted[kind] > 1 else kind] = batch, cells
        return named

    # What a job needs to know

    def all_settings(self) -> dict[str, dict[str, Any]]:
        """The settings of every job, by the job's name."""
        every = {}
        for path, cell in self.cells.items():
            every[Jobs.teacher(path)] = settings.teacher(self.matrix, cell)
            for student in (student for batch in batches(self.matrix, cell) for student in batch):
                training = settings.training(self.matrix, cell, student)
                every[Jobs.student(path, student.slug)] = {"training": training, "student": asdict(student)}
        every |= {Jobs.data(*one): self.data(*one) for one in self.matrix.all_sets()}
        every |= {Jobs.tables(name): self.measuring(one) for name, one in self.measurements.items()}
        every |= {Jobs.figure(name): self.drawing(name) for name in self.figures}
        return every | {"compare": self.comparing(), "claims": self.judging(), "summary": self.summarising()}

    def data(self, name: str, split: str) -> dict[str, Any]:
        """Which set, and where it comes from."""
        root = self.matrix.config["data"]["root"]
        where = {"name": name, "split": split, "root": root, "cache": f"{root}/cache"}
        return where | settings.images(self.matrix, name)

    def measuring(self, measurement: Measurement) -> dict[str, Any]:
        """Tables, and what they are computed from."""
        return {
            "tables": [
                {
                    "name": table.name,
                    "file": table.file(part),
                    "title": f"{table.title}: {part.of}" if part.of else table.title,
                    "forms": table.forms,
                }
                for table, part in measurement.parts
            ],
            "keys": measurement.keys,
            "needs": [self._need(need) for need in measurement.needs],
        }

    def _need(self, need: Need) -> dict[str, Any]:
        compared = [(one.name, one.setting, asdict(one.student) if one.student else None) for one in need.ablations]
        return {
            "cell": asdict(need.cell),
            "students": [asdict(student) for student in need.students],
            "ood": self.matrix.ood(need.cell),
            "ablations": compared,
        }

    def drawing(self, name: str) -> dict[str, Any]:
        """A figure, and what it is drawn from."""
        figure = self.figures[name]
        return {"name": name, "drawing": figure.drawing, "inputs": figure.inputs, "options": figure.options}

    @property
    def compared(self) -> list[str]:
        """The paper's tables that the run has."""
        return [table.name for table in self.tables if table.is_published]

    def comparing(self) -> dict[str, Any]:
        """The tables to compare with the paper's, and how long the chains are."""
        return {"tables": self.compared, "steps": self.matrix.chain_lengths()}

    def judging(self) -> dict[str, Any]:
        """The tables that tell whether the paper's claims hold."""
        made = {table.name for table in self.tables}
        return {"tables": [*self.compared, *(name for name in ("tradeoff", "constants") if name in made)]}

    @property
    def main_figure(self) -> str:
        """What the summary shows: published numbers and ours, or else the last of the paper's figures that there is."""
        of_the_paper = [name for name, figure in self.figures.items() if figure.experiment]
        on_other_data = of_the_paper and not self.matrix.is_on_the_papers_data
        return of_the_paper[-1] if on_other_data else "published_vs_reproduced"

    def summarising(self) -> dict[str, Any]:
        """What the summary tells of the run."""
        matrix, figure = self.matrix, self.figures[self.main_figure]
        models = []
        for role, model in matrix.models.items():
            cells = [cell for cell in matrix.cells() if cell.role == role]
            models.append(
                {
                    "name": matrix.focus(role)[0].model,
                    "dataset": model["dataset"],
                    "train_sizes": sorted({cell.train_size for cell in cells}),
                    "masks": ", ".join(map(str, sorted({cell.mask for cell in cells}))),
                    "steps": model["chain"]["steps"],
                    "chains": len(cells),
                    "students": sum(len(matrix.students(cell)) for cell in cells),
                }
            )
        return {
            "run": matrix.config["run"],
            "seeds": matrix.config["seeds"],
            "experiments": matrix.config["experiments"],
            "papers_data": matrix.is_on_the_papers_data,
            "models": models,
            "figure": figure.name,
            "caption": f"{figure.shows[0].upper()}{figure.shows[1:]}: {figure.of}",
        }

    @staticmethod
    def experiment(number: int | None) -> str:
        """Where the report lists a table or figure."""
        return EXPERIMENTS[number] if number else "Reproduction"

    def write(self) -> None:
        """Write down what the jobs and `gped status` will read."""
        for job, values in self.all_settings().items():
            path, text = Path(self.paths.settings(job)), as_text(values) + "\n"
            if not path.is_file() or path.read_text() != text:
                write_text(path, text)
        write_jobs(Path(self.paths.run), jobs(self.matrix))


def as_text(values: Any) -> str:
    """Settings in one form, so that equal ones are equal texts."""
    return json.dumps(values, sort_keys=True, ensure_ascii=False)
