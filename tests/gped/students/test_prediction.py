"""What the outputs of a student mean."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy.special import digamma
from torch import Tensor

import gped
from gped.students.prediction import Output, answers
from tests.helpers import COMMON, PREDICTIVE, TINY_DENSE, random_images, spec, trained


def test_a_student_says_nothing_of_what_it_was_not_taught(make_chain):
    images = random_images(TINY_DENSE, 4, "test")
    predictive = trained(make_chain, spec(gped.Target(gped.predictive, "us"))).predict(images)
    assert predictive.probabilities is not None and predictive.total is not None
    assert predictive.data is None and predictive.knowledge is None
    entropy = trained(make_chain, spec(gped.Target(gped.entropy, "uo"))).predict(images)
    assert entropy.probabilities is None and entropy.total is None
    np.testing.assert_array_equal(entropy.data, entropy.expectations["entropy"])


def hand_made(specification: gped.StudentSpec, outputs: torch.Tensor, make_chain) -> gped.Prediction:
    """The prediction of a student whose network always says the same."""
    student = trained(make_chain, specification)
    with torch.no_grad():
        student.network.weighted[-1].weight.zero_()
        student.network.weighted[-1].bias.copy_(outputs)
    return student.predict(random_images(TINY_DENSE, 2, "test"))


def test_the_prediction_of_a_joint_student_is_what_its_outputs_mean(make_chain):
    said = hand_made(
        gped.joint(TINY_DENSE, 3, **COMMON), torch.tensor([0.0, np.log(2), np.log(5), np.log(0.3)]), make_chain
    )
    p = np.array([1, 2, 5]) / 8
    total = -(p * np.log(p)).sum()
    np.testing.assert_allclose(said.probabilities, [p, p], rtol=1e-6)
    np.testing.assert_allclose(said.total, total, rtol=1e-6)
    np.testing.assert_allclose(said.data, 0.3, rtol=1e-6)
    np.testing.assert_allclose(said.knowledge, total - 0.3, rtol=1e-5)


def test_the_prediction_of_an_end2_student_is_that_of_its_dirichlet(make_chain):
    said = hand_made(gped.end2(TINY_DENSE, 3, **COMMON), torch.tensor([0.0, 1.0, 2.0]), make_chain)
    alpha = np.exp([0.0, 1.0, 2.0])
    p = alpha / alpha.sum()
    draws = np.random.default_rng(0).dirichlet(alpha, 400_000)
    np.testing.assert_allclose(said.probabilities, [p, p], rtol=1e-6)
    np.testing.assert_allclose(said.total, -(p * np.log(p)).sum(), rtol=1e-6)
    np.testing.assert_allclose(said.data, -(draws * np.log(draws)).sum(1).mean(), rtol=5e-3)


def outputs_of(student: gped.Student, images: Tensor) -> np.ndarray:
    """What the network says, in numpy and double precision."""
    x = images.numpy().reshape(len(images), -1) / 255
    *hidden, last = [
        (layer.weight.detach().double().numpy(), layer.bias.detach().double().numpy())
        for layer in student.network.weighted
    ]
    for weight, bias in hidden:
        x = np.maximum(x @ weight.T + bias, 0)
    return x @ last[0].T + last[1]


def softmax(z: np.ndarray) -> np.ndarray:
    powers = np.exp(z - z.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


def meaning(kind: str, z: np.ndarray) -> dict[str, np.ndarray]:
    """The answers of a student of each kind with these outputs, by the formulas of the paper."""
    if kind == "joint":
        p, data = softmax(z[:, :3]), np.exp(z[:, 3])
    elif kind == "end2":
        alpha = np.exp(z)
        total = alpha.sum(1, keepdims=True)
        p, data = alpha / total, (alpha / total * (digamma(total + 1) - digamma(alpha + 1))).sum(1)
    elif kind == "predictive":
        p = softmax(z)
        return {"probabilities": p, "total": -(p * np.log(p)).sum(1)}
    elif kind == "entropy":
        return {"data": np.exp(z[:, 0])}
    else:
        return {}
    total = -(p * np.log(p)).sum(1)
    return {"probabilities": p, "total": total, "data": data, "knowledge": total - data}


SPECIFICATIONS = {
    "joint": gped.joint(TINY_DENSE, 3, **COMMON),
    "end2": gped.end2(TINY_DENSE, 3, **COMMON),
    "predictive": spec(PREDICTIVE),
    "entropy": spec(gped.Target(gped.entropy, "uo")),
    "variance": spec(gped.Target(gped.variance, "uo")),
}


@pytest.mark.parametrize("kind", SPECIFICATIONS)
def test_predictions_are_those_of_an_independent_computation(kind, make_chain):
    student = trained(make_chain, dataclasses.replace(SPECIFICATIONS[kind], learning_rate=0.05))
    images = random_images(TINY_DENSE, 50, "test")
    said, z = student.predict(images, batch_size=20), outputs_of(student, images)
    expected = meaning(kind, z)
    for name in ("probabilities", "total", "data", "knowledge"):
        if name in expected:
            np.testing.assert_allclose(getattr(said, name), expected[name], rtol=1e-5, atol=1e-6, err_msg=name)
        else:
            assert getattr(said, name) is None, name
    if kind == "variance":
        np.testing.assert_allclose(said.expectations["variance"], np.exp(z), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", SPECIFICATIONS)
def test_answers_lose_nothing_from_the_outputs_on(kind):
    """Over outputs that no training gives: certain, uncertain, and many orders of magnitude apart."""
    targets, sizes = SPECIFICATIONS[kind].targets, SPECIFICATIONS[kind].output_sizes
    outputs = [Output(one.name, one.head, size) for (one, _), size in zip(targets, sizes, strict=True)]
    z = np.random.default_rng(0).normal(0, 1, (300, sum(sizes))) * np.repeat([0.1, 3.0, 12.0], 100)[:, None]
    said = answers(outputs, torch.tensor(z)).known
    expected = meaning(kind, z)
    assert said.keys() == expected.keys()
    for name, values in expected.items():
        np.testing.assert_allclose(said[name], values, rtol=1e-12, atol=1e-12, err_msg=name)
