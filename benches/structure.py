"""Published structure on real weights: what AttentionViz (Yeh et al., 2023) saw in joint query–key spaces.

    python benches/structure.py --minilm FOLDER [--attnscope target/release/attnscope] [--pictures FOLDER]

Everything comes from the command line of attnscope; this script only sorts, prints and puts figures beside each
other. MiniLM-L6 (six layers, twelve heads) and the bundled models read the bundled sentences and pictures.

- Positional and semantic heads: in which heads the ten nearest neighbours of a query or key, in the space itself,
  share its position (up to one) or its text, against chance: 0 at chance, 1 where all do.
- Search: in which heads the hits of a set of words are together, copies of the same word left out.
- Distance as a proxy of the dot product: correlations of all heads as they are, the way AttentionViz reports them
  (Pearson over the keys of one query within its sentence, Euclidean distance, the mean of all queries; neither
  scaled nor translated), and pooled over all pairs.
- Patches: in which heads of a vision model patches that attend to each other have the same hue or brightness, and in
  which neighbours do.
- The previous-token head of the bundled writer over the bundled sentences, ten to a text: its queries and keys lie on
  a spiral by position.

With `--pictures` a folder gets a figure for each of them. Only numpy is needed.
"""

import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np

WORDS = {
    "people": "man,lady,mother,father,king,queen,child,children,baby,friend,friends,sister,sisters,people,hunter,lovers",
    "pronouns": "i,you,he,she,it,we,they,me,him,her,us,them",
    "animals": "monkey,lion,rabbit,dog,cat,bird,birds,horse,fish,bear,fox,mouse,animals",
}
# AttentionViz, section 5.1: the mean over all heads.
PUBLISHED = {"BERT (bert-base-uncased)": -0.938, "GPT-2 (small)": -0.792}


class Program:
    def __init__(self, path, work):
        self.path, self.work, self.number = path, work, 0

    def run(self, *arguments):
        subprocess.run([self.path, *map(str, arguments)], check=True)

    def json(self, *arguments):
        self.number += 1
        out = self.work / f"{self.number}.json"
        self.run(*arguments, "--out", out)
        return json.loads(out.read_text())


def name(head):
    return f"L{head['layer']}H{head['head']}"


def best(heads, score, n=3):
    known = [head for head in heads if score(head) is not None]
    return sorted(known, key=score, reverse=True)[:n]


def line(title, heads, score, detail=lambda head: ""):
    top = best(heads, score)
    scores = [score(head) for head in heads if score(head) is not None]
    shown = ", ".join(f"{name(head)} {score(head):.2f}{detail(head)}" for head in top)
    print(f"| {title} | {shown} | {np.median(scores):.2f} | {min(scores):.2f} |")
    return top


def mosaic(heads, value):
    """Layers × heads."""
    grid = np.full((1 + max(head["layer"] for head in heads), 1 + max(head["head"] for head in heads)), np.nan)
    for head in heads:
        grid[head["layer"], head["head"]] = value(head)
    for layer, row in enumerate(grid):
        print(f"    L{layer}  " + " ".join(f"{x:6.2f}" for x in row))


def per_query(head, when="before"):
    return head["correlation"][when]["per_query"]["pearson"]


def pooled(head, when="before"):
    return head["correlation"][when]["pooled"]["pearson"]


def correlations(title, heads):
    def mean(of):
        return np.mean([of(head) for head in heads])

    disparity = [head["norms"]["disparity"] for head in heads]
    print(
        f"| {title} | {len(heads)} | {mean(per_query):.3f} | {min(map(per_query, heads)):.3f} | {mean(pooled):.3f} | "
        f"{mean(lambda head: per_query(head, 'after')):.3f} | {mean(lambda head: pooled(head, 'after')):.3f} | "
        f"{min(disparity):.2f} – {max(disparity):.2f} |"
    )


