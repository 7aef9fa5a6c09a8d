"""How far a run of the workflow is, told from its files: by anyone, from any machine that sees the folder."""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gped import resources
from gped.matrix import Matrix
from gped.names import Cell, StudentId
from gped.suggestions import meant

PROGRESS = re.compile(r"(?:chain|distilling): (?:step (\d+) of (\d+) |steps \d+ to (\d+) in )(.*)")


@dataclass(frozen=True)
class Job:
    """A chain, or students that are trained together.

    Args:
        name: The cell, and what is trained.
        work: How much it is, in minutes of some core.
        outputs: Files that it leaves.
        log: Where it tells of its progress.
        steps: Where its chain ends.
    """

    name: str
    work: float
    outputs: list[Path]
    log: Path
    steps: int

    @property
    def is_done(self) -> bool:
        """Whether all its files are there."""
        return all(path.exists() for path in self.outputs)

    @property
    def said(self) -> re.Match[str] | None:
        """Its newest line of progress."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return next(filter(None, (PROGRESS.search(line) for line in reversed(lines))), None)

    @property
    def share(self) -> float:
        """How much of it is done."""
        if self.is_done:
            return 1.0
        said = self.said
        return min(1.0, int(said[1] or said[3]) / self.steps) if said else 0.0

    def line(self) -> str:
        """One line for a person, while it runs."""
        said = self.said
        if said is None:
            return f"{self.name}: started"
        quiet = time.time() - self.log.stat().st_mtime
        warning = f"; silent for {quiet / 60:.0f} minutes" if quiet > 300 else ""
        if said[3]:
            return f"{self.name}: all steps made, writing results{warning}"
        return f"{self.name}: step {said[1]} of {said[2]} {said[4]}{warning}"


def jobs(run: Path, matrix: Matrix) -> Iterator[Job]:
    """All chains and students of a run, finished or not."""
    for cell in matrix.cells():
        settings = matrix.teacher(cell)
        steps, folder, logs = settings["steps"] + settings["further_steps"], run / "cells" / cell.path, run / "logs"
        files = [folder / "readings.bin", folder / "reference.npz"]
        work = resources.chain_work(matrix, cell)
        yield Job(f"{cell.path} chain", work, files, logs / cell.path / "teacher.log", steps)
        for batch in matrix.batches(cell):
            students = [StudentId.from_slug(slug) for slug in batch]
            if any(student.variant for student in students):  # of ablations, which are runs of their own
                continue
            files = [folder / "students" / f"{slug}.npz" for slug in batch]
            more = f" and {len(batch) - 1} more" if len(batch) > 1 else ""
            work = resources.student_work(matrix, cell, students)
            yield Job(f"{cell.path} {batch[0]}{more}", work, files, _log(logs, cell, batch[0]), steps)


def _log(logs: Path, cell: Cell, slug: str) -> Path:
    return logs / cell.path / f"{slug}.log"


def status(run: Path) -> str:
    """What a person wants to know of a run, in a few lines."""
    import yaml  # comes with the workflow, not with the library

    if not (run / "config.yaml").is_file():
        runs = (path.parent.name for path in run.parent.glob("*/config.yaml"))
        near = meant(run.name, runs, f"{run.parent}/")
        raise FileNotFoundError(f"{run} is not the folder of a run: it has no config.yaml.{near}")
    matrix = Matrix(yaml.safe_load((run / "config.yaml").read_text()))
    every = list(jobs(run, matrix))
    work = sum(job.work for job in every)
    share = sum(job.work * job.share for job in every) / work
    chains = [job for job in every if job.name.endswith(" chain")]
    students = [job for job in every if not job.name.endswith(" chain")]
    trained = sum(path.exists() for job in students for path in job.outputs)
    lines = [
        f"{run}: {100 * share:.0f} % of the work done; "
        f"{sum(job.is_done for job in chains)} of {len(chains)} chains, "
        f"{trained} of {sum(len(job.outputs) for job in students)} students"
    ]
    # Snakemake makes the log's folder, and the job its log, when it starts.
    lines += [f"  {job.line()}" for job in every if job.log.exists() and not job.is_done]
    return "\n".join(lines)
