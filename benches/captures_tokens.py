"""The cases of `captures.py` about tokens: how they are spelled, which are special, and what words they make."""

import csv
import json
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from captures_cases import TEXT, case, given


def byte_level(style="byte-level"):
    suffix = {"end_of_word_suffix": "</w>"} if style == "word end" else {}
    bpe = Tokenizer(models.BPE(**suffix))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    if style == "word end":
        bpe.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(" ", "removed"), bpe.pre_tokenizer])
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=380,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        **suffix,
    )
    bpe.train_from_iterator([TEXT] * 9, trainer)
    bpe.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return hf.PreTrainedTokenizerFast(tokenizer_object=bpe, bos_token="<s>", eos_token="</s>", pad_token="<pad>")


def word_piece():
    wp = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    wp.normalizer = normalizers.BertNormalizer(strip_accents=True)
    wp.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    wp.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    wp.train_from_iterator(
        ["The nurse wrote it do the pat"] * 9,
        trainers.WordPieceTrainer(vocab_size=60, special_tokens=special, show_progress=False),
    )
    wp.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=wp,
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        pad_token="[PAD]",
        mask_token="[MASK]",
    )


def sentence_piece():
    sp = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    sp.pre_tokenizer = pre_tokenizers.Metaspace()
    sp.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    sp.train_from_iterator(
        ["The nurse wrote it down and the patient's too."] * 9,
        trainers.BpeTrainer(vocab_size=340, special_tokens=["<unk>", "<s>", "</s>", *fallback], show_progress=False),
    )
    return hf.PreTrainedTokenizerFast(tokenizer_object=sp, unk_token="<unk>", bos_token="<s>", eos_token="</s>")


def random_patterns(n, seed=0):
    scores = np.random.default_rng(seed).normal(size=(2, 2, n, n))
    weights = np.exp(scores)
    return (weights / weights.sum(-1, keepdims=True)).astype(np.float32)


def tokens_case(name, make, labels, give, drawn=(), text=TEXT):
    """Tokens of a tokenizer, drawn as words or without special tokens; `labels` are the program's for its own models."""

    def function():
        tokenizer = make()
        ids = tokenizer(text).input_ids
        args, options = give(tokenizer, ids)
        found = given(random_patterns(len(ids)), *args, **options, patterns={"self": []}, labels=labels)
        return {**found, "drawn": drawn}

    function.__name__ = name
    case()(function)


def as_texts(tokenizer, ids):
    return (tokenizer.convert_ids_to_tokens(ids),), {}


def as_ids(tokenizer, ids):
    return (ids,), {"tokenizer": tokenizer}


def as_tensor(tokenizer, ids):
    return (torch.tensor([ids]),), {"tokenizer": tokenizer.backend_tokenizer}


def as_texts_with_tokenizer(tokenizer, ids):
    return (tokenizer.convert_ids_to_tokens(ids),), {"tokenizer": tokenizer}


WORDS = [
    "The",
    "nurse",
    "wrote",
    "it",
    "down",
    "and",
    "the",
    "patient's",
    "café",
    "was",
    "closed",
    ",",
    "今天",
    "too",
    ".",
]
SHORT = ["The", "nurse", "wrote", "it", "down", "and", "the", "patient's", "too."]
for nth, give in enumerate((as_texts, as_ids, as_tensor, as_texts_with_tokenizer)):
    tokens_case(f"byte-level words, given {nth}", byte_level, ["<s>", *WORDS, "</s>"], give, ("--words",))
    tokens_case(f"byte-level without special, given {nth}", byte_level, WORDS, give, ("--words", "--hide", "special"))
    tokens_case(
        f"SentencePiece words, given {nth}",
        sentence_piece,
        SHORT,
        give,
        ("--words",),
        "The nurse wrote it down and the patient's too.",
    )


CLIP = ["<s>", *WORDS[:7], "patient", "'s", *WORDS[8:], "</s>"]
tokens_case("word ends, texts alone", lambda: byte_level("word end"), CLIP, as_texts, ("--words",))
tokens_case("word ends, with tokenizer", lambda: byte_level("word end"), CLIP, as_ids, ("--words",))
BERT = ["[CLS]", "the", "nurse", "wrote", "[SEP]"]
tokens_case("WordPiece, texts alone", word_piece, BERT, as_texts, ("--words",), "The nurse wrote")
tokens_case(
    "WordPiece, without special", word_piece, BERT[1:-1], as_ids, ("--words", "--hide", "special"), "The nurse wrote"
)


