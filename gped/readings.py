"""What the chain says: a stream of readings, live from a `Chain` or recorded in a file.

The file is a header and then one record of fixed size per reading, so that it can be appended to while it is
read, and mapped into memory whatever its size:

    8 bytes            GPEDREAD
    8 bytes            length of the header, little-endian
    header             JSON: inputs, classes, size, thinning, burn_in, steps, last_step, digest of D', and free notes
    record, repeated   step (int64), indices (int32 × size), log-probabilities (float32 × size × classes),
                       CRC-32 of the record so far (uint32)
"""

import json
import os
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from gped.checks import whole
from gped.inputs import Inputs
from gped.progress import progress

MAGIC = b"GPEDREAD"


class Reading(NamedTuple):
    """What the draw at one step says of a few inputs of D'."""

    step: int
    indices: Tensor
    log_probabilities: Tensor


@dataclass(frozen=True)
class ReadingsInfo:
    """What is known of a stream of readings before it starts.

    Args:
        inputs: N', number of inputs in D'.
        classes: C.
        size: M', inputs in a reading.
        thinning: A reading is taken at the multiples of this step count, the smallest H of all students.
        burn_in: B, the steps before the first reading.
        steps: T, where the chain's reference and ordinary students end.
        last_step: T plus the steps for fine-tuning.
    """

    inputs: int
    classes: int
    size: int
    thinning: int
    burn_in: int
    steps: int
    last_step: int

    def __post_init__(self) -> None:
        for name in ("inputs", "size", "thinning", "steps", "burn_in", "classes", "last_step"):
            least = {"burn_in": 0, "classes": 2, "last_step": self.steps}.get(name, 1)
            object.__setattr__(self, name, whole(f"{name} of the readings", getattr(self, name), least))
        if self.burn_in >= self.steps:
            raise ValueError(f"the burn-in of {self.burn_in} steps must end before the chain, which has {self.steps}.")
        if not self.due:
            raise ValueError(
                f"no multiple of the thinning {self.thinning} lies between the burn-in {self.burn_in} and the "
                f"last step {self.last_step}: there would be no reading. Lower the thinning or add steps."
            )

    @property
    def due(self) -> range:
        """The steps at which readings are taken: the multiples of the thinning after the burn-in."""
        return range(self.burn_in // self.thinning * self.thinning + self.thinning, self.last_step + 1, self.thinning)

    @property
    def record(self) -> np.dtype:
        """Layout of one reading in a file."""
        return np.dtype(
            [
                ("step", "<i8"),
                ("indices", "<i4", (self.size,)),
                ("log_probabilities", "<f4", (self.size, self.classes)),
                ("checksum", "<u4"),
            ]
        )


class Readings(Protocol):
    """A stream of readings and the inputs D' that they are about: a `Chain` or a `Recording`."""

    info: ReadingsInfo
    inputs: Inputs

    @property
    def available(self) -> range:
        """The steps whose readings iterating would give."""

    def __iter__(self) -> Iterator[Reading]: ...


class Recorder:
    """Appends readings to a new file.

    Args:
        path: The file; an existing one is replaced.
        readings: The chain whose readings will come.
        notes: Anything worth keeping with them, such as the chain's configuration.
    """

    def __init__(self, path: str | os.PathLike[str], readings: Readings, notes: dict[str, Any] | None = None) -> None:
        self._due = iter(readings.info.due)
        if readings.available != readings.info.due:
            raise ValueError(
                f"cannot record to {path}: the chain has already passed some of its readings. Make a new chain."
            )
        header = json.dumps({**asdict(readings.info), "digest": readings.inputs.digest, "notes": notes or {}}).encode()
        self._file = Path(path).open("wb")  # noqa: SIM115 (closed by close)
        self._file.write(MAGIC + len(header).to_bytes(8, "little") + header)
        self._record = np.zeros((), readings.info.record)

    def append(self, reading: Reading) -> None:
        """Write one reading. A reader sees it at the latest when the recorder is flushed."""
        record = self._record
        due = next(self._due, None)
        if reading.step != due or reading.log_probabilities.shape != record["log_probabilities"].shape:
            raise ValueError(
                f"the reading at step {reading.step} with log-probabilities of shape "
                f"{tuple(reading.log_probabilities.shape)} is not the one that is due, at step {due} with shape "
                f"{record['log_probabilities'].shape}."
            )
        record["step"] = reading.step
        record["indices"] = reading.indices.cpu().numpy()
        record["log_probabilities"] = reading.log_probabilities.cpu().numpy()
        record["checksum"] = zlib.crc32(record.tobytes()[:-4])
        self._file.write(record.tobytes())

    def flush(self) -> None:
        """Let everything that was appended be seen, and be safe on the disk."""
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
                "they are scaled otherwise. Open it with the inputs D' that the chain read."
            )

    @property
    def available(self) -> range:
        """The steps whose readings are complete in the file so far."""
        count = max(0, self.path.stat().st_size - self._start) // self.info.record.itemsize
        return self.info.due[:count]

    def __iter__(self) -> Iterator[Reading]:
        count = len(self.available)
        if not count:
            return
        records = np.memmap(self.path, self.info.record, "r", offset=self._start, shape=(count,))
        for number, record in enumerate(records):
            if zlib.crc32(record.tobytes()[:-4]) != record["checksum"] or record["step"] != self.info.due[number]:
                raise ValueError(
                    f"{self.path}: reading {number} of {count} is damaged. Delete the file and run the chain again."
                )
            yield Reading(
                int(record["step"]),
                torch.from_numpy(record["indices"].astype(np.int64)),
                torch.from_numpy(record["log_probabilities"].copy()).to(self.inputs.images.device),
            )


def _read_header(path: Path) -> tuple[ReadingsInfo, str, dict[str, Any], int]:
    """The header's contents and where the records start."""
    with path.open("rb") as file:
        head = file.read(16)
        length = int.from_bytes(head[8:], "little")
        if head[:8] != MAGIC or not 0 < length < 1 << 24:
            raise ValueError(f"{path} is not a file of readings: it does not start as one.")
        header = file.read(length)
    try:
        values = json.loads(header)
        info = ReadingsInfo(**{field.name: values[field.name] for field in fields(ReadingsInfo)})
        return info, values["digest"], values["notes"], 16 + length
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path}: its header is truncated or damaged ({error}). Delete the file and run the chain again."
        ) from error


def record(readings: Readings, path: str | os.PathLike[str], notes: dict[str, Any] | None = None) -> Recording:
    """Run a chain to its end and record what it says.

    The readings are written beside the path and take their name only when they are complete.
    """
    path = Path(path)
    part = path.with_name(path.name + ".part")
    with Recorder(part, readings, notes) as recorder:
        for reading in progress(readings, "chain", readings.info.last_step, "step", attrgetter("step")):
            recorder.append(reading)
    part.replace(path)
    return Recording(path, readings.inputs)
