"""Several chains of one posterior as one stream of readings."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gped.readings.reading import Reading, Readings
from gped.support.checkpoint import Resumable, State


class Chains:
    """The readings of several chains, live or recorded, in turn: one of each, then the next of each.

    Chains that start apart (with another seed and other initial parameters) see more of the posterior than one, and
    `between_chains` tells how far they agree. Their steps are counted together: K chains of T steps are one of K · T.

    Args:
        chains: Each a `Chain` or a `Recording`, about the same inputs D' and of the same length and thinning.
    """

    def __init__(self, chains: Sequence[Readings]) -> None:
        if not chains:
            raise ValueError("there are no chains to merge.")
        self.chains = list(chains)
        info, self.inputs = self.chains[0].info, self.chains[0].inputs
        for number, chain in enumerate(self.chains):
            if chain.info != info or chain.inputs.digest != self.inputs.digest:
                raise ValueError(
                    f"chain {number} is about other inputs than the first, or differs from it in {info} and "
                    f"{chain.info}: their readings cannot be merged."
                )
            if chain.available != info.due:
                raise ValueError(f"chain {number} has already passed some of its readings, or not all are recorded.")
        if any(step % info.thinning for step in (info.burn_in, info.steps, info.last_step)):
            raise ValueError(
                f"the chains have readings every {info.thinning} steps, which does not divide their burn-in "
                f"{info.burn_in} and lengths {info.steps} and {info.last_step}: readings of several could not be "
                "counted together."
            )
        self._each = info
        together = {name: len(self.chains) * getattr(info, name) for name in ("burn_in", "steps", "last_step")}
        self.info = replace(info, **together)
        self._turn = 0  # how many readings have been heard

    @property
    def losses(self) -> list[float]:
        """Of the newest step of each chain that runs."""
        return [loss for chain in self.chains for loss in getattr(chain, "losses", [])]

    @property
    def available(self) -> range:
        """The steps whose readings are still to come."""
        return self.info.due[self._turn :]

    def __iter__(self) -> Iterator[Reading]:
        """Listen to all chains from where they stand to their end."""
        return (reading for _, reading in self.run() if reading)

    def run(self, after: int = 0) -> Iterator[tuple[int, Reading | None]]:
        """The same; steps without a reading have the number of the last that had one."""
        streams = [chain.run(self._heard(number)) for number, chain in enumerate(self.chains)]
        while self._turn < len(self.info.due):
            for _, reading in streams[self._turn % len(self.chains)]:
                if not reading:
                    yield (self.info.due[self._turn - 1] if self._turn else 0), None
                    continue
                step = self.info.due[self._turn]
                self._turn += 1
                if step > after:
                    yield step, reading._replace(step=step)
                break

    def _heard(self, number: int) -> int:
        """The step of the newest reading of a chain that has been heard."""
        count = (self._turn + len(self.chains) - 1 - number) // len(self.chains)
        return self._each.due[count - 1] if count else 0

    def state(self) -> State:
        """All that decides the readings to come; see `Checkpoint`."""
        return {
            "turn": self._turn,
            "chains": [chain.state() if isinstance(chain, Resumable) else {} for chain in self.chains],
        }

    def restore(self, state: State) -> None:
        """Stand where the chains stood that gave this state."""
        if len(state["chains"]) != len(self.chains):
            raise ValueError("the state is that of another number of chains")
        self._turn = state["turn"]
        for chain, saved in zip(self.chains, state["chains"], strict=True):
            if isinstance(chain, Resumable):
                chain.restore(saved)
