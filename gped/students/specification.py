"""What a student is told to be: a network, what it learns, and how."""

import json
import re
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from gped.networks.architectures import Architecture
from gped.networks.own import Factory, name_of
from gped.networks.pruning import GroupLasso
from gped.readings.likelihoods import Categorical, Gaussian, Likelihood
from gped.readings.reading import ReadingsInfo
from gped.students import heads
from gped.students.estimators import Estimator, estimator
from gped.students.expectations import (
    Expectation,
    entropy,
    entropy_by,
    log_predictive,
    moments,
    predictive,
    predictive_and_entropy,
)
from gped.students.heads import Dirichlet
from gped.students.prediction import ANSWERS
from gped.support.checks import names_of, real, share, whole

RESERVED = ("input", "class", "p", *ANSWERS)  # columns and outputs of a prediction, besides p0 and p(cat)
ANSWERING = (predictive, entropy, predictive_and_entropy, moments)  # from which they are made, by their names


class Target(NamedTuple):
    """An expectation and how it is estimated: "us" for U_s, "uo" for U_o, or a class with `Estimator`'s methods."""

    expectation: Expectation
    estimator: str | type[Estimator]


@dataclass(frozen=True)
class StudentSpec:
    """All that decides what a student becomes, given the readings.

    Args:
        architecture: Of its network; `FCNN_MNIST.scaled(k1, k2)` and the like. Or a function that makes any module,
            given the number of its outputs and a generator for what is random in it.
        targets: What it learns. Each has its own part of the outputs, and the losses are added.
        likelihood: What is said in the readings, such as `Gaussian(2)`; a number stands for so many classes.
        steps: T, the last step of the chain that it listens to (before fine-tuning, if it is pruned); 0 for that of the
            readings.
        thinning: H; it listens to readings at multiples of this step; 0 for all of them.
        learning_rate: Adam's, at the beginning.
        halving_every: Steps of the chain, counted from the end of the burn-in, after which the learning rate is halved,
            repeatedly; None for never.
        dropout: Rate after every hidden layer while training; a module of your own has dropout layers of its own.
        dropout_layers: Only after so many of the first hidden layers; None for all.
        input_noise: Standard deviation of the noise on the inputs D' in pixel units, drawn anew at every update. The
            teacher's reading is of the clean input, because all students share it.
        pruning: Regularise, prune and fine-tune; None for none of it.
        seed: Of initialisation, dropout and input noise.
        class_names: Of the classes, in the order of their labels. They stay with the student, and its answers have
            them.
    """

    architecture: Architecture | Factory
    targets: tuple[Target, ...]
    likelihood: Likelihood
    steps: int = 0
    thinning: int = 0
    learning_rate: float = 1e-3
    halving_every: int | None = None
    dropout: float = 0.0
    dropout_layers: int | None = None
    input_noise: float = 0.0
    pruning: GroupLasso | None = None
    seed: int = 0
    class_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # Plain numbers of one type, so that equal specifications are saved as equal bytes.
        if not isinstance(self.likelihood, Likelihood):
            object.__setattr__(self, "likelihood", Categorical(whole("classes of a student", self.likelihood, 2)))
        object.__setattr__(self, "class_names", names_of(self.likelihood.outputs, self.class_names))
        for name in ("steps", "thinning", "seed"):
            object.__setattr__(self, name, whole(f"{name} of a student", getattr(self, name), 0))
        for name, least in (("halving_every", 1), ("dropout_layers", 0)):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, whole(name, value, least))
        object.__setattr__(self, "learning_rate", real("learning_rate", self.learning_rate, above=True))
        object.__setattr__(self, "input_noise", real("input_noise", self.input_noise))
        object.__setattr__(self, "dropout", share("dropout", self.dropout))
        if self.thinning > self.steps > 0:
            raise ValueError(
                f"thinning is {self.thinning} but the student listens for {self.steps} steps: it would never hear "
                "a reading. Lower the thinning or add steps."
            )
        if not isinstance(self.architecture, Architecture):
            self._check_own_network()
        self._check_targets()
        if self.pruning:
            self._check_pruning(self.pruning)
        try:
            self.describe()  # now, because a student that cannot be described cannot be saved either
        except TypeError as error:
            raise ValueError(
                f"the specification cannot be written to a file: {error}. Use plain numbers and texts in it, and in "
                "the fields of your expectations and heads."
            ) from error

    def listening_to(self, info: ReadingsInfo) -> "StudentSpec":
        """The same, with the length and thinning of these readings where it has none of its own."""
        return replace(self, steps=self.steps or info.steps, thinning=self.thinning or info.thinning)

    def _check_own_network(self) -> None:
        if isinstance(self.architecture, nn.Module) or not callable(self.architecture):
            raise ValueError(
                f"the architecture is a {type(self.architecture).__name__}: it must be a gped.Architecture, or a "
                "function that makes a new module, given the number of its outputs and a generator."
            )
        if self.pruning:
            raise ValueError("only a gped.Architecture can be pruned: units of a module of your own are not known.")
        if self.dropout or self.dropout_layers is not None:
            raise ValueError("dropout is for a gped.Architecture: give a module of your own its own dropout layers.")

    def _check_targets(self) -> None:
        if not isinstance(self.targets, tuple) or not all(isinstance(target, Target) for target in self.targets):
            raise ValueError(f"targets is {self.targets!r}: it must be a tuple of gped.Target(expectation, estimator).")
        if not self.targets:
            raise ValueError("targets is empty: a student needs at least one expectation to learn.")
        names = [target.expectation.name for target in self.targets]
        if len(set(names)) < len(names):
            raise ValueError(f"targets are {names}: each expectation can be learnt only once by a student.")
        telling = 0
        for expectation, which in self.targets:
            try:
                estimator(which)
            except ValueError as error:
                raise ValueError(f"in the target {expectation.name!r}, {error}") from error
            values = _probe(expectation, self.likelihood)
            head = expectation.head
            telling += bool(head.tells(head.predict(torch.zeros_like(values))))
            if expectation.name in RESERVED or re.match(r"p(\d+\Z|\()", expectation.name):
                raise ValueError(
                    f"the name {expectation.name!r} is already that of another answer: give your expectation a "
                    "different one."
                )
            for own in ANSWERING:
                if expectation.name == own.name and expectation.g is not own.g:
                    raise ValueError(
                        f"the name {own.name!r} is already that of gped.{own.name}: give your expectation a different "
                        "one."
                    )
        if telling > 1:
            raise ValueError(
                f"targets are {names}: only one of them can have a head such as Dirichlet, which tells "
                "probabilities or means with their uncertainties by itself."
            )

    def _check_pruning(self, lasso: GroupLasso) -> None:
        if isinstance(self.architecture, Architecture) and not self.architecture.channels + self.architecture.hidden:
            raise ValueError("the student has no hidden layers: there is nothing to prune.")
        due = range(0, self.last_step + 1, self.thinning or 1)
        if lasso.fine_tuning_steps and self.steps and due[-1] <= self.steps:
            raise ValueError(
                f"fine_tuning_steps is {lasso.fine_tuning_steps}, but no multiple of the thinning {self.thinning} lies "
                f"in the steps after {self.steps}: nothing would be fine-tuned."
            )

    @cached_property
    def output_sizes(self) -> tuple[int, ...]:
        """Number of outputs that each target takes."""
        return tuple(_probe(target.expectation, self.likelihood).shape[1] for target in self.targets)

    @property
    def last_step(self) -> int:
        """The last step of the chain that it listens to."""
        return self.steps + (self.pruning.fine_tuning_steps if self.pruning else 0)

    def describe(self) -> dict[str, Any]:
        """The specification as plain values, for a file."""
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self) if field.name != "targets"}
        plain["likelihood"] = {"name": self.likelihood.name, **asdict(self.likelihood)}
        if not isinstance(self.architecture, Architecture):
            plain["architecture"] = {"factory": name_of(self.architecture)}
        plain["targets"] = [
            {
                "expectation": expectation.name,
                "parameters": asdict(expectation.g) if is_dataclass(expectation.g) else {},
                "head": heads.describe(expectation.head),
                "estimator": estimator(which).name,
            }
            for expectation, which in self.targets
        ]
        return json.loads(json.dumps(plain))  # as it will be read back


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _probe(expectation: Expectation, likelihood: Likelihood) -> Tensor:
    """Values of the expectation on certain and uncertain examples; refused if its head cannot learn them."""
    said = likelihood.examples()
    values = expectation(said)
    if values.dim() != 2 or len(values) != len(said):
        raise ValueError(
            f"the expectation {expectation.name!r} turned what a {likelihood.name} draw says of {len(said)} inputs, of "
            f"shape {tuple(said.shape)}, into {tuple(values.shape)}: it must give one value, or one row of values, for "
            "each input."
        )
    if not values.isfinite().all():
        raise ValueError(
            f"the expectation {expectation.name!r} is not finite where a class has almost no probability, or where a "
            "draw is very certain otherwise. Compute it from the log-probabilities without dividing by or taking the "
            "logarithm of p."
        )
    if refusal := expectation.head.refusal(values):
        raise ValueError(
            f"the expectation {expectation.name!r} has {refusal}, which its head {expectation.head.name!r} cannot "
            f"express. Choose another head, or an expectation for what a {likelihood.name} draw says."
        )
    return values


