"""Trains the bundled language model `demo:gpt`: a small GPT-2 that writes children's stories.

    python examples/train_gpt.py --data DATA --out RUN --steps 3200

DATA/text holds `tinystories_union.txt` (stories separated by <|endoftext|>),
`extra_train_continuous_adi.txt` and `heldout_v1_validation_continuous.txt` (TinyStories,
CDLA-Sharing-1.0), `storybooks_en_cc-by.txt` (African Storybook and Pratham Books, CC BY) and
`common_voice_en_cc0.txt` (one sentence a line, CC0). RUN/model becomes an ordinary checkpoint.
Run the same command again to resume. Needs torch, transformers and tokenizers; one CPU thread
is enough.

Some rows are random tokens that repeat: the only way to predict them is to look up what
followed last time, so induction heads form. Half of the rows until they have, then a tenth.

An induction head needs another that looks at the token before. Runs of a model of this size had none
after a thousand steps, so this one starts near it: half of the heads of layer 0 look at the first to
fourth token back. What becomes of them is training's.

Positions are sines and cosines (Vaswani et al., 2017), slow ones, and stay as they are, so that
neighbours are near each other as they are in GPT-2. Where positions were learned, so few steps made them
codes of which neighbours were no nearer than others, and a spiral of positions could not be seen.
"""

import json
import math

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import ByteLevelBPETokenizer, Tokenizer
from transformers import GPT2Config, GPT2LMHeadModel

from recipe import SAMPLE, Run, arguments, forward_context

END = "<|endoftext|>"
VOCABULARY, CONTEXT = 2048, 256
# Share of rows that repeat, as long as their loss is above the limit and when it is below.
REPEATED_SHARE_HIGH, REPEATED_SHARE_LOW, REPEATED_LIMIT = 0.5, 0.1, 1.0
# The fastest wave of the positions turns once in so many tokens, the slowest once in all.
FASTEST = 20
# How far the first heads prefer a position over others to begin with.
SHARPNESS = 5.0
IGNORE = -100


def read_texts(data):
    """Training text, with every document closed by the end-of-text marker, and held-out text."""
    text = data / "text"
    files = [text / name for name in ("tinystories_union.txt", "storybooks_en_cc-by.txt", "extra_train_continuous_adi.txt")]
    if data == SAMPLE:
        files = [file for file in files if file.exists()]
    stories = [story for file in files for story in file.read_text(encoding="utf-8").split(END)]
    stories = [story.strip() for story in stories if story.strip()]
    sentences = (text / "common_voice_en_cc0.txt").read_text(encoding="utf-8").splitlines()
    heldout = (text / "heldout_v1_validation_continuous.txt").read_text(encoding="utf-8")
    return "".join(document + END for document in stories + sentences), heldout


def load_tokenizer(out, text):
    """The byte-level BPE tokenizer of an earlier start, or a new one trained on `text`."""
    file = out / "tokenizer.json"
    if not file.exists():
        out.mkdir(parents=True, exist_ok=True)
        trained = ByteLevelBPETokenizer(add_prefix_space=False)
        trained.train_from_iterator(
            text.split(END), vocab_size=VOCABULARY, special_tokens=[END], show_progress=False
        )
        trained.save(str(file))
    return Tokenizer.from_file(str(file))


def encode(tokenizer, text):
    """All token ids of a long text; encoded story by story to bound memory."""
    parts = text.split(END)
    end = [tokenizer.token_to_id(END)]
    encodings = tokenizer.encode_batch(parts)
    ids = [id for encoding in encodings[:-1] for id in encoding.ids + end] + encodings[-1].ids
    return np.array(ids, dtype=np.int64)


def load_ids(options):
    """The tokenizer and all training and held-out ids; kept in the output folder for a resumed run."""
    kept = options.out / "ids.npz"
    text, heldout = read_texts(options.data)
    tokenizer = load_tokenizer(options.out, text)
    if not kept.exists():
        np.savez(kept, train=encode(tokenizer, text), heldout=encode(tokenizer, heldout))
    ids = np.load(kept)
    return tokenizer, ids["train"], ids["heldout"]


def repeated_row(rng):
    """A random segment of 4 to 48 tokens over and over, and labels that skip its first pass."""
    period = int(rng.integers(4, 49))
    segment = rng.integers(1, VOCABULARY, period)
    row = np.resize(segment, CONTEXT + 1)
    labels = row.copy()
    labels[: period + 1] = IGNORE
    return row, labels


def batch(rng, ids, rows, share):
    """`rows` windows of text, a `share` of them replaced by repeated random tokens."""
    windows, targets = [], []
    for _ in range(rows):
        if rng.random() < share:
            row, labels = repeated_row(rng)
        else:
            start = rng.integers(0, len(ids) - CONTEXT - 1)
            row = labels = ids[start : start + CONTEXT + 1]
        windows.append(row[:-1])
        targets.append(labels[1:])
    return torch.from_numpy(np.stack(windows)), torch.from_numpy(np.stack(targets))