def winding(document, head):
    """How queries and keys of one head run through the plane by position: the part of the spread that positions
    explain, how many of their mean places have one of a neighbouring position as the nearest, and the turns that the
    means take around the middle."""
    points = np.array(head["queries"] + head["keys"])
    positions = np.array([token["position"] for token in document["tokens"]] * 2)
    kept = np.arange(positions.max() + 1)
    kept = kept[[np.sum(positions == position) >= 10 for position in kept]]
    inside = np.isin(positions, kept)
    points, positions = points[inside], positions[inside]
    means = np.array([points[positions == position].mean(0) for position in kept])
    explained = 1 - np.var(points - means[np.searchsorted(kept, positions)], 0).sum() / np.var(points, 0).sum()
    distances = np.linalg.norm(means[:, None] - means, axis=-1)
    np.fill_diagonal(distances, np.inf)
    in_order = np.mean(abs(distances.argmin(1) - np.arange(len(kept))) == 1)
    angles = np.arctan2(*(means - means.mean(0)).T[::-1])
    steps = (np.diff(angles) + np.pi) % (2 * np.pi) - np.pi
    return explained, in_order, abs(steps.sum()) / (2 * np.pi), len(kept)


def figure(program, pictures, out, model, corpus, head, color, *more):
    if pictures is None:
        return
    chosen = ["--layer", head["layer"], "--head", head["head"], "--color-by", color]
    program.run("render", "scatter", "--model", model, "--corpus", corpus, *chosen, *more, "--out", pictures / out)


def text(program, minilm, pictures):
    print("## Heads of MiniLM over the bundled sentences\n")
    documents = {}
    for title, words in WORDS.items():
        shared = [] if documents else ["--shared", "position,text"]
        documents[title] = program.json(
            "project", "--model", minilm, "--corpus", "demo:sentences", "--search", words, "--search-as", "word", *shared
        )
    first = documents["people"]
    heads = first["heads"]
    print(f"{1 + max(token['input'] for token in first['tokens'])} sentences, {len(first['tokens'])} tokens, {len(heads)} heads.\n")
    print("| what neighbours share | first heads | median | least |\n|---|---|---|---|")
    positional = line("position ± 1", heads, lambda head: head["shared"]["position"]["score"])
    semantic = line("text", heads, lambda head: head["shared"]["text"]["score"])
    searched = {}
    for title, document in documents.items():
        n = len(document["search"]["queries"])
        searched[title] = line(
            f"“{title}” ({n} tokens in {document['search']['inputs']} sentences)",
            document["heads"],
            lambda head: head["search"]["score"],
            lambda head: f" (chance {head['search']['across_texts']['chance']:.3f})",
        )
    print("\nPearson correlation of dot product and distance per query, as given, layers × heads:\n")
    mosaic(heads, per_query)
    print("\nMean ‖q‖ / mean ‖k‖:\n")
    mosaic(heads, lambda head: head["norms"]["disparity"])
    figure(program, pictures, "positional.png", minilm, "demo:sentences", positional[0], "absolute")
    figure(program, pictures, "semantic.png", minilm, "demo:sentences", semantic[0], "kind", "--method", "tsne")
    figure(program, pictures, "pronouns.png", minilm, "demo:sentences", searched["pronouns"][0], "kind", "--method", "tsne")
    return heads


def proxies(program, minilm_heads):
    print("\n## Distance as a proxy of the dot product\n")
    print("| model | heads | per query | lowest head | pooled | per query, after | pooled, after | ‖q‖ / ‖k‖ |")
    print("|---|---|---|---|---|---|---|---|")
    correlations("MiniLM, bundled sentences", minilm_heads)
    for model in ("demo:bert", "demo:gpt"):
        document = program.json("project", "--model", model, "--corpus", "demo:sentences")
        correlations(f"{model}, bundled sentences", document["heads"])
    document = program.json("project", "--model", "demo:vit", "--corpus", "demo:pictures")
    correlations("demo:vit, bundled pictures", document["heads"])
    for model, value in PUBLISHED.items():
        print(f"| {model}, AttentionViz | 144 | {value:.3f} | | | | | |")
    print(
        "\n“After” is after scaling to equal norms and translating keys, which brings the clouds together and costs "
        "correlation. AttentionViz's means are also per query and before translation, but of models of twelve layers "
        "on other sentences (Wikipedia, questions, problems); at which scale they were taken is not known. The "
        "per-query correlation falls to −1 for small scales whatever the data, so it is given here as the model has it."
    )


