"""Draws `symbols.ttf`: the window's own symbols, which no bundled font has.

    python assets/symbols.py

Needs fontTools. Shapes are strokes with round ends, polygons and discs in units of the font size, x to the
right, y downwards, the baseline at 0. The same script gives the same bytes.
"""

import math
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen

UNITS = 1000
THIN = 0.075
# Corners of a full circle: at 26 points a side is a third of a pixel.
CORNERS = 32


def line(width, *points):
    return [stadium(width / 2, a, b) for a, b in zip(points, points[1:])]


def area(*corners):
    return [clockwise(list(corners))]


def disc(center, radius):
    return [clockwise(arc(center, radius, 0, math.tau))]


def ring(width, center, radius):
    inner = clockwise(arc(center, radius - width / 2, 0, math.tau))
    return [*disc(center, radius + width / 2), inner[::-1]]


def crescent(center, radius, bite, bite_radius):
    """What is left of the first disc outside the second."""
    outer = [p for p in arc(center, radius, 0, math.tau, 8 * CORNERS) if math.dist(p, bite) >= bite_radius]
    inner = [p for p in arc(bite, bite_radius, 0, math.tau, 8 * CORNERS) if math.dist(p, center) <= radius]
    outer, inner = rotate_to_gap(outer), rotate_to_gap(inner)
    return [clockwise(outer + inner[::-1])]


def stadium(half, a, b):
    angle = math.atan2(b[1] - a[1], b[0] - a[0])
    end = arc(b, half, angle - math.pi / 2, math.pi)
    start = arc(a, half, angle + math.pi / 2, math.pi)
    return clockwise(end + start)


def arc(center, radius, start, sweep, corners=CORNERS):
    n = max(4, round(corners * sweep / math.tau))
    steps = range(n) if sweep == math.tau else range(n + 1)
    at = lambda i: start + sweep * i / n
    return [(center[0] + radius * math.cos(at(i)), center[1] + radius * math.sin(at(i))) for i in steps]


def rotate_to_gap(points):
    """Starts an open run of points after its largest gap."""
    gaps = [math.dist(points[i - 1], points[i]) for i in range(len(points))]
    first = gaps.index(max(gaps))
    return points[first:] + points[:first]


def clockwise(points):
    """Outer contours of TrueType turn clockwise where y points upwards."""
    pairs = zip(points, points[1:] + points[:1])
    turn = sum((b[0] - a[0]) * (b[1] + a[1]) for a, b in pairs)
    return points if turn < 0 else points[::-1]


