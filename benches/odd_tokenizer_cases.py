"""The cases of `odd_tokenizers.py`: a vocabulary, the files beside it, and what they say that published checkpoints
rarely say."""

import io
import json
import random
from dataclasses import dataclass, field
from functools import cache

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

WORDS = (
    "the quick brown fox jumps over lazy dog Hello world! It's 2023 650841823 naïve café don't we'll cat sat on mat, "
    "ran in park; new models open old files. Crème brûlée, Ärger, 北京 大学 été (parentheses) under_score 3.14 don't"
).split()

TEXTS = [
    "the cat sat on the mat.",
    "The Cat, the DOG: it's 2023!",
    " leading space and trailing ",
    "two  spaces   three\tand a tab\nand a line\r\nend",
    "naïve café CRÈME Ångström e\u0301",
    "北京大学 and 東京 한국어",
    "👍🏽 🙂 x",
    "zero\u200bwidth \u00a0no-break \u0007bell \ufeffbom \u00adsoft",
    "don't we'll they've",
    "ﬁne Ａ½ ΣΊΣΥΦΟΣ İ",
    "<s>the cat</s><s> the dog</s>",
    "the [MASK] and [CLS] [SEP] or <mask> <pad> [UNK] <unk>",
    "a<|endoftext|>b <|startoftext|> <bos>x <eos>",
    "▁already ▁▁escaped _under",
    "under_score ``quotes'' 1,000,000 9, !!!",
    "the cat</s>",
    "dog<new>cat <ent> the dog",
    "qwertyuiop zzz",
    "x",
]
PAIRS = [("the cat sat", "on the mat"), ("<s>the", " dog</s>")]


@dataclass
class Case:
    name: str
    # Files of the folder: text, bytes, or what JSON is made of.
    files: dict
    texts: list = field(default_factory=lambda: TEXTS)
    pairs: list = field(default_factory=lambda: PAIRS)
    # Words that a sentence of `attnscope check` must have.
    said: tuple = ()
    # Another tokenizer than transformers makes of it, which is named.
    named: bool = False
    # What transformers raises on.
    refused: bool = False


CASES: list[Case] = []


def corpus():
    dice = random.Random(1)
    return [" ".join(dice.choice(WORDS) for _ in range(12)) for _ in range(400)]


def as_json(tokenizer):
    return json.loads(tokenizer.to_str())


BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@cache
def _word_piece(special=tuple(BERT_SPECIAL), lowercase=True):
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer, t.pre_tokenizer = normalizers.BertNormalizer(lowercase=lowercase), pre_tokenizers.BertPreTokenizer()
    t.decoder = decoders.WordPiece()
    t.train_from_iterator(corpus(), trainers.WordPieceTrainer(vocab_size=400, special_tokens=list(special), show_progress=False))
    cls, sep = ("[CLS]", "[SEP]") if "[CLS]" in special else ("<s>", "</s>")
    ids = [(token, t.token_to_id(token)) for token in (cls, sep)]
    t.post_processor = processors.TemplateProcessing(
        single=f"{cls}:0 $A:0 {sep}:0", pair=f"{cls}:0 $A:0 {sep}:0 $B:1 {sep}:1", special_tokens=ids
    )
    return t.to_str()


def word_piece(*options, **changes):
    return json.loads(_word_piece(*options)) | changes


@cache
def _byte_level(special=("<|endoftext|>",), suffix=""):
    ending = {"end_of_word_suffix": suffix} if suffix else {}
    t = Tokenizer(models.BPE(**ending, **({"unk_token": "<|endoftext|>"} if suffix else {})))
    t.pre_tokenizer, t.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    t.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=620 if suffix else 420, special_tokens=list(special), show_progress=False, initial_alphabet=alphabet,
        **ending,
    ))  # fmt: skip
    if suffix:
        # Every letter at the end of a word, too.
        j = json.loads(t.to_str())
        vocab = j["model"]["vocab"]
        for letter in alphabet:
            vocab.setdefault(letter + suffix, len(vocab))
        return json.dumps(j)
    return t.to_str()


def byte_level(*options, **changes):
    return json.loads(_byte_level(*options)) | changes


