#!/bin/sh
# The pictures of docs/peers.md, of bundled models. ATTNSCOPE names the program; Python with Pillow leaves each with few
# colours.
set -eu
program=${ATTNSCOPE:-target/release/attnscope}
out=$(dirname "$0")/peers
mkdir -p "$out"

it="The animal didn't cross the street because it was too tired"
draw() { name=$1 view=$2; shift 2; "$program" render "$view" --fonts bundled --caption none --scale 2 --out "$out/$name.png" "$@"; }
draw lines lines --model demo:gpt --text "$it" --layer 3 --head 2,3 --query 11 --words --width 9cm
draw rows lines --model demo:bert --text "Mary has lost her keys." --text-b "She looks for them." --layer 4 --head 1 \
    --line-layout rows --line-course curved --line-color gradient --width 9cm
draw grid grid --model demo:bert --text "Mary has lost [MASK] keys." --query 4 --width 12cm
draw why why --model demo:gpt --text "$it" --layer 3 --head 2 --query 11 --key 1 --width 14cm
draw heatmap heatmap --model demo:gpt --text "$it" --layer 3 --head 2 --words --width 10cm
draw text text --model demo:gpt --text "Lily had a red ball. She liked to play with it." --layer 4 --head 3 --query 11 --width 12cm
draw writing writing --model demo:translate --text ">>deu<< I saw a friend in the park." --generate 7 --rivals 3 --width 16cm
draw atlas atlas --model demo:gpt --corpus demo:sentences --width 17cm
draw atlas-bert atlas --model demo:bert --corpus demo:sentences --width 17cm
draw atlas-cross atlas --model demo:translate --corpus demo:pairs --stack cross --width 17cm
draw head head --model demo:gpt --corpus demo:sentences --layer 1 --head 0 --width 17cm

picture() { name=$1; shift; draw "$name" picture --model demo:vit --image "$photo" --layer 3 --head 2 --width 11cm "$@"; }
photo=$(dirname "$0")/../assets/samples/chelsea.jpg
picture overlay --query 0
picture arrows --flows strongest

python3 - "$out" <<'PYTHON'
import pathlib, sys
from PIL import Image

for path in pathlib.Path(sys.argv[1]).glob("*.png"):
    picture = Image.open(path).convert("RGB")
    picture.quantize(32, dither=Image.Dither.NONE).save(path, optimize=True)
PYTHON
