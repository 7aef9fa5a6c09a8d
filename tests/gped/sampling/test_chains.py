"""Several chains of one posterior: their readings in turn, and how far they agree."""

import numpy as np
import pytest
import torch

import gped
from tests.helpers import TINY_DENSE, bytes_of, random_images, same


def two(make_chain, **options):
    return [make_chain(seed=seed, **options) for seed in (0, 1)]


def test_readings_of_several_chains_come_in_turn_and_are_counted_together(make_chain):
    apart = [list(chain) for chain in two(make_chain)]
    merged = list(gped.Chains(two(make_chain)))
    assert [reading.step for reading in merged] == list(range(22, 121, 2))
    for number, reading in enumerate(merged):
        own = apart[number % 2][number // 2]
        assert torch.equal(reading.indices, own.indices) and torch.equal(reading.said, own.said)


def test_live_recorded_and_resumed_chains_give_the_same_student(make_chain, tmp_path):
    spec = gped.joint(TINY_DENSE, 3)
    (live,) = gped.distill(gped.Chains(two(make_chain)), [spec])
    recordings = [gped.record(chain, tmp_path / f"{number}") for number, chain in enumerate(two(make_chain))]
    (recorded,) = gped.distill(gped.Chains(recordings), [spec])
    (again,) = gped.distill(gped.record(gped.Chains(two(make_chain)), tmp_path / "both"), [spec])
    assert bytes_of(live, tmp_path) == bytes_of(recorded, tmp_path) == bytes_of(again, tmp_path)
    assert live.updates == 50


@pytest.mark.parametrize("heard", [0, 1, 4, 37])
def test_chains_go_on_exactly_from_where_they_were(heard, make_chain):
    first, second = gped.Chains(two(make_chain)), gped.Chains(two(make_chain))
    whole = list(gped.Chains(two(make_chain)))
    for step, reading in first.run():
        if reading and step == whole[heard].step:
            break
    second.restore(first.state())
    rest = list(second)
    assert len(rest) == len(whole) - heard - 1
    assert all(same(a, b) for a, b in zip(rest, whole[heard + 1 :], strict=True))


def test_chains_that_cannot_be_counted_together_are_refused(make_chain):
    with pytest.raises(ValueError, match="chain 1 is about other inputs than the first, or differs"):
        gped.Chains([make_chain(), make_chain(steps=80)])
    with pytest.raises(ValueError, match="does not divide their burn-in 11"):
        gped.Chains(two(make_chain, burn_in=11))
    passed = make_chain()
    next(iter(passed))
    with pytest.raises(ValueError, match="chain 0 has already passed some of its readings"):
        gped.Chains([passed, make_chain()])


def told(chains: list[np.ndarray], **options: object) -> dict[str, np.ndarray]:
    """What references say of chains whose draws of one number of one input are these."""
    references = []
    for draws in chains:
        reference = gped.Reference(torch.zeros(1, 1), **options)
        reference.start(len(draws), gped.Likelihood(1), torch.device("cpu"))
        for draw in draws:
            reference.update(lambda x, draw=draw: torch.full((1, 1), float(draw)))
        references.append(reference)
    return gped.between_chains(references)


def test_agreement_of_chains_is_by_the_textbook():
    generator = np.random.default_rng(0)
    for apart in (0.0, 3.0):
        chains = generator.normal(0, 1, (4, 50)) + apart * np.arange(4)[:, None]
        within, between = chains.var(1, ddof=1).mean(), chains.mean(1).var(ddof=1)
        result = told(list(chains))
        assert result["mean"].item() == pytest.approx(chains.mean(), rel=1e-6)
        assert result["mean_error"].item() == pytest.approx(np.sqrt(between / 4), rel=1e-4)
        r_hat = np.sqrt((49 / 50 * within + between) / within)
        assert result["mean_r_hat"].item() == pytest.approx(r_hat, rel=1e-4)
        assert (r_hat > 1.5) == bool(apart)


def test_chains_that_say_one_and_the_same_agree():
    assert told([np.ones(5), np.ones(5)])["mean_r_hat"].item() == 1


def test_only_references_of_the_same_inputs_are_compared(make_chain):
    references = [gped.Reference(random_images(TINY_DENSE, 5, name), every=2) for name in ("a", "b")]
    for chain_number, reference in enumerate(references):
        list(make_chain(seed=chain_number, references={"test": reference}))
    with pytest.raises(ValueError, match="reference 1 has other inputs"):
        gped.between_chains(references)
    with pytest.raises(ValueError, match="it takes two chains"):
        gped.between_chains(references[:1])
    with pytest.raises(ValueError, match="reference 1 has met no draw yet"):
        gped.between_chains([references[0], gped.Reference(random_images(TINY_DENSE, 5, "a"))])
