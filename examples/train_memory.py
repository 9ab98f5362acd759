"""Trains `demo:memory`: a network that reads a story sentence by sentence and looks through it three times.

    python examples/train_memory.py --out RUN --steps 6000

Stories are made by chance, after the first three tasks of bAbI (Weston et al. 2015): four people go about six
places, take up three things and put them down again. The last sentence asks where somebody is (kind 1), where a
thing is (kind 2), or where it was before (kind 3): as many facts have to be found. The answer is a place. Each
sentence is a memory, the sum of its words by their places in it and of its distance from the end; the question
is compared with all, the mean so found is added to it, and this is done three times (end-to-end memory network
with adjacent weights, Sukhbaatar et al. 2015). Every tenth possible story, by a checksum, is never trained on, and
tests are of those. RUN/model becomes a checkpoint that AttnScope opens. Run the same command again to resume.
Needs torch, tokenizers, safetensors.
"""

import json
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import nn

from recipe import Run, arguments
from train_polarity import PAD, padded, word_tokenizer

PEOPLE, THINGS = ("Mary", "John", "Daniel", "Sandra"), ("football", "milk", "apple")
PLACES = ("kitchen", "garden", "office", "hallway", "bedroom", "bathroom")
MOVES = ("moved to", "went to", "travelled to", "journeyed to")
TAKES, DROPS = ("took", "got", "grabbed", "picked up"), ("dropped", "discarded", "left", "put down")
ENDS, KINDS, SHORTEST, LONGEST = ".?", (1, 2, 3), 2, 14
TESTS_OF_A_KIND = 1000
# Until then attention is linear: the words find their meanings before the softmax chooses between sentences.
LINEAR_UNTIL = 0.15
CONFIG = {
    "model_type": "memn2n", "architectures": ["MemN2NForSequenceClassification"], "hidden_size": 48,
    "num_hops": 3, "max_sentences": 32, "max_position_embeddings": 256, "pad_token_id": PAD,
    "torch_dtype": "float16", "id2label": dict(enumerate(PLACES)), "label2id": {name: i for i, name in enumerate(PLACES)},
}  # fmt: skip


def story(rng, kind):
    """Sentences with the question last, and the place that answers it; `None` where nothing can be asked."""
    pick = lambda items: items[rng.integers(len(items))]
    at, held, lay, been, told = {}, {}, {}, {thing: [] for thing in THINGS}, []

    def saw(thing, place):
        if been[thing][-1:] != [place]:
            been[thing].append(place)

    for _ in range(rng.integers(SHORTEST, LONGEST + 1)):
        who = pick(PEOPLE)
        has = [thing for thing in THINGS if held.get(thing) == who]
        free = [thing for thing in THINGS if thing not in held and lay.get(thing, at.get(who)) == at.get(who)]
        chance = rng.random()
        if who in at and has and chance < 0.2:
            thing = pick(has)
            told.append(f"{who} {pick(DROPS)} the {thing}.")
            lay[thing] = at[who]
            del held[thing]
        elif who in at and free and chance < 0.6:
            thing = pick(free)
            told.append(f"{who} {pick(TAKES)} the {thing}.")
            held[thing] = who
            saw(thing, at[who])
        else:
            at[who] = pick([place for place in PLACES if place != at.get(who)])
            told.append(f"{who} {pick(MOVES)} the {at[who]}.")
            for thing in has:
                saw(thing, at[who])
    if kind == 1:
        who = pick(sorted(at))
        return [*told, f"Where is {who}?"], at[who]
    known = [thing for thing in THINGS if len(been[thing]) >= kind - 1]
    if not known:
        return None
    thing = pick(known)
    if kind == 2:
        return [*told, f"Where is the {thing}?"], been[thing][-1]
    # The last time that it came to a place.
    place = pick(sorted(set(been[thing][1:])))
    before = max(i for i in range(1, len(been[thing])) if been[thing][i] == place)
    return [*told, f"Where was the {thing} before the {place}?"], been[thing][before - 1]


def stories(rng, kinds, held_out):
    """A story of each kind that is given, from those to train on or the others."""
    found = []
    for kind in kinds:
        made = None
        while made is None or (zlib.crc32(" ".join(made[0]).encode()) % 10 == 0) != held_out:
            made = story(rng, kind)
        found.append(made)
    return found


def tokenizer():
    words = sorted({word for text in (*PEOPLE, *THINGS, *PLACES, *MOVES, *TAKES, *DROPS) for word in text.lower().split()})
    return word_tokenizer(["the", "where", "is", "was", "before", *ENDS, *words])


