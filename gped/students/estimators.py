"""How an expectation is estimated from single draws: the paper's U_s and U_o."""

import logging
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from gped.support.checkpoint import State

LARGE = 10**8  # bytes of a table that are worth a word
log = logging.getLogger("gped")


class Estimator(Protocol):
    """An update U(ĝ, θ_t, m) of the estimates ĝ of some inputs: `Stochastic`, `Online`, or a class of your own.

    It is made with the number of inputs in D' and the device on which to keep what it remembers of them.
    """

    name: ClassVar[str]
    """What it is called in student files."""

    def __init__(self, inputs: int, device: torch.device | str = "cpu") -> None: ...

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        """The new estimates of these inputs, given g under the newest draw: one row for each, of the same type."""
        ...

    def state(self) -> State:
        """What it remembers; see `Checkpoint`."""
        ...

    def restore(self, state: State) -> None:
        """Go on from there."""
        ...


class Stochastic:
    """U_s: the newest draw alone, ĝ ← g(θ_t). It remembers nothing, so it costs nothing per input."""

    name: ClassVar[str] = "us"

    def __init__(self, inputs: int, device: torch.device | str = "cpu") -> None:
        pass

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        """The values themselves."""
        return values

    def state(self) -> State:
        """Nothing; see `Checkpoint`."""
        return {}

    def restore(self, state: State) -> None:
        """Nothing to do."""


class Online:
    """U_o: the running mean over all draws that an input has met, ĝ ← (m ĝ + g(θ_t)) / (m + 1).

    An input drawn twice in one minibatch met one draw, and is counted once.

    Args:
        inputs: Number of inputs in D'. The table of means is what U_o costs: eight bytes for each input, and eight for
            each of its values. It is the only thing that grows with D', and is told where it is large.
        device: Where to keep it.
    """

    name: ClassVar[str] = "uo"

    def __init__(self, inputs: int, device: torch.device | str = "cpu") -> None:
        self.counts = torch.zeros(inputs, dtype=torch.int64, device=device)
        self.means = torch.zeros(inputs, 0, dtype=torch.float64, device=device)

    def __call__(self, indices: Tensor, values: Tensor) -> Tensor:
        """Update the means of these inputs with g under the newest draw, and return them."""
        if not self.means.shape[1]:  # the first values tell how many there are for each input
            self.means = self.means.new_zeros(len(self.counts), values.shape[1])
            if (size := self.means.nbytes + self.counts.nbytes) >= LARGE:
                log.info("U_o keeps a mean for each of %d inputs: %.1f GB", len(self.counts), size / 1e9)
        counts = self.counts[indices] + 1
        means = self.means[indices]
        # Duplicates write the same count and mean twice, hence once.
        self.counts[indices] = counts
        self.means[indices] = means + (values - means) / counts.unsqueeze(1)
        return self.means[indices].to(values.dtype)

    def state(self) -> State:
        """The table; see `Checkpoint`."""
        return {"counts": self.counts, "means": self.means}

    def restore(self, state: State) -> None:
        """Go on from this table."""
        self.counts, self.means = (state[name].to(self.counts.device) for name in ("counts", "means"))


ESTIMATORS: dict[str, type[Estimator]] = {estimator.name: estimator for estimator in (Stochastic, Online)}


def estimator(which: str | type[Estimator]) -> type[Estimator]:
    """The class of an estimator, which may be told by the name of one of the library's."""
    if isinstance(which, str) and which in ESTIMATORS:
        return ESTIMATORS[which]
    if isinstance(which, str) or not isinstance(which, type) or not hasattr(which, "name"):
        raise ValueError(f"the estimator is {which!r}: it must be 'us', 'uo', or a class like gped.Online.")
    if ESTIMATORS.get(which.name, which) is not which:
        raise ValueError(f"the estimator {which.__name__} is called {which.name!r}, as one of gped's: give it a name.")
    return which
