"""What two programs write, byte for byte: figures, captures, results and session files.

    python benches/unchanged.py record --attnscope target/release/attnscope --out FOLDER [--only NAME]
    python benches/unchanged.py compare BEFORE AFTER [--strict]

`record` makes everything that is listed below with one program, one command after the other, on one thread: files,
and what is said on the terminal. Session files are drawn pane by pane, and opened and saved again in a window of Xvfb
(`--no-window` leaves that out; Linux only; needs xvfb, xdotool and Mesa's drivers).

`compare` holds two such folders side by side. Every file counts byte for byte, except for what stands in `PLAIN`, which
is written over, and in `METADATA`, which is taken out and compared by itself. Each difference is a line: the case, the
file, the first place where it differs, and what stands there before and after. Exit status 1 when anything differs
beyond metadata; with `--strict`, metadata as well.
"""

import argparse
import base64
import io
import json
import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
import time
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
from PIL import Image
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests/fixtures"
SECONDS = 120
# Refusals are worth keeping, too, but they say little about numbers.
MOST_REFUSED = 10
# What makes one record what it is.
LIST = "record.json"

# Inputs, which `record` puts into the folder `in`: commands run in the folder that is recorded, and name no place outside
# of it, so that what is written does not depend on where it lies.
COPIED = {
    "cat.jpg": "assets/samples/chelsea.jpg",
    "cup.jpg": "assets/samples/coffee.jpg",
    "scene.png": "assets/samples/scene-1.png",
    "pictures/circle.png": "assets/corpora/pictures/circle-1.png",
    "pictures/cross.png": "assets/corpora/pictures/cross-2.png",
    "pictures/wave.png": "assets/corpora/pictures/wave-3.png",
    "patterns.json": "tests/fixtures/foreign/patterns.json",
    "patterns.npz": "tests/fixtures/foreign/patterns.npz",
    "patterns.npy": "tests/fixtures/foreign/patterns.npy",
    "cross.safetensors": "tests/fixtures/foreign/cross.safetensors",
    "lens.safetensors": "tests/fixtures/foreign/lens.safetensors",
}
MODELS = ["families/longformer", "families/led", "families/t5", "families/clip", "families/llama", "families/deberta-v3",
          "families/gemma2", "families/beit", "families/rnnsearch-additive", "bert-bare"]  # fmt: skip
WRITTEN = {
    "texts.txt": "The cat sat on the mat.\nA dog ran home.\nShe saw the red boat, and the boat saw her.\n",
    "table.csv": "id,sentence,mood,length\n1,The sun is warm.,glad,4\n2,The rain was cold.,sad,4\n3,Nobody came.,sad,2\n"
    "4,We sang and danced.,glad,4\n",
    "table.json": '[{"text": "One dog.", "n": 1}, {"text": "Two dogs ran.", "n": 2}]',
    "lines.jsonl": '{"text": "One dog.", "n": 1}\n{"text": "Two dogs ran.", "n": 2}\n',
    "story.txt": "The dog ran. It was late, and nobody came. The cat slept!",
    "gold.txt": "0-0 1-1 2p2\n",
    "keys.txt": "The sun is warm.\nA dog ran home.\nThe rain was cold.\n",
    "edit.json": '{"ablate": "L1H2", "with": "mean"}',
    "bertviz.json": json.dumps(
        {
            "attention": [
                {
                    "name": None,
                    "attn": [[[[1.0, 0.0], [0.25, 0.75]], [[0.5, 0.5], [0.125, 0.875]]]],
                    "left_text": ["The", "cat"],
                    "right_text": ["The", "cat"],
                }
            ],
            "include_layers": [3],
        }
    ),
}

# Words that stand for several.
WORDS = {
    "%gpt": '--model demo:gpt --text "Once upon a time there was a dog. The dog was big."',
    "%bert": '--model demo:bert --text "The cat sat on the [MASK]."',
    "%pair": '--model demo:bert --text "The dog ran home." --text-b "It was unbelievably late."',
    "%review": '--model demo:sentiment --text "a dull film with a fine end"',
    "%translate": '--model demo:translate --text "the cat sleeps"',
    "%forced": '--model demo:translate --text "the cat sleeps" --target "die Katze schläft"',
    "%classic": '--model demo:classic --text "the cat sleeps"',
    "%bilstm": '--model demo:bilstm --text "a dull film with a fine end"',
    "%vit": "--model demo:vit --image in/cat.jpg",
    "%captions": "--model demo:captions --image in/scene.png",
    "%sentences": "--model demo:bert --corpus demo:sentences",
    "%ids": "--ids 5,9,11,7,13,20,31",
    "%all": "--sites q,k,v,scores,pattern,z,resid,embed,attn_out,resid_mid,mlp_hidden,mlp_out,resid_post,logits",
    "%uniform": """--edit '{"pattern":"L1H0","value":[[1,0,0,0,0],[0.5,0.5,0,0,0],[0.25,0.25,0.5,0,0],[0.25,0.25,0.25,0.25,0],
        [0.2,0.2,0.2,0.2,0.2]]}'""",
    "%bundled": "--fonts bundled",
}

