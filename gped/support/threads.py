"""How many cores torch may use."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from gped.support.checks import whole


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let torch use this many threads, and restore the number afterwards.

    One is the default throughout: these networks are too small to share, sums depend on how they are divided,
    and two processes with one thread each are faster than one process with two.
    """
    before = torch.get_num_threads()
    if count == before:
        yield
        return
    torch.set_num_threads(whole("threads", count, 1))
    try:
        yield
    finally:
        torch.set_num_threads(before)