@torch.no_grad()
def start_by_position(model):
    """Positions that stay, and half of the first heads each look so many tokens back by them."""
    tokens, positions = model.transformer.wte.weight, model.transformer.wpe.weight.requires_grad_(False)
    n_positions, width = positions.shape
    waves = width // 8
    rates = math.tau / FASTEST * (n_positions / FASTEST) ** -torch.linspace(0, 1, waves)
    angles = torch.arange(n_positions)[:, None] * rates
    # A quarter of the stream is theirs alone to begin with.
    positions.zero_()
    positions[:, : 2 * waves] = 0.4 * torch.cat([angles.sin(), angles.cos()], dim=1)
    # So that tokens stay legible beside them.
    tokens.mul_(2.5)
    tokens[:, : 2 * waves] = 0

    n_heads = model.config.n_head
    rank = width // n_heads
    # Fast waves tell neighbours apart, slow ones keep them near.
    sine = torch.linspace(0, waves - 1, rank // 2).long()
    cosine = sine + waves
    queries, keys, _ = model.transformer.h[0].attn.c_attn.weight.split(width, dim=1)
    for head in range(n_heads // 2):
        first = head * rank
        x, y = torch.arange(first, first + rank, 2), torch.arange(first + 1, first + rank, 2)
        keys[sine, x] = keys[cosine, y] = SHARPNESS
        # The waves as they stood `head + 1` tokens ago.
        turn = (head + 1) * rates[sine]
        queries[sine, x] = queries[cosine, y] = SHARPNESS * turn.cos()
        queries[sine, y], queries[cosine, x] = SHARPNESS * turn.sin(), -SHARPNESS * turn.sin()


def mean_loss(model, options, windows, targets):
    """Mean loss per predicted token, in nats, 16 rows at a time."""
    total, count = 0.0, 0
    with torch.no_grad(), forward_context(options):
        for x, y in zip(windows.split(16), targets.split(16)):
            logits = model(x).logits.float().flatten(0, 1)
            total += F.cross_entropy(logits, y.flatten(), ignore_index=IGNORE, reduction="sum").item()
            count += int((y != IGNORE).sum())
    return total / count


def own_arguments(parser):
    parser.add_argument("--compile", action="store_true", help="a third faster; needs a C++ compiler")


def main():
    options = arguments(__doc__, batch=16, lr=3e-3, more=own_arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    tokenizer, ids, heldout = load_ids(options)
    print(f"{len(ids)} training tokens, {len(heldout)} held-out tokens", flush=True)

    end = tokenizer.token_to_id(END)
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=CONTEXT, n_embd=224, n_layer=6, n_head=8,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0, bos_token_id=end, eos_token_id=end,
        activation_function="gelu_pytorch_tanh", use_cache=False, attn_implementation="eager",
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    start_by_position(model)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    columns = ["heldout_loss", "repeated_loss"]
    run = Run(model, options, weight_decay=0.1, columns=columns, muon=True)

    forward = torch.compile(model) if options.compile else model

    def loss_of_step(step):
        rng = np.random.default_rng((options.seed, step))
        learnt = run.rows and run.rows[-1]["repeated_loss"] < REPEATED_LIMIT
        share = REPEATED_SHARE_LOW if learnt else REPEATED_SHARE_HIGH
        x, y = batch(rng, ids, options.batch, share)
        with forward_context(options):
            logits = forward(x).logits
        return F.cross_entropy(logits.flatten(0, 1).float(), y.flatten(), ignore_index=IGNORE)

    usable = len(heldout) // (CONTEXT + 1) * (CONTEXT + 1)
    windows = torch.from_numpy(heldout[:usable].reshape(-1, CONTEXT + 1))
    rng = np.random.default_rng(options.seed)
    repeated = [repeated_row(rng) for _ in range(16)]
    repeated_x, repeated_y = (torch.from_numpy(np.stack(part)) for part in zip(*repeated))

    def evaluate(final):
        rows = windows if final and not options.quick else windows[::12]
        return {
            "heldout_loss": mean_loss(model, options, rows[:, :-1], rows[:, 1:]),
            "repeated_loss": mean_loss(model, options, repeated_x[:, :-1], repeated_y[:, 1:]),
        }

    def export(half, folder):
        # The usual name of the same function, and the usual cache setting.
        half.config.activation_function, half.config.use_cache = "gelu_new", True
        half.save_pretrained(folder)
        (folder / "generation_config.json").unlink(missing_ok=True)
        tokenizer.save(str(folder / "tokenizer.json"))
        settings = {
            "tokenizer_class": "GPT2Tokenizer", "model_max_length": CONTEXT, "add_prefix_space": False,
            "bos_token": END, "eos_token": END, "unk_token": END,
        }  # fmt: skip
        (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
