"""The estimators estimate expectations, each in its own way."""

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor

import gped
from gped.students.estimators import Online, Stochastic
from tests.helpers import TINY_DENSE, bytes_of, random_images, some_log_probabilities, spec

INPUTS, DRAWS, SIZE = 12, 40, 9


def stream_of_values():
    """Draws whose minibatches have duplicate indices, as sampling with replacement gives."""
    generator = gped.stream(0, "minibatches")
    for draw in range(DRAWS):
        log_p = some_log_probabilities(INPUTS, f"draw {draw}")
        indices = torch.randint(INPUTS, (SIZE,), generator=generator)
        yield indices, gped.entropy(log_p)[indices].double()


def check_running_mean(estimator) -> None:
    """After each minibatch, the estimates of its inputs are the means over the draws that they have met."""
    met: dict[int, list[float]] = {index: [] for index in range(INPUTS)}
    distinct = 0
    for indices, values in stream_of_values():
        for index, value in dict(zip(indices.tolist(), values[:, 0].tolist(), strict=True)).items():
            met[index].append(value)
        distinct += len(set(indices.tolist()))
        expected = [sum(met[index]) / len(met[index]) for index in indices.tolist()]
        torch.testing.assert_close(estimator(indices, values)[:, 0], torch.tensor(expected, dtype=torch.float64))
    assert estimator.counts.tolist() == [len(values) for values in met.values()]
    assert int(estimator.counts.sum()) == distinct


def test_uo_is_the_mean_over_the_draws_that_each_input_has_met():
    assert any(len(set(indices.tolist())) < SIZE for indices, _ in stream_of_values())
    check_running_mean(Online(INPUTS))


class MovingAverage(Online):
    """One count for the whole minibatch instead of one for each input."""

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        estimates = super().__call__(indices, values)
        weight = 1 / float(self.counts.max())
        return (1 - weight) * estimates + weight * values


def test_a_batch_wise_moving_average_fails_that_check():
    with pytest.raises(AssertionError):
        check_running_mean(MovingAverage(INPUTS))


def test_us_averages_to_uo():
    """U_s has no memory: its values over an input's draws are a sample whose mean is what U_o ends with."""
    us, uo = Stochastic(INPUTS), Online(INPUTS)
    seen: dict[int, dict[int, float]] = {index: {} for index in range(INPUTS)}
    for draw, (indices, values) in enumerate(stream_of_values()):
        for index, value in zip(indices.tolist(), us(indices, values)[:, 0].tolist(), strict=True):
            seen[index][draw] = value
        uo(indices, values)
    means = [sum(draws.values()) / len(draws) for draws in seen.values()]
    torch.testing.assert_close(uo.means[:, 0], torch.tensor(means, dtype=torch.float64))


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


class Forgetting:
    """An exponentially forgetting mean: each new draw weighs a fifth, the first is taken as it is."""

    name: ClassVar[str] = "forgetting"
    made: ClassVar[list["Forgetting"]] = []

    def __init__(self, inputs: int, device: torch.device | str = "cpu") -> None:
        self.estimates: dict[int, Tensor] = {}
        self.inputs = inputs
        self.made.append(self)

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        for index, value in dict(zip(indices.tolist(), values.double(), strict=True)).items():
            before = self.estimates.get(index, value)
            self.estimates[index] = 0.8 * before + 0.2 * value
        return torch.stack([self.estimates[index] for index in indices.tolist()]).to(values.dtype)

    def state(self) -> dict[str, object]:
        met = sorted(self.estimates)
        return {"met": met, "estimates": [self.estimates[index] for index in met]}

    def restore(self, state: dict[str, object]) -> None:
        self.estimates = dict(zip(state["met"], state["estimates"], strict=True))


def forgotten(readings: Iterable[gped.Reading]) -> dict[int, float]:
    """The same for the entropy, from the list of all draws that each input has met."""
    met: dict[int, dict[int, float]] = {}
    for step, indices, log_p in readings:
        entropies = -(log_p.double().exp() * log_p.double()).sum(1)
        for index, value in zip(indices.tolist(), entropies.tolist(), strict=True):
            met.setdefault(index, {})[step] = value
    expected = {}
    for index, draws in met.items():
        first, *others = draws.values()
        weights = [0.8 ** (len(others) - number) * 0.2 for number in range(1, len(others) + 1)]
        expected[index] = 0.8 ** len(others) * first + sum(w * v for w, v in zip(weights, others, strict=True))
    return expected


def test_a_users_own_estimator_estimates_and_is_named_in_the_students_file(make_chain, tmp_path):
    Forgetting.made.clear()
    (student,) = gped.distill(make_chain(), [spec(gped.Target(gped.entropy, Forgetting))])
    (estimator,) = Forgetting.made
    expected = forgotten(make_chain())
    assert estimator.inputs == 40 and len(expected) > 30
    assert {index: float(value) for index, value in estimator.estimates.items()} == pytest.approx(expected, rel=1e-5)
    student.save(tmp_path / "student")
    loaded = gped.load_student(tmp_path / "student")
    assert [target["estimator"] for target in loaded.specification["targets"]] == ["forgetting"]
    assert loaded.predict(random_images(TINY_DENSE, 3)).data.shape == (3,)


def test_a_users_own_estimator_beside_uo_and_us_gives_another_student(make_chain):
    targets = [gped.Target(gped.entropy, which) for which in (Forgetting, "uo", gped.Online, "us", gped.Stochastic)]
    own, uo, online, us, stochastic = gped.distill(make_chain(), [spec(target) for target in targets])
    images = random_images(TINY_DENSE, 5, "test")
    said = {name: one.predict(images).data for name, one in {"own": own, "uo": uo, "us": us}.items()}
    assert len({values.tobytes() for values in said.values()}) == 3
    np.testing.assert_array_equal(online.predict(images).data, said["uo"])
    np.testing.assert_array_equal(stochastic.predict(images).data, said["us"])
    assert online.specification == uo.specification and stochastic.specification == us.specification


def test_a_run_with_a_users_own_estimator_goes_on_from_its_checkpoint(make_chain, tmp_path):
    class Stopped(gped.Checkpoint):
        def tick(self, step: int) -> None:
            if step == 35:
                self.save(step)
                raise KeyboardInterrupt

    own = spec(gped.Target(gped.entropy, Forgetting))
    with Stopped(tmp_path, "own") as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.distill(make_chain(), [own], checkpoint=checkpoint)
    with gped.Checkpoint(tmp_path, "own") as checkpoint:
        (resumed,) = gped.distill(make_chain(), [own], checkpoint=checkpoint)
    (undisturbed,) = gped.distill(make_chain(), [own])
    assert bytes_of(resumed, tmp_path) == bytes_of(undisturbed, tmp_path)


@pytest.mark.parametrize("wrong", ["median", None, dict, Forgetting(3)], ids=["name", "none", "nameless", "instance"])
def test_what_is_no_estimator_is_refused_with_the_name_of_its_target(wrong):
    with pytest.raises(ValueError, match=r"in the target 'entropy', the estimator is .*'us', 'uo', or a class like"):
        spec(gped.Target(gped.entropy, wrong))
