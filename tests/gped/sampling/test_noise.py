"""Where noise comes from: the sources that there are, and the shapes of what they give."""

import shutil

import pytest
import torch

import gped
from gped.sampling.native import NativeGenerator
from gped.sampling.noise import NativeNoise, noise_from

PARAMETERS = [torch.zeros(4, 1, 3, 3), torch.zeros(4), torch.zeros(5, 7)]
CPU = torch.device("cpu")
needs_a_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="there is no C compiler to build the kernel with"
)
SOURCES = ["torch", pytest.param("native", marks=needs_a_compiler)]


def test_a_source_that_is_not_there_is_refused(make_chain):
    with pytest.raises(ValueError, match="noise is 'fast': it must be 'torch' or 'native'"):
        make_chain(noise="fast")
    with pytest.raises(
        ValueError, match=r"noise is 'native', which is for the CPU, but the device is cuda.*noise='torch'"
    ):
        noise_from("native", PARAMETERS, 0, torch.device("cuda"))


@pytest.mark.parametrize("source", SOURCES)
def test_noise_has_the_shapes_of_the_parameters_and_is_new_at_every_call(source):
    noise = noise_from(source, PARAMETERS, 0, CPU)
    first = [part.clone() for part in noise()]
    second = noise()
    assert [part.shape for part in first] == [parameter.shape for parameter in PARAMETERS]
    assert all((one != other).all() for one, other in zip(first, second, strict=True))


@pytest.mark.parametrize("source", SOURCES)
def test_noise_depends_on_the_seed_alone(source):
    one, same, other = (torch.cat([z.flatten() for z in noise_from(source, PARAMETERS, s, CPU)()]) for s in (0, 0, 1))
    assert torch.equal(one, same)
    assert not torch.isin(one, other).any()


def test_torchs_noise_is_that_of_the_stream_of_its_name():
    expected = torch.randn(75, generator=gped.stream(3, "noise"))
    assert torch.equal(
        torch.cat(
            [
                z.permute(0, 2, 3, 1).flatten() if z.dim() == 4 else z.flatten()
                for z in noise_from("torch", PARAMETERS, 3, CPU)()
            ]
        ),
        expected,
    )


@needs_a_compiler
def test_native_noise_is_that_of_its_generator():
    expected = NativeGenerator("a").normal_(torch.empty(4))
    assert torch.equal(NativeNoise([torch.zeros(4)], NativeGenerator("a"))()[0], expected)


def test_a_move_is_its_formula():
    values, slopes = [torch.full((6,), 2.0)], [torch.full((6,), 3.0)]
    z = gped.Noise(values, gped.stream(0, "z"))()[0].clone()
    gped.Noise(values, gped.stream(0, "z")).move(values, 0.5, slopes, 0.1, 0.2)
    torch.testing.assert_close(values[0], 1.0 + 0.3 + 0.2 * z)
