"""Odd but legal configurations of every supported architecture, beside PyTorch at every site.

    python benches/odd.py [--attnscope target/release/attnscope] [--only NAME] [--out docs/families.md]

`odd_cases.py` lists them: each toggles what a configuration may say and published checkpoints rarely do.
A tiny model is made with transformers' own class, saved, its `config.json` changed where the case says so,
and opened again by both sides. Per case one verdict:

* equal: q, k, v, scores, pattern, z, the stream and the logits differ from PyTorch's eager attention in f32
  by at most 1e-5, or twice PyTorch's own difference between f32 and f64 (absolute for patterns, relative to
  the largest value of the tensor, at least 1, for the rest);
* equal without its head: the same, and the head that is not shown is named;
* refused by name: not opened, with a sentence that names what is not supported;
* DIFFERENT: another number, or a head that nobody asked for;
* WRONGLY REFUSED: not opened although nothing is wrong, or without naming what is;
* NO REFERENCE: transformers itself cannot make, open or run it (another version of it?).

Exit status 1 when any verdict is in capitals.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import torch
import transformers
from safetensors.torch import load_file

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "fixtures" / "families"))

from odd_cases import CASES, expected_sites, load, save  # noqa: E402
from shared import input_arguments, write_section  # noqa: E402

SITES = "q,k,v,scores,pattern,z,resid,mlp_gate,router,logits"
LIMIT = 1e-5
# Of a refusal's sentence.
LONGEST = 300
TITLE = "## Odd configurations"
HEADING = f"""{TITLE}

Written by `python benches/odd.py --out docs/families.md`, which prints the verdict of each.
{{n}} tiny checkpoints whose configurations say what published ones rarely say (`benches/odd_cases.py`), against PyTorch's eager attention at every site: {{counts}}.
Heads that are not shown, such as those that answer questions, are named when the model is opened.
Differences are absolute for patterns and relative to the largest value for other sites; the one closest to its limit is given, and that limit: {LIMIT:.0e}, or twice PyTorch's own difference between f32 and f64.

