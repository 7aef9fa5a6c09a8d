"""Generalized posterior expectation distillation: the paper's Algorithm 1.

The chain (lines 3 to 5) speaks in readings: at step t it draws a minibatch S' of D' (line 7) and says what θ_t thinks
of it. Any number of students listen, and each does what lines 6 to 13 say of the one student there. Whether the
readings come from a running chain or from a file makes no difference, and neither does who else is listening.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from gped.adam import Adam
from gped.checkpoint import Checkpoint, State
from gped.expectations import estimator
from gped.networks import Network
from gped.pruning import GroupLasso, without_dead_units, zero_dead_units
from gped.randomness import stream
from gped.readings import Reading, Readings, heard
from gped.students import Student, StudentSpec
from gped.threads import threads as use_threads


def distill(
    readings: Readings, students: Sequence[StudentSpec], threads: int = 1, checkpoint: Checkpoint | None = None
) -> list[Student]:
    """Train all students on the same readings.

    Args:
        readings: A `Chain`, which then runs to its end, or a `Recording`.
        students: What each is to be.
        threads: Cores to use.
        checkpoint: Where to save the state on the way, and from which to go on after an interruption.
    """
    if isinstance(students, StudentSpec) or not students:
        raise ValueError("students must be a list of at least one StudentSpec.")
    learners = [Learner(student, readings) for student in students]
    parts = {f"student {number}": learner for number, learner in enumerate(learners)}
    for reading in heard(readings, "distilling", parts, checkpoint, lambda: [learner.loss for learner in learners]):
        listening = [learner for learner in learners if learner.listens_at(reading.step)]
        if listening:
            with use_threads(threads):
                x = readings.inputs[reading.indices]
                for learner in listening:
                    learner.update(reading, x)
    return _finished(learners)


class StudentDivergedError(RuntimeError):
    """Some students failed; `students` has the others, and None in the place of each that failed."""

    def __init__(self, message: str, students: list[Student | None]) -> None:
        super().__init__(message)
        self.students = students


def _finished(learners: list["Learner"]) -> list[Student]:
    """The students, if all went well: one that failed does not take the others with it."""
    failures = [f"student {number} {learner.failure}" for number, learner in enumerate(learners) if learner.failure]
    if failures:
        raise StudentDivergedError("; ".join(failures), [None if one.failure else one.student() for one in learners])
    return [learner.student() for learner in learners]


class Learner:
    """A student in the making: parameters φ, estimates ĝ with counts m, optimiser, and the number of updates s."""

    def __init__(self, spec: StudentSpec, readings: Readings) -> None:
        _check_that_they_match(spec, readings)
        self.spec = spec
        self.scaling = readings.inputs.scaling
        self.from_bytes = readings.inputs.images.dtype == torch.uint8
        device = readings.inputs.images.device
        self.U = [estimator(target.estimator, len(readings.inputs), device) for target in spec.targets]
        self.values = spec.values
        self._dropout = stream(spec.seed, "dropout", device)
        dropout = spec.dropout, self._dropout, spec.dropout_layers
        initialisation = stream(spec.seed, "initialisation")
        self.network = Network(spec.architecture, sum(self.values), initialisation, *dropout).to(device)
        self.regulariser = spec.pruning
        self.s = 0
        self.loss = math.nan  # of the newest update
        self.failure: str | None = None
        self._noise = stream(spec.seed, "input noise", device)
        self._stages: dict[str, Student] = {}
        self._start_adam(spec.learning_rate, readings.info.burn_in)

    def listens_at(self, t: int) -> bool:
        """Line 6: mod(t, H) = 0. That t > B is the chain's to see to."""
        return t % self.spec.thinning == 0 and t <= self.spec.last_step and not self.failure

    @torch.enable_grad()
    def update(self, reading: Reading, x: Tensor) -> None:
        """Lines 8 to 13, for the inputs x of the minibatch S'."""
        t, S, log_p = reading
        targets, R = self.spec.targets, self.regulariser

        # ĝ ← U(ĝ, θ_t, m) and m ← m + 1, for each i in S'
        g_hat = [U(S, target.expectation(log_p)) for U, target in zip(self.U, targets, strict=True)]

        # φ ← φ + α_s (Σ ∇ℓ(ĝ, f(x|φ)) + λ∇R(φ)), with the mean for the sum and Adam for the plain step
        if self.spec.input_noise:
            x = self.scaling.noisy(x, self.spec.input_noise, self._noise)
        f = self.network.train()(x).split(self.values, 1)
        loss = torch.stack(
            [target.expectation.head.loss(z, g) for target, z, g in zip(targets, f, g_hat, strict=True)]
        ).sum()
        if R and not R.proximal:
            loss = loss + R.strength * R.penalty(self.network)
        alpha = self.learning_rate(t)
        self.adam.step(torch.autograd.grad(loss, self.adam.parameters), alpha)
        if R and R.proximal:
            R.shrink(self.network, alpha)
        self.s += 1

        self.loss = loss.item()
        if not math.isfinite(self.loss):
            self.failure = _what_went_wrong(self, t, g_hat)
        elif R and t + self.spec.thinning > self.spec.steps:  # the last update before T
            self._prune(R)

    def student(self) -> Student:
        """The student as it stands, independent of what follows."""
        return self._student(self.network.snapshot(), self.s, dict(self._stages))

    def _student(self, network: Network, updates: int, stages: dict[str, Student]) -> Student:
        names = [(target.expectation.name, target.expectation.head) for target in self.spec.targets]
        return Student(
            network=network,
            heads=tuple((name, head, size) for (name, head), size in zip(names, self.values, strict=True)),
            classes=self.spec.classes,
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

    def learning_rate(self, t: int) -> float:
        """α_s at step t of the chain: halved again and again from the burn-in on, and started anew after pruning."""
        halvings = (t - self._start) // self.spec.halving_every if self.spec.halving_every else 0
        return self._initial_rate * 0.5**halvings

    def _start_adam(self, learning_rate: float, t: int) -> None:
        self._initial_rate, self._start = learning_rate, t
        self.adam = Adam(self.network.parameters())

    def _prune(self, lasso: GroupLasso) -> None:
        """Remove what the regulariser has silenced; from here on, train without it. The estimates ĝ go on."""
        before = self.student()
        zero_dead_units(self.network, lasso.threshold)
        self.network = without_dead_units(self.network)
        self.regulariser = None
        self._start_adam(lasso.fine_tuning_rate, self.spec.steps)
        self._stages = {"before pruning": before, "after pruning": self.student()}


def _what_went_wrong(learner: Learner, t: int, g_hat: list[Tensor]) -> str:
    for target, values in zip(learner.spec.targets, g_hat, strict=True):
        if not values.isfinite().all():
            return f"failed at step {t}: its expectation {target.expectation.name!r} is not finite for some inputs."
    rate = learner.learning_rate(t)
    return f"diverged at step {t}: its loss is not finite at a learning rate of {rate:.4g}. Use a smaller one."


def _check_that_they_match(spec: StudentSpec, readings: Readings) -> None:
    """Refuse a student that cannot learn from these readings, before any time is spent."""
    info, available = readings.info, readings.available
    if spec.classes != info.classes:
        raise ValueError(f"the student has {spec.classes} classes, but the readings have {info.classes}.")
    if readings.inputs.shape != spec.architecture.input_shape:
        raise ValueError(
            f"the student's network reads inputs of shape {spec.architecture.input_shape}, but the readings are about "
            f"inputs of shape {readings.inputs.shape}."
        )
    images = readings.inputs.images
    if spec.input_noise and images.is_floating_point() and not 0 <= images.min() <= images.max() <= 1:
        raise ValueError(
            f"input_noise is {spec.input_noise}, but the inputs go from {images.min():g} to {images.max():g}: noise is "
            "clamped to [0, 1] and suits only pixels."
        )
    if spec.steps > info.steps:
        raise ValueError(f"the student listens until step {spec.steps}, but the chain's last step T is {info.steps}.")
    if spec.thinning % info.thinning:
        raise ValueError(
            f"the student's thinning is {spec.thinning}, but there is a reading every {info.thinning} steps: it must "
            "be a multiple of that."
        )
    if spec.steps // spec.thinning <= info.burn_in // spec.thinning:
        raise ValueError(
            f"the student listens at multiples of {spec.thinning} up to step {spec.steps}, but the burn-in lasts until "
            f"{info.burn_in}: it would hear nothing. Lower its thinning or add steps."
        )
    last = spec.last_step // spec.thinning * spec.thinning
    if info.due.start not in available or last not in available:
        raise ValueError(
            f"the student needs all readings from step {info.due.start} to {last}, but those that can be had are "
            f"{f'from {available[0]} to {available[-1]}' if available else 'none'}: the chain is too short or has "
            "already passed them, or the recording is truncated or still being written."
        )
