"""Specifications: those of the literature, and those that are refused at once."""

import dataclasses
from dataclasses import dataclass

import pytest
import torch

import gped
from tests.helpers import COMMON, PREDICTIVE, TINY_DENSE, spec

TAKEN = "the name {}: give your expectation a different one"


def test_bayesian_dark_knowledge_and_end2_are_specifications_of_the_general_algorithm():
    bdk = gped.bayesian_dark_knowledge(TINY_DENSE, 3, **COMMON)
    assert bdk.targets == (gped.Target(gped.predictive, "us"),)
    assert bdk.input_noise == 1e-3

    end2 = gped.end2(TINY_DENSE, 3, estimator="uo", **COMMON)
    ((expectation, estimator),) = end2.targets
    assert (expectation.name, estimator) == ("log_predictive", "uo")
    assert expectation.head == gped.Dirichlet(2.5, 1.0)
    assert end2.output_sizes == (3,)


def test_a_joint_student_has_one_output_more_than_classes_and_always_uo_for_the_entropy():
    joint = gped.joint(TINY_DENSE, 3, estimator="us", **COMMON)
    assert joint.output_sizes == (3, 1)
    assert [target.estimator for target in joint.targets] == ["us", "uo"]


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
        (
            gped.Expectation("total", gped.entropy.g, gped.Linear()),
            TAKEN.format("'total' is already that of another answer"),
        ),
        (
            gped.Expectation("p(cat)", gped.entropy.g, gped.Linear()),
            "'p\\(cat\\)' is already that of another answer",
        ),
        (
            gped.Expectation("p0", gped.entropy.g, gped.Linear()),
            TAKEN.format("'p0' is already that of another answer"),
        ),
        (gped.Expectation("lead", lambda p: p.exp()[:, 2] - p.exp()[:, 0], gped.Exponential()), "negative values"),
        (gped.Expectation("odds", lambda p: 1 / (1 - p.exp()[:, 0]), gped.Linear()), "is not finite"),
    ],
)
def test_an_expectation_that_would_fail_later_is_refused_at_once(expectation, message):
    with pytest.raises(ValueError, match=message):
        gped.StudentSpec(TINY_DENSE, (gped.Target(expectation, "us"),), 3, **COMMON)


def test_a_student_has_at_most_one_dirichlet():
    targets = tuple(
        gped.Target(dataclasses.replace(gped.log_predictive(temperature), name=f"at {temperature}"), "us")
        for temperature in (1, 2)
    )
    with pytest.raises(ValueError, match="only one of them can have a head such as Dirichlet"):
        gped.StudentSpec(TINY_DENSE, targets, 3, **COMMON)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"likelihood": 1}, "classes of a student is 1"),
        ({"steps": 60.0}, "steps of a student is 60.0: it must be a whole number"),
        ({"learning_rate": float("inf")}, "learning_rate is inf"),
        ({"targets": PREDICTIVE}, "must be a tuple of gped.Target"),
        ({"pruning": gped.GroupLasso(0.1, fine_tuning_steps=1)}, "nothing would be fine-tuned"),
        ({"steps": -1}, "steps of a student is -1"),
        ({"thinning": -1}, "thinning of a student is -1"),
        ({"thinning": 61}, "thinning is 61 but the student listens for 60 steps"),
        ({"learning_rate": 0}, "learning_rate is 0"),
        ({"halving_every": 0}, "halving_every is 0"),
        ({"dropout": 1.0}, "dropout is 1: it must be less than 1"),
        ({"input_noise": -1}, "input_noise is -1"),
        ({"targets": ()}, "targets is empty"),
        ({"targets": (PREDICTIVE, PREDICTIVE)}, "only once"),
        (
            {"targets": (gped.Target(gped.predictive, "median"),)},
            "in the target 'predictive', the estimator is 'median': it must be 'us', 'uo', or a class",
        ),
    ],
)
def test_impossible_specifications_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        gped.StudentSpec(**({"architecture": TINY_DENSE, "targets": (PREDICTIVE,), "likelihood": 3} | COMMON | options))


@pytest.mark.parametrize(
    ("expectation", "message"),
    [
        (gped.Expectation("entropy", gped.entropy.g, gped.Softmax()), "not distributions over classes"),
        (gped.Expectation("predictive", gped.predictive.g, gped.Dirichlet()), "not log-probabilities"),
        (gped.Expectation("signed", lambda log_p: log_p.amin(1), gped.Exponential()), "negative values"),
        (gped.Expectation("total", lambda log_p: log_p.sum(), gped.Linear()), "one value, or one row of values"),
        (gped.Expectation("odds", lambda log_p: 1 / log_p.exp(), gped.Linear()), "is not finite"),
    ],
)
def test_a_head_that_cannot_express_its_expectation_is_refused(expectation, message):
    with pytest.raises(ValueError, match=message):
        spec(gped.Target(expectation, "us"))


def test_the_stored_specification_tells_apart_what_differs():
    described = [
        gped.end2(TINY_DENSE, 3, **COMMON, **options).describe()
        for options in ({}, {"smoothing": 0.1}, {"teacher_temperature": 1.0}, {"temperature": 1.0}, {"seed": 1})
    ]
    assert all(one != other for number, one in enumerate(described) for other in described[:number])
    assert gped.end2(TINY_DENSE, 3, **COMMON) == gped.end2(TINY_DENSE, 3, **COMMON)


def test_a_name_that_means_something_else_is_refused():
    own = gped.Expectation("entropy", lambda log_p: log_p.exp().amax(1), gped.Exponential())
    with pytest.raises(ValueError, match=TAKEN.format(r"'entropy' is already that of gped\.entropy")):
        spec(gped.Target(own, "us"))