SYMBOLS = {
    "␣": ("space", 0.52, line(0.07, (0.07, -0.06), (0.07, 0.1), (0.45, 0.1), (0.45, -0.06))),
    "⏎": (
        "return",
        0.8,
        line(THIN, (0.68, -0.62), (0.68, -0.28), (0.16, -0.28)) + line(THIN, (0.32, -0.44), (0.14, -0.28), (0.32, -0.12)),
    ),
    "⏴": ("left", 0.7, area((0.5, -0.62), (0.5, -0.1), (0.16, -0.36))),
    "⏵": ("right", 0.7, area((0.2, -0.62), (0.54, -0.36), (0.2, -0.1))),
    "⏷": ("down", 0.62, area((0.1, -0.46), (0.52, -0.46), (0.31, -0.2))),
    "←": ("arrowleft", 0.9, line(THIN, (0.8, -0.34), (0.12, -0.34)) + line(THIN, (0.34, -0.56), (0.12, -0.34), (0.34, -0.12))),
    "→": ("arrowright", 0.9, line(THIN, (0.1, -0.34), (0.78, -0.34)) + line(THIN, (0.56, -0.56), (0.78, -0.34), (0.56, -0.12))),
    "✖": ("close", 0.7, line(0.09, (0.14, -0.6), (0.56, -0.14)) + line(0.09, (0.56, -0.6), (0.14, -0.14))),
    "☀": (
        "sun",
        1.0,
        disc((0.5, -0.34), 0.17)
        + line(THIN, (0.5, -0.78), (0.5, -0.64))
        + line(THIN, (0.5, -0.04), (0.5, 0.1))
        + line(THIN, (0.06, -0.34), (0.2, -0.34))
        + line(THIN, (0.8, -0.34), (0.94, -0.34))
        + line(THIN, (0.19, -0.65), (0.29, -0.55))
        + line(THIN, (0.71, -0.13), (0.81, -0.03))
        + line(THIN, (0.81, -0.65), (0.71, -0.55))
        + line(THIN, (0.29, -0.13), (0.19, -0.03)),
    ),
    "🌙": ("moon", 1.0, crescent((0.5, -0.34), 0.38, (0.68, -0.46), 0.32)),
    "📷": (
        "camera",
        1.1,
        line(
            THIN,
            (0.1, -0.6),
            (0.34, -0.6),
            (0.42, -0.74),
            (0.68, -0.74),
            (0.76, -0.6),
            (1.0, -0.6),
            (1.0, 0.02),
            (0.1, 0.02),
            (0.1, -0.6),
        )
        + ring(THIN, (0.55, -0.3), 0.17),
    ),
    "📋": (
        "copy",
        1.0,
        line(THIN, (0.34, -0.54), (0.9, -0.54), (0.9, 0.06), (0.34, 0.06), (0.34, -0.54))
        + line(THIN, (0.2, -0.14), (0.12, -0.14), (0.12, -0.76), (0.7, -0.76), (0.7, -0.68)),
    ),
    "⚠": (
        "warning",
        1.0,
        line(THIN, (0.5, -0.72), (0.92, 0.02), (0.08, 0.02), (0.5, -0.72))
        + line(0.09, (0.5, -0.46), (0.5, -0.24))
        + disc((0.5, -0.1), 0.055),
    ),
}


def glyph(contours):
    pen = TTGlyphPen(None)
    for contour in contours:
        points = [(round(x * UNITS), round(-y * UNITS)) for x, y in contour]
        pen.moveTo(points[0])
        for point in points[1:]:
            pen.lineTo(point)
        pen.closePath()
    return pen.glyph()


def main():
    font = FontBuilder(UNITS, isTTF=True)
    names = [".notdef", *(name for name, _, _ in SYMBOLS.values())]
    font.setupGlyphOrder(names)
    font.setupCharacterMap({ord(character): name for character, (name, _, _) in SYMBOLS.items()})
    glyphs = {name: glyph(contours) for name, _, contours in SYMBOLS.values()}
    for drawn in glyphs.values():
        # Strokes overlap; renderers that count windings differently must know.
        drawn.flags[0] |= 0x40
    font.setupGlyf({".notdef": glyph([]), **glyphs})
    widths = {name: advance for name, advance, _ in SYMBOLS.values()}
    font.setupHorizontalMetrics(
        {name: (round(widths.get(name, 0.5) * UNITS), font.font["glyf"][name].xMin if name in glyphs else 0) for name in names}
    )
    # Lines are as high as those of the text font beside it.
    font.setupHorizontalHeader(ascent=1069, descent=-293, lineGap=0)
    font.setupOS2(sTypoAscender=1069, sTypoDescender=-293, sTypoLineGap=0, usWinAscent=1069, usWinDescent=293, fsType=0)
    name = "AttnScope Symbols"
    names = {"familyName": name, "styleName": "Regular", "uniqueFontIdentifier": name, "fullName": name}
    font.setupNameTable({**names, "version": "Version 1.0", "psName": "AttnScopeSymbols-Regular"})
    font.setupPost()
    font.updateHead(created=3_800_000_000, modified=3_800_000_000)
    font.font.recalcTimestamp = False
    target = Path(__file__).with_name("symbols.ttf")
    font.save(target)
    print(target, target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
