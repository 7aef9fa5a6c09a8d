"""Judge the paper's claims, by the published numbers and by this run's."""

import pandas as pd

from gped.support.files import write_text
from workflow.experiments.paths import Paths
from workflow.jobs import job
from workflow.reporting.claims import judge, note, read
from workflow.reporting.forms import markdown, page
from workflow.reporting.published import PUBLISHED_TABLES, published


def main() -> None:
    """Write claims to the folder --run, from the tables that --settings name."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths = job.read_settings(given.settings), Paths(given.run)
    theirs = {table: published(table) for table in (*PUBLISHED_TABLES, "text")}
    ours = {table: pd.read_csv(paths.table(table)) for table in settings["tables"]}
    claims = judge(theirs, ours, settings["seeds"], settings["stand_ins"])
    told = read(claims), "The paper's claims", note(settings["stand_ins"])
    write_text(paths.table("claims"), claims.to_csv(index=False))
    write_text(paths.table("claims", "md"), markdown(*told))
    write_text(paths.table("claims", "html"), page(*told, prose=True))


if __name__ == "__main__":
    job.run(main)
