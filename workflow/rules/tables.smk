# Numbers, and tables made of them. Tables that are computed from the same students are made by one job.

for measurement in PLAN.measurements.values():

    rule:
        name:
            f"measure_{measurement.name}"
        input:
            list(measured_files(measurement)),  # with storage, Snakemake takes the first of an iterator and loses it
        output:
            [
                reported(table, part, form)
                for table, part in measurement.parts
                for form in table.forms
            ],
        log:
            PATHS.log(Jobs.tables(measurement.name)),
        benchmark:
            PATHS.benchmark(Jobs.tables(measurement.name))
        localrule: True
        conda:
            "../../envs/tables.yaml"
        threads: 1
        resources:
            mem_mb=2000,
            runtime=30,
        params:
            file=PATHS.settings(Jobs.tables(measurement.name)),
            settings=as_text(PLAN.measuring(measurement)),
            run=lambda w, output: Path(output[0]).parent.parent,
            code=code("measure"),
        message:
            f"Computing {', '.join(measurement.files)}"
        shell:
            "python -m workflow.scripts.measure --settings {params.file:q} --run {params.run:q} > {log:q} 2>&1"


# The parts of a table, joined: its tidy file.
PARTS = {
    table.name: [PATHS.table(table.file(part)) for part in table.parts_in(MATRIX)]
    for table in PLAN.tables
}


rule tidy:
    input:
        lambda w: PARTS[w.table],
    output:
        PATHS.table("{table}"),
    log:
        PATHS.log("tables/{table}.tidy"),
    benchmark:
        PATHS.benchmark("tables/{table}.tidy")
    wildcard_constraints:
        table="|".join(name for name in PARTS if PARTS[name] != [PATHS.table(name)])
        or "none",
    localrule: True
    conda:
        "../../envs/tables.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    message:
        "Putting {wildcards.table} together"
    shell:
        "awk 'FNR > 1 || NR == 1' {input:q} > {output:q} 2> {log:q}"


rule all_tables:
    input:
        [
            PATHS.table(table.file(part), form)
            for table in PLAN.tables
            for part in table.parts_in(MATRIX)
            for form in table.forms
        ],
        [PATHS.table(name) for name in PARTS],
        [
            PATHS.table(page, form)
            for page in ("published_vs_reproduced", "claims")
            for form in PAGE_FORMS
        ],
        [
            PATHS.figure(name, form)
            for name, figure in PLAN.figures.items()
            if not figure.of_ablations
            for form in FIGURE_FORMS
        ],
        PATHS.page("summary"),


rule ablations:
    input:
        [PATHS.table(ABLATIONS.name, form) for form in ABLATIONS.forms],
        [
            PATHS.figure(name, form)
            for name, figure in PLAN.figures.items()
            if figure.of_ablations
            for form in FIGURE_FORMS
        ],
