"""Draws the loss curves of the bundled models for docs/models.md, from the logs beside their weights.

    python examples/curves.py
"""

import csv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WIDTH, HEIGHT = 420, 180
LEFT, RIGHT, TOP, BOTTOM = 40, 12, 22, 28
COLOURS = {"loss": "#7f8c9b", "heldout_loss": "#2a7de1"}
NAMES = {"loss": "training", "heldout_loss": "held out"}


def ticks(low, high):
    """About four round numbers between two."""
    step = next(s for s in (0.1, 0.2, 0.25, 0.5, 1, 2, 2.5, 5) if (high - low) / s <= 5)
    first = int(low / step) + 1
    return [round(step * i, 2) for i in range(first, int(high / step) + 1)]


def curve(rows, title):
    """An SVG picture of both losses by step."""
    steps = [int(row["step"]) for row in rows]
    values = {column: [float(row[column]) for row in rows] for column in COLOURS}
    low, high = min(map(min, values.values())), max(map(max, values.values()))
    low, high = low - 0.05 * (high - low), high + 0.05 * (high - low)
    x = lambda step: LEFT + (WIDTH - LEFT - RIGHT) * step / steps[-1]  # noqa: E731
    y = lambda value: TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / (high - low)  # noqa: E731
    grey = 'fill="#7f8c9b" font-family="sans-serif" font-size="11"'
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}">']
    out.append(f'<text x="{LEFT}" y="13" {grey}>{title}: loss in nats by step</text>')
    for tick in ticks(low, high):
        out.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#7f8c9b" stroke-opacity="0.25"/>')
        out.append(f'<text x="{LEFT - 5}" y="{y(tick) + 4:.1f}" text-anchor="end" {grey}>{tick:g}</text>')
    for step in (0, steps[-1]):
        anchor = "end" if step else "start"
        out.append(f'<text x="{x(step):.1f}" y="{HEIGHT - 14}" text-anchor="{anchor}" {grey}>{step:,}</text>')
    for place, (column, colour) in enumerate(COLOURS.items()):
        points = " ".join(f"{x(step):.1f},{y(value):.1f}" for step, value in zip(steps, values[column]))
        out.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.75"/>')
        label = f'text-anchor="middle" {grey.replace("#7f8c9b", colour)}'
        out.append(f'<text x="{WIDTH / 2 + 70 * place - 35}" y="{HEIGHT - 14}" {label}>{NAMES[column]}</text>')
    return "\n".join([*out, "</svg>", ""])


def main():
    folder = ROOT / "docs" / "models"
    folder.mkdir(exist_ok=True)
    for log in sorted((ROOT / "assets" / "models").glob("*/training.csv")):
        with open(log, newline="") as file:
            rows = list(csv.DictReader(file))
        if len(rows) == 1:
            continue  # a point is no curve
        (folder / f"{log.parent.name}.svg").write_text(curve(rows, f"demo:{log.parent.name}"))
        print(log.parent.name, rows[-1])


if __name__ == "__main__":
    main()
