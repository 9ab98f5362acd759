"""Chooses the reviews of the bundled corpus `demo:reviews` from the sentence polarity dataset.

    python assets/corpora/reviews.py --data DATA

Writes reviews.csv beside this file: 250 sentences of praise and 250 of blame in turn, none of which `demo:bilstm`, its
twins and `demo:sentiment` were trained on. DATA is that of `examples/train_polarity.py`. CREDITS.md names the licence.
"""

import argparse
import csv
import random
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent.parent / "examples"))
from train_polarity import read_sentences  # noqa: E402

EACH, LEAST_WORDS = 250, 4
# Nothing that a person may not want to read on a slide.
UNWANTED = re.compile(
    r"kill|dead|death|die[ds]?\b|dying|drunk|shoot|shot|gun|blood|hate|stupid|idiot|damn|devil|hell\b|naked|sick|rape|sex"
    r"|suicid|murder|war\b|bomb|terror|torture|slave|fat\b|ugly|god\b|jew|muslim|christ|hitler|nazi|drug|prostitut|kiss"
    r"|porn|whore|bitch|gay\b|lesbian|crap|shit|fuck|ass\b|holocaust|abus|moron|retard|urin|excrement|vomit|corpse|nud",
    re.I,
)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    _, held_out = read_sentences(parser.parse_args().data)
    rng = random.Random(0)
    chosen = []
    for label in (1, 0):
        fit = [text for text, own in held_out if own == label and not UNWANTED.search(text)]
        chosen.append(rng.sample([text for text in fit if len(text.split()) >= LEAST_WORDS], EACH))
    with open(HERE / "reviews.csv", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", "label"])
        for pair in zip(*chosen):
            writer.writerows(zip(pair, ("positive", "negative")))


if __name__ == "__main__":
    main()
