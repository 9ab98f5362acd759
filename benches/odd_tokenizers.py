"""Tokenizers whose files say what published ones rarely say, beside transformers' own classes.

    python benches/odd_tokenizers.py [--attnscope target/release/attnscope] [--only NAME] [--out docs/families.md]

`odd_tokenizer_cases.py` lists them: a vocabulary, the small files beside it, and texts with accents, spaces, emoji,
control characters and special tokens. Each is put beside a tiny model of its `model_type`, opened by
`AutoTokenizer.from_pretrained` and by `attnscope capture`, and compared: ids of every text and pair, and the places of
the tokens where transformers tells them. Per case one verdict:

* equal: all the same, and `attnscope check` says what the case asks for;
* named: other ids, and `attnscope check` says why;
* equal without a reference: transformers cannot open it, and `attnscope check` says what was done instead;
* DIFFERENT: other ids or places, and nothing is said;
* UNSAID: the same ids, but a sentence is missing;
* REFUSED: not opened;
* NO REFERENCE: transformers cannot open it.

Exit status 1 when any verdict is in capitals.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import torch
import transformers
from PIL import Image
from safetensors import safe_open

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "fixtures" / "families"))

from odd_cases import NUMBERS, lively  # noqa: E402
from odd_tokenizer_cases import CASES  # noqa: E402
from shared import write_section  # noqa: E402

N_VOCAB, N_CTX = 1100, 160
LONGEST = 400
TITLE = "## Odd tokenizers"
HEADING = f"""{TITLE}

Written by `python benches/odd_tokenizers.py --out docs/families.md`, which prints the verdict of each.
{{n}} tokenizers whose files say what published ones rarely say (`benches/odd_tokenizer_cases.py`), against `AutoTokenizer` of transformers {{version}} on {{texts}} texts and pairs: {{counts}}.

| `model_type` | tokenizers | equal | named | without a reference |
|---|---|---|---|---|
"""
CLASSES = {
    "bart": "BartForConditionalGeneration", "clip": "CLIPModel", "led": "LEDForConditionalGeneration",
    "m2m_100": "M2M100ForConditionalGeneration", "marian": "MarianMTModel", "mbart": "MBartForConditionalGeneration",
    "mt5": "MT5ForConditionalGeneration", "pegasus": "PegasusForConditionalGeneration", "siglip": "SiglipModel",
    "siglip2": "Siglip2Model", "t5": "T5ForConditionalGeneration",
}  # fmt: skip
SIZES = dict(vocab_size=N_VOCAB, max_position_embeddings=N_CTX, n_positions=N_CTX, max_encoder_position_embeddings=N_CTX,
             max_decoder_position_embeddings=N_CTX, position_embedding_type="absolute", pad_token_id=0)  # fmt: skip
LED = dict(d_model=24, encoder_layers=1, decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=2,
           encoder_ffn_dim=28, decoder_ffn_dim=20, attention_window=4)  # fmt: skip
LONGFORMER = NUMBERS["bert"] | dict(attention_window=4)


PARTS = {
    "encoder-decoder": ("bert", "bert"),
    "vision-encoder-decoder": ("vit", "gpt2"),
}


def pair_of(model_type):
    """An encoder and a decoder of two families."""
    encoder, decoder = (type(transformers.AutoConfig.for_model(part)) for part in PARTS[model_type])
    numbers = [dict(NUMBERS[part]) for part in PARTS[model_type]]
    for part, config in zip(numbers, (encoder, decoder)):
        own = set(config().to_dict())
        part |= {key: value for key, value in SIZES.items() if key in own}
    numbers[1] |= dict(is_decoder=True, add_cross_attention=True)
    text_first = model_type == "encoder-decoder"
    config = transformers.EncoderDecoderConfig if text_first else transformers.VisionEncoderDecoderConfig
    kind = transformers.EncoderDecoderModel if text_first else transformers.VisionEncoderDecoderModel
    config = config.from_encoder_decoder_configs(encoder(**numbers[0]), decoder(**numbers[1]))
    config.pad_token_id, config.decoder_start_token_id = 0, 0
    return lively(kind(config))


def model_of(model_type):
    """A tiny model; text models without a head."""
    if model_type in PARTS:
        return pair_of(model_type)
    config = type(transformers.AutoConfig.for_model(model_type))
    numbers = dict(NUMBERS.get(model_type) or {"led": LED, "longformer": LONGFORMER}[model_type])
    for part in ("text_config", "vision_config"):
        if part in numbers and part == "text_config":
            numbers[part] = numbers[part] | dict(vocab_size=N_VOCAB, max_position_embeddings=N_CTX)
    own = set(config().to_dict())
    numbers |= {key: value for key, value in SIZES.items() if key in own and "text_config" not in numbers}
    config = config(**numbers)
    name = CLASSES.get(model_type)
    torch.manual_seed(1)
    kind = getattr(transformers, name) if name else transformers.AutoModel
    return lively(kind(config) if name else kind.from_config(config))


def make(case, options):
    """Writes the folder of a case: a model, which is made once for each type, and the case's files."""
    model_type = case.files["config.json"]["model_type"]
    whole = options.work / "models" / model_type
    if not whole.exists():
        model_of(model_type).save_pretrained(whole)
    folder = options.work / "case"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(whole, folder)
    (folder / "generation_config.json").unlink(missing_ok=True)
    for name, content in case.files.items():
        if name == "config.json":
            content = json.loads((folder / name).read_text()) | content
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            (folder / name).write_text(text, encoding="utf-8")
    return folder


