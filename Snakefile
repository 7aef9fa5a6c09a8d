# Reproduces the tables and figures of "Generalized Bayesian Posterior Expectation Distillation for Deep Neural
# Networks" (UAI 2020).
#
#     snakemake --cores 2 all_tables                                        on embedded data, in minutes
#     snakemake --cores 2 all_tables --config preset=paper                  on the paper's data
#
# Everything lands in results/<run>/:
#     data/<set>-<split>.npz                                     images, fetched, checked and decoded
#     cells/<model>-<set>/n<size>-m<mask>-s<seed>/               a cell: one teacher and its students
#         readings.bin, reference.npz                            what its chain said, and the whole ensemble's verdict
#         students/<slug>.safetensors, .npz                      a student, and its predictions
#     tables/*.csv, *.md, *.tex, *.html                          numbers, and the paper's tables
#     figures/*.pdf, *.png                                       the paper's figures
#     summary.html, report.html                                  the run in a minute, and as a whole
#     logs/, benchmarks/, config.yaml, manifest.json             how it came about
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


rule all:
    default_target: True
    input:
        rules.all_tables.input,


# Each table and figure is also a target of its own name, for all its formats.
for table in MATRIX.tables():

    rule:
        name:
            table
        input:
            [f"{RUN}/tables/{table}.{kind}" for kind in ("csv", "md", "tex", "html")],


for figure in MATRIX.figures():

    rule:
        name:
            figure
        input:
            [f"{RUN}/figures/{figure}.{kind}" for kind in ("pdf", "png")],


rule report:
    input:
        rules.all_tables.input,
    output:
        f"{RUN}/report.html",
    log:
        f"{RUN}/logs/report.log",
    benchmark:
        f"{RUN}/benchmarks/report.tsv"
    conda:
        "envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        config=f"{RUN}/config.yaml",
        snakefile=workflow.snakefile,
        style=f"{workflow.basedir}/workflow/report/style.css",
    message:
        "Putting everything on one page"
    shell:
        "python -m snakemake --snakefile {params.snakefile:q} --nolock --configfile {params.config:q}"
        " --report {output:q} --report-stylesheet {params.style:q} all_tables > {log:q} 2>&1"


refuse_unknown_targets()
