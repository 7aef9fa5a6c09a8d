"""Named streams of random numbers: each use has its own, so that none can disturb another."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def stream(seed: int, name: str, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator that depends on the seed and the name alone.

    Two names give unrelated streams, and a stream is the same however long the others run.
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    generator = torch.Generator(device)
    generator.manual_seed(int.from_bytes(digest[:8], "big") >> 1)  # torch takes 63 bits without a sign
    return generator


@contextmanager
def drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Let what draws from torch's global generator on the CPU, as layers and their dropout do, draw from this one."""
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.set_state(generator.get_state())
        yield
        generator.set_state(torch.default_generator.get_state())
