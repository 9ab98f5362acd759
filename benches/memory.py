"""Peak memory of opening and running a large sharded checkpoint, against its size on the disk.

    python benches/memory.py [--layout qwen3-4b] [--dtype bfloat16] [--tokens 128] [--torch]
    python benches/memory.py --layout qwen3-8b --format gguf --tokens 128

Writes a checkpoint with random weights in shards, one of which is in memory at a time, runs one forward pass
that records every pattern, and fails when the process ever held more than 1.15 times the files. `--torch` runs
PyTorch in single precision on the same files, in a process of its own. A GGUF file is one of Q4_K blocks; its limit is
1.2 times. Needs torch, transformers, safetensors and gguf; Linux only, where the program knows its peak.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers
from safetensors.torch import save_file

LIMIT = {"safetensors": 1.15, "bin": 1.15, "gguf": 1.2}
# Layout: (model class, configuration class, its numbers).
LAYOUTS = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", dict(n_embd=1280, n_layer=30, n_head=20)),
    "qwen3-0.6b": ("Qwen3ForCausalLM", "Qwen3Config", dict(hidden_size=1024, intermediate_size=3072, num_hidden_layers=28, num_attention_heads=16, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1000000.0))),
    "qwen3-4b": ("Qwen3ForCausalLM", "Qwen3Config", dict(hidden_size=2560, intermediate_size=9728, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128, tie_word_embeddings=True, rope_parameters=dict(rope_type="default", rope_theta=1000000.0))),
    "qwen3-8b": ("Qwen3ForCausalLM", "Qwen3Config", dict(hidden_size=4096, intermediate_size=12288, num_hidden_layers=36, num_attention_heads=32, num_key_value_heads=8, head_dim=128, rope_parameters=dict(rope_type="default", rope_theta=1000000.0))),
}  # fmt: skip
NAMES = {"safetensors": ("model", "safetensors"), "bin": ("pytorch_model", "bin")}


def shapes(layout):
    """The configuration, and name and shape of every stored tensor; nothing is allocated."""
    model_class, config_class, numbers = LAYOUTS[layout]
    config = getattr(transformers, config_class)(**numbers)
    with torch.device("meta"):
        model = getattr(transformers, model_class)(config)
    model.config.architectures = [model_class]
    return model.config, {name: value.shape for name, value in model.state_dict().items() if name != "lm_head.weight"}


def write_checkpoint(folder, options):
    """A checkpoint of equal shards, one in memory at a time. Returns the bytes of its weights."""
    torch.manual_seed(0)
    dtype = getattr(torch, options.dtype)
    config, there = shapes(options.layout)
    config.save_pretrained(folder)
    total = sum(shape.numel() for shape in there.values())
    parts, filled = [{} for _ in range(options.shards)], 0
    for name, shape in there.items():
        parts[min(options.shards * filled // total, options.shards - 1)][name] = shape
        filled += shape.numel()
    stem, extension = NAMES[options.format]
    weight_map = {}
    for number, part in enumerate(parts, start=1):
        file = f"{stem}-{number:05}-of-{options.shards:05}.{extension}"
        tensors = {name: torch.empty(shape, dtype=dtype).normal_(std=0.02) for name, shape in part.items()}
        (save_file if options.format == "safetensors" else torch.save)(tensors, folder / file)
        weight_map |= dict.fromkeys(part, file)
    index = {"metadata": {"total_size": total * dtype.itemsize}, "weight_map": weight_map}
    (folder / f"{stem}.{extension}.index.json").write_text(json.dumps(index))
    return dtype.itemsize * total


def write_gguf(file, layout):
    """A Qwen3 in one GGUF file of random Q4_K blocks, one tensor in memory at a time. Returns its bytes."""
    random = np.random.default_rng(0)
    config, there = shapes(layout)
    writer = gguf.GGUFWriter(file, "qwen3")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_vocab_size(config.vocab_size)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.QWEN3, config.num_hidden_layers)
    q4 = gguf.GGMLQuantizationType.Q4_K
    values, size = gguf.GGML_QUANT_SIZES[q4]
    listed = []
    for name, shape in there.items():
        stem = name.removesuffix(".weight")
        named = names.get_name(stem) + ".weight"
        blocks = shape.numel() // values if len(shape) == 2 else None
        listed.append((shape, blocks))
        if blocks:
            row = (shape[0], shape[1] // values * size)
            writer.add_tensor_info(named, row, np.dtype(np.uint8), blocks * size, raw_dtype=q4)
        else:
            writer.add_tensor_info(named, tuple(shape), np.dtype(np.float32), 4 * shape.numel())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_ti_data_to_file()
    for shape, blocks in listed:
        if blocks:
            rows = random.integers(0, 256, (blocks, size), np.uint8)
            # The length of a block's steps and of its offset, in half precision: weights of about 0.02.
            rows[:, :4] = np.array([5e-5, 4e-4], np.float16).view(np.uint8)
            writer.write_tensor_data(rows)
        else:
            writer.write_tensor_data(np.ones(tuple(shape), np.float32))
    writer.close()
    return file.stat().st_size


def run_torch(folder, options):
    """In a process of its own: one pass in single precision, and the most that the process held."""
    started = time.perf_counter()
    model_class = getattr(transformers, LAYOUTS[options.layout][0])
    model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    loaded = time.perf_counter()
    with torch.no_grad():
        model(input_ids=torch.arange(1, options.tokens + 1)[None], output_attentions=True)
    peak = 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"peak": peak, "load": loaded - started, "run": time.perf_counter() - loaded}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=Path("target/release/attnscope"))
    parser.add_argument("--work", type=Path, help="keeps nothing; default is the system's temporary folder")
    parser.add_argument("--layout", choices=sorted(LAYOUTS), default="gpt2")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--dtype", choices=["float32", "float16", "bfloat16"], default="float32")
    parser.add_argument("--format", choices=sorted(LIMIT), default="safetensors")
    parser.add_argument("--tokens", type=int, default=4)
    parser.add_argument("--torch", action="store_true", help="PyTorch beside it")
    parser.add_argument("--only-torch", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_torch:
        return run_torch(options.only_torch, options)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        folder = Path(folder)
        if options.format == "gguf":
            size = write_gguf(folder / "model.gguf", options.layout)
        else:
            size = write_checkpoint(folder, options)
        ids = ",".join(map(str, range(1, options.tokens + 1)))
        run = [options.attnscope, "capture", "--model", folder, "--ids", ids, "--sites", "pattern"]
        run += ["--out", folder / "capture.safetensors", "--timings", folder / "timings.json"]
        subprocess.run(run, check=True)
        timings = json.loads((folder / "timings.json").read_text())
        peak = timings["peak_rss_mb"] * 2**20
        print(
            f"{options.layout}, {'Q4_K' if options.format == 'gguf' else options.dtype}, {options.format}, {options.tokens} tokens: {size / 1e9:.2f} GB, "
            f"peak {peak / 1e9:.2f} GB = {peak / size:.3f} times, loaded in {timings['load_ms'] / 1e3:.1f} s, "
            f"run in {timings['forward_ms'][0] / 1e3:.1f} s",
            flush=True,
        )
        if options.torch:
            command = [sys.executable, __file__, "--layout", options.layout, "--tokens", str(options.tokens)]
            done = subprocess.run([*command, "--only-torch", folder], capture_output=True, text=True, env={**os.environ})
            if done.returncode:
                sys.exit(done.stderr[-600:])
            beside = json.loads(done.stdout.splitlines()[-1])
            print(
                f"PyTorch, f32: peak {beside['peak'] / 1e9:.2f} GB = {beside['peak'] / size:.3f} times, "
                f"loaded in {beside['load']:.1f} s, run in {beside['run']:.1f} s"
            )
    sys.exit(peak > LIMIT[options.format] * size)


if __name__ == "__main__":
    main()
