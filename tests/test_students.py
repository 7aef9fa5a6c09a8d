"""Specifications, student files and predictions."""

import numpy as np
import pytest
import safetensors.torch
import torch
from conftest import TINY_CONV, TINY_DENSE, random_images

import gped

COMMON = {"classes": 3, "steps": 60, "thinning": 2}


def spec(*targets: gped.Target, **options: object) -> gped.StudentSpec:
    return gped.StudentSpec(TINY_DENSE, targets, **(COMMON | options))


def trained(make_chain, specification: gped.StudentSpec) -> gped.Student:
    return gped.distill(make_chain(specification.architecture), [specification])[0]


def test_the_us_gradient_of_the_predictive_averages_to_that_of_the_exact_target():
    """The cross-entropy is linear in its target, so single draws give unbiased gradients."""
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "φ")).double()
    x = torch.rand(10, 1, 8, 8, generator=gped.stream(0, "x"), dtype=torch.float64)
    generator = gped.stream(0, "draws")
    draws = [torch.randn(10, 3, generator=generator, dtype=torch.float64).log_softmax(1) for _ in range(50)]

    def gradient(target: torch.Tensor) -> torch.Tensor:
        loss = gped.predictive.head.loss(network(x), target)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, list(network.parameters()))])

    single = torch.stack([gradient(gped.predictive(log_p)) for log_p in draws]).mean(0)
    exact = gradient(torch.stack([log_p.exp() for log_p in draws]).mean(0))
    torch.testing.assert_close(single, exact, rtol=0, atol=1e-12)


def test_bayesian_dark_knowledge_and_end2_are_specifications_of_the_general_algorithm():
    bdk = gped.bayesian_dark_knowledge(TINY_DENSE, **COMMON)
    assert bdk.targets == (gped.Target(gped.predictive, "us"),)
    assert bdk.input_noise == 1e-3

    end2 = gped.end2(TINY_DENSE, estimator="uo", **COMMON)
    ((expectation, estimator),) = end2.targets
    assert (expectation.name, estimator) == ("log_predictive", "uo")
    assert expectation.head == gped.Dirichlet(2.5, 1.0)
    assert end2.values == (3,)


def test_a_joint_student_has_one_output_more_than_classes_and_always_uo_for_the_entropy():
    joint = gped.joint(TINY_DENSE, estimator="us", **COMMON)
    assert joint.values == (3, 1)
    assert [target.estimator for target in joint.targets] == ["us", "uo"]


def test_a_student_file_alone_is_enough(make_chain, tmp_path):
    images = random_images(TINY_CONV, 9, "test")
    for specification in (gped.joint(TINY_CONV, **COMMON), gped.end2(TINY_CONV, dropout=0.3, **COMMON)):
        student = trained(make_chain, specification)
        student.save(tmp_path / "student.safetensors")
        loaded = gped.load_student(tmp_path / "student.safetensors")
        expected, said = student.predict(images), loaded.predict(images.numpy())
        for field in ("probabilities", "total", "data", "knowledge"):
            np.testing.assert_array_equal(getattr(said, field), getattr(expected, field))
        np.testing.assert_allclose(said.probabilities.sum(1), 1)
        np.testing.assert_allclose(said.knowledge, said.total - said.data)
        assert (loaded.updates, loaded.classes) == (25, 3)
        assert loaded.specification["thinning"] == 2
        assert not list(tmp_path.glob("*.part"))


def test_the_scaling_of_pixels_travels_with_the_student(make_chain, tmp_path):
    chain = make_chain()
    scaling = gped.Scaling.standardising(chain.inputs.images)
    chain.inputs = gped.Inputs(chain.inputs.images, scaling)
    (student,) = gped.distill(chain, [gped.joint(TINY_DENSE, **COMMON)])
    student.save(tmp_path / "student")
    loaded = gped.load_student(tmp_path / "student")
    assert loaded.scaling == scaling
    images = random_images(TINY_DENSE, 4, "test")
    as_bytes, as_floats = loaded.predict(images), loaded.predict(images.float() / 255)
    np.testing.assert_allclose(as_bytes.probabilities, as_floats.probabilities, rtol=1e-6)
    outputs = loaded.network((images.float() / 255 - scaling.mean[0]) / scaling.std[0])
    np.testing.assert_allclose(as_bytes.probabilities, torch.softmax(outputs[:, :3], 1).detach(), rtol=1e-5)


def test_a_student_says_nothing_of_what_it_was_not_taught(make_chain):
    images = random_images(TINY_DENSE, 4, "test")
    predictive = trained(make_chain, spec(gped.Target(gped.predictive, "us"))).predict(images)
    assert predictive.probabilities is not None and predictive.total is not None
    assert predictive.data is None and predictive.knowledge is None
    entropy = trained(make_chain, spec(gped.Target(gped.entropy, "uo"))).predict(images)
    assert entropy.probabilities is None and entropy.total is None
    np.testing.assert_array_equal(entropy.data, entropy.expectations["entropy"])


