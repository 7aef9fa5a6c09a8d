"""A student in any runtime says what it says in torch."""

import numpy as np
import onnxruntime
import pytest
import torch

import gped
from tests.helpers import TINY_CONV, random_images

pytestmark = pytest.mark.slow


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
