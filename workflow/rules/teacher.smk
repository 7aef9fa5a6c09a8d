# Teachers: each chain runs once, and records what it says.


rule teacher:
    input:
        set_files,
    output:
        readings=f"{RUN}/cells/{{cell}}/readings.bin",
        reference=f"{RUN}/cells/{{cell}}/reference.npz",
    log:
        f"{RUN}/logs/{{cell}}/teacher.log",
    benchmark:
        f"{RUN}/benchmarks/{{cell}}/teacher.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: attempt * needs.MEGABYTES,
        runtime=lambda w, attempt: attempt * needs.chain_minutes(MATRIX, CELLS[w.cell]),
        gpu=GPUS,
    params:
        settings=lambda w: settings(MATRIX.teacher(CELLS[w.cell])),
        sets=set_arguments,
        code=CODE["teacher"],
    message:
        "Running the chain of {wildcards.cell}"
    shell:
        "python -m workflow.scripts.teacher --settings {params.settings:q} --sets {params.sets:q}"
        " --readings {output.readings:q} --reference {output.reference:q}"
        f" --checkpoints {RUN}/checkpoints/{{wildcards.cell}} > {{log:q}} 2>&1"