# A line is a case: its name, and the command. OUT is a folder of its own, captures/NAME for a capture; captures are made
# first, so that figures and results can be made from them. Every command gets `--threads 1`, unless it says another
# number or takes none.
CAPTURES = """
story               capture %gpt --out OUT/a.safetensors
story-all           capture %gpt %all --out OUT/a.safetensors
story-layers        capture %gpt --sites q,k,pattern --layers 0-2,5 --out OUT/a.safetensors
story-two           capture %gpt --text "A second text" --text "And a third one, longer." --out OUT/a.safetensors
story-file          capture --model demo:gpt --texts-file in/texts.txt --sites pattern,logits --out OUT/a.safetensors
story-written       capture %gpt --generate 12 --sites pattern,resid,logits --out OUT/a.safetensors
story-sampled       capture %gpt --generate 12 --temperature 0.9 --top-p 0.9 --seed 3 --out OUT/a.safetensors
story-cold          capture %gpt --generate 6 --temperature 0 --sites pattern --out OUT/a.safetensors
story-first         capture %gpt --max-tokens 5 --keep first --out OUT/a.safetensors
story-last          capture %gpt --max-tokens 5 --keep last --out OUT/a.safetensors
story-ids           capture --model demo:gpt --ids 465,473,259,412 %all --out OUT/a.safetensors
story-repeat        capture %gpt --repeat 2 --sites z --out OUT/a.safetensors
story-threads       capture %gpt %all --threads 2 --out OUT/a.safetensors
edit-zero           capture %gpt --edit '{"ablate":"L0H1","with":"zero"}' --sites pattern,z,logits --out OUT/a.safetensors
edit-mean           capture %gpt --edit @in/edit.json --sites pattern,z,logits --out OUT/a.safetensors
edit-uniform        capture %gpt --edit '{"ablate":"L2H3","with":"uniform"}' --sites pattern,logits --out OUT/a.safetensors
edit-shuffle        capture %gpt --edit '{"ablate":"L2H3","with":"shuffle","seed":7}' --sites z,logits --out OUT/a.safetensors
edit-pattern        capture --model demo:gpt --text "Once upon a time there" %uniform --sites pattern,resid,logits --out OUT/a.safetensors
edit-sharpen        capture %gpt --edit '{"sharpen":"L1H1","by":2.5}' --sites scores,pattern,logits --out OUT/a.safetensors
edit-hide           capture %bert --edit '{"hide":2}' --sites pattern,logits --out OUT/a.safetensors
edit-mask           capture %bert --edit '{"mask":2}' --sites pattern,embed,logits --out OUT/a.safetensors
edit-replace        capture %bert --edit '{"replace":2,"id":100}' --sites pattern,logits --out OUT/a.safetensors
edit-knockout       capture %gpt --edit '{"knockout":[[5,1],[6,1]],"layers":[1,2]}' --sites pattern,logits --out OUT/a.safetensors
edit-cut            capture %gpt --edit '{"knockout":[[5,1]],"heads":["L1H2"],"after":"softmax"}' --out OUT/a.safetensors
edit-window         capture %gpt --edit '{"sparse":"window:2:1:1"}' --sites pattern,logits --out OUT/a.safetensors
edit-blocks         capture %bert --edit '{"sparse":"blocks:3","layers":[0,1]}' --sites pattern --out OUT/a.safetensors
edit-entmax         capture %gpt --edit '{"normalizer":"entmax:1.5"}' --sites pattern,logits --out OUT/a.safetensors
edit-sparsemax      capture %translate --edit '{"normalizer":"sparsemax","heads":["cross.L1H0"]}' --out OUT/a.safetensors
edit-patch          capture %gpt --edit '{"patch":"scores.L1H0","positions":[1],"value":[[0.5,-1,0,0,0,0,0,0,0,0,0,0,0,0]]}' --sites pattern --out OUT/a.safetensors
edit-several        capture %gpt --edit '{"hide":1}' --edit '{"ablate":"L0H0","with":"zero"}' --edit '{"normalizer":"entmax:2"}' --out OUT/a.safetensors
edit-cross          capture %translate --edit '{"ablate":"cross.L1H2","with":"zero"}' --edit '{"hide":1,"side":"encoder"}' %all --out OUT/a.safetensors
mask                capture %bert %all --out OUT/a.safetensors
mask-bare           capture %bert --no-special --sites pattern,logits --out OUT/a.safetensors
pair                capture %pair --out OUT/a.safetensors
prepared            capture --model demo:bert --text "The CAT sat." --sentence-transformers --sites pattern --out OUT/a.safetensors
review              capture %review %all --out OUT/a.safetensors
translation         capture %translate --out OUT/a.safetensors
translation-all     capture %forced %all --out OUT/a.safetensors
translation-ids     capture --model demo:translate --text "the cat sleeps" --target-ids 3,7,9 --sites pattern,logits --out OUT/a.safetensors
translation-short   capture %translate --generate 3 --sites pattern --out OUT/a.safetensors
classic             capture %classic %all --out OUT/a.safetensors
classic-bilinear    capture --model demo:classic-bilinear --text "the cat sleeps" --out OUT/a.safetensors
classic-dot         capture --model demo:classic-dot --text "the cat sleeps" --out OUT/a.safetensors
bottleneck          capture --model demo:bottleneck --text "the cat sleeps" --out OUT/a.safetensors
bilstm              capture %bilstm %all --out OUT/a.safetensors
bilstm-sparsemax    capture --model demo:bilstm-sparsemax --text "a dull film" --sites pattern,logits --out OUT/a.safetensors
bilstm-deceiving    capture --model demo:bilstm-deceiving --text "a dull film" --sites pattern,logits --out OUT/a.safetensors
bilstm-rationale    capture --model demo:bilstm-rationale --text "a dull film" --sites pattern,logits --out OUT/a.safetensors
picture             capture %vit --out OUT/a.safetensors
picture-all         capture %vit %all --out OUT/a.safetensors
picture-two         capture %vit --image in/cup.jpg --sites pattern --layers 5 --out OUT/a.safetensors
picture-pixels      capture --model demo:vit --pixels in/pixels.safetensors --sites pattern,logits --out OUT/a.safetensors
picture-folder      capture --model demo:vit --corpus in/pictures --sites pattern --layers 0 --out OUT/a.safetensors
captions            capture %captions --out OUT/a.safetensors
captions-all        capture %captions %all --out OUT/a.safetensors
corpus-table        capture --model demo:bert --corpus in/table.csv --text-column sentence --sites q,k --layers 1 --out OUT/a.safetensors
corpus-json         capture --model demo:bert --corpus in/table.json --sites pattern --out OUT/a.safetensors
corpus-lines        capture --model demo:bert --corpus in/lines.jsonl --sites pattern --out OUT/a.safetensors
corpus-sentences    capture --model demo:bert --corpus in/story.txt --split sentences --sites pattern --out OUT/a.safetensors
longformer          capture --model in/longformer %ids %all --global 0,2 --out OUT/a.safetensors
longformer-none     capture --model in/longformer %ids --global none --out OUT/a.safetensors
led                 capture --model in/led %ids --target-ids 2,5,6 --global 1 --sites pattern,logits --out OUT/a.safetensors
t5                  capture --model in/t5 %ids --target-ids 0,5,6 %all --out OUT/a.safetensors
clip                capture --model in/clip --image in/cup.jpg --ids 3,4,5 --sites pattern,resid,logits --out OUT/a.safetensors
llama               capture --model in/llama %ids %all --out OUT/a.safetensors
deberta             capture --model in/deberta-v3 %ids %all --out OUT/a.safetensors
gemma               capture --model in/gemma2 %ids %all --out OUT/a.safetensors
beit                capture --model in/beit --image in/cup.jpg --sites scores,pattern --out OUT/a.safetensors
refused-edit        capture %gpt --edit '{"hide":99}' --out OUT/a.safetensors
refused-input       capture --model demo:vit --text "a cat" --out OUT/a.safetensors
"""

