"""Measures how well the cross-attention of `demo:translate` aligns words.

    python examples/align.py [--attnscope target/release/attnscope] [--model demo:translate] [--gold DATA/parallel/gold]

Every pair of `alignments.tsv` is translated as given (`--target`), its cross-attention is summed over
the pieces of a source word and averaged over those of a target word, and each target word is linked to
the source word it attends to most; to none if that is the end of the text. The alignment error rate
(Och and Ney, 2003) is over all pairs: 1 - (|A and S| + |A and P|) / (|A| + |S|).

The row that counts for a piece is the step that writes it, or the step that reads it, which is the
next one and often the better aligned; both are reported, for every head and for the mean of a layer.
With `--gold` also on public alignments, whose sentences are longer than any the model was trained on.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from safetensors import safe_open

HERE = Path(__file__).resolve().parent
TAGS = {"deu": ">>deu<<", "fra": ">>fra<<"}


def links(text, first=0):
    """Sure and possible links of a line in Pharaoh's format."""
    found = [re.fullmatch(r"(\d+)([-p])(\d+)", link).groups() for link in text.split()]
    pairs = [(int(i) - first, int(j) - first, kind) for i, kind, j in found]
    sure = {(i, j) for i, j, kind in pairs if kind == "-"}
    return sure, {(i, j) for i, j, _ in pairs}


def own_pairs():
    for line in (HERE / "alignments.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            language, source, target, text = line.split("\t")
            yield language, source.split(), target.split(), *links(text)


def hansards(folder):
    lines = (folder / "hansards_enfr" / "enfr.src-tgt").read_text(encoding="utf-8").splitlines()
    gold = (folder / "hansards_enfr" / "enfr.gold").read_text().splitlines()
    for line, text in zip(lines, gold):
        source, target = (side.split() for side in line.split("|||"))
        yield "fra", source, target, *links(text, first=1)


def bicici(folder):
    sides = [(folder / "bicici_deen100" / name).read_text(encoding="utf-8-sig").splitlines() for name in ("test.en", "test.de")]
    gold = (folder / "bicici_deen100" / "de-en.wa").read_text().splitlines()
    for source, target, text in zip(*sides, gold):
        source, target = source.split(), target.split()
        # German first there; one link points behind the sentence.
        sure = {(j, i) for i, j in links(text)[0] if i < len(target) and j < len(source)}
        yield "deu", source, target, sure, sure


def natural(words):
    """The words as a text, and where each begins and ends in it, in bytes."""
    text, spans = "", []
    for word in words:
        if text and word not in (".", ","):
            text += " "
        spans.append((len(text.encode()), len((text + word).encode())))
        text += word
    return text, spans


def words_of(tokens, spans, skip):
    """The word of each token, or None; the first `skip` bytes of the text are no word's."""
    found = []
    for token in tokens:
        start, end = token["start"], token["end"]
        overlaps = [min(end - skip, b) - max(start - skip, a) for a, b in spans] if end > start else [0]
        best = int(np.argmax(overlaps))
        found.append(best if overlaps[best] > 0 and not token["special"] else None)
    return found


def capture(options, work, language, source, target):
    """Cross-attention by layer, and the word of every token."""
    (source, source_spans), (target, target_spans) = natural(source), natural(target)
    tag = TAGS[language] + " "
    out = work / "capture.safetensors"
    command = [str(options.attnscope), "capture", "--model", options.model, "--text", tag + source, "--target", target]
    done = subprocess.run([*command, "--sites", "pattern", "--out", str(out)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr.strip())
    with safe_open(out, "np") as file:
        tokens = json.loads(file.metadata()["tokens"])
        names = sorted((name for name in file.keys() if name.startswith("cross.")), key=lambda name: int(name.split(".")[1]))
        patterns = np.stack([file.get_tensor(name) for name in names])
    return patterns, words_of(tokens["encoder"], source_spans, len(tag)), words_of(tokens["decoder"], target_spans, 0)


def aligned(pattern, source_words, target_words, reads):
    """Links of one pattern [step, source piece]; `target_words` says which word each step reads."""
    n_source = 1 + max((word for word in source_words if word is not None), default=-1)
    by_word = np.zeros((len(pattern), n_source + 1))
    for piece, word in enumerate(source_words):
        # The tag is nobody's word and no reason to be unaligned; the end is.
        if word is not None or piece == len(source_words) - 1:
            by_word[:, n_source if word is None else word] += pattern[:, piece]
    found = set()
    for target in sorted({word for word in target_words if word is not None}):
        steps = [step - (not reads) for step, word in enumerate(target_words) if word == target]
        best = int(by_word[steps].mean(0).argmax())
        if best < n_source:
            found.add((best, target))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=HERE.parent / "target" / "release" / "attnscope")
    parser.add_argument("--model", default="demo:translate")
    parser.add_argument("--gold", type=Path, help="folder of public alignments to report as well")
    parser.add_argument("--max-words", type=int, default=14, help="leave out longer public sentences")
    options = parser.parse_args()
    sets = {"alignments.tsv": list(own_pairs())}
    if options.gold:
        sets |= {"hansards_enfr": list(hansards(options.gold)), "bicici_deen100": list(bicici(options.gold))}
    with tempfile.TemporaryDirectory() as work:
        for name, pairs in sets.items():
            if name != "alignments.tsv":
                pairs = [pair for pair in pairs if max(len(pair[1]), len(pair[2])) <= options.max_words]
            report(name, pairs, options, Path(work))


def report(name, pairs, options, work):
    counts = {}
    for language, source, target, sure, possible in pairs:
        patterns, source_words, target_words = capture(options, work, language, source, target)
        candidates = {(layer, "mean"): pattern.mean(0) for layer, pattern in enumerate(patterns)}
        candidates |= {(layer, head): one for layer, heads in enumerate(patterns) for head, one in enumerate(heads)}
        for key, pattern in candidates.items():
            for reads in (False, True):
                found = aligned(pattern, source_words, target_words, reads)
                for subset in ("all", language):
                    count = counts.setdefault((*key, reads, subset), np.zeros(4))
                    count += (len(found & sure), len(found & possible), len(found), len(sure))
    rate = {key: 1 - (a + b) / (n + s) for key, (a, b, n, s) in counts.items()}
    print(f"{name}: {len(pairs)} pairs")
    best = sorted(((error, *key) for key, error in rate.items() if key[-1] == "all"), key=lambda row: row[0])[:6]
    for error, layer, head, reads, _ in best:
        languages = [language for language in TAGS if (layer, head, reads, language) in rate]
        by_language = ", ".join(f"{language} {rate[layer, head, reads, language]:.3f}" for language in languages)
        print(f"  layer {layer} head {head}, the step that {'reads' if reads else 'writes'} a word: {error:.3f} ({by_language})")


if __name__ == "__main__":
    main()
