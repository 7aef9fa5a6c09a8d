"""Readings in a file: written while the chain runs, and heard later as often as one likes.

The file is a header and then one record of fixed size per reading, so that it can be appended to while it is
read, and mapped into memory whatever its size:

    8 bytes            GPEDREAD
    8 bytes            length of the header, little-endian
    header             JSON: inputs, likelihood, values, size, thinning, burn_in, steps, last_step, digest of D', notes
    4 bytes            CRC-32 of the header, little-endian
    record, repeated   step (int64), indices (int32 × size), what is said of them (float32 × size × values),
                       CRC-32 of the record so far (uint32)
"""

import json
import os
import shutil
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gped.inputs import Inputs
from gped.readings.listening import heard
from gped.readings.reading import LiveReadings, Reading, Readings, ReadingsInfo
from gped.support.checkpoint import Checkpoint, State
from gped.support.files import writing

MAGIC = b"GPEDREAD"
LEFT = "The readings so far are kept"
REMEDY = "Move it away, and run the chain again."


class Recorder:
    """Appends readings to a new file.

    Args:
        path: The file; an existing one is replaced.
        readings: The chain whose readings will come.
        notes: Anything worth keeping with them, such as the chain's configuration.
        resumable: Leave an existing file as it is until `restore` says how much of it is good, or the first reading
            comes.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        readings: Readings,
        notes: dict[str, Any] | None = None,
        resumable: bool = False,
    ) -> None:
        self.path = Path(path)
        self._due = readings.info.due
        self._count = 0
        if readings.available != readings.info.due:
            raise ValueError(
                f"cannot record to {path}: the chain has already passed some of its readings. Make a new chain."
            )
        header = json.dumps({**asdict(readings.info), "digest": readings.inputs.digest, "notes": notes or {}}).encode()
        self._header = MAGIC + len(header).to_bytes(8, "little") + header + _checksum(header)
        self._record = np.zeros((), readings.info.record)
        self._file = self.path.open("r+b" if resumable and self.path.exists() else "w+b")
        if not resumable:
            self._start()

    def _start(self) -> None:
        self._file.seek(0)
        self._file.write(self._header)
        self._file.truncate()

    def append(self, reading: Reading) -> None:
        """Write one reading. A reader sees it at the latest when the recorder is flushed."""
        record = self._record
        if not self._count:
            self._start()
        due = self._due[self._count] if self._count < len(self._due) else None
        if reading.step != due or reading.said.shape != record["said"].shape:
            raise ValueError(
                f"the reading at step {reading.step} of shape {tuple(reading.said.shape)} is not the one that is due, "
                f"at step {due} of shape {record['said'].shape}."
            )
        record["step"] = reading.step
        record["indices"] = reading.indices.cpu().numpy()
        record["said"] = reading.said.cpu().numpy()
        record["checksum"] = zlib.crc32(record.tobytes()[:-4])
        with writing(self.path, LEFT):
            self._file.write(record.tobytes())
        self._count += 1

    def state(self) -> State:
        """How many readings are safe on the disk; see `Checkpoint`."""
        self.flush()
        return {"readings": self._count}

    def restore(self, state: State) -> None:
        """Keep this many readings of the file, and drop what came after them."""
        count = state["readings"]
        self._file.seek(0)
        if count and self._file.read(len(self._header)) != self._header:
            raise ValueError(f"{self.path} is not the file that the readings were written to")
        for number in range(count):
            content = self._file.read(self._record.nbytes)
            if len(content) < self._record.nbytes or not _is_whole(np.frombuffer(content, self._record.dtype)[0]):
                raise ValueError(f"{self.path}: reading {number} of {count} is damaged or missing")
        self._file.truncate()
        self._count = count

    def flush(self) -> None:
        """Let everything that was appended be seen, and be safe on the disk."""
        with writing(self.path, LEFT):
            self._file.flush()
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Flush and close the file."""
        self.flush()
        self._file.close()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class Recording:
    """Recorded readings: as good as the chain itself, as often as one likes.

    The file may still be growing: iterating gives the readings that are complete at that moment.

    Args:
        path: File written by a `Recorder`.
        inputs: D', the inputs that the readings are about.
    """

    def __init__(self, path: str | os.PathLike[str], inputs: Tensor | Inputs) -> None:
        self.path = Path(path)
        self.inputs = Inputs.of(inputs)
        self.info, digest, self.notes, self._start = _read_header(self.path)
        if len(self.inputs) != self.info.inputs or self.inputs.digest != digest:
            raise ValueError(
                f"{self.path} is about {self.info.inputs} other inputs than the {len(self.inputs)} that were given, or "
                "they are scaled differently. Open it with the inputs D' that the chain read."
            )

    @property
    def fingerprint(self) -> str:
        """Changes with any of the readings that are complete so far."""
        records = np.memmap(self.path, self.info.record, "r", offset=self._start, shape=(len(self.available),))
        return f"{zlib.crc32(records['checksum'].tobytes()):08x}"

    @property
    def available(self) -> range:
        """The steps whose readings are complete in the file so far."""
        count = max(0, self.path.stat().st_size - self._start) // self.info.record.itemsize
        return self.info.due[:count]

    def __iter__(self) -> Iterator[Reading]:
        return (reading for _, reading in self.run() if reading)

    def run(self, after: int = 0) -> Iterator[tuple[int, Reading | None]]:
        """The readings after a step, each with its step."""
        count = len(self.available)
        first = bisect_right(self.info.due, after)
        if first >= count:
            return
        records = np.memmap(self.path, self.info.record, "r", offset=self._start, shape=(count,))
        for number in range(first, count):
            record = records[number]
            if not _is_whole(record) or record["step"] != self.info.due[number]:
                raise ValueError(f"{self.path}: reading {number} of {count} is damaged. {REMEDY}")
            step, indices = int(record["step"]), record["indices"]
            if not 0 <= indices.min() <= indices.max() < self.info.inputs:
                raise ValueError(
                    f"{self.path}: reading {number} of {count} is about inputs {indices.min()} to {indices.max()}, but "
                    f"there are only {self.info.inputs}. {REMEDY}"
                )
            yield (
                step,
                Reading(
                    step,
                    torch.from_numpy(indices.astype(np.int64)),
                    torch.from_numpy(record["said"].copy()).to(self.inputs.device),
                ),
            )