FIGURES = """
heads               render heads %gpt --layer 2 --out OUT/a.svg --data OUT/a.csv
heads-pdf           render heads %gpt --layer 2 --out OUT/a.pdf %bundled
heads-png           render heads %gpt --layer 2 --out OUT/a.png --scale 2
heads-top-k         render heads %bert --layer 1 --head 0-2 --top-k 2 --query 3 --out OUT/a.svg --data OUT/a.json
heads-top-p         render heads %bert --layer 1 --top-p 0.5 --key 2 --theme dark --out OUT/a.svg
heads-threshold     render heads %pair --layer 3 --threshold 0.2 --hide special --out OUT/a.svg --data OUT/a.npz
heads-cross         render heads %translate --stack cross --layer 1 --out OUT/a.svg --data OUT/a.safetensors
heads-sheet         render heads %gpt --layer 0-5 --sheet 3x2 --out OUT/a.pdf
heads-each          render heads %gpt --layer 0,3 --out OUT/{layer}.svg
heads-words         render heads %pair --layer 2 --words --out OUT/a.svg %bundled
heads-written       render heads %gpt --generate 8 --layer 4 --written --out OUT/a.svg --data OUT/a.csv
heatmap             render heatmap %gpt --layer 2 --head 3 --out OUT/a.svg --data OUT/a.csv
heatmap-pdf         render heatmap %gpt --layer 2 --head 3 --values --out OUT/a.pdf --data OUT/a.json
heatmap-png         render heatmap %gpt --layer 2 --head 3 --log --colormap magma --out OUT/a.png --scale 1
heatmap-npz         render heatmap %gpt --layer 0-2 --head 0,1 --data OUT/a.npz
heatmap-tensors     render heatmap %gpt --layer 0-2 --head 0,1 --data OUT/a.safetensors
heatmap-text        render heatmap %gpt --layer 2 --head 3 --data -
heatmap-mean        render heatmap %gpt --layer 0-5 --head 0-7 --aggregate mean --out OUT/a.svg --data OUT/a.csv
heatmap-max         render heatmap %gpt --layer 2 --head 0-7 --aggregate max --out OUT/a.svg
heatmap-min         render heatmap %bert --layer 2 --head 0-5 --aggregate min --data OUT/a.csv
heatmap-sum         render heatmap %bert --layer 2 --head 0-5 --aggregate sum --data OUT/a.csv
heatmap-minus       render heatmap %gpt --layer 2 --head 3 --minus L1H0 --out OUT/a.svg --data OUT/a.csv
heatmap-norm        render heatmap %bert --layer 1 --head 2 --by-value-norm --out OUT/a.svg --data OUT/a.csv
heatmap-hide        render heatmap %bert --layer 1 --head 2 --hide special,punctuation --keep-weights --out OUT/a.svg
heatmap-hide-first  render heatmap %gpt --layer 1 --head 2 --hide first --out OUT/a.svg --data OUT/a.csv
heatmap-words       render heatmap %pair --layer 1 --head 2 --words --values --out OUT/a.svg --data OUT/a.csv
heatmap-sheet       render heatmap %gpt --layer 2-3 --head 0-5 --sheet 4x3 --shared-scale --out OUT/a.svg
heatmap-sheet-pdf   render heatmap %translate --stack cross --layer 0-2 --head 0-3 --sheet 4x3 --out OUT/a.pdf
heatmap-each        render heatmap %bert --layer 0-1 --head 0-1 --out OUT/{layer}-{head}.svg
heatmap-size        render heatmap %gpt --layer 2 --head 3 --width 8.5cm --height 3in --caption full --out OUT/a.svg
heatmap-paths       render heatmap %gpt --layer 2 --head 3 --svg-text paths --caption none --out OUT/a.svg
heatmap-greys       render heatmap %forced --stack decoder --layer 1 --head 1 --colormap greys --theme dark --out OUT/a.png
heatmap-cividis     render heatmap %classic --colormap cividis --query 1 --key 2 --out OUT/a.svg
heatmap-bilstm      render heatmap %bilstm --out OUT/a.svg --data OUT/a.csv
heatmap-picture     render heatmap %vit --layer 4 --head 2 --out OUT/a.png --scale 2
heatmap-captions    render heatmap %captions --stack cross --layer 1 --head 1 --out OUT/a.svg
heatmap-table       render heatmap %forced --stack encoder --layer 1 --head 1 --data OUT/a.json
heatmap-edited      render heatmap %gpt --edit '{"normalizer":"entmax:1.5"}' --layer 2 --head 3 --caption full --out OUT/a.svg --data OUT/a.csv
heatmap-hidden      render heatmap %bert --edit '{"hide":2}' --edit '{"ablate":"L0H1","with":"mean"}' --layer 3 --head 1 --caption full --out OUT/a.svg
heatmap-global      render heatmap --model in/longformer %ids --global 0,3 --layer 1 --head 1 --out OUT/a.svg --data OUT/a.csv
heatmap-capture     render heatmap --capture captures/story/a.safetensors --layer 2 --head 3 --out OUT/a.svg
heatmap-changed     render heatmap --capture captures/edit-entmax/a.safetensors --layer 2 --head 3 --caption full --out OUT/a.svg
heatmap-foreign     render heatmap --capture in/patterns.json --layer 0 --out OUT/a.svg --data OUT/a.csv
heatmap-arrays      render heatmap --capture in/patterns.npz --layer 0 --head 1 --data OUT/a.csv
heatmap-array       render heatmap --capture in/patterns.npy --layer 0 --head 1 --data OUT/a.csv
heatmap-bertviz     render heatmap --capture in/bertviz.json --layer 3 --head 1 --data OUT/a.csv
heads-foreign       render heads --capture in/cross.safetensors --stack cross --out OUT/a.svg
image               render image %vit --layer 4 --head 2 --out OUT/a.svg --data OUT/a.csv
image-png           render image %vit --layer 4 --head 2 --query 30 --smooth --opacity 0.4 --out OUT/a.png --scale 2
image-contour       render image %vit --layer 2 --head 0 --contour 0.8 --colormap magma --out OUT/a.pdf
image-flows         render image %vit --layer 2 --head 0 --flows --out OUT/a.svg --data OUT/a.csv
image-all-flows     render image %vit --layer 2 --head 0 --flows all --threshold 0.05 --out OUT/a.svg
image-sheet         render image %vit --layer 0-5 --head 0 --sheet 3x2 --out OUT/a.png --scale 1
image-caption       render image %captions --stack cross --layer 1 --head 1 --query 2 --out OUT/a.svg --data OUT/a.csv
image-pixels        render image --model demo:vit --pixels in/pixels.safetensors --layer 1 --out OUT/a.svg
image-mean          render image %vit --layer 0-5 --head 0-5 --aggregate mean --query 20 --out OUT/a.png --scale 1
scatter             render scatter %gpt --layer 2 --head 3 --out OUT/a.svg --data OUT/a.csv
scatter-tsne        render scatter %gpt --layer 2 --head 3 --method tsne --seed 4 --perplexity 5 --iterations 300 --out OUT/a.svg --data OUT/a.csv
scatter-umap        render scatter %gpt --layer 2 --head 3 --method umap --seed 4 --neighbors 5 --min-dist 0.3 --out OUT/a.svg --data OUT/a.json
scatter-cosine      render scatter %bert --layer 1 --head 1 --method tsne --metric cosine --color-by position --out OUT/a.pdf
scatter-corpus      render scatter %sentences --layer 2 --head 1 --color-by kind --size-by norm --out OUT/a.svg --data OUT/a.csv
scatter-near        render scatter %sentences --layer 2 --head 1 --method tsne --iterations 250 --color-by frequency --data OUT/a.csv
scatter-values      render scatter %gpt --space values --layer 2 --head 1 --color-by length --out OUT/a.svg
scatter-residual    render scatter %gpt --space residual --layer 3 --color-by modulo --out OUT/a.svg --data OUT/a.csv
scatter-positions   render scatter --model demo:gpt --space positions --method umap --color-by position --data OUT/a.csv --out OUT/a.png --scale 1
scatter-capture     render scatter --capture captures/story/a.safetensors --layer 0 --head 0 --size-by received --out OUT/a.svg
scatter-threads     render scatter %gpt --layer 2 --head 3 --method tsne --threads 2 --data OUT/a.csv
matrix              render matrix %gpt --out OUT/a.svg --data OUT/a.csv
matrix-tsne         render matrix %bert --layer 0-1 --method tsne --seed 1 --perplexity 3 --iterations 250 --out OUT/a.svg
matrix-umap         render matrix %vit --layer 2 --method umap --neighbors 8 --out OUT/a.png --scale 1
matrix-residual     render matrix %bert --space residual --color-by kind --out OUT/a.pdf
matrix-values       render matrix %translate --stack encoder --space values --size-by norm --out OUT/a.svg
matrix-texts        render matrix --model demo:gpt --corpus in/texts.txt --layer 1 --color-by position --out OUT/a.svg
matrix-pictures     render matrix --model demo:vit --corpus in/pictures --layer 1 --head 0-3 --color-by norm --out OUT/a.svg
distance            render distance %vit --layer 3 --head 1 --out OUT/a.svg --data OUT/a.csv
distance-text       render distance %gpt --layer 2 --head 3 --out OUT/a.pdf --data OUT/a.json
average             render average %sentences --layer 2 --head 1 --out OUT/a.svg --data OUT/a.csv
average-kinds       render average %sentences --annotation kind --layer 2 --out OUT/a.pdf --data OUT/a.csv
average-table       render average --model demo:bert --corpus in/table.csv --text-column sentence --annotation mood --layer 0-1 --data OUT/a.csv
average-pictures    render average --model demo:vit --corpus in/pictures --layer 3 --head 2 --out OUT/a.svg
lab                 render lab %review --out OUT/a.svg --data OUT/a.json
lab-depends         render lab %review --methods attention,rollout,flow,masked,masks --set rollout.residual=0.3 --set masks.steps=20 --special --out OUT/a.svg
lab-target          render lab %bert --class mat --against floor --position 6 --methods gradients,integrated,hidden --out OUT/a.svg --data OUT/a.csv
lab-picture         render lab %vit --methods rollout,relevance,gradients,hidden --out OUT/a.pdf
lab-believe         render lab %review --question believe --layer 2 --head 3 --set faithfulness.steps=5 --set faithfulness.permutations=10 --out OUT/a.svg
lab-moves           render lab %gpt --question moves --layer 1 --head 2 --query 5 --key 2 --out OUT/a.svg --data OUT/a.json
lab-fact            render lab %gpt --question fact --query 5 --methods lens,dla,knockout,ff --out OUT/a.svg
lab-trace           render lab --model demo:gpt --text "Anna had a red boat. The boat" --question fact --query 1 --methods trace --set trace.samples=2 --out OUT/a.svg
lab-aligns          render lab %forced --question aligns --out OUT/a.svg --data OUT/a.csv
lab-edited          render lab %review --edit '{"ablate":"L1H1","with":"zero"}' --methods hidden --caption full --out OUT/a.svg
refused-view        render image %gpt --out OUT/a.svg
refused-layer       render heatmap %gpt --layer 99 --out OUT/a.svg
"""

