"""Progress of long work: a bar on a terminal, plain lines anywhere else."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
INTERVAL = 30.0  # seconds between two plain lines

log = logging.getLogger("gped")


def progress(
    items: Iterable[Item],
    what: str,
    total: int,
    unit: str,
    position: Callable[[Item], int] | None = None,
    start: int = 0,
    note: Callable[[], str] = str,
) -> Iterator[Item]:
    """Pass the items on, and tell how far they are, how fast, and how long the rest will take.

    Args:
        items: What to pass on.
        what: Name of the work.
        total: Where it ends.
        unit: What is counted.
        position: How far an item is; its number unless given.
        start: How far the work was before, if it was resumed.
        note: What else to tell, such as the newest loss.
    """
    done, began = start, time.monotonic()
    said = began
    with tqdm(None, what, total, unit=f" {unit}s", initial=start, disable=not sys.stderr.isatty()) as bar:
        for number, item in enumerate(items, start + 1):
            yield item
            done = position(item) if position else number
            bar.update(done - bar.n)
            now = time.monotonic()
            if bar.disable and now - said >= INTERVAL:
                said = now
                rate = (done - start) / (now - began)
                left = timedelta(seconds=round((total - done) / rate))
                share = 100 * done / total
                line = "%s: %s %d of %d (%.0f %%), %.3g a second, %s left%s"
                log.info(line, what, unit, done, total, share, rate, left, note())
    took = timedelta(seconds=round(time.monotonic() - began))
    log.info("%s: %ss %d to %d in %s%s", what, unit, start + 1, done, took, note())
