#!/usr/bin/env bash
# Tells Snakemake how a job is: running, success or failed. For Slurm; other schedulers have their own command for it.
answer=$(squeue --noheader --states=all --format=%T --jobs="$1" 2>&1)
case "$answer" in
    COMPLETED*) echo success ;;
    PENDING* | CONFIGURING* | RUNNING* | COMPLETING* | SUSPENDED* | REQUEUED* | STAGE_OUT*) echo running ;;
    *"Unable to contact"* | *"timed out"* | "") echo running ;; # ask again
    *) echo failed ;;
esac
