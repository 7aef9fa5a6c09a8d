"""A trained student: asked, saved and loaded without its teacher."""

import random
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import safetensors.torch
import torch

import gped
from gped.students import student_file
from gped.support.files import NotWrittenError
from tests.helpers import COMMON, PREDICTIVE, TINY_CONV, TINY_DENSE, merged, random_images, spec, trained


def test_a_student_file_alone_is_enough(make_chain, tmp_path):
    images = random_images(TINY_CONV, 9, "test")
    for specification in (gped.joint(TINY_CONV, 3, **COMMON), gped.end2(TINY_CONV, 3, dropout=0.3, **COMMON)):
        student = trained(make_chain, specification)
        student.save(tmp_path / "student.safetensors")
        loaded = gped.load_student(tmp_path / "student.safetensors")
        expected, said = student.predict(images), loaded.predict(images.numpy())
        for field in ("probabilities", "total", "data", "knowledge"):
            np.testing.assert_array_equal(getattr(said, field), getattr(expected, field))
        np.testing.assert_allclose(said.probabilities.sum(1), 1)
        assert (loaded.updates, loaded.input_shape) == (25, (1, 10, 10))
        assert loaded.specification == student.specification == specification.describe()
        assert not list(tmp_path.glob("*.part"))


def test_the_scaling_of_pixels_travels_with_the_student(make_chain, tmp_path):
    images, labels = random_images(TINY_DENSE, 60), torch.arange(60) % 3
    scaling = gped.Scaling.standardising(images)
    inputs = gped.Inputs(images, scaling)
    network = gped.Network(TINY_DENSE, 3, gped.stream(0, "θ"))
    chain = gped.Chain(
        network, inputs, labels, inputs, gped.SGLD(1e-3), steps=60, burn_in=10, thinning=2, batch_size=20
    )
    (student,) = gped.distill(chain, [gped.joint(TINY_DENSE, 3, **COMMON)])
    student.save(tmp_path / "student")
    loaded = gped.load_student(tmp_path / "student")
    assert loaded.scaling == scaling
    images = random_images(TINY_DENSE, 4, "test")
    as_bytes, as_floats = loaded.predict(images), loaded.predict(images.float() / 255)
    np.testing.assert_allclose(as_bytes.probabilities, as_floats.probabilities, rtol=1e-6)
    outputs = loaded.network((images.float() / 255 - scaling.mean[0]) / scaling.std[0])
    np.testing.assert_allclose(as_bytes.probabilities, torch.softmax(outputs[:, :3], 1).detach(), rtol=1e-5)


def test_a_users_own_expectation_takes_a_few_lines(make_chain, tmp_path):
    def confidence(log_p):
        return log_p.exp().amax(1)

    own = gped.Expectation("confidence", confidence, gped.Exponential("squared"))
    student = trained(make_chain, spec(gped.Target(own, "uo"), learning_rate=1e-2))
    student.save(tmp_path / "student")
    said = gped.load_student(tmp_path / "student").predict(random_images(TINY_DENSE, 20, "test"))
    assert said.expectations["confidence"].shape == (20,)
    assert (said.expectations["confidence"] > 0.2).all() and (said.expectations["confidence"] < 1.1).all()


@pytest.mark.parametrize("bad", ["truncated", "foreign", "another safetensors", "empty", "Python"])
def test_a_bad_student_file_is_refused(bad, make_chain, tmp_path):
    path = tmp_path / "student.safetensors"
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON))
    student.save(path)
    if bad == "truncated":
        path.write_bytes(path.read_bytes()[:-10])
    elif bad == "foreign":
        path.write_bytes(b"not a student at all, but long enough to be one")
    elif bad == "another safetensors":
        safetensors.torch.save_file({"weight": torch.zeros(3)}, path)
    else:
        path.write_text("import gped\n" if bad == "Python" else "")
    with pytest.raises(ValueError, match=r"student\.safetensors is (truncated or not|not) .*student file") as refusal:
        gped.load_student(path)
    assert "delete" not in str(refusal.value).lower()  # it may be all that someone has of their work


