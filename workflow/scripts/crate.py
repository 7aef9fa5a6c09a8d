"""Pack a finished run as an RO-Crate."""

from pathlib import Path

from gped.support.files import replacing
from workflow.jobs import job
from workflow.reporting.crate import crate_of


def main() -> None:
    """Write --output, the crate of --results in the same folder, with what --notes and --images say of them."""
    given = job.arguments(__doc__, "settings", "notes", "results+", "images+", "output")
    here = Path(given.output).parent
    results = {str(Path(path).relative_to(here)): Path(path) for path in given.results}
    crate = crate_of(Path(given.notes), job.read_settings(given.settings), results, map(Path, given.images))
    with replacing(given.output) as part:
        crate.write_zip(part)


if __name__ == "__main__":
    job.run(main)
