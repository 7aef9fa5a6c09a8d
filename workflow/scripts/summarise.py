"""Write the page that the report opens with."""

from pathlib import Path

import pandas as pd

from gped.support.files import write_text
from workflow.experiments.paths import Paths
from workflow.jobs import job
from workflow.reporting.summary import summary


def main() -> None:
    """Write summary.html to the folder --run, from the verdicts and the figure that --settings name."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths = job.read_settings(given.settings), Paths(given.run)
    claims = pd.read_csv(paths.table("claims"), keep_default_na=False)
    compared = pd.read_csv(paths.table("published_vs_reproduced"))
    figure = Path(paths.figure(settings["figure"])).read_bytes() if settings["figure"] else None
    write_text(paths.page("summary"), summary(settings, claims, compared, figure))


if __name__ == "__main__":
    job.run(main)
