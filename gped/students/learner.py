"""A student in the making, between two updates: what it remembers, when it listens, and what becomes of it."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gped.networks.architectures import Architecture
from gped.networks.network import Network
from gped.networks.outputs import check_normalisation, outputs_of
from gped.networks.own import OwnNetwork
from gped.networks.pruning import GroupLasso, without_dead_units, zero_dead_units
from gped.readings.likelihoods import Categorical
from gped.readings.reading import Readings
from gped.students.adam import Adam
from gped.students.estimators import estimator
from gped.students.prediction import Output
from gped.students.specification import StudentSpec
from gped.students.student import Student
from gped.support.checkpoint import State
from gped.support.randomness import stream


class StudentDivergedError(RuntimeError):
    """Some students failed; `students` has the others, and None in the place of each that failed."""

    def __init__(self, message: str, students: list[Student | None]) -> None:
        super().__init__(message)
        self.students = students


class Learner:
    """Parameters φ, estimates ĝ with their counts m, optimiser, and the number of updates s.

    Args:
        spec: What the student is to be.
        readings: What it will listen to; refused if it cannot learn from them.
    """

    def __init__(self, spec: StudentSpec, readings: Readings) -> None:
        spec = spec.listening_to(readings.info)
        _check_that_they_match(spec, readings)
        self.spec = spec
        self.scaling = readings.inputs.scaling
        self.input_shape = readings.inputs.shape
        self.from_bytes = readings.inputs.are_bytes
        device = readings.inputs.device
        self.U = [estimator(target.estimator)(len(readings.inputs), device) for target in spec.targets]
        self._dropout = stream(spec.seed, "dropout", device)
        self.network = self._new_network().to(device)
        if isinstance(self.network, OwnNetwork):
            self._check_own_network(readings)
        self.regulariser = spec.pruning
        self.s = 0
        self.loss = math.nan  # of the newest update
        self.failure: str | None = None
        self._noise = stream(spec.seed, "input noise", device)
        self._stages: dict[str, Student] = {}
        self._start_adam(spec.learning_rate, readings.info.burn_in)

    def _new_network(self) -> Network | OwnNetwork:
        spec, outputs = self.spec, sum(self.spec.output_sizes)
        if not isinstance(spec.architecture, Architecture):
            return OwnNetwork.made_by(spec.architecture, outputs, spec.seed, self._dropout)
        dropout = spec.dropout, self._dropout, spec.dropout_layers
        return Network(spec.architecture, outputs, stream(spec.seed, "initialisation"), *dropout)

    @torch.no_grad()
    def _check_own_network(self, readings: Readings) -> None:
        check_normalisation(self.network)
        found, outputs = outputs_of(self.network.snapshot(), readings.inputs[:2]).shape[1], sum(self.spec.output_sizes)
        if found != outputs:
            raise ValueError(
                f"the network of the student has {found} outputs, but its targets take {outputs}: its factory is told "
                "how many as its first argument."
            )

    def listens_at(self, t: int) -> bool:
        """Line 6 of Algorithm 1: mod(t, H) = 0. That t > B is the chain's to see to."""
        return t % self.spec.thinning == 0 and t <= self.spec.last_step and not self.failure

    def outputs(self, x: Tensor) -> tuple[Tensor, ...]:
        """f(x|φ) in training: with dropout, and with noise on the inputs if it was told so; a part for each target."""
        if self.spec.input_noise:
            x = self.scaling.noisy(x, self.spec.input_noise, self._noise)
        return self.network.train()(x).split(self.spec.output_sizes, 1)

    def learning_rate(self, t: int) -> float:
        """α_s at step t of the chain: halved repeatedly from the burn-in on, and started anew after pruning."""
        halvings = (t - self._start) // self.spec.halving_every if self.spec.halving_every else 0
        return self._initial_rate * 0.5**halvings

    def after_update(self, t: int, loss: float, g_hat: Sequence[Tensor]) -> None:
        """Give up if the student diverged; prune it if that was the last update before T."""
        self.loss = loss
        if not math.isfinite(loss):
            self.failure = self._what_went_wrong(t, g_hat)
        elif self.regulariser and t + self.spec.thinning > self.spec.steps:
            self._prune(self.regulariser)

    def student(self) -> Student:
        """The student as it stands, independent of what follows."""
        return self._student(self.network.snapshot(), self.s, dict(self._stages))

    def _student(self, network: Network | OwnNetwork, updates: int, stages: dict[str, Student]) -> Student:
        expectations = [target.expectation for target in self.spec.targets]
        return Student(
            network=network,
            heads=tuple(
                Output(one.name, one.head, size) for one, size in zip(expectations, self.spec.output_sizes, strict=True)
            ),
            input_shape=self.input_shape,
            class_names=self.spec.class_names,
            scaling=self.scaling,
            from_bytes=self.from_bytes,
            updates=updates,
            specification=self.spec.describe(),
            stages=stages,
        )

    def state(self) -> State:
        """All that decides what the student becomes; see `Checkpoint`."""
        return {
            "specification": self.spec.describe(),
            "s": self.s,
            "failure": self.failure,
            "estimates": [U.state() for U in self.U],
            "network": self.network.state(),
            "adam": self.adam.state(),
            "schedule": [self._initial_rate, self._start],
            "regularised": self.regulariser is not None,
            "generators": [self._dropout.get_state(), self._noise.get_state()],
            "stages": {name: [at.network.state(), at.updates] for name, at in self._stages.items()},
        }

    def restore(self, state: State) -> None:
        """Go on from where the student was that gave this state."""
        if state["specification"] != self.spec.describe():
            raise ValueError("the state is that of a student with another specification")
        self.s, self.failure = state["s"], state["failure"]
        for U, saved in zip(self.U, state["estimates"], strict=True):
            U.restore(saved)
        self.network = self.network.restored(state["network"])
        self._start_adam(*state["schedule"])
        self.adam.restore(state["adam"])
        self.regulariser = self.spec.pruning if state["regularised"] else None
        for generator, saved in zip((self._dropout, self._noise), state["generators"], strict=True):
            generator.set_state(saved)
        self._stages = {
            name: self._student(self.network.restored(network).snapshot(), updates, {})
            for name, (network, updates) in state["stages"].items()
        }

    def _start_adam(self, learning_rate: float, t: int) -> None:
        self._initial_rate, self._start = learning_rate, t
        self.adam = Adam(parameter for parameter in self.network.parameters() if parameter.requires_grad)

    def _prune(self, lasso: GroupLasso) -> None:
        """Remove what the regulariser has silenced; from here on, train without it. The estimates ĝ go on."""
        assert isinstance(self.network, Network)  # of other modules no specification asks it
        before = self.student()
        zero_dead_units(self.network, lasso.threshold)
        self.network = without_dead_units(self.network)
        self.regulariser = None
        self._start_adam(lasso.fine_tuning_rate, self.spec.steps)
        self._stages = {"before pruning": before, "after pruning": self.student()}

    def _what_went_wrong(self, t: int, g_hat: Sequence[Tensor]) -> str:
        for target, values in zip(self.spec.targets, g_hat, strict=True):
            if not values.isfinite().all():
                return f"failed at step {t}: its expectation {target.expectation.name!r} is not finite for some inputs."
        rate = self.learning_rate(t)
        return f"diverged at step {t}: its loss is not finite at a learning rate of {rate:.4g}. Use a smaller one."