@cache
def _metaspace(special=("<unk>", "<s>", "</s>"), n_vocab=520):
    t = Tokenizer(models.BPE(unk_token=special[0], byte_fallback=True, fuse_unk=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    t.train_from_iterator(corpus(), trainers.BpeTrainer(vocab_size=n_vocab, special_tokens=[*special, *bytes_], show_progress=False))
    j = json.loads(t.to_str())
    j["added_tokens"] = [a for a in j["added_tokens"] if a["content"] in special]
    j["pre_tokenizer"] = None
    j["decoder"] = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    bos = "<s>" if "<s>" in special else "<bos>"
    begin = {"SpecialToken": {"id": bos, "type_id": 0}}
    part = lambda name, i: {"Sequence": {"id": name, "type_id": i}}
    j["post_processor"] = {"type": "TemplateProcessing", "single": [begin, part("A", 0)], "pair": [begin, part("A", 0), begin, part("B", 1)],
                           "special_tokens": {bos: {"id": bos, "ids": [j["model"]["vocab"][bos]], "tokens": [bos]}}}
    return json.dumps(j)


def metaspace(older=False, special=("<unk>", "<s>", "</s>"), **changes):
    j = json.loads(_metaspace(special))
    if not older:
        j["normalizer"] = None
        j["pre_tokenizer"] = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
    return j | changes


@cache
def _unigram(special):
    t = Tokenizer(models.Unigram())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(" {2,}", " ")])
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    t.decoder = decoders.Metaspace()
    unk = next(token for token in special if "unk" in token.lower())
    t.train_from_iterator(corpus(), trainers.UnigramTrainer(vocab_size=300, special_tokens=list(special), unk_token=unk, show_progress=False))
    return t.to_str()


def unigram(special, **changes):
    j = json.loads(_unigram(tuple(special)))
    return j | changes


@cache
def rules():
    """Compiled rules of SentencePiece, as they stand in a normaliser."""
    import base64
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    proto = ModelProto.FromString(spm())
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()}


@cache
def spm(**options):
    import sentencepiece

    out = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(corpus()), model_writer=out, hard_vocab_limit=False, minloglevel=5,
        **({"vocab_size": 300, "model_type": "unigram"} | options),
    )  # fmt: skip
    return out.getvalue()


def n_pieces(model):
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

    return len(ModelProto.FromString(model).pieces)


def vocab_txt(tokenizer):
    vocab = tokenizer["model"]["vocab"]
    return "".join(f"{token}\n" for token in sorted(vocab, key=vocab.get))


def vocab_and_merges(tokenizer):
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in tokenizer["model"]["merges"]]
    return {"vocab.json": tokenizer["model"]["vocab"], "merges.txt": "#version: 0.2\n" + "\n".join(merges) + "\n"}


def case(name, model_type, tokenizer=None, settings=None, files=None, config=None, **options):
    """Adds a case: `tokenizer` is the `tokenizer.json`, `settings` the `tokenizer_config.json`."""
    if any(case.name == name for case in CASES):
        raise ValueError(f"two cases are called {name}")
    found = dict(files or {})
    if tokenizer is not None:
        found["tokenizer.json"] = tokenizer
    if settings is not None:
        found["tokenizer_config.json"] = settings
    found["config.json"] = {"model_type": model_type} | (config or {})
    CASES.append(Case(name, found, **options))


def added(content, special=False, **flags):
    return dict(content=content, lstrip=False, rstrip=False, normalized=not special, single_word=False, special=special) | flags


def typed(content, **flags):
    return added(content, **flags) | {"__type": "AddedToken"}


def model(tokenizer, **changes):
    """The same tokenizer with other settings of its model."""
    return tokenizer | {"model": tokenizer["model"] | changes}


BERT = dict(tokenizer_class="BertTokenizer")
LLAMA = dict(tokenizer_class="LlamaTokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>")
GPT2 = dict(tokenizer_class="GPT2Tokenizer")
DISAGREE = ("do not agree",)

# BERT and its relatives.
case("bert", "bert", word_piece(), BERT | {"do_lower_case": True})
case("bert: no settings", "bert", word_piece())
case("bert: Fast", "bert", word_piece(), dict(tokenizer_class="BertTokenizerFast"))
case("bert: cased", "bert", word_piece(), BERT | {"do_lower_case": False}, said=DISAGREE)
case("bert: cased file, silent class", "bert", word_piece(tuple(BERT_SPECIAL), False), BERT, said=DISAGREE)
case("bert: accents kept", "bert", word_piece(), BERT | {"strip_accents": False}, said=DISAGREE)
case("bert: accents stripped although cased", "bert", word_piece(), BERT | {"strip_accents": True, "do_lower_case": False})
case("bert: Chinese kept together", "bert", word_piece(), BERT | {"tokenize_chinese_chars": False})
case("bert: do_basic_tokenize = false", "bert", word_piece(), BERT | {"do_basic_tokenize": False}, said=("do_basic_tokenize",))
case("bert: never_split", "bert", word_piece(), BERT | {"never_split": ["Cat"]}, said=("never_split",))
case("bert: generic class", "bert", word_piece(), dict(tokenizer_class="PreTrainedTokenizerFast", do_lower_case=False))
case("bert: generic class without processor", "bert", word_piece(post_processor=None), dict(tokenizer_class="PreTrainedTokenizerFast"))
case("bert: no processor", "bert", word_piece(post_processor=None), BERT, said=DISAGREE)
case("bert: words at spaces", "bert", word_piece(pre_tokenizer={"type": "WhitespaceSplit"}), BERT, said=DISAGREE)
case("bert: short words", "bert", model(word_piece(), max_input_chars_per_word=4), BERT, said=DISAGREE)
case("bert: split_special_tokens", "bert", word_piece(), BERT | {"split_special_tokens": True})
case("bert: model_max_length, sides, cleaning", "bert", word_piece(), BERT | dict(model_max_length=4, padding_side="left", truncation_side="left", clean_up_tokenization_spaces=True, chat_template="{{ x }}"))
case("bert: additional tokens", "bert", word_piece(), BERT | dict(additional_special_tokens=["cat", "<ent>"]))
case("bert: extra tokens by name", "bert", word_piece(), BERT | dict(extra_special_tokens={"image_token": "dog"}))
case("bert: extra tokens beside additional ones", "bert", word_piece(), BERT | dict(extra_special_tokens=["dog"], additional_special_tokens=["cat"]))
case("bert: a token with a name of its own", "bert", word_piece(), BERT | dict(image_token="cat", audio_token=typed("dog", special=True)))
case("bert: added tokens in the settings", "bert", word_piece(), BERT | dict(added_tokens_decoder={
    "0": added("[PAD]", True), "1": added("[UNK]", True), "2": added("[CLS]", True), "3": added("[SEP]", True), "4": added("[MASK]", True, lstrip=True),
    "400": added("<new>"), "401": added("cat", single_word=True), "402": added("DOG", normalized=True, rstrip=True)}))
