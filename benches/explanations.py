"""Compares explanations and changed runs of trained weights with PyTorch, through the command line.

    python benches/explanations.py MINILM [--attnscope target/release/attnscope] [--work FOLDER] [--only NAME]

MINILM is a folder with all-MiniLM-L6-v2. It has no head, so what explains a prediction gets it with a classifier on
its own pooler: three classes, seeded weights, everything else as it is. The bundled models come along: demo:bert,
demo:gpt, demo:translate and demo:vit. PyTorch's side is that of the fixtures (`tests/fixtures/interventions`): hooks
and a written-out attention, in double precision; the same in single precision says what that costs by itself.

Told is the largest difference as a part of the largest number (of gradients and maps at least 1e-6, of probabilities
and logits at least 1). It passes up to 1e-5, or up to twice what single precision costs PyTorch. Exit status 1 when
something fails.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from tokenizers import Tokenizer
from transformers import (
    BertConfig,
    BertForMaskedLM,
    BertForSequenceClassification,
    BertModel,
    GPT2LMHeadModel,
    MarianMTModel,
    ViTForImageClassification,
)
from transformers.utils import logging

from checkpoints import ROOT
from shared import input_arguments

from generate_edits import Stack
from generate_lab import norms, relevance, rollout
from generate_lab_facts import effective, output_map, softmax
from interventions.families import of_bert, of_gpt2, of_marian, of_vit
from interventions.networks import Network

BUNDLED = ROOT / "assets" / "models"
SENTENCE = "The animal did not cross the street because it was too tired, and the driver waited for it."
PATCHED = ("embed", "resid_pre", "k", "z", "attn_out", "mlp_hidden", "resid_post")


class Subject:
    """A model, an input, and the row that is explained."""

    def __init__(self, name, model, kind, of, ids, row, mask_id=None, headless=None):
        self.name, self.model, self.kind, self.of, self.ids, self.row = name, model, kind, of, ids, row
        self.mask_id, self.headless, self.pixels = mask_id, headless or model, None
        self.folder = BUNDLED / model.removeprefix("demo:") if str(model).startswith("demo:") else model

    def network(self, dtype):
        model = self.kind.from_pretrained(self.folder, dtype=dtype).eval()
        pixels = {} if self.pixels is None else {"pixel_values": self.pixels.to(dtype)}
        return Network(model, self.of(model), self.ids, pixels, self.mask_id)

    def arguments(self, work):
        inputs = {} if self.pixels is None else {"pixel_values": self.pixels}
        names = {"self": "input_ids", "encoder": "input_ids", "decoder": "decoder_input_ids"}
        return input_arguments(inputs | {names[side]: ids for side, ids in self.ids.items()}, work)


def classifier(folder, work):
    """MiniLM with three seeded classes on its pooler."""
    torch.manual_seed(0)
    model = BertForSequenceClassification(BertConfig.from_pretrained(folder, num_labels=3)).eval()
    model.bert.load_state_dict(BertModel.from_pretrained(folder).state_dict())
    with torch.no_grad():
        model.classifier.weight.normal_()
        model.classifier.bias.normal_()
    model.save_pretrained(work / "minilm-classifier")
    return work / "minilm-classifier"


def subjects(minilm, work):
    ids = lambda folder, text, **options: Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text, **options).ids
    words = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    words.no_padding()
    made = classifier(minilm, work)
    # The mask has to be known to the derived checkpoint, too.
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
        (made / name).write_bytes((minilm / name).read_bytes())
    yield Subject("minilm", made, BertForSequenceClassification, of_bert, {"self": words.encode(SENTENCE).ids}, 0,
                  words.token_to_id("[MASK]"), minilm)  # fmt: skip
    folder = BUNDLED / "bert"
    text = ids(folder, "the little girl was happy because she found her [MASK] in the garden .")
    mask = Tokenizer.from_file(str(folder / "tokenizer.json")).token_to_id("[MASK]")
    yield Subject("demo:bert", "demo:bert", BertForMaskedLM, of_bert, {"self": text}, text.index(mask), mask)
    text = ids(BUNDLED / "gpt", "Once upon a time there was a little dog who liked to play with a red ball. One day")
    yield Subject("demo:gpt", "demo:gpt", GPT2LMHeadModel, of_gpt2, {"self": text}, len(text) - 1)
    folder = BUNDLED / "translate"
    target = [0, *ids(folder, "die Kinder spielen jeden Tag im Garten", add_special_tokens=False)]
    text = {"encoder": ids(folder, ">>deu<< the children play in the garden every single day"), "decoder": target}
    yield Subject("demo:translate", "demo:translate", MarianMTModel, of_marian, text, len(target) - 1)
    vit = Subject("demo:vit", "demo:vit", ViTForImageClassification, of_vit, {}, 0)
    size = json.loads((BUNDLED / "vit" / "config.json").read_text())["image_size"]
    y, x = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    vit.pixels = torch.stack([torch.sin(5 * x + 2 * y), torch.cos(7 * y * x), x * y])[None]
    yield vit


def explained(subject, net):
    """What the methods answer, by their names on the command line: `{method: {name: numbers}}`."""
    row = subject.row
    plain = net.run([])
    seen, target = dict(net.seen), int(plain[row].argmax())
    patterns = {}

    def keep(stack, layer, pattern):
        pattern.retain_grad()
        patterns[stack, layer] = pattern
        return pattern

    net.differentiated(keep)[row, target].backward()
    taken = {place: (p.detach()[0].numpy(), np.zeros(p.shape[1:]) if p.grad is None else p.grad[0].numpy())
             for place, p in patterns.items()}  # fmt: skip
    stacks = {}
    for stack, layer in sorted(taken):
        stacks.setdefault(stack, []).append(taken[stack, layer])
    square = [stack for stack in stacks if stack != "cross"]
    found = {"rollout": {stack: rollout([pattern for pattern, _ in stacks[stack]]) for stack in square}}
    found["relevance"] = relevance(stacks)
    found["gradients --of pattern --times-input false"] = {stack: np.stack([g for _, g in layers]) for stack, layers in stacks.items()}
    found["gradients --times-input"] = {side: times_input(net, side) for side in net.leaves}
    found["norms"] = {}
    for stack, layers in stacks.items():
        of_layers = []
        for layer, (pattern, _) in enumerate(layers):
            module = net.towers[stack].layers[layer] if stack in net.towers else None
            output = output_map(net, stack, layer).reshape(len(pattern), -1, seen["attn_out", stack, layer].shape[-1])
            residual, norm = np.zeros((pattern.shape[1], output.shape[-1])), None
            if stack != "cross":
                residual = seen["resid_pre", stack, layer]
                follows = getattr(module.block, "self_attn_layer_norm", None) or (
                    module.normed_mid.LayerNorm if module.normed_mid else None)  # fmt: skip
                if follows is not None:
                    bias = module.attention_out.bias.detach().numpy()
                    norm = (bias, follows.weight.detach().numpy(), follows.eps)
            of_layers.append(norms(pattern, seen["v", stack, layer], output, residual, norm) if stack != "cross" else
                             {"attention_norm": crossing(pattern, seen["v", stack, layer], output)})  # fmt: skip
        for value in ("attention_norm", "mixing_ratio"):
            if value in of_layers[0]:
                found["norms"][f"{value} {stack}"] = np.stack([layer[value] for layer in of_layers])
    p = softmax(plain[row])
    for by in ("hide", "mask"):
        if by == "mask" and net.mask_id is None:
            continue
        effects = {}
        for side in net.towers:
            n = len(seen["embed", side, 0])
            edits = [{by: at} | ({} if side == "self" else {"side": side}) for at in range(n)]
            runs = [net.run([edit])[row] for edit in edits]
            effects[f"effect {side}"] = np.array([np.abs(softmax(run) - p).sum() / 2 for run in runs])
            effects[f"logit {side}"] = np.array([plain[row, target] - run[target] for run in runs])
        found[f"loo --by {by}"] = effects
    return found


def times_input(net, side):
    """Gradient times embedding; tokens before the patches have theirs as parameters."""
    leaf, prefix = net.leaves[side], net.towers[side].prefix
    slopes = leaf.grad.clone()
    if prefix is not None:
        own = prefix.grad.reshape(-1, slopes.shape[1])
        slopes[: len(own)] = own
    return (slopes * leaf).sum(-1).detach().numpy()


def crossing(pattern, value, output):
    """Lengths of what each key adds for each query of another text."""
    lengths = np.linalg.norm(np.einsum("hjk,hkd->hjd", value, output), axis=-1)
    return pattern * lengths[:, None]


def changed(net, edits):
    """Logits and all patterns of a changed run."""
    logits = net.run(edits)
    return {"logits": logits} | {f"{stack}.{layer}.pattern": p for (stack, layer), p in net.patterns.items()}


class Attnscope:
    """The program under test."""

    def __init__(self, path, work):
        self.path, self.out = path, work / "changed.safetensors"

    def call(self, *arguments):
        done = subprocess.run([str(self.path), *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, arguments))[:300]}: {done.stderr.strip()}")
        return done.stdout

    def analyze(self, method, model, *arguments):
        return json.loads(self.call("analyze", *method.split(), "--model", model, *arguments))["result"]

    def capture(self, model, edits, *arguments):
        edits = [part for edit in edits for part in ("--edit", json.dumps(edit))]
        self.call("capture", "--model", model, "--sites", "pattern,logits", "--out", self.out, *edits, *arguments)
        with safe_open(self.out, "np") as file:
            return {name: file.get_tensor(name) for name in file.keys()}


def looked_up(method, name, result):
    """The program's numbers under a name."""
    first, _, stack = name.partition(" ")
    if method == "rollout":
        first, stack = "matrix", first
    elif method == "relevance":
        return result[first]
    elif method.startswith("gradients") and not stack:
        first, stack = ("pattern" if "pattern" in method else "scores"), first
    elif method == "effective":
        first, stack = "effective", first
    value = result[first]
    return value[stack] if isinstance(value, dict) else value


