"""The file of a student: its parameters, a description that says what they are, and a checksum of both.

It is a safetensors file. Its metadata has one entry, `gped`, of two lines: the format with the checksum, and the
description as JSON.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from gped.support.files import replacing
from gped.support.suggestions import missing

FORMAT = "gped.student/2"
REMEDY = "If it was a student file once, copy it again from where it is whole, or train the student again."


def write(path: str | os.PathLike[str], description: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
    """Write the file, whole or not at all.

    Args:
        path: Where.
        description: Plain values.
        tensors: The parameters by name.
    """
    text = json.dumps(description)
    # Each with memory of its own: safetensors refuses tensors that share it, as tied weights do.
    stored = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    # One entry only: safetensors writes several in an order that changes from run to run.
    content = safetensors.torch.save(stored, {"gped": f"{FORMAT} {_digest(text, stored)}\n{text}"})
    with replacing(path) as part:
        part.write_bytes(content)


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The description and the tensors of a file, as they were written; a ValueError if they are not."""
    path = Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and not a student file.{missing(path / 'a student', '*.safetensors')}")
    if not path.exists():
        raise FileNotFoundError(f"there is no student file {path}.{missing(path, '*.safetensors')}")
    path.open("rb").close()  # because safetensors says of a file that may not be read that it is not there
    try:
        with safe_open(path, framework="pt") as file:
            entry = (file.metadata() or {}).get("gped")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dictionary)
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is truncated or not a student file: {error}. {REMEDY}") from error
    if entry is None:
        raise ValueError(f"{path} is not a student file: it holds tensors, but no description of a student.")
    heading, _, text = entry.partition("\n")
    written_as, _, digest = heading.partition(" ")
    if written_as != FORMAT:
        raise ValueError(
            f"{path} is not a student file that this version of gped reads: its format is not {FORMAT!r}. Load it with "
            "the version that wrote it, or train the student again."
        )
    try:
        if digest != _digest(text, tensors):
            raise ValueError("its content does not have the checksum that was written with it")
        description = json.loads(text)
        if not isinstance(description, dict):
            raise ValueError("its description is not one")
    except (ValueError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    return description, tensors


def damaged(path: str | os.PathLike[str], why: str) -> ValueError:
    """What to raise of a file whose content makes no sense."""
    return ValueError(f"{path} is a damaged student file: {why.rstrip('.')}. {REMEDY}")


def _digest(description: str, tensors: Mapping[str, Tensor]) -> str:
    """Of the description, and of all tensors with their names and shapes, in the order of their names."""
    content = hashlib.sha256(description.encode())
    for name, tensor in sorted(tensors.items()):
        content.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        content.update(tensor.numpy().data)
    return content.hexdigest()
