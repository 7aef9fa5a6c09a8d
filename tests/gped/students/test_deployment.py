"""A student in any runtime says what it says in torch."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
import torch

import gped
from gped.data.download import torchvision
from tests.helpers import COMMON, TINY_CONV, TINY_DENSE, random_images, trained


def test_rows_have_the_names_of_classes(make_chain):
    names = ("cat", "dog", "lion, old")
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON, class_names=names))
    said = student.predict(random_images(TINY_DENSE, 2))
    assert said.class_names == names
    table = io.StringIO()
    p = np.array([[0.125, 0.25, 0.625], [0.5, 0.375, 0.125]])
    gped.write_csv(table, ["one", "two"], replace(said, probabilities=p))
    first, second = csv.DictReader(io.StringIO(table.getvalue()))
    assert list(first) == ["input", "class", "total", "data", "knowledge", "p(cat)", "p(dog)", "p(lion, old)"]
    assert (first["class"], second["class"]) == ("lion, old", "cat")
    assert [first[f"p({name})"] for name in names] == ["0.125", "0.25", "0.625"]


@pytest.mark.slow
def test_an_exported_student_has_the_names_of_its_classes(make_chain, tmp_path):
    names = ("cat", "dog", "Löwe")
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON, class_names=names))
    gped.export_onnx(student, tmp_path / "student.onnx")
    found = onnxruntime.InferenceSession(tmp_path / "student.onnx").get_modelmeta().custom_metadata_map
    assert json.loads(found["class_names"]) == list(names)


@pytest.mark.slow
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


@pytest.mark.slow
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


class Tiny(torch.nn.Module):
    """A student of one's own for colour images: 100 times smaller than a ResNet-18."""

    def __init__(self, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 32, 3, stride=2),
            torch.nn.BatchNorm2d(32),
            torch.nn.ReLU(),
            torch.nn.Conv2d(32, 64, 3, stride=2),
            torch.nn.ReLU(),
            torch.nn.AdaptiveAvgPool2d(1),
            torch.nn.Flatten(),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(64, outputs),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


@pytest.mark.slow
def test_a_resnet_from_files_is_distilled_into_a_network_of_ones_own_and_exported(tmp_path):
    """Its size and what it says. How well students learn is tested elsewhere, on networks that have learnt."""
    resnet18 = torchvision("models").resnet18
    colours = torch.rand(64, 3, 1, 1, generator=gped.stream(0, "colours"))
    images = (255 * colours).to(torch.uint8).expand(-1, -1, 16, 16).contiguous()
    for seed in range(2):
        torch.manual_seed(seed)
        torch.save(resnet18(num_classes=4).state_dict(), tmp_path / f"{seed}.pt")
    members = gped.Saved([tmp_path / "0.pt", tmp_path / "1.pt"], lambda: resnet18(num_classes=4))
    reference = gped.Reference(images)
    ensemble = gped.Ensemble(members, images, steps=20, reading_size=32, references={"test": reference})
    (student,) = gped.distill(ensemble, [gped.joint(Tiny, 4, estimator="uo", learning_rate=1e-2)])
    said = student.predict(images)
    assert reference.draws == 2 and student.updates == 20

    networks = resnet18(num_classes=4), Tiny(5, gped.stream(0, "unused"))
    teacher, size = (gped.measured_cost(network, (3, 16, 16)) for network in networks)
    assert teacher[0] > 100 * size[0] and teacher[1] > 10 * size[1]
    assert size[0] == 3 * 9 * 32 + 32 + 64 + 32 * 9 * 64 + 64 + 64 * 5 + 5

    gped.export_onnx(student, tmp_path / "student.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "student.onnx")
    (probabilities,) = session.run(["probabilities"], {"images": images.numpy()})
    np.testing.assert_allclose(probabilities, said.probabilities, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_an_exported_student_of_a_regression_says_mean_and_both_parts_of_the_variance(tmp_path):
    x = torch.linspace(-1, 1, 50).unsqueeze(1)
    layout = gped.Architecture(input_shape=(1,), channels=(), kernel=0, hidden=(8,))
    networks = [gped.Network(layout, 2, gped.stream(seed, "member")) for seed in range(3)]
    (student,) = gped.distill(gped.Ensemble(networks, x, steps=50, likelihood=gped.Gaussian), [gped.regression(layout)])
    gped.export_onnx(student, tmp_path / "student.onnx")
    session, said = onnxruntime.InferenceSession(tmp_path / "student.onnx"), student.predict(x)
    names = [output.name for output in session.get_outputs()]
    assert names == ["mean", "total", "data", "knowledge"]
    for name, values in zip(names, session.run(None, {"images": x.numpy()}), strict=True):
        np.testing.assert_allclose(values, getattr(said, name), rtol=1e-4, atol=1e-6)
    with (tmp_path / "said.csv").open("w", newline="") as file:
        gped.write_csv(file, range(50), said)
    assert (tmp_path / "said.csv").read_text().splitlines()[0] == "input,mean,total,data,knowledge"