case("bert: added tokens with gaps", "bert", word_piece(), BERT | dict(added_tokens_decoder={"900": added("<new>", True), "700": added("<ent>", True)}), said=("declare",))
case("bert: added_tokens.json", "bert", word_piece(), BERT, files={"added_tokens.json": {"<new>": 400, "mat": 401}})
case("bert: special_tokens_map.json goes over the settings", "bert", word_piece(), BERT | dict(unk_token="[UNK]", sep_token="[SEP]"),
     files={"special_tokens_map.json": {"sep_token": "[PAD]", "mask_token": added("[MASK]", lstrip=True), "additional_special_tokens": ["dog"]}})  # fmt: skip
case("bert: special_tokens_map.json does not count beside added tokens", "bert", word_piece(), BERT | dict(added_tokens_decoder={"4": added("[MASK]", True)}),
     files={"special_tokens_map.json": {"sep_token": "[PAD]"}})  # fmt: skip
case("bert: own special tokens", "bert", word_piece(), BERT | dict(cls_token="the", sep_token="cat", unk_token="dog"))
case("bert: a missing special token", "bert", word_piece(tuple(BERT_SPECIAL[:4])), BERT)
case("bert: vocab.txt", "bert", None, None, files={"vocab.txt": vocab_txt(word_piece())})
case("bert: vocab.txt, cased, Chinese together", "bert", None, BERT | dict(do_lower_case=False, tokenize_chinese_chars=False), files={"vocab.txt": vocab_txt(word_piece())})
case("bert: vocab.txt, added tokens", "bert", None, BERT | dict(added_tokens_decoder={"400": added("<new>"), "401": added("<ent>", True, lstrip=True)}), files={"vocab.txt": vocab_txt(word_piece())})
case("bert: unknown class", "bert", word_piece(), dict(tokenizer_class="KoBertTokenizer", do_lower_case=False), said=("KoBertTokenizer", "do_lower_case"))
case("bert: ConvBERT's class", "bert", word_piece(tuple(BERT_SPECIAL), False), dict(tokenizer_class="ConvBertTokenizer", do_lower_case=True))
case("bert: model_input_names", "bert", word_piece(), BERT | dict(model_input_names=["input_ids"]))
case("bert: lower case as a number", "bert", word_piece(), BERT | dict(do_lower_case="yes"), said=("do_lower_case",), refused=True)
case("distilbert", "distilbert", word_piece(), dict(tokenizer_class="DistilBertTokenizer", do_lower_case=False))
case("distilbert: no class", "distilbert", word_piece(tuple(BERT_SPECIAL), False), dict(do_lower_case=True))
case("electra", "electra", word_piece(), dict(tokenizer_class="ElectraTokenizerFast", strip_accents=False))
case("mpnet", "mpnet", word_piece((*ROBERTA_SPECIAL, "[UNK]")), dict(tokenizer_class="MPNetTokenizer"), said=DISAGREE)
case("mpnet: vocab.txt", "mpnet", None, dict(do_lower_case=False, mask_token="<mask>"), files={"vocab.txt": vocab_txt(word_piece((*ROBERTA_SPECIAL, "[UNK]")))})
case("modernbert", "modernbert", byte_level(tuple(BERT_SPECIAL)), dict(tokenizer_class="PreTrainedTokenizerFast", cls_token="[CLS]"))
case("modernbert: a class that does not count", "modernbert", byte_level(tuple(BERT_SPECIAL), normalizer={"type": "NFKC"}), dict(tokenizer_class="RobertaTokenizer", add_prefix_space=True))

