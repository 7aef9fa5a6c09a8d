"""Draw one figure, as PDF and PNG."""

from contextlib import chdir

from gped.support.files import replacing
from workflow.experiments.paths import FIGURE_FORMS, Paths
from workflow.jobs import job
from workflow.reporting.drawings import draw


def main() -> None:
    """Write the figure that --settings describe to the folder --run."""
    given = job.arguments(__doc__, "settings", "run")
    settings, paths = job.read_settings(given.settings), Paths(given.run)
    with chdir(given.run):  # what it is drawn from is told from there
        figure = draw(settings["drawing"], settings["inputs"], settings["options"])
    for form in FIGURE_FORMS:
        undated = {"CreationDate": None} if form == "pdf" else None  # the same bytes for the same numbers
        with replacing(paths.figure(settings["name"], form)) as part:
            figure.savefig(part, format=form, dpi=300, metadata=undated)


if __name__ == "__main__":
    job.run(main)
