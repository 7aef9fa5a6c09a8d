"""How all figures look: their sizes, type and colours, and what they write in the same way."""

from collections.abc import Iterable, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullLocator

BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"  # Okabe and Ito: safe for colour-blind readers
COLUMN, PAGE = 3.4, 7.0  # widths in inches
STYLE = {
    "font.size": 7,
    "axes.titlesize": 7,
    "axes.labelsize": 7,
    "legend.fontsize": 7,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "figure.titlesize": 8,
    "figure.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.axisbelow": True,
    "grid.color": "#E0E0E0",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
}
# Light enough for black numbers on them. The second is for differences, with white for none.
LIGHT_TO_DARK = LinearSegmentedColormap.from_list("light to dark", ["#FFFFFF", "#969696"])
LESS_TO_MORE = LinearSegmentedColormap.from_list("less to more", ["#56B4E9", "#FFFFFF", "#E69F00"])
DENSITY = LinearSegmentedColormap.from_list("density", ["#D9D9D9", "#000000"])
PERCENT = FuncFormatter(lambda value, _: percent(value))


def heading(figure: Figure, text: str) -> None:
    """Say above all panels what the figure is about."""
    figure.suptitle(text, x=0.005, ha="left")


def legend_below(figure: Figure, axes: Iterable[Axes], order: Sequence[str] = ()) -> None:
    """One legend for all panels, with each of their entries once, in the order in which they come or in another."""
    entries: dict[str, Any] = {}
    for axis in axes:
        entries |= {label: handle for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)}
    labels = [label for label in order or entries if label in entries]
    figure.legend([entries[label] for label in labels], labels, loc="outside lower center", ncols=len(labels))


def over_training_sizes(axis: Axes, sizes: Iterable[int]) -> None:
    """Let the horizontal axis be the number of training images, with a tick for each that there is."""
    every = sorted(set(sizes))
    axis.set(xscale="log", xlabel="training images")
    axis.set_xticks(every, [f"{size:,}" for size in every])
    axis.xaxis.set_minor_locator(NullLocator())
    axis.grid(axis="y")


def percent(value: float) -> str:
    """A share, with as many digits as it has."""
    return f"{100 * value:.6g} %"


def signed(value: float) -> str:
    """A difference, with a sign unless it is none to the digits that are shown."""
    text = f"{value:+.3f}".replace("-", "−")
    return text if text.strip("+−0.") else "0.000"