def learners_of(students: Sequence[StudentSpec], readings: Readings) -> dict[str, Learner]:
    """A learner for each student, by the name that messages and checkpoints have for it."""
    if isinstance(students, StudentSpec) or not students:
        raise ValueError("students must be a list of at least one StudentSpec.")
    return {f"student {number}": Learner(student, readings) for number, student in enumerate(students)}


def losses_of(learners: dict[str, Learner]) -> list[float]:
    """Their newest losses."""
    return [learner.loss for learner in learners.values()]


def students_of(learners: dict[str, Learner]) -> list[Student]:
    """What they have become, if all went well: one that failed does not take the others with it."""
    failures = [f"{name} {learner.failure}" for name, learner in learners.items() if learner.failure]
    if failures:
        students = [None if learner.failure else learner.student() for learner in learners.values()]
        raise StudentDivergedError("; ".join(failures), students)
    return [learner.student() for learner in learners.values()]


def _check_that_they_match(spec: StudentSpec, readings: Readings) -> None:
    """Refuse a student that cannot learn from these readings, before any time is spent."""
    info, available, likelihood = readings.info, readings.available, spec.likelihood
    steps, thinning = spec.steps, spec.thinning
    if likelihood.name != info.likelihood:
        raise ValueError(
            f"the student expects what a {likelihood.name} likelihood says, but the readings are of a "
            f"{info.likelihood} one."
        )
    if (expected := likelihood.examples().shape[1]) != info.values:
        what = "classes" if info.likelihood == Categorical.name else "values for each input"
        raise ValueError(f"the student expects {expected} {what}, but the readings have {info.values}.")
    if isinstance(spec.architecture, Architecture) and readings.inputs.shape != spec.architecture.input_shape:
        raise ValueError(
            f"the student's network reads inputs of shape {spec.architecture.input_shape}, but the readings are about "
            f"inputs of shape {readings.inputs.shape}."
        )
    if spec.input_noise and not readings.inputs.are_pixels:
        least, greatest = readings.inputs.range
        raise ValueError(
            f"input_noise is {spec.input_noise}, but the inputs go from {least:g} to {greatest:g}: noise is clamped to "
            "[0, 1] and suits only pixels."
        )
    if steps > info.steps:
        raise ValueError(f"the student listens until step {steps}, but the chain's last step T is {info.steps}.")
    if thinning % info.thinning:
        raise ValueError(
            f"the student's thinning is {thinning}, but there is a reading every {info.thinning} steps: it must "
            "be a multiple of that."
        )
    if steps // thinning <= info.burn_in // thinning:
        raise ValueError(
            f"the student listens at multiples of {thinning} up to step {steps}, but the burn-in lasts until "
            f"{info.burn_in}: it would hear nothing. Lower its thinning or add steps."
        )
    last = spec.last_step // thinning * thinning
    if info.due.start not in available or last not in available:
        raise ValueError(
            f"the student needs all readings from step {info.due.start} to {last}, but those that are available are "
            f"{f'from {available[0]} to {available[-1]}' if available else 'none'}: the chain is too short or has "
            "already passed them, or the recording is truncated or still being written."
        )
