"""What cells and students are called: in paths, in slugs and in tables."""

from dataclasses import dataclass

from workflow.experiments.models import MODELS


@dataclass(frozen=True, order=True)
class Cell:
    """One teacher: a model on a training set of some size, with masks of some side, and a seed."""

    role: str
    dataset: str
    train_size: int
    mask: int
    seed: int
    variant: str = ""  # what an ablation does differently

    @property
    def path(self) -> str:
        """Its folder below cells/."""
        return self.path_in(self.row, self.seed)

    @property
    def row(self) -> str:
        """The beginning of its path, which it has in common with cells that have other masks."""
        return f"{self.model.lower()}-{self.dataset}/n{self.train_size}"

    def path_in(self, row: str, seed: int | str) -> str:
        """The same for another row and seed, each of which may be a wildcard."""
        return f"{row}-m{self.mask}-s{seed}" + (f"-{self.variant}" if self.variant else "")

    @property
    def model(self) -> str:
        """FCNN or CNN, as the tables say it."""
        return MODELS[self.role].name

    @property
    def masking_rate(self) -> float:
        """Share of masked pixels, as the tables print it."""
        _, height, width = MODELS[self.role].architecture.input_shape
        return round(self.mask**2 / (height * width), 2)


@dataclass(frozen=True, order=True)
class StudentId:
    """What tells the students of a cell apart."""

    target: str  # predictive, entropy, joint or end2
    estimator: str
    thinning: int
    k1: float
    k2: float
    strength: float | None = None  # λ, for those that are pruned
    variant: str = ""  # what an ablation does differently

    @property
    def slug(self) -> str:
        """Its name in file names."""
        pruned = "" if self.strength is None else f"-gl{self.strength:g}"
        variant = f"-{self.variant}" if self.variant else ""
        return f"{self.target}-{self.estimator}-h{self.thinning}-k{self.k1:g}x{self.k2:g}{pruned}{variant}"

    @classmethod
    def from_slug(cls, slug: str) -> "StudentId":
        """The student of that name."""
        target, estimator, thinning, widths, *rest = slug.split("-", 4)
        k1, k2 = widths[1:].split("x")
        last = rest[0] if rest else ""
        strength, variant = (float(last[2:]), "") if last.startswith("gl") else (None, last)
        return cls(target, estimator, int(thinning[1:]), float(k1), float(k2), strength, variant)

    @property
    def kind(self) -> str:
        """plain, pruned, joint or end2: students of one kind and variant are trained with the same settings."""
        if self.strength is not None:
            return "pruned"
        return "plain" if self.target in ("predictive", "entropy") else self.target

    def order(self) -> tuple[str, str, str]:
        """By kind and variant, and then by name."""
        return self.kind, self.variant, self.slug
