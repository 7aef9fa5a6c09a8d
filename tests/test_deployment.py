"""Students at work: predictions as CSV, export to ONNX, and folders of images."""

import csv
import subprocess
import sys

import numpy as np
import onnxruntime
import pytest
import torch
from conftest import TINY_CONV, TINY_DENSE, random_images
from PIL import Image

import gped

CONFIDENCE = gped.Expectation("confidence", lambda log_p: log_p.exp().amax(1), gped.Exponential())
SPECIFICATIONS = {
    "joint": lambda architecture, **options: gped.joint(architecture, 3, **options),
    "end2": lambda architecture, **options: gped.end2(architecture, 3, **options),
    "entropy": lambda architecture, **options: gped.StudentSpec(
        architecture, (gped.Target(gped.entropy, "us"),), 3, **options
    ),
    "own": lambda architecture, **options: gped.StudentSpec(
        architecture,
        (gped.Target(gped.predictive, "us"), gped.Target(CONFIDENCE, "uo"), gped.Target(gped.variance, "us")),
        3,
        **options,
    ),
}


@pytest.fixture(params=[(TINY_DENSE, "joint"), *((TINY_CONV, kind) for kind in SPECIFICATIONS)], ids=lambda p: p[1])
def student(request, make_chain) -> gped.Student:
    architecture, kind = request.param
    spec = SPECIFICATIONS[kind](architecture, steps=60, thinning=6)
    (student,) = gped.distill(make_chain(architecture), [spec])
    return student


def gped_command(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "gped.command", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


# ONNX


def test_an_exported_student_says_in_onnxruntime_what_it_says_in_torch(student, tmp_path):
    gped.export_onnx(student, tmp_path / "student.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "student.onnx")
    for count in (1, 2, 37):
        images = random_images(student.architecture, count)
        said = student.predict(images)
        expected = {
            "probabilities": said.probabilities,
            "total": said.total,
            "data": said.data,
            "knowledge": said.knowledge,
            **{name: value for name, value in said.expectations.items() if name not in ("predictive", "entropy")},
        }
        expected = {name: value for name, value in expected.items() if value is not None}
        outputs = dict(
            zip([o.name for o in session.get_outputs()], session.run(None, {"images": images.numpy()}), strict=True)
        )
        assert outputs.keys() == expected.keys()
        for name, value in expected.items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_a_standardised_student_is_exported_with_its_standardisation(make_chain, tmp_path):
    images = random_images(TINY_CONV, 60)
    inputs = gped.Inputs(images, gped.Scaling.standardising(images))
    chain = gped.Chain(
        gped.Network(TINY_CONV, 3, gped.stream(0, "θ")),
        inputs,
        torch.arange(60) % 3,
        inputs,
        gped.SGLD(1e-3),
        steps=10,
        burn_in=0,
        thinning=2,
        batch_size=20,
        reading_size=20,
    )
    (student,) = gped.distill(chain, [gped.joint(TINY_CONV, 3, steps=10, thinning=2)])
    gped.export_onnx(student, tmp_path / "student.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "student.onnx")
    (probabilities,) = session.run(["probabilities"], {"images": images.numpy()})
    np.testing.assert_allclose(probabilities, student.predict(images).probabilities, rtol=1e-4, atol=1e-6)


# Predictions as CSV


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


# Folders


def test_folders_of_classes_give_labels_in_the_order_of_their_names(tmp_path):
    for name, level in (("dog", 10), ("cat", 200)):
        (tmp_path / name).mkdir()
        for number in range(2):
            Image.new("RGB", (8, 4), (level, 0, level)).save(tmp_path / name / f"{number}.PNG")
    found = gped.image_folder(tmp_path, (3, 4, 8))
    assert found.classes == ("cat", "dog") and found.labels.tolist() == [0, 0, 1, 1]
    assert found.images.shape == (4, 3, 4, 8) and found.images[2, :, 0, 0].tolist() == [10, 0, 10]
    assert found.files[0] == tmp_path / "cat/0.PNG"


def test_images_of_another_shape_are_converted_cut_and_resized(tmp_path):
    pixels = np.zeros((10, 20, 3), np.uint8)
    pixels[:, 5:15] = 255  # the centred square: half of the image
    Image.fromarray(pixels).save(tmp_path / "a.png")
    found = gped.image_folder(tmp_path, (1, 5, 5))
    assert found.labels is None and found.classes == ()
    assert found.images.shape == (1, 1, 5, 5) and found.images.float().mean() > 240


def test_hidden_folders_are_left_out_and_pixels_of_16_bits_refused(tmp_path):
    for name in ("cat", "dog", ".checkpoints"):
        (tmp_path / name).mkdir()
        Image.new("L", (4, 4)).save(tmp_path / name / "0.png")
    assert gped.image_folder(tmp_path, (1, 4, 4)).classes == ("cat", "dog")
    Image.fromarray(np.full((4, 4), 1000, np.uint16)).save(tmp_path / "cat/1.png")
    with pytest.raises(gped.data.DataError, match=r"1\.png has pixels of more than 8 bits \(I;16\)"):
        gped.image_folder(tmp_path, (1, 4, 4))


@pytest.mark.parametrize("shape", [(2, 5, 5), (28, 28)])
def test_a_shape_that_no_image_has_is_refused_by_name(shape, tmp_path):
    Image.new("L", (5, 5)).save(tmp_path / "a.png")
    with pytest.raises(gped.data.DataError, match="1 or 3 channels"):
        gped.image_folder(tmp_path, shape)
