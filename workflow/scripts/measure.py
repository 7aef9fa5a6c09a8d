"""Compute the tables that are made from the same students: their numbers, and the forms in which they are read."""

from dataclasses import replace
from math import nan

from workflow.experiments.names import Cell, StudentId
from workflow.experiments.paths import Paths
from workflow.jobs import job
from workflow.reporting.frames import frame_of
from workflow.reporting.results import Results
from workflow.reporting.rows import ROWS
from workflow.reporting.writing import write_table


def main() -> None:
    """Write every table that --settings name to the folder --run."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths = job.read_settings(given.settings), Paths(given.run)
    keys, cells = settings["keys"], [Cell(**need["cell"]) for need in settings["needs"]]
    every = [
        Results(
            paths,
            cell,
            [StudentId(**student) for student in need["students"]],
            need["ood"],
            keys,
            [(name, setting, StudentId(**told) if told else None) for name, setting, told in need["ablations"]],
            need.get("relaxations_per_block", nan),
            [other for other in cells if other != cell and replace(other, seed=cell.seed) == cell],
            need["called"],
        )
        for cell, need in zip(cells, settings["needs"], strict=True)
    ]
    seeds = len({cell.seed for cell in cells})
    for table in settings["tables"]:
        rows = [row for results in every for row in ROWS[table["name"]](results)]
        numbers = frame_of(table["name"], rows, seeds)
        write_table(paths, table, numbers, told=list(keys))


if __name__ == "__main__":
    job.run(main)
