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
        [PATHS.figure(PLAN.main_figure)] if PLAN.main_figure else [],
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


rule crate:
    input:
        results=rules.all_tables.input,
        images=sorted(
            {
                PATHS.images(*one)
                for cell in MATRIX.cells()
                for one in MATRIX.sets(cell).values()
            }
        ),
    output:
        PATHS.crate,
    log:
        PATHS.log("crate"),
    benchmark:
        PATHS.benchmark("crate")
    localrule: True
    conda:
        "../../envs/tables.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        file=PATHS.settings("crate"),
        settings=as_text(PLAN.packing()),
        notes=lambda w: PATHS.run,  # here, also if the results are in storage
        code=code("crate"),
    message:
        "Packing the run as an RO-Crate"
    shell:
        "python -m workflow.scripts.crate --settings {params.file:q} --notes {params.notes:q}"
        " --results {input.results:q} --images {input.images:q} --output {output:q} > {log:q} 2>&1"


rule published_vs_reproduced:
    input:
        rules.compare.output,
        [
            PATHS.figure(name, form)
            for name in PLAN.figures
            if name == "published_vs_reproduced"
            for form in FIGURE_FORMS
        ],
