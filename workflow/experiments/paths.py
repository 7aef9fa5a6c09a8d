"""The grammar of a run's folder. Rules, scripts and the run's own notes ask here where a thing is.

    config.yaml, manifest.json, jobs.json, timings.csv         how the run came about, and what there is to do
    settings/…/<job>.json                                      all that a job needs to know
    data/<set>-<split>.npz                                     images, fetched, checked and decoded
    cells/<model>-<set>/n<size>-m<mask>-s<seed>/               a cell: one teacher and its students
        readings.bin, reference.npz                            what its chain said, and the whole ensemble's verdict
        students/<slug>.safetensors, .npz                      a student, and its predictions
    tables/<table>.csv, .md, .tex, .html                       numbers, and tables made of them
    figures/<figure>.pdf, .png                                 figures
    summary.html, report.html                                  the run in a minute, and as a whole
    logs/…/<job>.log, benchmarks/…/<job>.tsv                   what each job said, and what it took
    checkpoints/…                                              states of unfinished jobs

A cell is told by its path, which in a rule may be a wildcard.
"""

TABLE_FORMS = ("csv", "md", "tex", "html")
PAGE_FORMS = ("csv", "md", "html")
FIGURE_FORMS = ("pdf", "png")
STUDENT_FORMS = ("safetensors", "npz")


class Paths:
    """Where everything of a run is.

    Args:
        run: The run's folder.
    """

    def __init__(self, run: str) -> None:
        self.run = run

    def images(self, name: str, split: str) -> str:
        """The decoded images of a set."""
        return f"{self.run}/data/{name}-{split}.npz"

    def readings(self, cell: str) -> str:
        """What a cell's chain said."""
        return f"{self.run}/cells/{cell}/readings.bin"

    def reference(self, cell: str) -> str:
        """The ensemble's expectations."""
        return f"{self.run}/cells/{cell}/reference.npz"

    def students(self, cell: str) -> str:
        """The folder of a cell's students."""
        return f"{self.run}/cells/{cell}/students"

    def predictions(self, cell: str, slug: str) -> str:
        """What a student says of the evaluated inputs."""
        return f"{self.students(cell)}/{slug}.npz"

    def student_files(self, cell: str, slug: str) -> list[str]:
        """The student itself, and its predictions."""
        return [f"{self.students(cell)}/{slug}.{form}" for form in STUDENT_FORMS]

    def table(self, name: str, form: str = "csv") -> str:
        """A table in one of its forms."""
        return f"{self.run}/tables/{name}.{form}"

    def figure(self, name: str, form: str = "png") -> str:
        """A figure in one of its forms."""
        return f"{self.run}/figures/{name}.{form}"

    def page(self, name: str) -> str:
        """A page about the whole run."""
        return f"{self.run}/{name}.html"

    def settings(self, job: str) -> str:
        """All that a job needs to know; of students, a file for each."""
        return f"{self.run}/settings/{job}.json"

    def log(self, job: str) -> str:
        """What a job says."""
        return f"{self.run}/logs/{job}.log"

    def benchmark(self, job: str) -> str:
        """What a job takes."""
        return f"{self.run}/benchmarks/{job}.tsv"

    def checkpoints(self, job: str) -> str:
        """The states of an unfinished job."""
        return f"{self.run}/checkpoints/{job}"


class Jobs:
    """What jobs are called: in the names of their settings, logs, benchmarks and checkpoints."""

    @staticmethod
    def data(name: str, split: str) -> str:
        """Getting a set."""
        return f"data/{name}-{split}"

    @staticmethod
    def teacher(cell: str) -> str:
        """A cell's chain."""
        return f"{cell}/teacher"

    @staticmethod
    def student(cell: str, slug: str) -> str:
        """A student of a cell; those that share a job are told by the first of them."""
        return f"{cell}/students/{slug}"

    @staticmethod
    def tables(part: str) -> str:
        """Tables that are computed from the same students."""
        return f"tables/{part}"

    @staticmethod
    def figure(name: str) -> str:
        """A figure."""
        return f"figures/{name}"
