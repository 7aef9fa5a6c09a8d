"""What cells and students are called: in paths, in slugs and in tables."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Cell:
    """One teacher: a model on a training set of some size, with masks of some side, and a seed."""

    role: str
    dataset: str
    train_size: int
    mask: int
    seed: int

    @property
    def path(self) -> str:
        """Its folder below cells/."""
        return f"{self.model.lower()}-{self.dataset}/n{self.train_size}-m{self.mask}-s{self.seed}"

    @property
    def model(self) -> str:
        """FCNN or CNN, as the tables say it."""
        return self.role.split("_")[0].upper()

    @property
    def masking_rate(self) -> float:
        """Share of masked pixels, as the tables print it."""
        return round(self.mask**2 / 28**2, 2)


@dataclass(frozen=True, order=True)
class StudentId:
    """What tells the students of a cell apart."""

    target: str  # predictive, entropy, joint or end2
    estimator: str
    thinning: int
    k1: float
    k2: float
    strength: float | None = None  # λ, for those that are pruned

    @property
    def slug(self) -> str:
        """Its name in file names."""
        pruned = "" if self.strength is None else f"-gl{self.strength:g}"
        return f"{self.target}-{self.estimator}-h{self.thinning}-k{self.k1:g}x{self.k2:g}{pruned}"

    @classmethod
    def from_slug(cls, slug: str) -> "StudentId":
        """The student of that name."""
        target, estimator, thinning, widths, *pruned = slug.split("-", 4)
        k1, k2 = widths[1:].split("x")
        strength = float(pruned[0][2:]) if pruned else None
        return cls(target, estimator, int(thinning[1:]), float(k1), float(k2), strength)

    @property
    def kind(self) -> str:
        """Students of one kind are trained with the same settings."""
        return (
            "pruned"
            if self.strength is not None
            else "plain"
            if self.target in ("predictive", "entropy")
            else self.target
        )
