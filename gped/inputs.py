"""Inputs of networks, in memory or on a disk, and how their pixels enter a network."""

import copy
import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from gped.support.devices import usable

PART = 1000  # rows looked at together where all are: they may not fit into memory


@dataclass(frozen=True)
class Scaling:
    """Pixels in [0, 1], then standardised per channel: (pixel − mean) / std. The default leaves [0, 1].

    It is stored with every student, because a network means nothing without it.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
        if len(self.mean) != len(self.std):
            raise ValueError(f"the scaling has {len(self.mean)} means and {len(self.std)} standard deviations.")
        if any(not value > 0 for value in self.std):
            raise ValueError(f"the scaling's standard deviations {self.std} must all be positive.")

    @classmethod
    def standardising(cls, images: "Rows") -> "Scaling":
        """The scaling that gives these images mean 0 and variance 1 in each channel."""
        inputs = Inputs(images)
        axes = [axis for axis in range(len(inputs.shape) + 1) if axis != 1]
        total, squares = torch.zeros(2, inputs.shape[0], dtype=torch.float64)
        for part in inputs.parts():
            pixels = _unit(part).double()
            total += pixels.sum(axes)
            squares += pixels.square().sum(axes)
        count = len(inputs) * math.prod(inputs.shape[1:])
        mean = total / count
        std = (squares / count - mean.square()).sqrt()
        return cls(tuple(mean.tolist()), tuple(std.tolist()))

    def __call__(self, images: Tensor) -> Tensor:
        """Scale images, bytes or already in [0, 1], with channels as the second dimension."""
        pixels = _unit(images)
        if self == _NONE:
            return pixels
        mean, std = self._like(pixels)
        return (pixels - mean) / std

    def noisy(self, scaled: Tensor, std: float, generator: torch.Generator) -> Tensor:
        """Scaled inputs with Gaussian noise of this standard deviation in pixel units, clamped to [0, 1]."""
        mean, scale = self._like(scaled)
        noise = torch.empty_like(scaled).normal_(generator=generator)
        return ((scaled * scale + mean + std * noise).clamp(0, 1) - mean) / scale

    def _like(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        shape = (-1, *[1] * (pixels.dim() - 2))
        return pixels.new_tensor(self.mean).view(shape), pixels.new_tensor(self.std).view(shape)


_NONE = Scaling()


def _unit(images: Tensor) -> Tensor:
    return images.float().div_(255) if images.dtype == torch.uint8 else images


class DatasetRows:
    """The inputs of a map-style torch Dataset, read when they are needed.

    Args:
        dataset: With a length, and for each index a tensor of one shape and type, or a tuple that begins with it.
    """

    def __init__(self, dataset: "Dataset[Any]") -> None:
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise ValueError(
                f"the inputs are a {type(dataset).__name__}: they must be a tensor, an array, or a data set with a "
                "length and an item for each index, which an iterable data set or a DataLoader does not have."
            )
        self._dataset: Any = dataset
        if not len(self._dataset):
            raise ValueError("the data set of inputs is empty: there must be at least one.")
        first = self._item(0)
        self.shape, self.dtype, self.device = (len(self._dataset), *first.shape), first.dtype, first.device

    def _item(self, index: int) -> Tensor:
        item = self._dataset[index]
        item = item[0] if isinstance(item, tuple | list) else item
        if not isinstance(item, Tensor | np.ndarray):
            raise ValueError(
                f"item {index} of the data set is a {type(item).__name__}: it must be a tensor. Give the data set a "
                "transform that makes one, such as torchvision's PILToTensor."
            )
        return _with_channel(torch.as_tensor(item).unsqueeze(0)).squeeze(0)

    def take(self, indices: Sequence[int]) -> Tensor:
        """These inputs."""
        rows = [self._item(index) for index in indices]
        for index, row in zip(indices, rows, strict=True):
            if (row.shape, row.dtype) != (self.shape[1:], self.dtype):
                raise ValueError(
                    f"item {index} of the data set is {row.dtype} of shape {tuple(row.shape)}, but item 0 is "
                    f"{self.dtype} of shape {tuple(self.shape[1:])}: give it a transform that makes them alike."
                )
            if not row.isfinite().all():
                raise ValueError(f"input {index} has values that are not finite: mend it or leave it out.")
        taken = torch.stack(rows).to(self.device)
        return taken if self.dtype == torch.uint8 else taken.float()

    def to(self, device: torch.device | str) -> "DatasetRows":
        """The same, with what is taken moved to another device."""
        moved = copy.copy(self)
        moved.device = torch.device(device)
        return moved


Rows = Tensor | np.ndarray | Dataset[Any] | DatasetRows
"""What inputs may be given as."""


def _with_channel(images: Tensor) -> Tensor:
    """A single channel of bytes may have been left out."""
    return images.unsqueeze(1) if images.dtype == torch.uint8 and images.dim() == 3 else images


def _rows(images: Rows) -> Tensor | DatasetRows:
    """What is kept of inputs; refused if no network can take them."""
    if isinstance(images, np.ndarray):
        with warnings.catch_warnings():  # of an array that cannot be written to, because it stays in its file
            warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
            rows: Tensor | DatasetRows = torch.from_numpy(images)
    else:
        rows = images if isinstance(images, Tensor | DatasetRows) else DatasetRows(images)
    if rows.dtype != torch.uint8 and not rows.dtype.is_floating_point:
        raise ValueError(f"inputs are {rows.dtype}: convert them to bytes (torch.uint8) or to floating point.")
    if len(rows.shape) < 2 or rows.shape[0] == 0:
        raise ValueError(f"inputs have the shape {tuple(rows.shape)}: there must be at least one, each an array.")
    if isinstance(rows, DatasetRows):
        return rows
    if rows.dtype == torch.uint8:
        return _with_channel(rows)
    if not isinstance(images, np.memmap):  # which stays in its file, in whatever precision
        rows = rows.float()
    for start in range(0, len(rows), PART):
        finite = rows[start : start + PART].float().flatten(1).isfinite().all(1)
        if not finite.all():
            first = start + int(finite.int().argmin())
            raise ValueError(f"input {first} has values that are not finite: mend it or leave it out.")
    return rows


class Inputs:
    """A set of inputs, kept as they are stored (bytes stay bytes) and scaled when some are taken out.

    Args:
        images: First dimension counts the inputs. Bytes are pixels and become numbers in [0, 1]; a single channel may
            be left out. Floating point numbers, in single precision, enter as they are. An array that is mapped from a
            file (`numpy.load(…, mmap_mode="r")`) stays there, and a torch Dataset is asked for single items, so that
            neither needs to fit into memory.
        scaling: What else is done to them.
    """

    def __init__(self, images: Rows, scaling: Scaling | None = None) -> None:
        self.images = _rows(images)
        self.scaling = scaling or Scaling()
        if len(self.scaling.mean) not in (1, self.shape[0]):
            raise ValueError(
                f"the scaling has {len(self.scaling.mean)} means, but the inputs have {self.shape[0]} channels: "
                "there must be one for each, or one for all."
            )

    @classmethod
    def of(cls, images: "Rows | Inputs") -> "Inputs":
        """Plain tensors become inputs without further scaling."""
        return images if isinstance(images, Inputs) else cls(images)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return tuple(self.images.shape[1:])

    @property
    def device(self) -> torch.device:
        """Where they are kept."""
        return self.images.device

    @property
    def are_bytes(self) -> bool:
        """Whether they are stored as bytes."""
        return self.images.dtype == torch.uint8

    @cached_property
    def range(self) -> tuple[float, float]:
        """The least and the greatest number."""
        parts = [(float(part.min()), float(part.max())) for part in self.parts()]
        return min(least for least, _ in parts), max(greatest for _, greatest in parts)

    @property
    def are_pixels(self) -> bool:
        """Whether they are bytes, or numbers as bytes become: in [0, 1]."""
        return self.are_bytes or (self.range[0] >= 0 and self.range[1] <= 1)

    @cached_property
    def digest(self) -> str:
        """Changes with any pixel, their order, or the scaling."""
        kept = torch.uint8 if self.are_bytes else torch.float32  # as they are taken out
        content = hashlib.sha256(f"{kept} {tuple(self.images.shape)} {self.scaling}".encode())
        for part in self.parts():
            content.update(part.cpu().contiguous().numpy().data)
        return content.hexdigest()

    def to(self, device: torch.device | str) -> "Inputs":
        """The same inputs on another device."""
        moved = copy.copy(self)
        moved.images = self.images.to(usable(device))
        return moved

    def parts(self) -> Iterator[Tensor]:
        """All of them as they are stored, a part after the other."""
        return (self._taken(slice(start, start + PART)) for start in range(0, len(self), PART))

    def _taken(self, which: Tensor | slice) -> Tensor:
        if isinstance(self.images, DatasetRows):
            return self.images.take(which.tolist() if isinstance(which, Tensor) else range(len(self))[which])
        rows = self.images  # of which index_select takes bytes fifteen times faster than indexing
        taken = rows.index_select(0, which.to(self.device)) if isinstance(which, Tensor) else rows[which]
        return taken if self.are_bytes else taken.float()

    def __len__(self) -> int:
        return self.images.shape[0]

    def __getitem__(self, which: Tensor | slice) -> Tensor:
        images = self._taken(which)
        if not isinstance(which, Tensor):
            images = images.clone()  # a network that works in place must not change what is kept
        inputs = self.scaling(images)
        if inputs.dim() == 4:  # convolutions are 1.4 to 2.1 times faster on channels-last memory
            inputs = inputs.contiguous(memory_format=torch.channels_last)
        return inputs


def check_alike(name: str, inputs: Inputs, others: Mapping[str, Inputs]) -> None:
    """Refuse inputs that one network would not meet in the same form.

    Args:
        name: What the first inputs are called in the sentence.
        inputs: These.
        others: All others, by name.
    """
    for of, other in others.items():
        if (other.shape, other.scaling) != (inputs.shape, inputs.scaling):
            raise ValueError(
                f"{of} has inputs of shape {other.shape} with {other.scaling}, but {name} has {inputs.shape} with "
                f"{inputs.scaling}: the network must meet them all in the same form."
            )
        if other.are_bytes or inputs.are_bytes:
            for which, pixels in {of: other, name: inputs}.items():
                if not pixels.are_pixels:
                    least, greatest = pixels.range
                    raise ValueError(
                        f"{which} has numbers from {least:g} to {greatest:g}, but is used with bytes, which enter the "
                        "network in [0, 1]. Pass bytes, or scale them alike."
                    )
