"""Every view of `render` and every method of `analyze` on every bundled model, with nothing said but what has to be.

What comes out is a figure with marks or numbers, or one sentence that says why not and names options that the command
has. Printed is each refusal, and everything that is neither; the exit code counts the latter.

    python benches/defaults.py target/release/attnscope
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "target/release/attnscope"
PICTURE = str(Path(__file__).parent.parent / "assets/samples/chelsea.jpg")
# What each model reads when nobody says what.
INPUTS = {
    "demo:gpt": ["--text", "Once upon a time there was a dog."],
    "demo:reader": ["--text", "Once upon a time there was a dog."],
    "demo:bert": ["--text", "The cat sat on the [MASK]."],
    "demo:sentiment": ["--text", "a dull film with a fine end"],
    "demo:translate": ["--text", "the cat sleeps"],
    "demo:classic": ["--text", "the cat sleeps"],
    "demo:classic-bilinear": ["--text", "the cat sleeps"],
    "demo:classic-dot": ["--text", "the cat sleeps"],
    "demo:bottleneck": ["--text", "the cat sleeps"],
    **{f"demo:scorer-{score}": ["--text", "my father's green hat"] for score in ("additive", "mlp", "bilinear", "dot")},
    "demo:pointer": ["--text", "42 7 93 15 68 3"],
    "demo:documents": ["--text", "terrible value. ordered pasta entree."],
    "demo:memory": ["--text", "Mary moved to the kitchen. Mary took the milk. Where is the milk?"],
    "demo:bilstm": ["--text", "a dull film with a fine end"],
    "demo:bilstm-sparsemax": ["--text", "a dull film with a fine end"],
    "demo:bilstm-deceiving": ["--text", "a dull film with a fine end"],
    "demo:bilstm-rationale": ["--text", "a dull film with a fine end"],
    "demo:vit": ["--image", PICTURE],
    "demo:captions": ["--image", PICTURE],
}
VIEWS = ["lines", "heatmap", "picture", "qk-map", "qk-maps", "distance", "average"]
QUESTIONS = ["depends", "believe", "moves", "fact", "aligns"]
# What has to be said of a method.
NEEDED = {
    "edges": ["--layer", "0", "--head", "0", "--query", "1", "--key", "0"],
    "trace": ["--subject", "1..2"],
    "rank-one": ["--subject", "1..2", "--object", "cat", "--steps", "2"],
    "masks": ["--steps", "20"],
    "faithfulness": ["--steps", "5"],
}
# For a method that needs a second text: a word of each input, exchanged for one that is as many tokens.
EXCHANGED = {"dog": "cat", "cat": "dog", "film": "book"}
# What a refusal must not speak of where there is no window.
OF_THE_WINDOW = re.compile(r"\b[Cc]lick|[Hh]over|[Dd]rag\b")


def run(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=600)


def needed(method, given):
    """What has to be said of a method beside an input; of a picture the second text is refused."""
    if method != "attribution-patching":
        return NEEDED.get(method, [])
    return ["--other", re.sub(r"\w+", lambda word: EXCHANGED.get(word[0], word[0]), given[1])]


def options_of(*command):
    return set(re.findall(r"--[a-z][a-z-]+", run(*command, "--help").stdout))


def marks(svg):
    """Shapes of a figure besides its ground."""
    return len(re.findall(r"<(?:path|image|use|line)\b", svg)) - 1


def check(command, words, out=None):
    """What is wrong with an answer; None where nothing is."""
    result = run(*command, *words)
    errors = [line for line in result.stderr.splitlines() if line.startswith("attnscope:")]
    told = result.stderr.replace("\n", " ")
    if "panicked" in told or "backtrace" in told:
        return f"panicked: {told}"
    if OF_THE_WINDOW.search(told):
        return f"speaks of the window: {told}"
    unknown = set(re.findall(r"--[a-z][a-z-]+", told)) - OPTIONS[tuple(command)]
    if unknown:
        return f"names options that there are not ({', '.join(sorted(unknown))}): {told}"
    if result.returncode != 0:
        if result.returncode == 2 or len(errors) != 1:
            return f"exit code {result.returncode}, {len(errors)} lines: {told}"
        print(f"    refused: {told}")
        return None
    if out is None:
        try:
            answer = json.loads(result.stdout)["result"]
        except (ValueError, KeyError) as error:
            return f"no result: {error}"
        return None if answer else "an empty result"
    svg = out.read_text()
    return None if marks(svg) > 0 else "an empty figure"


OPTIONS = {}
methods = re.findall(r"^  ([a-z-]+) ", run("analyze", "--help").stdout, re.M)
methods = [method for method in methods if method not in ("help", "heads")]
for command in [("render",), *(("analyze", method) for method in methods)]:
    OPTIONS[command] = options_of(*command)
models = run("models").stdout
missing = [name for name in re.findall(r"demo:[a-z-]+", models) if name not in INPUTS]
assert not missing, f"no input for {missing}"
wrong, n = [], 0
with tempfile.TemporaryDirectory() as folder:
    out = Path(folder) / "figure.svg"
    for model, given in INPUTS.items():
        print(model)
        asked = [(("render",), [view]) for view in VIEWS]
        asked += [(("render",), ["explain", "--question", question]) for question in QUESTIONS]
        asked += [(("analyze", method), needed(method, given)) for method in methods]
        for command, words in asked:
            if command == ("render",):
                out.unlink(missing_ok=True)
                found = check(command, [*words, "--model", model, *given, "--out", str(out)], out)
            else:
                found = check(command, [*words, "--model", model, *given])
            n += 1
            if found:
                wrong.append(f"{model} {' '.join(command)} {' '.join(words)}: {found}")
                print(f"    WRONG {wrong[-1]}")
print(f"{n} commands, {len(wrong)} wrong")
sys.exit(min(len(wrong), 100))
