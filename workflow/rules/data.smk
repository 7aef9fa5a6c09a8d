# Images: fetched, checked and decoded once.


rule data:
    output:
        PATHS.images("{name}", "{split}"),
    log:
        PATHS.log(Jobs.data("{name}", "{split}")),
    benchmark:
        PATHS.benchmark(Jobs.data("{name}", "{split}"))
    wildcard_constraints:
        name="|".join(name for name, _ in MATRIX.all_sets()),
        split="train|test",
    localrule: True  # so that only the machine where Snakemake runs must reach the internet
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        file=lambda w: PATHS.settings(Jobs.data(w.name, w.split)),
        settings=lambda w: as_text(settings.images(MATRIX, w.name)),
        code=code("data"),
    message:
        "Getting the {wildcards.split} images of {wildcards.name}"
    shell:
        "python -m workflow.scripts.data --settings {params.file:q} --output {output:q} > {log:q} 2>&1"
