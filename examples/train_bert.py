"""Trains the bundled encoder behind `demo:bert` and `demo:sentiment`: a small BERT with two heads.

    python examples/train_bert.py --data DATA --out RUN --steps 5000

DATA/parallel holds `deu.txt` and `fra.txt` (Tatoeba, CC BY 2.0; only the English is read), DATA/text
`common_voice_en_cc0.txt` (Mozilla Common Voice, CC0) and DATA/sentiment `rt-polarity.pos` and `.neg`
(sentence polarity, Pang and Lee 2005, CC BY 4.0). RUN/model becomes one file of weights with two
configurations: `config.json` opens it as a masked language model, `sentiment/config.json` as a
classifier. Run the same command again to resume. Needs torch, transformers, tokenizers, safetensors.

The first three quarters of the steps fill in masked words; then every second step also tells praise
from blame, so that the encoder serves both heads. Every tenth sentence of the polarity data is held
out, from both tasks.
"""

import copy
import json

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification

from recipe import Run, arguments, forward_context

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PAD, CLS, SEP, MASK = 0, 2, 3, 4
VOCABULARY, CONTEXT = 6000, 128
MASKED_SHARE, HIDDEN_SHARE = 0.15, 0.3
TOKENS, POOL, REVIEW_COPIES = 3072, 4096, 4
LABELS_FROM, LABELLED_BATCH = 0.75, 48
IGNORE = -100


def read_sentences(data):
    """English sentences without repeats, and labelled ones to train on and to test with."""
    found = {}
    for language in ("deu", "fra"):
        lines = (data / "parallel" / f"{language}.txt").read_text(encoding="utf-8").splitlines()
        found |= dict.fromkeys(line.split("\t")[0] for line in lines)
    found |= dict.fromkeys((data / "text" / "common_voice_en_cc0.txt").read_text(encoding="utf-8").splitlines())
    train, test = [], []
    for label, name in enumerate(("neg", "pos")):
        lines = (data / "sentiment" / f"rt-polarity.{name}").read_text(encoding="utf-8").splitlines()
        for i, line in enumerate(lines):
            (test if i % 10 == 0 else train).append((line.strip(), label))
    return [sentence for sentence in found if sentence.strip()], train, test


def load_tokenizer(out, sentences):
    """The tokenizer of an earlier start, or a new WordPiece one without case."""
    file = out / "tokenizer.json"
    if file.exists():
        return Tokenizer.from_file(str(file))
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, show_progress=False)
    tokenizer.train_from_iterator(sentences, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)],
    )  # fmt: skip
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(file))
    return tokenizer


def padded(rows):
    width = max(map(len, rows))
    return torch.tensor([row + [PAD] * (width - len(row)) for row in rows])


def masked(rng, ids, share):
    """Ids with a `share` masked as in BERT (8 of 10 hidden, 1 replaced, 1 kept), and the labels."""
    chosen = (torch.from_numpy(rng.random(ids.shape)) < share) & (ids > MASK)
    labels = torch.where(chosen, ids, IGNORE)
    fate = torch.from_numpy(rng.random(ids.shape))
    others = torch.from_numpy(rng.integers(len(SPECIAL), VOCABULARY, ids.shape))
    ids = torch.where(chosen & (fate < 0.8), MASK, ids)
    return torch.where(chosen & (fate >= 0.9), others, ids), labels


def masked_loss(model, ids, labels):
    hidden = model.bert(input_ids=ids, attention_mask=(ids != PAD).long()).last_hidden_state
    # The head only where there is something to say: it is half of the work.
    logits = model.cls(hidden[labels != IGNORE])
    return F.cross_entropy(logits.float(), labels[labels != IGNORE])


class TwoHeads(torch.nn.Module):
    """One encoder under the heads of BertForMaskedLM and BertForSequenceClassification, by their names."""

    def __init__(self, config):
        super().__init__()
        classifier, language_model = BertForSequenceClassification(config), BertForMaskedLM(config)
        self.config, self.bert = config, classifier.bert
        self.dropout, self.classifier = torch.nn.Dropout(0.2), classifier.classifier
        self.cls = language_model.cls
        self.cls.predictions.decoder.weight = self.bert.embeddings.word_embeddings.weight

    def label_logits(self, ids):
        pooled = self.bert(input_ids=ids, attention_mask=(ids != PAD).long()).pooler_output
        return self.classifier(self.dropout(pooled))


