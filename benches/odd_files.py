"""Odd files, against transformers on PyTorch: the same numbers, a refusal by name, or a word about it.

    python benches/odd_files.py [--attnscope target/release/attnscope] [--only NAME] [--work FOLDER]

`odd_files_cases.py` lists them: pictures and image processors, tied tables, adapters, folders, configurations, paths.
Each is made in a folder of its own and opened by `attnscope capture`. Per case one verdict:

* equal: patterns and logits differ from PyTorch's eager attention in f64 by at most 1e-5 (logits relative to the
  largest), and what must be told is told;
* refused by name: not opened, with one sentence of the words that the case asks for, where nothing can be computed;
* DIFFERENT, SILENT (something must be told and is not), WRONGLY REFUSED, UNCLEAR (refused without the words, in more
  than one line, or too late), NO REFERENCE.

Exit status 1 when any verdict is in capitals. Run by root, the command itself is run by nobody where a case takes the
right to read away.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file
from transformers.image_utils import load_image

ROOT = Path(__file__).resolve().parent.parent

from odd_files_cases import CASES, IDS  # noqa: E402

LIMIT = 1e-5
SECONDS = 120


def run(options, *arguments, as_nobody=False):
    """(exit status, what was said); a hang is a status of its own."""
    try:
        done = subprocess.run([str(options.attnscope), *map(str, arguments)], capture_output=True, text=True,
                              timeout=SECONDS, user="nobody" if as_nobody else None)  # fmt: skip
    except subprocess.TimeoutExpired:
        return 124, "it hangs"
    return done.returncode, done.stderr.strip()


def numbers(case, folder, model):
    """PyTorch's attentions by layer, and its logits where it has some, without its rounding to 32 bits.

    Logits of two sides in f32, 5.0e-6 and 7.1e-6 from these, were 1.2e-5 apart.
    """
    model.double().set_attn_implementation("eager")
    inputs = dict(output_attentions=True)
    if case.picture:
        if not any((folder / name).exists() for name in ("preprocessor_config.json", "processor_config.json")):
            raise ValueError("no file of a processor")
        processor = transformers.AutoImageProcessor.from_pretrained(str(folder), backend="pil")
        inputs["pixel_values"] = processor(load_image(str(case.picture(folder))), return_tensors="pt")["pixel_values"]
        inputs["pixel_values"] = inputs["pixel_values"].double()
        if case.interpolates:
            inputs["interpolate_pos_encoding"] = True
    else:
        inputs["input_ids"] = torch.tensor([IDS])
        if case.target:
            inputs["decoder_input_ids"] = torch.tensor([case.target])
    with torch.no_grad():
        out = model(**inputs)
    patterns = {}
    for stack, name in (("self", "attentions"), ("encoder", "encoder_attentions"), ("decoder", "decoder_attentions"),
                        ("cross", "cross_attentions")):  # fmt: skip
        for layer, pattern in enumerate(getattr(out, name, None) or ()):
            patterns[f"{stack}.{layer}.pattern"] = pattern[0]
    return patterns, getattr(out, "logits", None)


def verdict(case, options):
    """(verdict, details) of one case."""
    folder = options.work / "".join(c if c.isalnum() else "-" for c in case.name)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chmod(options.work, 0o755)
    model = case.make(folder)
    out = options.work / "capture.safetensors"
    out.unlink(missing_ok=True)
    place = case.path(folder) if case.path else folder
    given = ["--image", case.picture(folder)] if case.picture else ["--ids", ",".join(map(str, IDS))]
    given += ["--target-ids", ",".join(map(str, case.target))] if case.target else []
    locked = folder.stat().st_mode & 0o777 == 0 and os.geteuid() == 0
    sites = ["--sites", "pattern,logits", "--threads", "1", "--out", out]
    status, said = run(options, "capture", "--model", place, *given, *sites, as_nobody=locked)
    folder.chmod(0o755)
    plain = said.replace(str(folder), "…")
    missing = [word for word in case.said if word not in plain]
    if case.refused:
        if status == 0:
            return "DIFFERENT", "it opens"
        one_line = len(plain.splitlines()) == 1 and len(plain) < 700
        return ("refused by name" if not missing and one_line else "UNCLEAR"), f"{missing or ''} {plain}"
    if status:
        return "WRONGLY REFUSED", plain
    if missing:
        return "SILENT", f"{missing} in {plain or 'nothing'}"
    ours = load_file(out)
    if model is None:
        return ("equal" if "logits" not in ours else "DIFFERENT"), "without its head"
    try:
        patterns, logits = numbers(case, folder, model)
    except Exception as error:
        return "NO REFERENCE", f"{type(error).__name__}: {error}"[:200]
    pairs = [(ours.get(name), pattern, 1.0) for name, pattern in patterns.items()]
    if logits is not None and "logits" in ours:
        pairs.append((ours["logits"], logits, max(1.0, float(logits.abs().max()))))
    worst = 0.0
    for found, expected, scale in pairs:
        if found is None or found.numel() != expected.numel():
            return "DIFFERENT", f"{None if found is None else tuple(found.shape)} against {tuple(expected.shape)}"
        difference = float((found.reshape(expected.shape).double() - expected.double()).abs().max()) / scale
        worst = max(worst, difference if difference == difference else float("inf"))
    return ("equal" if worst <= LIMIT else "DIFFERENT"), f"{worst:.1e}{'; ' + plain if plain else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--work", type=Path, help="where folders are made and kept")
    options = parser.parse_args()
    options.attnscope = options.attnscope.resolve()
    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-odd-files-"))
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    started, counts = time.perf_counter(), Counter()
    for case in CASES:
        if options.only not in case.name:
            continue
        kind, details = verdict(case, options)
        counts[kind] += 1
        print(f"{case.name:44} {kind:16} {' '.join(details.split())[:260]}", flush=True)
    summary = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    print(f"{sum(counts.values())} cases in {time.perf_counter() - started:.0f} s: {summary}")
    return 1 if any(kind.isupper() for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
