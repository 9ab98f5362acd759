"""Trains the bundled adapter `demo:gpt-reviews`: low-rank maps (LoRA) that make `demo:gpt` speak of films.

    python examples/train_adapter.py --out RUN --steps 400

The model is `assets/models/gpt`, whose own weights stay as they are; the texts are the reviews of
`assets/corpora/reviews.csv`, every fifth of them held out. Each map of queries, keys and values, and each output map of
attention, has W + (α / r) B A in place of W, with r = 4. RUN/model gets `adapter_config.json` and
`adapter_model.safetensors` in the layout of PEFT, which names `demo:gpt` as the base. Run the same command again to
resume. Needs torch, transformers, tokenizers, safetensors; it takes minutes on one thread.
"""

import csv
import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import nn
from transformers import GPT2LMHeadModel

from recipe import Run, arguments

ASSETS = Path(__file__).parent.parent / "assets"
RANK, ALPHA = 4, 8
TARGETS = ["attn.c_attn", "attn.c_proj"]
HELD_OUT_EVERY = 5
IGNORE = -100


class LowRank(nn.Module):
    """A frozen map with a low-rank one added. GPT-2 keeps its maps as `[inputs, outputs]`."""

    def __init__(self, frozen):
        super().__init__()
        self.frozen = frozen
        d_in, d_out = frozen.weight.shape
        self.a = nn.Parameter(torch.empty(RANK, d_in))
        self.b = nn.Parameter(torch.zeros(d_out, RANK))
        nn.init.kaiming_uniform_(self.a, a=5**0.5)

    def forward(self, x):
        return self.frozen(x) + ALPHA / RANK * (x @ self.a.T @ self.b.T)


def adapted():
    """The model with its adapter, and each low-rank map by the name of the map that it is added to."""
    model = GPT2LMHeadModel.from_pretrained(ASSETS / "models" / "gpt", dtype=torch.float32).requires_grad_(False)
    maps = {}
    for nth, block in enumerate(model.transformer.h):
        for target in TARGETS:
            part, name = target.split(".")
            low = LowRank(getattr(getattr(block, part), name))
            setattr(getattr(block, part), name, low)
            maps[f"transformer.h.{nth}.{target}"] = low
    return model, maps


def read_rows(tokenizer):
    """Reviews as rows of ids with an end at either side, those to train on and those held out."""
    end = tokenizer.token_to_id("<|endoftext|>")
    with open(ASSETS / "corpora" / "reviews.csv", newline="", encoding="utf-8") as file:
        texts = [row["text"].strip() for row in csv.DictReader(file)]
    rows = [[end, *tokenizer.encode(text).ids, end] for text in texts]
    held_out = rows[::HELD_OUT_EVERY]
    return [row for nth, row in enumerate(rows) if nth % HELD_OUT_EVERY], held_out


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [IGNORE] * (longest - len(row)) for row in rows])


def loss_of(model, rows):
    ids = padded(rows)
    logits = model(ids.clamp(min=0)).logits
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=IGNORE)


def export(maps, folder):
    """Both files of an adapter."""
    tensors = {}
    for name, low in maps.items():
        tensors[f"base_model.model.{name}.lora_A.weight"] = low.a.detach().half().contiguous()
        tensors[f"base_model.model.{name}.lora_B.weight"] = low.b.detach().half().contiguous()
    save_file(tensors, folder / "adapter_model.safetensors", metadata={"format": "pt"})
    config = {
        "base_model_name_or_path": "demo:gpt", "bias": "none", "fan_in_fan_out": True, "inference_mode": True,
        "lora_alpha": ALPHA, "lora_dropout": 0.0, "peft_type": "LORA", "r": RANK, "target_modules": TARGETS,
        "task_type": "CAUSAL_LM",
    }  # fmt: skip
    (folder / "adapter_config.json").write_text(json.dumps(config, indent=2) + "\n")


def main():
    options = arguments(__doc__, batch=16, lr=4e-3, needs_data=False)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    tokenizer = Tokenizer.from_file(str(ASSETS / "models" / "gpt" / "tokenizer.json"))
    train, held_out = read_rows(tokenizer)
    model, maps = adapted()
    print(f"{sum(p.numel() for p in model.parameters() if p.requires_grad) / 1e3:.1f} k parameters", flush=True)
    run = Run(model, options, weight_decay=0.01, columns=["heldout_loss"])

    def loss_of_step(step):
        chosen = torch.randint(len(train), (options.batch,), generator=torch.Generator().manual_seed(options.seed + step))
        return loss_of(model, [train[nth] for nth in chosen])

    def evaluate(final):
        rows = held_out if final and not options.quick else held_out[::4]
        with torch.no_grad():
            counts = [sum(len(row) - 1 for row in rows[at : at + 16]) for at in range(0, len(rows), 16)]
            losses = [loss_of(model, rows[at : at + 16]).item() for at in range(0, len(rows), 16)]
        return {"heldout_loss": sum(map(lambda n, loss: n * loss, counts, losses)) / sum(counts)}

    run.train(loss_of_step, evaluate, lambda _, folder: export(maps, folder))


if __name__ == "__main__":
    main()
