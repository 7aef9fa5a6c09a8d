"""What the chain says: readings, and what is known of a stream of them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from torch import Tensor

from gped.inputs import Inputs
from gped.support.checks import whole

LARGEST_STEP, LARGEST_INDEX = 2**62, 2**31 - 1  # that a file has room for


class Reading(NamedTuple):
    """What the draw at one step says of a few inputs of D': a row for each, such as log-probabilities."""

    step: int
    indices: Tensor
    said: Tensor


@dataclass(frozen=True)
class ReadingsInfo:
    """What is known of a stream of readings before it starts.

    Args:
        inputs: N', number of inputs in D'.
        likelihood: Name of the likelihood that says what is said: "categorical" for log-probabilities.
        values: Numbers that are said of an input: C, the number of classes, for a classifier.
        size: M', inputs in a reading.
        thinning: A reading is taken at the multiples of this step count, the smallest H of all students.
        burn_in: B, the steps before the first reading.
        steps: T, where the chain's reference and ordinary students end.
        last_step: T plus the steps for fine-tuning.
    """

    inputs: int
    likelihood: str
    values: int
    size: int
    thinning: int
    burn_in: int
    steps: int
    last_step: int

    def __post_init__(self) -> None:
        for name in ("inputs", "size", "thinning", "steps", "burn_in", "values", "last_step"):
            least = {"burn_in": 0, "last_step": self.steps}.get(name, 1)
            most = LARGEST_STEP if name in ("thinning", "steps", "burn_in", "last_step") else LARGEST_INDEX
            object.__setattr__(self, name, whole(f"{name} of the readings", getattr(self, name), least, most))
        if self.size * (self.values + 1) * 4 > LARGEST_INDEX:
            raise ValueError(f"a reading of {self.values} values for each of {self.size} inputs would take over 2 GB.")
        if self.burn_in >= self.steps:
            raise ValueError(f"the burn-in of {self.burn_in} steps must end before the chain, which has {self.steps}.")
        if not self.due:
            raise ValueError(
                f"no multiple of the thinning {self.thinning} lies between the burn-in {self.burn_in} and the "
                f"last step {self.last_step}: there would be no reading. Lower the thinning or add steps."
            )

    @property
    def due(self) -> range:
        """The steps at which readings are taken: the multiples of the thinning after the burn-in."""
        return range(self.burn_in // self.thinning * self.thinning + self.thinning, self.last_step + 1, self.thinning)

    @property
    def record(self) -> np.dtype:
        """Layout of one reading in a file."""
        return np.dtype(
            [
                ("step", "<i8"),
                ("indices", "<i4", (self.size,)),
                ("said", "<f4", (self.size, self.values)),
                ("checksum", "<u4"),
            ]
        )


class Readings(Protocol):
    """A stream of readings and the inputs D' that they are about: a `Chain`, an `Ensemble` or a `Recording`."""

    info: ReadingsInfo
    inputs: Inputs

    @property
    def available(self) -> range:
        """The steps whose readings iterating would give."""

    def __iter__(self) -> Iterator[Reading]: ...

    def run(self, after: int = 0) -> Iterator[tuple[int, Reading | None]]:
        """The steps to come, as far as they are after this one: each with its number, and its reading if it has one."""
        ...


class LiveReadings(Readings, Protocol):
    """Readings that are made while they are heard: a `Chain` or an `Ensemble`."""

    @property
    def losses(self) -> list[float]:
        """Of the newest step, for the progress; none if nothing is trained."""
        ...
