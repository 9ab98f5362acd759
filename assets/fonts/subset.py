"""Makes the fonts of window and figures: subsets of Noto Sans, Noto Sans Math and Noto Sans Mono.

    python assets/fonts/subset.py FOLDER

FOLDER has NotoSans-Regular.ttf, NotoSans-Medium.ttf, NotoSansMath-Regular.ttf and NotoSansMono-Regular.ttf of the
Noto project (Debian: fonts-noto-core, fonts-noto-extra, fonts-noto-mono). Needs fontTools. The same versions give the
same bytes. Latin, Greek and Cyrillic with their marks, punctuation, currencies, sub- and superscripts, letter-like
symbols; from Math arrows, operators and brackets. Ligatures are left out: a token is shown letter by letter.
"""

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TEXT = [
    (0x20, 0x36F),
    (0x370, 0x3FF),
    (0x400, 0x52F),
    (0x1D00, 0x1DBF),
    (0x1E00, 0x1EFF),
    (0x2000, 0x206F),
    (0x2070, 0x209F),
    (0x20A0, 0x20BF),
    (0x2100, 0x218F),
    (0xA720, 0xA7FF),
    (0xFFFD, 0xFFFD),
]
MATH = [(0x2190, 0x21FF), (0x2200, 0x22FF), (0x23B4, 0x23B6), (0x27C0, 0x27EF), (0x25CB, 0x25CB), (0x25CF, 0x25CF)]
CODE = [*TEXT[:3], (0x2000, 0x206F), (0x2190, 0x21FF), (0x2200, 0x22FF), (0x2500, 0x259F), (0xFFFD, 0xFFFD)]
FONTS = [
    ("NotoSans-Regular", "sans", TEXT),
    ("NotoSans-Medium", "sans-medium", TEXT),
    ("NotoSansMath-Regular", "math", MATH),
    ("NotoSansMono-Regular", "mono", CODE),
]
FEATURES = ["ccmp", "locl", "mark", "mkmk", "kern"]


def main():
    folder = Path(sys.argv[1])
    # Faces of one line stand on one baseline.
    metrics = TTFont(folder / "NotoSans-Regular.ttf")["hhea"]
    for source, name, ranges in FONTS:
        options = subset.Options()
        options.hinting = False
        options.layout_features = FEATURES
        options.name_IDs = [0, 1, 2, 3, 4, 5, 6, 13, 14]
        options.drop_tables += ["MATH", "GDEF"] if name == "math" else []
        options.recalc_timestamp = False
        font = subset.load_font(folder / f"{source}.ttf", options)
        subsetter = subset.Subsetter(options)
        subsetter.populate(unicodes=[code for low, high in ranges for code in range(low, high + 1)])
        subsetter.subset(font)
        font["hhea"].ascent, font["hhea"].descent, font["hhea"].lineGap = metrics.ascent, metrics.descent, metrics.lineGap
        font["OS/2"].sTypoAscender, font["OS/2"].sTypoDescender = metrics.ascent, metrics.descent
        font["OS/2"].sTypoLineGap = metrics.lineGap
        font["OS/2"].usWinAscent, font["OS/2"].usWinDescent = metrics.ascent, -metrics.descent
        target = Path(__file__).with_name(f"{name}.ttf")
        subset.save_font(font, target, options)
        print(target.name, target.stat().st_size, "bytes,", len(font.getBestCmap()), "characters")


if __name__ == "__main__":
    main()
