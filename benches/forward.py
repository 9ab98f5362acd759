"""Speed and memory of one forward pass with attention recorded, beside PyTorch.

    python benches/forward.py [--attnscope target/release/attnscope] [--work FOLDER]

The same checkpoint, the same input, f32, the same number of threads. PyTorch runs eager attention
with `output_attentions=True` and returns the patterns; attnscope records what its window shows: q, k,
v and patterns. Without `--head` both sides run the layers only; with it, both also compute and return
the logits of every position, and attnscope ranks the five best. Each side runs in a process of its
own, in alternating rounds, so that a busy machine disturbs both; the first passes of a process are
not counted. Loading, tokenizing and writing are not part of the time. Memory is the peak resident set
of the process.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WARM_UP = 2
CASES = [("bert-base", 128), ("bert-base", 512), ("gpt2", 128), ("gpt2", 512), ("vit-base", 197)]


def run_torch(name, options):
    """The PyTorch half, in this process: prints its timings as JSON."""
    import torch

    from checkpoints import full_size, random_input

    torch.set_num_threads(options.threads)
    folder, model_class = full_size(name, options.work)
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    model = model if options.head else model.base_model
    inputs = random_input(name, options.tokens)
    times = []
    with torch.no_grad():
        for _ in range(options.repeat + WARM_UP):
            start = time.perf_counter()
            output = model(**inputs, output_attentions=True)
            times.append(1000 * (time.perf_counter() - start))
            del output
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"forward_ms": times, "peak_rss_mb": peak}))


def time_torch(name, tokens, options):
    """The PyTorch half in a new process."""
    command = [sys.executable, __file__, "--torch", name, "--tokens", str(tokens)]
    command += ["--work", str(options.work), "--repeat", str(options.repeat)]
    command += ["--threads", str(options.threads)] + ["--head"] * options.head
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    environment.pop("OMP_WAIT_POLICY", None)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])


def time_attnscope(name, tokens, options):
    """The attnscope half in a new process."""
    timings, capture = options.work / "timings.json", options.work / "capture.safetensors"
    command = [str(options.attnscope), "capture", "--model", str(options.work / name)]
    command += options.inputs[name, tokens] + ["--sites", "q,k,v,pattern" + ",logits" * options.head]
    command += ["--threads", str(options.threads), "--repeat", str(options.repeat + WARM_UP)]
    command += ["--timings", str(timings), "--out", str(capture)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(timings.read_text())


def build_inputs(options):
    """Builds the checkpoints and the input arguments in a process that is not measured."""
    from checkpoints import full_size, random_input
    from shared import input_arguments

    inputs = {}
    for name, tokens in options.cases:
        full_size(name, options.work)
        inputs[name, tokens] = input_arguments(random_input(name, tokens), options.work)
    return inputs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parent.parent / "target" / "release" / "attnscope"
    parser.add_argument("--attnscope", type=Path, default=default)
    parser.add_argument("--work", type=Path, help="where checkpoints are built and kept")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side, alternating")
    parser.add_argument("--repeat", type=int, default=5, help="passes counted in each process")
    parser.add_argument("--head", action="store_true", help="with the model's head on both sides")
    parser.add_argument("--only", default="", help="only checkpoints whose name contains this")
    parser.add_argument("--json", type=Path, help="write every single time to this file")
    parser.add_argument("--torch", help=argparse.SUPPRESS)
    parser.add_argument("--tokens", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch:
        return run_torch(options.torch, options)

    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-forward-"))
    options.work.mkdir(parents=True, exist_ok=True)
    options.cases = [case for case in CASES if options.only in case[0]]
    options.inputs = build_inputs(options)
    print(f"{'checkpoint':10} {'tokens':>6} {'attnscope ms':>13} {'torch ms':>9} {'ratio':>6} {'peak MB':>8} {'torch':>6}")
    results = []
    for name, tokens in options.cases:
        sides = {"attnscope": [], "torch": []}
        for _ in range(options.rounds):
            sides["attnscope"].append(time_attnscope(name, tokens, options))
            sides["torch"].append(time_torch(name, tokens, options))
        medians, peaks = {}, {}
        for side, runs in sides.items():
            medians[side] = statistics.median(ms for run in runs for ms in run["forward_ms"][WARM_UP:])
            peaks[side] = max(run["peak_rss_mb"] for run in runs)
        ratio = medians["attnscope"] / medians["torch"]
        print(
            f"{name:10} {tokens:6} {medians['attnscope']:13.1f} {medians['torch']:9.1f} {ratio:6.2f} "
            f"{peaks['attnscope']:8.0f} {peaks['torch']:6.0f}",
            flush=True,
        )
        results.append({"checkpoint": name, "tokens": tokens, "ratio": ratio, **sides})
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
