"""What a person may have meant who typed a name that is not there."""

import difflib
from collections.abc import Iterable
from pathlib import Path


def meant(name: str, known: Iterable[str], folder: str = "", listing: bool = True) -> str:
    """A sentence that names what comes nearest, or all there is if that is little; empty if neither helps.

    Args:
        name: What was typed.
        known: What there is.
        folder: Put before the names that are suggested.
        listing: Whether to name all there is, if it is little and nothing comes near.
    """
    known = sorted(set(known))
    near = difflib.get_close_matches(name.lower(), {other.lower() for other in known}, n=3, cutoff=0.6)
    if near:  # nobody means the case of letters
        alike = [other for lower in near for other in known if other.lower() == lower]
        return f" Did you mean {' or '.join(folder + other for other in alike)}?"
    if not listing or not 0 < len(known) <= 8:
        return ""
    return f" There is {', '.join(folder + other for other in known)}."


def missing(path: Path, pattern: str = "*") -> str:
    """A sentence about a path that is not there: what may have been meant by the first part of it that is missing.

    Args:
        path: The path.
        pattern: Of the names that may be suggested for its last part.
    """
    first = next((part for part in (*reversed(path.parents), path) if not part.exists()), path)
    found = first.parent.glob(pattern if first == path else "*/")
    folder = "" if first.parent == Path() else f"{first.parent}/"
    return meant(first.name, (other.name for other in found if other.name[0] != "."), folder)
