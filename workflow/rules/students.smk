# Students, some to a job. A rule for each batch of slugs that some cells share: Snakemake wants to know all outputs of a
# job beforehand. Nothing in a rule but its outputs depends on how the students were put together, so that another
# students_per_job finds everything done.

BATCHES = {}
for path, cell in CELLS.items():
    for batch in MATRIX.batches(cell):
        BATCHES.setdefault(batch, []).append(path)

for number, (batch, cells) in enumerate(BATCHES.items()):

    rule:
        name:
            f"students_{number}"
        input:
            set_files,
            readings=f"{RUN}/cells/{{cell}}/readings.bin",
        output:
            [
                f"{RUN}/cells/{{cell}}/students/{slug}.{kind}"
                for slug in batch
                for kind in ("safetensors", "npz")
            ],
        log:
            f"{RUN}/logs/{{cell}}/{batch[0]}.log",
        benchmark:
            f"{RUN}/benchmarks/{{cell}}/{batch[0]}.tsv"
        wildcard_constraints:
            cell="|".join(map(re.escape, cells)),
        conda:
            "../../envs/environment.yaml"
        threads: 1
        resources:
            mem_mb=lambda w, attempt, batch=batch: attempt
            * needs.student_megabytes(CELLS[w.cell], students_of(batch)),
            runtime=lambda w, attempt, batch=batch: attempt
            * needs.student_minutes(MATRIX, CELLS[w.cell], students_of(batch)),
            gpu=GPUS,
        params:
            settings=lambda w, batch=batch: settings(
                MATRIX.training(CELLS[w.cell], StudentId.from_slug(batch[0]).kind)
            ),
            sets=set_arguments,
            code=CODE["students"],
        message:
            f"Training {len(batch)} students of {{wildcards.cell}}: {batch[0]}{', …' if len(batch) > 1 else ''}"
        shell:
            "python -m workflow.scripts.students --settings {params.settings:q} --sets {params.sets:q}"
            " --readings {input.readings:q} --output {output:q}"
            f" --checkpoints {RUN}/checkpoints/{{wildcards.cell}} > {{log:q}} 2>&1"
