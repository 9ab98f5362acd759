"""Tables of docs/explanations.md, made of files that `attnscope` writes.

    python examples/explanations.py layers --model demo:bert [--every 4]
    python examples/explanations.py faithfulness --model demo:sentiment --data DATA [--every 20] [--steps 0]

`layers` runs sentences of `demo:sentences` (`attnscope capture`) and asks about them (`attnscope analyze norms`).
Means are over sentences, and within a sentence over heads and queries:

- the weight on [CLS], on [SEP] and on punctuation, and the share that these have of what is moved: of the lengths
  of the vectors a * f(x) that a query gets from its keys (Kobayashi et al. 2020);
- the length of f(x) of these tokens beside that of all others, and the rank correlation of the weight with the
  length of f(x), over the keys of a query;
- the entropy of a row, of ln n: of the attention of the layer, its heads averaged, and of the rollout up to that
  layer (Abnar and Zuidema 2020, residual share 0.5). The last layer's rollout is held against `analyze rollout`.

`faithfulness` asks `attnscope analyze faithfulness` about held-out reviews (DATA as for `train_polarity.py`).

Needs numpy, safetensors; `faithfulness` what `train_polarity.py` needs.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open

ROOT = Path(__file__).resolve().parent.parent
SENTENCES = ROOT / "assets" / "corpora" / "sentences.csv"
KINDS = ("[CLS]", "[SEP]", "punctuation")
RESIDUAL = 0.5


def run(options, *arguments):
    done = subprocess.run([str(options.attnscope), *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())


def analyze(options, work, method, text, *more):
    out = work / "answer.json"
    run(options, "analyze", method, "--model", options.model, "--text", text, "--out", out, *more)
    return json.loads(out.read_text())


def captured(options, work, text):
    """Patterns `[layers, heads, n, n]` and the texts of the tokens."""
    out = work / "capture.safetensors"
    run(options, "capture", "--model", options.model, "--text", text, "--sites", "pattern", "--out", out)
    with safe_open(out, "np") as file:
        tokens = [token["text"] for token in json.loads(file.metadata()["tokens"])["self"]]
        names = sorted(file.keys(), key=lambda name: int(name.split(".")[1]))
        return np.stack([file.get_tensor(name) for name in names]).astype(np.float64), tokens


def of_kind(tokens, kind):
    if kind == "punctuation":
        return np.array([not any(letter.isalnum() for letter in token) for token in tokens])
    return np.array([token == kind for token in tokens])


def entropy(rows):
    """Mean entropy of rows, 1 where they are even."""
    logs = np.log(rows, out=np.zeros_like(rows), where=rows > 0)
    return float((-(rows * logs).sum(-1) / np.log(rows.shape[-1])).mean())


def ranks(values):
    return values.argsort(-1).argsort(-1).astype(np.float64)


def rank_correlation(a, b):
    """Spearman's, along the last axis."""
    a, b = (ranks(side) - (side.shape[-1] - 1) / 2 for side in (a, b))
    return (a * b).sum(-1) / np.sqrt((a * a).sum(-1) * (b * b).sum(-1))


def measure(options, work, text):
    """One row of numbers for each layer."""
    patterns, tokens = captured(options, work, text)
    lengths = np.array(analyze(options, work, "norms", text)["result"]["attention_norm"])
    shares = lengths / lengths.sum(-1, keepdims=True)
    # How long f(x) is, whoever looks: the weight of any query divides out.
    moved = (lengths / np.maximum(patterns, 1e-30)).mean(2)
    special = of_kind(tokens, "[CLS]") | of_kind(tokens, "[SEP]")
    marks = {kind: of_kind(tokens, kind) & (~special if kind == "punctuation" else True) for kind in KINDS}
    others = ~np.logical_or.reduce(list(marks.values()))
    rollout, found = np.eye(len(tokens)), []
    for layer, (pattern, share) in enumerate(zip(patterns, shares)):
        mean = pattern.mean(0)
        rollout = (RESIDUAL * np.eye(len(tokens)) + (1 - RESIDUAL) * mean) @ rollout
        row = {}
        for kind, which in marks.items():
            row[f"weight on {kind}"] = pattern[..., which].sum(-1).mean()
            row[f"share of {kind}"] = share[..., which].sum(-1).mean()
            row[f"length of {kind}"] = (moved[layer][:, which].mean(1) / moved[layer][:, others].mean(1)).mean() if which.any() else np.nan
        row["weight ~ length"] = rank_correlation(pattern, np.broadcast_to(moved[layer][:, None], pattern.shape)).mean()
        row["entropy of attention"], row["entropy of rollout"] = entropy(mean), entropy(rollout)
        found.append(row)
    return found, rollout


def layers(options, work):
    with open(SENTENCES, encoding="utf-8", newline="") as file:
        texts = [row["text"] for row in csv.DictReader(file)][:: options.every]
    found = []
    for text in texts:
        rows, rollout = measure(options, work, text)
        if not found:
            own = np.array(analyze(options, work, "rollout", text)["result"]["matrix"])
            assert np.abs(own - rollout).max() < 1e-5, "this is not the rollout that the program computes"
        found.append(rows)
    names = list(found[0][0])
    print(f"`{options.model}`, {len(texts)} sentences\n\n| layer | " + " | ".join(names) + " |\n|" + "---|" * (len(names) + 1))
    for layer in range(len(found[0])):
        cells = [np.nanmean([rows[layer][name] for rows in found]) for name in names]
        print(f"| {layer} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")


def faithfulness(options, work):
    from train_polarity import read_sentences

    texts = [text for text, _ in read_sentences(options.data)[1]][:: options.every]
    numbers = {}
    for text in texts:
        result = analyze(options, work, "faithfulness", text, "--permutations", 100, "--steps", options.steps)["result"]
        found = {name: result[name] for name in ("kendall_gradient", "kendall_loo", "permutation_median", "uniform")}
        found |= {f"erased: {order}": result["erasure"][order] for order in ("attention", "gradient", "attention_gradient")}
        at_random = [share for share in result["erasure"]["random"] if share is not None]
        found["erased: random"] = np.mean(at_random) if at_random else None
        if options.steps:
            found |= {f"adversarial {name}": result["adversarial"][name] for name in ("jsd", "tvd")}
        for name, value in found.items():
            numbers.setdefault(name, []).append(np.nan if value is None else value)
    print(f"`{options.model}`, {len(texts)} reviews\n\n| | mean ± standard deviation | median | none |\n|---|---|---|---|")
    for name, values in numbers.items():
        print(f"| {name} | {np.nanmean(values):.2f} ± {np.nanstd(values):.2f} | {np.nanmedian(values):.3f} | {np.isnan(values).mean():.0%} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("layers", "faithfulness"))
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--model", default="demo:bert")
    parser.add_argument("--every", type=int, default=1, help="only every so manyth sentence")
    parser.add_argument("--data", type=Path, help="folder with the reviews")
    parser.add_argument("--steps", type=int, default=0, help="steps of the search for adversarial attention")
    options = parser.parse_args()
    if options.what == "faithfulness" and options.data is None:
        parser.error("faithfulness reads reviews: say with --data where they are")
    with tempfile.TemporaryDirectory() as work:
        {"layers": layers, "faithfulness": faithfulness}[options.what](options, Path(work))


if __name__ == "__main__":
    main()
