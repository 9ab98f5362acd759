"""Writes rationales.csv: reviews of reviews.csv with the words that one of the authors marked as reasons for the label.

Text and label were seen, no model; as few words are marked as decide it. Rows in another language, and those whose
label hangs on the whole sentence and not on words of it, have no marks and are left out.
"""

import csv
from pathlib import Path

FOLDER = Path(__file__).parent

# Row of reviews.csv, from 0, and the words that were marked, in their order in the text.
MARKED = {
    0: "admirable | exceptional",
    1: "fusty squareness",
    2: "pure adrenalin",
    3: "enough to make you put away the guitar",
    4: "expands the limits",
    6: "affable | worthwhile | wholesome",
    7: "lack of personality | affected | dullest",
    8: "likeable | quirky",
    10: "at its best",
    11: "lumpy | sad to say | un-bear-able",
    12: "endlessly inventive | sensational and revelatory",
    13: "ridiculous | headbangingly noisy",
    14: "clears the cynicism | tough beauty",
    15: "mess | transparently hypocritical",
    16: "doesn't disappoint",
    17: "bad joke",
    18: "shattering | devastating | extraordinary",
    20: "heartbreakingly beautiful | exquisitely",
    21: "drags | slathered",
    22: "even better",
    23: "bad in such a bizarre way",
    24: "remarkable",
    25: "simplistic | silly and tedious",
    26: "giddy and whimsical and relevant",
    27: "loud , witless mess | none of the charm",
    28: "riveting | visceral",
    30: "compelling",
    31: "too bad",
    32: "powerful emotions",
    33: "little humor | heavy-handed | almost laughable",
    34: "antidote",
    35: "painfully redundant and inauthentic",
    36: "undeniably worthy",
    37: "seriously dumb | dilutes the pleasure",
    38: "okay",
    39: "one-sided | simplistic | disaster",
    40: "savage | dances on the edge of tastelessness without ever quite falling over",
    41: "biggest problem | sluggish",
    42: "marvellous",
    43: "more grating than engaging",
    44: "welcome relief | sweet | winning",
    46: "a must",
    47: "more interested in entertaining itself",
    48: "glides gracefully | truly funny",
    49: "tries too hard | too loud | too goofy",
    50: "fiercely committed",
    51: "boring movie",
    52: "honest | intelligently , artfully",
    53: "sappy and amateurish",
    54: "well-executed",
    55: "wears thin | nothing else happening",
    56: "heartbreaking | unforced | entirely convincing",
    58: "the best",
    59: "devoid of joy and energy",
    60: "perfect performance",
    61: "never quite adds up",
    62: "constant fits of laughter | satisfied | touched",
    64: "thrill",
    66: "utmost subtlety | outstanding",
    67: "sub-par | boredom",
    68: "extremely well acted | not easily forgotten",
    69: "thin | repetitious",
    71: "mess",
    72: "worth a salute",
    73: "chuckling at all the wrong times | bad sign",
    74: "breathtaking",
    77: "innocuous",
    78: "fun | splashy and entertainingly nasty",
    79: "witless | outrageously unbelievable | misogyny",
    80: "beguiling freshness | buoyant , expressive",
    81: "lugubrious",
    82: "fascinating",
    83: "worthless",
    84: "deeper",
    85: "bad",
    87: "troubling | doesn't make any sense",
    88: "entertaining",
}


def main():
    with open(FOLDER / "reviews.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with open(FOLDER / "rationales.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["text", "label", "reasons"])
        for number, marked in MARKED.items():
            text = rows[number]["text"]
            for phrase in marked.split(" | "):
                assert phrase in text, (number, phrase)
            writer.writerow([text, rows[number]["label"], marked])


if __name__ == "__main__":
    main()
