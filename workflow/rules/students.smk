# Students, some to a job. A rule for each batch of students that some cells share: Snakemake wants to know all outputs of
# a job beforehand. What tells whether it must run again does not depend on how the students were put together, so that
# another students_per_job finds everything done.

for name, (batch, cells) in PLAN.batches().items():

    rule:
        name:
            name
        input:
            set_files,
            readings=PATHS.readings("{cell}"),
        output:
            [
                file
                for student in batch
                for file in PATHS.student_files("{cell}", student.slug)
            ],
        log:
            PATHS.log(Jobs.student("{cell}", batch[0].slug)),
        benchmark:
            PATHS.benchmark(Jobs.student("{cell}", batch[0].slug))
        wildcard_constraints:
            cell="|".join(map(re.escape, cells)),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=lambda w, attempt, batch=batch: attempt
            * needs.student_megabytes(CELLS[w.cell], batch),
            runtime=lambda w, attempt, batch=batch: attempt
            * needs.student_minutes(MATRIX, CELLS[w.cell], batch),
            gpu=GPUS,
        params:
            settings=lambda w, batch=batch: as_text(
                settings.training(MATRIX, CELLS[w.cell], batch[0])
            ),
            sets=set_arguments,
            told=lambda w: Path(PATHS.settings(Jobs.student(w.cell, "any"))).parent,
            checkpoints=lambda w: Path(
                PATHS.checkpoints(Jobs.student(w.cell, "any"))
            ).parent,
            code=code("students"),
        message:
            f"Training {len(batch)} students of {{wildcards.cell}}: {batch[0].slug}{', …' if len(batch) > 1 else ''}"
        shell:
            "python -m workflow.scripts.students --settings {params.told:q} --sets {params.sets:q}"
            " --readings {input.readings:q} --output {output:q} --checkpoints {params.checkpoints:q} > {log:q} 2>&1"