RESULTS = """
heads               analyze heads %gpt
heads-json          analyze heads %gpt --out OUT/a.json
heads-random        analyze heads --model demo:gpt --period 8 --copies 3 --samples 2 --seed 5
heads-pictures      analyze heads --model demo:vit --out -
heads-capture       analyze heads --capture captures/translation/a.safetensors
attention           analyze attention %review --layer 2 --head 1
rollout             analyze rollout %gpt --fuse max --residual 0.3 --discard 0.1
rollout-picture     analyze rollout %vit --start 2 --out OUT/a.json
flow                analyze flow %bert --query 0
relevance           analyze relevance %vit --class dog
relevance-lrp       analyze relevance %review --rule lrp
gradients           analyze gradients %review --integrated 10
gradients-pattern   analyze gradients %gpt --of pattern --times-input false
loo                 analyze loo %review --by hide
loo-mask            analyze loo %bert --by mask --special
loo-delete          analyze loo %bilstm --by delete
masks               analyze masks %review --steps 20 --seed 2
masks-layers        analyze masks %review --layers --steps 10 --baseline zero --margin 0.2
norms               analyze norms %bert
norms-cross         analyze norms %forced
effective           analyze effective %bert
edges               analyze edges %gpt --layer 1 --head 2 --query 5 --key 2 --top 5
edges-cross         analyze edges %forced --stack cross --layer 1 --head 0 --query 1 --key 1 --than none
lens                analyze lens %gpt --top 3 --out OUT/a.json
lens-picture        analyze lens %vit
dla                 analyze dla %gpt
dla-against         analyze dla %gpt --position 6 --class " cat" --against " dog"
lens-against        analyze lens %review --class positive --against negative
ablation            analyze ablation %review --with mean
ablation-cross      analyze ablation %forced --with uniform
faithfulness        analyze faithfulness %bilstm --steps 5 --permutations 10 --seed 3
faithfulness-head   analyze faithfulness %review --head L2H3 --steps 3 --permutations 5
normalizers         analyze normalizers %bert --alpha 2
alignment           analyze alignment %forced --gold in/gold.txt
alignment-awi       analyze alignment %translate --setting awi
alignment-both      analyze alignment %forced --reverse-model demo:classic --symmetrize union
trace               analyze trace %gpt --subject 1..3 --samples 2 --noise 2 --seed 6
trace-mlp           analyze trace %gpt --subject dog --restore mlp --window 2 --samples 2 --every 2 --yes
knockout            analyze knockout %gpt --window 2 --every 2 --cut pattern
rank-one            analyze rank-one --model demo:gpt --text "The cat sat on the" --subject cat --object bed --layer 1 --neighbour "The dog sat on the" --paraphrase "A cat sat on the" --keys in/keys.txt --steps 3 --edit-out OUT/edit.json
rank-one-again      analyze lens --model demo:gpt --text "The cat sat on the" --edit @results/rank-one/edit.json
ff                  analyze ff %gpt --layer 2 --top 3
ff-masked           analyze ff %bert --position 3
edited              analyze loo %review --edit '{"ablate":"L1H1","with":"zero"}'
captions            analyze rollout %captions
project             project %gpt --out OUT/a.json
project-csv         project %gpt --method tsne --perplexity 4 --iterations 250 --seed 2 --heads L2H3,L0H0 --out OUT/a.csv
project-npz         project %bert --method umap --dims 3 --neighbors 5 --min-dist 0.2 --layers 1 --out OUT/a.npz
project-search      project %sentences --layers 2 --search "the,a" --search-as word --shared position,text,kind --out OUT/a.json
project-regex       project %bert --search "^c" --search-as regex --match-case --scale search --translate none --out OUT/a.json
project-values      project %gpt --space values --layers 0-1 --out OUT/a.json
project-residual    project %vit --space residual --metric cosine --method umap --shared hue,brightness --out OUT/a.csv
project-positions   project --model demo:gpt --space positions --method tsne --iterations 250 --out OUT/a.json
project-capture     project --capture captures/story/a.safetensors --scale 2 --layers 1 --out OUT/a.json
project-cross       project %forced --stack cross --out OUT/a.json
check-gpt           check demo:gpt --text "Once upon a time"
check-bert          check demo:bert --brief
check-translate     check demo:translate --text "the cat sleeps" --target "die Katze schläft"
check-classic       check demo:classic
check-bilstm        check demo:bilstm-rationale --text "a dull film" --brief
check-vit           check demo:vit --image in/cat.jpg
check-captions      check demo:captions --image in/scene.png --brief
check-candle        check demo:bert --against candle --text "the cat" --brief
check-llama         check in/llama --ids 5,9,11 --brief
check-longformer    check in/longformer
check-bare          check in/bert-bare --brief
models              models
version             --version
refused-method      analyze alignment %gpt
refused-class       analyze lens %review --class nothing
refused-folder      check in/pictures
"""
# What the program says of itself.
ASKED = ["", "open", "capture", "analyze", "render", "project", "check", "pull", "models"]
METHODS = ["heads", "attention", "rollout", "flow", "relevance", "gradients", "loo", "masks", "norms", "effective", "edges",
           "lens", "dla", "ablation", "faithfulness", "normalizers", "alignment", "trace", "knockout", "rank-one", "ff"]  # fmt: skip
