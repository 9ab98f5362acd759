"""Trains `demo:documents`: a classifier that attends twice, to the words of a sentence and to the sentences.

    python examples/train_documents.py --data DATA --out RUN --steps 900

DATA/documents/movie_reviews.zip holds 1,000 reviews of praise and 1,000 of blame (Pang and Lee 2004, CC BY 4.0);
the tenth fold, `cv900` to `cv999`, is held out. A GRU reads the words of each sentence in both directions and an
additive attention with a learned query weighs its states; another GRU reads the means so found, sentence after
sentence, and another attention weighs those; a linear map says praise or blame (Yang et al. 2016). A sentence
ends after a full stop, an exclamation or a question mark, or a run of those. RUN/model becomes a checkpoint that
AttnScope opens. Run the same command again to resume. Needs torch, tokenizers, safetensors.
"""

import json
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import nn

from recipe import Run, arguments, sentences
from train_polarity import PAD, UNKNOWN, named, padded, read_sentences, word_tokenizer

LABELS, ENDS, N_WORDS = ("negative", "positive"), ".!?", 9_998
# A number is one word, so that the point of a price ends no sentence.
PATTERN = r"\d+(?:[.,]\d+)*|\w+(?:'\w+)*|[^\w\s]"
FIRST_HELD_OUT = "cv900"
DROPOUT, UNKNOWN_SHARE = 0.5, 0.1
CONFIG = {
    "model_type": "han", "architectures": ["HanForSequenceClassification"], "embedding_size": 64,
    "word_hidden_size": 48, "sentence_hidden_size": 48, "attention_size": 96, "max_position_embeddings": 4096,
    "pad_token_id": PAD, "torch_dtype": "float16", "id2label": dict(enumerate(LABELS)),
    "label2id": {label: i for i, label in enumerate(LABELS)},
}  # fmt: skip


class Level(nn.Module):
    """A GRU in both directions and an attention with a learned query over its states."""

    def __init__(self, d_in, d_half, width):
        super().__init__()
        self.encoder = nn.GRU(d_in, d_half, batch_first=True, bidirectional=True)
        self.key = nn.Linear(2 * d_half, width)
        self.query = nn.Linear(width, 1, bias=False)

    def forward(self, x, lengths):
        """Means `[batch, 2 · d]` and patterns `[batch, n]` of rows `[batch, n, d_in]`."""
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
        states = nn.utils.rnn.pad_packed_sequence(self.encoder(packed)[0], batch_first=True, total_length=x.shape[1])[0]
        scores = self.query(torch.tanh(self.key(states))).squeeze(-1)
        real = torch.arange(x.shape[1]) < lengths[:, None]
        pattern = scores.masked_fill(~real, -torch.inf).softmax(-1)
        return torch.bmm(pattern[:, None], states).squeeze(1), pattern


class Han(nn.Module):
    """Two levels of reading and attention, and a linear map to the classes."""

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config["vocab_size"], config["embedding_size"])
        self.word = Level(config["embedding_size"], config["word_hidden_size"], config["attention_size"])
        d_sentence = 2 * config["word_hidden_size"]
        self.sentence = Level(d_sentence, config["sentence_hidden_size"], config["attention_size"])
        self.classifier = nn.Linear(2 * config["sentence_hidden_size"], len(LABELS))
        self.dropout = nn.Dropout(DROPOUT)
        nn.init.normal_(self.embed.weight, std=0.3)

    def forward(self, documents):
        """Logits `[batch, 2]`, patterns of words `[n_sentence, n]` and of sentences `[batch, n]`."""
        flat = [sentence for document in documents for sentence in document]
        x = self.dropout(self.embed(padded(flat)))
        means, of_words = self.word(x, torch.tensor([len(sentence) for sentence in flat]))
        counts = [len(document) for document in documents]
        rows = nn.utils.rnn.pad_sequence(self.dropout(means).split(counts), batch_first=True)
        means, of_sentences = self.sentence(rows, torch.tensor(counts))
        return self.classifier(self.dropout(means)), of_words, of_sentences


def read_documents(data):
    """Documents with labels, to train on and to test with; of the sample, its sentences."""
    file = data / "documents" / "movie_reviews.zip"
    if not file.exists():
        return read_sentences(data)
    train, test = [], []
    with zipfile.ZipFile(file) as archive:
        for path in sorted(map(Path, archive.namelist())):
            if path.parent.name in ("neg", "pos") and path.suffix == ".txt":
                text = archive.read(path.as_posix()).decode("utf-8", errors="replace")
                (test if path.name >= FIRST_HELD_OUT else train).append((text, int(path.parent.name == "pos")))
    return train, test


def load_tokenizer(folder, train):
    """The tokenizer of an earlier start, or a new one for the words of most documents."""
    file = folder / "tokenizer.json"
    if file.exists():
        return Tokenizer.from_file(str(file))
    split = word_tokenizer([], PATTERN)
    met = Counter()
    for text, _ in train:
        normal = split.normalizer.normalize_str(text)
        met.update({word for word, _ in split.pre_tokenizer.pre_tokenize_str(normal)})
    words = sorted(met, key=lambda word: (-met[word], word))[:N_WORDS]
    tokenizer = word_tokenizer(words, PATTERN)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(file))
    return tokenizer


def load(folder):
    """The network of a checkpoint that [`export`] wrote, in single precision."""
    model = Han(json.loads((folder / "config.json").read_text()))
    stored = load_file(folder / "model.safetensors")
    model.load_state_dict({own: stored[file].float() for own, file in zip(model.state_dict(), named(model))})
    return model.eval()


def export(half, folder, tokenizer):
    save_file(named(half), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONFIG["max_position_embeddings"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    options = arguments(__doc__, batch=16, lr=3e-3)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    train, test = read_documents(options.data)
    tokenizer = load_tokenizer(options.out, train)
    ends = [tokenizer.token_to_id(end) for end in ENDS]
    train, test = (
        [(sentences(tokenizer.encode(text).ids, ends), label) for text, label in part] for part in (train, test)
    )
    print(f"{len(train)} documents, {len(test)} held out", flush=True)
    model = Han(CONFIG | {"vocab_size": tokenizer.get_vocab_size(), "sentence_end_token_ids": ends})
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.05, columns=["heldout_loss", "accuracy"])

    def loss_of_step(step):
        rng = np.random.default_rng((options.seed, step))
        chosen = [train[i] for i in rng.integers(0, len(train), options.batch)]
        forget = lambda ids: np.where(rng.random(len(ids)) < UNKNOWN_SHARE, UNKNOWN, ids).tolist()
        documents = [[forget(ids) for ids in document] for document, _ in chosen]
        torch.manual_seed(options.seed * 1_000_003 + step)
        return F.cross_entropy(model(documents)[0], torch.tensor([label for _, label in chosen]))

    def evaluate(final):
        model.eval()
        losses, hits = 0.0, 0
        with torch.no_grad():
            for start in range(0, len(test), 16):
                labels = torch.tensor([label for _, label in test[start : start + 16]])
                logits = model([document for document, _ in test[start : start + 16]])[0]
                losses += F.cross_entropy(logits, labels, reduction="sum").item()
                hits += int((logits.argmax(-1) == labels).sum())
        model.train()
        return {"heldout_loss": losses / len(test), "accuracy": hits / len(test)}

    run.train(loss_of_step, evaluate, lambda half, folder: export(half, folder, tokenizer))


if __name__ == "__main__":
    main()
