"""A student at work: its answers as a table, and the student itself as an ONNX file for any runtime."""

import csv
import json
import os
import warnings
from collections.abc import Sequence
from typing import TextIO, cast

import numpy as np
import torch
from torch import Tensor, nn

from gped.students.prediction import Prediction, answers, further
from gped.students.student import Student
from gped.support.files import replacing


def write_csv(file: TextIO, names: Sequence[object], prediction: Prediction) -> None:
    """Write a row for each input: its name, class, uncertainties in nats, class probabilities, other expectations.

    There are only columns for what the student was taught. Probabilities are p0, p1, …; if the student knows the names
    of its classes, p(cat), p(dog), …, and the class is such a name.
    """
    columns: dict[str, Sequence[object] | np.ndarray] = {"input": names}
    known, of_classes = prediction.known, dict[str, np.ndarray]()
    if "probabilities" in known:
        p = known.pop("probabilities")
        classes = prediction.class_names or range(p.shape[1])
        heading = "p({})" if prediction.class_names else "p{}"
        columns["class"] = [classes[label] for label in p.argmax(1)]
        of_classes = {heading.format(name): column for name, column in zip(classes, p.T, strict=True)}
    for name, values in (known | of_classes | prediction.further).items():
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
    was taught them. If the student knows the names of its classes, they are in its metadata as `class_names`, in JSON.
    """
    try:
        import onnxscript  # noqa: F401 (torch needs it)
    except ImportError as error:
        raise ImportError("the export to ONNX needs two more packages: pip install onnx onnxscript.") from error
    model = _Deployed(student).eval()
    dtype = torch.uint8 if student.from_bytes else torch.float32
    example = torch.zeros(2, *student.input_shape, dtype=dtype)
    with replacing(path) as part, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns of its own internals
        program = torch.onnx.export(
            model,
            (example,),
            input_names=["images"],
            output_names=list(model.answers(example)),
            dynamic_shapes={"images": {0: torch.export.Dim("count")}},
            dynamo=True,
            verbose=False,
        )
        program = cast(torch.onnx.ONNXProgram, program)  # as always with dynamo
        if student.class_names:
            program.model.metadata_props["class_names"] = json.dumps(student.class_names)
        program.save(part, external_data=False)


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
