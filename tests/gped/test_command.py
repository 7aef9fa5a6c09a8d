"""The command line: what it writes, and what it says of what is not there."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

import gped
from tests.helpers import TINY_DENSE, random_images

pytestmark = pytest.mark.slow


def gped_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gped.command", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_predict_writes_a_row_for_each_image_with_what_the_student_says(student, tmp_path):
    images = random_images(student.architecture, 6)
    (tmp_path / "images").mkdir()
    for number, image in enumerate(images):
        pixels = image.permute(1, 2, 0).squeeze(2).numpy()
        Image.fromarray(pixels).save(tmp_path / f"images/{number}.png")
    student.save(tmp_path / "student.safetensors")
    result = gped_command("predict", tmp_path / "student.safetensors", tmp_path / "images")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["input"] for row in rows] == [str(tmp_path / f"images/{number}.png") for number in range(6)]
    said = student.predict(images)
    for kind in ("total", "data", "knowledge"):
        if getattr(said, kind) is None:
            assert kind not in rows[0]
        else:
            np.testing.assert_allclose([float(row[kind]) for row in rows], getattr(said, kind), rtol=1e-4, atol=1e-6)
    if said.probabilities is not None:
        assert [int(row["class"]) for row in rows] == list(said.probabilities.argmax(1))
        np.testing.assert_allclose([float(row["p2"]) for row in rows], said.probabilities[:, 2], rtol=1e-4, atol=1e-6)
    if "confidence" in said.expectations:
        np.testing.assert_allclose(
            [float(row["confidence"]) for row in rows], said.expectations["confidence"], rtol=1e-4
        )
        np.testing.assert_allclose(
            [float(row["variance2"]) for row in rows], said.expectations["variance"][:, 2], rtol=1e-4, atol=1e-6
        )


@pytest.fixture
def saved(make_chain, tmp_path):
    (student,) = gped.distill(make_chain(TINY_DENSE), [gped.joint(TINY_DENSE, 3, steps=60, thinning=6)])
    student.save(tmp_path / "student.safetensors")
    return tmp_path


def test_a_misspelt_student_or_folder_gets_a_sentence_with_a_suggestion(saved):
    (saved / "pictures").mkdir()
    wrong = gped_command("predict", saved / "studnt.safetensors", saved / "pictures")
    assert wrong.returncode == 1 and "Traceback" not in wrong.stderr
    assert f"Did you mean {saved}/student.safetensors?" in wrong.stderr
    wrong = gped_command("predict", saved / "student.safetensors", saved / "picture")
    assert wrong.returncode == 1 and f"Did you mean {saved}/pictures?" in wrong.stderr
    wrong = gped_command("predict", saved / "student.safetensors", saved / "pictures")
    assert wrong.returncode == 1 and "pictures has no images" in wrong.stderr
    (saved / "pictures/a.png").write_bytes(b"no image")
    wrong = gped_command("predict", saved / "student.safetensors", saved / "pictures")
    assert wrong.returncode == 1 and "a.png cannot be decoded as an image" in wrong.stderr
    wrong = gped_command("export", saved / "pictures/a.png", saved / "out.onnx")
    assert wrong.returncode == 1 and "not a student file" in wrong.stderr and not (saved / "out.onnx").exists()


def test_a_prediction_goes_to_a_file_as_a_whole_or_not_at_all(saved):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(saved / "one.png")
    (saved / "said.csv").write_text("older")
    wrong = gped_command("predict", saved / "student.safetensors", saved / "two.png", "--output", saved / "said.csv")
    assert wrong.returncode == 1 and "there are no images at" in wrong.stderr
    assert (saved / "said.csv").read_text() == "older"
    result = gped_command("predict", saved / "student.safetensors", saved / "one.png", "--output", saved / "said.csv")
    assert result.returncode == 0 and (saved / "said.csv").read_text().startswith("input,class,total,data,knowledge")
    assert not list(saved.glob("*.part"))