RESULTS += "".join(f"help-{name} {name} --help\n" for name in ASKED)
RESULTS += "".join(f"help-analyze-{name} analyze {name} --help\n" for name in METHODS)

GPT, BERT, VIT = ({"bundled": f"demo:{name}"} for name in ("gpt", "bert", "vit"))
# Session files, as `docs/sessions.md` says. Each pane is drawn, and the window opens the file and saves it.
SESSIONS = {
    "plain": {
        "documents": [{"model": GPT, "text": "Once upon a time there was a dog."}],
        "panes": [{"document": 0, "view": "heads", "layer": 2, "query": 3, "heads_on": [0, 2, 5]}],
        "notes": "What the dog does.\nAnd the cat.",
        "bookmarks": [{"name": "a head", "address": "attnscope://open?model=demo:gpt&text=Once&layer=2&head=3"}],
    },
    "changed": {
        "documents": [
            {
                "model": GPT,
                "text": "Once upon a time",
                "changes": [
                    {"edit": {"ablate": "L0H1", "with": "mean"}, "on": True},
                    {"edit": {"hide": 2}, "on": False},
                    {"edit": {"normalizer": "entmax:1.5", "layers": [1, 2]}, "on": True},
                ],
                "plain": 1,
            },
            {"model": GPT, "text": "Once upon a time"},
        ],
        "panes": [
            {"row": 2, "document": 1, "view": "heads", "layer": 1, "head": 0},
            {"row": 2, "document": 0, "view": "heatmap", "layer": 2, "head": 3, "active": True, "later": [1, 2],
             "minus": {"document": 1, "layer": 2, "head": 3}},
            {"row": 0, "document": 1, "view": "heatmap", "layer": 2, "head": 3, "linked": False,
             "options": {"heatmap": {"color_map": "Magma", "scale": "Log", "values": False}, "reading": {"words": True}}},
        ],
        "from_a_later_version": {"kept": True},
    },
    "pictures": {
        "documents": [
            {"model": VIT, "image": {"bundled": "chelsea"}},
            {"model": VIT, "image": {"path": "in/cup.jpg"}, "changes": [{"edit": {"ablate": "L3H1", "with": "zero"}}]},
            {"model": VIT, "image": {"embedded": 0}},
        ],
        "panes": [
            {"document": 0, "view": "image", "layer": 4, "head": 2, "query": 30,
             "options": {"image": {"smoothing": "Smooth", "opacity": 0.4, "contour": 0.8}}},
            {"document": 1, "view": "image", "layer": 2, "head": 0, "options": {"image": {"flows": "Strongest"}}},
            {"document": 2, "view": "distance", "layer": 3, "head": 1, "row": 1,
             "options": {"distance": {"before": True, "per_query": True, "ranks": False}}},
            {"document": 0, "view": "matrix", "layer": 4, "head": 2, "row": 1},
        ],
        "pictures": [{"name": "a wave", "bytes": "in/pictures/wave.png"}],
    },
    "translation": {
        "documents": [{"model": {"bundled": "demo:translate"}, "text": "the cat sleeps", "target": "die Katze schläft"}],
        "panes": [
            {"document": 0, "view": "heatmap", "stack": "cross", "layer": 1, "head": 2, "active": True,
             "options": {"reading": {"by_value_norm": True, "words": True, "rows": "Written"}}},
            {"document": 0, "view": "heads", "stack": "encoder", "layer": 0, "row": 1},
            {"document": 0, "view": "lab", "stack": "cross", "layer": 1, "row": 1,
             "options": {"lab": {"question": "Aligns"}}},
        ],
    },
    "corpus": {
        "documents": [{"model": BERT, "text": "At last she spoke.", "corpus": 0, "corpus_input": 2}],
        "panes": [
            {"document": 0, "view": "scatter", "layer": 2, "head": 1,
             "options": {"scatter": {"color": "Kind", "size": "Norm", "labels": False, "lines": True}},
             "search": {"text": "the,she", "kind": "Word", "case": False}},
            {"document": 0, "view": "average", "layer": 2, "head": 1, "options": {"average": "kind"}},
        ],
        "corpora": [{"path": "demo:sentences", "first": 30, "layers": [2], "filter": "kind=statement", "removed": [1, 4]}],
    },
    "pasted": {
        "documents": [{"model": BERT, "text": "The sun is warm.", "corpus": 0}, {"model": BERT, "text": "A cat.", "corpus": 1}],
        "panes": [
            {"document": 0, "view": "scatter", "layer": 1, "head": 0, "options": {"scatter": {"projection": {
                "space": "Values", "layout": {"method": "Tsne", "perplexity": 5.0, "iterations": 250, "seed": 3}}}}},
            {"document": 1, "view": "scatter", "layer": 5, "is_final": True, "row": 1, "options": {"scatter": {
                "color": "Position", "projection": {"space": "Residual", "layout": {"method": "Umap", "neighbors": 4}}}}},
        ],
        "corpora": [
            {"lines": "The sun is warm.\nThe rain was cold.\nNobody came.", "values": True},
            {"path": "in/table.csv", "text_column": "sentence", "residual": True, "sentences": True},
        ],
    },
    "capture": {
        "documents": [
            {"capture": "captures/story-two/a.safetensors", "input": 2, "model": GPT, "text": "The next run"},
            {"capture": "in/cross.safetensors"},
        ],
        "panes": [
            {"document": 0, "view": "heatmap", "layer": 3, "head": 1, "query": 2, "key": 1,
             "options": {"reading": {"leave_out": {"first": True, "policy": "Hide"}}}},
            {"document": 1, "view": "heads", "stack": "cross", "options": {"heads": {"filter": {"TopK": 2}}}},
        ],
    },
    "lab": {
        "documents": [{"model": {"bundled": "demo:sentiment"}, "text": "a dull film with a fine end",
                       "changes": [{"edit": {"ablate": "L1H1", "with": "zero"}, "on": True}]}],
        "panes": [
            {"document": 0, "view": "lab", "layer": 2, "head": 3, "target": {"class": 1, "against": 0}, "options": {"lab": {
                "question": "Depends", "special": True, "shown": {"flow": True, "integrated": False},
                "turned": {"rollout": {"residual": 0.3}}}}},
            {"document": 0, "view": "lab", "layer": 2, "head": 3, "options": {"lab": {
                "question": "Believe", "turned": {"faithfulness": {"steps": 3, "permutations": 5}}}}},
        ],
    },
    "taken": {
        "documents": [
            {
                "model": BERT,
                "text": "The dog ran home.",
                "text_b": "It was late.",
                "changes": [
                    {"edit": {"replace": 2, "word": "cat"}, "on": True},
                    {"edit": {"mean": {"stack": "self", "layer": 1, "head": 2}, "over": "demo:sentences"}, "on": False},
                    {
                        "edit": {
                            "take": {"site": "z", "stack": "self", "layer": 2, "head": 1, "positions": [2]},
                            "from": {"name": "another", "input": {"text": {"text": "The cat ran home.", "text_b": None}}},
                        },
                        "on": True,
                    },
                ],
            }
        ],
        "panes": [
            {"document": 0, "view": "heatmap", "layer": 3, "head": 1, "options": {"reading": {"sentences": "AToB"}}},
            {"document": 0, "view": "matrix", "layer": 0, "row": 1,
             "options": {"scatter": {"projection": {"space": "Positions"}, "order": "Correlation"}}},
        ],
    },
    "writing": {
        "documents": [
            {"model": GPT, "text": "Once upon", "continued": True, "writing": {"max_tokens": 6, "sampled": True, "seed": 4}},
            {"model": {"bundled": "demo:captions"}, "image": {"bundled": "scene-1"}},
            {"model": {"bundled": "demo:bilstm"}, "text": "a dull film with a fine end", "excerpt": None},
        ],
        "panes": [
            {"document": 0, "view": "heads", "layer": 4, "options": {"heads": {"filter": {"Threshold": 0.2}}}},
            {"document": 1, "view": "image", "stack": "cross", "layer": 1, "head": 1, "query": 2, "active": True},
            {"document": 2, "view": "heatmap", "stack": "cross", "row": 1},
        ],
    },
    "folder": {
        "documents": [{"model": {"path": "in/bert-bare"}, "text": "abc"},
                      {"model": BERT, "text": "The cat sat on the [MASK].", "example": "A title that nobody knows"}],
        "panes": [
            {"document": 1, "view": "heatmap", "layer": 1, "head": 2, "active": True,
             "options": {"reading": {"together": {"over": "Layer", "how": "Max"}, "leave_out": {"positions": [2]}}}},
        ],
    },
}  # fmt: skip