def accuracy(model, encoded, labels):
    hits = 0
    for start in range(0, len(encoded), 100):
        logits = model.label_logits(padded(encoded[start : start + 100]))
        hits += int((logits.argmax(-1) == torch.tensor(labels[start : start + 100])).sum())
    return hits / len(encoded)


def save(model, tokenizer, folder):
    """One file of weights, a configuration for each head, the tokenizer."""
    tied = ("cls.predictions.decoder.weight", "cls.predictions.decoder.bias")
    tensors = {name: value.contiguous() for name, value in model.state_dict().items() if name not in tied}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    config = copy.deepcopy(model.config)
    config.dtype = torch.float16
    for part, architecture in (("", "BertForMaskedLM"), ("sentiment", "BertForSequenceClassification")):
        config.architectures = [architecture]
        if part:
            config.id2label, config.label2id = {0: "negative", 1: "positive"}, {"negative": 0, "positive": 1}
        config.save_pretrained(folder / part)
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": CONTEXT}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    options = arguments(__doc__, batch=256, lr=3e-3)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    sentences, train, test = read_sentences(options.data)
    tokenizer = load_tokenizer(options.out, sentences + [text for text, _ in train])
    encoded = [encoding.ids[:CONTEXT] for encoding in tokenizer.encode_batch(sentences)]
    held_out, encoded = encoded[::100], [ids for i, ids in enumerate(encoded) if i % 100]
    labelled = [(tokenizer.encode(text).ids[:CONTEXT], label) for text, label in train]
    test_ids, test_labels = [tokenizer.encode(text).ids[:CONTEXT] for text, _ in test], [label for _, label in test]
    # Reviews are few, long, and full of words found nowhere else.
    encoded += [ids for ids, _ in labelled] * REVIEW_COPIES
    print(f"{len(encoded)} sentences, {len(held_out)} held out, {len(test)} reviews held out", flush=True)

    config = BertConfig(
        vocab_size=VOCABULARY, hidden_size=192, num_hidden_layers=6, num_attention_heads=6,
        intermediate_size=768, max_position_embeddings=CONTEXT, pad_token_id=PAD,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    model = TwoHeads(config)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    columns = ["heldout_loss", "review_loss", "review_accuracy"]
    run = Run(model, options, weight_decay=0.05, columns=columns, muon=True)

    def loss_of_step(step):
        rng = np.random.default_rng((options.seed, step))
        # Neighbours in length among a random pool: little padding, and any sentence with any other.
        pool = sorted(rng.integers(0, len(encoded), POOL), key=lambda i: len(encoded[i]))
        start = rng.integers(0, POOL - options.batch)
        rows = [encoded[i] for i in pool[start : start + options.batch]]
        # As many tokens in every step: long sentences come in smaller batches.
        rows = rows[: max(16, TOKENS // len(rows[-1]))]
        ids, labels = masked(rng, padded(rows), MASKED_SHARE)
        with forward_context(options):
            loss = masked_loss(model, ids, labels)
            if run.progress() >= LABELS_FROM and step % 2:
                loss = loss + label_loss(rng)
        return loss

    def label_loss(rng):
        chosen = [labelled[i] for i in rng.integers(0, len(labelled), LABELLED_BATCH)]
        # Some words hidden: the head may not rest on a single one.
        ids, _ = masked(rng, padded([ids for ids, _ in chosen]), HIDDEN_SHARE)
        return F.cross_entropy(model.label_logits(ids).float(), torch.tensor([label for _, label in chosen]))

    rng = np.random.default_rng(options.seed)
    held_out = [masked(rng, padded(held_out[i : i + 64]), MASKED_SHARE) for i in range(0, len(held_out), 64)]

    def evaluate(final):
        model.eval()
        chosen = held_out[:2] if options.quick else held_out
        some = slice(0, 200) if options.quick else slice(None)
        with torch.no_grad():
            losses = [masked_loss(model, ids, labels).item() for ids, labels in chosen]
            logits = torch.cat([model.label_logits(padded([ids])) for ids in test_ids[some][::7]])
            review_loss = F.cross_entropy(logits, torch.tensor(test_labels[some][::7])).item()
            measured = accuracy(model, test_ids[some], test_labels[some])
        model.train()
        return {
            "heldout_loss": sum(losses) / len(losses), "review_loss": review_loss, "review_accuracy": measured,
        }  # fmt: skip

    run.train(loss_of_step, evaluate, lambda half, folder: save(half, tokenizer, folder))


if __name__ == "__main__":
    main()
