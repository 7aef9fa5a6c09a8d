# The paper's figures.


rule draw:
    input:
        figure_files,
    output:
        pdf=f"{RUN}/figures/{{figure}}.pdf",
        png=report(
            f"{RUN}/figures/{{figure}}.png",
            caption="../report/figure.rst",
            category="Figures",
            subcategory=lambda w: experiment_of(w.figure),
            labels=lambda w: labels_of(w.figure),
        ),
    log:
        f"{RUN}/logs/figures/{{figure}}.log",
    benchmark:
        f"{RUN}/benchmarks/figures/{{figure}}.tsv"
    wildcard_constraints:
        figure="|".join(MATRIX.figures()),
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        figure="{figure}",
        data_seed=config["data_seed"],
        code=CODE["draw"],
    message:
        "Drawing the figure {wildcards.figure}"
    shell:
        "python -m workflow.scripts.draw --figure {params.figure} --data-seed {params.data_seed} --inputs {input:q}"
        " --output {output:q} > {log:q} 2>&1"


rule all_figures:
    input:
        [
            f"{RUN}/figures/{figure}.{kind}"
            for figure in MATRIX.figures()
            for kind in ("pdf", "png")
        ],
