# Reproduces the tables and figures of "Generalized Bayesian Posterior Expectation Distillation for Deep Neural
# Networks" (UAI 2020).
#
#     snakemake --cores 2 all_tables                                        on embedded data, in minutes
#     snakemake --cores 2 all_tables --config preset=paper                  on the paper's data
#
# Everything lands in results/<run>/, whose grammar stands in workflow/experiments/paths.py. What there is to make, each cell,
# student, table and figure, is a value in workflow/experiments/; the rules ask there.
from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


report: "workflow/report/summary.rst"


include: "workflow/rules/preset.smk"
include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/teacher.smk"
include: "workflow/rules/students.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/reproduction.smk"
include: "workflow/rules/bdk.smk"


rule all:
    default_target: True
    input:
        rules.all_tables.input,


# Each of the paper's tables and figures is also a target of its own name, for all its formats.
for table in PLAN.tables:
    for part in table.parts_in(MATRIX) if table.is_published else ():

        rule:
            name:
                table.file(part)
            input:
                [PATHS.table(table.file(part), form) for form in TABLE_FORMS],


for figure in PLAN.figures.values():
    if figure.experiment:

        rule:
            name:
                figure.name
            input:
                [PATHS.figure(figure.name, form) for form in FIGURE_FORMS],


rule report:
    input:
        rules.all_tables.input,
    output:
        PATHS.page("report"),
    log:
        PATHS.log("report"),
    benchmark:
        PATHS.benchmark("report")
    localrule: True
    conda:
        "envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=f"{PATHS.run}/config.yaml",
        snakefile=workflow.snakefile,
        style=f"{workflow.basedir}/workflow/report/style.css",
    message:
        "Putting everything on one page"
    shell:
        "python -m snakemake --snakefile {params.snakefile:q} --nolock --configfile {params.config:q}"
        " --report {output:q} --report-stylesheet {params.style:q} all_tables > {log:q} 2>&1"


refuse_unknown_targets()