def test_a_bit_that_flipped_anywhere_in_a_student_file_is_noticed(make_chain, tmp_path):
    path = tmp_path / "student.safetensors"
    names = ("cat", "dog", "Löwe")
    trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON, class_names=names)).save(path)
    content = path.read_bytes()
    header, choose = 8 + int.from_bytes(content[:8], "little"), random.Random(0)
    for position in [*choose.sample(range(header), 500), *choose.sample(range(header, len(content)), 50)]:
        flipped = bytearray(content)
        flipped[position] ^= 1 << choose.randrange(8)
        path.write_bytes(flipped)
        with pytest.raises(
            ValueError, match=r"student\.safetensors is (truncated or not|not|a damaged) .*student file"
        ):
            gped.load_student(path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"architecture": {"hidden": [12, 50_000_000]}}, r"1\.bias has the shape \(10,\), but .* \(50000000,\)"),
        ({"architecture": {"input_shape": [1, 8, 10**30]}}, r"0\.weight has the shape \(12, 64\), but .* 8000000000"),
        ({"architecture": {"hidden": [12]}}, r"1\.bias has the shape \(10,\), but its layers need \(4,\)"),
        ({"architecture": {"hidden": [12, 10, 4]}}, r"3\.bias has the shape None"),
        ({"architecture": {"colour": 1}}, "unexpected keyword argument 'colour'"),
        ({"heads": [["predictive", {"name": "softmax"}, 6], ["entropy", {"name": "linear"}, -2]]}, "is -2"),
        ({"input_shape": ["eight"]}, "a side of the inputs is 'eight'"),
        ({"class_names": ["cat"]}, "one for each of the 3 classes"),
        ({"scaling": {"mean": [0.0], "std": [0.0]}}, "must all be positive"),
        ({"updates": None}, "has no 'updates'"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_a_student_file_asks_for_is_checked_before_it_is_made(change, sentence, make_chain, tmp_path):
    """Its checksum is right: someone made it so. A network of 50 million units would take 2.6 GB."""
    path = tmp_path / "student.safetensors"
    trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON)).save(path)
    description, tensors = student_file.read(path)
    changed = merged(description, change)
    student_file.write(path, {name: value for name, value in changed.items() if value is not None}, tensors)
    with allocating_little(), pytest.raises(ValueError, match=rf"is a damaged student file: .*{sentence}"):
        gped.load_student(path)


