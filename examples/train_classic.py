"""Trains `demo:classic` and `demo:bottleneck`: the translators that came before transformers.

    python examples/train_classic.py --data DATA --out RUN --tokenizer DIR --score additive --steps 3000

A bidirectional GRU reads, a GRU with attention writes (RNNsearch, Bahdanau et al. 2015). SCORE says how
a state of the writer is compared with a state of the reader: `additive` as in that paper, `mlp` with a
second hidden layer, `dot` and `bilinear` as in Luong et al. 2015, `none` for a writer that is given the last
state of each reader at every step and no other (Cho et al. 2014); everything else is the same. Data, split,
languages and tokenizer are those of `train_translate.py`; DIR is a folder with its `tokenizer.json` (without
one, a new one is made). RUN/model becomes a checkpoint that AttnScope opens. Run the same command again to
resume. Needs torch, tokenizers, sacrebleu, safetensors.
"""

import json
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

from recipe import Run, arguments, forward_context
from train_translate import (
    CONTEXT, END, IGNORE, LANGUAGES, PAD, VOCABULARY, Batches, collate, load_tokenizer, padded, read_pairs,
    references_bleu, save_tokenizer,
)  # fmt: skip

CONFIG = {
    "model_type": "rnnsearch", "architectures": ["RNNsearch"], "vocab_size": VOCABULARY,
    "embedding_size": 96, "encoder_hidden_size": 96, "hidden_size": 192, "attention_size": 192,
    "max_position_embeddings": CONTEXT, "pad_token_id": PAD, "eos_token_id": END,
    "decoder_start_token_id": PAD, "tie_word_embeddings": True, "torch_dtype": "float16",
}  # fmt: skip
SCORES = ("additive", "dot", "bilinear", "mlp", "none")


class Attention(nn.Module):
    """How well each state of the reader fits a state of the writer."""

    def __init__(self, config):
        super().__init__()
        self.kind = config["attention_score"]
        d_query, d_key, width = config["hidden_size"], 2 * config["encoder_hidden_size"], config["attention_size"]
        if self.kind in ("additive", "mlp"):
            self.query = nn.Linear(d_query, width, bias=False)
            self.key = nn.Linear(d_key, width)
            self.hidden = nn.Linear(width, width) if self.kind == "mlp" else None
            self.energy = nn.Linear(width, 1, bias=False)
        elif self.kind == "bilinear":
            self.query = nn.Linear(d_query, d_key, bias=False)
        elif d_query != d_key:
            raise ValueError("the dot product needs states of one width")

    def keys(self, memory):
        return self.key(memory) if self.kind in ("additive", "mlp") else memory

    def scores(self, state, keys):
        """`[batch, n_key]` of a state `[batch, d_query]` and keys `[batch, n_key, width]`."""
        if self.kind in ("additive", "mlp"):
            hidden = torch.tanh(self.query(state)[:, None] + keys)
            hidden = hidden if self.hidden is None else torch.tanh(self.hidden(hidden))
            return self.energy(hidden).squeeze(-1)
        query = self.query(state) if self.kind == "bilinear" else state
        return torch.bmm(keys, query[:, :, None]).squeeze(-1)


class RnnSearch(nn.Module):
    """A bidirectional GRU, attention, and a GRU whose every step sees what it attended to.

    While it is trained, `dropped` of the numbers that the writer starts with are zero."""

    def __init__(self, config, dropped=0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropped)
        self.config = config
        d_word, d_half, d_state = config["embedding_size"], config["encoder_hidden_size"], config["hidden_size"]
        self.embed = nn.Embedding(config["vocab_size"], d_word)
        self.encoder = nn.GRU(d_word, d_half, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(d_half, d_state)
        self.attention = None if config["attention_score"] == "none" else Attention(config)
        self.decoder = nn.GRUCell(d_word + 2 * d_half, d_state)
        self.readout = nn.Linear(d_state + 2 * d_half + d_word, d_word)
        self.output_bias = nn.Parameter(torch.zeros(config["vocab_size"]))
        nn.init.normal_(self.embed.weight, std=d_word**-0.5)

    def encode(self, source):
        """States `[batch, n_key, 2 · d_half]`, the writer's first state, and which keys are real.

        Without attention there is one key: the last state of the forward reader beside the backward reader's."""
        lengths = (source != PAD).sum(1)
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(source), lengths, batch_first=True, enforce_sorted=False
        )
        memory = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True)[0]
        d_half = memory.shape[-1] // 2
        backward, real = memory[:, 0, d_half:], source != PAD
        if self.attention is None:
            forward = memory[torch.arange(len(memory)), lengths - 1, :d_half]
            memory, real = torch.cat([forward, backward], -1)[:, None], real[:, :1]
        return memory, self.dropout(torch.tanh(self.bridge(backward))), real

    def keys(self, memory):
        return memory if self.attention is None else self.attention.keys(memory)

    def step(self, word, state, memory, keys, real):
        """One written token: the new state, what is read out of it, and the attention `[batch, n_key]`."""
        if self.attention is None:
            pattern = real.to(memory.dtype)
        else:
            scores = self.attention.scores(state, keys).float().masked_fill(~real, -torch.inf)
            pattern = scores.softmax(-1)
        context = torch.bmm(pattern[:, None], memory).squeeze(1)
        state = self.decoder(torch.cat([word, context], -1), state)
        return state, torch.tanh(self.readout(torch.cat([state, context, word], -1))), pattern

    def forward(self, source, read):
        """Logits `[batch, n_query, n_vocab]` and patterns `[batch, n_query, n_key]`."""
        memory, state, real = self.encode(source)
        keys, words = self.keys(memory), self.embed(read)
        features, patterns = [], []
        for position in range(read.shape[1]):
            state, feature, pattern = self.step(words[:, position], state, memory, keys, real)
            features.append(feature)
            patterns.append(pattern)
        logits = F.linear(torch.stack(features, 1), self.embed.weight, self.output_bias)
        return logits, torch.stack(patterns, 1)

    def translate(self, source, longest=40):
        """Greedy translations of padded sources, as lists of ids."""
        memory, state, real = self.encode(source)
        keys = self.keys(memory)
        token = torch.full((len(source),), PAD)
        written, done = [], torch.zeros(len(source), dtype=torch.bool)
        for _ in range(longest):
            state, feature, _ = self.step(self.embed(token), state, memory, keys, real)
            token = F.linear(feature, self.embed.weight, self.output_bias).argmax(-1)
            done |= token == END
            written.append(torch.where(done, PAD, token))
            if done.all():
                break
        return torch.stack(written, 1).tolist()


