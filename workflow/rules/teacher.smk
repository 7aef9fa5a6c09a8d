# Teachers: each chain runs once, and records what it says.


rule teacher:
    input:
        set_files,
    output:
        readings=PATHS.readings("{cell}"),
        reference=PATHS.reference("{cell}"),
    log:
        PATHS.log(Jobs.teacher("{cell}")),
    benchmark:
        PATHS.benchmark(Jobs.teacher("{cell}"))
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=lambda w, attempt: attempt * needs.MEGABYTES,
        runtime=lambda w, attempt: attempt * needs.chain_minutes(MATRIX, CELLS[w.cell]),
        gpu=GPUS,
    params:
        file=lambda w: PATHS.settings(Jobs.teacher(w.cell)),
        settings=lambda w: as_text(settings.teacher(MATRIX, CELLS[w.cell])),
        sets=set_arguments,
        checkpoints=lambda w: PATHS.checkpoints(Jobs.teacher(w.cell)),
        code=code("teacher"),
    message:
        "Running the chain of {wildcards.cell}"
    shell:
        "python -m workflow.scripts.teacher --settings {params.file:q} --sets {params.sets:q}"
        " --readings {output.readings:q} --reference {output.reference:q}"
        " --checkpoints {params.checkpoints:q} > {log:q} 2>&1"
