"""The second sampler: the same tests of correctness as the first, and the same promises to a chain."""

import shutil

import posteriors
import pytest
import torch

import gped
from tests.helpers import PRIOR, TINY_CONV, TINY_DENSE, Louder, check_stationary_distribution, gaussian_chain


@pytest.mark.parametrize("friction", [0.1, 0.5, 1.0])
def test_a_full_batch_chain_has_the_mean_and_variance_of_its_closed_form(friction):
    check_stationary_distribution(gped.SGHMC(0.1, PRIOR, friction), 0.1, friction)


def test_a_chain_with_noise_for_another_friction_fails_that_check():
    class Wrong(gped.SGHMC):
        def update(self, theta, gradient, t, noise):
            super().update(theta, gradient, t, Louder(noise, 1 / self.friction))

    with pytest.raises(AssertionError):
        check_stationary_distribution(Wrong(0.1, PRIOR, 0.5), 0.1, 0.5)


def test_with_friction_1_it_is_sgld():
    one, other = gaussian_chain(gped.SGHMC(0.1, PRIOR, friction=1)), gaussian_chain(gped.SGLD(0.1, PRIOR))
    for _ in range(20):
        one.step()
        other.step()
    torch.testing.assert_close(one.theta, other.theta)


def test_on_a_constant_slope_the_velocity_is_that_of_posteriors_with_the_same_noise():
    """Its momentum m is our velocity in other units: v = ε m with ε² = η/2 and a friction of α/ε.

    A constant slope, because posteriors moves θ before the momentum and we after it, which changes where later slopes
    are taken.
    """
    slope = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]])
    step_size, friction = 0.02, 0.3
    epsilon = (step_size / 2) ** 0.5
    transform = posteriors.sgmcmc.sghmc.build(
        lambda parameters, _: ((parameters["weight"] * slope).sum(), torch.empty(0)),
        lr=epsilon,
        alpha=friction / epsilon,
        momenta=0.0,
    )
    state = transform.init({"weight": torch.zeros(2, 3)})
    theta, sampler = [torch.zeros(2, 3)], gped.SGHMC(step_size, 0.0, friction)
    noise = gped.Noise(theta, gped.stream(0, "noise"))
    with torch.random.fork_rng(devices=[]):
        torch.set_rng_state(gped.stream(0, "noise").get_state())
        for t in range(1, 6):
            state, _ = transform.update(state, None)
            sampler.update(theta, [slope], t, noise)
            torch.testing.assert_close(sampler.state()["velocity"][0], epsilon * state.momenta["weight"])


@pytest.mark.parametrize("noise", ["torch", "native"])
@pytest.mark.parametrize("architecture", [TINY_DENSE, TINY_CONV], ids=["dense", "convolutions"])
def test_a_chain_that_was_stopped_goes_on_with_its_velocity(make_chain, tmp_path, architecture, noise):
    if noise == "native" and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("there is no C compiler to build the kernel with")
    undisturbed, stopped, resumed = (make_chain(architecture, sampler=gped.SGHMC(1e-3), noise=noise) for _ in range(3))
    with gped.Checkpoint(tmp_path, "sghmc") as checkpoint:
        checkpoint.resume({"chain": stopped})
        next(step for step, _ in stopped.run(0) if step == 7)
        checkpoint.save(7)
    with gped.Checkpoint(tmp_path, "sghmc") as checkpoint:
        assert checkpoint.resume({"chain": resumed}) == 7
    assert resumed.state()["sampler"]["velocity"]  # also before the next step
    assert all(torch.equal(a.said, b.said) for a, b in zip(undisturbed, resumed, strict=True))


@pytest.mark.parametrize("friction", [0, -0.1, 1.5, float("nan")])
def test_a_friction_outside_of_its_range_is_refused_by_name(friction):
    with pytest.raises(ValueError, match="friction"):
        gped.SGHMC(1e-3, friction=friction)
