"""What every room uses: checkpoints, files written whole, checks, progress, random streams."""
