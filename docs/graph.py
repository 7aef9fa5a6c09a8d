"""Draw boxes and arrows from top to bottom, as SVG. For rulegraph.py and imports.py."""

from itertools import pairwise
from random import Random
from statistics import fmean

WIDTH, HEIGHT, GAP, ROW, MARGIN = 220, 54, 20, 100, 14
STYLE = """
rect { fill: #eef3f8; stroke: #4a6b8a; stroke-width: 1.2 }
path { fill: none; stroke: #8a96a3; stroke-width: 1.4 }
text { font: 13px system-ui, sans-serif; fill: #333; text-anchor: middle }
.name { font-size: 15px; font-weight: 600; fill: #1d3247 }
"""

Edge = tuple[str, str]
Point = tuple[str, int]  # a box and a row: its own, or one that edges from it cross


def rows_of(edges: list[Edge]) -> dict[str, int]:
    """The row of each box: the first below all that have an edge to it."""
    rows = {box: 0 for edge in edges for box in edge}
    for _ in rows:
        for upper, lower in edges:
            rows[lower] = max(rows[lower], rows[upper] + 1)
    return rows


def placed(ways: list[list[Point]], boxes: set[Point]) -> dict[Point, float]:
    """The middle of each point, from the one of some random starts that has the shortest edges."""
    lines = sorted({line for way in ways for line in pairwise(way)})
    starts = [settled(lines, boxes, Random(seed)) for seed in range(30)]
    middle = min(starts, key=lambda middle: sum(abs(middle[upper] - middle[lower]) for upper, lower in lines))
    shift = MARGIN - min(x - half_of(point, boxes) for point, x in middle.items())
    return {point: x + shift for point, x in middle.items()}


def half_of(point: Point, boxes: set[Point]) -> float:
    """Half the width of a point: a line has none."""
    return WIDTH / 2 if point in boxes else 0


def settled(lines: list[tuple[Point, Point]], boxes: set[Point], random: Random) -> dict[Point, float]:
    """From a random order in each row: each point goes to the middle of its neighbours above and below, if it can."""
    joined: dict[Point, list[Point]] = {}
    for upper, lower in lines:
        joined.setdefault(upper, []).append(lower)
        joined.setdefault(lower, []).append(upper)
    rows = [[point for point in sorted(joined) if point[1] == number] for number in range(len(joined))]
    middle = {point: WIDTH * random.random() for point in sorted(joined)}
    half = {point: half_of(point, boxes) for point in joined}
    for sweep in range(80):
        for row in rows:
            wish = {point: fmean(middle[other] for other in joined[point]) for point in row}
            if sweep < 40:  # the order first, then the distances
                row.sort(key=wish.__getitem__)
            least, most = dict(wish), dict(wish)  # pushed to the right, and to the left, until nothing overlaps
            for left, right in pairwise(row):
                least[right] = max(least[right], least[left] + half[left] + GAP + half[right])
            for right, left in pairwise(reversed(row)):
                most[left] = min(most[left], most[right] - half[left] - GAP - half[right])
            middle |= {point: (least[point] + most[point]) / 2 for point in row}
    return middle


def svg(title: str, edges: list[Edge], what: dict[str, str]) -> str:
    """The picture. Every edge has its ends in its title, and edges from one box share their way while they can.

    Args:
        title: What it shows.
        edges: From one box to another below it.
        what: A few words for each box.
    """
    rows = rows_of(edges)
    boxes = set(rows.items())
    ways = [[*((start, row) for row in range(rows[start], rows[end])), (end, rows[end])] for start, end in edges]
    middle = placed(ways, boxes)
    top = {point: MARGIN + ROW * point[1] for point in middle}
    width = round(max(x + half_of(point, boxes) for point, x in middle.items()) + MARGIN)
    height = max(top.values()) + HEIGHT + MARGIN
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img">',
        f"<title>{title}</title>",
        f"<style>{STYLE}</style>",
        '<marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" style="fill: #8a96a3; stroke: none"/></marker>',
        '<rect width="100%" height="100%" rx="8" style="fill: #fff; stroke: none"/>',
    ]
    for (first, last), way in zip(edges, ways, strict=True):
        path = f"M{middle[way[0]]:.0f} {top[way[0]]}"
        for upper, lower in pairwise(way):
            start, end, bend = top[upper] + HEIGHT, top[lower], (top[upper] + HEIGHT + top[lower]) // 2
            path += f" V{start} C{middle[upper]:.0f} {bend} {middle[lower]:.0f} {bend} {middle[lower]:.0f} {end}"
        lines.append(f'<path d="{path}" marker-end="url(#arrow)"><title>{first} → {last}</title></path>')
    for point in sorted(boxes, key=lambda point: (point[1], middle[point])):
        x, y = middle[point], top[point]
        lines.append(f'<rect x="{x - WIDTH / 2:.0f}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="7"/>')
        lines.append(f'<text class="name" x="{x:.0f}" y="{y + 23}">{point[0]}</text>')
        lines.append(f'<text x="{x:.0f}" y="{y + 42}">{what[point[0]]}</text>')
    return "\n".join([*lines, "</svg>", ""])