| `model_type` | configurations | equal | without a head | refused by name | difference | allowed |
|---|---|---|---|---|---|---|
"""
REFUSED = """
| refused configuration | “this model cannot be opened: …” |
|---|---|
"""


def run(options, *arguments):
    """Answers (exit status, what was written to the terminal)."""
    done = subprocess.run([str(options.attnscope), *arguments], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def capture(options, folder, case):
    """Tensors of one capture file, or the sentence of a refusal."""
    out = options.work / "capture.safetensors"
    out.unlink(missing_ok=True)
    arguments = ["capture", "--model", str(folder), "--sites", SITES, "--threads", "2", "--out", str(out)]
    arguments += input_arguments(case.inputs, options.work)
    status, said = run(options, *arguments)
    return (load_file(out), said) if status == 0 else (None, said)


def difference(name, ours, theirs):
    """Largest difference of one tensor; infinities must be the same."""
    if ours.numel() != theirs.numel():
        return float("inf")
    ours, theirs = ours.reshape(theirs.shape).double(), theirs.double()
    hidden = theirs == -torch.inf
    if not torch.equal(hidden, ours == -torch.inf):
        return float("inf")
    if hidden.all():
        return 0.0
    worst = (ours - theirs)[~hidden].abs().max().item()
    scale = 1.0 if name.endswith("pattern") else max(1.0, theirs[~hidden].abs().max().item())
    return worst / scale if worst == worst else float("inf")


def compare(ours, single, double):
    """The site that is furthest beyond its limit: (name, difference, limit)."""
    worst = ("", 0.0, LIMIT)
    for name, expected in single.items():
        limit = max(LIMIT, 2 * difference(name, expected, double[name]))
        found = difference(name, ours[name], expected) if name in ours else float("inf")
        if found / limit >= worst[1] / worst[2]:
            worst = (name, found, limit)
    return worst


def sentence(said):
    """What a person reads of a refusal: without the word “error” and the folder."""
    said = re.sub(r"\s+", " ", said.strip())
    return re.sub(r"^attnscope: ", "", said)[:LONGEST]


def reference(case, folder):
    """What PyTorch computes in f32 and in f64, or why it cannot."""
    try:
        save(case, folder)
        single = expected_sites(case, load(case, folder))
    except Exception as error:  # whatever it is, the other cases are still worth running
        return f"{type(error).__name__}: {error}"[:LONGEST].replace("\n", " "), None
    try:
        return single, expected_sites(case, load(case, folder).double(), wide=True)
    except RuntimeError:
        # Some attention runs in single precision alone.
        return single, single


def verdict(case, options):
    """(verdict, details, difference, limit) of one case."""
    folder = options.work / case.name
    shutil.rmtree(folder, ignore_errors=True)
    single, double = reference(case, folder)
    ours, said = capture(options, folder, case)
    # The folder's name is the case's, which must not count as naming what is refused.
    said = said.replace(str(folder), "…")
    if ours is None:
        named = case.refusal is not None and case.refusal.lower() in said.lower()
        return ("refused by name" if named else "WRONGLY REFUSED"), sentence(said), None, None
    if case.refusal is not None:
        return "DIFFERENT", f"it opens, although {case.refusal} is not supported", None, None
    if isinstance(single, str):
        return "NO REFERENCE", single, None, None
    logits = single.pop("logits", None)
    if case.headless or logits is None:
        _, report = run(options, "check", str(folder), "--details")
        if "logits" in ours:
            return "DIFFERENT", f"it shows {tuple(ours['logits'].shape)} logits of another head", None, None
        if case.headless and case.headless.lower() not in report.replace(str(folder), "…").lower():
            return "DIFFERENT", f"its head is left out without naming {case.headless}", None, None
    else:
        single["logits"] = logits
    name, found, limit = compare(ours, single, double)
    if found > limit:
        return "DIFFERENT", name if name in ours else f"{name} is not there", found, limit
    return ("equal without its head" if case.headless else "equal"), name, found, limit


def reason(sentence):
    """Of a refusal what is not supported, without what every refusal says."""
    return re.split(r"\. \S+\.json is in order", sentence.split("cannot be opened: ")[-1])[0].replace("|", "/")


def row(model_type, verdicts):
    """What became of all configurations of one architecture."""
    kinds = Counter(kind for kind, _, _ in verdicts)
    without, refused = kinds["equal without its head"], kinds["refused by name"]
    measured = [(found, limit) for _, found, limit in verdicts if found is not None]
    found, limit = max(measured, key=lambda pair: pair[0] / pair[1]) if measured else (0.0, LIMIT)
    equal = kinds["equal"] + without
    return f"| {model_type} | {len(verdicts)} | {equal} | {without} | {refused} | {found:.1e} | {limit:.1e} |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--work", type=Path, help="where checkpoints are made and kept")
    parser.add_argument("--out", type=Path, help="write the table to this file")
    options = parser.parse_args()
    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-odd-"))
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    started, rows, refused, counts = time.perf_counter(), defaultdict(list), [], Counter()
    for case in CASES:
        if options.only not in case.name:
            continue
        kind, details, found, limit = verdict(case, options)
        counts[kind] += 1
        kind_of = getattr(transformers, case.model, None)
        model_type = kind_of.config_class.model_type if kind_of else "open_clip"
        numbers = (f"{found:.1e}", f"{limit:.1e}") if found is not None else ("", "")
        print(f"{case.name:32} {kind:24} {numbers[0]:8} {numbers[1]:8} {details}", flush=True)
        rows[model_type].append((kind, found, limit))
        if kind == "refused by name":
            refused.append(f"| {case.name} | {reason(details)} |\n")
    summary = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    print(f"{sum(counts.values())} configurations in {time.perf_counter() - started:.0f} s: {summary}")
    if options.out:
        lines = [row(model_type, verdicts) for model_type, verdicts in sorted(rows.items())]
        heading = HEADING.format(n=sum(counts.values()), counts=summary)
        write_section(options.out, TITLE, "".join([heading, *lines, REFUSED, *refused]))
    return 1 if any(kind.isupper() for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
