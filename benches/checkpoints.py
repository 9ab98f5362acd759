"""Full-size checkpoints with random, seeded weights, built on first use and kept in a folder."""

import sys
from functools import partial
from pathlib import Path

import torch
from transformers import (
    BertConfig,
    BertForMaskedLM,
    GPT2Config,
    GPT2LMHeadModel,
    ViTConfig,
    ViTForImageClassification,
)

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "fixtures"))

from torch_reference import sharpen  # noqa: E402

# The default configurations are bert-base-uncased, gpt2 (124M) and vit-base-patch16-224, save for the
# thousand classes of the last.
FULL_SIZE = {
    "bert-base": (BertForMaskedLM, BertConfig),
    "gpt2": (GPT2LMHeadModel, GPT2Config),
    "vit-base": (ViTForImageClassification, partial(ViTConfig, num_labels=1000)),
}


def full_size(name, work):
    """The folder of a full-size checkpoint, and its model class."""
    model_class, config_class = FULL_SIZE[name]
    folder = work / name
    if not (folder / "model.safetensors").exists():
        torch.manual_seed(0)
        sharpen(model_class(config_class())).save_pretrained(folder)
    return folder, model_class


def random_input(name, tokens):
    """A seeded input: `input_ids` of the given length, or `pixel_values`."""
    generator = torch.Generator().manual_seed(1)
    if name.startswith("vit"):
        return {"pixel_values": torch.randn(1, 3, 224, 224, generator=generator)}
    size = FULL_SIZE[name][1]().vocab_size
    return {"input_ids": torch.randint(0, size, (1, tokens), generator=generator)}