def like_the_model(model, text, give):
    """Words of a capture, and those that the program makes of the same text with the model itself."""

    def function():
        folder = Path(__file__).resolve().parent.parent / "assets/models" / model
        tokenizer = hf.PreTrainedTokenizerFast.from_pretrained(folder)
        with tempfile.TemporaryDirectory() as made:
            out = Path(made) / "words.csv"
            program = [os.environ["ATTNSCOPE_BINARY"], "render", "heatmap", "--model", f"demo:{model}", "--text", text]
            subprocess.run([*program, "--words", "--data", out], check=True, capture_output=True)
            rows = list(csv.DictReader(out.open(encoding="utf-8", newline="")))
        labels = [row["key_text"] for row in rows if row["query"] == rows[-1]["query"]]
        ids = tokenizer(text).input_ids
        args, options = give(tokenizer, ids)
        options = {**options, "text": text}
        return {
            **given(random_patterns(len(ids)), *args, **options, patterns={"self": []}, labels=labels),
            "drawn": ("--words",),
        }

    function.__name__ = f"like demo:{model}, {give.__name__}, {text[:12]!r}"
    case()(function)


SAID = "The animal didn't cross the street, because it's too tired (or well-fed). Naïve café!"
for give in (as_ids, as_texts_with_tokenizer):
    like_the_model("gpt", SAID, give)
    like_the_model("bert", SAID, give)
    like_the_model("bert", "unbelievable", give)
like_the_model("gpt", SAID, as_texts)
like_the_model("gpt", "x = 1\n  ### heading — 今天", as_texts)


def file_case(name, write, patterns, labels, drawn=()):
    def function():
        path = Path(tempfile.mkdtemp()) / name
        write(path)
        return {"file": path, "patterns": {"self": patterns}, "labels": labels, "drawn": drawn}

    function.__name__ = f"file {name}"
    case()(function)


FIVE = random_patterns(5)
SPECIAL = ["[CLS]", "the", "cat", "[SEP]", "[PAD]"]
BYTES = ["a", "Ġca", "f", "Ã©", "Ġtoo"]


def save_tensors(path, metadata):
    from safetensors.numpy import save_file

    save_file(
        {f"self.{at}.pattern": layer for at, layer in enumerate(FIVE)},
        path,
        metadata={key: json.dumps(it) for key, it in metadata.items()},
    )


file_case(
    "bare.safetensors",
    lambda path: save_tensors(path, {"tokens": {"self": SPECIAL}}),
    [],
    ["the", "cat"],
    ("--hide", "special"),
)
file_case(
    "bytes.safetensors",
    lambda path: save_tensors(path, {"tokens": {"self": BYTES}}),
    [],
    ["a", "café", "too"],
    ("--words",),
)
file_case(
    "asis.safetensors", lambda path: save_tensors(path, {"tokens": {"self": BYTES}, "token_style": "as is"}), [], BYTES
)
file_case(
    "maltese.safetensors",
    lambda path: save_tensors(path, {"tokens": {"self": ["Ġorġ", "jaf", "li", "Ġanni", "ħabib"]}}),
    [],
    ["Ġorġ", "jaf", "li", "Ġanni", "ħabib"],
    ("--words",),
)
file_case(
    "lists.json",
    lambda path: path.write_text(json.dumps({"attentions": FIVE.tolist(), "tokens": BYTES})),
    FIVE,
    ["a", "␣ca", "f", "é", "␣too"],
)
file_case(
    "special.json",
    lambda path: path.write_text(json.dumps({"attentions": FIVE.tolist(), "tokens": SPECIAL})),
    [],
    ["the", "cat"],
    ("--hide", "special"),
)
PRETTY = ["a", " ca", "f", "Ã©", " too"]


def page(path, view, **more):
    """The data of a page that BertViz wrote."""
    texts = {"left_text": PRETTY, "right_text": PRETTY}
    path.write_text(json.dumps({"attention": view({"name": None, "attn": FIVE.tolist(), **texts}), **more}))


READ = ["a", "␣ca", "f", "é", "␣too"]
file_case("page.json", lambda path: page(path, lambda view: [view]), FIVE, READ)
file_case(
    "layers 2 and 4.json",
    lambda path: page(path, lambda view: [view], include_layers=[2, 4]),
    [None, None, FIVE[0], None, FIVE[1]],
    READ,
    ("--layer", "2"),
)
file_case(
    "neurons.json",
    lambda path: page(path, lambda view: {"all": {**view, "queries": np.ones((2, 2, 5, 3)).tolist()}}),
    FIVE,
    READ,
)
file_case(
    "arrays.npz",
    lambda path: np.savez(path, attentions=FIVE, tokens=np.array(BYTES)),
    FIVE,
    ["a", "␣ca", "f", "é", "␣too"],
)
file_case(
    "asis.npz",
    lambda path: np.savez(path, attentions=FIVE, tokens=np.array(BYTES), token_style=np.array("as is")),
    FIVE,
    BYTES,
)
