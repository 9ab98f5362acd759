"""Trains `demo:pointer`: a network whose output is its attention, and which sorts numbers by it.

    python examples/train_pointer.py --out RUN --steps 5000

A bidirectional GRU reads numbers and an end token. A GRU writes them again, the smallest first: in each step an
additive attention compares its state with those of the reader, and the probability of a token is the attention
to the places that hold it (pointer network, Vinyals et al. 2015). What was pointed to is read next; pointing at
the end ends it. Lists have 2 to 10 different numbers from 0 to 99, drawn anew for every step; every tenth
possible list, by a checksum, is never trained on, and tests are of those, up to 12 numbers. RUN/model becomes a
checkpoint that AttnScope opens. Run the same command again to resume. Needs torch, tokenizers, safetensors.
"""

import json
import zlib

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
from torch import nn

from recipe import Run, arguments
from train_classic import named

START, END, UNKNOWN, N_NUMBERS = 0, 1, 2, 100
SPECIAL = ["<s>", "</s>", "<unk>"]
TRAINED, TESTED = range(2, 11), range(2, 13)
TESTS_OF_A_LENGTH = 500
# Of a token that is nowhere in the input, so that its logarithm is a number.
NOTHING = 1e-12
CONFIG = {
    "model_type": "pointer", "architectures": ["PointerNetwork"], "vocab_size": len(SPECIAL) + N_NUMBERS,
    "embedding_size": 48, "encoder_hidden_size": 64, "hidden_size": 128, "attention_size": 64,
    "max_position_embeddings": 32, "pad_token_id": START, "eos_token_id": END, "decoder_start_token_id": START,
    "torch_dtype": "float16",
}  # fmt: skip


class Pointer(nn.Module):
    """A bidirectional GRU, a GRU that writes, and an attention that is what it says."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        d_word, d_half, d_state = config["embedding_size"], config["encoder_hidden_size"], config["hidden_size"]
        self.embed = nn.Embedding(config["vocab_size"], d_word)
        self.encoder = nn.GRU(d_word, d_half, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(d_half, d_state)
        self.decoder = nn.GRUCell(d_word, d_state)
        self.attention = nn.ModuleDict({
            "query": nn.Linear(d_state, config["attention_size"], bias=False),
            "key": nn.Linear(2 * d_half, config["attention_size"]),
            "energy": nn.Linear(config["attention_size"], 1, bias=False),
        })  # fmt: skip

    def encode(self, source):
        """Keys `[batch, n_key, width]`, the tokens there `[batch, n_key, n_vocab]`, and what the writer starts with."""
        memory, _ = self.encoder(self.embed(source))
        tokens = nn.functional.one_hot(source, self.config["vocab_size"]).to(memory.dtype)
        backward = memory[:, 0, memory.shape[-1] // 2 :]
        return self.attention["key"](memory), tokens, torch.tanh(self.bridge(backward))

    def step(self, read, state, keys):
        """One written token: the new state and the scores `[batch, n_key]`."""
        state = self.decoder(self.embed(read), state)
        hidden = torch.tanh(self.attention["query"](state)[:, None] + keys)
        return state, self.attention["energy"](hidden).squeeze(-1)

    def forward(self, source, read):
        """Log-probabilities `[batch, n_query, n_vocab]` and patterns `[batch, n_query, n_key]`."""
        keys, tokens, state = self.encode(source)
        patterns = []
        for position in range(read.shape[1]):
            state, scores = self.step(read[:, position], state, keys)
            patterns.append(scores.softmax(-1))
        patterns = torch.stack(patterns, 1)
        return torch.log(patterns @ tokens + NOTHING), patterns

    def write(self, source, longest):
        """What it writes of each source, `[batch, longest]`."""
        keys, tokens, state = self.encode(source)
        token, written = torch.full((len(source),), START), []
        for _ in range(longest):
            state, scores = self.step(token, state, keys)
            token = (scores.softmax(-1)[:, None] @ tokens).squeeze(1).argmax(-1)
            written.append(token)
        return torch.stack(written, 1)


def is_held_out(numbers):
    return zlib.crc32(bytes(numbers)) % 10 == 0


def lists(rng, n, how_many, held_out):
    """Sources `[how_many, n + 1]` and what is to be written of them, from 0 and with the end."""
    found = []
    while len(found) < how_many:
        numbers = rng.permutation(N_NUMBERS)[:n].tolist()
        if is_held_out(numbers) == held_out:
            found.append(numbers)
    ids = torch.tensor(found) + len(SPECIAL)
    end = torch.full((how_many, 1), END)
    return torch.cat([ids, end], 1), torch.cat([ids.sort(1).values, end], 1)


def read_of(written):
    """What the writer reads while it writes that."""
    return torch.cat([torch.full((len(written), 1), START), written[:, :-1]], 1)


def number_tokenizer():
    vocabulary = {token: i for i, token in enumerate([*SPECIAL, *map(str, range(N_NUMBERS))])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[^\s,;]+"), behavior="removed", invert=True)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", END)])
    return tokenizer


def load(folder):
    """The network of a checkpoint that [`export`] wrote, in single precision."""
    model = Pointer(json.loads((folder / "config.json").read_text()))
    stored = load_file(folder / "model.safetensors")
    model.load_state_dict({own: stored[file].float() for own, file in zip(model.state_dict(), named(model))})
    return model.eval()


def export(half, folder):
    save_file(named(half), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    number_tokenizer().save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONFIG["max_position_embeddings"],
        "pad_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    options = arguments(__doc__, batch=128, lr=4e-3, needs_data=False)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    model = Pointer(CONFIG)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    columns = ["heldout_loss", "weight", "sorted", *(f"sorted_{n}" for n in TESTED)]
    run = Run(model, options, weight_decay=0.0, columns=columns)

    def loss_of(source, written):
        scores, patterns = model(source, read_of(written))
        return -scores.gather(-1, written[..., None]).mean(), patterns

    def loss_of_step(step):
        rng = np.random.default_rng((options.seed, step))
        return loss_of(*lists(rng, int(rng.choice(TRAINED)), options.batch, False))[0]

    def evaluate(final):
        losses, weights, shares = [], [], {}
        with torch.no_grad():
            for n in TESTED:
                source, written = lists(np.random.default_rng(n), n, TESTS_OF_A_LENGTH, True)
                shares[f"sorted_{n}"] = (model.write(source, n + 1) == written).all(1).float().mean().item()
                if n in TRAINED:
                    loss, patterns = loss_of(source, written)
                    losses.append(loss.item())
                    places = (source[:, None] == written[..., None]).int().argmax(-1, keepdim=True)
                    weights.append(patterns.gather(-1, places).mean().item())
        mean = lambda values: sum(values) / len(values)
        shares["sorted"] = mean([shares[f"sorted_{n}"] for n in TRAINED])
        return shares | {"heldout_loss": mean(losses), "weight": mean(weights)}

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
