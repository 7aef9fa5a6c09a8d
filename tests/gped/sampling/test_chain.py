"""What the chain does besides sampling: readings, views, and refusals."""

import copy
import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

import gped
from tests.helpers import TINY_CONV, TINY_DENSE, Listening, random_images, same


@pytest.mark.parametrize("architecture", [TINY_DENSE, TINY_CONV], ids=["dense", "conv"])
def test_parameters_are_views_of_one_vector_and_the_sampler_is_given_their_gradients(architecture, make_chain):
    chain = make_chain(architecture, batch_size=60, sampler=Listening(1e-3))
    plain = copy.deepcopy(chain.network)
    log_likelihood = -nn.functional.cross_entropy(plain(chain.labelled[:]), chain.labels, reduction="sum")
    log_likelihood.backward()
    chain.step()

    assert sum(p.numel() for p in chain.network.parameters()) == chain.theta.numel()
    for parameter in chain.network.parameters():
        assert parameter.untyped_storage().data_ptr() == chain.theta.untyped_storage().data_ptr()
    for gradient, reference in zip(chain.sampler.gradient, plain.parameters(), strict=True):
        torch.testing.assert_close(gradient, reference.grad, rtol=1e-4, atol=1e-4)


def test_readings_come_at_multiples_of_the_thinning_after_the_burn_in(make_chain):
    steps = [reading.step for reading in make_chain(steps=24, burn_in=10, thinning=5, further_steps=7)]
    assert steps == [15, 20, 25, 30]


def test_a_reading_says_what_the_draw_at_its_step_thinks(make_chain):
    chain = make_chain()
    for reading in chain:
        expected = torch.log_softmax(chain.network(chain.inputs[reading.indices]), 1)
        assert reading.step == chain.t
        assert torch.equal(reading.said, expected)


def test_a_longer_chain_extends_a_shorter_one(make_chain):
    short, long = list(make_chain(steps=30)), list(make_chain(steps=60))
    assert len(short) < len(long)
    for one, other in zip(short, long, strict=False):
        assert one.step == other.step
        assert torch.equal(one.indices, other.indices)
        assert torch.equal(one.said, other.said)


def test_the_global_generator_and_the_number_of_threads_are_left_alone(make_chain):
    torch.manual_seed(3)
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for _ in make_chain():
            assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(torch.get_rng_state(), state)


def test_chains_with_the_same_seed_agree_and_others_differ(make_chain):
    chains = [make_chain(seed=seed) for seed in (1, 1, 2)]
    for chain in chains:
        list(chain)
    assert torch.equal(chains[0].theta, chains[1].theta)
    assert not torch.equal(chains[0].theta, chains[2].theta)


def test_a_chain_whose_step_is_too_large_stops_with_its_step_and_advice(make_chain):
    with pytest.raises(gped.ChainDivergedError, match=r"diverged at step \d+.*step size of 5.*smaller step size"):
        list(make_chain(sampler=gped.SGLD(5.0), steps=500))


def test_a_chain_that_becomes_nan_stops_at_once(make_chain):
    chain = make_chain()
    chain.step()
    chain.theta[0] = torch.nan
    with pytest.raises(gped.ChainDivergedError, match="diverged at step 2"):
        chain.step()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thinning": 0}, "thinning of the readings is 0"),
        ({"steps": 0}, "steps is 0"),
        ({"burn_in": -1}, "burn_in of the readings is -1"),
        ({"burn_in": 60}, "burn-in of 60 steps must end before the chain"),
        ({"thinning": 70}, "no multiple of the thinning 70"),
        ({"further_steps": -1}, "further_steps is -1"),
        ({"steps": 60.5}, "steps is 60.5: it must be a whole number"),
        ({"sampler": 1e-3}, "the sampler is 0.001"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 61}, "batch_size is 61"),
        ({"reading_size": 0}, "size of the readings is 0"),
        ({"references": {"test": None}, "burn_in": 50}, "every 100 steps gets no draw"),
    ],
)
def test_impossible_settings_are_refused_when_the_chain_is_made(options, message, make_chain):
    if "references" in options:
        options["references"] = {"test": gped.Reference(random_images(TINY_DENSE, 5), every=100)}
    with pytest.raises(ValueError, match=message):
        make_chain(**options)


def test_labels_that_do_not_fit_are_refused():
    images = random_images(TINY_DENSE, 10)
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    common = {"steps": 5, "burn_in": 0, "thinning": 1, "batch_size": 2}
    with pytest.raises(ValueError, match="labels go from 0 to 3, but the network has 3 outputs"):
        gped.Chain(network, images, torch.arange(10) % 4, images, gped.SGLD(1e-3), **common)
    with pytest.raises(ValueError, match="10 inputs but 9 labels"):
        gped.Chain(network, images, torch.zeros(9, dtype=torch.int64), images, gped.SGLD(1e-3), **common)
    for step_size in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="step size"):
            gped.SGLD(step_size)


