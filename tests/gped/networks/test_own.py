"""Students whose network is any module: the same promises as for the library's own."""

import functools

import numpy as np
import pytest
import torch
from torch import nn

import gped
from gped.distillation import update
from gped.networks import cost
from gped.support.threads import threads
from tests.helpers import COMMON, TINY_CONV, TINY_DENSE, bytes_of, random_images


class Small(nn.Module):
    """With batch normalisation, dropout, a layer that is not used, and a parameter that is not trained."""

    def __init__(self, outputs: int, generator: torch.Generator | None = None) -> None:
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Dropout(0.3))
        self.last = nn.Linear(12, outputs)
        self.unused = nn.Linear(2, 2)
        self.offset = nn.Parameter(torch.zeros(1), requires_grad=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.features(x)) + self.offset


def spec(**options: object) -> gped.StudentSpec:
    return gped.joint(Small, 3, **(COMMON | options))


def test_its_bytes_depend_on_its_specification_and_the_readings_alone(make_chain, tmp_path):
    (alone,) = gped.distill(make_chain(), [spec()])
    torch.manual_seed(123)  # what happens outside must not matter
    torch.rand(7)
    state = torch.random.get_rng_state()
    beside = gped.distill(make_chain(), [gped.joint(TINY_DENSE, 3, dropout=0.5, **COMMON), spec(seed=1), spec()])
    (recorded,) = gped.distill(gped.record(make_chain(), tmp_path / "readings"), [spec()])
    assert bytes_of(alone, tmp_path) == bytes_of(beside[2], tmp_path) == bytes_of(recorded, tmp_path)
    assert bytes_of(alone, tmp_path) != bytes_of(beside[1], tmp_path)
    assert torch.equal(torch.random.get_rng_state(), state), "the global generator was disturbed"


def test_a_killed_student_goes_on_to_the_same_bytes(make_chain, tmp_path):
    (whole,) = gped.distill(make_chain(), [spec()])
    chain, learner = make_chain(), gped.Learner(spec(), make_chain())
    for reading in chain:
        if reading.step > 30:
            fresh = gped.Learner(spec(), make_chain())
            fresh.restore(learner.state())
            learner = fresh
        with threads(1):
            update(learner, reading, chain.inputs[reading.indices])
    assert bytes_of(learner.student(), tmp_path) == bytes_of(whole, tmp_path)


def test_it_is_loaded_by_passing_its_factory_and_says_the_same(make_chain, tmp_path):
    (student,) = gped.distill(make_chain(), [spec()])
    student.save(tmp_path / "student.safetensors")
    images = random_images(TINY_DENSE, 9, "test")
    loaded = gped.load_student(tmp_path / "student.safetensors", factory=Small)
    np.testing.assert_array_equal(loaded.predict(images).probabilities, student.predict(images).probabilities)
    assert loaded.specification["architecture"] == {"factory": "tests.gped.networks.test_own.Small"}
    with pytest.raises(ValueError, match=r"its network was made by .*test_own.Small. Load it in Python, with that"):
        gped.load_student(tmp_path / "student.safetensors")
    with pytest.raises(ValueError, match="its parameters do not fit the network that the factory makes"):
        gped.load_student(tmp_path / "student.safetensors", factory=lambda outputs, _: nn.Linear(64, outputs))
    with pytest.raises(ValueError, match="only that knows its layers"):
        _ = loaded.architecture


def test_the_factory_may_draw_from_the_generator_that_it_is_given(make_chain, tmp_path):
    def factory(outputs: int, generator: torch.Generator) -> nn.Module:
        layer = nn.Linear(64, outputs)
        layer.bias.data.normal_(generator=generator)
        return nn.Sequential(nn.Flatten(), layer)

    students = [gped.distill(make_chain(), [gped.joint(factory, 3, seed=s, **COMMON)])[0] for s in (0, 0, 1)]
    files = [bytes_of(student, tmp_path) for student in students]
    assert files[0] == files[1] != files[2]


