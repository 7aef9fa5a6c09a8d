"""The command line: what it writes, and what it says of what is not there."""

import csv
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gped
from tests.helpers import ROOT, TINY_DENSE, random_images

pytestmark = pytest.mark.slow
WITH_GPED = os.environ | {"PYTHONPATH": str(ROOT)}


def gped_command(*arguments: object, prefix: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*prefix, sys.executable, "-m", "gped.command", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_version_is_told():
    result = gped_command("--version")
    assert (result.returncode, result.stdout) == (0, f"gped {gped.__version__}\n")


def test_predict_writes_a_row_for_each_image_with_what_the_student_says(student, tmp_path):
    images = random_images(student.architecture, 6)
    (tmp_path / "images").mkdir()
    for number, image in enumerate(images):
        pixels = image.permute(1, 2, 0).squeeze(2).numpy()
        Image.fromarray(pixels).save(tmp_path / f"images/{number}.png")
    student.save(tmp_path / "student.safetensors")
    result = gped_command("predict", tmp_path / "student.safetensors", tmp_path / "images")
    assert result.returncode == 0, result.stderr
    rows = list(csv.DictReader(result.stdout.splitlines()))
    assert [row["input"] for row in rows] == [str(tmp_path / f"images/{number}.png") for number in range(6)]
    said = student.predict(images)
    for kind in ("total", "data", "knowledge"):
        if getattr(said, kind) is None:
            assert kind not in rows[0]
        else:
            np.testing.assert_allclose([float(row[kind]) for row in rows], getattr(said, kind), rtol=1e-4, atol=1e-6)
    if said.probabilities is not None:
        assert [int(row["class"]) for row in rows] == list(said.probabilities.argmax(1))
        np.testing.assert_allclose([float(row["p2"]) for row in rows], said.probabilities[:, 2], rtol=1e-4, atol=1e-6)
    if "confidence" in said.expectations:
        np.testing.assert_allclose(
            [float(row["confidence"]) for row in rows], said.expectations["confidence"], rtol=1e-4
        )
        np.testing.assert_allclose(
            [float(row["variance2"]) for row in rows], said.expectations["variance"][:, 2], rtol=1e-4, atol=1e-6
        )


@pytest.fixture
def saved(make_chain, tmp_path):
    (student,) = gped.distill(make_chain(TINY_DENSE), [gped.joint(TINY_DENSE, 3, steps=60, thinning=6)])
    student.save(tmp_path / "student.safetensors")
    return tmp_path


def test_a_misspelt_student_or_folder_gets_a_sentence_with_a_suggestion(saved):
    (saved / "pictures").mkdir()
    wrong = gped_command("predict", saved / "studnt.safetensors", saved / "pictures")
    assert wrong.returncode == 1 and "Traceback" not in wrong.stderr
    assert f"Did you mean {saved}/student.safetensors?" in wrong.stderr
    wrong = gped_command("predict", saved / "student.safetensors", saved / "picture")
    assert wrong.returncode == 1 and f"Did you mean {saved}/pictures?" in wrong.stderr
    wrong = gped_command("predict", saved / "student.safetensors", saved / "pictures")
    assert wrong.returncode == 1 and "pictures has no images" in wrong.stderr
    (saved / "pictures/a.png").write_bytes(b"no image")
    wrong = gped_command("predict", saved / "student.safetensors", saved / "pictures")
    assert wrong.returncode == 1 and "a.png cannot be decoded as an image" in wrong.stderr and not wrong.stdout
    wrong = gped_command("export", saved / "pictures/a.png", saved / "out.onnx")
    assert wrong.returncode == 1 and "not a student file" in wrong.stderr and not (saved / "out.onnx").exists()


def test_a_prediction_goes_to_a_file_as_a_whole_or_not_at_all(saved):
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(saved / "one.png")
    (saved / "said.csv").write_text("older")
    wrong = gped_command("predict", saved / "student.safetensors", saved / "two.png", "--output", saved / "said.csv")
    assert wrong.returncode == 1 and "there are no images at" in wrong.stderr
    assert (saved / "said.csv").read_text() == "older"
    result = gped_command("predict", saved / "student.safetensors", saved / "one.png", "--output", saved / "said.csv")
    assert result.returncode == 0 and (saved / "said.csv").read_text().startswith("input,class,total,data,knowledge")
    assert not list(saved.glob("*.part"))


def picture(path: Path) -> Path:
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(path)
    return path


def test_a_bad_image_is_reported_and_skipped_and_the_exit_code_says_so(saved):
    good = [picture(saved / f"pictures/{number}.png") for number in (1, 3)]
    (saved / "pictures/2.png").write_bytes(b"no image")
    for paths in ([saved / "pictures"], [good[0], saved / "pictures/2.png", good[1]]):
        result = gped_command("predict", saved / "student.safetensors", *paths)
        assert result.returncode == 3
        assert [row["input"] for row in csv.DictReader(result.stdout.splitlines())] == list(map(str, good))
        assert "2.png cannot be decoded as an image" in result.stderr and "1 of 3 images are left out" in result.stderr


def test_a_name_that_is_no_text_is_written_as_it_is(saved):
    odd = saved / os.fsdecode(b"pictures/\xff.png")
    picture(saved / "pictures/a.png").rename(odd)
    result = gped_command("predict", saved / "student.safetensors", odd, "--output", saved / "said.csv")
    assert result.returncode == 0, result.stderr
    assert os.fsencode(odd) in (saved / "said.csv").read_bytes()


def test_names_of_classes_are_in_the_rows(make_chain, tmp_path):
    spec = gped.joint(TINY_DENSE, 3, steps=60, thinning=6, class_names=("cat", "dog", "eel"))
    gped.distill(make_chain(TINY_DENSE), [spec])[0].save(tmp_path / "student.safetensors")
    result = gped_command("predict", tmp_path / "student.safetensors", picture(tmp_path / "pictures/a.png"))
    (row,) = csv.DictReader(result.stdout.splitlines())
    assert row["class"] in ("cat", "dog", "eel") and {"p(cat)", "p(dog)", "p(eel)"} <= row.keys()


@pytest.fixture
def without_privileges() -> tuple[str, ...]:
    """What to put before a command so that permissions hold for it, also for root."""
    if os.geteuid():
        return ()
    if not shutil.which("setpriv"):
        pytest.skip("nothing is forbidden to root, and setpriv is not there to change that")
    rights = "-dac_override,-dac_read_search"
    return ("setpriv", "--bounding-set", rights, "--inh-caps", rights)


def test_what_may_not_be_read_is_named(saved, without_privileges):
    good, secret = picture(saved / "pictures/a.png"), picture(saved / "pictures/b.png")
    locked = picture(saved / "pictures/locked/c.png").parent
    student, copy = saved / "student.safetensors", saved / "copy.safetensors"
    shutil.copy(student, copy)
    for path in (secret, locked, copy):
        path.chmod(0)
    try:
        whole = gped_command("predict", student, saved / "pictures", prefix=without_privileges)
        files = gped_command("predict", student, good, secret, prefix=without_privileges)
        unreadable = gped_command("predict", copy, good, prefix=without_privileges)
        inside = gped_command("predict", student, locked / "c.png", prefix=without_privileges)
    finally:
        locked.chmod(0o755)
    assert whole.returncode == 1 and "pictures/locked cannot be read: Permission denied" in whole.stderr
    assert files.returncode == 3 and "b.png cannot be read: Permission denied" in files.stderr
    assert unreadable.returncode == 1 and f"cannot use {copy}: Permission denied" in unreadable.stderr
    assert inside.returncode == 1 and f"cannot use {locked}/c.png: Permission denied" in inside.stderr
    assert not any("Traceback" in said.stderr for said in (whole, files, unreadable, inside))


def test_swapped_arguments_and_files_of_another_kind_get_good_advice(saved):
    student, image = saved / "student.safetensors", picture(saved / "my pictures/a.png")
    (saved / "mine.py").write_text("import gped\n")
    for first in (image, image.parent, saved / "mine.py"):
        wrong = gped_command("predict", first, student)
        assert wrong.returncode == 1 and "the student comes first" in wrong.stderr
        assert f"Did you mean {shlex.join(['gped', 'predict', str(student), str(first)])}?" in wrong.stderr
    for first in (image, image.parent, saved / "mine.py"):
        wrong = gped_command("predict", first, image)
        assert wrong.returncode == 1 and "not a student file" in wrong.stderr
        assert "elete" not in wrong.stderr and "Traceback" not in wrong.stderr
    before = student.read_bytes()
    wrong = gped_command("export", image, student)
    assert wrong.returncode == 1 and "The student comes first" in wrong.stderr and student.read_bytes() == before


def test_no_input_is_replaced_by_the_output(saved):
    student, image = saved / "student.safetensors", picture(saved / "pictures/a.png")
    for output in (student, image):
        before = output.read_bytes()
        wrong = gped_command("predict", student, image.parent, "--output", output)
        assert wrong.returncode == 1 and f"the output {output} is also an input" in wrong.stderr
        assert output.read_bytes() == before


@pytest.mark.parametrize("command", ["predict", "status"])
def test_a_reader_that_has_had_enough_is_no_error(command, saved):
    (saved / "run").mkdir()
    (saved / "run/jobs.json").write_text("[]")
    picture(saved / "pictures/a.png")
    words = {"predict": ["student.safetensors", "pictures"], "status": ["run"]}[command]
    line = shlex.join([sys.executable, "-m", "gped.command", command, *words])
    # The other end of the pipe is closed long before anything is written.
    piped = f"set -o pipefail; {line} | true"
    result = subprocess.run(["bash", "-c", piped], cwd=saved, env=WITH_GPED, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
