# Figures, the paper's and our own.


rule draw:
    input:
        lambda w: PLAN.figures[w.figure].files(),
    output:
        pdf=PATHS.figure("{figure}", "pdf"),
        png=report(
            PATHS.figure("{figure}", "png"),
            caption="../report/figure.rst",
            category="Figures",
            subcategory=lambda w: PLAN.experiment(PLAN.figures[w.figure].experiment),
            labels=lambda w: {
                "shows": PLAN.figures[w.figure].shows,
                "for": PLAN.figures[w.figure].of,
            },
        ),
    log:
        PATHS.log(Jobs.figure("{figure}")),
    benchmark:
        PATHS.benchmark(Jobs.figure("{figure}"))
    wildcard_constraints:
        figure="|".join(PLAN.figures),
    localrule: True
    conda:
        "../../envs/tables.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        file=lambda w: PATHS.settings(Jobs.figure(w.figure)),
        settings=lambda w: as_text(PLAN.drawing(w.figure)),
        caption=lambda w: PLAN.figures[w.figure].caption,
        run=lambda w, output: Path(output[0]).parent.parent,
        code=code("draw"),
    message:
        "Drawing the figure {wildcards.figure}"
    shell:
        "python -m workflow.scripts.draw --settings {params.file:q} --run {params.run:q} > {log:q} 2>&1"


rule all_figures:
    input:
        [
            PATHS.figure(name, form)
            for name, figure in PLAN.figures.items()
            if figure.experiment
            for form in FIGURE_FORMS
        ],
