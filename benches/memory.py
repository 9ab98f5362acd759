"""Peak memory while a large sharded checkpoint is loaded, against its size in single precision.

    python benches/memory.py [--attnscope PATH] [--work FOLDER] [--dtype float32] [--format safetensors]

Writes a GPT-2 of 2.6 GB (in f32) with random weights in 8 shards, runs one short forward pass, and
fails when the process ever held more than 1.15 times that size. Needs torch, transformers and
safetensors; Linux only, where the program knows its peak.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel

LIMIT = 1.15
CONFIG = {"n_embd": 1280, "n_layer": 30, "n_head": 20}
NAMES = {"safetensors": ("model", "safetensors"), "bin": ("pytorch_model", "bin")}


def shapes():
    """Name and shape of every stored tensor; nothing is allocated."""
    with torch.device("meta"):
        model = GPT2LMHeadModel(GPT2Config(**CONFIG))
    return {name: tensor.shape for name, tensor in model.state_dict().items() if name != "lm_head.weight"}


def write_checkpoint(folder, shards, dtype, form):
    """A checkpoint of equal shards, one in memory at a time. Returns its size in f32."""
    torch.manual_seed(0)
    GPT2Config(**CONFIG).save_pretrained(folder)
    total = sum(shape.numel() for shape in shapes().values())
    parts, filled = [{} for _ in range(shards)], 0
    for name, shape in shapes().items():
        parts[min(shards * filled // total, shards - 1)][name] = shape
        filled += shape.numel()
    stem, extension = NAMES[form]
    weight_map = {}
    for number, part in enumerate(parts, start=1):
        file = f"{stem}-{number:05}-of-{shards:05}.{extension}"
        tensors = {name: (torch.randn(shape) * 0.02).to(dtype) for name, shape in part.items()}
        (save_file if form == "safetensors" else torch.save)(tensors, folder / file)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": total * dtype.itemsize}, "weight_map": weight_map}
    (folder / f"{stem}.{extension}.index.json").write_text(json.dumps(index))
    return 4 * total


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=Path("target/release/attnscope"))
    parser.add_argument("--work", type=Path, help="keeps nothing; default is the system's temporary folder")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float32")
    parser.add_argument("--format", choices=sorted(NAMES), default="safetensors")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=args.work) as folder:
        folder = Path(folder)
        size = write_checkpoint(folder, args.shards, getattr(torch, args.dtype), args.format)
        run = [args.attnscope, "capture", "--model", folder, "--ids", "1,2,3,4"]
        run += ["--out", folder / "capture.safetensors", "--timings", folder / "timings.json"]
        subprocess.run(run, check=True)
        timings = json.loads((folder / "timings.json").read_text())
    peak = timings["peak_rss_mb"] * 2**20
    print(
        f"{args.shards} shards, {args.dtype}, {args.format}: {size / 1e9:.2f} GB in f32, "
        f"peak {peak / 1e9:.2f} GB = {peak / size:.3f} times, loaded in {timings['load_ms'] / 1e3:.1f} s"
    )
    sys.exit(peak > LIMIT * size)


if __name__ == "__main__":
    main()
