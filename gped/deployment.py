"""A student at work: its answers as a table, and the student itself as an ONNX file for any runtime."""

import csv
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from gped.data.images import replacing
from gped.heads import Dirichlet
from gped.students import Prediction, Student

Values = TypeVar("Values", Tensor, np.ndarray)

UNCERTAINTIES = ("total", "data", "knowledge")


def write_csv(file: TextIO, names: Sequence[object], prediction: Prediction) -> None:
    """Write a row for each input: its name, class, uncertainties in nats, class probabilities, other expectations.

    There are only columns for what the student was taught.
    """
    columns: dict[str, Sequence[object] | np.ndarray] = {"input": names}
    if prediction.probabilities is not None:
        columns["class"] = prediction.probabilities.argmax(1)
    columns |= {kind: value for kind in UNCERTAINTIES if (value := getattr(prediction, kind)) is not None}
    wide = {} if prediction.probabilities is None else {"p": prediction.probabilities}
    for name, values in (wide | _further(prediction.expectations)).items():
        if values.ndim == 1:
            columns[name] = values
        else:
            columns |= {f"{name}{number}": column for number, column in enumerate(values.T)}
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow(f"{value:.6g}" if isinstance(value, float) else value for value in row)


def export_onnx(student: Student, path: str | os.PathLike[str]) -> None:
    """Write the student as an ONNX model that takes pixels and gives what `Student.predict` gives.

    Its input `images` has the shape (count, channels, height, width): bytes if the student was trained on bytes. Its
    outputs are `probabilities`, `total`, `data` and `knowledge`, and other expectations by name, as far as the student
    was taught them.
    """
    try:
        import onnxscript  # noqa: F401 (torch needs it)
    except ImportError as error:
        raise ImportError("the export to ONNX needs two more packages: pip install 'gped[onnx]'.") from error
    model = _Deployed(student).eval()
    dtype = torch.uint8 if student.from_bytes else torch.float32
    example = torch.zeros(2, *student.architecture.input_shape, dtype=dtype)
    with replacing(Path(path)) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of its own internals
        torch.onnx.export(
            model,
            (example,),
            str(part),
            input_names=["images"],
            output_names=list(model.answers(example)),
            dynamic_shapes={"images": {0: torch.export.Dim("count")}},
            external_data=False,
            dynamo=True,
            verbose=False,
        )


class _Deployed(nn.Module):
    """`Student.predict` in operations that ONNX has."""

    def __init__(self, student: Student) -> None:
        super().__init__()
        self.student = student
        self.network = student.network

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.answers(images).values())

    def answers(self, images: Tensor) -> dict[str, Tensor]:
        outputs = self.network(self.student.scaling(images)).double()
        said, first = {}, 0
        for name, head, size in self.student.heads:
            said[name] = head.predict(outputs[:, first : first + size])
            first += size
        probabilities, data = said.get("predictive"), said.get("entropy")
        for name, head, _ in self.student.heads:
            if isinstance(head, Dirichlet):
                alpha = said[name]
                total = alpha.sum(1, keepdim=True)
                probabilities = alpha / total
                data = -(probabilities * (_digamma(alpha + 1) - _digamma(total + 1))).sum(1, keepdim=True)
        answers: dict[str, Tensor] = {}
        if probabilities is not None:
            answers["probabilities"] = probabilities
            tiny = torch.finfo(torch.float64).tiny
            answers["total"] = -(probabilities * probabilities.clamp_min(tiny).log()).sum(1)
        if data is not None:
            answers["data"] = data.squeeze(1)
        if {"total", "data"} <= answers.keys():
            answers["knowledge"] = answers["total"] - answers["data"]
        further = _further(said).items()
        return answers | {name: values[:, 0] if values.shape[1] == 1 else values for name, values in further}


def _further(said: dict[str, Values]) -> dict[str, Values]:
    """The expectations that have no name of their own in a prediction."""
    return {name: values for name, values in said.items() if name not in ("predictive", "entropy")}


def _digamma(x: Tensor) -> Tensor:
    """ψ(x) for x ≥ 1, which ONNX does not have: six steps of its recurrence, then its asymptotic series."""
    steps = sum(1 / (x + k) for k in range(6))
    y = x + 6
    square = 1 / y**2
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return y.log() - 1 / (2 * y) - series - steps
