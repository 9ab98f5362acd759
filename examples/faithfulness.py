"""Measures how far the attention of `demo:bilstm` and its twins explains what they decide.

    python examples/faithfulness.py --data DATA

DATA/sentiment as for `train_polarity.py`; the held-out sentences are measured. Printed is, for each model, the
table of docs/models.md:

- Kendall's tau-b, per sentence, of the attention with gradient x input (sum over classes of |p's gradient by the
  embedding, times the embedding|, attention held fixed) and with leave-one-out (mean change of the classes'
  probabilities when the word is deleted), and of these two with each other (Jain and Wallace 2019);
- the median change of the probabilities when weights are permuted among the words, 100 times;
- how far attention can be moved without the output (Jain and Wallace 2019): of five candidates, found in 500 steps
  of Adam on -JSD + 500 max(0, sum of the changes of the probabilities - 0.01) - their mean JSD from each other, the
  largest Jensen-Shannon divergence from the attention whose mean change is at most 0.05, or 0.01 (nats; ln 2 at most);
- the share of words whose weights are set to zero, the rest renormalised, until the decision changes: from the
  largest weight down, by chance (5 orders), and by the gradient with respect to the weight (Serrano and Smith
  2019). A sentence of which all weights can be erased without that is counted apart;
- what happens when the polar words are deleted from the text, and as many of the others by chance.

Needs torch, tokenizers, safetensors, numpy.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer

from train_polarity import PAD, READER, WORDS, BiLstm, named, padded, read_sentences

MODELS = Path(__file__).resolve().parent.parent / "assets" / "models"
NAMES = ("bilstm", "bilstm-sparsemax", "bilstm-deceiving", "bilstm-rationale")
N_PERMUTED, N_RANDOM = 100, 5
N_CANDIDATES, N_STEPS = 5, 500


def load(name):
    folder = MODELS / name
    model = BiLstm(json.loads((folder / "config.json").read_text()))
    stored = load_file(MODELS / "bilstm" / WORDS) | load_file(folder / READER)
    model.load_state_dict({own: stored[file].float() for own, file in zip(model.state_dict(), named(model))})
    return model.eval()


def tau_b(x, y):
    """Kendall's tau-b; NaN where one side is constant."""
    a, b = (np.sign(np.subtract.outer(side, side))[np.triu_indices(len(side), 1)] for side in (x, y))
    return float((a * b).sum() / np.sqrt((a != 0).sum() * (b != 0).sum())) if a.any() and b.any() else np.nan


def probabilities(model, rows):
    with torch.no_grad():
        return model(padded(rows))[0].softmax(-1)


def importances(model, ids):
    """Attention, gradient x input, leave-one-out, and the gradient by the weights, of one sentence."""
    row = torch.tensor([ids])
    with torch.no_grad():
        x = model.embed(row)
        pattern = model(row)[1]
    x, pattern = x.requires_grad_(), pattern.requires_grad_()
    p = model(row, x=x, pattern=pattern)[0].softmax(-1)[0]
    by_class = [torch.autograd.grad(p_o, (x, pattern), retain_graph=True) for p_o in p]
    gradient = sum((by_x * x).sum(-1).abs() for by_x, _ in by_class)[0].detach()
    without = probabilities(model, [ids[:i] + ids[i + 1 :] for i in range(len(ids))])
    left_out = (without - p.detach()).abs().mean(-1)
    by_weight = by_class[int(p.argmax())][1][0]
    return [value.detach().numpy() for value in (pattern[0], gradient, left_out, by_weight)]


def states_of(model, ids):
    row = torch.tensor([ids])
    seen = []
    hook = model.attention["key"].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        model(row)
    hook.remove()
    return seen[0][0]


def decided(model, states, patterns):
    """Probabilities `[rows, 2]` with these patterns `[rows, n]`."""
    with torch.no_grad():
        return model.classifier(torch.from_numpy(patterns).float() @ states).softmax(-1)


def divergence(p, q):
    """Jensen-Shannon divergence along the last axis."""
    middle = (p + q) / 2
    to_middle = lambda x: (x * ((x + 1e-10).log() - (middle + 1e-10).log())).sum(-1)
    return (to_middle(p) + to_middle(q)) / 2


def adversarial(model, sentences):
    """Per sentence the largest divergence at a mean change of at most 0.05, and 0.01. All are optimised at once."""
    generator = torch.Generator().manual_seed(5)
    states = [states_of(model, ids) for ids in sentences]
    width = max(map(len, states))
    states = torch.stack([F.pad(rows, (0, 0, 0, width - len(rows))) for rows in states])
    with torch.no_grad():
        rows = padded(sentences)
        logits, pattern, _ = model(rows)
        before = logits.softmax(-1)[:, None]
        # A word that the gate drops has no state that could be attended to.
        open_words = model.gate(model.embed(rows), rows, by_chance=False)[0] > 0
    allowed = open_words[:, None]
    z = (3 * torch.randn(len(rows), N_CANDIDATES, width, generator=generator)).requires_grad_()
    optimizer = torch.optim.Adam([z], lr=0.01, amsgrad=True)

    def outcome():
        weights = z.masked_fill(~allowed, -1e9).softmax(-1)
        after = model.classifier(weights @ states).softmax(-1)
        return weights, (after - before).abs()

    for _ in range(N_STEPS):
        weights, change = outcome()
        own = divergence(weights, pattern[:, None])
        between = divergence(weights[:, :, None], weights[:, None]).mean((1, 2))
        loss = (-own + 500 * F.relu(change.sum(-1) - 0.01)).sum(1) - between
        optimizer.zero_grad()
        loss.sum().backward()
        optimizer.step()
    with torch.no_grad():
        weights, change = outcome()
        own = divergence(weights, pattern[:, None])
        most = [torch.where(change.mean(-1) <= limit, own, 0.0).max(1).values for limit in (0.05, 0.01)]
    usable = open_words.sum(-1) > 1
    return [values[usable].numpy() for values in most]


