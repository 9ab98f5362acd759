"""Every supported family beside PyTorch: parity at every site, and speed at full width.

    python benches/families.py [--attnscope target/release/attnscope] [--only NAME] [--out docs/families.md]

For each family three things are measured and written as one row of a table:

* parity: every tiny checkpoint of `tests/fixtures/families` is run through `attnscope capture`, and the
  largest difference of any pattern and of any other site (relative to the largest value of the tensor)
  from what PyTorch recorded is taken over all of them;
* a checkpoint with the published model's configuration (random weights, queries and keys sharpened;
  fewer layers where the whole would not fit, which the row says) is loaded and run on 128 tokens or one
  picture, and its patterns are compared. Sharp random models amplify rounding, so PyTorch's own
  difference between f32 and f64 stands beside it where the model is small enough to run in f64;
* speed: the median forward pass with q, k, v and patterns recorded, over that of PyTorch's eager attention
  with `output_attentions=True`, same input, same threads, layers without the head on both sides,
  alternating processes.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from published import FULL
from shared import input_arguments

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
TOKENS = 128
WARM_UP = 1
REPEAT = 4
ROUNDS = 2
# Sides above this many parameters are not run in f64.
F64_BELOW = 1_300_000_000
INPUTS = ("input_ids", "pixel_values", "decoder_input_ids", "generated_ids", "attention_mask", "global_attention_mask")

TINY = """
# Families and what was measured of them

Written by `python benches/families.py --out docs/families.md`.
Differences are absolute for patterns, and relative to the largest value of the tensor for every other site.

## Every site against PyTorch

Tiny checkpoints with random, sharpened weights (`tests/fixtures/families`), with the variations a family has: with and without biases, tied or not, odd head widths, grouped keys, windows shorter than the text, other grids of patches, registers.
Sites are q, k, v, scores, pattern, z, the stream before each layer and at the end, and the logits.
Families that write also write what `generate` writes greedily in up to 50 tokens (`tests/it/families.rs`).
The last column has the tokenizer files that are read beside `tokenizer.json`, and how many awkward texts give the same ids as the Python tokenizers (`tests/it/vocabularies.rs`, `tests/it/tokenization.rs`).

| `model_type` | checkpoints | sites | pattern | other sites | tokenizer |
|---|---|---|---|---|---|
"""
FULL_WIDTH = """
## At published sizes

Random weights with the numbers of published configurations, queries and keys sharpened, 128 tokens or one picture.
Sharp random models amplify rounding from layer to layer, so PyTorch's own difference between f32 and f64 stands beside ours; where both are large (GPT-Neo, whose scores are not scaled, SigLIP) a pattern has flipped, and neither says anything. Where f64 was not run, the model was too large for it, and the difference cannot be judged by itself.
The last column is the time of a forward pass with q, k, v and patterns recorded over that of PyTorch's eager attention, without heads.

