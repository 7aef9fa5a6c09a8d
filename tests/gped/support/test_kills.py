"""A run that was killed and resumed gives the same bytes as one that was not."""

import multiprocessing
import random
import time
from pathlib import Path

import pytest

import gped
from tests.gped.support import killable
from tests.helpers import TINY_DENSE, damage

pytestmark = pytest.mark.slow

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.gped.support.killable"])


def start(*arguments, target=killable.work, **options):
    process = FORKS.Process(target=target, args=arguments, kwargs=options)
    process.start()
    return process


def finished(what: str, folder: Path) -> dict[str, bytes]:
    """The results of a run that is left alone from here."""
    process = start(what, folder, pace=(1000, 1))
    process.join(120)
    assert process.exitcode == 0
    return results(folder)


def results(folder: Path) -> dict[str, bytes]:
    assert (folder / "done").exists()
    assert not list((folder / "checkpoints").glob("*/*"))
    kinds = ("*.bin", "*.safetensors", "reference")
    return {path.name: path.read_bytes() for kind in kinds for path in folder.glob(kind)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory) -> dict[str, dict[str, bytes]]:
    """What each kind of run gives when nothing happens to it."""
    folder = tmp_path_factory.mktemp("undisturbed")
    found = {}
    for what in ("record", "live", "recorded"):
        (folder / what).mkdir()
        if what == "recorded":
            (folder / "readings.bin").write_bytes(found["record"]["readings.bin"])
        found[what] = finished(what, folder / what)
    assert {name: len(files) for name, files in found.items()} == {"record": 2, "live": 6, "recorded": 5}
    return found


@pytest.fixture
def folder(tmp_path, undisturbed) -> Path:
    (tmp_path / "readings.bin").write_bytes(undisturbed["record"]["readings.bin"])
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def steps_of(what: str) -> int:
    """How many steps a run has: those of the chain, or the recorded readings."""
    last = killable.STEPS + killable.FURTHER
    return (last - killable.BURN_IN) // 2 if what == "recorded" else last


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("what", ["record", "live", "recorded"])
def test_a_run_killed_at_random_moments_gives_the_same_bytes_and_repeats_little(what, seed, folder, undisturbed):
    moments = random.Random(f"{what} {seed}")
    kills = 0
    for _ in range(4):
        process = start(what, folder)
        process.join(moments.uniform(0.1, 0.4))
        if process.is_alive():
            process.kill()
            process.join()
            kills += 1
    assert kills >= 2
    assert finished(what, folder) == undisturbed[what]
    assert steps_of(what) <= (folder / "steps").stat().st_size < 1.2 * steps_of(what)


@pytest.mark.parametrize("what", ["record", "live", "recorded"])
def test_a_run_told_to_stop_saves_its_last_step_and_goes_on_from_there(what, folder, undisturbed):
    process = start(what, folder, target=killable.told_to_stop)
    process.join(60)
    assert process.exitcode == 1
    newest = max(path.name for path in (folder / "checkpoints").glob("*/step-*"))
    assert newest == f"step-{killable.STEPS // 2:012d}"
    assert finished(what, folder) == undisturbed[what]
    assert (folder / "steps").stat().st_size == steps_of(what)  # not one was repeated


def test_a_kill_during_the_writing_of_a_checkpoint_leaves_the_one_before(folder, undisturbed):
    process = start("live", folder)
    while not list((folder / "checkpoints").glob("*/step-*")):
        time.sleep(0.01)
    process.kill()
    process.join()
    before = sorted(path.name for path in (folder / "checkpoints").glob("*/step-*"))
    assert before
    for _ in range(3):
        process = start("live", folder, slow_write=True)
        while not (folder / "writing").exists():
            time.sleep(0.01)
        process.kill()
        process.join()
        (folder / "writing").unlink()
        assert list((folder / "checkpoints").glob("*/writing/*"))
    assert sorted(path.name for path in (folder / "checkpoints").glob("*/step-*")) == before
    assert finished("live", folder) == undisturbed["live"]


def test_a_kill_in_the_middle_of_an_appended_reading_leaves_no_trace(folder, undisturbed):
    start("record", folder, target=killable.told_to_stop).join(60)
    (readings,) = (folder / "checkpoints").glob("*/readings")
    assert readings.stat().st_size
    with readings.open("ab") as file:
        file.write(b"half a reading")
    assert finished("record", folder) == undisturbed["record"]


def test_a_kill_while_a_pruned_student_is_fine_tuned_gives_the_same_bytes(folder, undisturbed):
    specs = killable.specifications(TINY_DENSE)
    recording = gped.Recording(folder.parent / "readings.bin", killable.make_chain(TINY_DENSE).inputs)

    class Killed(Exception):
        pass

    class KilledAt(gped.Checkpoint):
        def tick(self, step: int) -> None:
            super().tick(step)
            if step == killable.STEPS + killable.FURTHER // 2:
                raise Killed

    with KilledAt(folder, "fine-tuning", every=0.0, share=1e9) as checkpoint, pytest.raises(Killed):
        gped.distill(recording, specs, checkpoint=checkpoint)
    with gped.Checkpoint(folder, "fine-tuning") as checkpoint:
        pruned = gped.distill(recording, specs, checkpoint=checkpoint)[2]
    assert pruned.architecture.hidden < TINY_DENSE.hidden
    for stage, student in {"": pruned, **pruned.stages}.items():
        student.save(folder / "student")
        assert (folder / "student").read_bytes() == undisturbed["recorded"][f"student2{stage}.safetensors"]


@pytest.mark.parametrize("how", ["truncated", "altered", "empty", "missing"])
def test_readings_that_were_damaged_meanwhile_are_noticed_and_recorded_again(how, folder, undisturbed):
    start("record", folder, target=killable.told_to_stop).join(60)
    (readings,) = (folder / "checkpoints").glob("*/readings")
    damage(readings, how)
    assert finished("record", folder) == undisturbed["record"]
