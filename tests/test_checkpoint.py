"""A run that was killed and resumed gives the same bytes as one that was not."""

import dataclasses
import logging
import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import killable
import pytest
import torch

import gped

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["killable"])


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


# Kills


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
    assert len(list((folder / "checkpoints").glob("*/step-*"))) == 1
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
    specs = killable.specifications(killable.TINY_DENSE)
    recording = gped.Recording(folder.parent / "readings.bin", killable.make_chain(killable.TINY_DENSE).inputs)

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
    assert pruned.architecture.hidden < killable.TINY_DENSE.hidden
    for stage, student in {"": pruned, **pruned.stages}.items():
        student.save(folder / "student")
        assert (folder / "student").read_bytes() == undisturbed["recorded"][f"student2{stage}.safetensors"]


# Damage


def damage(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "truncated":
        content = content[: len(content) // 2]
    elif how == "altered":
        content[len(content) // 2] ^= 1
    elif how == "empty":
        content.clear()
    path.unlink()
    if how != "missing":
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["truncated", "altered", "empty", "missing"])
@pytest.mark.parametrize("file", ["manifest.json", "0.safetensors", "1.safetensors"])
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_it_used(file, how, tmp_path, make_chain, caplog):
    class Saves(gped.Checkpoint):
        def tick(self, step: int) -> None:
            if step in (20, 40):
                self.save(step)
            if step == 45:
                raise KeyboardInterrupt

    spec = gped.joint(killable.TINY_DENSE, classes=3, steps=60, thinning=2)
    with Saves(tmp_path, "damage") as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.distill(make_chain(), [spec], checkpoint=checkpoint)
    damage(checkpoint.folder / "step-000000000040" / file, how)
    with caplog.at_level(logging.INFO, logger="gped"), gped.Checkpoint(tmp_path, "damage") as checkpoint:
        (student,) = gped.distill(make_chain(), [spec], checkpoint=checkpoint)
    assert "step-000000000040 cannot be used" in caplog.text and "resumed from step 20" in caplog.text
    student.save(tmp_path / "resumed")
    gped.distill(make_chain(), [spec])[0].save(tmp_path / "undisturbed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


@pytest.mark.parametrize("how", ["truncated", "altered", "empty", "missing"])
def test_readings_that_were_damaged_meanwhile_are_noticed_and_recorded_again(how, folder, undisturbed):
    start("record", folder, target=killable.told_to_stop).join(60)
    (readings,) = (folder / "checkpoints").glob("*/readings")
    damage(readings, how)
    assert finished("record", folder) == undisturbed["record"]


class StopsAt(gped.Checkpoint):
    """Saves every step, and stops at one."""

    def __init__(self, folder: Path, key: str, last: int) -> None:
        super().__init__(folder, key)
        self.last = last

    def tick(self, step: int) -> None:
        self.save(step)
        if step == self.last:
            raise KeyboardInterrupt


def test_checkpoints_that_cannot_be_used_do_not_stand_in_the_way_of_new_ones(tmp_path, make_chain, caplog):
    with StopsAt(tmp_path, "run", 40) as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
    (checkpoint.folder / "readings").unlink()
    with StopsAt(tmp_path, "run", 30) as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
    with caplog.at_level(logging.INFO, logger="gped"), gped.Checkpoint(tmp_path, "run") as checkpoint:
        gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
    assert "resumed from step 30" in caplog.text
    gped.record(make_chain(), tmp_path / "undisturbed")
    assert (tmp_path / "readings").read_bytes() == (tmp_path / "undisturbed").read_bytes()


@pytest.mark.parametrize("other", ["references", "noise", "student"])
def test_the_state_of_another_run_under_the_same_key_is_refused_as_a_whole(other, tmp_path, make_chain):
    spec = gped.joint(killable.TINY_DENSE, classes=3, steps=60, thinning=2)
    with StopsAt(tmp_path, "run", 40) as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.distill(make_chain(), [spec], checkpoint=checkpoint)
    spec = dataclasses.replace(spec, dropout=0.5) if other == "student" else spec

    def other_chain() -> gped.Chain:
        references = {"test": gped.Reference(torch.rand(5, 1, 8, 8), 10)} if other == "references" else {}
        return make_chain(references=references, noise="native" if other == "noise" else "torch")

    with gped.Checkpoint(tmp_path, "run") as checkpoint:
        (student,) = gped.distill(other_chain(), [spec], checkpoint=checkpoint)
    student.save(tmp_path / "resumed")
    gped.distill(other_chain(), [spec])[0].save(tmp_path / "undisturbed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


def test_finished_readings_stay_whole_when_the_run_is_started_again_and_interrupted(tmp_path, make_chain):
    checkpoint = gped.Checkpoint(tmp_path, "run", every=0.0, share=1e9)
    gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
    finished = (tmp_path / "readings").read_bytes()
    for manifest in checkpoint.folder.glob("step-*/manifest.json"):
        damage(manifest, "altered")
    with StopsAt(tmp_path, "run", 30) as again, pytest.raises(KeyboardInterrupt):
        gped.record(make_chain(), tmp_path / "readings", checkpoint=again)
    assert (tmp_path / "readings").read_bytes() == finished


def test_neither_another_key_nor_a_finished_run_is_resumed(tmp_path, make_chain, caplog):
    def steps_from(key: str) -> str:
        caplog.clear()
        with caplog.at_level(logging.INFO, logger="gped"), gped.Checkpoint(tmp_path, key, 0.0, 1.0) as checkpoint:
            gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
        return caplog.text

    assert "resumed" not in steps_from("one")
    assert "resumed" not in steps_from("another")
    assert "resumed from step" in steps_from("one")  # nothing had removed it
    with gped.Checkpoint(tmp_path, "one") as checkpoint:
        checkpoint.remove()
    assert "resumed" not in steps_from("one")


# The machine


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(tmp_path, make_chain, caplog):
    """A limit on file sizes refuses the checkpoint's files, as a full disk would; readings and students are smaller."""
    references = {"test": gped.Reference(torch.rand(3000, 1, 8, 8), 10)}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    spec = gped.joint(killable.TINY_DENSE, classes=3, steps=60, thinning=2)
    with gped.Checkpoint(tmp_path, "full", every=0.0, share=1e9) as checkpoint:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
        try:
            (student,) = gped.distill(make_chain(references=references), [spec], checkpoint=checkpoint)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert "could not be written" in caplog.text and "File too large" in caplog.text
    assert student.updates == 25
    assert not list(checkpoint.folder.glob("writing"))


def test_a_second_process_waits_for_the_first(tmp_path):
    code = (
        "import sys, time, gped\n"
        f"with gped.Checkpoint({str(tmp_path)!r}, 'shared') as checkpoint:\n"
        "    print('in', checkpoint.waited, flush=True)\n"
        "    sys.stdin.readline()\n"
    )
    with gped.Checkpoint(tmp_path, "shared"):
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        message = process.stderr.readline()
        assert f"process {os.getpid()} on" in message and "waiting for it to end" in message
    assert process.stdout.readline() == "in True\n"
    process.communicate("\n")


def test_a_signal_after_the_last_step_ends_the_process_at_once(tmp_path, make_chain):
    with pytest.raises(SystemExit) as stopped, gped.Checkpoint(tmp_path, "signal") as checkpoint:
        gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        pytest.fail("the signal had no effect")
    assert stopped.value.code == 128 + signal.SIGTERM


def test_saving_takes_at_most_its_share_of_a_run(tmp_path, make_chain, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(gped.checkpoint.time, "monotonic", lambda: clock[0])
    saves = []

    class Slow(gped.Checkpoint):
        def save(self, step: int) -> bool:
            saves.append(step)
            self._cost, clock[0] = 3.0, clock[0] + 3
            self._saved_at = clock[0]
            return True

    checkpoint = Slow(tmp_path, "slow", every=1.0, share=0.01)
    for step in range(10_000):
        clock[0] += 0.5
        checkpoint.tick(step)
    assert saves[0] == 1  # after one second
    assert 0.005 < 3 * len(saves) / clock[0] < 0.011


def test_a_first_checkpoint_that_would_take_long_is_not_written_early(tmp_path, make_chain):
    """How long it takes is guessed from its size, before one has been written."""

    class Large:
        def state(self):
            return {"tensors": [torch.zeros(10_000_000), {"more": torch.zeros(10_000_000)}]}  # 80 MB

        def restore(self, state):
            pass

    checkpoint = gped.Checkpoint(tmp_path, "large", every=1.0, share=0.01)
    checkpoint.resume({"large": Large()})
    assert checkpoint._cost == pytest.approx(80e6 / 2e8)
    checkpoint._saved_at -= 30
    checkpoint.tick(1)
    assert not list(checkpoint.folder.glob("step-*"))
    checkpoint._saved_at -= 15
    checkpoint.tick(2)
    assert list(checkpoint.folder.glob("step-*"))
