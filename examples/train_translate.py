"""Trains the bundled translator `demo:translate`: a small Marian model, English to German and French.

    python examples/train_translate.py --data DATA --out RUN --steps 14600

DATA/parallel holds `deu.txt` and `fra.txt` (Tatoeba through manythings.org/anki, CC BY 2.0), an
English sentence, a tab and a translation a line. RUN/model becomes an ordinary checkpoint. Run the
same command again to resume. Needs torch, transformers, tokenizers and sacrebleu.

One model writes both languages: the source starts with `>>deu<<` or `>>fra<<`, as in the multilingual
OPUS-MT models. Every hundredth English sentence is held out with all its translations, in both
languages, whatever their number; BLEU counts all of them as references. `phrases.py` adds sentences of
two kinds that Tatoeba has too few of.
"""

import json
import math
import re
import unicodedata
import zlib
from collections import defaultdict

import numpy as np
import sacrebleu
import torch
import torch.nn.functional as F
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import MarianConfig, MarianMTModel

from phrases import Phrases
from recipe import Run, arguments, forward_context

LANGUAGES = {"deu": ">>deu<<", "fra": ">>fra<<"}
PAD, END, UNKNOWN = 0, 1, 2
SPECIAL = ["<pad>", "</s>", "<unk>", *LANGUAGES.values()]
VOCABULARY, CONTEXT, MAX_WORDS = 6000, 64, 14
# Written phrases, in each language.
PHRASES = 12_000
HELD_OUT_EVERY = 100
# Pairs of similar length share a batch; so many are sorted at a time, to keep batches varied.
POOL = 8192
# Share of the pairs that are read without their full stops.
WITHOUT_STOP = 0.25
IGNORE = -100


def normalise(text):
    """One form of spaces and accents: French puts three kinds of space before its punctuation."""
    text = unicodedata.normalize("NFKC", text)
    return re.sub(r"\s+", " ", re.sub("[\u00ad\u200b]", "", text)).strip()


def is_held_out(source):
    return zlib.crc32(source.encode()) % HELD_OUT_EVERY == 0


def read_pairs(data):
    """Pairs of (tagged source, target) to train on, and held-out references by tagged source."""
    train, held_out = [], defaultdict(list)
    for language, tag in LANGUAGES.items():
        for line in (data / "parallel" / f"{language}.txt").read_text(encoding="utf-8").splitlines():
            source, target = (normalise(part) for part in line.split("\t")[:2])
            if max(len(source.split()), len(target.split())) > MAX_WORDS:
                continue
            if is_held_out(source):
                held_out[f"{tag} {source}"].append(target)
            else:
                train.append((f"{tag} {source}", target))
    return train, held_out


def load_tokenizer(out, pairs):
    """The tokenizer of an earlier start, or a new BPE over words that keep their leading space."""
    file = out / "tokenizer.json"
    if file.exists():
        return Tokenizer.from_file(str(file))
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    # Punctuation apart from words, so that a word aligns the same at the end of a sentence.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Metaspace(), pre_tokenizers.Punctuation("isolated")]
    )
    tokenizer.decoder = decoders.Metaspace()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=SPECIAL, min_frequency=3, show_progress=False)
    texts = {source.split(" ", 1)[1] for source, _ in pairs} | {target for _, target in pairs}
    tokenizer.train_from_iterator(sorted(texts), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(file))
    return tokenizer


class Batches:
    """Batches of pairs as a function of seed and step.

    With `stop`, the token of a full stop, a share of the pairs that end with one lose it: people type
    without, and almost every sentence of the data has one.
    """

    def __init__(self, pairs, tokens, seed, stop=None):
        self.pairs, self.tokens, self.seed, self.stop = pairs, tokens, seed, stop
        self.first_step, self.epoch, self.plan = 0, -1, []

    def plan_of(self, epoch):
        """Lists of pair indices, each of at most `tokens` padded source or target tokens."""
        rng = np.random.default_rng((self.seed, epoch))
        order, plan = rng.permutation(len(self.pairs)), []
        for start in range(0, len(order), POOL):
            pool = sorted(order[start : start + POOL], key=lambda i: (len(self.pairs[i][1]), len(self.pairs[i][0])))
            chosen, width = [], 0
            for index in pool:
                width = max(width, *(len(ids) for ids in self.pairs[index]))
                if chosen and width * (len(chosen) + 1) > self.tokens:
                    plan.append(chosen)
                    chosen, width = [], max(len(ids) for ids in self.pairs[index])
                chosen.append(index)
            plan.append(chosen)
        return [plan[i] for i in rng.permutation(len(plan))]

    def __getitem__(self, step):
        while step >= self.first_step + len(self.plan):
            self.first_step += len(self.plan)
            self.epoch += 1
            self.plan = self.plan_of(self.epoch)
        pairs = [self.pairs[i] for i in self.plan[step - self.first_step]]
        if self.stop is not None:
            losing = np.random.default_rng((self.seed, 1, step)).random(len(pairs)) < WITHOUT_STOP
            pairs = [self.unstopped(pair) if loses else pair for pair, loses in zip(pairs, losing)]
        return collate(pairs)

    def unstopped(self, pair):
        """The pair without full stops, if both sides end with one."""
        if all(ids[-2:] == [self.stop, END] for ids in pair):
            return tuple(ids[:-2] + [END] for ids in pair)
        return pair


