"""Students: what one is told to be (`StudentSpec`), and what it has become (`Student`)."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from gped import heads
from gped.architectures import Architecture
from gped.checks import real, share, whole
from gped.data.images import replacing
from gped.expectations import Expectation, entropy, log_predictive, predictive
from gped.heads import Dirichlet, Head
from gped.inputs import Inputs, Scaling
from gped.networks import Network
from gped.pruning import GroupLasso
from gped.suggestions import missing
from gped.threads import threads
from gped.uncertainty import decompose, decompose_dirichlet
from gped.uncertainty import entropy as entropy_of

FORMAT = "gped.student/1"
RESERVED = ("input", "class", "p", "probabilities", "total", "data", "knowledge")  # columns and outputs of a prediction


class Target(NamedTuple):
    """An expectation and how it is estimated: "us" for U_s, "uo" for U_o."""

    expectation: Expectation
    estimator: str


@dataclass(frozen=True)
class StudentSpec:
    """All that decides what a student becomes, given the readings.

    Args:
        architecture: Of its network; `FCNN_MNIST.scaled(k1, k2)` and the like.
        targets: What it learns. Each has its own part of the outputs, and the losses are added.
        classes: C.
        steps: T, the last step of the chain that it listens to (before fine-tuning, if it is pruned).
        thinning: H; it listens to readings at multiples of this step.
        learning_rate: Adam's, at the beginning.
        halving_every: Steps of the chain, counted from the end of the burn-in, after which the learning rate is halved,
            again and again; None for never.
        dropout: Rate after every hidden layer while training.
        dropout_layers: Only after so many of the first hidden layers; None for all.
        input_noise: Standard deviation of the noise on the inputs D' in pixel units, drawn anew at every update. The
            teacher's reading is of the clean input, because all students share it.
        pruning: Regularise, prune and fine-tune; None for none of it.
        seed: Of initialisation, dropout and input noise.
    """

    architecture: Architecture
    targets: tuple[Target, ...]
    classes: int
    steps: int
    thinning: int
    learning_rate: float = 1e-3
    halving_every: int | None = None
    dropout: float = 0.0
    dropout_layers: int | None = None
    input_noise: float = 0.0
    pruning: GroupLasso | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        # Plain numbers of one type, so that equal specifications are saved as equal bytes.
        for name, least in (("classes", 2), ("steps", 1), ("thinning", 1), ("seed", 0)):
            object.__setattr__(self, name, whole(f"{name} of a student", getattr(self, name), least))
        if self.halving_every is not None:
            object.__setattr__(self, "halving_every", whole("halving_every", self.halving_every, 1))
        if self.dropout_layers is not None:
            object.__setattr__(self, "dropout_layers", whole("dropout_layers", self.dropout_layers, 0))
        object.__setattr__(self, "learning_rate", real("learning_rate", self.learning_rate, above=True))
        object.__setattr__(self, "input_noise", real("input_noise", self.input_noise))
        object.__setattr__(self, "dropout", share("dropout", self.dropout))
        if self.thinning > self.steps:
            raise ValueError(
                f"thinning is {self.thinning} but the student listens for {self.steps} steps: it would never hear "
                "a reading. Lower the thinning or add steps."
            )
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

    def _check_targets(self) -> None:
        if not isinstance(self.targets, tuple) or not all(isinstance(target, Target) for target in self.targets):
            raise ValueError(f"targets is {self.targets!r}: it must be a tuple of gped.Target(expectation, estimator).")
        if not self.targets:
            raise ValueError("targets is empty: a student needs at least one expectation to learn.")
        names = [target.expectation.name for target in self.targets]
        if len(set(names)) < len(names):
            raise ValueError(f"targets are {names}: each expectation can be learnt only once by a student.")
        if sum(isinstance(target.expectation.head, Dirichlet) for target in self.targets) > 1:
            raise ValueError(
                f"targets are {names}: only one of them can have a Dirichlet head, from which predictions are made."
            )
        for expectation, estimator in self.targets:
            if estimator not in ("us", "uo"):
                raise ValueError(f"the estimator of {expectation.name} is {estimator!r}: it must be 'us' or 'uo'.")
            _probe(expectation, self.classes)
            if expectation.name in RESERVED or (expectation.name[:1] == "p" and expectation.name[1:].isdecimal()):
                raise ValueError(
                    f"the name {expectation.name!r} is that of another answer: call your expectation otherwise."
                )
            for own in (predictive, entropy):  # from which predictions take probabilities and data uncertainty
                if expectation.name == own.name and expectation.g is not own.g:
                    raise ValueError(
                        f"the name {own.name!r} is that of gped.{own.name}: call your expectation otherwise."
                    )

    def _check_pruning(self, lasso: GroupLasso) -> None:
        if not self.architecture.channels + self.architecture.hidden:
            raise ValueError("the student has no hidden layers: there is nothing to prune.")
        if lasso.fine_tuning_steps and self.last_step // self.thinning == self.steps // self.thinning:
            raise ValueError(
                f"fine_tuning_steps is {lasso.fine_tuning_steps}, but no multiple of the thinning {self.thinning} lies "
                f"in the steps after {self.steps}: nothing would be fine-tuned."
            )

    @property
    def values(self) -> tuple[int, ...]:
        """Number of outputs that each target takes."""
        return tuple(_probe(target.expectation, self.classes).shape[1] for target in self.targets)

    @property
    def last_step(self) -> int:
        """The last step of the chain that it listens to."""
        return self.steps + (self.pruning.fine_tuning_steps if self.pruning else 0)

    def describe(self) -> dict[str, Any]:
        """The specification as plain values, for a file."""
        plain = {field.name: _plain(getattr(self, field.name)) for field in fields(self) if field.name != "targets"}
        plain["targets"] = [
            {
                "expectation": expectation.name,
                "parameters": asdict(expectation.g) if is_dataclass(expectation.g) else {},
                "head": heads.describe(expectation.head),
                "estimator": estimator,
            }
            for expectation, estimator in self.targets
        ]
        return json.loads(json.dumps(plain))  # as it will be read back


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _probe(expectation: Expectation, classes: int) -> Tensor:
    """Values of the expectation on certain and uncertain distributions; refused if its head cannot learn them."""
    # Certainty of the last class, or of the first where it is negative.
    certainty = torch.tensor([[0.0], [1.0], [10.0], [100.0], [-1.0], [-10.0], [-100.0]])
    log_probabilities = torch.log_softmax(certainty * torch.linspace(-1, 1, classes), 1)
    values = expectation(log_probabilities)
    if values.dim() != 2 or len(values) != len(certainty):
        raise ValueError(
            f"the expectation {expectation.name!r} turned log-probabilities of shape {tuple(log_probabilities.shape)} "
            f"into {tuple(values.shape)}: it must give one value, or one row of values, for each input."
        )
    if not values.isfinite().all():
        raise ValueError(
            f"the expectation {expectation.name!r} is not finite where a class has almost no probability. "
            "Compute it from the log-probabilities without dividing by or taking the logarithm of p."
        )
    if refusal := expectation.head.refusal(values, classes):
        raise ValueError(
            f"the expectation {expectation.name!r} has {refusal}, which its head {expectation.head.name!r} cannot "
            "express. Choose another head."
        )
    return values


def bayesian_dark_knowledge(
    architecture: Architecture, classes: int, *, input_noise: float = 1e-3, **options: Any
) -> StudentSpec:
    """Bayesian Dark Knowledge (Balan et al., 2015): the predictive distribution by U_s, on slightly noisy inputs."""
    return StudentSpec(architecture, (Target(predictive, "us"),), classes, input_noise=input_noise, **options)


def joint(architecture: Architecture, classes: int, *, estimator: str = "us", **options: Any) -> StudentSpec:
    """The paper's student for downstream tasks: predictive distribution and expected entropy in one network.

    The entropy is always estimated by U_o; the estimator is that of the predictive distribution.
    """
    return StudentSpec(architecture, (Target(predictive, estimator), Target(entropy, "uo")), classes, **options)


def end2(
    architecture: Architecture,
    classes: int,
    *,
    estimator: str = "us",
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
    return StudentSpec(architecture, (Target(expectation, estimator),), classes, **options)


@dataclass(frozen=True)
class Prediction:
    """What a student says of some inputs. What it was not taught is None.

    Args:
        expectations: Each expectation under its name, one row (or number) per input; for EnD², the concentrations.
        probabilities: Class probabilities.
        total: Total uncertainty, the entropy of the probabilities.
        data: Data uncertainty, the expected entropy.
        knowledge: Knowledge uncertainty, total − data.
    """

    expectations: dict[str, np.ndarray]
    probabilities: np.ndarray | None = None
    total: np.ndarray | None = None
    data: np.ndarray | None = None
    knowledge: np.ndarray | None = None


@dataclass
class Student:
    """A trained student, complete in itself: it can be saved, loaded and asked without its teacher.

    Args:
        network: Its network, in evaluation mode.
        heads: Name, head and number of outputs of each expectation, in the order of the outputs.
        classes: C.
        scaling: How pixels enter the network.
        from_bytes: Whether it was trained on bytes, so that other numbers must be in [0, 1].
        updates: Number of distillation updates that it has seen.
        specification: What it was told to be, as plain values.
        stages: The student just before pruning and just after, where it was pruned; not saved.
    """

    network: Network
    heads: tuple[tuple[str, Head, int], ...]
    classes: int
    scaling: Scaling
    from_bytes: bool
    updates: int
    specification: dict[str, Any]
    stages: dict[str, "Student"] = field(default_factory=dict)

    @property
    def architecture(self) -> Architecture:
        """Its network's layers: after pruning, fewer units than specified."""
        return self.network.architecture

    def predict(self, images: Tensor | np.ndarray, batch_size: int = 1000) -> Prediction:
        """Class probabilities and uncertainties of images: bytes, or floating point numbers in [0, 1].

        Images have the shape (inputs, channels, height, width); a single channel may be left out.
        """
        inputs = Inputs(self._with_channel(torch.as_tensor(images)), self.scaling)
        if inputs.shape != self.architecture.input_shape:
            raise ValueError(
                f"the images have the shape {inputs.shape}, but this student reads {self.architecture.input_shape}."
            )
        if self.from_bytes and not inputs.are_pixels:
            raise ValueError(
                f"the images are numbers from {inputs.images.min():g} to {inputs.images.max():g}, but this student was "
                "trained on pixels in [0, 1]. Pass bytes, or divide by 255."
            )
        if not self.from_bytes and inputs.images.dtype == torch.uint8:
            raise ValueError(
                "the images are bytes, but this student was trained on floating point numbers. Pass them as they were "
                "in training; for pixels in [0, 1], divided by 255."
            )
        with threads(1), torch.inference_mode():
            device = next(self.network.parameters()).device
            outputs = torch.cat(
                [
                    self.network(inputs[start : start + batch_size].to(device)).cpu()
                    for start in range(0, len(inputs), batch_size)
                ]
            ).double()
        values = outputs.split([size for _, _, size in self.heads], 1)
        said = {
            name: head.predict(part).squeeze(1).numpy()
            for (name, head, _), part in zip(self.heads, values, strict=True)
        }
        for name, head, _ in self.heads:
            if isinstance(head, Dirichlet):
                alpha = said[name]
                uncertainty = decompose_dirichlet(alpha)
                return Prediction(said, alpha / alpha.sum(1, keepdims=True), *uncertainty)
        if "predictive" in said and "entropy" in said:
            return Prediction(said, said["predictive"], *decompose(said["predictive"], said["entropy"]))
        if "predictive" in said:
            return Prediction(said, said["predictive"], total=entropy_of(said["predictive"]))
        return Prediction(said, data=said.get("entropy"))

    def _with_channel(self, images: Tensor) -> Tensor:
        shape = self.architecture.input_shape
        left_out = shape[0] == 1 and tuple(images.shape[1:]) == shape[1:]
        return images.unsqueeze(1) if left_out else images

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file with everything that `load_student` needs. Never leaves half a file."""
        tensors = {
            f"{number}.{name}": getattr(layer, name).detach().cpu().contiguous()
            for number, layer in enumerate(self.network.weighted)
            for name in ("weight", "bias")
        }
        description = {
            "format": FORMAT,
            "architecture": asdict(self.architecture),
            "heads": [[name, heads.describe(head), size] for name, head, size in self.heads],
            "classes": self.classes,
            "scaling": asdict(self.scaling),
            "from_bytes": self.from_bytes,
            "updates": self.updates,
            "specification": self.specification,
            "sha256": _digest(tensors),
        }
        # One entry only: safetensors writes several in an order that changes from run to run.
        content = safetensors.torch.save(tensors, {"gped": json.dumps(description)})
        with replacing(Path(path)) as part:
            part.write_bytes(content)


def load_student(path: str | os.PathLike[str], own_heads: Sequence[type[Head]] = ()) -> Student:
    """The student in a file written by `Student.save`.

    Args:
        path: The file.
        own_heads: Classes of heads that are not the library's, if the student has any.
    """
    if not Path(path).is_file():
        raise FileNotFoundError(f"there is no student file {path}.{missing(Path(path), '*.safetensors')}")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
    except SafetensorError as error:
        raise ValueError(
            f"{path} is truncated or not a student file: {error}. Delete it and train the student again."
        ) from error
    if "gped" not in metadata:
        raise ValueError(f"{path} is not a student file: it holds tensors, but no description of a student.")
    try:
        description = json.loads(metadata["gped"])
        if description["format"] != FORMAT:
            raise heads.UnknownError(
                f"its format is {description['format']!r}, and this version of gped reads {FORMAT!r}"
            )
        if description["sha256"] != _digest(tensors):
            raise ValueError("its parameters do not have the hash that was written with them")
        layout = description["architecture"]
        architecture = Architecture(
            tuple(layout["input_shape"]), tuple(layout["channels"]), layout["kernel"], tuple(layout["hidden"])
        )
        outputs = tuple(
            (name, heads.from_description(head, own_heads), size) for name, head, size in description["heads"]
        )
        network = Network(architecture, sum(size for *_, size in outputs), torch.Generator())
        for number, layer in enumerate(network.weighted):
            layer.load_state_dict({name: tensors.pop(f"{number}.{name}") for name in ("weight", "bias")})
        if tensors:
            raise ValueError(f"it holds the unknown tensors {sorted(tensors)}")
        return Student(
            network.eval(),
            outputs,
            description["classes"],
            Scaling(tuple(description["scaling"]["mean"]), tuple(description["scaling"]["std"])),
            description["from_bytes"],
            description["updates"],
            description["specification"],
        )
    except heads.UnknownError as error:
        raise ValueError(f"{path} cannot be loaded: {error}.") from error
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"{path} is a damaged student file: {error}. Delete it and train the student again."
        ) from error


def _digest(tensors: Mapping[str, Tensor]) -> str:
    """Of all parameters, in the order of their names."""
    content = hashlib.sha256()
    for _, tensor in sorted(tensors.items()):
        content.update(tensor.numpy().data)
    return content.hexdigest()
