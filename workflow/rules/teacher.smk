# Teachers: each chain runs once, and records what it says. A rule for cells that are alone, and others for those that share
# a job. What tells whether a chain must run again does not depend on what shares its job.

for name, shared in PLAN.chains().items():

    rule:
        name:
            name
        input:
            lambda w, shared=shared: set_files(first_cell(w, shared)),
        output:
            [file for cell in shared.cells for file in PATHS.chain_files(cell)],
        log:
            [PATHS.log(Jobs.teacher(cell)) for cell in shared.cells],
        benchmark:
            PATHS.benchmark(Jobs.teacher(shared.cells[0]))
        wildcard_constraints:
            **constraints(shared),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=lambda w, attempt: attempt * needs.MEGABYTES,
            runtime=lambda w, attempt, shared=shared: attempt
            * needs.chain_minutes(MATRIX, first_cell(w, shared), len(shared.cells)),
            gpu=GPUS,
        params:
            settings=lambda w, shared=shared: as_text(
                settings.without_mask(settings.teacher(MATRIX, first_cell(w, shared)))
            ),
            sets=lambda w, input, shared=shared: set_arguments(
                first_cell(w, shared), input
            ),
            told=Path(PATHS.settings("any")).parent,
            checkpoints=Path(PATHS.checkpoints("any")).parent,
            code=code("teacher"),
        message:
            f"Running the chain of {told_of(shared)}"
        shell:
            "python -m workflow.scripts.teacher --settings {params.told:q} --sets {params.sets:q}"
            " --output {output:q} --checkpoints {params.checkpoints:q} --logs {log:q} > {log[0]:q} 2>&1"
