"""Progress of long work: a bar on a terminal, plain lines anywhere else."""

import logging
import sys
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import TypeVar

from tqdm import tqdm

Item = TypeVar("Item")
INTERVAL = 30.0  # seconds between two plain lines

log = logging.getLogger("gped")


def progress(items: Iterable[Item], what: str, total: int, unit: str) -> Iterator[Item]:
    """Pass the items on, and tell how many there have been, how fast, and how long the rest will take."""
    if sys.stderr.isatty():
        yield from tqdm(items, what, total, unit=unit)
        return
    start = said = time.monotonic()
    done = 0
    for done, item in enumerate(items, 1):
        yield item
        now = time.monotonic()
        if now - said >= INTERVAL:
            said = now
            rate = done / (now - start)
            left = timedelta(seconds=round((total - done) / rate))
            log.info(
                "%s: %d of %d %ss (%.0f %%), %.3g a second, %s left",
                what,
                done,
                total,
                unit,
                100 * done / total,
                rate,
                left,
            )
    log.info("%s: all %d %ss in %s", what, done, unit, timedelta(seconds=round(time.monotonic() - start)))
