#!/bin/sh
# The pictures of docs/explanations.md. Needs a display (Xvfb will do) and Python with Pillow, and as $1 the
# folder of a BERT-architecture checkpoint such as MiniLM. ATTNSCOPE names the program.
set -eu
model=$1
program=${ATTNSCOPE:-target/release/attnscope}
out=$(dirname "$0")/explanations
mkdir -p "$out"

window() { name=$1; shift; "$program" open "$@" --size 1280x800 --theme light --screenshot "$out/$name.png"; few "$name"; }
few() { python3 -c "from PIL import Image; import sys; Image.open(sys.argv[1]).convert('RGB').quantize(160, dither=0).save(sys.argv[1], optimize=True)" "$out/$1.png"; }

window adversary --example "Other weights, same verdict"
window review --example "Easy to love"
window liar --example "A map that lies, tested"
window one-head --example "The verdict of one head"
window nobody --example "A head that is not needed"
window rollout --example "What rollout misses"

text="The doctor asked the nurse a question about the old man in the garden."
heatmap() { name=$1; shift; "$program" render heatmap --model "$model" --text "$text" --layer 4 --aggregate mean --scale 1.5 --out "$out/$name.png" "$@"; }
heatmap weights
heatmap norms --by-value-norm
