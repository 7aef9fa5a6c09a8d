"""The grammar of a run's folder. Rules, scripts and the run's own notes ask here where a thing is.

    config.yaml, manifest.json, jobs.json, timings.csv         how the run came about, and what there is to do
    settings/…/<job>.json                                      all that a job needs to know
    data/<set>-<split>.npz                                     images, fetched, checked and decoded
    cells/<model>-<set>/n<size>-m<mask>-s<seed>/               a cell: one teacher and its students
        readings.bin, reference.npz                            what its chain said, and the whole ensemble's verdict
        students/<slug>.safetensors, .npz                      a student, and its predictions
        networks/<network>.safetensors, .json                  a network that SGD trained, and how good it is
        ensembles/<teacher>.npz, <teacher>-student.…           what such networks say together, and their student
        latency.json                                           how long students take for an image
    tables/<table>.csv, .md, .tex, .html                       numbers, and tables made of them
    figures/<figure>.pdf, .png                                 figures
    summary.html, report.html                                  the run in a minute, and as a whole
    crate.zip                                                  its results with what they were made from
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

    def chain_files(self, cell: str) -> list[str]:
        """Both."""
        return [self.readings(cell), self.reference(cell)]

    def students(self, cell: str) -> str:
        """The folder of a cell's students."""
        return f"{self.run}/cells/{cell}/students"

    def predictions(self, cell: str, slug: str) -> str:
        """What a student says of the evaluated inputs."""
        return f"{self.students(cell)}/{slug}.npz"

    def student_files(self, cell: str, slug: str) -> list[str]:
        """The student itself, and its predictions."""
        return [f"{self.students(cell)}/{slug}.{form}" for form in STUDENT_FORMS]

    def network(self, cell: str, name: str) -> list[str]:
        """A network that SGD trained, and what is told of it."""
        return [f"{self.run}/cells/{cell}/networks/{name}.{form}" for form in ("safetensors", "json")]

    def ensemble(self, cell: str, teacher: str) -> str:
        """What such networks say together."""
        return f"{self.run}/cells/{cell}/ensembles/{teacher}.npz"

    def ensemble_student(self, cell: str, teacher: str) -> list[str]:
        """Their student, and its predictions."""
        return [f"{self.run}/cells/{cell}/ensembles/{teacher}-student.{form}" for form in STUDENT_FORMS]

    def latency(self, cell: str) -> str:
        """How long students take for an image."""
        return f"{self.run}/cells/{cell}/latency.json"

    def table(self, name: str, form: str = "csv") -> str:
        """A table in one of its forms."""
        return f"{self.run}/tables/{name}.{form}"

    def figure(self, name: str, form: str = "png") -> str:
        """A figure in one of its forms."""
        return f"{self.run}/figures/{name}.{form}"

    def page(self, name: str) -> str:
        """A page about the whole run."""
        return f"{self.run}/{name}.html"

    @property
    def crate(self) -> str:
        """The run as an RO-Crate."""
        return f"{self.run}/crate.zip"

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
    def network(cell: str, name: str) -> str:
        """A network that SGD trains."""
        return f"{cell}/networks/{name}"

    @staticmethod
    def ensemble(cell: str, teacher: str) -> str:
        """What such networks say together, and their student."""
        return f"{cell}/ensembles/{teacher}"

    @staticmethod
    def latency(cell: str) -> str:
        """How long students take."""
        return f"{cell}/latency"

    @staticmethod
    def tables(part: str) -> str:
        """Tables that are computed from the same students."""
        return f"tables/{part}"

    @staticmethod
    def figure(name: str) -> str:
        """A figure."""
        return f"figures/{name}"