def run(options, *arguments):
    done = subprocess.run([str(options.attnscope), *map(str, arguments)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def tokens(options, folder, case, texts, pair=None):
    """Of each text a list of (id, special, start, end), or why there is none."""
    out = options.work / "out.safetensors"
    out.unlink(missing_ok=True)
    arguments = ["capture", "--model", folder, "--sites", "resid", "--layers", "0", "--threads", "1", "--out", out]
    model_type = case.files["config.json"]["model_type"]
    if model_type in ("clip", "siglip", "siglip2", "vision-encoder-decoder"):
        arguments += ["--image", options.picture]
    if model_type == "encoder-decoder" or model_type in CLASSES and model_type not in ("clip", "siglip", "siglip2"):
        arguments += ["--target-ids", "0"]
    for text in texts:
        arguments += ["--text", text]
    if pair is not None:
        arguments += ["--text-b", pair]
    status, _, said = run(options, *arguments)
    if status:
        return said
    with safe_open(str(out), "pt") as f:
        metadata = f.metadata()
    found = []
    for key in sorted((key for key in metadata if key.split("/")[-1] == "tokens"), key=lambda key: (len(key), key)):
        sides = json.loads(metadata[key])
        side = next(name for name in ("self", "text", "decoder" if model_type == "vision-encoder-decoder" else "encoder") if name in sides)
        # A decoder reads a start token first.
        found.append(sides[side][1 if side == "decoder" else 0 :])
    return found


def expected(tokenizer, text, pair=None):
    """(ids, places in bytes or `None`)."""
    encoded = tokenizer(text, pair)
    if not tokenizer.is_fast:
        return encoded["input_ids"], None
    whole = tokenizer(text, pair, return_offsets_mapping=True)
    places = []
    for (start, end), part in zip(whole["offset_mapping"], whole.sequence_ids()):
        source = pair if part == 1 else text
        places.append(None if part is None else tuple(len(source[:at].encode()) for at in (start, end)))
    return encoded["input_ids"], places


def difference(found, ids, places, padded):
    """What is not the same, or nothing."""
    if padded is not None:
        n_pad = max(len(found) - len(ids), 0)
        is_pad = [token["id"] == padded for token in found]
        if all(is_pad[:n_pad]):  # by a class that fills up in front
            found = found[n_pad:]
        elif all(is_pad[len(ids) :]):
            found = found[: len(ids)]
    ours = [token["id"] for token in found]
    if ours != ids:
        return f"ids {ours} instead of {ids}"
    for token, place in zip(found, places or ()):
        span = (token["start"], token["end"])
        if place is not None and span != place and not token.get("special"):
            return f"place {span} instead of {place}"
    return None


def verdict(case, options):
    """(kind, details)."""
    folder = make(case, options)
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # whatever it is, the other cases are still worth running
        tokenizer = None
        broken = f"{type(error).__name__}: {error}"[:LONGEST].replace("\n", " ")
    status, report, said = run(options, "check", folder, "--brief", "--threads", "1")
    if status and "laws do not hold" not in said:
        return "REFUSED", said.strip()[:LONGEST]
    report = " ".join(line.strip() for line in report.splitlines() if line.strip().startswith("warning"))
    missing = [word for word in case.said if word not in report]
    if tokenizer is None:
        if not case.refused:
            return "NO REFERENCE", broken
        return ("UNSAID", f"{missing}: {report}") if missing else ("equal without a reference", report[:LONGEST])
    # SigLIP's text tower reads texts that are filled up.
    padded = tokenizer.pad_token_id if case.files["config.json"]["model_type"].startswith("siglip") else None
    different = None
    found = tokens(options, folder, case, case.texts)
    if isinstance(found, str):
        return "REFUSED", found.strip()[:LONGEST]
    for text, ours in zip(case.texts, found):
        different = different or ((why := difference(ours, *expected(tokenizer, text), padded)) and f"{text!r}: {why}")
    pairs = () if case.files["config.json"]["model_type"] in ("clip", "siglip", "siglip2") else case.pairs
    for text, pair in pairs:
        found = tokens(options, folder, case, [text], pair)
        if isinstance(found, str):
            return "REFUSED", found.strip()[:LONGEST]
        why = difference(found[0], *expected(tokenizer, text, pair), padded)
        different = different or (why and f"{(text, pair)}: {why}")
    if missing:
        return "UNSAID", f"{missing} in “{report[:LONGEST]}”; {different or ''}"
    if different:
        return ("named" if case.named else "DIFFERENT"), different[:LONGEST]
    return "equal", report[:LONGEST] if options.verbose else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--verbose", action="store_true", help="what is said of cases that are equal, too")
    parser.add_argument("--out", type=Path, help="write the table to this file")
    options = parser.parse_args()
    options.work = Path(tempfile.mkdtemp(prefix="attnscope-tokenizers-"))
    options.picture = options.work / "picture.png"
    Image.new("RGB", (16, 16), (90, 120, 30)).save(options.picture)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    started, rows, counts = time.perf_counter(), defaultdict(Counter), Counter()
    n_texts = 0
    for case in CASES:
        if options.only not in case.name:
            continue
        kind, details = verdict(case, options)
        counts[kind] += 1
        n_texts += len(case.texts) + len(case.pairs)
        rows[case.files["config.json"]["model_type"]][kind] += 1
        print(f"{case.name:52} {kind:26} {details}", flush=True)
    summary = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    print(f"{sum(counts.values())} tokenizers, {n_texts} texts in {time.perf_counter() - started:.0f} s: {summary}")
    if options.out:
        section = HEADING.format(n=sum(counts.values()), counts=summary, texts=n_texts, version=transformers.__version__)
        for model_type, kinds in sorted(rows.items()):
            equal, named, without = (kinds[kind] for kind in ("equal", "named", "equal without a reference"))
            section += f"| {model_type} | {kinds.total()} | {equal} | {named} | {without} |\n"
        write_section(options.out, TITLE, section)
    shutil.rmtree(options.work)
    return 1 if any(kind.isupper() for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
