#!/bin/sh
# The pictures of docs/attentionviz.md. Needs a display (Xvfb will do), and as $1 the folder of a BERT-architecture
# checkpoint such as MiniLM. ATTNSCOPE names the program. orbit.png, lines.png and corpus-patches.png are taken by hand; all are then at most
# 1,200 pixels wide and have few colours.
set -eu
model=$1
program=${ATTNSCOPE:-target/release/attnscope}
out=$(dirname "$0")/space
mkdir -p "$out"

text() { view=$1 name=$2; shift 2; "$program" render "$view" --model "$model" --corpus demo:sentences --scale 1.5 --out "$out/$name.png" "$@"; }
text qk-maps matrix --color-by position
text qk-map scatter --layer 1 --head 8
text qk-map tsne --layer 0 --head 2 --method tsne --color-by kind
text qk-map sizes --layer 0 --head 2 --size-by norm
text distance distance --layer 1 --head 8
text qk-maps residual --space residual --color-by kind
text average average --layer 1 --head 8 --annotation source

picture() { name=$1; shift; "$program" render picture --model demo:vit --image "$sample" --layer 2 --head 3 --scale 1.5 --out "$out/$name.png" "$@"; }
sample=$(dirname "$0")/../assets/corpora/pictures/wave-3.png
picture image --query 20
picture arrows --flows strongest
picture flows --flows all
"$program" render qk-map --model demo:vit --corpus demo:pictures --layer 4 --head 3 --color-by hue --scale 1.5 --out "$out/hue.png"
"$program" render lines --model "$model" --text "The animal didn't cross the street because it was too tired" \
    --layer 2 --head 4 --hide special --by-value-norm --scale 1.5 --out "$out/heads.png"

window() { name=$1; shift; "$program" open "$@" --size 1280x800 --theme light --screenshot "$out/$name.png"; }
window window "$model" --corpus demo:sentences --view qk-maps
window search "$model" --corpus demo:sentences --view qk-maps --search "he, she, it, they" --search-as word
window patches demo:vit --view qk-map --layer 4 --head 3
