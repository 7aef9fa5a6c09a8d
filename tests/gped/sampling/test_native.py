"""The compiled source of noise: standard normal, independent, and exactly resumable."""

import shutil

import numpy as np
import pytest
import torch
from scipy import stats

from gped.sampling import native
from gped.sampling.native import NativeGenerator

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler to build the kernel with"
)


def draws(count: int, seed: str = "a") -> np.ndarray:
    return NativeGenerator(seed).normal_(torch.empty(count)).double().numpy()


@pytest.mark.slow
def test_the_numbers_are_standard_normal_down_to_the_tails():
    x = draws(4_000_000)
    assert stats.kstest(x, "norm").pvalue > 1e-3
    assert x.mean() == pytest.approx(0, abs=4 / 2000)
    assert x.var() == pytest.approx(1, abs=4 * np.sqrt(2) / 2000)
    assert stats.skew(x) == pytest.approx(0, abs=4 * np.sqrt(6) / 2000)
    assert stats.kurtosis(x) == pytest.approx(0, abs=4 * np.sqrt(24) / 2000)
    for bound in (3.0, 4.0, 4.5):
        expected = len(x) * stats.norm.sf(bound)
        for tail in (x > bound, x < -bound):
            assert tail.sum() == pytest.approx(expected, abs=4 * np.sqrt(expected))


@pytest.mark.parametrize("lag", [1, 2, 15, 16, 17, 512, 1024, 478_410])
def test_neighbours_are_independent_at_every_distance_that_the_kernel_knows(lag):
    """Lanes, halves of a block, blocks, the same parameter in two steps; also of squares, which Box–Muller pairs."""
    x = draws(2_000_000)
    for values in (x, x**2 - 1):
        correlation = np.corrcoef(values[:-lag], values[lag:])[0, 1]
        assert abs(correlation) < 5 / np.sqrt(len(x) - lag)


def test_a_seed_gives_its_own_numbers_again_and_no_others():
    assert np.array_equal(draws(5000), draws(5000))
    assert np.isin(draws(5000, "a"), draws(5000, "b")).mean() < 0.01  # single precision has some in common
    assert len(np.unique(draws(5000))) > 4990


def test_a_saved_state_goes_on_with_the_same_numbers():
    generator = NativeGenerator("a")
    generator.normal_(torch.empty(1500))
    state = generator.get_state()
    expected = generator.normal_(torch.empty(3000)).clone()
    other = NativeGenerator("b")
    other.set_state(state)
    assert torch.equal(other.normal_(torch.empty(3000)), expected)


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025, 5000])
def test_all_and_only_the_numbers_that_were_asked_for_are_written(count):
    room = torch.full((count + 100,), 7.0)
    NativeGenerator("a").normal_(room[:count])
    assert (room[count:] == 7).all() and (room[:count] != 7).all()


def rotated(x: np.ndarray, k: int) -> np.ndarray:
    return (x << np.uint32(k)) | (x >> np.uint32(32 - k))


def xoshiro(state: np.ndarray, rows: int) -> np.ndarray:
    """Words of the lanes' generators, by the definition of xoshiro128++."""
    a, b, c, d = state.astype(np.uint32)
    words = []
    for _ in range(rows):
        words.append(rotated(a + d, 7) + a)
        shifted = b << np.uint32(9)
        c, d = c ^ a, d ^ b
        b, a = b ^ c, a ^ d
        c, d = c ^ shifted, rotated(d, 11)
    return np.concatenate(words)


def test_the_numbers_are_those_of_box_and_muller_in_double_precision():
    generator = NativeGenerator("a")
    words = xoshiro(generator.get_state().numpy(), 2 * 512 // 16)
    radius = np.sqrt(-2 * np.log((words[:512] // 2 + 0.5) / 2**31))
    within, axis = words[512:] << np.uint32(2), words[512:] >> np.uint32(30)
    angle = np.pi / 4 * within.view(np.int32) / 2**31
    pair = np.stack([np.cos(angle), np.sin(angle)])
    pair = np.where(axis & 1, pair[::-1], pair) * np.where(axis & 2, -1, 1)
    numbers = generator.normal_(torch.empty(1024)).numpy()
    np.testing.assert_allclose(numbers, (radius * pair).ravel(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(3,), (1024,), (40, 70), (8, 3, 5, 5)])
def test_a_step_in_one_pass_is_the_same_step_with_the_same_noise(shape):
    value, slope = (torch.randn(shape, generator=torch.Generator().manual_seed(k)) for k in (0, 1))
    if value.dim() == 4:  # filters are channels-last, their gradient need not be
        value = value.contiguous(memory_format=torch.channels_last)
    order = torch.argsort(torch.tensor(value.stride()), descending=True, stable=True).tolist()
    z = torch.empty_like(value)
    z.permute(order).copy_(NativeGenerator("a").normal_(torch.empty(value.numel())).view(value.permute(order).shape))
    expected = 0.9 * value + 0.1 * slope + 0.5 * z
    assert NativeGenerator("a").move_(value, 0.9, slope, 0.1, 0.5) is value
    torch.testing.assert_close(value, expected)


def test_a_gradient_of_another_shape_is_refused_before_memory_beyond_it_is_read():
    with pytest.raises(RuntimeError, match="must match"):
        NativeGenerator("a").move_(torch.zeros(5000), 1, torch.zeros(3), 1, 1)


@pytest.mark.parametrize("count", [1, 1023, 1024, 1025])
def test_a_step_moves_no_number_beyond_its_own(count):
    room = torch.full((count + 2000,), 7.0)
    NativeGenerator("a").move_(room[:count], 0.5, torch.ones(count), 1, 1)
    assert (room[count:] == 7).all() and (room[:count] != 7).all()


def test_numbers_below_the_normal_range_survive_the_kernel():
    """A library that was linked with -ffast-math would round them to zero, in all of the process."""
    draws(10)
    assert (torch.tensor([1e-308], dtype=torch.float64) / 1024 > 0).all()


def test_a_chain_with_native_noise_resumes_exactly(make_chain):
    undisturbed, first, second = (make_chain(noise="native") for _ in range(3))
    readings = list(undisturbed)
    next(step for step, _ in first.run(0) if step == 25)
    second.restore(first.state())
    rest = list(second)
    assert rest and all(torch.equal(a.said, b.said) for a, b in zip(readings[-len(rest) :], rest, strict=True))
    by_torch = make_chain()
    list(by_torch)
    assert not torch.equal(undisturbed.theta, by_torch.theta)


def test_what_it_cannot_do_is_said_in_a_sentence(monkeypatch):
    with pytest.raises(ValueError, match=r"float32 on the CPU .* not for torch\.float64.*noise='torch'"):
        NativeGenerator("a").normal_(torch.empty(3, dtype=torch.float64))
    with pytest.raises(ValueError, match=r"without gaps in memory.*strides \(2,\).*noise='torch'"):
        NativeGenerator("a").move_(torch.empty(6)[::2], 1, torch.empty(3), 1, 1)
    native._kernel.cache_clear()
    monkeypatch.setattr(native.shutil, "which", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs a C compiler.*noise='torch'"):
        NativeGenerator("a")