def test_the_callers_module_is_left_as_it_is_and_serves_for_another_chain():
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    before = copy.deepcopy(network.state_dict())
    images, labels = random_images(TINY_DENSE, 30), torch.arange(30) % 3
    chains = [
        gped.Chain(network, images, labels, images, gped.SGLD(1e-3), steps=10, burn_in=0, thinning=5, batch_size=10)
        for _ in range(2)
    ]
    first, second = (list(chain) for chain in chains)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    assert all(torch.equal(a.said, b.said) for a, b in zip(first, second, strict=True))


def test_a_teacher_with_dropout_is_asked_and_moved_without_it():
    """Because p(y|x, θ) must be a function of θ: a draw says the same whenever it is asked."""
    images, labels = random_images(TINY_DENSE, 30), torch.arange(30) % 3
    plain = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    dropping = torch.nn.Sequential(*copy.deepcopy(plain), torch.nn.Dropout(0.5)).train()
    options = {"steps": 10, "burn_in": 0, "thinning": 1, "batch_size": 10}
    references = [gped.Reference(images, every=1) for _ in range(2)]
    said = [
        list(gped.Chain(network, images, labels, images, gped.SGLD(1e-3), **options, references={"test": reference}))
        for network, reference in zip((plain, dropping), references, strict=True)
    ]
    assert all(same(one, other) for one, other in zip(*said, strict=True))
    np.testing.assert_array_equal(*(reference.result()["predictive"] for reference in references))
    assert dropping.training  # the caller's own


def test_the_step_size_of_each_step_is_that_of_its_number(make_chain):
    asked = []
    list(make_chain(sampler=gped.SGLD(lambda t: asked.append(t) or 1e-4), steps=12, burn_in=2))
    assert asked == list(range(1, 13))


def test_readings_draw_from_all_of_the_unlabelled_inputs_with_replacement(make_chain):
    drawn = torch.cat([reading.indices for reading in make_chain(steps=2010, burn_in=10, thinning=1)])
    counts = torch.bincount(drawn, minlength=40)
    assert counts.min() > 0.8 * counts.float().mean() and counts.max() < 1.2 * counts.float().mean()
    assert any(len(set(r.indices.tolist())) < 15 for r in make_chain())


def test_images_and_filters_are_channels_last(make_chain):
    chain = make_chain(gped.Architecture((3, 12, 12), (4, 6), 3, (8,)))
    assert chain.inputs[:2].is_contiguous(memory_format=torch.channels_last)
    assert all(p.is_contiguous(memory_format=torch.channels_last) for p in chain.network.parameters() if p.dim() == 4)


@pytest.mark.parametrize("sampler", [gped.SGLD, gped.SGHMC, 1e-3, "SGLD"], ids=str)
def test_a_class_is_not_taken_for_a_sampler(sampler, make_chain):
    with pytest.raises(ValueError, match=r"the sampler is .*: it must be one such as gped\.SGLD\(step_size\)"):
        make_chain(sampler=sampler)


@pytest.mark.parametrize("device", ["cuda", torch.device("cuda"), "gpu"], ids=repr)
def test_a_device_that_is_not_there_gets_a_sentence(device, make_chain):
    if torch.cuda.is_available() and str(device) == "cuda":
        pytest.skip("there is a GPU here")
    sentence = rf"the device '{device}' cannot be used here: .*Use 'cpu'"
    with pytest.raises(ValueError, match=sentence):
        make_chain(device=device)
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "member"))
    with pytest.raises(ValueError, match=sentence):
        gped.Ensemble([network], random_images(TINY_DENSE, 3), device=device)
    with pytest.raises(ValueError, match=sentence):
        gped.Inputs(random_images(TINY_DENSE, 3)).to(device)


def test_a_chain_computes_with_one_thread_unless_told_otherwise(make_chain):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        for threads in (1, 2):
            seen = set()
            chain = make_chain(threads=threads)
            chain.network.register_forward_hook(lambda *_, seen=seen: seen.add(torch.get_num_threads()))
            list(chain)
            assert seen == {threads}
    finally:
        torch.set_num_threads(before)


def test_inputs_of_another_form_than_those_of_the_training_set_are_refused(make_chain):
    scaled = gped.Inputs(random_images(TINY_DENSE, 5), gped.Scaling((0.5,), (0.2,)))
    with pytest.raises(
        ValueError, match=r"test has inputs of shape \(1, 8, 8\) with Scaling\(mean=\(0.5,\).*same form"
    ):
        make_chain(references={"test": gped.Reference(scaled, every=2)})
    with pytest.raises(ValueError, match=r"test has inputs of shape \(1, 10, 10\)"):
        make_chain(references={"test": gped.Reference(random_images(TINY_CONV, 5), every=2)})