def _checksum(content: bytes) -> bytes:
    return zlib.crc32(content).to_bytes(4, "little")


def _is_whole(record: np.void) -> bool:
    return zlib.crc32(record.tobytes()[:-4]) == record["checksum"]


def _read_header(path: Path) -> tuple[ReadingsInfo, str, dict[str, Any], int]:
    """The header's contents and where the records start."""
    with path.open("rb") as file:
        head = file.read(16)
        length = int.from_bytes(head[8:], "little")
        if head[:8] != MAGIC or not 0 < length < 1 << 24:
            raise ValueError(f"{path} is not a file of readings: it does not start as one.")
        header, checksum = file.read(length), file.read(4)
    try:
        if checksum != _checksum(header):
            raise ValueError("it does not have the checksum that was written with it")
        values = json.loads(header)
        info = ReadingsInfo(**{field.name: values[field.name] for field in fields(ReadingsInfo)})
        return info, values["digest"], values["notes"], len(head) + length + len(checksum)
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"{path}: its header is truncated or damaged ({error}). {REMEDY}") from error


def record(
    chain: LiveReadings,
    path: str | os.PathLike[str],
    notes: dict[str, Any] | None = None,
    checkpoint: Checkpoint | None = None,
) -> Recording:
    """Run a chain, or an ensemble, to its end and record what it says.

    The readings are written beside the path, or with the checkpoint, and take their name only when they are complete.

    Args:
        chain: A `Chain` or an `Ensemble`.
        path: The file of readings.
        notes: Anything worth keeping with them, such as the chain's configuration.
        checkpoint: Where to save the state on the way, and from which to go on after an interruption.
    """
    path = Path(path)
    part = checkpoint.folder / "readings" if checkpoint else path.with_name(path.name + ".part")
    part.parent.mkdir(parents=True, exist_ok=True)
    with Recorder(part, chain, notes, resumable=checkpoint is not None) as recorder:
        for reading in heard(chain, "chain", {"recorder": recorder}, checkpoint, lambda: chain.losses):
            recorder.append(reading)
    if checkpoint:  # keeps its own file, until all results are safe: not a link, which a rerun would write to
        copy = path.with_name(path.name + ".part")
        with writing(copy, LEFT):
            shutil.copyfile(part, copy)
        part = copy
    part.replace(path)
    return Recording(path, chain.inputs)
