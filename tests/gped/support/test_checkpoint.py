"""Checkpoints: damaged ones are noticed, others' are refused, and writing them takes little."""

import dataclasses
import errno
import logging
import os
import resource
import signal
import time
from pathlib import Path

import pytest
import torch

import gped
from tests.helpers import TINY_DENSE, damage


@pytest.mark.parametrize("how", ["truncated", "altered", "empty", "missing"])
@pytest.mark.parametrize("file", ["manifest.json", "0.safetensors", "1.safetensors"])
def test_a_damaged_checkpoint_is_noticed_and_the_one_before_it_used(file, how, tmp_path, make_chain, caplog):
    class Saves(gped.Checkpoint):
        def tick(self, step: int) -> None:
            if step in (20, 40):
                self.save(step)
            if step == 45:
                raise KeyboardInterrupt

    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)
    with Saves(tmp_path, "damage") as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.distill(make_chain(), [spec], checkpoint=checkpoint)
    damage(checkpoint.folder / "step-000000000040" / file, how)
    with caplog.at_level(logging.INFO, logger="gped"), gped.Checkpoint(tmp_path, "damage") as checkpoint:
        (student,) = gped.distill(make_chain(), [spec], checkpoint=checkpoint)
    assert "step-000000000040 cannot be used" in caplog.text and "resumed from step 20" in caplog.text
    student.save(tmp_path / "resumed")
    gped.distill(make_chain(), [spec])[0].save(tmp_path / "undisturbed")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "undisturbed").read_bytes()


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
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)
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


def test_a_checkpoint_that_cannot_be_written_does_not_end_the_run(tmp_path, make_chain, caplog):
    """A limit on file sizes refuses the checkpoint's files, as a full disk would; readings and students are smaller."""
    references = {"test": gped.Reference(torch.rand(3000, 1, 8, 8), 10)}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)
    with gped.Checkpoint(tmp_path, "full", every=0.0, share=1e9) as checkpoint:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limit[1]))
        try:
            (student,) = gped.distill(make_chain(references=references), [spec], checkpoint=checkpoint)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert "could not be written" in caplog.text and "File too large" in caplog.text
    assert student.updates == 25
    assert not list(checkpoint.folder.glob("writing"))


def test_a_signal_after_the_last_step_ends_the_process_at_once(tmp_path, make_chain):
    with pytest.raises(SystemExit) as stopped, gped.Checkpoint(tmp_path, "signal") as checkpoint:
        gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)
        pytest.fail("the signal had no effect")
    assert stopped.value.code == 128 + signal.SIGTERM


def test_saving_takes_at_most_its_share_of_a_run(tmp_path, make_chain, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("gped.support.checkpoint.time.monotonic", lambda: clock[0])
    saves = []

    class Costly(gped.Checkpoint):
        def save(self, step: int) -> bool:
            saves.append(step)
            self._cost, clock[0] = 3.0, clock[0] + 3
            self._saved_at = clock[0]
            return True

    checkpoint = Costly(tmp_path, "slow", every=1.0, share=0.01)
    for step in range(10_000):
        clock[0] += 0.5
        checkpoint.tick(step)
    assert saves[0] == 1  # after one second
    assert 0.005 < 3 * len(saves) / clock[0] < 0.011


class Slow(gped.Checkpoint):
    """By the clock, never due; ends after a step, before it can be saved, as if killed."""

    def __init__(self, folder: Path, last: int) -> None:
        super().__init__(folder, "slow", every=1e9)
        self.last = last

    def tick(self, step: int) -> None:
        if step == self.last:
            raise KeyboardInterrupt
        super().tick(step)

    @property
    def newest(self) -> int | None:
        return max((int(path.name.removeprefix("step-")) for path in self.folder.glob("step-*")), default=None)


@pytest.mark.parametrize("last", [12, 13, 24, 25, 36, 49, 60])
def test_a_kill_costs_at_most_a_fifth_of_the_steps_however_slow_the_disk(last, tmp_path, make_chain, caplog):
    with Slow(tmp_path, last) as checkpoint, pytest.raises(KeyboardInterrupt):
        gped.record(make_chain(), tmp_path / "readings", checkpoint=checkpoint)
    saved = checkpoint.newest
    assert last - (saved or 0) <= 60 / 5
    with caplog.at_level(logging.INFO, logger="gped"), gped.Checkpoint(tmp_path, "slow") as again:
        gped.record(make_chain(), tmp_path / "readings", checkpoint=again)
    assert (f"resumed from step {saved}" in caplog.text) == (last > 12)


@pytest.mark.parametrize("thinning", [2, 6])
def test_the_steps_of_a_recording_are_those_after_its_burn_in(thinning, tmp_path, make_chain):
    """50 of 60: a fifth of them is 10 steps, and a student that listens at every sixth is saved every time."""
    recording = gped.record(make_chain(thinning=thinning), tmp_path / "readings")
    spec = gped.joint(TINY_DENSE, classes=3, steps=60, thinning=thinning)
    for last in recording.info.due[1::3]:
        with Slow(tmp_path / str(last), last) as checkpoint, pytest.raises(KeyboardInterrupt):
            gped.distill(recording, [spec], checkpoint=checkpoint)
        assert last - (checkpoint.newest or 10) <= 50 / 5


def test_saving_that_fails_is_not_tried_again_at_every_step(tmp_path, make_chain, monkeypatch, caplog):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gped.support.checkpoint._write", refuse)
    with gped.Checkpoint(tmp_path, "full", every=1e9) as checkpoint:
        gped.distill(make_chain(), [gped.joint(TINY_DENSE, classes=3, steps=60, thinning=2)], checkpoint=checkpoint)
    assert 4 <= caplog.text.count("could not be written") <= 5 and "No space left on device" in caplog.text


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