def apart(found, expected, size):
    found, expected = np.asarray(found, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    difference = np.abs(found.reshape(expected.shape) - expected).max()
    return difference / max(np.abs(expected).max(), size)


def compare(subject, attnscope, work):
    """Prints a line for each method and kind of change; the number of failures."""
    arguments, failed = subject.arguments(work), 0
    double, single = subject.network(torch.float64), subject.network(torch.float32)

    def tell(what, ours, theirs):
        nonlocal failed
        passes = ours <= max(1e-5, 2 * theirs)
        failed += not passes
        cost = f"{theirs:10.1e}" if theirs else f"{'–':>10}"
        print(f"{subject.name:15} {what:30} {ours:10.1e} {cost}{'' if passes else '  FAILED'}", flush=True)

    expected, cost = explained(subject, double), explained(subject, single)
    for method, values in expected.items():
        headless = method in ("rollout", "norms")
        result = attnscope.analyze(method, subject.headless if headless else subject.model, *arguments,
                                   *([] if headless else ["--position", subject.row]))  # fmt: skip
        size = 1.0 if method.startswith("loo") else 1e-6
        off = [(apart(looked_up(method, name, result), value, size), apart(cost[method][name], value, size))
               for name, value in values.items()]  # fmt: skip
        tell(method, *np.max(off, axis=0))
    result = attnscope.analyze("effective", subject.headless, *arguments)
    off = [apart(looked_up("effective", stack, result), [layer["effective"] for layer in layers], 1e-6)
           for stack, layers in effective(double).items()]  # fmt: skip
    # Single precision has no null space to speak of, so that side is not asked.
    tell("effective", max(off), 0.0)

    plain, worst = double.run([]), {}
    seen = dict(double.seen)
    for nth, name in enumerate(dict.fromkeys(stack for stack, _ in double.patterns)):
        double.run([])
        stack = Stack(double, name, plain, nth)
        kinds = [(kind, edits) for kind, edits in stack.kinds()
                 if not (kind == "replace" and not double.ids) and not (kind == "mask" and double.mask_id is None)]
        sites = [site for site in PATCHED if any(place[:2] == (site, name) for place in seen)]
        for kind, edits in kinds + [("patch", [stack.patch(site)]) for site in sites]:
            expected = changed(double, edits)
            found, cost = attnscope.capture(subject.model, edits, *arguments), changed(single, edits)
            off = [(apart(found[name], value, 1.0), apart(cost[name], value, 1.0)) for name, value in expected.items()]
            worst.setdefault(kind, []).append(np.max(off, axis=0))
    for kind, off in worst.items():
        tell(f"edit: {kind} ({len(off)})", *np.max(off, axis=0))
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("minilm", type=Path, help="a folder with all-MiniLM-L6-v2")
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--work", type=Path, help="where intermediate files go")
    parser.add_argument("--only", help="one of the models")
    options = parser.parse_args()
    work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-explanations-"))
    work.mkdir(parents=True, exist_ok=True)
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    attnscope, failed = Attnscope(options.attnscope, work), 0
    print(f"{'model':15} {'what':30} {'attnscope':>10} {'torch f32':>10}")
    for subject in subjects(options.minilm, work):
        if options.only in (None, subject.name):
            failed += compare(subject, attnscope, work)
    print(f"{failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
