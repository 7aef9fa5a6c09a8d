"""Listening to a stream of readings to its end: with progress, and with the state of all listeners saved on the way."""

from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter

from gped.readings.reading import Reading, Readings
from gped.support.checkpoint import Checkpoint, Resumable
from gped.support.progress import progress


def heard(
    readings: Readings,
    what: str,
    listeners: Mapping[str, Resumable],
    checkpoint: Checkpoint | None,
    losses: Callable[[], list[float]],
) -> Iterator[Reading]:
    """All readings, with progress, and with the state of chain and listeners saved on the way.

    Args:
        readings: The stream.
        what: Name of the work, for its progress.
        listeners: Who hears the readings, and is to be saved with the stream.
        checkpoint: Where to save, and from which to go on.
        losses: The newest losses, for the progress.
    """
    parts = {**listeners, **({"chain": readings} if isinstance(readings, Resumable) else {})}
    first = 0 if "chain" in parts else readings.info.burn_in  # a recording has no steps before that
    start = checkpoint.resume(parts, readings.info.last_step - first) if checkpoint else 0
    step = start

    def note() -> str:
        return f", loss {' '.join(f'{loss:.4g}' for loss in newest)}" if (newest := losses()) else ""

    for step, reading in progress(
        readings.run(start), what, readings.info.last_step, "step", itemgetter(0), start, note
    ):
        if reading:
            yield reading
        if checkpoint:
            checkpoint.tick(step)
    if checkpoint:
        checkpoint.finish(step)
