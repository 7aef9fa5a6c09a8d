"""An ensemble that is there already, as a teacher: what its members say, references, recording and resuming."""

import numpy as np
import pytest
import torch
from torch import nn

import gped
from tests.helpers import TINY_DENSE, bytes_of, random_images, same

IMAGES, TEST = random_images(TINY_DENSE, 40), random_images(TINY_DENSE, 7, "test")


def members(count: int = 3) -> list[gped.Network]:
    return [gped.Network(TINY_DENSE, 3, gped.stream(seed, "member")) for seed in range(count)]


def ensemble(**options: object) -> gped.Ensemble:
    return gped.Ensemble(members(), IMAGES, **({"steps": 60, "reading_size": 15} | options))


def test_every_reading_is_what_one_member_says_of_its_inputs_and_all_speak_equally_often():
    spoken = []
    for reading in ensemble(steps=600):
        x = IMAGES[reading.indices].float() / 255
        with torch.no_grad():
            said = [torch.log_softmax(member.eval()(x), 1) for member in members()]
        agree = [torch.allclose(reading.said, one, atol=1e-6) for one in said]
        assert sum(agree) == 1
        spoken.append(agree.index(True))
    counts = np.bincount(spoken, minlength=3)
    assert (abs(counts - 200) < 4 * np.sqrt(600 * 2 / 9)).all()


@pytest.mark.parametrize("steps", [60, 2], ids=["more steps than members", "fewer"])
def test_references_are_exact_over_all_members(steps):
    reference = gped.Reference(TEST)
    list(ensemble(steps=steps, references={"test": reference}))
    with torch.no_grad():
        p = np.stack([torch.softmax(member.eval()(TEST.float() / 255).double(), 1) for member in members()])
    result = reference.result()
    np.testing.assert_allclose(result["predictive"], p.mean(0), rtol=1e-5)
    np.testing.assert_allclose(result["entropy"], -(p * np.log(p)).sum(2).mean(0), rtol=1e-5)
    np.testing.assert_allclose(result["predictive_error"], p.std(0, ddof=1) / np.sqrt(3), rtol=1e-3)


def test_a_student_is_the_same_live_recorded_and_resumed(tmp_path):
    spec = gped.joint(TINY_DENSE, 3)
    (live,) = gped.distill(ensemble(), [spec])
    recording = gped.record(ensemble(), tmp_path / "readings")
    (recorded,) = gped.distill(recording, [spec])
    first, second = ensemble(), ensemble()
    stream = iter(first)
    for _ in range(25):
        next(stream)
    second.restore(first.state())
    assert all(same(a, b) for a, b in zip(stream, second, strict=True))
    assert bytes_of(live, tmp_path) == bytes_of(recorded, tmp_path)
    assert live.updates == 60 and live.specification["steps"] == 60


def test_a_student_of_an_ensemble_comes_close_to_its_mean():
    x = torch.randn(40, 8, generator=gped.stream(0, "x"))
    reference = gped.Reference(x)
    weights = 2 * torch.randn(4, 8, 3, generator=gped.stream(0, "members"))
    teacher = gped.Ensemble([lambda x, w=w: x @ w for w in weights], x, steps=1500, references={"D'": reference})
    layout = gped.Architecture(input_shape=(8,), channels=(), kernel=0, hidden=(50,))
    (student,) = gped.distill(teacher, [gped.joint(layout, 3, estimator="uo", learning_rate=1e-2, halving_every=400)])
    truth, said = reference.result(), student.predict(x)
    for error, constant in (
        (said.probabilities - truth["predictive"], truth["predictive"].mean(0) - truth["predictive"]),
        (said.data - truth["entropy"], np.median(truth["entropy"]) - truth["entropy"]),
    ):
        assert np.abs(error).mean() < 0.2 * np.abs(constant).mean()


def test_networks_in_training_speak_as_in_evaluation_and_the_callers_own_stay_as_they_are():
    network = nn.Sequential(nn.Flatten(), nn.Linear(64, 3), nn.Dropout(0.5)).train()
    reference = gped.Reference(TEST)
    readings = list(gped.Ensemble([network], IMAGES, steps=20, references={"test": reference}))
    assert network.training
    with torch.no_grad():
        for reading in readings:
            said = torch.log_softmax(network[:2](IMAGES[reading.indices].float() / 255), 1)
            torch.testing.assert_close(reading.said, said)
        p = torch.softmax(network[:2](TEST.float() / 255), 1)
    np.testing.assert_allclose(reference.result()["predictive"], p, rtol=1e-5)


@pytest.mark.parametrize(
    ("teachers", "sentence"),
    [
        ([], "must be a list of at least one network"),
        (nn.Linear(64, 3), "the members are a Linear: they must be a list"),
        ([lambda x: (x, x)], "the network returns a tuple: it must return one tensor"),
        ([lambda x: {"logits": x}], "the network returns a dict"),
        ([lambda x: x], "turned 1 inputs into outputs of shape"),
        ([lambda x: x.flatten(1)[:, :3], lambda x: x.flatten(1)[:, :3] / 0], "not all are finite"),
        (
            [nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64, track_running_stats=False), nn.Linear(64, 3))],
            "so that what it says of an input depends on others",
        ),
    ],
)
def test_what_is_no_ensemble_is_refused_with_a_sentence(teachers, sentence):
    with pytest.raises(ValueError, match=sentence):
        list(gped.Ensemble(teachers, IMAGES, steps=20))


def test_a_reference_that_would_not_be_met_in_the_same_form_is_refused():
    with pytest.raises(ValueError, match=r"test has numbers from .* to 255, but is used with bytes"):
        ensemble(references={"test": gped.Reference(torch.full((2, 1, 8, 8), 255.0))})


def test_a_member_that_gives_no_tensor_is_refused_also_where_a_reference_hears_it_first():
    teachers = [lambda x: x.flatten(1)[:, :3], lambda x: (x, x)]
    for seed in range(4):
        with pytest.raises(ValueError, match="the network returns a tuple"):
            list(gped.Ensemble(teachers, IMAGES, steps=2, seed=seed, references={"test": gped.Reference(TEST)}))


def test_a_likelihood_is_passed_as_its_class():
    with pytest.raises(ValueError, match="pass the class alone, Categorical"):
        ensemble(likelihood=gped.Categorical(3))


def test_members_that_say_anything_can_be_averaged():
    reference = gped.Reference(TEST)
    teachers = [lambda x, k=k: x.flatten(1)[:, :2] * k for k in (1, 2, 6)]
    list(gped.Ensemble(teachers, IMAGES, steps=3, likelihood=gped.Likelihood, references={"test": reference}))
    np.testing.assert_allclose(reference.result()["mean"], 3 * (TEST.flatten(1)[:, :2] / 255), rtol=1e-6)
