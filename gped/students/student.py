"""A trained student: asked, saved and loaded without its teacher."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from torch import Tensor

from gped.inputs import DatasetRows, Inputs, Rows, Scaling
from gped.networks.architectures import Architecture
from gped.networks.network import Network
from gped.networks.own import Factory, OwnNetwork
from gped.students import heads, student_file
from gped.students.heads import Head
from gped.students.prediction import Output, Prediction, answers
from gped.support.checks import names_of, whole
from gped.support.threads import threads


@dataclass
class Student:
    """A trained student: it can be saved, loaded and asked without its teacher.

    Args:
        network: Its network, in evaluation mode.
        heads: What each part of the outputs expresses.
        input_shape: Of one input.
        class_names: Of the classes, in the order of their labels; empty if it was told none.
        scaling: How pixels enter the network.
        from_bytes: Whether it was trained on bytes, so that other numbers must be in [0, 1].
        updates: Number of distillation updates that it has seen.
        specification: What it was told to be, as plain values.
        stages: The student just before pruning and just after, where it was pruned; not saved.
    """

    network: Network | OwnNetwork
    heads: tuple[Output, ...]
    input_shape: tuple[int, ...]
    class_names: tuple[str, ...]
    scaling: Scaling
    from_bytes: bool
    updates: int
    specification: dict[str, Any]
    stages: dict[str, "Student"] = field(default_factory=dict)

    @property
    def architecture(self) -> Architecture:
        """Its network's layers: after pruning, fewer units than specified."""
        if isinstance(self.network, OwnNetwork):
            raise ValueError("the student's network is a module of your own: only that knows its layers.")
        return self.network.architecture

    def predict(self, images: Rows | Inputs, batch_size: int = 1000) -> Prediction:
        """What the student says of inputs, in the form in which it met them: images as bytes or in [0, 1], or numbers.

        Images have the shape (inputs, channels, height, width); a single channel may be left out.
        """
        inputs = Inputs(self._with_channel(Inputs.of(images).images), self.scaling)
        if inputs.shape != self.input_shape:
            raise ValueError(f"the images have the shape {inputs.shape}, but this student reads {self.input_shape}.")
        if self.from_bytes and not inputs.are_pixels:
            least, greatest = inputs.range
            raise ValueError(
                f"the images are numbers from {least:g} to {greatest:g}, but this student was trained on pixels in "
                "[0, 1]. Pass bytes, or divide by 255."
            )
        if not self.from_bytes and inputs.are_bytes:
            raise ValueError(
                "the images are bytes, but this student was trained on floating point numbers. Pass them as they were "
                "in training; for pixels in [0, 1], divided by 255."
            )
        with threads(1), torch.inference_mode():
            device = next(self.network.parameters()).device
            batch_size = whole("batch_size", batch_size, 1)
            outputs = torch.cat(
                [
                    self.network(inputs[start : start + batch_size].to(device)).cpu()
                    for start in range(0, len(inputs), batch_size)
                ]
            ).double()
        return Prediction.of(answers(self.heads, outputs), self.class_names)

    def _with_channel(self, images: Tensor | DatasetRows) -> Tensor | DatasetRows:
        shape = self.input_shape
        left_out = shape[0] == 1 and tuple(images.shape[1:]) == shape[1:]
        return images.unsqueeze(1) if left_out and isinstance(images, Tensor) else images

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a safetensors file with everything that `load_student` needs. Never leaves half a file."""
        own = isinstance(self.network, OwnNetwork)
        description = {
            "architecture": self.specification["architecture"] if own else asdict(self.architecture),
            "heads": [[name, heads.describe(head), size] for name, head, size in self.heads],
            "input_shape": self.input_shape,
            "class_names": self.class_names,
            "scaling": asdict(self.scaling),
            "from_bytes": self.from_bytes,
            "updates": self.updates,
            "specification": self.specification,
        }
        student_file.write(path, description, self.network.named())


def load_student(
    path: str | os.PathLike[str], own_heads: Sequence[type[Head]] = (), factory: Factory | None = None
) -> Student:
    """The student in a file written by `Student.save`.

    Args:
        path: The file.
        own_heads: Classes of heads that are not the library's, if the student has any.
        factory: What made its network, if that is not a `gped.Architecture`.
    """
    description, tensors = student_file.read(path)
    try:
        outputs = tuple(
            Output(name, heads.from_description(head, own_heads), whole("the size of a head", size, 1))
            for name, head, size in description["heads"]
        )
        input_shape = tuple(whole("a side of the inputs", side, 1) for side in description["input_shape"])
        seed = description["specification"]["seed"]
        network = _network(description["architecture"], sum(size for *_, size in outputs), tensors, factory, seed)
        if isinstance(network, Network) and network.architecture.input_shape != input_shape:
            raise ValueError(f"its inputs are of shape {input_shape}, but its layers need others")
        return Student(
            network,
            outputs,
            input_shape,
            names_of(description["specification"]["likelihood"]["outputs"], description["class_names"]),
            Scaling(**description["scaling"]),
            description["from_bytes"],
            description["updates"],
            description["specification"],
        )
    except heads.UnknownError as error:
        raise ValueError(f"{path} cannot be loaded: {error}.") from error
    except KeyError as error:
        raise student_file.damaged(path, f"its description has no {error}") from error
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        raise student_file.damaged(path, str(error)) from error


def _network(
    layers: dict[str, Any], outputs: int, tensors: dict[str, Tensor], factory: Factory | None, seed: int
) -> Network | OwnNetwork:
    """A network with these parameters. What an architecture asks for is made only if the tensors are of that size."""
    if "factory" in layers:
        if factory is None:
            raise heads.UnknownError(
                f"its network was made by {layers['factory']}. Load it in Python, with that function as factory: "
                "gped.load_student(path, factory=…)"
            )
        network = OwnNetwork.made_by(factory, outputs, seed)  # what it drew may be no parameter
        try:
            return network.restored(tensors).eval()
        except RuntimeError as error:
            raise heads.UnknownError(
                f"its parameters do not fit the network that the factory makes, which may not be {layers['factory']} "
                f"as it was then: {error}"
            ) from error
    if factory is not None:
        raise heads.UnknownError("its network is a gped.Architecture, which needs no factory")
    architecture = Architecture(**layers)
    shapes = architecture.weight_shapes(outputs)
    expected = {f"{number}.weight": shape for number, shape in enumerate(shapes)}
    expected |= {f"{number}.bias": shape[:1] for number, shape in enumerate(shapes)}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            raise ValueError(
                f"its tensor {name} has the shape {found.get(name)}, but its layers need {expected.get(name)}"
            )
    plain = Network(architecture, outputs, torch.Generator())
    for number, layer in enumerate(plain.weighted):
        layer.load_state_dict({name: tensors[f"{number}.{name}"] for name in ("weight", "bias")})
    return plain.eval()
