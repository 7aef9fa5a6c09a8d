"""From a folder to a student: it learns, goes on after a kill with the same bytes, and refuses what would surprise."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gped
from gped.training import plan, run
from gped.training.run import distill_folder
from tests.gped.training.conftest import DIGITS, NAMES
from tests.helpers import ENVIRONMENT, ROOT, files_in

pytestmark = pytest.mark.slow

SHORT = {"steps": 240}


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    """All that is told."""
    caplog.set_level("INFO", logger="gped")
    return caplog


@pytest.fixture(scope="module")
def undisturbed(pictures: Path, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The student of a run that nothing happens to."""
    output = tmp_path_factory.mktemp("undisturbed") / "student.safetensors"
    distill_folder(pictures, output, **SHORT)
    return output.read_bytes()


def test_the_student_and_the_ensemble_know_digits_that_were_held_out(pictures, tmp_path, told):
    assert distill_folder(pictures, tmp_path / "student.safetensors", **SHORT) == []
    rows = {line.split()[0]: line.split() for line in told.messages if "%" in line}
    nll = {who: float(rows[who][1]) for who in ("ensemble", "student", "constant")}
    assert nll["constant"] == pytest.approx(np.log(3), abs=0.01)
    assert max(nll["ensemble"], nll["student"]) < 0.35
    assert float(rows["student"][3]) < float(rows["constant"][3])
    assert files_in(tmp_path) == ["student.safetensors"]

    student = gped.load_student(tmp_path / "student.safetensors")
    assert student.class_names == NAMES and student.input_shape == (1, 8, 8) and student.from_bytes
    unseen = np.flatnonzero(DIGITS.target < 3)[-200:]
    said = student.predict((DIGITS.images[unseen] * 255 / 16).astype(np.uint8))
    assert (said.probabilities.argmax(1) == DIGITS.target[unseen]).mean() > 0.9
    assert (said.knowledge >= 0).all()


def test_the_bytes_depend_on_images_settings_and_seed_alone(digits, undisturbed, tmp_path):
    folder = digits("elsewhere")
    for number, options in enumerate([SHORT, SHORT | {"seed": 1}, {"steps": 260}]):
        distill_folder(folder, tmp_path / f"{number}", **options)
    same, *others = ((tmp_path / f"{number}").read_bytes() for number in range(3))
    assert same == undisturbed and undisturbed not in others and others[0] != others[1]


class Interrupted(gped.Checkpoint):
    """Is saved at one step, and interrupted some steps later."""

    at = 100

    def tick(self, step: int) -> None:
        if step == self.at:
            self.save(step)
        if step == self.at + 30:
            raise KeyboardInterrupt


@pytest.mark.parametrize("at", [20, 130])  # before and after the burn-in
def test_an_interrupted_run_goes_on_with_the_same_bytes_and_leaves_nothing_behind(
    at, pictures, undisturbed, tmp_path, told, monkeypatch
):
    output = tmp_path / "student.safetensors"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Interrupted, "at", at)
        patch.setattr(run, "Checkpoint", Interrupted)
        distill_folder(pictures, output, **SHORT)
    assert not output.exists() and (tmp_path / "student.safetensors.checkpoint").is_dir()
    distill_folder(pictures, output, **SHORT)
    assert f"resumed from step {at}" in told.messages
    assert output.read_bytes() == undisturbed
    assert files_in(tmp_path) == ["student.safetensors"] and len(list(tmp_path.iterdir())) == 1


def test_a_run_of_other_images_or_settings_does_not_go_on_from_it(pictures, digits, tmp_path, told, monkeypatch):
    output = tmp_path / "student.safetensors"
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(run, "Checkpoint", Interrupted)
        distill_folder(pictures, output, **SHORT)
    for folder, options in ((digits(each=39), SHORT), (pictures, SHORT | {"seed": 1}), (pictures, {"steps": 260})):
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(run, "Checkpoint", Interrupted)
            distill_folder(folder, output, **options)
    assert not [line for line in told.messages if "resumed" in line]


# A chain that diverges


def test_a_chain_that_diverges_is_begun_again_with_a_tenth_of_the_step_size(pictures, tmp_path, told, monkeypatch):
    monkeypatch.setattr(plan, "STEP", 3.0)
    distill_folder(pictures, tmp_path / "student.safetensors", **SHORT)
    found = [float(size) for size in re.findall(r"from the beginning: a step size of (\S+)", told.text)]
    assert found == pytest.approx([3.0 / 96 / 10], rel=0.01)
    assert told.text.count("the chain diverged at step") == 1
    student = next(line.split() for line in told.messages if line.startswith("student "))
    assert float(student[1]) < 0.5
    assert files_in(tmp_path) == ["student.safetensors"]


