"""Draws the pictures of the bundled corpus `demo:pictures`.

    python assets/corpora/pictures.py

Writes 32 small pictures beside this file, four of each of eight shapes, in all hues on light and dark grounds.
A function of nothing: the same pictures every time. Needs Pillow.
"""

import colorsys
import math
from pathlib import Path

from PIL import Image, ImageDraw

OUT = Path(__file__).parent / "pictures"
# Drawn large, kept small: edges are smooth.
CANVAS, SIZE = 384, 96
SHAPES = ["circle", "ring", "square", "star", "stripes", "triangle", "wave", "cross"]
# Brightness of the ground from top to bottom, where the shape stands, how large it is, and its small companion.
LOOKS = [((0.97, 0.80), (0.38, 0.40), 0.26, (0.86, 0.86)), ((0.30, 0.12), (0.60, 0.42), 0.27, (0.13, 0.87)),
         ((0.75, 0.95), (0.58, 0.62), 0.22, (0.15, 0.16)), ((0.15, 0.45), (0.44, 0.58), 0.29, (0.88, 0.12))]  # fmt: skip


def colour(hue, saturation, value):
    return tuple(round(255 * part) for part in colorsys.hsv_to_rgb(hue % 1, saturation, value))


def star(x, y, r):
    radii = (r, 0.42 * r)
    return [(x + radii[i % 2] * math.sin(i * math.pi / 5), y - radii[i % 2] * math.cos(i * math.pi / 5)) for i in range(10)]


def draw(pen, shape, x, y, r, fill):
    box = (x - r, y - r, x + r, y + r)
    if shape == "circle":
        pen.ellipse(box, fill)
    elif shape == "ring":
        pen.ellipse(box, outline=fill, width=round(r / 2.6))
    elif shape == "square":
        pen.rectangle(box, fill)
    elif shape == "star":
        pen.polygon(star(x, y, 1.2 * r), fill)
    elif shape == "triangle":
        pen.polygon([(x, y - r), (x - r, y + r), (x + r, y + r)], fill)
    elif shape == "cross":
        pen.rectangle((x - r, y - r / 3, x + r, y + r / 3), fill)
        pen.rectangle((x - r / 3, y - r, x + r / 3, y + r), fill)
    elif shape == "stripes":
        for i in range(4):
            top = y - r + i * r / 1.75
            pen.rectangle((x - 1.2 * r, top, x + 1.2 * r, top + r / 3.5), fill)
    else:
        for i in range(round(2.4 * r)):
            draw(pen, "circle", x - 1.2 * r + i, y + r / 2 * math.sin(i / r * 2.2 * math.pi), r / 5, fill)


def picture(number, shape, look):
    (top, bottom), (x, y), size, (dot_x, dot_y) = LOOKS[look]
    # Every hue once, the ground a faint one from the other side of the circle.
    hue = (number * 13 % 32) / 32
    image = Image.new("RGB", (CANVAS, CANVAS))
    pen = ImageDraw.Draw(image)
    for row in range(CANVAS):
        pen.line((0, row, CANVAS, row), colour(hue + 0.5, 0.18, top + (bottom - top) * row / CANVAS))
    draw(pen, shape, x * CANVAS, y * CANVAS, size * CANVAS, colour(hue, 0.85, 0.9))
    draw(pen, "circle", dot_x * CANVAS, dot_y * CANVAS, 0.07 * CANVAS, colour(hue + 0.33, 0.7, 0.7))
    return image.resize((SIZE, SIZE), Image.Resampling.LANCZOS)


def main():
    OUT.mkdir(exist_ok=True)
    for number in range(4 * len(SHAPES)):
        shape, look = SHAPES[number // 4], number % 4
        picture(number, shape, look).save(OUT / f"{shape}-{look + 1}.png", optimize=True)


if __name__ == "__main__":
    main()
