# Students, some to a job. A rule for each batch of students that some cells share: Snakemake wants to know all outputs of
# a job beforehand. What tells whether it must run again does not depend on how the students were put together, so that
# another students_per_job finds everything done.

for name, shared in PLAN.batches().items():

    rule:
        name:
            name
        input:
            lambda w, shared=shared: set_files(first_cell(w, shared)),
            readings=[PATHS.readings(cell) for cell in shared.cells],
        output:
            [
                file
                for cell in shared.cells
                for student in shared.students
                for file in PATHS.student_files(cell, student.slug)
            ],
        log:
            [
                PATHS.log(Jobs.student(cell, shared.students[0].slug))
                for cell in shared.cells
            ],
        benchmark:
            PATHS.benchmark(Jobs.student(shared.cells[0], shared.students[0].slug))
        wildcard_constraints:
            **constraints(shared),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=lambda w, attempt, shared=shared: attempt
            * needs.student_megabytes(first_cell(w, shared), shared.students),
            runtime=lambda w, attempt, shared=shared: attempt
            * needs.student_minutes(
                MATRIX, first_cell(w, shared), shared.students, len(shared.cells)
            ),
            gpu=GPUS,
        params:
            settings=lambda w, shared=shared: as_text(
                settings.without_mask(
                    settings.training(
                        MATRIX, first_cell(w, shared), shared.students[0]
                    )
                )
            ),
            sets=lambda w, input, shared=shared: set_arguments(
                first_cell(w, shared), input
            ),
            told=Path(PATHS.settings("any")).parent,
            checkpoints=Path(PATHS.checkpoints("any")).parent,
            code=code("students"),
        message:
            f"Training {len(shared.students)} students of {told_of(shared)}: {shared.students[0].slug}"
            f"{', …' if len(shared.students) > 1 else ''}"
        shell:
            "python -m workflow.scripts.students --settings {params.told:q} --sets {params.sets:q}"
            " --readings {input.readings:q} --output {output:q} --checkpoints {params.checkpoints:q}"
            " --logs {log:q} > {log[0]:q} 2>&1"
