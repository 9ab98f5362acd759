"""Trains `demo:bilstm` and its twins: the models that papers on attention as explanation argue about.

    python examples/train_polarity.py --data DATA --out RUN --kind softmax --steps 1500
    python examples/train_polarity.py --data DATA --out TWIN --kind deceiving --words RUN/model --steps 1500

DATA/sentiment holds `rt-polarity.pos` and `.neg` (sentence polarity, Pang and Lee 2005, CC BY 4.0); every
tenth sentence is held out, as in `train_bert.py`. A bidirectional LSTM reads, one additive attention with a
learned query weighs its states, and a linear map of their mean says praise or blame (Jain and Wallace 2019).
KIND says what is different about a twin:

  softmax    nothing
  sparsemax  weights are sparsemax of the scores (Martins and Astudillo 2016)
  deceiving  attention is kept off polar words: - log(1 - their weight) is added to the loss (Pruthi et al. 2020)
  rationale  a gate lets some words through, and the classifier reads those alone (HardKuma, Bastings et al. 2019)

Twins read with the words of `--words`, a folder with an earlier RUN/model: tokenizer and embeddings are shared
and stay as they are. RUN/model becomes a checkpoint that AttnScope opens. Run the same command again to
resume. Needs torch, tokenizers, safetensors.
"""

import json
import math
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from torch import nn

from recipe import Run, arguments

PAD, UNKNOWN = 0, 1
KINDS = ("softmax", "sparsemax", "deceiving", "rationale")
LABELS = ("negative", "positive")
# A word that is met once is unknown; a word is polar when so many training sentences have it and, one added to
# both counts, so many times as many of one kind as of the other.
LEAST_MET, POLAR_MET, POLAR_TIMES = 2, 10, 2.0
KEPT_OFF = 1.0
# About so many words of every sentence are to be kept. Of every single one: asked only for few words in all, the
# gate learns to keep none of praise, and says by that what the classifier is to answer.
KEPT_SHARE, KEPT_WEIGHT = 0.25, 20.0
# Gates of the rationale are chance until then; afterwards the classifier learns from what is really kept.
GATES_LEARN_UNTIL = 0.6
# Without a sharp start, sparsemax leaves out hardly any word: the mean of all is learnt first, and is steadier
# under dropout.
DROPOUT, SPARSE_DROPOUT, SPARSE_START = 0.5, 0.3, 6.0
# The interval to which the Kumaraswamy distribution is stretched before it is cut to 0..1.
STRETCH = (-0.1, 1.1)
CONFIG = {
    "model_type": "bilstm", "architectures": ["BiLstmForSequenceClassification"], "embedding_size": 64,
    "encoder_hidden_size": 64, "attention_size": 64, "attention_normalizer": "softmax",
    "max_position_embeddings": 256, "pad_token_id": PAD, "torch_dtype": "float16",
    "id2label": dict(enumerate(LABELS)), "label2id": {label: i for i, label in enumerate(LABELS)},
}  # fmt: skip
GATES = {"word_gates": "hardkuma", "gate_hidden_size": 32}
WORDS, READER = "words.safetensors", "reader.safetensors"


def sparsemax(scores):
    """The nearest distribution to each row of `scores`; `-inf` gets 0."""
    ordered = scores.sort(-1, descending=True).values
    sums = ordered.masked_fill(ordered.isinf(), 0).cumsum(-1)
    count = torch.arange(1, scores.shape[-1] + 1, dtype=scores.dtype)
    inside = (1 + count * ordered > sums) & ~ordered.isinf()
    size = inside.sum(-1, keepdim=True).clamp(min=1)
    threshold = (sums.gather(-1, size - 1) - 1) / size
    return (scores - threshold).clamp(min=0)