# Written over wherever it stands, in texts and metadata: everything else has to be the same. Nothing that the program
# writes holds a date.
PLAIN = [
    ("version of the program", re.compile(rb"(?i:(attnscope) )\d+\.\d+\.\d+[\w.+-]*"), rb"\1 VERSION"),
    ("folder that is recorded", None, b"FOLDER"),
]


def svg(data):
    """An element <metadata>."""
    found = re.search(rb"<metadata>(.*?)</metadata>", data, re.DOTALL)
    return (
        {"": re.sub(rb"<metadata>.*?</metadata>", b"", data, flags=re.DOTALL)},
        {"metadata": found and found[1].decode()},
    )


def pdf(data):
    """Title, Subject and Creator, the same as XMP, and what follows from their lengths: cross references, /ID."""
    body, metadata = {}, {}
    for number, content in re.findall(rb"(?<=\n)(\d+) 0 obj\n(.*?)\nendobj\n", data, re.DOTALL):
        if content.startswith((b"<</Title", b"<</Creator")):
            # Texts beyond Latin-1 are UTF-16 in hexadecimal digits.
            wide = re.sub(
                rb"<FEFF([0-9A-F]*)>", lambda it: bytes.fromhex(it[1].decode()).decode("utf-16-be").encode(), content
            )
            metadata["Info"] = wide.decode("utf-8", "replace")
        elif b"/Type/Metadata" in content[:100]:
            xmp = re.sub(rb"(<xmpMM:(\w+ID)>)[^<]*", rb"\1", content.split(b"stream\n", 1)[-1])
            metadata["XMP"] = xmp.decode("utf-8", "replace")
        else:
            body[f"object {number.decode()}"] = content
    return body, metadata


def png(data):
    """Chunks of text."""
    body, metadata, at = {}, {}, 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, content = data[at + 4 : at + 8].decode("latin-1"), data[at + 8 : at + 8 + length]
        at += length + 12
        if kind in ("tEXt", "zTXt", "iTXt"):
            name, text = content.split(b"\0", 1)
            metadata[name.decode("latin-1")] = text.decode("utf-8", "replace").lstrip("\0")
        else:
            body[kind] = body.get(kind, b"") + content
    return body, metadata


def table(data):
    """The first field of a table: `figure`."""
    if not data.startswith(b'{"figure":'):
        return {"": data}, {}
    figure, end = json.JSONDecoder().raw_decode(text := data.decode(), len('{"figure":'))
    return {"": text[end:].encode()}, {"figure": figure}