class Features(nn.Module):
    """Random features that are neither parameters nor in the state, and a layer whose weights it shares with itself."""

    def __init__(self, outputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.features = torch.randn(64, 12, generator=generator)
        self.tied = nn.ModuleList([nn.Linear(12, 12), nn.Linear(12, 12), nn.Linear(12, outputs)])
        self.tied[1].weight = self.tied[0].weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.tied[2](self.tied[1](self.tied[0](x.flatten(1) @ self.features)))


@pytest.mark.parametrize("seed", [0, 3])
def test_what_a_factory_drew_is_drawn_again_and_tied_weights_are_saved(seed, make_chain, tmp_path):
    (student,) = gped.distill(make_chain(), [gped.joint(Features, 3, seed=seed, **COMMON)])
    student.save(tmp_path / "student.safetensors")
    loaded, images = gped.load_student(tmp_path / "student.safetensors", factory=Features), random_images(TINY_DENSE, 9)
    np.testing.assert_array_equal(loaded.predict(images).probabilities, student.predict(images).probabilities)


class Auxiliary(Small):
    """With further outputs in training, as some classifiers have."""

    def forward(self, x: torch.Tensor) -> torch.Tensor | tuple[torch.Tensor, ...]:
        outputs = super().forward(x)
        return (outputs, outputs) if self.training else outputs


@pytest.mark.parametrize(
    ("factory", "options", "sentence"),
    [
        (lambda outputs, _: nn.Linear(64, outputs), {}, "turned 2 inputs into outputs of shape|cannot take inputs"),
        (lambda outputs, _: Small(outputs + 1), {}, "has 5 outputs, but its targets take 4"),
        (lambda outputs, _: "network", {}, "made a str: it must make a module"),
        (Small, {"pruning": gped.GroupLasso(0.1)}, r"only a gped.Architecture can be pruned"),
        (Small, {"dropout": 0.5}, "give a module of your own its own dropout layers"),
        (Small(4), {}, r"architecture is a Small: it must be a gped.Architecture, or a function that makes a new"),
        (7, {}, r"it must be a gped.Architecture, or a function"),
        (Auxiliary, {}, "returns a tuple in training mode: it must return one tensor there, too"),
        (
            lambda outputs, _: nn.Sequential(Small(outputs), nn.BatchNorm1d(outputs, track_running_stats=False)),
            {},
            "so that what it says of an input depends on others",
        ),
    ],
)
def test_what_cannot_be_a_student_is_refused_with_a_sentence(factory, options, sentence, make_chain):
    with pytest.raises(ValueError, match=sentence):
        gped.distill(make_chain(), [gped.joint(factory, 3, **COMMON, **options)])


@pytest.mark.parametrize("architecture", [TINY_DENSE, TINY_CONV, gped.CNN_CIFAR10.scaled(0.5, 2)], ids=["d", "c", "k"])
def test_torchs_count_of_an_architecture_is_the_closed_form(architecture):
    network = gped.Network(architecture, 7, gped.stream(0, "θ"))
    expected = cost.parameters(architecture, 7), cost.multiply_adds(architecture, 7)
    assert gped.measured_cost(network, architecture.input_shape) == expected


def test_factories_have_names():
    assert gped.joint(functools.partial(Small), 3).describe()["architecture"] == {"factory": "functools.partial"}


def test_batch_normalisation_of_a_teacher_needs_statistics_of_its_own(make_chain):
    images, labels = random_images(TINY_DENSE, 60), torch.arange(60) % 3
    settings = {"steps": 5, "burn_in": 0, "thinning": 1, "batch_size": 20}
    with pytest.raises(ValueError, match=r"'features.2' .* is a BatchNorm1d that has seen no data yet"):
        gped.Chain(Small(3), images, labels, images, gped.SGLD(1e-4), **settings)
    loose = nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64, track_running_stats=False), nn.Linear(64, 3))
    with pytest.raises(ValueError, match="normalises by the statistics of a batch"):
        gped.Chain(loose, images, labels, images, gped.SGLD(1e-4), **settings)
    trained = Small(3)
    trained(images.float() / 255)
    before = trained.features[2].running_mean.clone()
    chain = gped.Chain(trained, images, labels, images, gped.SGLD(1e-4), **settings)
    list(chain)
    assert torch.equal(chain.network.features[2].running_mean, before)
