"""Specifications, student files and predictions."""

import dataclasses
import resource
from dataclasses import dataclass
from typing import ClassVar

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
        assert (loaded.updates, loaded.classes) == (25, 3)
        assert loaded.specification == student.specification == specification.describe()
        assert not list(tmp_path.glob("*.part"))


def test_the_scaling_of_pixels_travels_with_the_student(make_chain, tmp_path):
    images, labels = random_images(TINY_DENSE, 60), torch.arange(60) % 3
    scaling = gped.Scaling.standardising(images)
    inputs = gped.Inputs(images, scaling)
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    chain = gped.Chain(
        network, inputs, labels, inputs, gped.SGLD(1e-3), steps=60, burn_in=10, thinning=2, batch_size=20
    )
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
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))  # as a full disk would
    try:
        with pytest.raises(gped.data.DataError, match=r"cannot write .*student\.safetensors: File too large"):
            student.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_that_are_not_those_of_the_training_are_refused(make_chain):
    student = trained(make_chain, gped.joint(TINY_DENSE, **COMMON))
    with pytest.raises(ValueError, match=r"numbers from -1 to 1, but this student was trained on pixels in \[0, 1\]"):
        student.predict(torch.linspace(-1, 1, 64).view(1, 1, 8, 8))
    with pytest.raises(ValueError, match="input 1 has values that are not finite"):
        student.predict(torch.tensor([0.5, float("nan")]).view(2, 1, 1, 1).expand(2, 1, 8, 8))
    student.from_bytes = False
    with pytest.raises(ValueError, match=r"images are bytes, but .* trained on floating point numbers"):
        student.predict(torch.zeros(1, 1, 8, 8, dtype=torch.uint8))


@dataclass(frozen=True)
class Cost:
    """An expectation with a field that no file can hold."""

    matrix: torch.Tensor

    def __call__(self, log_p):
        return log_p.exp() @ self.matrix


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (gped.Expectation("cost", Cost(torch.eye(3)), gped.Linear()), "cannot be written to a file: .*Tensor"),
        (gped.Expectation("total", gped.entropy.g, gped.Linear()), "the name 'total' is that of another answer"),
        (gped.Expectation("p0", gped.entropy.g, gped.Linear()), "the name 'p0' is that of another answer"),
        (gped.Expectation("lead", lambda p: p.exp()[:, 2] - p.exp()[:, 0], gped.Exponential()), "negative values"),
        (gped.Expectation("odds", lambda p: 1 / (1 - p.exp()[:, 0]), gped.Linear()), "is not finite"),
    ],
)
def test_an_expectation_that_would_fail_later_is_refused_at_once(expectation, message):
    with pytest.raises(ValueError, match=message):
        gped.StudentSpec(TINY_DENSE, (gped.Target(expectation, "us"),), **COMMON)


def test_a_student_has_at_most_one_dirichlet():
    targets = tuple(
        gped.Target(dataclasses.replace(gped.log_predictive(temperature), name=f"at {temperature}"), "us")
        for temperature in (1, 2)
    )
    with pytest.raises(ValueError, match="only one of them can have a Dirichlet head"):
        gped.StudentSpec(TINY_DENSE, targets, **COMMON)


def test_images_of_another_shape_are_refused(make_chain):
    student = trained(make_chain, gped.joint(TINY_DENSE, **COMMON))
    with pytest.raises(ValueError, match=r"shape \(1, 9, 9\), but this student reads \(1, 8, 8\)"):
        student.predict(torch.zeros(4, 1, 9, 9))
    with pytest.raises(ValueError, match="at least one"):
        student.predict(torch.zeros(0, 1, 8, 8))


PREDICTIVE = gped.Target(gped.predictive, "us")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"classes": 1}, "classes of a student is 1"),
        ({"steps": 60.0}, "steps of a student is 60.0: it must be a whole number"),
        ({"learning_rate": float("inf")}, "learning_rate is inf"),
        ({"targets": PREDICTIVE}, "must be a tuple of gped.Target"),
        ({"pruning": gped.GroupLasso(0.1, fine_tuning_steps=1)}, "nothing would be fine-tuned"),
        ({"steps": 0}, "steps of a student is 0"),
        ({"thinning": 0}, "thinning of a student is 0"),
        ({"thinning": 61}, "thinning is 61 but the student listens for 60 steps"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"halving_every": 0}, "halving_every is 0"),
        ({"dropout": 1.0}, "dropout is 1: it must be less than 1"),
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
        ({"steps": 62}, "listens until step 62, but the chain's last step T is 60"),
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


def hand_made(specification: gped.StudentSpec, outputs: torch.Tensor, make_chain) -> gped.Prediction:
    """The prediction of a student whose network always says the same."""
    student = trained(make_chain, specification)
    with torch.no_grad():
        student.network.weighted[-1].weight.zero_()
        student.network.weighted[-1].bias.copy_(outputs)
    return student.predict(random_images(TINY_DENSE, 2, "test"))


