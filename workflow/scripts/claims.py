"""Judge the paper's claims, by the published numbers and by this run's."""

import pandas as pd

from gped.support.files import write_text
from workflow.experiments.paths import Paths
from workflow.jobs import job
from workflow.reporting.claims import NOTE, judge
from workflow.reporting.forms import markdown, page
from workflow.reporting.published import PUBLISHED_TABLES, published


def main() -> None:
    """Write claims to the folder --run, from the tables that --settings name."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths = job.read_settings(given.settings), Paths(given.run)
    theirs = {table: published(table) for table in (*PUBLISHED_TABLES, "text")}
    claims = judge(theirs, {table: pd.read_csv(paths.table(table)) for table in settings["tables"]})
    write_text(paths.table("claims"), claims.to_csv(index=False))
    write_text(paths.table("claims", "md"), markdown(claims, "The paper's claims", NOTE))
    write_text(paths.table("claims", "html"), page(claims, "The paper's claims", NOTE))


if __name__ == "__main__":
    job.run(main)
