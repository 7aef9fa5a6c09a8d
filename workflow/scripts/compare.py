"""Set every published result beside this run's, with the difference and a verdict."""

import pandas as pd

from gped.support.files import write_text
from workflow.experiments.paths import Paths
from workflow.jobs import job
from workflow.reporting.comparison import compare, pages
from workflow.reporting.forms import markdown, page


def main() -> None:
    """Write published_vs_reproduced to the folder --run, from the tables that --settings name."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths, name = job.read_settings(given.settings), Paths(given.run), "published_vs_reproduced"
    ours = {table: pd.read_csv(paths.table(table)) for table in settings["tables"]}
    result = compare(ours, settings["steps"], settings["seeds"])
    write_text(paths.table(name), result.to_csv(index=False, float_format="%.6g"))
    write_text(paths.table(name, "md"), "\n".join(markdown(*one) for one in pages(result)))
    write_text(paths.table(name, "html"), "".join(page(*one) for one in pages(result)))


if __name__ == "__main__":
    job.run(main)