# RoBERTa and its relatives.
roberta = lambda **changes: byte_level(tuple(ROBERTA_SPECIAL), **changes)  # noqa: E731
case("roberta: no processor", "roberta", roberta(), dict(tokenizer_class="RobertaTokenizer"), said=DISAGREE)
case("roberta: prefix", "roberta", roberta(), dict(tokenizer_class="RobertaTokenizer", add_prefix_space=True), said=DISAGREE)
case("roberta: untrimmed", "roberta", roberta(), dict(tokenizer_class="RobertaTokenizer", trim_offsets=False, add_prefix_space=True))
case("roberta: normaliser", "roberta", roberta(normalizer={"type": "Lowercase"}), None, said=DISAGREE)
case("roberta: mask as text", "roberta", roberta(), dict(mask_token="<mask>", added_tokens_decoder={"0": added("<s>", True)}))
case("roberta: vocab.json", "roberta", None, None, files=vocab_and_merges(roberta()))
case("roberta: vocab.json, prefix", "roberta", None, dict(add_prefix_space=True, mask_token=typed("<mask>", lstrip=True)), files=vocab_and_merges(roberta()))
case("bart", "bart", roberta(), dict(tokenizer_class="BartTokenizer", cls_token="<pad>"))
case("longformer", "longformer", roberta(), dict(tokenizer_class="LongformerTokenizerFast"))
case("led", "led", roberta(), dict(tokenizer_class="LEDTokenizer", additional_special_tokens=["dog"]))

# Byte-level decoders.
part_a, part_b, end = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "<|endoftext|>", "type_id": 0}}
with_ends = byte_level(post_processor={"type": "TemplateProcessing", "single": [part_a, end], "pair": [part_a, part_b],
                                       "special_tokens": {"<|endoftext|>": {"id": "<|endoftext|>", "ids": [0], "tokens": ["<|endoftext|>"]}}})  # fmt: skip
case("gpt2", "gpt2", byte_level(), GPT2)
case("gpt2: normaliser", "gpt2", byte_level(normalizer={"type": "NFKC"}), GPT2, said=DISAGREE)
case("gpt2: prefix", "gpt2", byte_level(), GPT2 | dict(add_prefix_space=True), said=DISAGREE)
case("gpt2: prefix of the file alone", "gpt2", byte_level(pre_tokenizer={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}), GPT2, said=DISAGREE)
case("gpt2: add_bos_token beside the file", "gpt2", byte_level(), GPT2 | dict(add_bos_token=True), said=("add_bos_token",))
case("gpt2: end baked in", "gpt2", with_ends, GPT2)
case("gpt2: ignore_merges", "gpt2", model(byte_level(), ignore_merges=True), GPT2, said=DISAGREE)
case("gpt2: vocab.json", "gpt2", None, None, files=vocab_and_merges(byte_level()))
case("gpt2: vocab.json, both ends", "gpt2", None, GPT2 | dict(add_bos_token=True, add_eos_token=True, pad_token="<|endoftext|>"), files=vocab_and_merges(byte_level()))
case("gpt2: generic", "gpt2", byte_level(normalizer={"type": "NFKC"}), dict(tokenizer_class="PreTrainedTokenizerFast", add_prefix_space=True))
case("gpt2: LLaMA's class, bytes", "gpt2", byte_level(), dict(tokenizer_class="LlamaTokenizerFast"))
case("gpt_neo", "gpt_neo", byte_level(), dict(tokenizer_class="GPT2TokenizerFast", unk_token="<|endoftext|>", errors="replace"))
case("opt", "opt", byte_level(tuple(ROBERTA_SPECIAL)), GPT2 | dict(bos_token="</s>", eos_token="</s>", unk_token="</s>", pad_token="<pad>", add_bos_token=True), said=("add_bos_token",))
case("opt: vocab.json", "opt", None, GPT2 | dict(bos_token=typed("</s>", normalized=True), add_bos_token=True), files=vocab_and_merges(byte_level(tuple(ROBERTA_SPECIAL))))
case("phi: CodeGen's class", "phi", byte_level(), dict(tokenizer_class="CodeGenTokenizer", add_prefix_space=True))
case("phi: return_token_type_ids", "phi", byte_level(), dict(tokenizer_class="CodeGenTokenizer", return_token_type_ids=False, add_bos_token=False))
case("gpt_neox", "gpt_neox", with_ends, dict(tokenizer_class="GPTNeoXTokenizerFast", add_eos_token=False), said=DISAGREE)
case("gpt_neox: without a class", "gpt_neox", byte_level(), {})
case("gpt_neox: add_eos_token", "gpt_neox", byte_level(), dict(tokenizer_class="GPTNeoXTokenizer", add_eos_token=True), said=("add_eos_token",))
case("gpt_neox: vocab.json, end", "gpt_neox", None, dict(tokenizer_class="GPTNeoXTokenizer", add_eos_token=True), files=vocab_and_merges(byte_level()))
case("bloom", "bloom", byte_level(tuple(ROBERTA_SPECIAL), normalizer={"type": "NFC"}), dict(tokenizer_class="BloomTokenizerFast", add_prefix_space=True))
case("stablelm", "stablelm", byte_level(), dict(tokenizer_class="GPTNeoXTokenizer", add_prefix_space=True))
case("qwen2", "qwen2", byte_level(("<|endoftext|>", "<|im_start|>")), dict(tokenizer_class="Qwen2Tokenizer"), said=DISAGREE)
case("qwen2: another class", "qwen2", byte_level(), dict(tokenizer_class="PreTrainedTokenizerFast", add_prefix_space=True), said=DISAGREE)
case("qwen2: special tokens with spaces", "qwen2", byte_level(), dict(tokenizer_class="Qwen2Tokenizer", additional_special_tokens=[typed("cat", lstrip=True, special=True)]))
case("qwen3: generic class", "qwen3", byte_level(), dict(tokenizer_class="PreTrainedTokenizerFast"))
case("qwen3: vocab.json", "qwen3", None, dict(tokenizer_class="Qwen2TokenizerFast", add_bos_token=True, bos_token="<|endoftext|>"), files=vocab_and_merges(byte_level()))