def pictures_of_patches(program, pictures):
    print("\n## Heads of demo:vit over the bundled pictures\n")
    scores = program.json("analyze", "heads", "--model", "demo:vit", "--corpus", "demo:pictures")["result"]["self"]

    def heads_of(detector):
        grid = scores[detector]["scores"]
        return [
            {"layer": layer, "head": head, "score": score}
            for layer, row in enumerate(grid)
            for head, score in enumerate(row)
        ]

    print("| attention goes to patches of | first heads | median | least |\n|---|---|---|---|")
    top = {}
    for detector, title in (("hue", "the same hue (less chance)"), ("brightness", "the same brightness (correlation)")):
        top[detector] = line(title, heads_of(detector), lambda head: head["score"])
    shared = "hue,brightness,saturation,row,column"
    document = program.json("project", "--model", "demo:vit", "--corpus", "demo:pictures", "--shared", shared)
    print("\n| neighbours share | first heads | median | least |\n|---|---|---|---|")
    for what in shared.split(","):
        found = line(what, document["heads"], lambda head: head["shared"][what]["score"])
        if what in ("hue", "brightness"):
            figure(program, pictures, f"{what}.png", "demo:vit", "demo:pictures", found[0], what, "--method", "tsne")


def texts_of_ten(folder):
    """The bundled sentences, ten to a text, from all over the list, so that texts are of similar length."""
    with (Path(__file__).parent.parent / "assets/corpora/sentences.csv").open(encoding="utf-8", newline="") as file:
        sentences = [row["text"] for row in csv.DictReader(file)]
    n_texts = len(sentences) // 10
    out = folder / "texts.txt"
    out.write_text("\n".join(" ".join(sentences[first::n_texts]) for first in range(n_texts)) + "\n", encoding="utf-8")
    return out


def spiral(program, pictures):
    print("\n## The previous-token head of demo:gpt\n")
    texts = texts_of_ten(program.work)
    scores = program.json("analyze", "heads", "--model", "demo:gpt", "--corpus", texts)["result"]["self"]
    grid = np.array(scores["previous"]["scores"], dtype=float)
    layer, head = np.unravel_index(np.nanargmax(grid), grid.shape)
    # More neighbours than one position has points: else each is an island.
    layout = ["--method", "tsne", "--perplexity", 100]
    document = program.json("project", "--model", "demo:gpt", "--corpus", texts, *layout)
    heads = document["heads"]
    winds = {name(one): winding(document, one) for one in heads}
    chosen = next(one for one in heads if (one["layer"], one["head"]) == (layer, head))
    print("| head | weight on the token before | spread explained by position | nearest to a neighbour | turns |")
    print("|---|---|---|---|---|")
    others = best([one for one in heads if one is not chosen], lambda one: grid[one["layer"], one["head"]], 3)
    for one in [chosen, *others]:
        explained, in_order, turns, n = winds[name(one)]
        weight = grid[one["layer"], one["head"]]
        print(f"| {name(one)} | {weight:.3f} | {explained:.2f} | {in_order:.2f} | {turns:.2f} over {n} positions |")
    medians = np.median([wind[:2] for wind in winds.values()], 0)
    print(f"\nMedians over all {len(heads)} heads: {medians[0]:.2f} explained, {medians[1]:.2f} nearest to a neighbour.")
    figure(program, pictures, "spiral.png", "demo:gpt", texts, chosen, "absolute", *layout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", default="target/release/attnscope")
    parser.add_argument("--minilm", required=True, type=Path, help="MiniLM-L6 (all-MiniLM-L6-v2) in Hugging Face layout")
    parser.add_argument("--pictures", type=Path, help="a folder for figures")
    options = parser.parse_args()
    if options.pictures:
        options.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work:
        program = Program(options.attnscope, Path(work))
        heads = text(program, options.minilm, options.pictures)
        proxies(program, heads)
        pictures_of_patches(program, options.pictures)
        spiral(program, options.pictures)


if __name__ == "__main__":
    main()
