"""Checks of numbers that people pass in: a sentence instead of a crash an hour later."""

import math
import operator
from collections.abc import Sequence


def whole(what: str, value: object, least: int, most: int | None = None) -> int:
    """The value as a plain integer of at least that size, and at most the other if there is one."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError(f"{what} is {value!r}: it must be a whole number.") from None
    if number < least:
        raise ValueError(f"{what} is {number}: it must be at least {least}.")
    if most is not None and number > most:
        raise ValueError(f"{what} is {number}: it must be at most {most}.")
    return number


def real(what: str, value: object, least: float = 0.0, *, above: bool = False) -> float:
    """The value as a finite float of at least, or above, that size."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise ValueError(f"{what} is {value!r}: it must be a number.") from None
    if not math.isfinite(number) or number < least or (above and number == least):
        raise ValueError(
            f"{what} is {number:g}: it must be a finite number {'above' if above else 'of at least'} {least:g}."
        )
    return number


def share(what: str, value: object) -> float:
    """The value as a float in [0, 1)."""
    number = real(what, value)
    if number >= 1:
        raise ValueError(f"{what} is {number:g}: it must be less than 1.")
    return number


def names_of(classes: int, names: Sequence[str]) -> tuple[str, ...]:
    """Names of the classes: none at all, or one for each, all different."""
    if isinstance(names, str) or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"class_names is {names!r}: it must be a list of texts, one for each class.")
    if names and (len(names) != classes or len(set(names)) < classes):
        raise ValueError(f"class_names is {list(names)}: there must be one for each of the {classes} classes.")
    return tuple(names)
