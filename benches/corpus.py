"""Speed of a corpus: queries and keys of many short inputs, beside PyTorch.

    python benches/corpus.py [--attnscope target/release/attnscope] [--work FOLDER] [--sentences 500]

Sentences of about 30 tokens go through bert-base (random weights, f32), and the queries and keys of every layer
are kept. PyTorch sorts them by length, pads them to batches of 32 and runs `BertModel` with
`output_hidden_states=True` and hooks on the query and key maps; attnscope packs them into passes without
padding (`capture --corpus --sites q,k`). Same token ids, same threads, each side in a process of its own, in
alternating rounds, so that a busy machine disturbs both. Loading, tokenizing and writing are not part of the
time; PyTorch has a batch to warm up before it is measured, attnscope has not. The largest difference between both
sides' queries and keys of a few sentences is printed, too.
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

import numpy as np

BATCH = 32
# Sentences whose queries and keys are compared.
COMPARED = 5


def sentences(n):
    """Seeded token ids, about 30 a sentence, with CLS and SEP."""
    rng = np.random.default_rng(0)
    lengths = np.clip(np.round(rng.normal(30, 9, n)), 8, 64).astype(int)
    return [[101, *rng.integers(1000, 30000, length - 2).tolist(), 102] for length in lengths]


def write_tokenizer(folder):
    """A tokenizer that reads `w123` as the id 123, so that both sides get the same ids."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    names = {f"w{i}": i for i in range(30522) if i not in (100, 101, 102)} | {"[UNK]": 100, "[CLS]": 101, "[SEP]": 102}
    tokenizer = Tokenizer(models.WordLevel(names, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.add_special_tokens(["[UNK]", "[CLS]", "[SEP]"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 101), ("[SEP]", 102)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))


def run_torch(options):
    """The PyTorch half, in this process: prints its time as JSON, and keeps a few sentences' queries and keys."""
    import torch
    from transformers import BertModel

    torch.set_num_threads(options.threads)
    model = BertModel.from_pretrained(options.work / "bert-base", dtype=torch.float32).eval()
    kept = []
    for layer in model.encoder.layer:
        for linear in (layer.attention.self.query, layer.attention.self.key):
            linear.register_forward_hook(lambda module, inputs, output: kept.append(output))
    ids = sentences(options.sentences)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]

    def padded(batch):
        width = max(len(ids[i]) for i in batch)
        rows = [ids[i] + [0] * (width - len(ids[i])) for i in batch]
        mask = [[1] * len(ids[i]) + [0] * (width - len(ids[i])) for i in batch]
        return {"input_ids": torch.tensor(rows), "attention_mask": torch.tensor(mask)}

    inputs = [padded(batch) for batch in batches]
    with torch.inference_mode():
        model(**inputs[0], output_hidden_states=True)
        kept.clear()
        start = time.perf_counter()
        for batch in inputs:
            hidden = model(**batch, output_hidden_states=True).hidden_states
        seconds = time.perf_counter() - start
    del hidden
    tensors = {}
    for number, batch in enumerate(batches):
        for row, i in enumerate(batch):
            if i < COMPARED:
                for idx in range(24):
                    x = kept[24 * number + idx][row, : len(ids[i])].view(-1, 12, 64).transpose(0, 1)
                    tensors[f"input{i}/self.{idx // 2}.{'qk'[idx % 2]}"] = x.numpy()
    np.savez(options.work / "torch.npz", **tensors)
    print(json.dumps({"seconds": seconds}))


def time_torch(options):
    command = [sys.executable, __file__, "--torch", "--work", str(options.work)]
    command += ["--threads", str(options.threads), "--sentences", str(options.sentences)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout.splitlines()[-1])["seconds"]


def time_attnscope(options, out=None):
    timings = options.work / "timings.json"
    command = [str(options.attnscope), "capture", "--model", str(options.work / "bert-base"), "--sites", "q,k"]
    command += ["--corpus", str(options.work / "sentences.txt"), "--threads", str(options.threads)]
    command += ["--timings", str(timings)] + (["--out", str(out)] if out else [])
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return sum(json.loads(timings.read_text())["forward_ms"]) / 1000


def largest_difference(ours, theirs):
    from safetensors import safe_open

    with safe_open(ours, "np") as file:
        return max(float(np.abs(file.get_tensor(name) - theirs[name]).max()) for name in theirs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parent.parent / "target" / "release" / "attnscope"
    parser.add_argument("--attnscope", type=Path, default=default)
    parser.add_argument("--work", type=Path, help="where the checkpoint is built and kept")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="processes of each side, alternating")
    parser.add_argument("--sentences", type=int, default=500)
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.torch:
        return run_torch(options)

    from checkpoints import full_size

    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-corpus-"))
    options.work.mkdir(parents=True, exist_ok=True)
    folder, _ = full_size("bert-base", options.work)
    write_tokenizer(folder)
    ids = sentences(options.sentences)
    lines = [" ".join(f"w{i}" for i in sentence[1:-1]) for sentence in ids]
    (options.work / "sentences.txt").write_text("\n".join(lines) + "\n")

    sides = {"attnscope": [], "torch": []}
    for _ in range(options.rounds):
        sides["attnscope"].append(time_attnscope(options))
        sides["torch"].append(time_torch(options))
    medians = {side: statistics.median(seconds) for side, seconds in sides.items()}
    n_tokens = sum(map(len, ids))
    print(f"{len(ids)} sentences, {n_tokens} tokens, {options.threads} threads, median of {options.rounds} rounds")
    for side, seconds in sides.items():
        runs = ", ".join(f"{s:.1f}" for s in seconds)
        print(f"  {side:10} {medians[side]:6.2f} s  {n_tokens / medians[side]:7.0f} tokens/s  ({runs})")
    print(f"  torch / attnscope {medians['torch'] / medians['attnscope']:.2f}")
    out = options.work / "few.safetensors"
    few = options.work / "sentences.txt"
    few.write_text("\n".join(lines[:COMPARED]) + "\n")
    time_attnscope(options, out)
    print(f"  largest difference {largest_difference(out, np.load(options.work / 'torch.npz')):.1e}")
    return None


if __name__ == "__main__":
    sys.exit(main())
