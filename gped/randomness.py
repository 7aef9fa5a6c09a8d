"""Named streams of random numbers: each use has its own, so that none can disturb another."""

import hashlib
from typing import Protocol

import torch
from torch import Tensor


def stream(seed: int, name: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator that depends on the seed and the name alone.

    Two names give unrelated streams, and a stream is the same however long the others run.
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    generator = torch.Generator(device)
    generator.manual_seed(int.from_bytes(digest[:8], "big") >> 1)  # torch takes 63 bits without a sign
    return generator


class Generator(Protocol):
    """A source of noise whose state can be saved: `torch.Generator`, or `gped.native.NativeGenerator`."""

    def get_state(self) -> Tensor:
        """All that decides the numbers to come."""
        ...

    def set_state(self, state: Tensor) -> object:
        """Go on from there."""
        ...


def normal_(out: Tensor, generator: Generator) -> Tensor:
    """Fill a tensor with standard normal numbers."""
    if isinstance(generator, torch.Generator):
        return out.normal_(generator=generator)
    return generator.normal_(out)  # type: ignore[attr-defined]
