"""Trains a recurrent language model that looks back at what it has read.

    python examples/train_reader.py --data DATA --out RUN --tokenizer DIR --score bilinear --steps 1500

A GRU reads a story token by token. Its state is compared with all of its states so far, that one included, by a
bilinear score; the next token is predicted from the state, the mean of the states by those weights, and the token
just read (an attentive language model: Mei et al. 2017, Salton et al. 2017). With SCORE `none` that mean is zero,
and everything else is the same: what attention is worth here. Data and split are those of `train_gpt.py`, and so is
the tokenizer, if DIR is a folder with its `tokenizer.json`. RUN/model becomes a checkpoint that AttnScope opens. Run
the same command again to resume. Needs torch, transformers, tokenizers, safetensors.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from recipe import Run, arguments
from train_classic import named
from train_gpt import CONTEXT, END, VOCABULARY, load_ids

CONFIG = {
    "model_type": "attentive_lm", "architectures": ["AttentiveLmForCausalLM"], "vocab_size": VOCABULARY, "embedding_size": 96,
    "hidden_size": 192, "max_position_embeddings": CONTEXT, "bos_token_id": 0, "eos_token_id": 0,
    "tie_word_embeddings": True, "torch_dtype": "float16",
}  # fmt: skip
SCORES = ("bilinear", "none")


class Reader(nn.Module):
    """A GRU, attention from each of its states to those so far, and what is predicted from both."""

    def __init__(self, config, attends=True):
        super().__init__()
        self.config, self.attends = config, attends
        d_word, d_state = config["embedding_size"], config["hidden_size"]
        self.embed = nn.Embedding(config["vocab_size"], d_word)
        self.encoder = nn.GRU(d_word, d_state, batch_first=True)
        self.attention = nn.ModuleDict({"query": nn.Linear(d_state, d_state, bias=False)})
        self.readout = nn.Linear(2 * d_state + d_word, d_word)
        self.output_bias = nn.Parameter(torch.zeros(config["vocab_size"]))
        nn.init.normal_(self.embed.weight, std=d_word**-0.5)

    def attend(self, states):
        """Queries and means `[batch, n, d_state]`, scores and patterns `[batch, n, n]`."""
        queries = self.attention["query"](states)
        later = torch.ones(states.shape[1], states.shape[1], dtype=torch.bool).triu(1)
        scores = (queries @ states.transpose(1, 2) * self.config["hidden_size"] ** -0.5).masked_fill(later, -torch.inf)
        pattern = scores.softmax(-1)
        return queries, pattern @ states, scores, pattern

    def forward(self, ids):
        """Logits `[batch, n, n_vocab]`."""
        words = self.embed(ids)
        states, _ = self.encoder(words)
        context = self.attend(states)[1] if self.attends else torch.zeros_like(states)
        features = torch.tanh(self.readout(torch.cat([states, context, words], -1)))
        return F.linear(features, self.embed.weight, self.output_bias)


def load(folder):
    """The network of a checkpoint that [`export`] wrote, in single precision."""
    model = Reader(json.loads((folder / "config.json").read_text()))
    stored = load_file(folder / "model.safetensors")
    model.load_state_dict({own: stored[file].float() for own, file in zip(model.state_dict(), named(model))})
    return model.eval()


def export(half, folder, tokenizer):
    save_file(named(half), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "GPT2Tokenizer", "model_max_length": CONTEXT, "add_prefix_space": False}
    settings |= dict.fromkeys(("bos_token", "eos_token", "unk_token"), END)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    def more(parser):
        parser.add_argument("--tokenizer", type=Path, help="folder with a tokenizer.json; RUN by default")
        parser.add_argument("--score", choices=SCORES, default="bilinear")

    options = arguments(__doc__, batch=8, lr=4e-3, more=more)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    if options.tokenizer:
        options.out.mkdir(parents=True, exist_ok=True)
        shutil.copy(options.tokenizer / "tokenizer.json", options.out)
    tokenizer, train, heldout = load_ids(options)
    model = Reader(CONFIG, options.score != "none")
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.01, columns=["heldout_loss", "perplexity"])
    n_rows = len(heldout) // (CONTEXT + 1)
    windows = torch.from_numpy(heldout[: n_rows * (CONTEXT + 1)].reshape(n_rows, -1))
    loss_of = lambda rows: F.cross_entropy(model(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())

    def loss_of_step(step):
        starts = np.random.default_rng((options.seed, step)).integers(0, len(train) - CONTEXT - 1, options.batch)
        return loss_of(torch.from_numpy(np.stack([train[start : start + CONTEXT + 1] for start in starts])))

    def evaluate(final):
        rows = windows if final and not options.quick else windows[::12]
        with torch.no_grad():
            loss = sum(loss_of(part).item() * len(part) for part in rows.split(16)) / len(rows)
        return {"heldout_loss": loss, "perplexity": float(np.exp(loss))}

    run.train(loss_of_step, evaluate, lambda half, folder: export(half, folder, tokenizer))


if __name__ == "__main__":
    main()
