"""Chooses the pairs of the bundled corpus `demo:pairs` from Tatoeba's.

    python assets/corpora/pairs.py --data DATA

Writes pairs.tsv beside this file: English sentences with a German or a French translation that no bundled translator
was trained on, as many of each length. DATA is that of `examples/train_translate.py`; of sentences of at most 14 words
those that it holds out, of longer ones any: the translators were trained on none. CREDITS.md names the licence.
"""

import argparse
import csv
import random
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "examples"))
from train_translate import LANGUAGES, MAX_WORDS, is_held_out, normalise  # noqa: E402

# First and last number of English words, and pairs of each language.
LENGTHS, EACH = [(2, 4), (5, 7), (8, 10), (11, 14), (15, 19), (20, 28)], 65
# A translation of more words than this may not fit into the 64 tokens of a model.
MOST_WORDS = 28
# Nothing that a person may not want to read on a slide.
UNWANTED = re.compile(
    r"kill|dead|death|die[ds]?\b|dying|drunk|shoot|shot|gun|blood|hate|stupid|idiot|damn|devil|hell\b|naked|sick|rape|sex"
    r"|suicid|murder|war\b|bomb|terror|torture|slave|fat\b|ugly|god\b|jew|muslim|christ|hitler|nazi|drug|prostitut|kiss",
    re.I,
)


def candidates(data, language):
    """Pairs by English sentence, the first translation of each."""
    found = {}
    for line in (data / "parallel" / f"{language}.txt").read_text(encoding="utf-8").splitlines():
        source, target = (normalise(part) for part in line.split("\t")[:2])
        n_words = max(len(source.split()), len(target.split()))
        is_new = len(source.split()) > MAX_WORDS or (is_held_out(source) and n_words <= MAX_WORDS)
        is_one = not re.search(r"[.!?]\s", source) and '"' not in source and "\t" not in target
        if is_new and is_one and n_words <= MOST_WORDS and not UNWANTED.search(source):
            found.setdefault(source, target)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    data, rng, rows = parser.parse_args().data, random.Random(0), []
    for language, tag in LANGUAGES.items():
        pairs = candidates(data, language)
        for least, most in LENGTHS:
            of_length = sorted(source for source in pairs if least <= len(source.split()) <= most)
            for source in sorted(rng.sample(of_length, min(EACH, len(of_length))), key=lambda text: (len(text.split()), text)):
                rows.append((f"{tag} {source}", pairs[source], language))
    with open(HERE / "pairs.tsv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(["text", "target", "language"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