@contextmanager
def allocating_little() -> Iterator[None]:
    """Anything that takes more than a hundred megabytes fails."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    limit = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 10**8, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limit)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "17", "{}", '{"architecture": ' + "9" * 5000 + "}"], ids=lambda t: t[:9]
)
def test_a_description_that_makes_no_sense_is_refused(text, tmp_path):
    path, tensors = tmp_path / "student.safetensors", {"0.weight": torch.zeros(3, 4)}
    entry = f"{student_file.FORMAT} {student_file._digest(text, tensors)}\n{text}"
    safetensors.torch.save_file(tensors, path, {"gped": entry})
    with pytest.raises(ValueError, match="is a damaged student file"):
        gped.load_student(path)


def test_names_of_classes_stay_with_the_student(make_chain, tmp_path):
    names = ["cat", "dog", "Löwe, alt"]
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON, class_names=names))
    student.save(tmp_path / "student")
    assert gped.load_student(tmp_path / "student").class_names == student.class_names == tuple(names)
    without = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON))
    assert without.class_names == ()
    for one, other in zip(student.network.parameters(), without.network.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("names", ["abc", ["a", "b"], ["a", "b", "b"], ["a", "b", ""], [1, 2, 3]], ids=str)
def test_names_that_are_not_one_for_each_class_are_refused(names):
    with pytest.raises(ValueError, match=r"class_names is .*one for each"):
        gped.joint(TINY_DENSE, 3, **COMMON, class_names=names)


def test_a_folder_is_not_taken_for_a_student(tmp_path):
    (tmp_path / "one.safetensors").touch()
    with pytest.raises(ValueError, match=r"is a folder, and not a student file\. There is .*one\.safetensors"):
        gped.load_student(tmp_path)


def test_saving_leaves_an_older_student_alone_when_it_fails(make_chain, tmp_path):
    path = tmp_path / "student.safetensors"
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON))
    student.save(path)
    before = path.read_bytes()
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limit[1]))  # as a full disk would
    try:
        with pytest.raises(NotWrittenError, match=r"cannot write .*student\.safetensors: File too large"):
            student.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_numbers_that_are_not_those_of_the_training_are_refused(make_chain):
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON))
    with pytest.raises(ValueError, match=r"numbers from -1 to 1, but this student was trained on pixels in \[0, 1\]"):
        student.predict(torch.linspace(-1, 1, 64).view(1, 1, 8, 8))
    with pytest.raises(ValueError, match="input 1 has values that are not finite"):
        student.predict(torch.tensor([0.5, float("nan")]).view(2, 1, 1, 1).expand(2, 1, 8, 8))
    student.from_bytes = False
    with pytest.raises(ValueError, match=r"images are bytes, but .* trained on floating point numbers"):
        student.predict(torch.zeros(1, 1, 8, 8, dtype=torch.uint8))


@pytest.mark.parametrize("count", [0, "2"])
def test_counts_that_are_none_get_a_sentence(count, make_chain):
    chain, spec = make_chain(), gped.joint(TINY_DENSE, 3, steps=60, thinning=6)
    (student,) = gped.distill(make_chain(), [spec])
    with pytest.raises(ValueError, match=r"batch_size is .* it must be"):
        student.predict(random_images(TINY_DENSE, 2), batch_size=count)
    with pytest.raises(ValueError, match=r"threads is .* it must be"):
        gped.distill(chain, [spec], threads=count)


def test_images_of_another_shape_are_refused(make_chain):
    student = trained(make_chain, gped.joint(TINY_DENSE, 3, **COMMON))
    with pytest.raises(ValueError, match=r"shape \(1, 9, 9\), but this student reads \(1, 8, 8\)"):
        student.predict(torch.zeros(4, 1, 9, 9))
    with pytest.raises(ValueError, match="at least one"):
        student.predict(torch.zeros(0, 1, 8, 8))


@dataclass(frozen=True)
class Huber(gped.Linear):
    name: ClassVar[str] = "huber"

    def loss(self, outputs, targets):
        return torch.nn.functional.huber_loss(outputs, targets)


def test_a_users_own_head_can_be_saved_and_loaded(make_chain, tmp_path):
    own = gped.Expectation("margin", lambda log_p: log_p.exp().topk(2).values.diff().neg(), Huber())
    trained(make_chain, spec(gped.Target(own, "us"))).save(tmp_path / "student")
    with pytest.raises(ValueError, match=r"cannot be loaded: its head 'huber' is not one .* in own_heads\.$"):
        gped.load_student(tmp_path / "student")
    said = gped.load_student(tmp_path / "student", own_heads=[Huber]).predict(random_images(TINY_DENSE, 2))
    assert said.expectations["margin"].shape == (2,)


def test_a_student_file_can_be_read_by_whoever_may_read_its_folder(make_chain, tmp_path):
    trained(make_chain, spec(PREDICTIVE)).save(tmp_path / "student")
    (tmp_path / "plain").touch()
    assert (tmp_path / "student").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_missing_student_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no student file .*nobody\.safetensors"):
        gped.load_student(tmp_path / "nobody.safetensors")


def test_pixels_of_the_wrong_scale_are_refused(make_chain):
    student = trained(make_chain, spec(PREDICTIVE))
    with pytest.raises(ValueError, match="from 255 to 255, but this student was trained on pixels"):
        student.predict(torch.full((1, 1, 8, 8), 255.0))
    with pytest.raises(ValueError, match="convert them to bytes"):
        student.predict(torch.full((1, 1, 8, 8), 255))