def test_the_prediction_of_a_joint_student_is_what_its_outputs_mean(make_chain):
    said = hand_made(
        gped.joint(TINY_DENSE, **COMMON), torch.tensor([0.0, np.log(2), np.log(5), np.log(0.3)]), make_chain
    )
    p = np.array([1, 2, 5]) / 8
    total = -(p * np.log(p)).sum()
    np.testing.assert_allclose(said.probabilities, [p, p], rtol=1e-6)
    np.testing.assert_allclose(said.total, total, rtol=1e-6)
    np.testing.assert_allclose(said.data, 0.3, rtol=1e-6)
    np.testing.assert_allclose(said.knowledge, total - 0.3, rtol=1e-5)


def test_the_prediction_of_an_end2_student_is_that_of_its_dirichlet(make_chain):
    said = hand_made(gped.end2(TINY_DENSE, **COMMON), torch.tensor([0.0, 1.0, 2.0]), make_chain)
    alpha = np.exp([0.0, 1.0, 2.0])
    p = alpha / alpha.sum()
    draws = np.random.default_rng(0).dirichlet(alpha, 400_000)
    np.testing.assert_allclose(said.probabilities, [p, p], rtol=1e-6)
    np.testing.assert_allclose(said.total, -(p * np.log(p)).sum(), rtol=1e-6)
    np.testing.assert_allclose(said.data, -(draws * np.log(draws)).sum(1).mean(), rtol=5e-3)


def test_the_stored_specification_tells_apart_what_differs():
    described = [
        gped.end2(TINY_DENSE, **COMMON, **options).describe()
        for options in ({}, {"smoothing": 0.1}, {"teacher_temperature": 1.0}, {"temperature": 1.0}, {"seed": 1})
    ]
    assert all(one != other for number, one in enumerate(described) for other in described[:number])
    assert gped.end2(TINY_DENSE, **COMMON) == gped.end2(TINY_DENSE, **COMMON)


def test_a_name_that_means_something_else_is_refused():
    own = gped.Expectation("entropy", lambda log_p: log_p.exp().amax(1), gped.Exponential())
    with pytest.raises(ValueError, match=r"the name 'entropy' is that of gped\.entropy"):
        spec(gped.Target(own, "us"))


@dataclass(frozen=True)
class Huber(gped.Linear):
    name: ClassVar[str] = "huber"

    def loss(self, outputs, targets):
        return torch.nn.functional.huber_loss(outputs, targets)


def test_a_users_own_head_can_be_saved_and_loaded(make_chain, tmp_path):
    own = gped.Expectation("margin", lambda log_p: log_p.exp().topk(2).values.diff().neg(), Huber())
    trained(make_chain, spec(gped.Target(own, "us"))).save(tmp_path / "student")
    with pytest.raises(ValueError, match=r"cannot be loaded: its head 'huber' is not one .* in own_heads\.$"):
        gped.load_student(tmp_path / "student")
    said = gped.load_student(tmp_path / "student", own_heads=[Huber]).predict(random_images(TINY_DENSE, 2))
    assert said.expectations["margin"].shape == (2,)


def test_a_student_file_can_be_read_by_whoever_may_read_its_folder(make_chain, tmp_path):
    trained(make_chain, spec(PREDICTIVE)).save(tmp_path / "student")
    (tmp_path / "plain").touch()
    assert (tmp_path / "student").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_missing_student_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no student file .*nobody\.safetensors"):
        gped.load_student(tmp_path / "nobody.safetensors")


def test_pixels_of_the_wrong_scale_are_refused(make_chain):
    student = trained(make_chain, spec(PREDICTIVE))
    with pytest.raises(ValueError, match="from 255 to 255, but this student was trained on pixels"):
        student.predict(torch.full((1, 1, 8, 8), 255.0))
    with pytest.raises(ValueError, match="convert them to bytes"):
        student.predict(torch.full((1, 1, 8, 8), 255))


def test_dropout_can_be_limited_to_the_first_hidden_layers():
    for architecture, layers in ((TINY_DENSE, 2), (TINY_CONV, 3)):
        for limit in (None, 0, 1):
            network = gped.Network(architecture, 3, gped.stream(0, "φ"), 0.5, gped.stream(0, "dropout"), limit)
            kinds = [type(layer).__name__ for layer in network]
            assert kinds.count("Dropout") == (layers if limit is None else limit)
            if limit == 1:
                assert kinds.index("Dropout") == kinds.index("ReLU") + 1
            assert network.resized(architecture.channels, architecture.hidden).dropout_layers == limit


def test_filters_are_laid_out_channels_last_even_with_one_channel_and_stay_so():
    network = gped.Network(TINY_CONV, 3, gped.stream(0, "φ"))
    resumed = network.restored(network.state())
    for layer in (network.weighted[0], resumed.weighted[0], network.snapshot().weighted[0]):
        assert layer.weight.shape == (4, 1, 3, 3) and layer.weight.stride() == (9, 1, 3, 1)
        assert torch.equal(layer.weight, network.weighted[0].weight)
