# Images: fetched, checked and decoded once.


rule data:
    output:
        f"{RUN}/data/{{name}}-{{split}}.npz",
    log:
        f"{RUN}/logs/data/{{name}}-{{split}}.log",
    benchmark:
        f"{RUN}/benchmarks/data/{{name}}-{{split}}.tsv"
    wildcard_constraints:
        name=r"\w+",
        split="train|test",
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=60,
    params:
        settings=lambda w: settings(
            {
                "name": w.name,
                "split": w.split,
                "root": config["data"]["root"],
                "unofficial": [
                    name for name in config["data"]["unofficial"] if name == w.name
                ],
                "optional": w.name in config["data"]["optional"],
            }
        ),
        cache=f"{config['data']['root']}/cache",
        code=CODE["data"],
    message:
        "Getting the {wildcards.split} images of {wildcards.name}"
    shell:
        "python -m workflow.scripts.data --settings {params.settings:q} --cache {params.cache:q} --output {output:q}"
        " > {log:q} 2>&1"