def test_pixels_in_0_to_255_beside_bytes_are_refused_and_those_in_0_to_1_welcome(make_chain):
    pixels = random_images(TINY_DENSE, 5).float()
    make_chain(references={"test": gped.Reference(pixels / 255, every=2)})
    with pytest.raises(ValueError, match=r"test has numbers from .* to .*, but is used with bytes"):
        make_chain(references={"test": gped.Reference(pixels, every=2)})


class Tutorial(torch.nn.Module):
    """As many write it first: in place, and with view."""

    def __init__(self, flatten: bool) -> None:
        super().__init__()
        self.flatten = flatten
        self.layers = torch.nn.ModuleList([torch.nn.Conv2d(3, 4, 3), torch.nn.Linear(4 * 36, 3)])

    def forward(self, x):
        x -= 0.5
        x = self.layers[0](x)
        return self.layers[1](x.flatten(1) if self.flatten else x.view(len(x), -1))


def test_a_network_that_works_in_place_does_not_change_the_data_and_one_with_view_gets_a_hint():
    images = torch.rand(20, 3, 8, 8, generator=gped.stream(0, "x"))
    before = images.clone()
    options = {"steps": 4, "burn_in": 0, "thinning": 1, "batch_size": 5}
    reference = gped.Reference(images, every=1)
    data = images, torch.arange(20) % 3, images, gped.SGLD(1e-4)
    list(gped.Chain(Tutorial(flatten=True), *data, **options, references={"test": reference}))
    assert torch.equal(images, before)
    with pytest.raises(ValueError, match=r"the network cannot take inputs of shape \(3, 8, 8\).*use \.flatten"):
        gped.Chain(Tutorial(flatten=False), *data, **options)


@pytest.mark.parametrize(
    "labels", [torch.zeros(10), torch.zeros(10, 1, dtype=torch.int64), torch.zeros(10, 3, dtype=torch.int64)]
)
def test_labels_that_are_no_class_numbers_are_refused(labels):
    images = random_images(TINY_DENSE, 10)
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    with pytest.raises(ValueError, match="they must be one whole number for each input"):
        gped.Chain(network, images, labels, images, gped.SGLD(1e-3), steps=5, burn_in=0, thinning=1, batch_size=2)


def test_a_likelihood_that_does_not_give_one_number_per_input_is_refused(make_chain):
    class Wide(gped.Categorical):
        def log_likelihood(self, outputs, targets):
            return torch.log_softmax(outputs, 1)

    with pytest.raises(ValueError, match=r"shape \(20, 3\) for 20 inputs"):
        make_chain(likelihood=Wide).step()


def test_a_draw_that_is_not_finite_is_neither_read_nor_averaged(make_chain):
    with pytest.raises(gped.ChainDivergedError, match="diverged at step 1: the network's outputs are not finite"):
        list(make_chain(sampler=gped.SGLD(1e30), steps=1, burn_in=0, thinning=1))
    reference = gped.Reference(random_images(TINY_DENSE, 5), every=1)
    with pytest.raises(gped.ChainDivergedError, match="diverged at step 1"):
        make_chain(sampler=gped.SGLD(1e30), burn_in=0, references={"test": reference}).step()


def test_running_after_a_step_yields_only_later_steps_and_the_same_readings(make_chain):
    whole = list(make_chain().run())
    assert [step for step, _ in whole] == list(range(1, 61))
    for after in (0, 1, 25, 26, 59, 60, 100):
        chain = make_chain()
        later = list(chain.run(after=after))
        assert [step for step, _ in later] == list(range(after + 1, 61))
        for (_, reading), (_, expected) in zip(later, whole[after:], strict=True):
            assert same(reading, expected) if expected else reading is None
        assert chain.t == 60


def test_a_chain_that_stands_beyond_the_step_goes_on_from_where_it_stands(make_chain):
    chain = make_chain()
    while chain.t < 30:
        chain.step()
    assert next(chain.run(after=20))[0] == 31
    assert [step for step, _ in chain.run(after=31)] == list(range(32, 61))


def test_neither_chain_nor_students_make_torch_import_its_compiler_or_algebra():
    """It does so at the first gradient of several numbers, or at the first step of an optimiser: for a second each."""
    code = (
        "import sys, gped, torch\n"
        "network = gped.Architecture(input_shape=(1, 2, 2), channels=(), kernel=0, hidden=(3,))\n"
        "x, y = torch.rand(20, 1, 2, 2), torch.arange(20) % 2\n"
        "teacher = gped.Network(network, 2, gped.stream(0, 'start'))\n"
        "settings = {'steps': 9, 'thinning': 2}\n"
        "chain = gped.Chain(teacher, x, y, x, gped.SGLD(1e-4), burn_in=1, batch_size=5, **settings)\n"
        "gped.distill(chain, [gped.joint(network, 2, **settings)])\n"
        "print(sorted({'sympy', 'torch._dynamo'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stdout + done.stderr
