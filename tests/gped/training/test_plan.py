"""What is chosen for images: by their number, shape and classes."""

import pytest
import torch

import gped
from gped.training.material import Material
from gped.training.plan import Plan, architecture_for


def material(images: int, shape: tuple[int, ...] = (1, 8, 8)) -> Material:
    train, labels = gped.Inputs(torch.zeros(images, *shape, dtype=torch.uint8)), torch.arange(images) % 2
    return Material(train, labels, train, train, labels, ("a", "b"), [])


def test_the_step_size_goes_with_the_inverse_number_of_images():
    small, large = (Plan.of(material(images), None, seed=0) for images in (50, 5000))
    assert small.step_size == pytest.approx(100 * large.step_size)
    assert 0.05 <= 5000 * large.step_size <= 0.4  # as in the demonstration and in the paper, where it is 0.24 to 0.4
    assert (small.batch_size, large.batch_size) == (50, 100)


@pytest.mark.parametrize(("images", "steps"), [(10, 3000), (3500, 3500), (90_000, 20_000)])
def test_the_length_of_the_chain_goes_with_the_number_of_images_within_bounds(images, steps):
    assert Plan.of(material(images), None, seed=0).steps == steps


@pytest.mark.parametrize("steps", [100, 101, 999, 20_000, 10**6])
def test_any_length_from_a_hundred_on_gives_a_chain_that_a_student_can_listen_to(steps):
    plan = Plan.of(material(20), steps, seed=0)
    assert plan.steps == steps and plan.burn_in < steps // 2
    info = gped.ReadingsInfo(20, "categorical", 2, 20, plan.thinning, plan.burn_in, steps, steps)
    assert len(info.due) >= max(75, steps // 100)


def test_a_chain_that_is_too_short_or_no_number_is_refused():
    with pytest.raises(ValueError, match="--steps is 99: it must be at least 100"):
        Plan.of(material(20), 99, seed=0)


@pytest.mark.parametrize("channels", [1, 3])
def test_there_is_a_network_for_images_of_any_size_and_none_is_large(channels):
    for height, width in [
        (1, 1),
        (5, 40),
        (8, 8),
        (9, 9),
        (10, 10),
        (28, 28),
        (32, 21),
        (32, 32),
        (64, 64),
        (150, 100),
    ]:
        layout = architecture_for((channels, height, width))
        images = torch.zeros(2, channels, height, width)
        assert gped.Network(layout, 3, gped.stream(0, "start"))(images).shape == (2, 3)
        assert gped.cost.parameters(layout, 3) < 10**6
        assert bool(layout.channels) == (min(height, width) >= 10)


def test_what_was_chosen_is_told():
    data = material(5000, (3, 32, 32))
    network, chain = Plan.of(data, 40_000, seed=0).told(data)
    layout = architecture_for((3, 32, 32))
    assert network == (
        f"network: convolutions to 16 and 32 channels, then 100 hidden units; {gped.cost.parameters(layout, 3):,} "
        "parameters in the student"
    )
    expected = (
        f"chain: 40,000 steps of size {Plan.of(data, None, 0).step_size:.3g}, the first 10,000 of them to settle; "
    )
    assert chain == f"{expected}the student listens 7,500 times"
