"""Exact resume: the whole state of a run, saved now and then, so that a killed run goes on as if nothing had happened.

    with Checkpoint("checkpoints/mine", key="all that decides the result") as checkpoint:
        (student,) = gped.distill(chain, [spec], checkpoint=checkpoint)
        student.save("student.safetensors")
        checkpoint.remove()

A checkpoint is a folder, named by its step, with a safetensors file for each part of the run and a manifest that has
their hashes and the plain values. It is written under another name, flushed to disk and then renamed; the one before it
stays as well, in case the newest turns out to be damaged.
"""

import copy
import hashlib
import json
import logging
import math
import os
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable

import safetensors.torch
from torch import Tensor

from gped.support.lock import Lock

State = dict[str, Any]
"""Tensors and plain values, in dictionaries and lists of any depth."""

LOST = 0.2
"""The share of a run's steps that a kill may cost at most, however long it takes to save them."""
BYTES_A_SECOND = 2e8  # of a usual disk, until the first checkpoint has shown how long it takes
log = logging.getLogger("gped")


@runtime_checkable
class Resumable(Protocol):
    """What can be saved and go on later, exactly."""

    def state(self) -> State:
        """All that decides what comes next."""

    def restore(self, state: State) -> None:
        """Become what gave this state; a ValueError if that cannot be."""


class StoppedError(SystemExit):
    """The run was told to stop, and its state is saved."""


