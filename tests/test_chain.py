"""What the chain does besides sampling: readings, views, and refusals."""

import copy

import numpy as np
import pytest
import torch
from conftest import TINY_CONV, TINY_DENSE, random_images
from test_sgld import Listening

import gped
from gped.readings import ReadingsInfo


@pytest.mark.parametrize("architecture", [TINY_DENSE, TINY_CONV], ids=["dense", "conv"])
def test_parameters_are_views_of_one_vector_and_the_sampler_is_given_their_gradients(architecture, make_chain):
    chain = make_chain(architecture, batch_size=60, sampler=Listening(1e-3))
    plain = copy.deepcopy(chain.network)
    log_likelihood = gped.categorical(plain(chain.labelled[:]), chain.labels).sum()
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


@pytest.mark.parametrize(
    ("burn_in", "thinning", "updates"), [(1000, 100, 9990), (1000, 10, 99900), (10000, 100, 9900), (10000, 10, 99000)]
)
def test_the_paper_has_as_many_updates_as_its_protocol_says(burn_in, thinning, updates):
    info = ReadingsInfo(60000, 10, 100, thinning, burn_in, 10**6, 10**6)
    assert len(info.due) == updates


def test_a_reading_says_what_the_draw_at_its_step_thinks(make_chain):
    chain = make_chain()
    for reading in chain:
        expected = torch.log_softmax(chain.network(chain.inputs[reading.indices]), 1)
        assert reading.step == chain.t
        assert torch.equal(reading.log_probabilities, expected)


def test_a_longer_chain_extends_a_shorter_one(make_chain):
    short, long = list(make_chain(steps=30)), list(make_chain(steps=60))
    assert len(short) < len(long)
    for one, other in zip(short, long, strict=False):
        assert one.step == other.step
        assert torch.equal(one.indices, other.indices)
        assert torch.equal(one.log_probabilities, other.log_probabilities)


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


def test_the_reference_is_the_mean_over_the_draws_that_count(make_chain):
    inputs = random_images(TINY_DENSE, 25, "test")
    reference = gped.Reference(
        inputs, every=4, expectations={e.name: e.g for e in (gped.predictive, gped.entropy, gped.variance)}
    )
    chain = make_chain(references={"test": reference}, steps=101, burn_in=10, further_steps=20)
    draws = []
    while chain.t < 121:
        chain.step()
        if 10 < chain.t <= 101 and chain.t % 4 == 0:
            log_p = torch.log_softmax(chain.network(chain.labelled.scaling(inputs)), 1).detach()
            draws.append(log_p.exp().double().numpy())
    draws = np.stack(draws)
    result = reference.result()
    assert reference.draws == len(draws) == 23
    np.testing.assert_allclose(result["predictive"], draws.mean(0), rtol=1e-12)  # the sums are in double precision
    np.testing.assert_allclose(result["entropy"], -(draws * np.log(draws)).sum(2).mean(0), atol=1e-6)
    np.testing.assert_allclose(result["variance"], (draws * (1 - draws)).mean(0), atol=1e-6)

    # batch means: draw k of 23 belongs to block k·20 // 23
    blocks = np.stack([draws[np.arange(23) * 20 // 23 == block].mean(0) for block in range(20)])
    np.testing.assert_allclose(result["predictive_error"], blocks.std(0, ddof=1) / np.sqrt(20), rtol=1e-6)


def test_the_ensembles_knowledge_is_positive(make_chain):
    reference = gped.Reference(random_images(TINY_DENSE, 50, "test"), every=2)
    list(make_chain(references={"test": reference}))
    result = reference.result()
    knowledge = gped.uncertainty.decompose(result["predictive"], result["entropy"]).knowledge
    assert knowledge.min() > -1e-6
    assert knowledge.mean() > 1e-3


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
    assert all(torch.equal(a.log_probabilities, b.log_probabilities) for a, b in zip(first, second, strict=True))


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


def test_a_reference_is_of_one_chain(make_chain):
    references = {"test": gped.Reference(random_images(TINY_DENSE, 5), every=2)}
    make_chain(references=references)
    with pytest.raises(ValueError, match="make another Reference"):
        make_chain(references=references)


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
    with pytest.raises(ValueError, match=r"the network cannot take an input of shape \(3, 8, 8\).*use \.flatten"):
        gped.Chain(Tutorial(flatten=False), *data, **options)


def test_inputs_that_no_network_could_learn_from_are_refused():
    images = torch.rand(4, 3, 2, 2)
    with pytest.raises(ValueError, match="the scaling has 2 means, but the inputs have 3 channels"):
        gped.Inputs(images, gped.Scaling((0.1, 0.2), (1.0, 1.0)))
    images[2, 0, 1, 1] = torch.inf
    with pytest.raises(ValueError, match="input 2 has values that are not finite"):
        gped.Inputs(images)
    grey = torch.randint(0, 200, (50, 6, 5), dtype=torch.uint8)
    assert len(gped.Scaling.standardising(grey).mean) == 1


@pytest.mark.parametrize(
    "labels", [torch.zeros(10), torch.zeros(10, 1, dtype=torch.int64), torch.zeros(10, 3, dtype=torch.int64)]
)
def test_labels_that_are_no_class_numbers_are_refused(labels):
    images = random_images(TINY_DENSE, 10)
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    with pytest.raises(ValueError, match="they must be one whole number for each input"):
        gped.Chain(network, images, labels, images, gped.SGLD(1e-3), steps=5, burn_in=0, thinning=1, batch_size=2)


def test_numpy_arrays_and_images_without_their_single_channel_are_welcome():
    images = random_images(TINY_DENSE, 10)[:, 0].numpy()
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    labels = np.arange(10, dtype=np.uint8) % 3
    chain = gped.Chain(network, images, labels, images, gped.SGLD(1e-3), steps=5, burn_in=0, thinning=1, batch_size=2)
    assert len(list(chain)) == 5
    with pytest.raises(ValueError, match="convert them to bytes"):
        gped.Inputs(images.astype(np.int64))


def test_a_likelihood_that_does_not_give_one_number_per_input_is_refused(make_chain):
    chain = make_chain()
    chain.log_likelihood = lambda outputs, targets: torch.log_softmax(outputs, 1)
    with pytest.raises(ValueError, match=r"shape \(20, 3\) for 20 inputs"):
        chain.step()


def test_a_draw_that_is_not_finite_is_neither_read_nor_averaged(make_chain):
    with pytest.raises(gped.ChainDivergedError, match="diverged at step 1: the network's outputs are not finite"):
        list(make_chain(sampler=gped.SGLD(1e30), steps=1, burn_in=0, thinning=1))
    reference = gped.Reference(random_images(TINY_DENSE, 5), every=1)
    with pytest.raises(gped.ChainDivergedError, match="diverged at step 1"):
        make_chain(sampler=gped.SGLD(1e30), burn_in=0, references={"test": reference}).step()


def test_standardised_images_have_mean_0_and_variance_1_in_each_channel():
    images = torch.randint(0, 200, (2500, 3, 5, 6), generator=gped.stream(0, "x"), dtype=torch.uint8)
    scaled = gped.Inputs(images, gped.Scaling.standardising(images))[:]
    torch.testing.assert_close(scaled.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
    torch.testing.assert_close(scaled.var((0, 2, 3), correction=0), torch.ones(3), atol=1e-4, rtol=0)
