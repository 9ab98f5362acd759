#!/bin/sh
# The pictures of docs/lectures.md that no other page has, of bundled models. ATTNSCOPE names the program; Python with
# Pillow leaves each with few colours.
set -eu
program=${ATTNSCOPE:-target/release/attnscope}
out=$(dirname "$0")/lectures
samples=$(dirname "$0")/../assets/samples
mkdir -p "$out"

draw() { name=$1 view=$2; shift 2; "$program" render "$view" --fonts bundled --caption none --out "$out/$name.png" "$@"; }
draw states states --model demo:bilstm --text "Life is really tough." --width 30cm --scale 1
draw simplex simplex --model demo:gpt --text "The animal didn't cross the street because it was too tired" --layer 3 --head 2 \
    --query 11 --width 30cm --scale 1
draw positions positions --model demo:gpt --text "Once upon a time, there was a little girl named Lily." --width 30cm --scale 1
draw diagram diagram --model demo:translate --text ">>deu<< I have bought a new book." --width 14cm --scale 1.5
draw strip picture --model demo:captions --image "$samples/scene-1.png" --generate 8 --layer 0 --head 2 --each query \
    --width 14cm --scale 1.5
"$program" analyze lengths --model demo:classic --model demo:bottleneck --corpus demo:pairs --out "$out/lengths.png"

python3 - "$out" <<'PYTHON'
import pathlib, sys
from PIL import Image

for path in pathlib.Path(sys.argv[1]).glob("*.png"):
    picture = Image.open(path).convert("RGB")
    if picture.width > 1500:
        picture = picture.resize((picture.width * 2 // 5, picture.height * 2 // 5), Image.Resampling.LANCZOS)
    picture.quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)
PYTHON