def erased_until_flip(model, states, pattern, order):
    """The share of words that goes before the decision does; None when it never goes."""
    n = len(pattern)
    rows = np.repeat(pattern[None], n + 1, 0)
    for k, word in enumerate(order):
        rows[k + 1 :, word] = 0
    rows /= np.maximum(rows.sum(1, keepdims=True), 1e-12)
    label = decided(model, states, rows).argmax(-1)
    flips = (label[1:] != label[0]).nonzero()
    return (int(flips[0]) + 1) / n if len(flips) else None


def measure(model, sentences, polar):
    rng = np.random.default_rng(5)
    taus, permuted, support, flips = [], [], [], {name: [] for name in ("attention", "random", "gradient")}
    deleted = {"polar": [], "others": []}
    weight, hits = [], []
    for ids, label in sentences:
        is_polar = np.isin(ids, polar)
        p = probabilities(model, [ids])[0]
        hits.append(int(p.argmax()) == label)
        if len(ids) < 3:
            continue
        attention, gradient, left_out, by_weight = importances(model, ids)
        taus.append([tau_b(attention, gradient), tau_b(attention, left_out), tau_b(gradient, left_out)])
        support.append((attention > 1e-9).mean())
        states = states_of(model, ids)
        shuffled = np.stack([rng.permutation(attention) for _ in range(N_PERMUTED)])
        permuted.append(float((decided(model, states, shuffled) - p).abs().mean(-1).median()))
        # Words without weight cannot be erased; they come last, and only count.
        until = lambda order: erased_until_flip(model, states, attention, order)
        flips["attention"].append(until(np.argsort(-attention, kind="stable")))
        flips["gradient"].append(until(np.argsort(-by_weight, kind="stable")))
        flips["random"] += [until(rng.permutation(len(ids))) for _ in range(N_RANDOM)]
        if is_polar.any() and not is_polar.all():
            weight.append(attention[is_polar].sum())
            others = np.zeros(len(ids), bool)
            chosen = np.flatnonzero(~is_polar)
            others[rng.permutation(chosen)[: is_polar.sum()]] = True
            for name, gone in (("polar", is_polar), ("others", others)):
                if gone.all():
                    continue
                after = probabilities(model, [[i for i, out in zip(ids, gone) if not out]])[0]
                deleted[name].append((int(after.argmax()) != int(p.argmax()), float((after - p).abs()[0])))
    taus = np.array(taus)
    share = lambda values: float(np.mean([value for value in values if value is not None]))
    never = lambda values: float(np.mean([value is None for value in values]))
    mean, std = np.nanmean(taus, 0), np.nanstd(taus, 0)
    found = {"right": np.mean(hits), "words with weight": np.mean(support), "weight on polar words": np.mean(weight)}
    pairs = ("attention, gradient", "attention, leave-one-out", "gradient, leave-one-out")
    found |= {f"tau {pair}": (mean[i], std[i]) for i, pair in enumerate(pairs)}
    found["permuted"] = np.median(permuted)
    most = adversarial(model, [ids for ids, _ in sentences if len(ids) >= 3])
    found |= {f"moved at {limit}": (values.mean(), values.std()) for limit, values in zip((0.05, 0.01), most)}
    for name, values in flips.items():
        found[f"erased by {name}"], found[f"never by {name}"] = share(values), never(values)
    for name, values in deleted.items():
        found[f"flips without {name}"], found[f"change without {name}"] = np.mean(values, 0)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--every", type=int, default=1, help="only every so manyth held-out sentence")
    options = parser.parse_args()
    torch.set_num_threads(1)
    tokenizer = Tokenizer.from_file(str(MODELS / "bilstm" / "tokenizer.json"))
    polar = [tokenizer.token_to_id(word) for word in (MODELS / "bilstm" / "polar.txt").read_text().split()]
    _, test = read_sentences(options.data)
    sentences = [(tokenizer.encode(text).ids, label) for text, label in test][:: options.every]
    tables = {}
    for name in NAMES:
        tables[name] = measure(load(name), sentences, polar)
        print(f"{name}: measured on {len(sentences)} sentences", flush=True)
    print("\n| | " + " | ".join(f"`demo:{name}`" for name in NAMES) + " |\n|" + "---|" * (len(NAMES) + 1))
    for what in tables[NAMES[0]]:
        cells = [tables[name][what] for name in NAMES]
        shown = [f"{c[0]:.2f} ± {c[1]:.2f}" if isinstance(c, tuple) else f"{c:.3f}" for c in cells]
        print(f"| {what} | " + " | ".join(shown) + " |")


if __name__ == "__main__":
    main()
