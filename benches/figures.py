"""Holds the figures of `attnscope render` against other programs' painting of the same files.

    python benches/figures.py --attnscope target/release/attnscope [--model path/to/MiniLM]

Draws every view as SVG, PDF and PNG, paints the SVG with Chromium and the PDF with poppler, and prints the mean
difference to the PNG (of 255) and the part of the pixels that differ by more than 32. It also looks for every token
in the text that poppler finds in the PDF, and compares two runs byte by byte. Exits with 1 when a limit is broken.

Poppler has two painters. Cairo's is held to the limits; Splash snaps thin strokes to whole pixels, whatever the file
says, so its numbers are printed only. Both, and Chromium, blend in whole bytes: thousands of faint lines on top of
each other add up their rounding, which the PNG does not have.

Needs Pillow and NumPy, and the programs chromium, pdftocairo, pdftoppm and pdftotext.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parent.parent
# What `render` does unless told otherwise.
SCALE = 4
MEAN_LIMIT = 1.0
FAR_LIMIT = 0.015
SVG_LIMIT = 2_000_000
SVG = "{http://www.w3.org/2000/svg}"
STORY = "Once upon a time there was a little dog who liked to play in the park"
LONG = ". ".join([STORY] * 5)
MIXED = "Hello שלום עולם and مرحبا بالعالم, 2024"


def cases(model):
    coffee = str(ROOT / "assets/samples/coffee.jpg")
    gpt = ["--model", "demo:gpt", "--text", STORY]
    vit = ["--model", "demo:vit", "--image", coffee, "--layer", "1"]
    translate = ["--model", "demo:translate", "--text", "Good morning, how are you today?", "--layer", "1"]
    yield "gpt heads", ["heads", *gpt, "--layer", "2", "--caption", "full"]
    yield "gpt heads, held", ["heads", *gpt, "--layer", "2", "--query", "5"]
    yield "gpt heads, 64 tokens", ["heads", "--model", "demo:gpt", "--text", LONG, "--max-tokens", "64"]
    yield "gpt heads, mixed scripts", ["heads", "--model", "demo:bert", "--text", MIXED]
    yield "gpt heatmap", ["heatmap", *gpt, "--layer", "3", "--head", "1", "--values"]
    yield "gpt heatmap, minus", ["heatmap", *gpt, "--layer", "3", "--head", "1", "--minus", "L3H0"]
    yield "gpt heatmap, dark", ["heatmap", *gpt, "--layer", "3", "--theme", "dark"]
    yield "gpt sheet", ["heatmap", *gpt, "--layer", "3", "--sheet", "4x2"]
    yield "gpt scatter", ["scatter", *gpt, "--layer", "3", "--head", "1", "--query", "4"]
    yield "gpt matrix", ["matrix", *gpt]
    yield "vit image", ["image", *vit, "--query", "30", "--contour", "0.6"]
    yield "vit image, smooth", ["image", *vit, "--smooth"]
    yield "vit heads", ["heads", *vit, "--head", "0"]
    yield "vit heatmap", ["heatmap", *vit]
    yield "vit scatter", ["scatter", *vit]
    yield "vit matrix", ["matrix", *vit[:4]]
    yield "translate heads", ["heads", *translate, "--written"]
    yield "translate heatmap", ["heatmap", *translate, "--written"]
    yield "translate scatter", ["scatter", *translate]
    yield "translate matrix", ["matrix", *translate[:4]]
    if model:
        yield "64 tokens", ["heads", "--model", model, "--text", LONG, "--max-tokens", "64"]
        yield "64 tokens, heatmap", ["heatmap", "--model", model, "--text", LONG, "--max-tokens", "64"]


def run(*arguments, **options):
    return subprocess.run(arguments, check=True, capture_output=True, **options)


def render(program, arguments, out):
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "WAYLAND_DISPLAY")}
    run(program, "render", *arguments, "--out", str(out), "--scale", str(SCALE), env=environment)
    return out.read_bytes()


def pixels(path, size=None):
    with Image.open(path) as picture:
        picture = picture.convert("RGB")
        if size and picture.size != size:
            picture = picture.crop((0, 0, *size))
        return np.asarray(picture).astype(int)


def difference(a, b):
    height, width = min(a.shape[0], b.shape[0]), min(a.shape[1], b.shape[1])
    off = np.abs(a[:height, :width] - b[:height, :width])
    return off.mean(), (off.max(axis=2) > 32).mean()


def chromium(svg, folder, size):
    """A screenshot of exactly the figure: one of its points is SCALE pixels."""
    out = folder / "chromium.png"
    page = folder / "page.html"
    body = svg.read_text()
    body = re.sub(r'width="[\d.]+pt" height="[\d.]+pt"', lambda m: m.group(0).replace("pt", "px"), body, count=1)
    page.write_text(f'<!doctype html><meta charset="utf-8"><style>body{{margin:0}}svg{{display:block}}</style>{body}')
    width, height = (-(-side // SCALE) for side in size)
    run(
        "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-color-profile=srgb",
        f"--force-device-scale-factor={SCALE}", f"--window-size={max(width, 500)},{height + 200}", f"--screenshot={out}", page.as_uri(),
    )
    return pixels(out, size)


def poppler(pdf, folder, size, painter):
    out = folder / painter
    run(painter, "-png", "-r", str(72 * SCALE), "-singlefile", str(pdf), str(out))
    return pixels(out.with_suffix(".png"), size)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", default=str(ROOT / "target/release/attnscope"))
    parser.add_argument("--model", help="a further model with at least 64 positions")
    parser.add_argument("--keep", type=Path, help="leave the files here")
    options = parser.parse_args()
    broken = []
    print(f"{'figure':28} {'SVG':>9} {'PDF':>9} {'Chromium':>16} {'poppler, Cairo':>16} {'Splash':>16}  text  bytes")
    for name, arguments in cases(options.model):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            if options.keep:
                folder = options.keep / re.sub(r"\W+", "-", name)
                folder.mkdir(parents=True, exist_ok=True)
            svg, pdf, png = (folder / f"figure.{kind}" for kind in ("svg", "pdf", "png"))
            svg_bytes, pdf_bytes, _ = (render(options.attnscope, arguments, path) for path in (svg, pdf, png))
            again = folder / "again.svg", folder / "again.pdf"
            same = all(render(options.attnscope, arguments, path) == old for path, old in zip(again, (svg_bytes, pdf_bytes)))
            with Image.open(png) as picture:
                size = picture.size
            ours = pixels(png)
            in_chromium = difference(ours, chromium(svg, folder, size))
            in_cairo = difference(ours, poppler(pdf, folder, size, "pdftocairo"))
            in_splash = difference(ours, poppler(pdf, folder, size, "pdftoppm"))
            texts = [node.text for node in ElementTree.fromstring(svg_bytes).iter(f"{SVG}text")]
            found = run("pdftotext", "-layout", str(pdf), "-").stdout.decode()
            squeezed = re.sub(r"[\s\u200e\u200f\u202a-\u202e\u2066-\u2069]", "", found)
            lost = [text for text in texts if re.sub(r"\s", "", text) not in squeezed]
            # Turned labels and crowded names come out of poppler in pieces, but come out.
            lost = [text for text in lost if not all(part in squeezed for part in re.split(r"\s+", text))]
            print(
                f"{name:28} {len(svg_bytes):9} {len(pdf_bytes):9} {in_chromium[0]:7.3f} {100 * in_chromium[1]:6.2f} % "
                f"{in_cairo[0]:7.3f} {100 * in_cairo[1]:6.2f} % {in_splash[0]:7.3f} {100 * in_splash[1]:6.2f} %  {len(texts) - len(lost)}/{len(texts)}  "
                f"{'same' if same else 'DIFFER'}"
            )
            for program, (mean, far) in (("Chromium", in_chromium), ("poppler", in_cairo)):
                if mean >= MEAN_LIMIT or far >= FAR_LIMIT:
                    broken.append(f"{name}: {program} differs by {mean:.3f} of 255, {100 * far:.2f} % of the pixels")
            if lost:
                broken.append(f"{name}: pdftotext does not find {json.dumps(lost[:8], ensure_ascii=False)}")
            if not same:
                broken.append(f"{name}: two runs, two files")
            if "64 tokens" in name and len(svg_bytes) >= SVG_LIMIT:
                broken.append(f"{name}: the SVG has {len(svg_bytes)} bytes")
    print("\n".join(broken) or "all within the limits")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
