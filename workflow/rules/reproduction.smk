# Every published number beside ours, every claim of the paper with a verdict, and the run on a page.


rule compare:
    input:
        [PATHS.table(name) for name in PLAN.comparing()["tables"]],
    output:
        PATHS.table("published_vs_reproduced", "csv"),
        PATHS.table("published_vs_reproduced", "md"),
        report(
            PATHS.table("published_vs_reproduced", "html"),
            caption="../report/reproduction.rst",
            category="Reproduction",
            labels={"shows": "published and reproduced", "for": "all numbers"},
        ),
    log:
        PATHS.log("compare"),
    benchmark:
        PATHS.benchmark("compare")
    localrule: True
    conda:
        "../../envs/tables.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        file=PATHS.settings("compare"),
        settings=as_text(PLAN.comparing()),
        run=lambda w, output: Path(output[0]).parent.parent,
        code=code("compare"),
    message:
        "Setting all published numbers beside ours"
    shell:
        "python -m workflow.scripts.compare --settings {params.file:q} --run {params.run:q} > {log:q} 2>&1"


rule claims:
    input:
        [PATHS.table(name) for name in PLAN.judging()["tables"]],
    output:
        PATHS.table("claims", "csv"),
        PATHS.table("claims", "md"),
        report(
            PATHS.table("claims", "html"),
            caption="../report/reproduction.rst",
            category="Reproduction",
            labels={"shows": "claims and verdicts", "for": "all experiments"},
        ),
    log:
        PATHS.log("claims"),
    benchmark:
        PATHS.benchmark("claims")
    localrule: True
    conda:
        "../../envs/tables.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        file=PATHS.settings("claims"),
        settings=as_text(PLAN.judging()),
        run=lambda w, output: Path(output[0]).parent.parent,
        code=code("claims"),
    message:
        "Judging the paper's claims"
    shell:
        "python -m workflow.scripts.claims --settings {params.file:q} --run {params.run:q} > {log:q} 2>&1"


rule summarise:
    input:
        PATHS.table("claims"),
        PATHS.table("published_vs_reproduced"),
        PATHS.figure(PLAN.main_figure),
    output:
        PATHS.page("summary"),
    log:
        PATHS.log("summary"),
    benchmark:
        PATHS.benchmark("summary")
    localrule: True
    conda:
        "../../envs/tables.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        file=PATHS.settings("summary"),
        settings=as_text(PLAN.summarising()),
        run=lambda w, output: Path(output[0]).parent,
        code=code("summarise"),
    message:
        "Writing the summary"
    shell:
        "python -m workflow.scripts.summarise --settings {params.file:q} --run {params.run:q} > {log:q} 2>&1"


rule published_vs_reproduced:
    input:
        rules.compare.output,
        [PATHS.figure("published_vs_reproduced", form) for form in FIGURE_FORMS],