# CLIP and SigLIP.
clip = lambda **changes: byte_level(("<|startoftext|>", "<|endoftext|>"), "</w>", **changes)  # noqa: E731
case("clip", "clip", clip(), dict(tokenizer_class="CLIPTokenizer"), said=DISAGREE)
case("clip: vocab.json", "clip", None, dict(pad_token="!"), files=vocab_and_merges(clip()))
case("clip: generic class", "clip", clip(), dict(tokenizer_class="PreTrainedTokenizerFast"))
siglip = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1, normalization_rule_name="identity")
case("siglip", "siglip", None, dict(tokenizer_class="SiglipTokenizer"), files={"spiece.model": spm(**siglip)})
case("siglip: cased", "siglip", None, dict(tokenizer_class="SiglipTokenizer", do_lower_case=False, additional_special_tokens=["dog"]), files={"spiece.model": spm(**siglip)})
case("siglip: beside a tokenizer.json", "siglip", unigram(("<pad>", "</s>", "<unk>")), dict(tokenizer_class="SiglipTokenizer"), files={"spiece.model": spm(**siglip)})
case("siglip: described tokens", "siglip", None, dict(tokenizer_class="SiglipTokenizer", additional_special_tokens=["dog"], added_tokens_decoder={"1": added("</s>", True), "5": added("cat", rstrip=True), "9": added("the", True)}), files={"spiece.model": spm(**siglip)})

# LLaMA, Gemma and their relatives.
case("llama", "llama", metaspace(), LLAMA | dict(legacy=False))
case("llama: older file", "llama", metaspace(True), LLAMA, said=DISAGREE)
case("llama: legacy", "llama", metaspace(), LLAMA | dict(legacy=True), said=DISAGREE)
case("llama: no prefix", "llama", metaspace(), LLAMA | dict(add_prefix_space=False), said=DISAGREE)
case("llama: generic class, older file", "llama", metaspace(True), dict(tokenizer_class="PreTrainedTokenizerFast", legacy=False))
case("llama: no class", "llama", metaspace(True), dict(legacy=False))
case("llama: add_bos_token = false", "llama", metaspace(), LLAMA | dict(add_bos_token=False, add_eos_token=True), said=("add_bos_token", "add_eos_token"))
case("llama: split_special_tokens", "llama", metaspace(), LLAMA | dict(split_special_tokens=True))
case("llama: extra tokens", "llama", metaspace(), LLAMA | dict(extra_special_tokens={"image_token": "dog", "other": "cat"}))
case("llama: extra tokens in the older file", "llama", metaspace(), LLAMA, files={"special_tokens_map.json": {"extra_special_tokens": ["dog", {"content": "cat", "lstrip": True}], "pad_token": "<pad>"}})
case("llama: pad token that is new", "llama", metaspace(), LLAMA | dict(pad_token="<pad>"))
case("llama: added tokens in the file", "llama", metaspace(added_tokens=[added("<unk>", True) | {"id": 0}, added("<s>", True) | {"id": 1}, added("</s>", True) | {"id": 2}, added("dog", normalized=True, lstrip=True) | {"id": 900}]), LLAMA)
case("llama: Code Llama's class", "llama", metaspace(), dict(tokenizer_class="CodeLlamaTokenizer"))
case("llama: Code Llama's class, older file", "llama", metaspace(True, post_processor=None), dict(tokenizer_class="CodeLlamaTokenizerFast"), said=DISAGREE)
case("llama: own program", "llama", metaspace(), LLAMA | dict(auto_map={"AutoTokenizer": ["tokenization_x.X", None]}), said=("auto_map",))
case("llama: padding and cutting in the file", "llama", metaspace(truncation={"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}, padding={"strategy": {"Fixed": 20}, "direction": "Left", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<unk>"}), LLAMA)
case("llama: tokenizer.model", "llama", None, LLAMA | dict(add_bos_token=True), files={"tokenizer.model": spm(model_type="bpe", byte_fallback=True, vocab_size=520, normalization_rule_name="identity", remove_extra_whitespaces=False)}, said=("SentencePiece",), named=True)
case("mistral: LLaMA's class does not count", "mistral", metaspace(True), LLAMA)
case("phi3", "phi3", metaspace(True), LLAMA | dict(legacy=False, add_prefix_space=False))
gemma = ("<pad>", "<eos>", "<bos>", "<unk>")
case("gemma", "gemma", metaspace(True, gemma), dict(tokenizer_class="GemmaTokenizer"), said=DISAGREE)
case("gemma3_text: fast class, own mask", "gemma3_text", metaspace(True, gemma), dict(tokenizer_class="GemmaTokenizerFast", mask_token="cat", add_bos_token=True))
case("siglip: Gemma's tokenizer", "siglip", metaspace(True, gemma), dict(tokenizer_class="GemmaTokenizer", padding_side="right"), said=DISAGREE)
case("siglip: Gemma's tokenizer says no side", "siglip", metaspace(True, gemma), dict(tokenizer_class="GemmaTokenizer"), said=DISAGREE)
case("siglip2", "siglip2", metaspace(True, gemma), dict(tokenizer_class="Siglip2Tokenizer", model_input_names=["input_ids"]), said=DISAGREE)
case("siglip2: another mask", "siglip2", metaspace(True, gemma), dict(tokenizer_class="Siglip2Tokenizer", mask_token="cat", add_eos_token=True), said=("attention_mask",))

