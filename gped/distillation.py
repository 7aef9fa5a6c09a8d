"""Generalized posterior expectation distillation: the paper's Algorithm 1, line by line.

     2   Initialize s = 0, φ_0, θ_0, ĝ_i0 = 0, m_i0 = 0, η_0
     3   for t = 0 to T
     4       Sample S from D with |S| = M
     5       θ_{t+1} ← θ_t + η_t/2 (∇ log p(θ_t|θ⁰) + N/M Σ_{i∈S} ∇ log p(y_i|x_i, θ_t)) + z_t
     6       if mod(t, H) = 0 and t > B
     7           Sample S' from D' with |S'| = M'
     8           for i in S'
     9               ĝ_{i,s+1} ← U(ĝ_is, θ_t, m_is)
    10               m_{i,s+1} ← m_is + 1
    11           end for
    12           φ_{s+1} ← φ_s + α_s (N'/M' Σ_{i∈S'} Σ_y ∇ℓ(ĝ_{yi,s+1}, f(y, x_i|φ_s)) + λ ∇R(φ_s))
    13           s ← s + 1

Lines 3 to 5 and 7 are the chain's (`gped/sampling/chain.py`: `step` and `read`). It runs once and speaks in readings:
the step t, the indices of S', and what θ_t says of S', such as log-probabilities. Any number of students listen, each
with its own φ, ĝ, m and s, and with an H and T of its own. Whether the readings come from a running chain or from a
file makes no difference, and neither does who else is listening.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from gped.readings.listening import heard
from gped.readings.reading import Reading, Readings
from gped.students.learner import Learner, learners_of, losses_of, students_of
from gped.students.specification import StudentSpec
from gped.students.student import Student
from gped.support.checkpoint import Checkpoint
from gped.support.threads import threads as use_threads


def distill(
    readings: Readings, students: Sequence[StudentSpec], threads: int = 1, checkpoint: Checkpoint | None = None
) -> list[Student]:
    """Train all students on the same readings.

    Args:
        readings: A `Chain` or an `Ensemble`, which then runs to its end, or a `Recording`.
        students: What each is to be.
        threads: Cores to use. Sums depend on how they are divided: with another number a student has other last digits,
            and so other bytes.
        checkpoint: Where to save the state on the way, and from which to go on after an interruption.
    """
    learners = learners_of(students, readings)  # line 2
    for reading in heard(readings, "distilling", learners, checkpoint, lambda: losses_of(learners)):  # lines 3 to 5, 7
        listening = [learner for learner in learners.values() if learner.listens_at(reading.step)]  # line 6
        if listening:
            with use_threads(threads):
                x = readings.inputs[reading.indices]
                for learner in listening:
                    update(learner, reading, x)
    return students_of(learners)


@torch.enable_grad()
def update(learner: Learner, reading: Reading, x: Tensor) -> None:
    """Lines 8 to 13 for one student, with the inputs x of S'."""
    t, S, said = reading
    targets, R, alpha = learner.spec.targets, learner.regulariser, learner.learning_rate(t)

    # Lines 8 to 11. Each U keeps ĝ and m for all of D', and moves those of S'.
    g_hat = [U(S, target.expectation(said)) for U, target in zip(learner.U, targets, strict=True)]

    # Line 12. ℓ is a loss, so φ moves against its gradient where the paper writes "+"; ℓ is averaged over S' where the
    # paper has N'/M' Σ, so λ is relative to the mean; Adam makes the step; the losses of several targets are added.
    f = learner.outputs(x)
    loss = torch.stack(
        [target.expectation.head.loss(z, g) for target, z, g in zip(targets, f, g_hat, strict=True)]
    ).sum()
    if R and not R.proximal:
        loss = loss + R.strength * R.penalty(learner.network)
    learner.adam.step(torch.autograd.grad(loss, learner.adam.parameters, materialize_grads=True), alpha)
    if R and R.proximal:
        R.shrink(learner.network, alpha)

    learner.s += 1  # line 13
    learner.after_update(t, loss.item(), g_hat)
