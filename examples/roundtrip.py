"""Opens every bundled model with transformers, and compares it with AttnScope: logits, and the weights after
`save_pretrained`.

    python examples/roundtrip.py [--attnscope target/release/attnscope]

Needs torch, transformers and Pillow. Networks of before transformers have no class there; those of their recipes
stand in. Fails when logits differ by more than 1e-4 of their largest, or any weight by anything.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import torch
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import (
    AutoConfig, AutoImageProcessor, AutoTokenizer, BertForMaskedLM, BertForSequenceClassification, GPT2LMHeadModel,
    MarianMTModel, PreTrainedTokenizerFast, VisionEncoderDecoderModel, ViTForImageClassification,
)  # fmt: skip

import train_documents
import train_memory
import train_pointer
import train_polarity
import train_reader
from recipe import sentences
from train_classic import RnnSearch, named

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "assets" / "models"
LIMIT = 1e-4
TEXT = "Tom had a red car and a small dog."
PHRASES = ("My sister always forgets my father's green hat.", "Ma sœur oublie toujours le chapeau vert de mon père.")
PAIR = (">>fra<< He bought a white house.", "Il a acheté une maison blanche.")
REVIEW = "The actors aren't bad, but it’s a dull, LIFELESS film about Zanzibar."
DOCUMENT = "It costs $16.95... Is it worth that?! The actors aren't bad, but it’s DULL"
STORY = "Mary went to the office. Mary picked up the milk! John left. Where is the milk?"
PICTURE = ROOT / "assets" / "samples" / "chelsea.jpg"


def attnscope(options, model, *arguments):
    """Logits and the token ids of every side."""
    with tempfile.TemporaryDirectory() as work:
        out = Path(work) / "capture.safetensors"
        command = [str(options.attnscope), "capture", "--model", model, *arguments, "--sites", "logits,pattern"]
        subprocess.run([*command, "--out", str(out)], check=True, capture_output=True)
        with safe_open(out, "pt") as file:
            tokens = json.loads(file.metadata()["tokens"])
            return file.get_tensor("logits"), {side: [token.get("id") for token in row] for side, row in tokens.items()}


def pixels(folder):
    return AutoImageProcessor.from_pretrained(folder, use_fast=False)(Image.open(PICTURE), return_tensors="pt")


def plain(name, architecture, side="self", **more):
    """A model that reads one text."""
    logits, ids = yield name, ("--text", TEXT)
    folder = MODELS / more.get("folder", name)
    config = AutoConfig.from_pretrained(MODELS / more["config"]) if "config" in more else None
    model = architecture.from_pretrained(folder, config=config, dtype=torch.float32)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer(TEXT).input_ids == ids[side], f"{name}: the ids differ"
    yield model, model(torch.tensor([ids[side]])).logits[0], logits, folder


def captions():
    logits, ids = yield "captions", ("--image", str(PICTURE))
    folder = MODELS / "captions"
    model = VisionEncoderDecoderModel.from_pretrained(folder, dtype=torch.float32)
    out = model(**pixels(folder), decoder_input_ids=torch.tensor([ids["decoder"]]))
    yield model, out.logits[0], logits, folder


def vit():
    logits, _ = yield "vit", ("--image", str(PICTURE))
    model = ViTForImageClassification.from_pretrained(MODELS / "vit", dtype=torch.float32)
    yield model, model(**pixels(MODELS / "vit")).logits[0], logits, MODELS / "vit"


def translate():
    logits, ids = yield "translate", ("--text", PAIR[0], "--target", PAIR[1])
    folder = MODELS / "translate"
    model = MarianMTModel.from_pretrained(folder, dtype=torch.float32)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder)
    assert tokenizer(PAIR[0]).input_ids == ids["encoder"], "translate: the ids differ"
    out = model(torch.tensor([ids["encoder"]]), decoder_input_ids=torch.tensor([ids["decoder"]]))
    yield model, out.logits[0], logits, folder


def classic(name, pair=PAIR):
    logits, ids = yield name, ("--text", pair[0], "--target", pair[1])
    folder = MODELS / name
    model = RnnSearch(json.loads((folder / "config.json").read_text()))
    stored = load_file(folder / "model.safetensors")
    model.load_state_dict({own: stored[file].float() for own, file in zip(model.state_dict(), named(model))})
    out, _ = model(torch.tensor([ids["encoder"]]), torch.tensor([ids["decoder"]]))
    yield model, out[0], logits, None


def reader():
    logits, ids = yield "reader", ("--text", TEXT)
    model = train_reader.load(MODELS / "reader")
    assert AutoTokenizer.from_pretrained(MODELS / "gpt")(TEXT).input_ids == ids["self"], "reader: the ids differ"
    yield model, model(torch.tensor([ids["self"]]))[0], logits, None


def pointer():
    logits, ids = yield "pointer", ("--text", "42 7 93 15 68 3")
    model = train_pointer.load(MODELS / "pointer")
    out, _ = model(torch.tensor([ids["encoder"]]), torch.tensor([ids["decoder"]]))
    yield model, out[0], logits, None


def in_sentences(name, recipe, text):
    logits, ids = yield name, ("--text", text)
    model = recipe.load(MODELS / name)
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(MODELS / name / "tokenizer.json"))
    assert tokenizer(text).input_ids == ids["encoder"], f"{name}: the ids differ"
    out = model([sentences(ids["encoder"], model.config["sentence_end_token_ids"])])[0]
    yield model, out[0], logits, None


def review(name):
    logits, ids = yield name, ("--text", REVIEW)
    folder, words = MODELS / name, MODELS / "bilstm"
    stored = load_file(words / train_polarity.WORDS) | load_file(folder / train_polarity.READER)
    model = train_polarity.BiLstm(json.loads((folder / "config.json").read_text())).eval()
    names = zip(model.state_dict(), train_polarity.named(model))
    model.load_state_dict({own: stored[file].float() for own, file in names})
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(words / "tokenizer.json"))
    assert tokenizer(REVIEW).input_ids == ids["encoder"], f"{name}: the ids differ"
    yield model, model(torch.tensor([ids["encoder"]]))[0][0], logits, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    options = parser.parse_args()
    checks = [
        plain("gpt", GPT2LMHeadModel),
        plain("bert", BertForMaskedLM),
        plain("sentiment", BertForSequenceClassification, folder="bert", config="bert/sentiment"),
        vit(), translate(), captions(),
        classic("classic"), classic("classic-dot"), classic("classic-bilinear"), classic("bottleneck"),
        *(classic(f"scorer-{score}", PHRASES) for score in ("additive", "mlp", "bilinear", "dot")),
        reader(), pointer(), in_sentences("documents", train_documents, DOCUMENT),
        in_sentences("memory", train_memory, STORY),
        review("bilstm"), review("bilstm-sparsemax"), review("bilstm-deceiving"), review("bilstm-rationale"),
    ]  # fmt: skip
    failed = False
    for check in checks:
        name, arguments = next(check)
        with torch.no_grad():
            model, expected, found, folder = check.send(attnscope(options, f"demo:{name}", *arguments))
        difference = ((found - expected).abs().max() / expected.abs().max()).item()
        line, failed = f"demo:{name}: logits differ by {difference:.1e} of the largest", failed or difference > LIMIT
        if folder is not None:
            with tempfile.TemporaryDirectory() as work:
                model.half().save_pretrained(work)
                saved, stored = load_file(Path(work) / "model.safetensors"), load_file(folder / "model.safetensors")
            # Not in both: another head's weights, and a pooler that transformers adds to every vision encoder.
            shared = saved.keys() & stored.keys()
            equal = [key for key in shared if torch.equal(saved[key], stored[key])]
            line += f"; {len(equal)} of {len(shared)} tensors equal after save_pretrained"
            failed |= len(equal) < len(shared)
        print(line, flush=True)
    if failed:
        raise SystemExit("a model does not survive the round trip")


if __name__ == "__main__":
    main()