class Checkpoint:
    """The saved states of one run, and the lock that lets only one process work at it.

    As a context manager it holds the lock and listens for SIGTERM and SIGINT: told to stop, it saves the state at the
    next step and raises `StoppedError`. A second signal has its usual effect.

    Args:
        folder: Where to keep them; it may be shared by runs of other keys.
        key: All that decides what the run computes. Another key finds none of this one's checkpoints.
        every: Seconds between two checkpoints; more if writing them would take more than its share of the run.
        share: Of the run that may go into writing, besides the few checkpoints that every run gets: see `LOST`.
    """

    def __init__(self, folder: str | os.PathLike[str], key: str, every: float = 1.0, share: float = 0.01) -> None:
        self.folder = Path(folder) / hashlib.sha256(key.encode()).hexdigest()[:16]
        self.every = every
        self.share = share
        self._parts: dict[str, Resumable] = {}
        self._told_to_stop: int | None = None
        self._lock = Lock(self.folder)
        self._handlers: dict[int, Any] = {}
        self._saved_at = time.monotonic()
        self._cost = 0.0
        self._apart = math.inf
        self._reached = self._tried = 0

    # One run

    def resume(self, parts: Mapping[str, Resumable], steps: int | None = None) -> int:
        """Restore the parts from the newest good checkpoint; its step, or 0 if there is none and they are as before.

        Args:
            parts: What is to be saved.
            steps: How many the whole run makes, if that is known.
        """
        self._apart = math.inf if steps is None else LOST * steps
        self._reached = self._tried = self._restored(parts)
        return self._reached

    def _restored(self, parts: Mapping[str, Resumable]) -> int:
        self.folder.mkdir(parents=True, exist_ok=True)
        self._parts, self._saved_at = dict(parts), time.monotonic()
        before = {name: part.state() for name, part in parts.items()}
        self._cost = sum(map(_bytes, before.values())) / BYTES_A_SECOND
        paths = self._newest_first()
        if paths:
            before = copy.deepcopy(before)  # because a part may refuse its state after others have taken theirs
        for path in paths:
            try:
                step, states = _read(path)
                for name, part in parts.items():
                    part.restore(states[name])
            except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
                log.warning("the checkpoint %s cannot be used (%s): going back to the one before it", path, error)
                _set_aside(path)
            else:
                log.info("resumed from step %d", step)
                return step
        if paths:
            for name, part in parts.items():
                part.restore(before[name])
        return 0

    def tick(self, step: int) -> None:
        """Call after every step: saves if it is time to, or if the run was told to stop."""
        if self._told_to_stop is not None:
            saved = f"step {step} is saved" if self.save(step) else f"step {step} could not be saved"
            raise StoppedError(
                f"told to stop by {signal.Signals(self._told_to_stop).name}: {saved}. The same command goes on from "
                "the last that is."
            )
        ahead, self._reached = step + step - self._reached, step  # where the next call will be, as it seems
        if self._is_due() or ahead - self._tried > self._apart:
            self._tried = step
            self.save(step)

    def save(self, step: int) -> bool:
        """Write a checkpoint. One that cannot be written, on a full disk say, is reported and does not end the run."""
        start = time.monotonic()
        part = self.folder / "writing"
        shutil.rmtree(part, ignore_errors=True)
        states = {name: one.state() for name, one in self._parts.items()}
        try:
            _write(part, step, states)
            path = self.folder / f"step-{step:012d}"
            shutil.rmtree(path, ignore_errors=True)  # the same step, restored and saved again
            part.rename(path)
            _flush(self.folder)
            saved = True
        except OSError as error:
            log.warning("the checkpoint of step %d could not be written (%s): going on without it", step, error)
            saved = False
        shutil.rmtree(part, ignore_errors=True)
        for old in self._newest_first()[2:]:
            shutil.rmtree(old, ignore_errors=True)
        self._saved_at = time.monotonic()
        self._cost = self._saved_at - start
        return saved

    def finish(self, step: int) -> None:
        """The last step is made. From here on a signal has its effect at once, because nothing is left to save."""
        if self._is_due():
            self.save(step)
        self._parts = {}

    def _is_due(self) -> bool:
        return time.monotonic() - self._saved_at >= max(self.every, self._cost / self.share)

    def remove(self) -> None:
        """Forget everything, because the results are written."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _newest_first(self) -> list[Path]:
        return sorted(self.folder.glob("step-*"), reverse=True)

    # One process

    @property
    def waited(self) -> bool:
        """Whether another process was at the same run, and may have finished it."""
        return self._lock.waited

    def __enter__(self) -> "Checkpoint":
        self._lock.acquire()
        try:
            self._handlers = {number: signal.signal(number, self._stop) for number in (signal.SIGTERM, signal.SIGINT)}
        except ValueError:  # not the main thread: signals are someone else's business
            self._handlers = {}
        return self

    def __exit__(self, *exception: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        self._lock.release()

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if not self._parts or self._told_to_stop is not None:
            raise StoppedError(128 + number)
        self._told_to_stop = number


def _set_aside(path: Path) -> None:
    """Give a checkpoint that is of no use another name, so that it does not count among the newest."""
    aside = path.with_name(f"unusable-{path.name}")
    shutil.rmtree(aside, ignore_errors=True)
    path.rename(aside)


def _write(folder: Path, step: int, states: dict[str, State]) -> None:
    folder.mkdir()
    manifest: dict[str, Any] = {"step": step, "parts": {}}
    for number, (name, state) in enumerate(states.items()):
        tensors: dict[str, Tensor] = {}
        plain = _without_tensors(state, tensors)
        content = safetensors.torch.save(tensors)
        _write_bytes(folder / f"{number}.safetensors", content)
        manifest["parts"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "plain": plain}
    text = json.dumps(manifest)
    _write_bytes(folder / "manifest.json", f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}".encode())
    _flush(folder)


def _read(folder: Path) -> tuple[int, dict[str, State]]:
    digest, _, text = (folder / "manifest.json").read_text().partition("\n")
    if hashlib.sha256(text.encode()).hexdigest() != digest:
        raise ValueError("its manifest does not have the hash that it should")
    manifest, states = json.loads(text), {}
    for number, (name, part) in enumerate(manifest["parts"].items()):
        content = (folder / f"{number}.safetensors").read_bytes()
        if hashlib.sha256(content).hexdigest() != part["sha256"]:
            raise ValueError(f"its part {name} does not have the hash that it should")
        states[name] = _with_tensors(part["plain"], iter(sorted(safetensors.torch.load(content).items())))
    return manifest["step"], states


def _write_bytes(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _flush(folder: Path) -> None:
    """Let the names in a folder be safe on the disk."""
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _bytes(value: Any) -> int:
    """Size of all tensors in a state."""
    if isinstance(value, Tensor):
        return value.nbytes
    if isinstance(value, Mapping):
        value = list(value.values())
    return sum(map(_bytes, value)) if isinstance(value, list | tuple) else 0


TENSOR = "a tensor"  # what stands in the place of one among the plain values


def _without_tensors(value: Any, tensors: dict[str, Tensor]) -> Any:
    if isinstance(value, Tensor):
        tensors[f"{len(tensors):06d}"] = value.detach().cpu().contiguous()
        return TENSOR
    if isinstance(value, Mapping):
        return {key: _without_tensors(one, tensors) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_tensors(one, tensors) for one in value]
    return value


def _with_tensors(value: Any, tensors: Iterator[tuple[str, Tensor]]) -> Any:
    if value == TENSOR:
        return next(tensors)[1]
    if isinstance(value, dict):
        return {key: _with_tensors(one, tensors) for key, one in value.items()}
    if isinstance(value, list):
        return [_with_tensors(one, tensors) for one in value]
    return value
