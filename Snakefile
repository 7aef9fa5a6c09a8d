# Reproduces the tables and figures of "Generalized Bayesian Posterior Expectation Distillation for Deep Neural
# Networks" (UAI 2020).
#
#     snakemake --cores 2 all_tables                                        on embedded data, in minutes
#     snakemake --cores 2 --configfile workflow/presets/paper.yaml all_tables     on the paper's data
#
# Everything lands in results/<run>/:
#     data/<set>-<split>.npz                                     images, fetched, checked and decoded
#     cells/<model>-<set>/n<size>-m<mask>-s<seed>/               a cell: one teacher and its students
#         readings.bin, reference.npz                            what its chain said, and the whole ensemble's verdict
#         students/<slug>.safetensors, .npz                      a student, and its predictions
#     tables/*.csv, *.md, *.tex, *.html                          numbers, and the paper's tables
#     figures/*.pdf, *.png                                       the paper's figures
#     logs/, benchmarks/, config.yaml, manifest.json             how it came about
from snakemake.utils import min_version

min_version("9.0")


configfile: f"{workflow.basedir}/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/data.smk"
include: "workflow/rules/teacher.smk"
include: "workflow/rules/students.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/figures.smk"


rule all:
    default_target: True
    input:
        rules.all_tables.input,