# Unigram models.
T5 = ("<pad>", "</s>", "<unk>")
case("t5", "t5", unigram(T5), None, said=DISAGREE)
case("t5: rules", "t5", unigram(T5, normalizer=rules()), dict(tokenizer_class="T5Tokenizer", extra_ids=3, legacy=False))
case("t5: additional tokens", "t5", unigram(T5), dict(tokenizer_class="T5TokenizerFast", additional_special_tokens=["dog", "<extra_id_0>"], extra_ids=1))
case("t5: a vocabulary of merges", "t5", metaspace(), dict(tokenizer_class="T5Tokenizer"), said=("scores",), refused=True)
case("mt5: generic class", "mt5", unigram(T5, normalizer={"type": "Lowercase"}), dict(tokenizer_class="PreTrainedTokenizerFast"))
ALBERT = ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
case("albert", "albert", unigram(ALBERT), dict(tokenizer_class="AlbertTokenizer"), said=DISAGREE)
case("albert: cased, accents, no prefix", "albert", unigram(ALBERT, normalizer=rules()), dict(do_lower_case=False, keep_accents=True, add_prefix_space=False))
XLMR = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
case("xlm-roberta", "xlm-roberta", unigram(XLMR), dict(tokenizer_class="XLMRobertaTokenizer"), said=DISAGREE)
case("xlm-roberta: no prefix", "xlm-roberta", unigram(XLMR, normalizer=rules()), dict(tokenizer_class="XLMRobertaTokenizerFast", add_prefix_space=False))
case("xlm-roberta: mask with spaces", "xlm-roberta", unigram(XLMR), dict(mask_token=typed("<mask>", lstrip=True)))
case("camembert", "camembert", unigram(("<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED", "<s>", "</s>", "<mask>")), dict(tokenizer_class="CamembertTokenizer"))
case("camembert: own tokens", "camembert", unigram(("<s>", "<pad>", "</s>", "<unk>", "<mask>")), dict(mask_token="<mask>", additional_special_tokens=["dog"]))
MBART = ("<s>", "<pad>", "</s>", "<unk>", "<mask>", "en_XX", "fr_XX", "de_DE")
case("mbart", "mbart", unigram(MBART), dict(tokenizer_class="MBartTokenizer", src_lang="fr_XX", tgt_lang="de_DE"), said=DISAGREE)
case("mbart50", "mbart", unigram(MBART), dict(tokenizer_class="MBart50Tokenizer", src_lang="de_DE"), said=DISAGREE)
DEBERTA = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
case("deberta-v2", "deberta-v2", unigram(DEBERTA), dict(tokenizer_class="DebertaV2Tokenizer"), said=DISAGREE)
case("deberta-v2: lower case, punctuation, no prefix", "deberta-v2", unigram(DEBERTA), dict(do_lower_case=True, split_by_punct=True, add_prefix_space=False))
case("deberta-v2: rules", "deberta-v2", unigram(DEBERTA, normalizer=rules()), dict(tokenizer_class="DebertaV2TokenizerFast"), said=DISAGREE)
case("marian", "marian", None, dict(tokenizer_class="MarianTokenizer", source_lang="eng", target_lang="fra", model_max_length=8),
     files={"source.spm": spm(), "target.spm": spm(), "vocab.json": {name: i for i, name in enumerate(["</s>", "<unk>", "▁the", "▁cat", "s", "a", "t", "▁", ">>fra<<", "<pad>"])}}, pairs=[])  # fmt: skip