| configuration of | parameters | loaded in | pattern | PyTorch, f32 against f64 | time over PyTorch's |
|---|---|---|---|---|---|
"""
# Families that have their tokenizer from another one.
TOKENIZER_OF = {
    "bloom": "gpt2", "clip_vision_model": None, "distilbert": "bert", "electra": "bert", "encoder-decoder": "bert",
    "gemma2": "gemma", "gemma3_text": "gemma", "gpt_neo": "gpt2", "gpt_neox": "gpt2", "gptj": "gpt2", "granite": "gpt2", "led": "roberta", "longformer": "roberta",
    "mistral": "llama",
    "modernbert": "gpt2", "mt5": "t5", "olmo2": "gpt2", "olmo3": "gpt2", "phi": "gpt2", "phi3": "llama", "qwen3": "qwen2",
    "bilstm": "tokenizer.json", "han": "tokenizer.json", "memn2n": "tokenizer.json", "pointer": "tokenizer.json", "rnnsearch": "tokenizer.json", "siglip": "tokenizer.json", "smollm3": "gpt2", "stablelm": "gpt2", "trocr": "roberta", "vision-encoder-decoder": "roberta",
}  # fmt: skip
# Modules that are sharpened.
QUERY_KEY = ("query", "key", "query_proj", "key_proj", "q_proj", "k_proj", "q_lin", "k_lin", "c_attn", "query_key_value", "qkv_proj", "Wqkv", "attn.q", "attn.k", "Attention.q", "Attention.k")


def build(name, folder):
    """The model of a row with sharpened queries and keys, saved in `folder`."""
    import torch
    import transformers

    model_class, config_class, numbers, _ = FULL[name]
    torch.manual_seed(0)
    model = getattr(transformers, model_class)(getattr(transformers, config_class)(**numbers)).eval()
    with torch.no_grad():
        for parameter, weight in model.named_parameters():
            owner = parameter.rsplit(".", 1)[0]
            if weight.dim() == 2 and parameter.endswith("weight") and owner.endswith(QUERY_KEY):
                weight.mul_(2.0 if "t5" in name else 4.0)
    model.save_pretrained(folder, max_shard_size="2GB")
    return model


def inputs_of(model):
    """A seeded input for a model: 128 tokens, one picture, or both."""
    import torch

    generator = torch.Generator().manual_seed(1)
    config = model.config
    text = getattr(config, "text_config", config)

    def ids(n, config):
        return torch.randint(5, config.vocab_size - 5, (1, n), generator=generator)

    found = {}
    if getattr(config, "vision_config", None) is not None or hasattr(config, "patch_size"):
        vision = getattr(config, "vision_config", config)
        size = 224 if "dinov2" in config.model_type else vision.image_size
        found["pixel_values"] = torch.randn(1, 3, size, size, generator=generator)
    if hasattr(text, "vocab_size") and (text is not config or "pixel_values" not in found):
        n = min(TOKENS, getattr(text, "max_position_embeddings", TOKENS) or TOKENS)
        found["input_ids"] = ids(n, text)
    if getattr(config, "is_encoder_decoder", False):
        found["decoder_input_ids"] = ids(TOKENS // 2, config)
    return found


def attends(config):
    """Layers that have patterns, of a decoder some of whose layers have none; None where all have."""
    kinds = getattr(config, "layer_types", None) or []
    layers = [layer for layer, kind in enumerate(kinds) if kind not in ("linear_attention", "mamba", "conv")]
    return layers if 0 < len(layers) < len(kinds) else None


def patterns_of(output, config):
    """All patterns by capture file name."""
    found = {}
    towers = {"vision": getattr(output, "vision_model_output", None), "text": getattr(output, "text_model_output", None)}
    sources = {name: getattr(tower, "attentions", None) for name, tower in towers.items() if tower is not None}
    if not sources:
        fields = {"self": "attentions", "encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
        sources = {name: getattr(output, field, None) for name, field in fields.items()}
    for stack, layers in sources.items():
        there = [pattern for pattern in layers or () if pattern is not None]
        for layer, pattern in zip(attends(config) or range(len(there)), there, strict=True):
            found[f"{stack}.{layer}.pattern"] = pattern[0].float().contiguous().clone()
    return found


def torch_side(name, options):
    """Runs in a process of its own: builds or loads, runs, prints one line of JSON."""
    import torch
    import transformers
    from safetensors.torch import save_file

    torch.set_num_threads(options.threads)
    folder = options.work / name
    first = not folder.exists()
    model_class = getattr(transformers, FULL[name][0])
    model = build(name, folder) if first else model_class.from_pretrained(folder, dtype=torch.float32)
    model.set_attn_implementation("eager")
    model.eval()
    inputs = inputs_of(model)
    extra = {"output_attentions": True}
    times = []
    with torch.no_grad():
        for _ in range(REPEAT + WARM_UP):
            start = time.perf_counter()
            output = model(**inputs, **extra)
            times.append(1000 * (time.perf_counter() - start))
    n = sum(weight.numel() for weight in model.parameters())
    result = {"forward_ms": times[WARM_UP:], "params": n}
    if first:
        patterns = patterns_of(output, model.config)
        save_file(patterns, options.work / "patterns.safetensors")
        result["arguments"] = input_arguments(inputs, options.work)
        if n < F64_BELOW:
            model.double()
            doubled = {key: value.double() if value.is_floating_point() else value for key, value in inputs.items()}
            with torch.no_grad():
                exact = patterns_of(model(**doubled, **extra), model.config)
            result["drift"] = max((patterns[key] - exact[key]).abs().max().item() for key in patterns)
    print(json.dumps(result))


def run_torch(name, options):
    command = [sys.executable, __file__, "--torch", name, "--work", str(options.work), "--threads", str(options.threads)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    return json.loads(done.stdout.splitlines()[-1])


def run_attnscope(model, arguments, options, sites="q,k,v,pattern", repeat=1):
    """Runs `attnscope capture`; answers its timings and the tensors it wrote."""
    from safetensors.numpy import load_file

    timings, out = options.work / "timings.json", options.work / "capture.safetensors"
    command = [str(options.attnscope), "capture", "--model", str(model), *arguments, "--sites", sites]
    command += ["--threads", str(options.threads), "--repeat", str(repeat), "--timings", str(timings), "--out", str(out)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip())
    return json.loads(timings.read_text()), load_file(out)


def full_row(name, options):
    """Loads, parity and speed at full width."""
    import numpy as np
    from safetensors.numpy import load_file

    shutil.rmtree(options.work / name, ignore_errors=True)
    try:
        first = run_torch(name, options)
        times = {"torch": list(first["forward_ms"]), "attnscope": []}
        timings, tensors = None, None
        for round_idx in range(ROUNDS):
            timings, tensors = run_attnscope(options.work / name, first["arguments"], options, repeat=REPEAT + WARM_UP)
            times["attnscope"] += timings["forward_ms"][WARM_UP:]
            if round_idx + 1 < ROUNDS:
                times["torch"] += run_torch(name, options)["forward_ms"]
        expected = load_file(options.work / "patterns.safetensors")
        worst = max(float(np.abs(tensors[key] - expected[key]).max()) for key in expected)
        return {
            "params": first["params"],
            "worst": worst,
            "drift": first.get("drift"),
            "load_ms": timings["load_ms"],
            "ratio": statistics.median(times["attnscope"]) / statistics.median(times["torch"]),
        }
    finally:
        shutil.rmtree(options.work / name, ignore_errors=True)


def tokenizers():
    """What the tokenizer fixtures of each model type are made of."""
    found = defaultdict(lambda: [set(), 0])
    for texts in sorted(FIXTURES.glob("**/tokenization.json")):
        files, count = found[json.loads((texts.parent / "config.json").read_text())["model_type"]], len(json.loads(texts.read_text()))
        names = {file.name for file in texts.parent.iterdir() if file.suffix in (".model", ".spm", ".txt") or file.name in ("vocab.json", "tokenizer.json")}
        files[0] |= {f"`{name}`" for name in names}
        files[1] += count
    return found


def tokenizer_of(model_type, found):
    source = TOKENIZER_OF.get(model_type, model_type)
    if source == "tokenizer.json":
        return "only that"
    if source not in found:
        return "none: pictures"
    names, count = found[source]
    return f"{', '.join(sorted(names))}: {count} texts" + ("" if source == model_type else f" ({source}'s)")


def tiny_rows(options):
    """Largest differences over the tiny checkpoints, by model type."""
    import numpy as np
    from safetensors.numpy import load_file

    rows = defaultdict(lambda: {"n": 0, "pattern": 0.0, "site": 0.0, "n_sites": 0})
    for folder in sorted((FIXTURES / "families").iterdir()):
        reference_file = folder / "reference.safetensors"
        if not reference_file.exists():
            continue
        reference = load_file(reference_file)
        arguments = input_arguments(reference, options.work)
        _, tensors = run_attnscope(folder, arguments, options, sites="q,k,v,scores,pattern,z,resid,mlp_gate,router,logits")
        row = rows[json.loads((folder / "config.json").read_text())["model_type"]]
        row["n"] += 1
        for key, expected in reference.items():
            if key in INPUTS:
                continue
            value, expected = tensors[key].reshape(expected.shape), expected
            same = value == expected
            difference = float(np.abs(np.where(same, 0, value) - np.where(same, 0, expected)).max())
            if key.endswith("pattern"):
                row["pattern"] = max(row["pattern"], difference)
            else:
                finite = np.abs(expected[np.isfinite(expected)])
                row["site"] = max(row["site"], difference / max(1.0, float(finite.max())))
            row["n_sites"] += 1
    return rows


def kept(path):
    """The sections of a file that other scripts write."""
    if path is None or not path.exists():
        return ""
    own = ("Every site against PyTorch\n", "At published sizes\n")
    sections = path.read_text().split("\n## ")[1:]
    return "".join(f"\n## {section.rstrip()}\n" for section in sections if not section.startswith(own))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="full-width rows whose name contains this, and no tiny ones")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch:
        return torch_side(options.torch, options)
    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-families-"))
    options.work.mkdir(parents=True, exist_ok=True)

    lines, others = [TINY.strip()], kept(options.out)

    def report(line):
        """After every row: a long run that is stopped leaves what it measured."""
        lines.append(line)
        print(line, flush=True)
        if options.out:
            options.out.write_text("\n".join(lines) + "\n" + others)

    found = tokenizers()
    for model_type, row in sorted(tiny_rows(options).items()) if not options.only else ():
        measured = f"{row['n']} | {row['n_sites']} | {row['pattern']:.1e} | {row['site']:.1e}"
        report(f"| {model_type} | {measured} | {tokenizer_of(model_type, found)} |")
    lines.append(FULL_WIDTH.rstrip())
    for name, (_, _, _, smaller) in FULL.items():
        if options.only not in name:
            continue
        try:
            row = full_row(name, options)
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr, flush=True)
            report(f"| {name} | failed: {str(error).splitlines()[-1][:120]} | | | | |")
            continue
        drift = f"{row['drift']:.1e}" if row["drift"] is not None else "not run"
        size = f"{row['params'] / 1e6:.0f} M" + (f", {smaller}" if smaller else "")
        report(f"| {name} | {size} | {row['load_ms'] / 1000:.1f} s | {row['worst']:.1e} | {drift} | {row['ratio']:.2f} |")


if __name__ == "__main__":
    main()