def bayesian_dark_knowledge(
    architecture: Architecture | Factory, classes: int, *, input_noise: float = 1e-3, **options: Any
) -> StudentSpec:
    """Bayesian Dark Knowledge (Balan et al., 2015): the predictive distribution by U_s, on slightly noisy inputs."""
    return StudentSpec(
        architecture, (Target(predictive, "us"),), Categorical(classes), input_noise=input_noise, **options
    )


def joint(
    architecture: Architecture | Factory,
    classes: int,
    *,
    estimator: str | type[Estimator] = "us",
    head: str = "separate",
    entropy_loss: str = "deviance",
    **options: Any,
) -> StudentSpec:
    """The paper's student for downstream tasks: predictive distribution and expected entropy in one network.

    Args:
        architecture: Of its network, or a function that makes it; see `StudentSpec`.
        classes: C.
        estimator: Of the predictive distribution; with "separate", the entropy is always estimated by U_o.
        head: "separate" says the expected entropy on its own, as in the paper. Its knowledge uncertainty, total − data,
            can be negative where the two do not fit. "share" says it as a share of the total, so that it never is.
        entropy_loss: By which a separate entropy is learnt; the paper's is "absolute".
        options: Of `StudentSpec`.
    """
    heads_by_name = {
        "separate": (Target(predictive, estimator), Target(entropy_by(entropy_loss), "uo")),
        "share": (Target(predictive_and_entropy, estimator),),
    }
    if head not in heads_by_name:
        raise ValueError(f"the head of a joint student is {head!r}: it must be 'separate' or 'share'.")
    return StudentSpec(architecture, heads_by_name[head], Categorical(classes), **options)


def end2(
    architecture: Architecture | Factory,
    classes: int,
    *,
    estimator: str | type[Estimator] = "us",
    temperature: float = 2.5,
    teacher_temperature: float = 2.5,
    prediction_temperature: float = 1.0,
    smoothing: float = 1e-3,
    **options: Any,
) -> StudentSpec:
    """Ensemble Distribution Distillation (Malinin et al., 2020): a Dirichlet over the draws' distributions."""
    expectation = replace(
        log_predictive(teacher_temperature, smoothing), head=Dirichlet(temperature, prediction_temperature)
    )
    return StudentSpec(architecture, (Target(expectation, estimator),), Categorical(classes), **options)


def regression(
    architecture: Architecture | Factory, targets: int = 1, *, estimator: str | type[Estimator] = "us", **options: Any
) -> StudentSpec:
    """A student of a regression: predictive mean, and predictive variance in two parts.

    Args:
        architecture: Of its network, or a function that makes it; see `StudentSpec`.
        targets: How many numbers are predicted for each input.
        estimator: Of the moments.
        options: Of `StudentSpec`.
    """
    return StudentSpec(architecture, (Target(moments, estimator),), Gaussian(2 * targets), **options)
