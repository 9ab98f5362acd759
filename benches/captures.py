"""Attention that Python saved, read back by the program, beside what PyTorch computes in another way.

    python benches/captures.py [--attnscope target/release/attnscope] [--only WORD]

`captures_cases.py`, `captures_models.py` and `captures_tokens.py` list situations of people who have outputs of transformers: batches, padding, beams, samples,
windows, static caches, sounds, pictures, files of other tools. Each is saved by the module of this repository, drawn by
the program as a table of numbers, and compared with a plain forward pass of the same tokens, or refused with the
words that its case names. One verdict per case:

* equal: every weight of every head differs by at most 1e-6 (1e-5 where the case says why), and the labels are as said;
* refused: not saved or not drawn, with a sentence that has the words of the case;
* DIFFERENT, WRONGLY REFUSED, FAILED: what the words say. Exit status 1 if there is one.
"""

import argparse
import csv
import os
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python")]

LIMIT = 1e-6
# Of a refusal's sentence.
LONGEST = 400


def table(binary, path, *options):
    """What the program draws of a capture: weights by stack, layer, head, query and key, and the labels."""
    out = path.with_suffix(".csv")
    run = subprocess.run(
        [binary, "render", "heatmap", "--capture", path, "--data", out, *options], capture_output=True, text=True
    )
    if run.returncode != 0:
        raise Refused(run.stderr.strip())
    with open(out, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class Refused(Exception):
    """The program did not draw it."""


def check(case, binary, folder):
    import attnscope

    path = Path(folder) / "capture.safetensors"
    try:
        expected = case()
        saved = expected.pop("file", None)
        if saved is None:
            attnscope.save(path, *expected["args"], **expected["options"])
        else:
            path = saved
        worst = 0.0
        for stack, layers in expected["patterns"].items():
            for layer, pattern in enumerate(layers):
                if pattern is None:
                    continue
                for head, weights in enumerate(pattern):
                    rows = table(binary, path, "--stack", stack, "--layer", str(layer), "--head", str(head))
                    found = {(int(row["query"]), int(row["key"])): float(row["weight"]) for row in rows}
                    for query, keys in enumerate(weights):
                        for key, weight in enumerate(keys):
                            worst = max(worst, abs(float(weight) - found.get((query, key), 0.0)))
        labels = expected.get("labels")
        if labels is not None:
            stack = next(iter(expected["patterns"]))
            rows = table(binary, path, "--stack", stack, *expected.get("drawn", ()))
            seen = list(dict.fromkeys((int(row["key"]), row["key_text"]) for row in rows))
            seen = [text for _, text in sorted(seen)]
            if seen != labels:
                return "DIFFERENT", f"labels {seen}, not {labels}"
        limit = getattr(case, "limit", LIMIT)
        return ("equal" if worst <= limit else "DIFFERENT"), f"{worst:.1e}"
    except (attnscope.AttentionError, attnscope.ProgramError, Refused) as error:
        words = getattr(case, "refused", None)
        if words is None:
            return "WRONGLY REFUSED", str(error)
        missing = [word for word in words if word not in str(error)]
        fits = not missing and len(str(error)) <= LONGEST and "\n" not in str(error)
        return ("refused" if fits else "WRONGLY REFUSED"), str(error)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attnscope", default=str(ROOT / "target/release/attnscope"))
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    os.environ["ATTNSCOPE_BINARY"] = arguments.attnscope
    import captures_models  # noqa: F401  adds its cases
    import captures_tokens  # noqa: F401  adds its cases
    from captures_cases import CASES

    bad = 0
    for case in CASES:
        if arguments.only not in case.__name__:
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                verdict, detail = check(case, arguments.attnscope, folder)
                if verdict == "equal" and getattr(case, "refused", None):
                    verdict = "NOT REFUSED"
            except Exception as error:
                traceback.print_exc()
                verdict, detail = "FAILED", f"{type(error).__name__}: {error}"
        bad += verdict.isupper()
        print(f"{verdict:16} {case.__name__.replace('_', ' '):34} {detail}", flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
