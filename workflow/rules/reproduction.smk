# Every published number beside ours, and every claim of the paper with a verdict.

COMPARED = [kind for kind in PUBLISHED if MATRIX.parts(kind)]


rule compare:
    input:
        [f"{RUN}/tables/{kind}.csv" for kind in COMPARED],
    output:
        f"{RUN}/tables/published_vs_reproduced.csv",
        f"{RUN}/tables/published_vs_reproduced.md",
        report(
            f"{RUN}/tables/published_vs_reproduced.html",
            caption="../report/reproduction.rst",
            category="Reproduction",
            labels={"shows": "published and reproduced", "for": "all numbers"},
        ),
    log:
        f"{RUN}/logs/tables/published_vs_reproduced.log",
    benchmark:
        f"{RUN}/benchmarks/tables/published_vs_reproduced.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=settings({"steps": MATRIX.chain_lengths()}),
        code=CODE["compare"],
    message:
        "Setting all published numbers beside ours"
    shell:
        "python -m workflow.scripts.compare --settings {params.settings:q} --numbers {input:q} --output {output:q}"
        " > {log:q} 2>&1"


rule claims:
    input:
        [
            f"{RUN}/tables/{kind}.csv"
            for kind in (
                *COMPARED,
                *(kind for kind in ("tradeoff", "constants") if MATRIX.parts(kind)),
            )
        ],
    output:
        f"{RUN}/tables/claims.csv",
        f"{RUN}/tables/claims.md",
        report(
            f"{RUN}/tables/claims.html",
            caption="../report/reproduction.rst",
            category="Reproduction",
            labels={"shows": "claims and verdicts", "for": "all experiments"},
        ),
    log:
        f"{RUN}/logs/tables/claims.log",
    benchmark:
        f"{RUN}/benchmarks/tables/claims.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        code=CODE["claims"],
    message:
        "Judging the paper's claims"
    shell:
        "python -m workflow.scripts.claims --numbers {input:q} --output {output:q} > {log:q} 2>&1"


# Our own figures: which table each is drawn from, and how the report calls it.
OWN_FIGURES = {
    "published_vs_reproduced": (
        "published_vs_reproduced",
        {"shows": "published against reproduced", "for": "all numbers"},
    ),
    "schedule": (
        "ablations",
        {"shows": "schedules of the learning rate", "for": "MNIST's role"},
    ),
}


rule draw_own:
    input:
        lambda w: f"{RUN}/tables/{OWN_FIGURES[w.own][0]}.csv",
    output:
        pdf=f"{RUN}/figures/{{own}}.pdf",
        png=report(
            f"{RUN}/figures/{{own}}.png",
            caption="../report/reproduction.rst",
            category="Reproduction",
            labels=lambda w: OWN_FIGURES[w.own][1],
        ),
    log:
        f"{RUN}/logs/figures/{{own}}.log",
    benchmark:
        f"{RUN}/benchmarks/figures/{{own}}.tsv"
    wildcard_constraints:
        own="|".join(OWN_FIGURES),
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        data_seed=config["data_seed"],
        code=CODE["draw"],
    message:
        "Drawing the figure {wildcards.own}"
    shell:
        "python -m workflow.scripts.draw --figure {wildcards.own} --data-seed {params.data_seed}"
        " --inputs {input:q} --output {output:q} > {log:q} 2>&1"


rule summarise:
    input:
        claims=f"{RUN}/tables/claims.csv",
        compared=f"{RUN}/tables/published_vs_reproduced.csv",
        figure=f"{RUN}/figures/{MAIN_FIGURE}.png",
    output:
        f"{RUN}/summary.html",
    log:
        f"{RUN}/logs/summary.log",
    benchmark:
        f"{RUN}/benchmarks/summary.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        settings=settings(what_was_run()),
        code=CODE["summary"],
    message:
        "Writing the summary"
    shell:
        "python -m workflow.scripts.summary --settings {params.settings:q} --claims {input.claims:q}"
        " --compared {input.compared:q} --figure {input.figure:q} --output {output:q} > {log:q} 2>&1"


rule published_vs_reproduced:
    input:
        rules.compare.output,
        [f"{RUN}/figures/published_vs_reproduced.{kind}" for kind in ("pdf", "png")],


rule render_ablations:
    input:
        f"{RUN}/tables/ablations.csv",
    output:
        f"{RUN}/tables/ablations.md",
        f"{RUN}/tables/ablations.html",
    log:
        f"{RUN}/logs/tables/ablations.render.log",
    benchmark:
        f"{RUN}/benchmarks/tables/ablations.render.tsv"
    conda:
        "../../envs/environment.yaml"
    threads: 1
    resources:
        mem_mb=500,
        runtime=5,
    params:
        code=CODE["ablations"],
    message:
        "Rendering what the paper left open"
    shell:
        "python -m workflow.scripts.ablations --numbers {input:q} --output {output:q} > {log:q} 2>&1"


rule ablations:
    input:
        f"{RUN}/tables/ablations.csv",
        rules.render_ablations.output,
        [
            f"{RUN}/figures/schedule.{kind}"
            for kind in ("pdf", "png")
            if any(one.name == "schedule" for one in MATRIX.ablations())
        ],
