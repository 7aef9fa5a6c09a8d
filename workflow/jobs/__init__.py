"""What jobs share: their arguments and logs, arrays in files, checkpoints, and the images of a cell."""
