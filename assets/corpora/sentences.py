"""Chooses the sentences of the bundled corpus `demo:sentences` from `examples/sample`.

    python assets/corpora/sentences.py

Writes sentences.csv beside this file: about 200 English sentences of many lengths and kinds, with where each
is from. The choice depends on nothing but the files; CREDITS.md names their licences.
"""

import csv
import re
from pathlib import Path

HERE = Path(__file__).parent
SAMPLE = HERE.parent.parent / "examples" / "sample"
# How many of each source, and the fewest and most words.
SHARES = {"Common Voice": (90, 4, 22), "storybooks": (70, 5, 30), "Tatoeba": (40, 3, 9)}
# Nothing that a person may not want to read on a slide.
UNWANTED = re.compile(r"kill|dead|death|die[ds]?\b|drunk|shoot|blood|hate|stupid|damn|devil|hell\b|naked|sick|lord|pregnant|chump|broken glass|pitiable|tail", re.I)
# Slips of the pen.
SLIPS = re.compile(r"[.!?]{2}| [.,]|\bTom\b| i |[a-z][A-Z]")


def candidates(source):
    if source == "Common Voice":
        return (SAMPLE / "text" / "common_voice_en_cc0.txt").read_text("utf-8").splitlines()
    if source == "storybooks":
        text = (SAMPLE / "text" / "tinystories_union.txt").read_text("utf-8")
        paragraphs = [line for line in text.splitlines() if line and not line.startswith("<|")]
        return [part for line in paragraphs for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line)]
    lines = (SAMPLE / "parallel" / "deu.txt").read_text("utf-8").splitlines()
    return list(dict.fromkeys(line.split("\t")[0] for line in lines))


def is_good(sentence, fewest, most):
    words = sentence.split()
    whole = sentence[0].isupper() and sentence[-1] in ".!?" and sentence.count('"') == 0
    return whole and sentence.isascii() and fewest <= len(words) <= most and not (UNWANTED.search(sentence) or SLIPS.search(sentence))


def kind(sentence):
    return {"?": "question", "!": "exclamation"}.get(sentence[-1], "statement")


def main():
    rows = []
    for source, (n, fewest, most) in SHARES.items():
        good = list(dict.fromkeys(s.strip() for s in candidates(source) if s and is_good(s.strip() or " ", fewest, most)))
        good.sort(key=lambda sentence: (len(sentence.split()), sentence))
        # Evenly over the lengths.
        chosen = [good[i * len(good) // n] for i in range(min(n, len(good)))]
        rows += [(sentence, source, kind(sentence)) for sentence in chosen]
    with open(HERE / "sentences.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", "source", "kind"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
