"""What it saves that students share a chain, and what recording, replaying and saving cost."""

import math
import multiprocessing
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import torch

import gped
from gped.distillation import update
from gped.networks.architectures import FCNN_MNIST

STEPS, BURN_IN = 300, 100
STUDENTS = (1, 4, 16, 36)
GROWS = {
    "T": (300, 600, 1200),
    "inputs in D": (6000, 12_000, 24_000),
    "inputs in D'": (6000, 12_000, 24_000),
    "students": (1, 2, 4, 8),
}


def make_chain(steps: int = STEPS, thinning: int = 10, unlabelled: int = 6000, labelled: int = 6000) -> gped.Chain:
    """The FCNN on random digits, with a reference of 10,000 images every 100 steps."""
    generator = gped.stream(0, "benchmark")
    count = max(labelled, unlabelled)
    images = torch.randint(0, 256, (count, 1, 28, 28), dtype=torch.uint8, generator=generator)
    labels = torch.randint(0, 10, (labelled,), generator=generator)
    test = torch.randint(0, 256, (10_000, 1, 28, 28), dtype=torch.uint8, generator=generator)
    return gped.Chain(
        gped.Network(FCNN_MNIST, 10, gped.stream(0, "θ")),
        images[:labelled],
        labels,
        images[:unlabelled],
        gped.SGLD(4e-6),
        steps=steps,
        burn_in=min(BURN_IN, steps // 3),
        thinning=thinning,
        references={"test": gped.Reference(test, 100)},
    )


def base_students(count: int, thinning: int, steps: int = STEPS, estimator: str = "uo") -> list[gped.StudentSpec]:
    """Students of the teacher's size that learn its predictive distribution."""
    targets = (gped.Target(gped.predictive, estimator),)
    common = {"steps": steps, "thinning": thinning, "dropout": 0.5}
    return [gped.StudentSpec(FCNN_MNIST, targets, gped.Categorical(10), seed=seed, **common) for seed in range(count)]


def cpu_seconds(work: Callable[[], object]) -> float:
    """CPU time of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start


def shared(rounds: int) -> pd.DataFrame:
    """A run with N students from one chain, against N runs with a chain and a student each."""
    rows = []
    for thinning in (10, 100):
        times = {count: [] for count in STUDENTS}
        for _ in range(rounds):
            for count in STUDENTS:
                students = base_students(count, thinning)
                times[count].append(cpu_seconds(lambda s=students, h=thinning: gped.distill(make_chain(thinning=h), s)))
        alone = pd.Series(times[1]).median()
        for count, measured in times.items():
            seconds = pd.Series(measured).median()
            rows.append(
                {"H": thinning, "students": count, "seconds": seconds, "own chains over one": count * alone / seconds}
            )
    return pd.DataFrame(rows)


def recorded(rounds: int) -> pd.DataFrame:
    """A chain alone, recorded, with checkpoints; and students from a recording against students of a live chain."""
    times: dict[str, list[float]] = {}
    students = base_students(4, 10)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings"

        def with_checkpoints() -> None:
            with gped.Checkpoint(folder, "benchmark") as checkpoint:
                gped.record(make_chain(), path, checkpoint=checkpoint)
                checkpoint.remove()

        contenders = {
            "chain": lambda: list(make_chain()),
            "chain, recorded": lambda: gped.record(make_chain(), path),
            "chain, recorded, with checkpoints": with_checkpoints,
            "4 students, live": lambda: gped.distill(make_chain(), students),
            "4 students, replayed": lambda: gped.distill(gped.Recording(path, make_chain().inputs), students),
        }
        for _ in range(rounds):
            for name, work in contenders.items():
                times.setdefault(name, []).append(cpu_seconds(work))
    medians = {name: pd.Series(values).median() for name, values in times.items()}
    return pd.DataFrame(
        [{"run": name, "seconds": value, "over the chain": value / medians["chain"]} for name, value in medians.items()]
    )


def growth() -> pd.DataFrame:
    """CPU seconds and megabytes as one thing after another doubles, each in a process of its own."""
    rows = []
    # Not forked: a fork would use memory that we have given back, and seem not to grow.
    fresh = multiprocessing.get_context("spawn")
    for what, values in GROWS.items():
        for value in values:
            with fresh.Pool(1) as pool:
                seconds, tables, memory = pool.apply(_run, (what, value))
            rows.append(
                {"grows": what, "to": value, "seconds": seconds, "table of U_o, MB": tables, "memory, MB": memory}
            )
    return pd.DataFrame(rows)


def _run(what: str, value: int) -> tuple[float, float, float]:
    """CPU seconds of a run in which one thing has this size, megabytes of its tables, and by how much memory grew."""
    torch.set_num_threads(1)
    start = _megabytes()
    names = {"T": "steps", "inputs in D": "labelled", "inputs in D'": "unlabelled"}
    chain = make_chain(**({names[what]: value} if what in names else {}))
    count = value if what == "students" else 1
    learners = [gped.Learner(spec, chain) for spec in base_students(count, 10, chain.info.steps)]

    def run() -> None:
        for reading in chain:
            for learner in learners:
                if learner.listens_at(reading.step):
                    update(learner, reading, chain.inputs[reading.indices])

    seconds = cpu_seconds(run)
    tables = sum(U.means.nbytes + U.counts.nbytes for learner in learners for U in learner.U) / 1e6
    return seconds, tables, _megabytes() - start


def _megabytes() -> float:
    """The most memory that this process has had, as Linux tells. Not ru_maxrss: it starts at what the parent had."""
    if not Path("/proc/self/status").exists():
        return math.nan
    return int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 1e3
