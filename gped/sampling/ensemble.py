"""The teacher as an ensemble that is there already: its members speak in readings, as the draws of a chain do."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence

import torch
from torch import nn

from gped.inputs import Inputs, Rows, check_alike
from gped.networks.outputs import check_normalisation, count_outputs, outputs_of
from gped.readings.likelihoods import Categorical, Likelihood, likelihood_of
from gped.readings.reading import Reading, ReadingsInfo
from gped.sampling.members import Member
from gped.sampling.reference import Reference
from gped.support.checkpoint import State
from gped.support.checks import whole
from gped.support.devices import usable
from gped.support.randomness import stream
from gped.support.threads import threads


class Ensemble:
    """A stream of readings by random members: at every step one of them says something of a few inputs of D'.

    It is heard, recorded and resumed like a `Chain`. References are exact: they hear every member once.

    Args:
        members: Trained networks, in evaluation mode here: a list of modules, or `Saved`, `MonteCarloDropout`, `Drawn`.
        unlabelled: D', the inputs that readings are about.
        steps: T, the number of readings, and so of updates of a student.
        reading_size: M', drawn from D' uniformly with replacement.
        seed: Of which member speaks of which inputs.
        likelihood: What the outputs mean, by their number: `Categorical`, `Gaussian`, or a class of your own.
        references: Inputs whose expectations over the members are wanted, by name.
        device: Where to compute.
        threads: Cores to use. Sums depend on how they are divided, so that another number gives other last digits.
    """

    def __init__(
        self,
        members: Sequence[Member],
        unlabelled: Rows | Inputs,
        *,
        steps: int = 10_000,
        reading_size: int = 100,
        seed: int = 0,
        likelihood: Callable[[int], Likelihood] = Categorical,
        references: Mapping[str, Reference] | None = None,
        device: torch.device | str = "cpu",
        threads: int = 1,
    ) -> None:
        if isinstance(members, nn.Module) or not isinstance(members, Sequence) or not len(members):
            raise ValueError(
                f"the members are a {type(members).__name__}: they must be a list of at least one network, or "
                "gped.Saved, gped.MonteCarloDropout or gped.Drawn."
            )
        self.device = usable(device)
        # Modules of the caller's own stay as they are; those that are made one at a time are copies already.
        self.members = [copy.deepcopy(one) for one in members] if isinstance(members, list | tuple) else members
        for member in self.members if isinstance(self.members, list) else ():
            if isinstance(member, nn.Module):
                check_normalisation(member)  # here, and not whenever it speaks
        self.inputs = Inputs.of(unlabelled).to(self.device)
        self.references = dict(references or {})
        self.threads = threads
        self.likelihood = likelihood_of(likelihood, count_outputs(self._member(0), self.inputs))
        self.info = ReadingsInfo(
            inputs=len(self.inputs),
            likelihood=self.likelihood.name,
            values=self.likelihood.examples().shape[1],
            size=reading_size,
            thinning=1,
            burn_in=0,
            steps=whole("steps of an ensemble", steps, 1),
            last_step=steps,
        )
        check_alike("D'", self.inputs, {name: reference.inputs for name, reference in self.references.items()})
        for reference in self.references.values():
            reference.start(len(members), self.likelihood, self.device)
        self.t = 0
        self._speakers = stream(seed, "members")
        self._reading_indices = stream(seed, "order of D'")

    @property
    def losses(self) -> list[float]:
        """None: nothing is trained."""
        return []

    @property
    def available(self) -> range:
        """The steps whose readings are still to come."""
        return self.info.due[self.t :]

    def __iter__(self) -> Iterator[Reading]:
        """Let the members speak from where the stream stands to its end."""
        return (reading for _, reading in self.run() if reading)

    def run(self, after: int = 0) -> Iterator[tuple[int, Reading | None]]:
        """The same, each with its step."""
        while self.t < self.info.last_step:
            with threads(self.threads):
                self.t += 1
                reading = self.read()
                self._tell_references()
            if self.t > after:
                yield self.t, reading

    @torch.no_grad()
    def read(self) -> Reading:
        """Line 7 of Algorithm 1: what a random member says of a random minibatch S' of D'."""
        speaker = int(torch.randint(len(self.members), (), generator=self._speakers))
        indices = torch.randint(self.info.inputs, (self.info.size,), generator=self._reading_indices)
        outputs = outputs_of(self._member(speaker), self.inputs[indices])
        said = self.likelihood.says(outputs).float()
        if said.shape[1] != self.info.values or not said.isfinite().all():
            raise ValueError(
                f"member {speaker} of the ensemble has {outputs.shape[1]} outputs, of which not all are finite, or "
                f"which are not {self.likelihood.outputs} as those of member 0: leave it out."
            )
        return Reading(self.t, indices, said)

    def _tell_references(self) -> None:
        """Of the members that are due by now, so that all have been heard at the end: one at a time, in their order."""
        heard, due = ((self.t - since) * len(self.members) // self.info.steps for since in (1, 0))
        for number in range(heard, due) if self.references else ():
            for reference in self.references.values():
                try:
                    reference.update(self._member(number))
                except FloatingPointError:
                    raise ValueError(f"outputs of member {number} are not finite: leave it out.") from None

    def _member(self, number: int) -> Member:
        member = self.members[number]
        return member.to(self.device).eval() if isinstance(member, nn.Module) else member

    def state(self) -> State:
        """All that decides the readings to come; see `Checkpoint`."""
        return {
            "t": self.t,
            "members": len(self.members),
            "generators": [generator.get_state() for generator in (self._speakers, self._reading_indices)],
            "references": {name: reference.state() for name, reference in self.references.items()},
        }

    def restore(self, state: State) -> None:
        """Stand where the ensemble stood that gave this state."""
        if state["members"] != len(self.members) or state["references"].keys() != self.references.keys():
            raise ValueError("the state is that of an ensemble with other members or references")
        self.t = state["t"]
        for generator, saved in zip((self._speakers, self._reading_indices), state["generators"], strict=True):
            generator.set_state(saved)
        for name, reference in self.references.items():
            reference.restore(state["references"][name])