def padded(rows, value):
    width = max(map(len, rows))
    return torch.tensor([row + [value] * (width - len(row)) for row in rows])


def collate(pairs):
    """Source, what the decoder reads, and what it should write."""
    source = padded([source for source, _ in pairs], PAD)
    labels = padded([target for _, target in pairs], IGNORE)
    read = padded([[PAD] + target[:-1] for _, target in pairs], PAD)
    return source, read, labels


def save_tokenizer(tokenizer, folder):
    """The tokenizer and its settings, as both kinds of translators have them."""
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONTEXT,
        "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>",
        "additional_special_tokens": list(LANGUAGES.values()),
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def loss_of(model, batch, smoothing=0.0):
    source, read, labels = batch
    logits = model(input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=read).logits
    return F.cross_entropy(
        logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORE, label_smoothing=smoothing
    )


def translate(model, tokenizer, sources):
    """Greedy translations, fifty sentences at a time."""
    written = []
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for start in range(0, len(order), 50):
        ids = padded([tokenizer.encode(sources[i]).ids for i in order[start : start + 50]], PAD)
        with torch.no_grad():
            out = model.generate(
                input_ids=ids, attention_mask=(ids != PAD).long(), max_length=40, do_sample=False, num_beams=1
            )
        written += [tokenizer.decode(row.tolist(), skip_special_tokens=True) for row in out]
    return [text for _, text in sorted(zip(order, written))]


def references_bleu(written, held_out, sources):
    """Corpus BLEU with every held-out translation as a reference."""
    references = [held_out[source] for source in sources]
    most = max(map(len, references))
    # sacrebleu wants as many references for each; repeating one changes nothing.
    columns = [[found[i % len(found)] for found in references] for i in range(most)]
    return sacrebleu.corpus_bleu(written, columns).score


def main():
    options = arguments(__doc__, batch=2048, lr=2e-3)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    pairs, held_out = read_pairs(options.data)
    tokenizer = load_tokenizer(options.out, pairs)
    phrases = Phrases(options.seed).pairs(PHRASES // 50 if options.quick else PHRASES, LANGUAGES)
    pairs += [(source, target) for source, target in phrases if not is_held_out(source.split(" ", 1)[1])]
    sources = tokenizer.encode_batch([source for source, _ in pairs])
    targets = tokenizer.encode_batch([target for _, target in pairs])
    encoded = [(source.ids, target.ids) for source, target in zip(sources, targets)]
    held_out_pairs = [
        (tokenizer.encode(source).ids, tokenizer.encode(target).ids)
        for source, found in held_out.items() for target in found
    ]  # fmt: skip
    print(f"{len(encoded)} pairs, {len(held_out_pairs)} held out", flush=True)

    config = MarianConfig(
        vocab_size=VOCABULARY, d_model=192, encoder_layers=3, decoder_layers=3,
        encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=768, decoder_ffn_dim=768,
        activation_function="relu", dropout=0.0, max_position_embeddings=CONTEXT, scale_embedding=True,
        pad_token_id=PAD, eos_token_id=END, decoder_start_token_id=PAD, forced_eos_token_id=None,
        share_encoder_decoder_embeddings=True, tie_word_embeddings=True, init_std=1 / math.sqrt(192),
        attn_implementation="eager",
    )  # fmt: skip
    model = MarianMTModel(config)
    model.generation_config.max_length = CONTEXT
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.01, columns=["heldout_loss", "bleu_deu", "bleu_fra"])
    batches = Batches(encoded, options.batch, options.seed, tokenizer.token_to_id("."))

    def loss_of_step(step):
        with forward_context(options):
            return loss_of(model, batches[step], smoothing=0.1)

    plan = Batches(held_out_pairs, 4096, 0).plan_of(0)

    def evaluate(final):
        model.eval()
        whole = final and not options.quick
        chosen = plan if whole else plan[::4]
        with torch.no_grad(), forward_context(options):
            losses = [loss_of(model, collate([held_out_pairs[i] for i in batch])).item() for batch in chosen]
        measured = {"heldout_loss": sum(losses) / len(losses)}
        for language, tag in LANGUAGES.items():
            texts = [source for source in held_out if source.startswith(tag)]
            texts = texts if whole else texts[: 20 if options.quick else 150]
            measured[f"bleu_{language}"] = references_bleu(translate(model, tokenizer, texts), held_out, texts)
        model.train()
        return measured

    def export(half, folder):
        half.save_pretrained(folder)
        save_tokenizer(tokenizer, folder)

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
