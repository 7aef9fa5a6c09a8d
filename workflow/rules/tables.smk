# Numbers, and the paper's tables made of them.


rule measure:
    input:
        measured_files,
    output:
        f"{RUN}/tables/{{table}}.csv",
    log:
        f"{RUN}/logs/tables/{{table}}.log",
    benchmark:
        f"{RUN}/benchmarks/tables/{{table}}.tsv"
    wildcard_constraints:
        table="|".join(
            ["ablations", *(part for kind in TIDY for part in MATRIX.parts(kind))]
        ),
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=30,
    params:
        settings=lambda w: settings(
            {"table": w.table, "needs": MATRIX.measured(w.table)}
        ),
        root=lambda w, output: Path(output[0]).parent.parent,
        code=CODE["measure"],
    message:
        "Computing the numbers of {wildcards.table}"
    shell:
        "python -m workflow.scripts.measure --settings {params.settings:q} --root {params.root:q} --output {output:q}"
        " > {log:q} 2>&1"


rule tidy:
    input:
        lambda w: [f"{RUN}/tables/{part}.csv" for part in MATRIX.parts(w.kind)],
    output:
        f"{RUN}/tables/{{kind}}.csv",
    log:
        f"{RUN}/logs/tables/{{kind}}.log",
    benchmark:
        f"{RUN}/benchmarks/tables/{{kind}}.tsv"
    wildcard_constraints:
        kind="|".join(kind for kind in TIDY if kind != "exp1"),
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Putting {wildcards.kind} together"
    shell:
        "awk 'FNR > 1 || NR == 1' {input:q} > {output:q} 2> {log:q}"


rule render:
    input:
        f"{RUN}/tables/{{table}}.csv",
    output:
        md=f"{RUN}/tables/{{table}}.md",
        tex=f"{RUN}/tables/{{table}}.tex",
        html=report(
            f"{RUN}/tables/{{table}}.html",
            caption="../report/table.rst",
            category="Tables",
            subcategory=lambda w: experiment_of(w.table),
            labels=lambda w: labels_of(w.table),
        ),
    log:
        f"{RUN}/logs/tables/{{table}}.render.log",
    benchmark:
        f"{RUN}/benchmarks/tables/{{table}}.render.tsv"
    wildcard_constraints:
        table="|".join(MATRIX.tables()) or "none",
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        table="{table}",
        code=CODE["render"],
    message:
        "Rendering the table {wildcards.table}"
    shell:
        "python -m workflow.scripts.render --table {params.table} --numbers {input:q}"
        " --output {output:q} > {log:q} 2>&1"


rule all_tables:
    input:
        [
            f"{RUN}/tables/{table}.{kind}"
            for table in MATRIX.tables()
            for kind in ("csv", "md", "tex", "html")
        ],
        [f"{RUN}/tables/{kind}.csv" for kind in TIDY if MATRIX.parts(kind)],
        [
            f"{RUN}/tables/{page}.{kind}"
            for page in ("published_vs_reproduced", "claims")
            for kind in ("csv", "md", "html")
        ],
        [
            f"{RUN}/figures/{figure}.{kind}"
            for figure in (*MATRIX.figures(), "published_vs_reproduced")
            for kind in ("pdf", "png")
        ],
        f"{RUN}/summary.html",