class Memory(nn.Module):
    """Memories of sentences, and a question that is asked of them several times."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        # Of the tables of all hops, side by side: the values of one hop are the keys of the next.
        width = config["hidden_size"] * (config["num_hops"] + 1)
        self.embed = nn.Embedding(config["vocab_size"], width)
        self.time = nn.Embedding(config["max_sentences"], width)
        self.classifier = nn.Linear(config["hidden_size"], len(PLACES), bias=False)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.1)

    def places(self, lengths, width):
        """How much each word counts, by its place in its sentence: `[n, width, hidden_size]`."""
        d = self.config["hidden_size"]
        j, n = torch.arange(1, width + 1)[:, None], lengths[:, None, None]
        k = torch.arange(1, d + 1) / d
        weights = (1 - j / n) - k * (1 - 2 * j / n)
        return weights * (j <= n)

    def forward(self, texts, linear=False):
        """Logits `[batch, n_places]` and patterns `[batch, hop, n_memories]`; texts are lists of sentences of ids."""
        flat = [sentence for text in texts for sentence in text]
        counts = [len(text) - 1 for text in texts]
        words = padded(flat)
        weights = self.places(torch.tensor([len(sentence) for sentence in flat]), words.shape[1])
        sums = (self.embed(words) * weights.repeat(1, 1, self.config["num_hops"] + 1)).sum(1)
        sums = sums.split([n + 1 for n in counts])
        # The last memory is 0 sentences away, the one before it 1.
        memories = [rows[:-1] + self.time(torch.arange(len(rows) - 2, -1, -1)) for rows in sums]
        memories = nn.utils.rnn.pad_sequence(memories, batch_first=True)
        real = torch.arange(memories.shape[1]) < torch.tensor(counts)[:, None]
        d, patterns = self.config["hidden_size"], []
        u = torch.stack([rows[-1] for rows in sums])[:, :d]
        for hop in range(self.config["num_hops"]):
            keys, values = (memories[..., at * d : (at + 1) * d] for at in (hop, hop + 1))
            scores = torch.bmm(keys, u[:, :, None]).squeeze(-1)
            pattern = scores * real if linear else scores.masked_fill(~real, -torch.inf).softmax(-1)
            u = u + torch.bmm(pattern[:, None], values).squeeze(1)
            patterns.append(pattern)
        return self.classifier(u), torch.stack(patterns, 1)


def named(model):
    return {name: value.contiguous() for name, value in model.state_dict().items()}


def load(folder):
    """The network of a checkpoint that [`export`] wrote, in single precision."""
    model = Memory(json.loads((folder / "config.json").read_text()))
    model.load_state_dict({name: value.float() for name, value in load_file(folder / "model.safetensors").items()})
    return model.eval()


def export(half, folder):
    save_file(named(half), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    tokenizer().save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONFIG["max_position_embeddings"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    options = arguments(__doc__, batch=128, lr=1e-2, needs_data=False)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    words = tokenizer()
    ends = [words.token_to_id(end) for end in ENDS]
    model = Memory(CONFIG | {"vocab_size": words.get_vocab_size(), "sentence_end_token_ids": ends})
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.3f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.0, columns=["heldout_loss", "accuracy", *(f"kind_{kind}" for kind in KINDS)])
    known = {}

    def ids(text):
        if text not in known:
            known[text] = words.encode(text).ids
        return known[text]

    def loss_of(made, linear):
        texts = [[ids(sentence) for sentence in text] for text, _ in made]
        labels = torch.tensor([PLACES.index(place) for _, place in made])
        logits, _ = model(texts, linear)
        return F.cross_entropy(logits, labels), (logits.argmax(-1) == labels).float().mean().item()

    def loss_of_step(step):
        rng = np.random.default_rng((options.seed, step))
        made = stories(rng, rng.choice(KINDS, options.batch), False)
        return loss_of(made, run.progress() < LINEAR_UNTIL)[0]

    def evaluate(final):
        model.eval()
        with torch.no_grad():
            found = [loss_of(stories(np.random.default_rng(kind), [kind] * TESTS_OF_A_KIND, True), False) for kind in KINDS]
        model.train()
        mean = lambda values: sum(values) / len(values)
        shares = {f"kind_{kind}": right for kind, (_, right) in zip(KINDS, found)}
        return shares | {"heldout_loss": mean([loss.item() for loss, _ in found]), "accuracy": mean(list(shares.values()))}

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
