"""A student at work: its answers as a table, and the student itself as an ONNX file for any runtime."""

import csv
import os
import warnings
from collections.abc import Sequence
from typing import TextIO

import numpy as np
import torch
from torch import Tensor, nn

from gped.students.prediction import Prediction, answers, further
from gped.students.student import Student
from gped.support.files import replacing


def write_csv(file: TextIO, names: Sequence[object], prediction: Prediction) -> None:
    """Write a row for each input: its name, class, uncertainties in nats, class probabilities, other expectations.

    There are only columns for what the student was taught.
    """
    columns: dict[str, Sequence[object] | np.ndarray] = {"input": names}
    uncertainties, wide = prediction.known, dict[str, np.ndarray]()
    if "probabilities" in uncertainties:
        wide["p"] = uncertainties.pop("probabilities")
        columns["class"] = wide["p"].argmax(1)
    columns |= uncertainties
    for name, values in (wide | prediction.further).items():
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
        raise ImportError("the export to ONNX needs two more packages: pip install onnx onnxscript.") from error
    model = _Deployed(student).eval()
    dtype = torch.uint8 if student.from_bytes else torch.float32
    example = torch.zeros(2, *student.architecture.input_shape, dtype=dtype)
    with replacing(path) as part, warnings.catch_warnings():
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
        said = answers(self.student.heads, self.network(self.student.scaling(images)).double())
        return said.known | further(said.expectations)
