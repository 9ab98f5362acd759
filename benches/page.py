"""The page for a browser against BertViz' model view, of the same attention: bytes, and the time until every head is
drawn, in headless Chromium, in turns.

BertViz' own page fetches require.js, d3 and jQuery from the network; here it gets them from a folder of npm packages, so
that only drawing is timed. Needs chromedriver, bertviz, IPython, torch, and this program with its module.

    npm pack requirejs@2.3.6 d3@5.7.0 jquery@2.2.4     # and unpack each into LIBRARIES/NAME
    ATTNSCOPE_BINARY=target/release/attnscope python benches/page.py LIBRARIES [LENGTH …]
"""

import importlib.util
import statistics
import sys
import tempfile
import time
from pathlib import Path

import torch

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "python"))
import attnscope  # noqa: E402

N_LAYERS, N_HEADS, TURNS = 12, 12, 3
# A page that is not there by then is given up.
PATIENCE = 180
CDN = "https://cdnjs.cloudflare.com/ajax/libs/"


def browser_module():
    spec = importlib.util.spec_from_file_location("page_test", ROOT / ".ci/page.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def attention(length):
    """Causal patterns as sharp as those of trained heads."""
    torch.manual_seed(0)
    scores = 3 * torch.randn(N_LAYERS, 1, N_HEADS, length, length)
    later = torch.ones(length, length).triu(1).bool()
    return list(scores.masked_fill(later, float("-inf")).softmax(-1))


def of_bertviz(patterns, tokens, libraries):
    from bertviz import model_view

    html = model_view(patterns, tokens, html_action="return").data
    files = {
        CDN + "require.js/2.3.6/require.min.js": "requirejs/package/require.js",
        CDN + "d3/5.7.0/d3.min": "d3/package/dist/d3.min",
        CDN + "jquery/2.0.0/jquery.min": "jquery/package/dist/jquery.min",
    }
    for url, name in files.items():
        html = html.replace(url, (Path(libraries).resolve() / name).as_uri())
    return html


def timed(browser, path, drawn):
    """Seconds from the address to the last head."""
    start = time.perf_counter()
    browser.call("POST", "/url", {"url": path.as_uri()})
    while time.perf_counter() - start < PATIENCE:
        if browser.script(f"return Boolean({drawn})"):
            return time.perf_counter() - start
        time.sleep(0.01)
    return None


def main(libraries, lengths):
    module = browser_module()
    for length in lengths:
        patterns, tokens = attention(length), [f"t{at}" for at in range(length)]
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = Path(folder) / "attnscope.html", Path(folder) / "bertviz.html"
            ours.write_text(attnscope.page(patterns, tokens, view="grid"), encoding="utf-8")
            theirs.write_text(of_bertviz(patterns, tokens, libraries), encoding="utf-8")
            sizes = [path.stat().st_size for path in (ours, theirs)]
            of_ours = "document.querySelector('main canvas')?.dataset.ready"
            # BertViz draws heads one after the other, each on a ground of its own.
            of_theirs = f"document.querySelectorAll('.attn_background').length >= {N_LAYERS * N_HEADS}"
            times = {"attnscope": [], "bertviz": []}
            for _ in range(TURNS):
                for name, path, drawn in (("attnscope", ours, of_ours), ("bertviz", theirs, of_theirs)):
                    browser = module.Browser()
                    try:
                        times[name].append(timed(browser, path, drawn))
                    except OSError as error:
                        print(f"{name} at {length} tokens: {error}")
                        times[name].append(None)
                    finally:
                        browser.close()
            print(f"{N_LAYERS} × {N_HEADS} heads, {length} tokens:")
            print(f"  bytes: {sizes[0]:,} and {sizes[1]:,}, {sizes[0] / sizes[1]:.3f}")
            medians = {name: statistics.median(all) if None not in all else None for name, all in times.items()}
            for name, median in medians.items():
                print(f"  {name}: " + (f"{median:.2f} s" if median else f"not drawn after {PATIENCE} s"))
            if None not in medians.values():
                print(f"  time: {medians['attnscope'] / medians['bertviz']:.3f}")


if __name__ == "__main__":
    main(sys.argv[1], [int(length) for length in sys.argv[2:]] or [64, 128])
