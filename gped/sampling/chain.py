"""The teacher: a chain of draws from the posterior of a network's parameters."""

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from gped.inputs import Inputs, Rows, check_alike
from gped.networks.outputs import check_normalisation, count_outputs
from gped.readings.likelihoods import Categorical, Likelihood, likelihood_of
from gped.readings.reading import Reading, ReadingsInfo
from gped.sampling.noise import noise_from
from gped.sampling.reference import Reference
from gped.sampling.sampler import Sampler
from gped.support.checkpoint import State
from gped.support.checks import whole
from gped.support.devices import usable
from gped.support.memory import flat
from gped.support.randomness import stream
from gped.support.threads import threads


class ChainDivergedError(RuntimeError):
    """The chain left the region where numbers make sense."""


class Chain:
    """Draws θ_1, θ_2, … from the posterior given D, and what they say of the unlabelled inputs D'.

    Iterating runs the chain and yields readings; meanwhile it updates the references. Every random choice has
    its own stream, and none depends on the number of steps: a longer chain extends a shorter one.

    Args:
        network: Any module; its parameters are θ_0, and its outputs mean what the likelihood says. The chain works on a
            copy, its own `network`, in evaluation mode, because p(y|x, θ) must be a function of θ.
        inputs: The inputs of D.
        labels: The targets of D: classes, or numbers if the likelihood is Gaussian.
        unlabelled: D', the inputs that readings are about.
        sampler: The update rule of θ, such as `SGLD` or `SGHMC`.
        steps: T.
        burn_in: B; the draws before it do not count.
        thinning: Steps between two readings, the smallest H of all students.
        further_steps: Steps after T, for students that are fine-tuned; they do not count for the references.
        batch_size: M, taken from D in reshuffled passes. A last minibatch of a pass may be smaller.
        reading_size: M', drawn from D' uniformly with replacement.
        seed: Of all the chain's streams.
        likelihood: What the outputs mean, by their number: `Categorical`, `Gaussian`, or a class of your own.
        references: Inputs whose posterior expectations are wanted, by name.
        noise: Where the sampler's noise comes from: "torch", or "native" for a compiled kernel that is faster on a CPU.
        device: Where to compute.
        threads: Cores to use. Sums depend on how they are divided, so that another number gives other last digits.
    """

    def __init__(
        self,
        network: nn.Module,
        inputs: Rows | Inputs,
        labels: Tensor,
        unlabelled: Rows | Inputs,
        sampler: Sampler,
        *,
        steps: int,
        burn_in: int,
        thinning: int,
        further_steps: int = 0,
        batch_size: int = 100,
        reading_size: int = 100,
        seed: int = 0,
        likelihood: Callable[[int], Likelihood] = Categorical,
        references: Mapping[str, Reference] | None = None,
        noise: str = "torch",
        device: torch.device | str = "cpu",
        threads: int = 1,
    ) -> None:
        device = usable(device)
        self.network = copy.deepcopy(network).to(device).eval()  # the caller's module stays as it is
        self.labelled = Inputs.of(inputs).to(device)
        self.labels = torch.as_tensor(labels).to(device)
        self.inputs = Inputs.of(unlabelled).to(device)
        self.sampler = sampler
        self.references = dict(references or {})
        self.threads = threads
        asked = {name: reference.inputs for name, reference in self.references.items()}
        check_alike("D", self.labelled, {"D'": self.inputs, **asked})
        if len(self.labelled) != len(self.labels):
            raise ValueError(f"D has {len(self.labelled)} inputs but {len(self.labels)} labels: they must be as many.")
        if whole("batch_size", batch_size, 1) > len(self.labels):
            raise ValueError(f"batch_size is {batch_size}, more than the {len(self.labels)} inputs of D.")
        if isinstance(sampler, type) or not hasattr(sampler, "update"):
            raise ValueError(f"the sampler is {sampler!r}: it must be one such as gped.SGLD(step_size).")

        self._parameters = [parameter for parameter in self.network.parameters() if parameter.requires_grad]
        if not self._parameters:
            raise ValueError("the network has no parameters that require a gradient: there is nothing to sample.")
        self.theta, self._views = flat(self._parameters)
        for parameter, view in zip(self._parameters, self._views, strict=True):
            parameter.data = view.copy_(parameter.data)
        check_normalisation(self.network, sampled=True)
        self.likelihood = likelihood_of(likelihood, count_outputs(self.network, self.inputs))
        self.labels = self.likelihood.checked(self.labels)
        self.info = ReadingsInfo(
            inputs=len(self.inputs),
            likelihood=self.likelihood.name,
            values=self.likelihood.examples().shape[1],
            size=reading_size,
            thinning=thinning,
            burn_in=burn_in,
            steps=steps,
            last_step=whole("steps", steps, 1) + whole("further_steps", further_steps, 0),
        )
        for reference in self.references.values():
            if not (draws := steps // reference.every - burn_in // reference.every):
                raise ValueError(
                    f"a reference every {reference.every} steps gets no draw between the burn-in {burn_in} and the end "
                    f"{steps}. Lower `every` or add steps."
                )
            reference.start(draws, self.likelihood, device)

        self.t = 0
        self._order = _Passes(len(self.labels), batch_size, stream(seed, "order of D"), device)
        self._noise = noise_from(noise, self._parameters, seed, device)
        self._reading_indices = stream(seed, "order of D'")
        self.loss = math.nan  # of the newest step: mean negative log-likelihood of its minibatch
        self._loss_bound = 0.0  # until the first loss sets it

    @property
    def losses(self) -> list[float]:
        """Of the newest step, for the progress."""
        return [self.loss]

    @property
    def available(self) -> range:
        """The steps whose readings are still to come."""
        return self.info.due[max(0, self.t // self.info.thinning - self.info.burn_in // self.info.thinning) :]

    def __iter__(self) -> Iterator[Reading]:
        """Run the chain from where it stands to its end."""
        return (reading for _, reading in self.run() if reading)

    def run(self, after: int = 0) -> Iterator[tuple[int, Reading | None]]:
        """The same, step by step: each with its number, and with its reading where one is due."""
        while self.t < self.info.last_step:
            with threads(self.threads):
                self.step()
                reading = self.read() if self.t in self.info.due else None
            if self.t > after:
                yield self.t, reading

    @torch.enable_grad()
    def step(self) -> None:
        """Lines 4 and 5 of Algorithm 1: draw θ_{t+1}, and let the references hear of it."""
        batch = self._order.next()  # S
        outputs, targets = self.network(self.labelled[batch]), self.labels.index_select(0, batch)
        log_likelihood = self.likelihood.log_likelihood(outputs, targets)
        if log_likelihood.shape != batch.shape:
            raise ValueError(
                f"log_likelihood gave values of shape {tuple(log_likelihood.shape)} for {len(batch)} inputs: it must "
                "give one number for each input."
            )
        # One number, because for the gradient of several torch imports what takes longer than a short chain.
        total = log_likelihood.sum()
        scaled = total * (len(self.labels) / len(batch))  # N/|S|
        gradient = torch.autograd.grad(scaled, self._parameters, materialize_grads=True)
        self.t += 1
        self._check(-total.item() / len(batch))
        self.sampler.update(self._views, gradient, self.t, self._noise)
        for reference in self.references.values():
            if self.info.burn_in < self.t <= self.info.steps and self.t % reference.every == 0:
                try:
                    reference.update(self.network)
                except FloatingPointError as error:
                    raise self._diverged(str(error)) from error

    @torch.no_grad()
    def read(self) -> Reading:
        """Line 7 of Algorithm 1: what the current draw says of a random minibatch S' of D'."""
        indices = torch.randint(self.info.inputs, (self.info.size,), generator=self._reading_indices)
        said = self.likelihood.says(self.network(self.inputs[indices])).float()
        if not said.isfinite().all():
            raise self._diverged("the network's outputs are not finite")
        return Reading(self.t, indices, said)

    def state(self) -> State:
        """All that decides the draws and readings to come; see `Checkpoint`."""
        return {
            "t": self.t,
            "theta": self.theta,
            "sampler": self.sampler.state(),
            "order": {"of this pass": self._order.order, "position": self._order.position},
            "generators": [generator.get_state() for generator in self._generators],
            "references": {name: reference.state() for name, reference in self.references.items()},
            "loss_bound": self._loss_bound,
        }

    def restore(self, state: State) -> None:
        """Stand where the chain stood that gave this state."""
        if state["theta"].shape != self.theta.shape or state["references"].keys() != self.references.keys():
            raise ValueError("the state is that of a chain with another network or other references")
        self.t = state["t"]
        self.theta.copy_(state["theta"])
        self.sampler.restore(state["sampler"])
        self._order.start(state["order"]["of this pass"], state["order"]["position"])
        for generator, saved in zip(self._generators, state["generators"], strict=True):
            generator.set_state(saved)
        for name, reference in self.references.items():
            reference.restore(state["references"][name])
        self._loss_bound = state["loss_bound"]

    @property
    def _generators(self) -> list[Any]:
        return [self._order.generator, self._noise.generator, self._reading_indices]

    def _check(self, loss: float) -> None:
        """Stop at once when the chain diverges, rather than distil nonsense for hours."""
        self.loss = loss
        if self.t == 1 and math.isfinite(loss):
            self._loss_bound = 1000 * max(1.0, abs(loss))
        if not abs(loss) <= self._loss_bound:  # also true for NaN
            raise self._diverged(f"the mean negative log-likelihood of a minibatch is {loss:.4g}")

    def _diverged(self, what: str) -> ChainDivergedError:
        return ChainDivergedError(
            f"the chain diverged at step {self.t}: {what}, with a step size of {self.sampler.step_size(self.t):.4g} "
            f"for {len(self.labels)} training inputs. Use a smaller step size; one tenth is a good next try."
        )


class _Passes:
    """Minibatches in passes over the data, without replacement, reshuffled for each pass."""

    def __init__(self, inputs: int, batch_size: int, generator: torch.Generator, device: torch.device) -> None:
        self.inputs = inputs
        self.batch_size = batch_size
        self.generator = generator
        self.device = device
        self.start(torch.empty(0, dtype=torch.int64), inputs)

    def start(self, order: Tensor, position: int) -> None:
        """Go through the data in this order, from this position on."""
        self.order, self.position = order, position
        self._batches = order.to(self.device).split(self.batch_size)  # all at once: slicing at each step costs more

    def next(self) -> Tensor:
        if self.position >= self.inputs:
            self.start(torch.randperm(self.inputs, generator=self.generator), 0)
        batch = self._batches[self.position // self.batch_size]
        self.position += self.batch_size
        return batch
