"""All benchmarks: python benchmarks [--rounds 15] [--output benchmarks/results]

Prints tables, and writes them as CSV with one picture. Takes some minutes; see README.md beside this for what it shows.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import overhead
import pandas as pd
import sharing
import steps
import torch
from matplotlib import pyplot as plt


def picture(one_step: pd.DataFrame, shared: pd.DataFrame, path: Path) -> None:
    """Time of a step for each network, and what sharing a chain saves."""
    mpl.use("agg")
    figure, axes = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
    for axis, role in zip(axes, steps.NETWORKS, strict=False):
        rows = one_step[one_step["network"] == role]
        errors = [rows["ms"] - rows["lower"], rows["upper"] - rows["ms"]]
        colours = ["#0072B2" if name.startswith("ours") else "#999999" for name in rows["step"]]
        axis.barh(rows["step"], rows["ms"], xerr=errors, color=colours)
        axis.invert_yaxis()
        axis.set(title=role, xlabel="CPU ms of a step")
        if axis is not axes[0]:
            axis.set_yticklabels([])
    for thinning, rows in shared.groupby("H"):
        axes[-1].plot(rows["students"], rows["own chains over one"], "o-", label=f"H = {thinning}")
    axes[-1].set(title="N students of one chain", xlabel="N", ylabel="times faster than own chains")
    axes[-1].legend()
    figure.savefig(path, dpi=150)


def ratios(one_step: pd.DataFrame, shared: pd.DataFrame, recorded: pd.DataFrame) -> pd.DataFrame:
    """What the tables say, in the ratios that do not depend on the machine's speed."""
    rows = []
    for role, steps_of in one_step.groupby("network", sort=False):
        times = steps_of.set_index("step")["times_ours"]
        for name in ("ours", "ours, native noise"):
            rows += [
                (f"{role}, {name}: times faster than posteriors", times["posteriors"] / times[name]),
                (f"{role}, {name}: over the bare gradient", times[name] / times["forward and backward"]),
            ]
    for thinning, students, _, saving in shared[shared["students"] > 1].itertuples(index=False):
        rows.append((f"{students} students with H = {thinning}: own chains over one chain", saving))
    over = recorded.set_index("run")["over the chain"]
    for name in ("chain, recorded", "chain, recorded, with checkpoints"):
        rows.append((f"{name}: over the chain alone", over[name]))
    return pd.DataFrame(rows, columns=["what", "ratio"])


def main() -> None:
    """Measure, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path, default=Path("benchmarks/results"))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    few = max(2, arguments.rounds // 5)
    tables = {
        "steps": steps.summary(pd.concat([steps.measure(role, arguments.rounds) for role in steps.NETWORKS])),
        "shared": sharing.shared(few),
        "recorded": sharing.recorded(few),
        "growth": sharing.growth(),
        "startup": overhead.startup(),
    }
    tables["ratios"] = ratios(tables["steps"], tables["shared"], tables["recorded"])
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, table in tables.items():
        print(f"\n{name}\n{table.to_string(index=False, float_format='%.2f')}")
        table.to_csv(arguments.output / f"{name}.csv", index=False, float_format="%.4g")
    picture(tables["steps"], tables["shared"], arguments.output / "benchmark.png")


if __name__ == "__main__":
    main()
