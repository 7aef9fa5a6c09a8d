"""All jobs of a run: what each is called, and what it needs to know. The rules ask here."""

import json
from collections import Counter
from collections.abc import Collection, Hashable, Iterable
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gped.evaluation.montecarlo import relaxations_per_block
from gped.support.files import write_text
from gped.support.status import write_jobs
from workflow.experiments import bdk, settings
from workflow.experiments.ablations import ablated_cells
from workflow.experiments.batches import Batch, Shared, batches, rows
from workflow.experiments.figures import Figure, figures
from workflow.experiments.matrix import Matrix
from workflow.experiments.names import Cell
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

    # Chains and students, some to a job

    def chains(self) -> dict[str, Shared]:
        """The chains that share a job, by the name of their rule."""
        return self._shared("teacher", self.cells.values(), ())

    def batches(self) -> dict[str, Shared]:
        """The students that share a job, by the name of their rule."""
        together: dict[Batch, list[Cell]] = {}
        for cell in self.cells.values():
            for batch in batches(self.matrix, cell):
                together.setdefault(batch, []).append(cell)
        counted: Counter[str] = Counter()
        named: dict[str, Shared] = {}
        for batch, cells in together.items():
            roles = "_and_".join(dict.fromkeys(cell.role for cell in cells))
            kind = "_".join(filter(None, ("students", batch[0].kind, batch[0].variant, roles)))
            counted[kind] += 1
            named |= self._shared(f"{kind}_{counted[kind]}" if counted[kind] > 1 else kind, cells, batch)
        return named

    def _shared(self, name: str, cells: Iterable[Cell], students: Batch) -> dict[str, Shared]:
        """A rule for all cells that are alone, and one for all jobs of cells with the same masks."""
        alike: dict[tuple[str, ...], list[Cell]] = {}
        for job in rows(cells, self.matrix.config["cells_per_job"], self._row):
            paths = tuple(cell.path_in("{row}", "{seed}") for cell in job) if len(job) > 1 else ("{cell}",)
            alike.setdefault(paths, []).extend(job)
        named = {}
        for paths, some in alike.items():
            every, masks = [cell.path for cell in some], dict.fromkeys(f"m{cell.mask}" for cell in some)
            if paths == ("{cell}",):
                named[name] = Shared(paths, {"cell": every}, every, students)
            else:
                may_be = {"row": [cell.row for cell in some], "seed": [str(cell.seed) for cell in some]}
                called = "_".join(filter(None, (name, *masks, some[0].variant)))
                named[called] = Shared(paths, may_be, every, students)
        return named

    @cached_property
    def _row(self) -> dict[Cell, Hashable]:
        """What cells that may share a job have in common: all but their masks, and which tables need them.

        Whoever wants one table or figure has no chain run that it is not made from.
        """
        needed_by: dict[Cell, list[str]] = {cell: [] for cell in self.cells.values()}
        for name, measurement in self.measurements.items():
            for need in measurement.needs:
                needed_by[need.cell].append(name)
        return {cell: (replace(cell, mask=0), *names) for cell, names in needed_by.items()}

    # What a job needs to know

    def all_settings(self) -> dict[str, dict[str, Any]]:
        """The settings of every job, by the job's name."""
        every = {}
        for path, cell in self.cells.items():
            every[Jobs.teacher(path)] = settings.teacher(self.matrix, cell)
            for student in (student for batch in batches(self.matrix, cell) for student in batch):
                training = settings.training(self.matrix, cell, student)
                every[Jobs.student(path, student.slug)] = {"training": training, "student": asdict(student)}
        for cell in bdk.cells(self.matrix):
            for name, network in bdk.networks(self.matrix).items():
                every[Jobs.network(cell.path, name)] = bdk.training(self.matrix, cell, network)
            for teacher in bdk.ENSEMBLES:
                every[Jobs.ensemble(cell.path, teacher)] = bdk.teaching(self.matrix, cell, teacher)
            every[Jobs.tables("bdk")] = bdk.tabulating(self.matrix)
        every |= {Jobs.data(*one): self.data(*one) for one in self.matrix.all_sets()}
        every |= {Jobs.tables(name): self.measuring(one) for name, one in self.measurements.items()}
        every |= {Jobs.figure(name): self.drawing(name) for name in self.figures}
        pages = {"compare": self.comparing(), "claims": self.judging(), "summary": self.summarising()}
        return every | pages | {"crate": self.packing()}

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
        told: dict[str, Any] = {
            "cell": asdict(need.cell),
            "students": [asdict(student) for student in need.students],
            "ood": self.matrix.ood(need.cell),
            "called": {name: self.matrix.called(name) for name in (need.cell.dataset, *self.matrix.ood(need.cell))},
            "ablations": compared,
        }
        if any(one.name == "reference" for one in need.ablations):
            chain = self.matrix.models[need.cell.role]["chain"]
            told["relaxations_per_block"] = relaxations_per_block(
                *(chain[key] for key in ("steps", "burn_in", "step_size", "prior_precision"))
            )
        return told

    def drawing(self, name: str) -> dict[str, Any]:
        """A figure, and what it is drawn from, by paths from the run's folder."""
        figure = self._figures_by_paths_within[name]
        return {"name": name, "drawing": figure.drawing, "inputs": figure.inputs, "options": figure.options}

    @cached_property
    def _figures_by_paths_within(self) -> dict[str, Figure]:
        """The figures, told by paths from the run's folder: with storage it is not where it seems."""
        return figures(self.matrix, Paths("."))

    @property
    def compared(self) -> list[str]:
        """The paper's tables that the run has."""
        return [table.name for table in self.tables if table.is_published]

    def comparing(self) -> dict[str, Any]:
        """The tables to compare with the paper's, how long the chains are, and how many seeds each has."""
        return {"tables": self.compared, "steps": self.matrix.chain_lengths(), "seeds": self.seeds}

    def judging(self) -> dict[str, Any]:
        """The tables that tell whether the paper's claims hold."""
        made = {table.name for table in self.tables}
        more = [name for name in ("tradeoff", "constants", "accuracy") if name in made]
        return {"tables": [*self.compared, *more], "seeds": self.seeds, "stand_ins": self.matrix.stand_ins}

    @property
    def seeds(self) -> int:
        """How many seeds every cell has."""
        return len(self.matrix.config["seeds"])

    @property
    def main_figure(self) -> str | None:
        """What the summary shows: published numbers and ours, or else the last of the paper's figures that there is."""
        if self.matrix.is_on_the_papers_data and "published_vs_reproduced" in self.figures:
            return "published_vs_reproduced"
        return next((name for name, figure in reversed(self.figures.items()) if figure.experiment), None)

    def summarising(self) -> dict[str, Any]:
        """What the summary tells of the run."""
        matrix, models = self.matrix, []
        figure = self.figures[self.main_figure] if self.main_figure else None
        for role, model in matrix.models.items():
            cells = [cell for cell in matrix.cells() if cell.role == role]
            models.append(
                {
                    "name": matrix.focus(role)[0].model,
                    "dataset": matrix.called(model["dataset"]),
                    "place": matrix.in_whose_place(role),
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
            "figure": self.main_figure,
            "caption": f"{figure.shows[0].upper()}{figure.shows[1:]}: {figure.of}" if figure else "",
        }

    def packing(self) -> dict[str, Any]:
        """What the run's crate says of it, and of each file in it."""
        made = [(table, part) for table in self.tables for part in table.parts_in(self.matrix)]
        titles = {f"tables/{table.name}": table.title for table, _ in made}
        titles |= {f"tables/{table.file(part)}": f"{table.title}: {part.of or 'all models'}" for table, part in made}
        titles |= {f"figures/{one.name}": f"{one.shows}: {one.of}" for one in self.figures.values()}
        titles |= {
            "tables/published_vs_reproduced": "The published numbers and ours: all experiments",
            "tables/claims": "Claims and verdicts: all experiments",
            "summary": "Summary of the run",
        }
        config, models = self.matrix.config, map(self.matrix.title, self.matrix.models)
        numbers = (
            f"experiments {', '.join(map(str, config['experiments']))}, seeds {', '.join(map(str, config['seeds']))}"
        )
        data = "the paper's" if self.matrix.is_on_the_papers_data else "not the paper's: a demonstration"
        about = f"Posterior expectation distillation by {', '.join(models)} ({numbers}). The data are {data}."
        return {"run": config["run"], "description": about, "titles": titles}

    @staticmethod
    def experiment(number: int | None) -> str:
        """Where the report lists a table or figure."""
        return EXPERIMENTS[number] if number else "Reproduction"

    def write(self) -> None:
        """Write down what the jobs will read."""
        for job, values in self.all_settings().items():
            path, text = Path(self.paths.settings(job)), as_text(values) + "\n"
            if not path.is_file() or path.read_text() != text:
                write_text(path, text)

    def write_jobs(self, made: Collection[str]) -> None:
        """Write down what `gped status` will read.

        Args:
            made: All files that are wanted this time, be they there already or not.
        """
        write_jobs(Path(self.paths.run), jobs(self.matrix, self.cells.values(), self.paths, made))


def as_text(values: Any) -> str:
    """Settings in one form, so that equal ones are equal texts."""
    return json.dumps(values, sort_keys=True, ensure_ascii=False)
