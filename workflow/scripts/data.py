"""Fetch, check and decode one set of images.

A set that is listed as optional and is not available becomes an empty one; the tables leave its rows empty.
"""

import logging

import numpy as np

from gped.data.images import DataError, ImageSet
from gped.data.sets import entry_of, load
from workflow.jobs import job


def main() -> None:
    """Write the set to --output."""
    given = job.arguments(__doc__, "settings", "output")
    settings = job.read_settings(given.settings)
    name, split = settings["name"], settings["split"]
    try:
        images = load(name, split, settings["root"], settings["cache"], [name] if settings["unofficial"] else [])
    except DataError as error:
        if not settings["optional"]:
            raise
        logging.warning("%s is not available and optional, so its rows stay empty: %s", name, error)
        empty = np.zeros((0, *entry_of(name).shape), np.uint8)
        images = ImageSet(name, empty, np.zeros(0, np.int64), f"not available: {error}")
    logging.info("%s %s: %d images from %s", name, split, len(images), images.source)
    images.save(given.output)


if __name__ == "__main__":
    job.run(main)
