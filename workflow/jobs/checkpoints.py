"""Checkpoints of the jobs that take long, keyed by all that decides their results."""

import json
import logging
import os
import platform
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

from gped.support.checkpoint import Checkpoint
from gped.support.codehash import code_hash


@contextmanager
def checkpointed(folder: Path, outputs: Sequence[str], *decides: Any) -> Iterator[Checkpoint | None]:
    """The job's checkpoint, removed in the end; None if another process has just finished the same job.

    Args:
        folder: The job's own, outside its declared outputs, which Snakemake deletes when the job fails.
        outputs: What the job writes.
        decides: All that decides the results, besides code and versions.
    """
    versions = [platform.machine(), *map(version, ("torch", "numpy"))]
    key = json.dumps([code_hash(Path(sys.argv[0])), versions, sorted(outputs), decides], sort_keys=True)
    # By the environment, because how often to save decides no result and must not cause a rerun.
    with Checkpoint(folder, key, every=float(os.environ.get("GPED_CHECKPOINT_SECONDS", "1"))) as checkpoint:
        if checkpoint.waited and all(Path(path).exists() for path in outputs):
            logging.getLogger("gped").info("the other process has finished: nothing is left to do")
            yield None
            return
        yield checkpoint
        shutil.rmtree(folder, ignore_errors=True)  # also what another configuration or older code has left
