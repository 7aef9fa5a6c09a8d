"""Point estimates: a network trained by stochastic gradient descent, as one would without a posterior in mind."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from gped.inputs import Inputs
from gped.networks.network import Network
from gped.support.checkpoint import Checkpoint, State
from gped.support.progress import progress
from gped.support.threads import threads


class Descent:
    """A network on its way down: SGD with momentum and weight decay, at a rate that falls to zero along a line.

        v ← μ v + (∇ mean loss of S + δ θ),   θ ← θ − α_t v,   α_t = α (1 − t/T)

    Args:
        network: Trained in place, in training mode.
        inputs: The inputs of D.
        labels: Their classes.
        epochs: Passes over D, each in another order.
        batch_size: |S|; a last minibatch of a pass may be smaller.
        learning_rate: α, at the beginning.
        momentum: μ.
        weight_decay: δ.
        order: Source of the order of D.
    """

    def __init__(
        self,
        network: Network,
        inputs: Inputs,
        labels: Tensor,
        *,
        epochs: int,
        batch_size: int,
        learning_rate: float,
        momentum: float,
        weight_decay: float,
        order: torch.Generator,
    ) -> None:
        self.network = network.to(inputs.device).train()
        self.inputs, self.labels = inputs, labels.to(inputs.device)
        self.batch_size = batch_size
        self.batches = -(-len(inputs) // batch_size)
        self.steps = epochs * self.batches
        self.learning_rate, self.momentum, self.weight_decay = learning_rate, momentum, weight_decay
        self.t = 0
        self.loss = torch.nan
        self._parameters: list[Tensor] = list(network.parameters())
        self._velocity = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._passes = order
        self._order = torch.empty(0, dtype=torch.int64)

    def trained(self, checkpoint: Checkpoint | None = None) -> Network:
        """The network at the end, in evaluation mode; from the checkpoint on, if there is one."""
        start = checkpoint.resume({"descent": self}, self.steps) if checkpoint else 0
        made = progress(self._run(), "training", self.steps, "step", int, start, lambda: f", loss {self.loss:.4g}")
        for step in made:
            if checkpoint:
                checkpoint.tick(step)
        if checkpoint:
            checkpoint.finish(self.steps)
        return self.network.eval()

    def _run(self) -> Iterator[int]:
        while self.t < self.steps:
            self.step()
            yield self.t

    @torch.enable_grad()
    @threads(1)  # a sum depends on how many share it
    def step(self) -> None:
        """One minibatch."""
        at = self.t % self.batches
        if at == 0:
            self._order = torch.randperm(len(self.inputs), generator=self._passes)
        batch = self._order[at * self.batch_size : (at + 1) * self.batch_size].to(self.labels.device)
        outputs = self.network(self.inputs[batch])
        loss = nn.functional.cross_entropy(outputs, self.labels.index_select(0, batch))
        gradient = torch.autograd.grad(loss, self._parameters)
        self.loss = loss.item()
        rate = self.learning_rate * (1 - self.t / self.steps)
        with torch.no_grad():
            for theta, v, g in zip(self._parameters, self._velocity, gradient, strict=True):
                v.mul_(self.momentum).add_(g).add_(theta, alpha=self.weight_decay)
                theta.sub_(v, alpha=rate)
        self.t += 1

    def state(self) -> State:
        """All that decides the steps to come; see `Checkpoint`."""
        dropping = self.network.dropout_generator
        return {
            "t": self.t,
            "parameters": self._parameters,
            "velocity": self._velocity,
            "order": self._order,
            "generators": [one.get_state() for one in (self._passes, dropping) if one],
        }

    @torch.no_grad()
    def restore(self, state: State) -> None:
        """Go on from there."""
        self.t, self._order = state["t"], state["order"]
        for name, own in (("parameters", self._parameters), ("velocity", self._velocity)):
            for tensor, saved in zip(own, state[name], strict=True):
                tensor.copy_(saved)
        dropping = self.network.dropout_generator
        for generator, saved in zip((one for one in (self._passes, dropping) if one), state["generators"], strict=True):
            generator.set_state(saved)