def test_a_run_that_is_interrupted_after_it_diverged_gives_the_same_bytes(pictures, tmp_path, told, monkeypatch):
    monkeypatch.setattr(plan, "STEP", 3.0)
    distill_folder(pictures, tmp_path / "undisturbed", **SHORT)
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(run, "Checkpoint", Interrupted)
        distill_folder(pictures, tmp_path / "interrupted", **SHORT)
    distill_folder(pictures, tmp_path / "interrupted", **SHORT)
    assert "resumed from step 100" in told.messages
    assert (tmp_path / "interrupted").read_bytes() == (tmp_path / "undisturbed").read_bytes()


def test_a_chain_that_always_diverges_is_given_up_with_a_sentence(pictures, tmp_path, monkeypatch):
    monkeypatch.setattr(plan, "STEP", 1e6)
    with pytest.raises(gped.ChainDivergedError, match="the chain diverged with 3 step sizes, each a tenth"):
        distill_folder(pictures, tmp_path / "student.safetensors", **SHORT)
    assert not (tmp_path / "student.safetensors").exists()


# What would surprise


def test_a_student_that_is_there_is_replaced_only_if_that_is_asked_for(pictures, undisturbed, tmp_path):
    output = tmp_path / "student.safetensors"
    output.write_bytes(b"another student")
    with pytest.raises(ValueError, match=r"student\.safetensors is there already, .* replaced by --force"):
        distill_folder(pictures, output, **SHORT)
    assert output.read_bytes() == b"another student"
    distill_folder(pictures, output, **SHORT, force=True)
    assert output.read_bytes() == undisturbed


def test_an_output_that_cannot_be_written_is_refused_before_any_work(pictures, tmp_path):
    (tmp_path / "models").mkdir()
    with pytest.raises(
        ValueError, match=r"there is no folder .*/model to write the student to\. Did you mean .*models\?"
    ):
        distill_folder(pictures, tmp_path / "model" / "student.safetensors")
    with pytest.raises(ValueError, match=r"models is a folder\. Name the file .*models/student\.safetensors\."):
        distill_folder(pictures, tmp_path / "models")


def test_swapped_arguments_are_noticed(pictures, tmp_path):
    (tmp_path / "student.safetensors").write_bytes(b"a student")
    with pytest.raises(ValueError, match=r"is a file\. First comes the folder of images, then the file of"):
        distill_folder(tmp_path / "student.safetensors", pictures)


# The command


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "gped.command", *map(str, arguments)]


def test_a_command_that_is_killed_goes_on_and_its_student_predicts_and_is_exported(digits, tmp_path):
    folder, output = digits(), tmp_path / "student.safetensors"
    (folder / "one" / "broken.png").write_bytes(b"no image")
    distill = command("distill", folder, output, "--steps", "6000")
    process = subprocess.Popen(distill, cwd=ROOT, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    states = tmp_path / "student.safetensors.checkpoint"
    while process.poll() is None and not list(states.glob("*/step-*")):
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    _, said = process.communicate()
    assert process.returncode == -signal.SIGKILL and not output.exists(), said
    result = subprocess.run(distill, cwd=ROOT, env=ENVIRONMENT, capture_output=True, text=True)
    assert result.returncode == 3 and not result.stdout, result.stderr  # some images were left out
    assert "resumed from step" in result.stderr and "left out: " in result.stderr
    assert re.search(r"^student +0\.\d+ +\d+\.\d%", result.stderr, re.MULTILINE)
    assert not states.exists()

    undisturbed = tmp_path / "undisturbed"
    distill_folder(folder, undisturbed, steps=6000)
    assert undisturbed.read_bytes() == output.read_bytes()

    result = subprocess.run(command("predict", output, folder / "two"), cwd=ROOT, capture_output=True, text=True)
    assert result.stdout.startswith("input,class,total,data,knowledge,p(nought),p(one),p(two)")
    assert result.stdout.count(".png,two,") > 30
    result = subprocess.run(command("export", output, tmp_path / "student.onnx"), cwd=ROOT, env=ENVIRONMENT)
    assert result.returncode == 0 and (tmp_path / "student.onnx").stat().st_size > 10_000


def test_the_command_says_in_a_sentence_what_is_wrong(pictures, tmp_path):
    for arguments, sentence in (
        ((pictures / "one", tmp_path / "a"), "are not labelled"),
        ((pictures, tmp_path / "a", "--size", "huge"), "the size of images is 'huge'"),
        ((pictures, tmp_path / "a", "--steps", "5"), "--steps is 5: it must be at least 100."),
        ((pictures, tmp_path), "is a folder."),
    ):
        result = subprocess.run(command("distill", *arguments), cwd=ROOT, capture_output=True, text=True)
        assert result.returncode == 1 and "Traceback" not in result.stderr
        last = result.stderr.splitlines()[-1]
        assert last.startswith("gped distill: ") and sentence in last
