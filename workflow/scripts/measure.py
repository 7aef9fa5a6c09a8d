"""Compute the tables that are made from the same students: their numbers, and the forms in which they are read."""

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
    keys = settings["keys"]
    every = [
        Results(
            paths,
            Cell(**need["cell"]),
            [StudentId(**student) for student in need["students"]],
            need["ood"],
            keys,
            [(name, setting, StudentId(**told) if told else None) for name, setting, told in need["ablations"]],
        )
        for need in settings["needs"]
    ]
    seeds = len({results.cell.seed for results in every})
    for table in settings["tables"]:
        rows = [row for results in every for row in ROWS[table["name"]](results)]
        numbers = frame_of(table["name"], rows, seeds)
        write_table(paths, table, numbers, told=list(keys))


if __name__ == "__main__":
    job.run(main)