case("marian: beside a tokenizer.json", "marian", unigram(T5), dict(tokenizer_class="MarianTokenizer"),
     files={"source.spm": spm(), "target.spm": spm(), "vocab.json": {name: i for i, name in enumerate(["<pad>", "</s>", "<unk>", "▁the", "▁cat", "s", "a", "t", "▁", ">>fra<<"])}}, pairs=[])  # fmt: skip
NLLB = dict(tokenizer_class="NllbTokenizer")
SOME = ["deu_Latn", "eng_Latn", "fra_Latn"]
BPE = dict(model_type="bpe", vocab_size=400)
PIECES = {"sentencepiece.bpe.model": spm(**BPE)}


def declared(n):
    """Languages behind the pieces, as the files of NLLB declare them."""
    tokens = {str(n + i): added(name, True) for i, name in enumerate(SOME)}
    return tokens | {str(n + len(SOME)): added("<mask>", True, lstrip=True, normalized=True)}


N_BPE = n_pieces(spm(**BPE)) + 1
case("nllb", "m2m_100", None, NLLB | dict(added_tokens_decoder=declared(N_BPE), src_lang="fra_Latn"), files=PIECES)
case("nllb: legacy_behaviour", "m2m_100", None, NLLB | dict(added_tokens_decoder=declared(N_BPE), legacy_behaviour=True), files=PIECES)
case("nllb: languages listed", "m2m_100", None, NLLB | dict(additional_special_tokens=SOME, src_lang="deu_Latn"), files=PIECES, said=("has the id",))
case("nllb: languages in the older file", "m2m_100", None, NLLB, files=PIECES | {"special_tokens_map.json": {"additional_special_tokens": SOME}}, said=("no token for the language",))
case("nllb: no languages", "m2m_100", None, NLLB, files=PIECES, said=("no token for the language eng_Latn",))
case("nllb: a language that it has not", "m2m_100", None, NLLB | dict(extra_special_tokens=SOME, src_lang="Klingon"), files=PIECES, said=("no token for the language Klingon",))
case("nllb: identity", "m2m_100", None, NLLB | dict(extra_special_tokens=SOME), files={"sentencepiece.bpe.model": spm(**BPE, normalization_rule_name="identity")})
case("nllb: symbols of its own", "m2m_100", None, NLLB | dict(extra_special_tokens=["eng_Latn"]), files={"sentencepiece.bpe.model": spm(**BPE, user_defined_symbols="cat,the", control_symbols="<new>")})
case("nllb: symbols of its own count", "m2m_100", None, NLLB, files={"sentencepiece.bpe.model": spm(**BPE, user_defined_symbols="cat,the", control_symbols="<new>")}, said=("no token",))
case("nllb: unigram pieces", "m2m_100", None, NLLB | dict(extra_special_tokens=SOME), files={"sentencepiece.bpe.model": spm()})
case("nllb: other names", "m2m_100", None, NLLB | dict(bos_token="<begin>", pad_token="<fill>", unk_token="dog", extra_special_tokens=SOME), files=PIECES)
case("nllb: split_special_tokens", "m2m_100", None, NLLB | dict(extra_special_tokens=SOME, split_special_tokens=True), files=PIECES)
case("nllb: tokenizer.json", "m2m_100", metaspace(), NLLB | dict(extra_special_tokens=SOME), said=DISAGREE)
case("nllb: tokenizer.json without languages", "m2m_100", metaspace(True, normalizer=rules()), NLLB | dict(src_lang="fra_Latn"), said=DISAGREE)
case("nllb: generic class", "m2m_100", metaspace(True), dict(tokenizer_class="PreTrainedTokenizerFast"))
M2M_VOCAB = {name: i for i, name in enumerate(["<s>", "<pad>", "</s>", "<unk>", "▁the", "▁cat", "s", "a", "t", "▁", "o", "n", "▁m"])}
M2M_FILES = {"sentencepiece.bpe.model": spm(), "vocab.json": M2M_VOCAB}
M2M = dict(tokenizer_class="M2M100Tokenizer")
case("m2m_100", "m2m_100", None, M2M | dict(src_lang="fr", tgt_lang="de"), files=M2M_FILES)
case("m2m_100: no settings", "m2m_100", None, None, files=M2M_FILES)
case("m2m_100: wmt21", "m2m_100", None, M2M | dict(language_codes="wmt21", src_lang="zh"), files=M2M_FILES)
case("m2m_100: languages listed", "m2m_100", None, M2M | dict(additional_special_tokens=["__af__", "__am__"]), files=M2M_FILES)
case("m2m_100: languages in another order", "m2m_100", None, M2M | dict(additional_special_tokens=["__am__", "__af__"], src_lang="am"), files=M2M_FILES)
case("m2m_100: a mask takes the id of a language", "m2m_100", None, M2M | dict(mask_token="<mask>", cls_token="cat"), files=M2M_FILES)
case("m2m_100: declared tokens", "m2m_100", None, M2M | dict(added_tokens_decoder={"300": added("dog"), "301": added("__en__", True, lstrip=True)}), files=M2M_FILES)
case("m2m_100: added_tokens.json", "m2m_100", None, M2M, files=M2M_FILES | {"added_tokens.json": {"<new>": 200}})
case("m2m_100: beside a tokenizer.json", "m2m_100", metaspace(special=("<s>", "<pad>", "</s>", "<unk>")), M2M, files=M2M_FILES)
case("m2m_100: merges", "m2m_100", None, M2M, files=M2M_FILES | PIECES)
case("m2m_100: split_special_tokens", "m2m_100", None, M2M | dict(split_special_tokens=True), files=M2M_FILES)
case("m2m_100: another unknown", "m2m_100", None, M2M | dict(unk_token="o", add_bos_token=True), files=M2M_FILES, said=("add_bos_token",))
case("m2m_100: a tokenizer.json alone", "m2m_100", metaspace(), M2M, said=("M2M100Tokenizer", "does not open it"), refused=True)
PEGASUS_PIECES = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
PEGASUS_FILES = {"spiece.model": spm(**PEGASUS_PIECES)}
PEGASUS = dict(tokenizer_class="PegasusTokenizer")
case("pegasus", "pegasus", None, PEGASUS | dict(mask_token="<mask_2>", mask_token_sent="<mask_1>", offset=103), files=PEGASUS_FILES)
case("pegasus: no settings", "pegasus", None, None, files=PEGASUS_FILES)
case("pegasus: no mask of sentences", "pegasus", None, PEGASUS | dict(mask_token="<mask>", mask_token_sent=None), files=PEGASUS_FILES)
case("pegasus: older file", "pegasus", None, None, files=PEGASUS_FILES | {"special_tokens_map.json": {"mask_token": "<mask>", "unk_token": "<unk>", "additional_special_tokens": ["<mask_1>", "<unk_2>", "dog"]}})
case("pegasus: offset", "pegasus", None, PEGASUS | dict(offset=7), files=PEGASUS_FILES)
case("pegasus: no offset", "pegasus", None, PEGASUS | dict(offset=0), files=PEGASUS_FILES)
case("pegasus: identity", "pegasus", None, PEGASUS, files={"spiece.model": spm(**PEGASUS_PIECES, normalization_rule_name="identity")})
case("pegasus: extra tokens", "pegasus", None, PEGASUS | dict(extra_special_tokens=["dog", "<mask_1>"]), files=PEGASUS_FILES)
case("pegasus: symbols of its own", "pegasus", None, PEGASUS, files={"spiece.model": spm(**PEGASUS_PIECES, user_defined_symbols="cat", control_symbols="<mask_1>")})
case("pegasus: described tokens", "pegasus", None, PEGASUS | dict(added_tokens_decoder={"2": added("<mask_1>", True, rstrip=True), "120": added("dog", lstrip=True)}), files=PEGASUS_FILES)
case("pegasus: other names", "pegasus", None, PEGASUS | dict(pad_token="<fill>", eos_token="<stop>"), files=PEGASUS_FILES)
case("pegasus: tokenizer.json", "pegasus", unigram(("<pad>", "</s>", "<unk>"), normalizer=rules()), PEGASUS, said=DISAGREE)
case("pegasus: generic class", "pegasus", unigram(("<pad>", "</s>", "<unk>"), normalizer={"type": "Lowercase"}), dict(tokenizer_class="PreTrainedTokenizerFast"))
case("encoder-decoder: its encoder's class", "encoder-decoder", word_piece(tuple(BERT_SPECIAL), False), None)
case("vision-encoder-decoder: by the file", "vision-encoder-decoder", byte_level(normalizer={"type": "NFKC"}), None, pairs=[])
case("files for newer versions", "gpt2", byte_level(), dict(tokenizer_class="PreTrainedTokenizerFast", fast_tokenizer_files=["tokenizer.json", "tokenizer.4.0.0.json", "tokenizer.9.0.0.json"]),
     files={"tokenizer.4.0.0.json": byte_level(normalizer={"type": "Lowercase"}), "tokenizer.9.0.0.json": byte_level(normalizer={"type": "NFD"})})  # fmt: skip