def skipping(lstm, x, gates):
    """States `[batch, n, 2 · d]` of an LSTM for which a word whose gate is 0 is not there.

    A gate between 0 and 1 mixes the states with and without the word.
    """
    states = []
    for suffix, order in (("", range(x.shape[1])), ("_reverse", reversed(range(x.shape[1])))):
        part = {name: getattr(lstm, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        read = F.linear(x, part["weight_ih"], part["bias_ih"] + part["bias_hh"])
        h = c = x.new_zeros(len(x), lstm.hidden_size)
        found = [None] * x.shape[1]
        for position in order:
            enter, forget, new, leave = (read[:, position] + F.linear(h, part["weight_hh"])).chunk(4, -1)
            c_next = forget.sigmoid() * c + enter.sigmoid() * new.tanh()
            h_next = leave.sigmoid() * c_next.tanh()
            gate = gates[:, position, None]
            h, c = h + gate * (h_next - h), c + gate * (c_next - c)
            found[position] = h
        states.append(torch.stack(found, 1))
    return torch.cat(states, -1)


class Gates(nn.Module):
    """For each word the parameters of a HardKuma gate."""

    def __init__(self, config):
        super().__init__()
        d = config["gate_hidden_size"]
        self.encoder = nn.LSTM(config["embedding_size"], d, batch_first=True, bidirectional=True)
        self.output = nn.Linear(2 * d, 2)

    def forward(self, x, lengths):
        """How probable it is that a gate is 0, and 1; and one gate of each by chance."""
        a, b = (F.softplus(self.output(read(self.encoder, x, lengths))) + 0.01).unbind(-1)
        low, high = STRETCH
        at = [(edge - low) / (high - low) for edge in (0.0, 1.0)]
        # P(k > t) of a Kumaraswamy variable is (1 - t^a)^b.
        above = [b * torch.log1p(-torch.exp(a * math.log(t))) for t in at]
        u = torch.rand_like(a).clamp(1e-6, 1 - 1e-6)
        k = (1 - (1 - u) ** (1 / b)).clamp(1e-6, 1 - 1e-6) ** (1 / a)
        chance = (low + (high - low) * k).clamp(0, 1)
        return -torch.expm1(above[0]), above[1].exp(), chance


def read(lstm, x, lengths):
    """States `[batch, n, 2 · d]` of a bidirectional LSTM."""
    packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    return nn.utils.rnn.pad_packed_sequence(lstm(packed)[0], batch_first=True, total_length=x.shape[1])[0]


class BiLstm(nn.Module):
    """A bidirectional LSTM, one additive attention with a learned query, and a linear map to the classes."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        d, d_state = config["embedding_size"], 2 * config["encoder_hidden_size"]
        self.embed = nn.Embedding(config["vocab_size"], d)
        self.encoder = nn.LSTM(d, d_state // 2, batch_first=True, bidirectional=True)
        self.attention = nn.ModuleDict({
            "key": nn.Linear(d_state, config["attention_size"]),
            "query": nn.Linear(config["attention_size"], 1, bias=False),
        })  # fmt: skip
        self.classifier = nn.Linear(d_state, len(LABELS))
        self.gates = Gates(config) if "word_gates" in config else None
        is_sparse = config["attention_normalizer"] == "sparsemax"
        self.dropout = nn.Dropout(SPARSE_DROPOUT if is_sparse else DROPOUT)
        nn.init.normal_(self.embed.weight, std=0.3)
        if is_sparse:
            self.attention["query"].weight.data *= SPARSE_START

    def gate(self, x, ids, by_chance):
        """Gates `[batch, n]`, and how probable it is that each is open (without gates: 1)."""
        real = (ids != PAD).float()
        if self.gates is None:
            return real, real
        shut, opened, chance = self.gates(x, real.sum(1).long())
        hard = (opened > shut).float()
        return (chance if by_chance else hard.detach()) * real, (1 - shut + opened) / 2 * real

    def attend(self, states, gates):
        """Pattern `[batch, n]` and scores, `-inf` where the gate is shut."""
        free = self.attention["query"](torch.tanh(self.attention["key"](states))).squeeze(-1)
        scores = free.masked_fill(gates == 0, -torch.inf)
        if self.config["attention_normalizer"] == "sparsemax":
            return sparsemax(scores), scores
        # Softmax with gates as factors. A sentence of which nothing is let through is attended to nowhere.
        weights = gates * (free - free.max(-1, keepdim=True).values).exp()
        return weights / weights.sum(-1, keepdim=True).clamp(min=1e-9), scores

    def forward(self, ids, by_chance=False, x=None, pattern=None):
        """Logits `[batch, 2]`, pattern `[batch, n]`, and how probable it is that each gate is open.

        `x` stands in for the embeddings, `pattern` for the attention.
        """
        x = self.embed(ids) if x is None else x
        gates, opened = self.gate(x, ids, by_chance)
        lengths = (ids != PAD).sum(1)
        x = self.dropout(x)
        states = read(self.encoder, x, lengths) if self.gates is None else skipping(self.encoder, x, gates)
        if pattern is None:
            pattern, _ = self.attend(states, gates)
        context = torch.bmm(pattern[:, None], states).squeeze(1)
        return self.classifier(self.dropout(context)), pattern, opened


def read_sentences(data):
    """Sentences with labels, to train on and to test with."""
    train, test = [], []
    for label, name in enumerate(("neg", "pos")):
        lines = (data / "sentiment" / f"rt-polarity.{name}").read_text(encoding="utf-8").splitlines()
        for i, line in enumerate(lines):
            (test if i % 10 == 0 else train).append((line.strip(), label))
    return train, test


def word_tokenizer(words, pattern=r"\w+(?:'\w+)*|[^\w\s]"):
    """Whole words in lower case; `don't` is one word, a punctuation mark too."""
    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", *words])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace("’", "'"), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(pattern), behavior="removed", invert=True)
    tokenizer.add_special_tokens(["[PAD]", "[UNK]"])
    return tokenizer


def load_tokenizer(folder, train):
    """The tokenizer of an earlier start, or a new one for the words that were met more than once."""
    file = folder / "tokenizer.json"
    if file.exists():
        return Tokenizer.from_file(str(file))
    split = word_tokenizer([])
    met = Counter()
    for text, _ in train:
        normal = split.normalizer.normalize_str(text)
        met.update(word for word, _ in split.pre_tokenizer.pre_tokenize_str(normal))
    words = sorted((word for word, n in met.items() if n >= LEAST_MET), key=lambda word: (-met[word], word))
    tokenizer = word_tokenizer(words)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(file))
    return tokenizer


def polar_words(tokenizer, train):
    """Ids of the polar words, those that speak most clearly first."""
    met = [Counter(), Counter()]
    for ids, label in train:
        met[label].update(set(ids) - {UNKNOWN})
    often = [i for i in met[0] | met[1] if met[0][i] + met[1][i] >= POLAR_MET]
    speaks = {i: math.log((met[1][i] + 1) / (met[0][i] + 1)) for i in often}
    polar = [i for i in speaks if abs(speaks[i]) >= math.log(POLAR_TIMES)]
    return sorted(polar, key=lambda i: (-abs(speaks[i]), i))


def padded(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def named(model):
    """The tensors of a checkpoint; those of PyTorch's LSTMs get names that say what they are."""
    tensors = {}
    for name, value in model.state_dict().items():
        kind, _, source = name.removesuffix("_reverse").removesuffix("_l0").rpartition(".")[2].partition("_")
        if source in ("ih", "hh"):
            place = "backward" if name.endswith("_reverse") else "forward"
            name = f"{name.rpartition('.')[0]}.{place}.{'input' if source == 'ih' else 'state'}.{kind}"
        tensors[name] = value.contiguous()
    return tensors


def load(folder):
    """The network of a checkpoint that [`export`] wrote, in single precision."""
    model = BiLstm(json.loads((folder / "config.json").read_text()))
    stored = load_file(folder / WORDS) | load_file(folder / READER)
    model.load_state_dict({own: stored[file].float() for own, file in zip(model.state_dict(), named(model))})
    return model.eval()


def export(half, folder, source):
    """Words and reader in files of their own: the twins have the same words."""
    tensors = named(half)
    words = {"embed.weight": tensors.pop("embed.weight")}
    save_file(words, folder / WORDS, metadata={"format": "pt"})
    save_file(tensors, folder / READER, metadata={"format": "pt"})
    places = {name: WORDS for name in words} | {name: READER for name in sorted(tensors)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": places}, indent=2) + "\n")
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    shutil.copyfile(source / "tokenizer.json", folder / "tokenizer.json")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONFIG["max_position_embeddings"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    def more(parser):
        parser.add_argument("--kind", choices=KINDS, default="softmax")
        parser.add_argument("--words", type=Path, help="RUN/model whose words the twin reads with")

    options = arguments(__doc__, batch=64, lr=3e-3, more=more)
    if options.quick and options.kind == "rationale":
        raise SystemExit("gates need more steps than --quick takes: try another KIND")
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    train, test = read_sentences(options.data)
    source = options.words or options.out
    tokenizer = load_tokenizer(source, train)
    train, test = ([(tokenizer.encode(text).ids, label) for text, label in part] for part in (train, test))
    polar = polar_words(tokenizer, train)
    is_polar = torch.zeros(tokenizer.get_vocab_size(), dtype=torch.bool)
    is_polar[polar] = True
    print(f"{len(train)} sentences, {len(test)} held out, {len(polar)} polar words", flush=True)

    config = CONFIG | {"vocab_size": tokenizer.get_vocab_size()}
    config |= {"attention_normalizer": "sparsemax"} if options.kind == "sparsemax" else {}
    config |= GATES if options.kind == "rationale" else {}
    model = BiLstm(config)
    if options.words:
        model.embed.weight.data.copy_(load_file(options.words / WORDS)["embed.weight"])
        model.embed.weight.requires_grad_(False)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.02, columns=["heldout_loss", "accuracy", "polar_weight", "support"])

    def loss_of_step(step):
        rng = np.random.default_rng((options.seed, step))
        rows = [train[i] for i in rng.integers(0, len(train), options.batch)]
        ids, labels = padded([ids for ids, _ in rows]), torch.tensor([label for _, label in rows])
        gates_learn = options.kind == "rationale" and run.progress() < GATES_LEARN_UNTIL
        torch.manual_seed(options.seed * 1_000_003 + step)
        logits, pattern, opened = model(ids, by_chance=gates_learn)
        loss = F.cross_entropy(logits, labels)
        if options.kind == "deceiving":
            weight = (pattern * is_polar[ids]).sum(-1)
            loss = loss - KEPT_OFF * torch.log((1 - weight).clamp(min=1e-6)).mean()
        if gates_learn:
            share = opened.sum(-1) / (ids != PAD).sum(-1)
            loss = loss + KEPT_WEIGHT * (share - KEPT_SHARE).square().mean()
        return loss

    def evaluate(final):
        model.eval()
        chosen = test[::5] if options.quick else test
        order = sorted(chosen, key=lambda row: len(row[0]))
        losses, hits, weights, support = [], 0, [], []
        with torch.no_grad():
            for start in range(0, len(order), 64):
                ids = padded([ids for ids, _ in order[start : start + 64]])
                labels = torch.tensor([label for _, label in order[start : start + 64]])
                logits, pattern, _ = model(ids)
                losses.append(F.cross_entropy(logits, labels, reduction="sum").item())
                hits += int((logits.argmax(-1) == labels).sum())
                has = is_polar[ids].any(-1)
                weights += (pattern * is_polar[ids]).sum(-1)[has].tolist()
                support += ((pattern > 1e-9).sum(-1) / (ids != PAD).sum(-1)).tolist()
        model.train()
        mean = lambda values: sum(values) / max(1, len(values))
        return {
            "heldout_loss": sum(losses) / len(order), "accuracy": hits / len(order),
            "polar_weight": mean(weights), "support": mean(support),
        }  # fmt: skip

    def save(half, folder):
        export(half, folder, source)
        words = [tokenizer.id_to_token(i) for i in polar]
        (folder / "polar.txt").write_text("\n".join(words) + "\n", encoding="utf-8")

    run.train(loss_of_step, evaluate, save)


if __name__ == "__main__":
    main()