def npz(data):
    """The array `provenance`."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        body = {name: archive.read(name) for name in archive.namelist()}
    provenance = body.pop("provenance.npy", None)
    return body, {"provenance": str(np.load(io.BytesIO(provenance))) if provenance else None, "arrays": list(body)}


def safetensors(data):
    """Everything that is no tensor: `__metadata__`, and in which order tensors stand."""
    (length,) = struct.unpack("<Q", data[:8])
    header, values = json.loads(data[8 : 8 + length]), data[8 + length :]
    metadata, body = header.pop("__metadata__", {}), {}
    for name, tensor in header.items():
        start, end = tensor["data_offsets"]
        body[name] = json.dumps([tensor["dtype"], tensor["shape"]]).encode() + b"\n" + values[start:end]
    return body, {**metadata, "tensors": list(body)}


# By ending: what is taken out of a file and compared by itself, as the words of each say.
METADATA = {".svg": svg, ".pdf": pdf, ".png": png, ".json": table, ".npz": npz, ".safetensors": safetensors}


def cases(lines):
    """(name, words) of a table."""
    for line in lines.strip().splitlines():
        name, command = line.split(None, 1)
        for short, words in WORDS.items():
            command = re.sub(rf"(?<!\S){short}(?!\S)", lambda _, words=words: words, command)
        yield name, shlex.split(command)


def prepare(folder):
    """What commands read."""
    inputs = folder / "in"
    for name, source in COPIED.items():
        (inputs / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / source, inputs / name)
    for name in MODELS:
        ignored = shutil.ignore_patterns("reference*", "tokenization*")
        shutil.copytree(FIXTURES / name, inputs / Path(name).name, ignore=ignored)
    for name, text in WRITTEN.items():
        (inputs / name).write_text(text)
    pixels = np.sin(np.arange(3 * 32 * 32, dtype=np.float32)).reshape(3, 32, 32)
    save_file({"pixel_values": pixels}, inputs / "pixels.safetensors")
    for name, session in SESSIONS.items():
        pictures = [
            {**it, "bytes": base64.b64encode((folder / it["bytes"]).read_bytes()).decode()}
            for it in session.get("pictures", [])
        ]
        written = {"format": "attnscope-session", "version": 1, **session}
        written.update({"pictures": pictures} if pictures else {})
        (folder / f"{name}.attnscope").write_text(json.dumps(written, indent=1, ensure_ascii=False))


class Recorder:
    """One program at work in a folder."""

    def __init__(self, program, folder):
        self.program, self.folder, self.made = program, folder, []
        home = folder / "home"
        home.mkdir()
        self.environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "COLUMNS": "120", "NO_COLOR": "1",
                            "HF_HUB_OFFLINE": "1", "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}  # fmt: skip

    def run(self, kind, name, words):
        """Runs a command; what it writes and says goes into the folder of its case."""
        place = self.folder / kind / name
        place.mkdir(parents=True)
        words = [word.replace("OUT/", f"{kind}/{name}/") if word.startswith("OUT/") else word for word in words]
        if not {"--threads", "--help", "--version", "models"} & set(words):
            words += ["--threads", "1"]
        try:
            done = subprocess.run([self.program, *words], cwd=self.folder, env=self.environment, capture_output=True,
                                  stdin=subprocess.DEVNULL, timeout=SECONDS)  # fmt: skip
            status, out, said = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, out, said = 124, b"", b"it hangs"
        (place / "stdout").write_bytes(out)
        (place / "stderr").write_bytes(said)
        self.made.append({"kind": kind, "name": name, "words": words, "status": status})
        if status:
            print(f"{kind} {name}: {status}: {said.decode(errors='replace').strip()[:300]}", flush=True)

    def session(self, name, session, screen):
        """Draws the panes of a session file; the window opens it and saves it."""
        file = f"{name}.attnscope"
        for nth in range(len(session["panes"])):
            words = ["render", "--session", file, "--pane", str(nth)]
            self.run("sessions", f"{name}/{nth}", [*words, "--out", "OUT/a.svg", "--data", "OUT/a.csv"])
        if screen:
            place = self.folder / "sessions" / name / "saved"
            place.mkdir()
            status = screen.save(self, self.folder / file)
            (self.folder / file).rename(place / file)
            self.made.append({"kind": "sessions", "name": f"{name}/saved", "words": ["open", file], "status": status})
            if status:
                print(f"sessions {name}: the window did not save it", flush=True)


class Screen:
    """A screen that nobody sees, and hands at its keys."""

    def __enter__(self):
        reading, writing = os.pipe()
        # Without -noreset it begins anew, and drops who is just coming, whenever its last client has gone.
        command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "900x700x24", "-nolisten", "tcp", "-noreset"]
        self.server = subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL)
        os.close(writing)
        with os.fdopen(reading) as told:
            self.display = f":{told.readline().strip()}"
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()

    def do(self, environment, *words):
        done = subprocess.run(["xdotool", *map(str, words)], env=environment, capture_output=True, text=True)
        return done.stdout.split()

    def save(self, recorder, path):
        """Opens a session file, waits until nothing is computed any more, and saves it; 0 when that went well."""
        environment = {**recorder.environment, "DISPLAY": self.display}
        words = ["open", path.name, "--renderer", "glow", "--size", "800x600", "--theme", "light"]
        before, until = path.read_bytes(), time.monotonic() + SECONDS
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        program = subprocess.Popen([recorder.program, *words], cwd=recorder.folder, env=environment, **quiet)
        try:
            # The title names the file as soon as it was read.
            while not (window := self.do(environment, "search", "--onlyvisible", "--name", path.name)):
                if time.monotonic() > until or program.poll() is not None:
                    return 1
                time.sleep(0.2)
            idle, used = 0, 0
            while idle < 4 and time.monotonic() < until:
                time.sleep(0.25)
                fields = Path(f"/proc/{program.pid}/stat").read_text().rsplit(")", 1)[1].split()
                now = int(fields[11]) + int(fields[12])
                idle, used = (idle + 1 if now - used <= 1 else 0), now
            self.do(environment, "windowfocus", "--sync", window[-1])
            while path.read_bytes() == before:
                if time.monotonic() > until:
                    return 2
                self.do(environment, "key", "ctrl+s")
                time.sleep(0.4)
            return 0
        finally:
            program.kill()
            program.wait()


def record(options):
    folder, started = options.out.resolve(), time.perf_counter()
    if folder.exists() and any(folder.iterdir()):
        sys.exit(f"{folder} is not empty")
    if not options.no_window and not all(map(shutil.which, ("Xvfb", "xdotool"))):
        sys.exit("there is no Xvfb or no xdotool: install them, or leave the window out with --no-window")
    folder.mkdir(parents=True, exist_ok=True)
    prepare(folder)
    recorder = Recorder(str(options.attnscope.resolve()), folder)
    for kind, lines in (("captures", CAPTURES), ("figures", FIGURES), ("results", RESULTS)):
        for name, words in cases(lines):
            # What others read is made in any case.
            if kind == "captures" or options.only in name:
                recorder.run(kind, name, words)
    chosen = {name: session for name, session in SESSIONS.items() if options.only in name}
    if options.no_window:
        for name, session in chosen.items():
            recorder.session(name, session, None)
    elif chosen:
        with Screen() as screen:
            for name, session in chosen.items():
                recorder.session(name, session, screen)
    (folder / LIST).write_text(json.dumps({"folder": str(folder), "cases": recorder.made}, indent=1))
    refused = sum(case["status"] != 0 for case in recorder.made)
    seconds = time.perf_counter() - started
    print(f"{len(recorder.made)} commands in {seconds:.0f} s, {refused} refused")
    panicked = [path for path in folder.rglob("stderr") if b"panicked" in path.read_bytes()]
    for path in panicked:
        print(f"panicked: {path.relative_to(folder)}")
    unsaved = any(case["status"] and case["words"][0] == "open" for case in recorder.made)
    return 1 if refused > MOST_REFUSED or unsaved or panicked else 0


def shown(value):
    """A value, short enough for a line."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"“{text[:60]}…”" if len(text) > 60 else f"“{text}”"


def first_of_json(before, after, place=""):
    """(place, value before, value after) where two values differ first; None where nowhere."""
    if isinstance(before, str) and isinstance(after, str) and before[:1] + after[:1] in ("{{", "[["):
        # Metadata hold JSON as text.
        try:
            inside = first_of_json(json.loads(before), json.loads(after), place)
            return inside or (None if before == after else (f"{place} (spelling)", before, after))
        except ValueError:
            pass
    if isinstance(before, dict) and isinstance(after, dict):
        keys = [*before, *(key for key in after if key not in before)]
        found = (
            first_of_json(before.get(key, "(missing)"), after.get(key, "(missing)"), f"{place}.{key}") for key in keys
        )
        return next(filter(None, found), None)
    if isinstance(before, list) and isinstance(after, list):
        for nth, (left, right) in enumerate(zip(before, after)):
            if found := first_of_json(left, right, f"{place}[{nth}]"):
                return found
        same = len(before) == len(after)
        return None if same else (f"{place}: number of entries", len(before), len(after))
    return None if before == after and type(before) is type(after) else (place, before, after)


def first_of_text(before, after):
    at = next(
        (nth for nth, (left, right) in enumerate(zip(before, after)) if left != right), min(len(before), len(after))
    )
    start = before.rfind(b"\n", 0, at) + 1
    n_lines = before.count(b"\n", 0, at)
    place = f"line {n_lines + 1}, byte {at - start}"
    # A little of what stands before shows where that is.
    start = max(start, at - 12)
    return place, *(data[start : at + 40].split(b"\n")[0].decode("utf-8", "replace") for data in (before, after))


