"""Long inputs: time beside PyTorch's fused attention, and memory above what is kept.

    python benches/long.py [--attnscope target/release/attnscope] [--work FOLDER] [--json FILE]

A LLaMA layout with random weights (8 layers of 16 heads, 4 of keys, width 512), f32, the same number of threads on
both sides. PyTorch runs `sdpa` and keeps nothing but the logits; attnscope keeps queries and keys of all layers
beside them, and no patterns. With `--longformer` also longformer-base's layout, a classifier whose windows of 512
transformers computes by operations of its own. Each side runs in a process of its own, in alternating rounds; the first pass of a
process is not counted. Memory is the peak resident set of a process that captures the longer input, less that of one
that captures sixteen tokens, less the queries, keys and logits that it keeps. Linux only, where the program knows
its peak.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SIZES = {"hidden_size": 512, "num_attention_heads": 16, "num_key_value_heads": 4, "num_hidden_layers": 8}
# Ids of two digits: what a system takes as one argument is limited.
VOCABULARY = 100
SITES = "q,k,logits"


def checkpoint(name, work):
    """The folder of a checkpoint, built on first use, and its model class."""
    import torch
    import transformers as hf

    folder = work / f"{name}-long"
    if name == "llama":
        model_class = hf.LlamaForCausalLM
        sizes = {**SIZES, "intermediate_size": 1376, "max_position_embeddings": 40_000, "bos_token_id": None}
        config = hf.LlamaConfig(**sizes, vocab_size=VOCABULARY)
    else:
        # The default configuration is longformer-base-4096, save for positions and vocabulary.
        model_class = hf.LongformerForSequenceClassification
        config = hf.LongformerConfig(vocab_size=VOCABULARY, max_position_embeddings=40_000)
    if not (folder / "model.safetensors").exists():
        torch.manual_seed(0)
        model_class(config).save_pretrained(folder)
    return folder, model_class


def ids(tokens):
    return [10 + (7 * at * at + 3 * at) % (VOCABULARY - 10) for at in range(tokens)]


def run_torch(options):
    """The PyTorch half, in this process: prints its timings as JSON."""
    import torch

    torch.set_num_threads(options.threads)
    folder, model_class = checkpoint(options.torch, options.work)
    kind = {"attn_implementation": "sdpa"} if options.torch == "llama" else {}
    model = model_class.from_pretrained(folder, dtype=torch.float32, **kind).eval()
    inputs = torch.tensor([ids(options.tokens)])
    more = {"use_cache": False} if options.torch == "llama" else {}
    times = []
    with torch.no_grad():
        for _ in range(options.repeat + 1):
            start = time.perf_counter()
            output = model(inputs, **more)
            times.append(1000 * (time.perf_counter() - start))
            del output
    print(json.dumps({"forward_ms": times}))


def time_torch(name, tokens, options):
    """The PyTorch half in a new process."""
    command = [sys.executable, __file__, "--torch", name, "--tokens", str(tokens), "--work", str(options.work)]
    command += ["--threads", str(options.threads), "--repeat", str(options.repeat)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    environment.pop("OMP_WAIT_POLICY", None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def run_attnscope(name, tokens, repeat, options):
    """Timings and peak of a process that captures so many tokens."""
    timings, capture = options.work / "timings.json", options.work / "capture.safetensors"
    command = [str(options.attnscope), "capture", "--model", str(checkpoint(name, options.work)[0])]
    command += ["--ids", ",".join(map(str, ids(tokens))), "--sites", SITES, "--threads", str(options.threads)]
    command += ["--repeat", str(repeat), "--timings", str(timings), "--out", str(capture)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    capture.unlink()
    return json.loads(timings.read_text())


def kept_bytes(tokens):
    """Queries, keys and logits of so many tokens."""
    width = SIZES["hidden_size"]
    keys = width * SIZES["num_key_value_heads"] // SIZES["num_attention_heads"]
    return 4 * tokens * (SIZES["num_hidden_layers"] * (width + keys) + VOCABULARY)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parent.parent / "target" / "release" / "attnscope"
    parser.add_argument("--attnscope", type=Path, default=default)
    parser.add_argument("--work", type=Path, help="where the checkpoint is built and kept")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side, alternating")
    parser.add_argument("--repeat", type=int, default=2, help="passes counted in each process")
    parser.add_argument("--tokens", type=int, default=8192, help="of the input that is timed")
    parser.add_argument("--long", type=int, default=32_768, help="tokens of the input whose memory is measured")
    parser.add_argument("--json", type=Path, help="write every single number to this file")
    parser.add_argument("--longformer", action="store_true", help="time that layout, too")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch:
        return run_torch(options)

    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-long-"))
    options.work.mkdir(parents=True, exist_ok=True)
    times = {}
    for name in ["llama"] + ["longformer"] * options.longformer:
        sides = times[name] = {"attnscope": [], "torch": []}
        checkpoint(name, options.work)
        for _ in range(options.rounds):
            sides["attnscope"].append(run_attnscope(name, options.tokens, options.repeat + 1, options))
            sides["torch"].append(time_torch(name, options.tokens, options))
        medians = {
            side: statistics.median(ms for run in runs for ms in run["forward_ms"][1:]) for side, runs in sides.items()
        }
        print(
            f"{name}, {options.tokens} tokens, {options.threads} threads: attnscope {medians['attnscope']:.0f} ms, "
            f"PyTorch {medians['torch']:.0f} ms, ratio {medians['attnscope'] / medians['torch']:.2f}",
            flush=True,
        )
    short, long = (run_attnscope("llama", n, 1, options) for n in (16, options.long))
    above = (long["peak_rss_mb"] - short["peak_rss_mb"]) * 2**20
    kept = kept_bytes(options.long)
    print(
        f"{options.long} tokens: peak {above / 1e9:.2f} GB above the model, of which {kept / 1e9:.2f} GB are kept; "
        f"{(above - kept) / 1e9:.2f} GB besides, in {long['forward_ms'][0] / 1000:.0f} s"
    )
    if options.json:
        memory = {"tokens": options.long, "peak_above_model": above, "kept": kept}
        options.json.write_text(json.dumps({"times": times, "memory": memory}, indent=1) + "\n")


if __name__ == "__main__":
    main()