def test_a_users_own_expectation_takes_a_few_lines(make_chain, tmp_path):
    def confidence(log_p):
        return log_p.exp().amax(1)

    own = gped.Expectation("confidence", confidence, gped.Exponential("squared"))
    student = trained(make_chain, spec(gped.Target(own, "uo"), learning_rate=1e-2))
    student.save(tmp_path / "student")
    said = gped.load_student(tmp_path / "student").predict(random_images(TINY_DENSE, 20, "test"))
    assert said.expectations["confidence"].shape == (20,)
    assert (said.expectations["confidence"] > 0.2).all() and (said.expectations["confidence"] < 1.1).all()


@pytest.mark.parametrize("bad", ["truncated", "foreign", "another safetensors", "lying about its layers"])
def test_a_bad_student_file_is_refused(bad, make_chain, tmp_path):
    path = tmp_path / "student.safetensors"
    student = trained(make_chain, gped.joint(TINY_DENSE, **COMMON))
    student.save(path)
    if bad == "truncated":
        path.write_bytes(path.read_bytes()[:-10])
    elif bad == "foreign":
        path.write_bytes(b"not a student at all, but long enough to be one")
    elif bad == "another safetensors":
        safetensors.torch.save_file({"weight": torch.zeros(3)}, path)
    else:
        path.write_bytes(path.read_bytes().replace(b'\\"hidden\\": [12, 10]', b'\\"hidden\\": [12, 11]'))
    with pytest.raises(ValueError, match=r"student\.safetensors is (truncated or not|not|a damaged) .*student file"):
        gped.load_student(path)


def test_saving_leaves_an_older_student_alone_when_it_fails(make_chain, tmp_path):
    path = tmp_path / "student.safetensors"
    student = trained(make_chain, gped.joint(TINY_DENSE, **COMMON))
    student.save(path)
    before = path.read_bytes()
    student.specification = {"not": object()}
    with pytest.raises(TypeError):
        student.save(path)
    assert path.read_bytes() == before


def test_images_of_another_shape_are_refused(make_chain):
    student = trained(make_chain, gped.joint(TINY_DENSE, **COMMON))
    with pytest.raises(ValueError, match=r"shape \(4, 1, 9, 9\), but this student reads \(inputs, 1, 8, 8\)"):
        student.predict(torch.zeros(4, 1, 9, 9))
    with pytest.raises(ValueError, match="at least one input"):
        student.predict(torch.zeros(0, 1, 8, 8))


PREDICTIVE = gped.Target(gped.predictive, "us")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 1}, "classes is 1"),
        ({"steps": 0}, "steps of a student is 0"),
        ({"thinning": 0}, "thinning of a student is 0"),
        ({"thinning": 61}, "thinning is 61 but the student listens for 60 steps"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"halving_every": 0}, "halving_every is 0"),
        ({"dropout": 1.0}, "dropout is 1.0"),
        ({"input_noise": -1}, "input_noise is -1"),
        ({"targets": ()}, "targets is empty"),
        ({"targets": (PREDICTIVE, PREDICTIVE)}, "only once"),
        ({"targets": (gped.Target(gped.predictive, "median"),)}, "estimator of predictive is 'median'"),
    ],
)
def test_impossible_specifications_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        gped.StudentSpec(**({"architecture": TINY_DENSE, "targets": (PREDICTIVE,)} | COMMON | options))


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (gped.Expectation("entropy", gped.entropy.g, gped.Softmax()), "not distributions over the 3 classes"),
        (gped.Expectation("predictive", gped.predictive.g, gped.Dirichlet()), "not log-probabilities"),
        (gped.Expectation("signed", lambda log_p: log_p.amin(1), gped.Exponential()), "negative values"),
        (gped.Expectation("total", lambda log_p: log_p.sum(), gped.Linear()), "one value, or one row of values"),
        (gped.Expectation("odds", lambda log_p: 1 / log_p.exp(), gped.Linear()), "is not finite"),
    ],
)
def test_a_head_that_cannot_express_its_expectation_is_refused(expectation, message):
    with pytest.raises(ValueError, match=message):
        spec(gped.Target(expectation, "us"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 4}, "the student has 4 classes, but the readings have 3"),
        ({"thinning": 3}, "thinning is 3, but there is a reading every 2 steps"),
        ({"steps": 62}, "needs all readings from step 12 to 62"),
        ({"steps": 10}, "burn-in lasts until 10"),
        ({"architecture": TINY_CONV}, r"reads inputs of shape \(1, 10, 10\)"),
    ],
)
def test_a_student_that_does_not_suit_the_readings_is_refused_before_any_work(options, message, make_chain):
    chain = make_chain()
    with pytest.raises(ValueError, match=message):
        gped.distill(
            chain, [gped.StudentSpec(**({"architecture": TINY_DENSE, "targets": (PREDICTIVE,)} | COMMON | options))]
        )
    assert chain.t == 0


def test_a_chain_that_has_already_spoken_is_refused(make_chain):
    chain = make_chain()
    next(iter(chain))
    with pytest.raises(ValueError, match="already passed"):
        gped.distill(chain, [spec(PREDICTIVE)])