def numbers(ending, data):
    """The values of a tensor or array; None where it holds none."""
    if ending == ".npz":
        return np.load(io.BytesIO(data))
    head, values = data.split(b"\n", 1)
    dtype, shape = json.loads(head)
    known = {
        "F32": "<f4",
        "F64": "<f8",
        "U8": "u1",
        "I64": "<i8",
        "I32": "<i4",
        "U32": "<u4",
        "F16": "<f2",
        "BOOL": "?",
    }
    return np.frombuffer(values, known[dtype]).reshape(shape)


def first_of_part(ending, whole, name, before, after):
    """Where one part of two files differs first."""
    if ending in (".npz", ".safetensors"):
        left, right = (numbers(ending, data) for data in (before, after))
        if left.dtype != right.dtype or left.shape != right.shape:
            return name, f"{left.dtype} {list(left.shape)}", f"{right.dtype} {list(right.shape)}"
        flat = [np.ascontiguousarray(it).reshape(-1) for it in (left, right)]
        bits = [it.view(np.uint8).reshape(flat[0].size, -1) for it in flat]
        at = int(np.argmax((bits[0] != bits[1]).any(axis=1)))
        index = [int(it) for it in np.unravel_index(at, left.shape)]
        return f"{name} {index}", *(str(it[at]) for it in flat)
    if ending == ".png" and name == "IDAT":
        left, right = (np.asarray(Image.open(io.BytesIO(data)).convert("RGBA")) for data in whole)
        if left.shape == right.shape and (left != right).any():
            y, x, _ = (int(it) for it in np.argwhere(left != right)[0])
            return f"pixel {x}, {y}", left[y, x].tolist(), right[y, x].tolist()
        return f"{name} (compression)", list(left.shape), list(right.shape)
    if ending == ".pdf":
        streams = []
        for data in (before, after):
            head, _, packed = data.partition(b"\nstream\n")
            try:
                streams.append(head + b"\n" + (zlib.decompress(packed) if b"FlateDecode" in head else packed))
            except zlib.error:
                streams.append(data)
        # The length of what is packed says nothing that the contents do not.
        unpacked = [re.sub(rb"^<</Length \d+", b"", it) for it in streams]
        place, *values = first_of_text(*(unpacked if unpacked[0] != unpacked[1] else (before, after)))
        return f"{name}, {place}", *values
    if ending in (".json", ".attnscope"):
        try:
            found = first_of_json(json.loads(before), json.loads(after))
        except ValueError:
            found = None
        if found:
            return found
    return first_of_text(before, after)


def plain(data, folder):
    """With what may differ written over."""
    for _, pattern, instead in PLAIN:
        data = pattern.sub(instead, data) if pattern else data.replace(folder.encode(), instead)
    return data


def contents(path, folder):
    """(parts, metadata) of a file."""
    data = path.read_bytes()
    parts = METADATA.get(path.suffix)
    if parts is None:
        return {"": plain(data, folder)}, {}
    body, metadata = parts(data)
    if path.suffix in (".svg", ".json"):
        body = {name: plain(part, folder) for name, part in body.items()}
    return body, json.loads(plain(json.dumps(metadata).encode(), folder))


def compare_file(paths, folders):
    """What differs in a file: lines about contents, lines about metadata."""
    whole = [path.read_bytes() for path in paths]
    if whole[0] == whole[1]:
        return [], []
    try:
        (before, metadata), (after, metadata_after) = map(contents, paths, folders)
    except (ValueError, KeyError, struct.error, zipfile.BadZipFile) as error:
        return [f"one of the files is broken: {error}"], []
    different, about = [], []
    names = [*before, *(name for name in after if name not in before)]
    changed = [name for name in names if before.get(name) != after.get(name)]
    if changed:
        # Pixels say more than the size of a picture in print.
        name = "IDAT" if "IDAT" in changed else changed[0]
        if name in before and name in after:
            place, left, right = first_of_part(paths[0].suffix, whole, name, before[name], after[name])
        else:
            place, left, right = name, *("there" if name in it else "missing" for it in (before, after))
        more = f" (and {len(changed) - 1} more of {len(names)} parts)" if len(changed) > 1 else ""
        different.append(f"{place}: {shown(left)} | {shown(right)}{more}")
    for key in [*metadata, *(key for key in metadata_after if key not in metadata)]:
        sides = [it.get(key, "(missing)") for it in (metadata, metadata_after)]
        if found := first_of_json(*sides, key):
            place, left, right = found
            if isinstance(left, str) and isinstance(right, str) and max(len(left), len(right)) > 60:
                inside, left, right = first_of_text(left.encode(), right.encode())
                place += f", {inside}"
            about.append(f"metadata {place}: {shown(left)} | {shown(right)}")
    return different, about


def compare(options):
    folders = [options.before, options.after]
    records = [json.loads((folder / LIST).read_text()) for folder in folders]
    places = [record["folder"] for record in records]
    sides = [{(case["kind"], case["name"]): case for case in record["cases"]} for record in records]
    verdicts, counted = {}, Counter()
    for key in [*sides[0], *(key for key in sides[1] if key not in sides[0])]:
        kind, name = key
        different, about = [], []
        if key not in sides[0] or key not in sides[1]:
            different.append(f"only {'before' if key in sides[0] else 'after'}")
        else:
            for part in ("words", "status"):
                left, right = (side[key][part] for side in sides)
                if left != right:
                    different.append(f"{part}: {shown(left)} | {shown(right)}")
            inside = [folder / kind / name for folder in folders]
            files = [{path.name for path in place.iterdir() if path.is_file()} for place in inside]
            for file in sorted(files[0] | files[1]):
                if file not in files[0] & files[1]:
                    different.append(f"{file}: only {'before' if file in files[0] else 'after'}")
                    continue
                found = compare_file([place / file for place in inside], places)
                different += [f"{file}: {line}" for line in found[0]]
                about += [f"{file}: {line}" for line in found[1]]
        for line in (*different, *about):
            print(f"{kind} {name}, {line}")
        # A session is one, however many panes it has.
        unit = (kind, name.split("/")[0] if kind == "sessions" else name)
        verdicts[unit] = max(verdicts.get(unit, 0), 2 if different else 1 if about else 0)
    for kind, _ in verdicts:
        counted[kind] += 1
    kinds = ", ".join(f"{counted[kind]} {kind}" for kind in ("figures", "captures", "results", "sessions"))
    equal, metadata, other = (list(verdicts.values()).count(verdict) for verdict in range(3))
    print(f"{kinds}: {equal} equal, {metadata} differ in metadata only, {other} different")
    return 1 if other or not verdicts or (options.strict and metadata) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    recording = commands.add_parser("record", help="make everything with one program")
    recording.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    recording.add_argument("--out", type=Path, required=True, help="an empty folder, or none yet")
    recording.add_argument("--only", default="", help="only cases whose name contains this, and all captures")
    recording.add_argument("--no-window", action="store_true", help="do not open and save session files in a window")
    recording.set_defaults(run=record)
    comparing = commands.add_parser("compare", help="hold two records side by side")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--strict", action="store_true", help="a difference of metadata counts, too")
    comparing.set_defaults(run=compare)
    options = parser.parse_args()
    return options.run(options)


if __name__ == "__main__":
    sys.exit(main())
