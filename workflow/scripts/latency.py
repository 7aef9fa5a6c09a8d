"""How long students take for one image, on one core: by torch, and by onnxruntime once they are exported.

All are asked in turn, round after round, so that what else the machine does meets them all; the fastest round counts.
"""

import json
import logging
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from gped.data.images import ImageSet
from gped.students.deployment import export_onnx
from gped.students.student import Student, load_student
from gped.support.files import write_text
from gped.support.threads import threads
from workflow.jobs import job

ROUNDS, CALLS = 50, 20
TOLERANCE = 1e-4  # of probabilities that two runtimes compute in single precision

Answer = Callable[[], np.ndarray]


def by_torch(student: Student, image: np.ndarray) -> Answer:
    """Ask the student as it is for the class probabilities of one image."""
    pixels = torch.from_numpy(image)

    def answer() -> np.ndarray:
        with torch.inference_mode():
            return student.network(student.scaling(pixels)).softmax(1).numpy()

    return answer


def by_onnx(student: Student, image: np.ndarray) -> Answer:
    """Ask the exported student for the same."""
    try:
        import onnxruntime
    except ImportError as error:
        raise RuntimeError(
            "the time of exported students needs onnxruntime: pip install -c envs/constraints.txt -e '.[workflow,onnx]'"
        ) from error
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        export_onnx(student, Path(folder) / "student.onnx")
        session = onnxruntime.InferenceSession(Path(folder) / "student.onnx", options)
    return lambda: session.run(["probabilities"], {"images": image})[0]


def milliseconds(answer: Answer) -> float:
    """Mean of some calls in a row."""
    began = time.perf_counter()
    for _ in range(CALLS):
        answer()
    return 1000 * (time.perf_counter() - began) / CALLS


def main() -> None:
    """Write --output: for each of --students, named as in name=file, what torch and ONNX take."""
    given = job.arguments(__doc__, "images", "students=", "output")
    image = ImageSet.load(given.images).images[:1]
    students = {name: load_student(file) for name, file in given.students}
    with threads(1):
        ask = {(name, "torch"): by_torch(student, image) for name, student in students.items()}
        ask |= {(name, "onnx"): by_onnx(student, image) for name, student in students.items()}
        for name in students:
            apart = float(np.abs(ask[name, "torch"]() - ask[name, "onnx"]()).max())
            if not apart <= TOLERANCE:
                raise RuntimeError(f"the student of {name} says something else as ONNX: probabilities {apart:g} apart.")
        times = {one: milliseconds(answer) for one, answer in ask.items()}
        for _ in range(ROUNDS):
            times = {one: min(times[one], milliseconds(answer)) for one, answer in ask.items()}
    told = {name: {runtime: times[name, runtime] for runtime in ("torch", "onnx")} for name in students}
    logging.getLogger("gped").info("milliseconds an image: %s", told)
    write_text(given.output, json.dumps(told) + "\n")


if __name__ == "__main__":
    job.run(main)
