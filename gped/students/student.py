"""A trained student: asked, saved and loaded without its teacher."""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from gped.inputs import Inputs, Scaling
from gped.networks.architectures import Architecture
from gped.networks.network import Network
from gped.students import heads
from gped.students.heads import Head
from gped.students.prediction import Output, Prediction, answers
from gped.support.files import replacing
from gped.support.suggestions import missing
from gped.support.threads import threads

FORMAT = "gped.student/1"


@dataclass
class Student:
    """A trained student, complete in itself: it can be saved, loaded and asked without its teacher.

    Args:
        network: Its network, in evaluation mode.
        heads: What each part of the outputs expresses.
        classes: C.
        scaling: How pixels enter the network.
        from_bytes: Whether it was trained on bytes, so that other numbers must be in [0, 1].
        updates: Number of distillation updates that it has seen.
        specification: What it was told to be, as plain values.
        stages: The student just before pruning and just after, where it was pruned; not saved.
    """

    network: Network
    heads: tuple[Output, ...]
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
        return Prediction.of(answers(self.heads, outputs))

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
        with replacing(path) as part:
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
            Output(name, heads.from_description(head, own_heads), size) for name, head, size in description["heads"]
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
