"""What the whole ensemble says: exact means over the draws that count."""

import numpy as np
import pytest
import torch

import gped
from tests.helpers import TINY_DENSE, random_images


@pytest.mark.parametrize("steps", [100, 101], ids=["asked at T", "not asked at T"])
def test_the_reference_is_the_mean_over_the_draws_that_count(steps, make_chain):
    inputs = random_images(TINY_DENSE, 25, "test")
    reference = gped.Reference(
        inputs, every=4, expectations={e.name: e.g for e in (gped.predictive, gped.entropy, gped.variance)}
    )
    burn_in = 8  # where the reference would be asked, if the draw at t = B counted
    chain = make_chain(references={"test": reference}, steps=steps, burn_in=burn_in, further_steps=20)
    draws = []
    while chain.t < steps + 20:
        chain.step()
        if burn_in < chain.t <= steps and chain.t % 4 == 0:
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


def test_a_reference_is_of_one_chain(make_chain):
    references = {"test": gped.Reference(random_images(TINY_DENSE, 5), every=2)}
    make_chain(references=references)
    with pytest.raises(ValueError, match="make another Reference"):
        make_chain(references=references)