def named(model):
    """The tensors of a checkpoint; those of PyTorch's recurrent layers get names that say what they are."""
    tensors = {}
    for name, value in model.state_dict().items():
        place = "backward" if name.endswith("_reverse") else "forward" if name.startswith("encoder.") else None
        kind, _, source = name.removesuffix("_reverse").removesuffix("_l0").rpartition(".")[2].partition("_")
        if source in ("ih", "hh"):
            parts = [name.split(".")[0], place, "input" if source == "ih" else "state", kind]
            name = ".".join(part for part in parts if part)
        tensors[{"output_bias": "output.bias"}.get(name, name)] = value.contiguous()
    return tensors


def export(half, folder, tokenizer):
    save_file(named(half), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    save_tokenizer(tokenizer, folder)


def main():
    def more(parser):
        parser.add_argument("--tokenizer", type=Path, help="folder with a tokenizer.json; RUN by default")
        parser.add_argument("--score", choices=SCORES, default="additive")

    options = arguments(__doc__, batch=4096, lr=4e-3, more=more)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    pairs, held_out = read_pairs(options.data)
    tokenizer = load_tokenizer(options.tokenizer or options.out, pairs)
    sources = tokenizer.encode_batch([source for source, _ in pairs])
    targets = tokenizer.encode_batch([target for _, target in pairs])
    batches = Batches([(a.ids, b.ids) for a, b in zip(sources, targets)], options.batch, options.seed, tokenizer.token_to_id("."))
    held_out_pairs = [
        (tokenizer.encode(source).ids, tokenizer.encode(target).ids)
        for source, found in held_out.items() for target in found
    ]  # fmt: skip
    print(f"{len(pairs)} pairs, {len(held_out_pairs)} held out", flush=True)

    model = RnnSearch(CONFIG | {"attention_score": options.score})
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.0, columns=["heldout_loss", "bleu_deu", "bleu_fra"])

    def loss_of(batch):
        source, read, labels = batch
        with forward_context(options):
            logits, _ = model(source, read)
        return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORE)

    def translate(texts):
        order, written = sorted(range(len(texts)), key=lambda i: len(texts[i])), []
        for start in range(0, len(order), 100):
            ids = padded([tokenizer.encode(texts[i]).ids for i in order[start : start + 100]], PAD)
            written += [tokenizer.decode(row, skip_special_tokens=True) for row in model.translate(ids)]
        return [text for _, text in sorted(zip(order, written))]

    plan = Batches(held_out_pairs, 4096, 0).plan_of(0)

    def evaluate(final):
        whole = final and not options.quick
        chosen = plan if whole else plan[::4]
        with torch.no_grad():
            losses = [loss_of(collate([held_out_pairs[i] for i in batch])).item() for batch in chosen]
            measured = {"heldout_loss": sum(losses) / len(losses)}
            for language, tag in LANGUAGES.items():
                texts = [source for source in held_out if source.startswith(tag)]
                texts = texts if whole else texts[: 20 if options.quick else 150]
                measured[f"bleu_{language}"] = references_bleu(translate(texts), held_out, texts)
        return measured

    run.train(lambda step: loss_of(batches[step]), evaluate, lambda half, folder: export(half, folder, tokenizer))


if __name__ == "__main__":
    main()
