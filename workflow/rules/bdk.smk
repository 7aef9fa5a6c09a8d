# Bayesian Dark Knowledge beside what one would otherwise take, if the configuration has a section bdk. The chain and its
# student are made by the rules of all cells; here are networks that SGD trains, their students, and the table.

if bdk.is_wanted(MATRIX):
    BDK_CELLS = [cell.path for cell in bdk.cells(MATRIX)]
    NETWORKS = bdk.networks(MATRIX)

    rule network:
        input:
            lambda w: set_files(CELLS[w.cell]),
            tried=lambda w: [
                PATHS.network(w.cell, name)[1]
                for name in bdk.tried(MATRIX, NETWORKS[w.network])
            ],
        output:
            parameters=PATHS.network("{cell}", "{network}")[0],
            told=PATHS.network("{cell}", "{network}")[1],
        log:
            PATHS.log(Jobs.network("{cell}", "{network}")),
        benchmark:
            PATHS.benchmark(Jobs.network("{cell}", "{network}"))
        wildcard_constraints:
            cell="|".join(map(re.escape, BDK_CELLS)),
            network="|".join(NETWORKS),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=lambda w, attempt: attempt * needs.MEGABYTES,
            runtime=lambda w, attempt: attempt
            * needs.network_minutes(MATRIX, CELLS[w.cell]),
            gpu=GPUS,
        params:
            file=lambda w: PATHS.settings(Jobs.network(w.cell, w.network)),
            settings=lambda w: as_text(
                bdk.training(MATRIX, CELLS[w.cell], NETWORKS[w.network])
            ),
            sets=lambda w, input: set_arguments(CELLS[w.cell], input),
            tried=lambda w, input: [f"{Path(file).stem}={file}" for file in input.tried],
            checkpoints=lambda w: PATHS.checkpoints(Jobs.network(w.cell, w.network)),
            code=code("network"),
        message:
            "Training the network {wildcards.network} of {wildcards.cell}"
        shell:
            "python -m workflow.scripts.network --settings {params.file:q} --sets {params.sets:q}"
            " --tried {params.tried:q} --parameters {output.parameters:q} --told {output.told:q}"
            " --checkpoints {params.checkpoints:q} > {log:q} 2>&1"

    rule ensemble:
        input:
            lambda w: set_files(CELLS[w.cell]),
            networks=lambda w: [
                file
                for name in bdk.members(MATRIX, w.teacher)
                for file in PATHS.network(w.cell, name)
            ],
        output:
            reference=PATHS.ensemble("{cell}", "{teacher}"),
            student=PATHS.ensemble_student("{cell}", "{teacher}")[0],
            predictions=PATHS.ensemble_student("{cell}", "{teacher}")[1],
        log:
            PATHS.log(Jobs.ensemble("{cell}", "{teacher}")),
        benchmark:
            PATHS.benchmark(Jobs.ensemble("{cell}", "{teacher}"))
        wildcard_constraints:
            cell="|".join(map(re.escape, BDK_CELLS)),
            teacher="|".join(bdk.ENSEMBLES),
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=lambda w, attempt: attempt * needs.MEGABYTES,
            runtime=lambda w, attempt: attempt
            * needs.ensemble_minutes(MATRIX, CELLS[w.cell]),
            gpu=GPUS,
        params:
            file=lambda w: PATHS.settings(Jobs.ensemble(w.cell, w.teacher)),
            settings=lambda w: as_text(bdk.teaching(MATRIX, CELLS[w.cell], w.teacher)),
            sets=lambda w, input: set_arguments(CELLS[w.cell], input),
            checkpoints=lambda w: PATHS.checkpoints(Jobs.ensemble(w.cell, w.teacher)),
            code=code("ensemble"),
        message:
            "Asking the {wildcards.teacher} networks of {wildcards.cell}, and training their student"
        shell:
            "python -m workflow.scripts.ensemble --settings {params.file:q} --sets {params.sets:q}"
            " --networks {input.networks:q} --reference {output.reference:q} --student {output.student:q}"
            " --predictions {output.predictions:q} --checkpoints {params.checkpoints:q} > {log:q} 2>&1"

    rule latency:
        input:
            images=lambda w: PATHS.images(CELLS[w.cell].dataset, "test"),
            students=lambda w: [
                PATHS.student_files(w.cell, bdk.student(MATRIX).slug)[0],
                *(PATHS.ensemble_student(w.cell, name)[0] for name in bdk.ENSEMBLES),
            ],
        output:
            PATHS.latency("{cell}"),
        log:
            PATHS.log(Jobs.latency("{cell}")),
        benchmark:
            PATHS.benchmark(Jobs.latency("{cell}"))
        localrule: True
        conda:
            "../../envs/torch.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            students=lambda w, input: [
                f"{name}={file}"
                for name, file in zip([bdk.CHAIN, *bdk.ENSEMBLES], input.students)
            ],
            code=code("latency"),
        message:
            "Timing the students of {wildcards.cell}"
        shell:
            "python -m workflow.scripts.latency --images {input.images:q} --students {params.students:q}"
            " --output {output:q} > {log:q} 2>&1"

    rule tabulate_bdk:
        input:
            [
                file
                for cell in BDK_CELLS
                for file in (
                    PATHS.images(CELLS[cell].dataset, "test"),
                    PATHS.reference(cell),
                    PATHS.predictions(cell, bdk.student(MATRIX).slug),
                    PATHS.latency(cell),
                    *(
                        PATHS.network(cell, f"{kind}-0")[1]
                        for kind in ("plain", "dropout")
                    ),
                    *(PATHS.ensemble(cell, name) for name in bdk.ENSEMBLES),
                    *(PATHS.ensemble_student(cell, name)[1] for name in bdk.ENSEMBLES),
                )
            ],
        output:
            [PATHS.table("bdk", form) for form in TABLE_FORMS],
        log:
            PATHS.log(Jobs.tables("bdk")),
        benchmark:
            PATHS.benchmark(Jobs.tables("bdk"))
        localrule: True
        conda:
            "../../envs/tables.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            file=PATHS.settings(Jobs.tables("bdk")),
            settings=as_text(bdk.tabulating(MATRIX)),
            run=lambda w, output: Path(output[0]).parent.parent,
            code=code("bdk"),
        message:
            "Setting Bayesian Dark Knowledge beside what one would otherwise take"
        shell:
            "python -m workflow.scripts.bdk --settings {params.file:q} --run {params.run:q} > {log:q} 2>&1"

    rule bdk:
        input:
            rules.tabulate_bdk.output,
