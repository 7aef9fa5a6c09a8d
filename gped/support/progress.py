"""Progress of long work: a bar on a terminal and in a notebook, plain lines anywhere else."""

import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any, TypeVar

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
    with _bar(what, total, unit, start) as bar:
        for number, item in enumerate(items, start + 1):
            yield item
            done = position(item) if position else number
            bar.update(done - bar.n)
            now = time.monotonic()
            if bar.disable and now - said >= INTERVAL:
                said = now
                rate = (done - start) / (now - began)
                left = timedelta(seconds=round(max(0, total - done) / rate))
                share = 100 * done / total
                line = f"{what}: {unit} {done} of {total} ({share:.0f} %), {rate:.3g} a second, {left} left{note()}"
                _say(line, to_all=True)
    took = timedelta(seconds=round(time.monotonic() - began))
    _say(f"{what}: {unit}s {start + 1} to {done} in {took}{note()}", to_all=said > began)


def _bar(what: str, total: int, unit: str, start: int) -> Any:
    """A bar that shows itself where there is a person to see it move."""
    if _is_notebook():
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    hidden = not (_is_notebook() or sys.stderr.isatty())
    return tqdm(None, what, total, unit=f" {unit}s", initial=start, disable=hidden)


def _is_notebook() -> bool:
    """Whether IPython runs this for a notebook, where standard error is no terminal but a bar can be drawn."""
    shell = sys.modules["IPython"].get_ipython() if "IPython" in sys.modules else None
    return shell is not None and "IPKernelApp" in shell.config


def _say(line: str, to_all: bool) -> None:
    """Log a line. To all: also to those who have set no log up, on standard error."""
    if to_all and not (log.hasHandlers() or log.level):
        print(line, file=sys.stderr, flush=True)
    else:
        log.info("%s", line)
