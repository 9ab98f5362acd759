"""The page for a browser in headless Chromium: it draws every view, answers to the pointer and to keys, asks the
network for nothing and reports no error. Arguments: the page, and a folder for pictures where they are wanted."""

import base64
import json
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--window-size=1280,900",
]


class Browser:
    """A session of ChromeDriver by its own protocol."""

    def __init__(self):
        self.driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, text=True)
        started = next(line for line in self.driver.stdout if "started successfully on port" in line)
        self.port = int(re.search(r"port (\d+)", started)[1])
        options = {"args": FLAGS}
        wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        made = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}}, session="")
        self.session = f"/session/{made['sessionId']}"

    def call(self, method, path, body=None, session=None):
        at = (self.session if session is None else session) + path
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{at}", data, method=method)
        return json.loads(urllib.request.urlopen(request, timeout=120).read())["value"]

    def script(self, text):
        return self.call("POST", "/execute/sync", {"script": text, "args": []})

    def wait(self, condition):
        for _ in range(300):
            if self.script(f"return {condition}"):
                return
            time.sleep(0.05)
        raise SystemExit(f"the page did not get there: {condition}")

    def pointer(self, x, y, click=False):
        moves = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if click:
            moves += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        source = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}, "actions": moves}
        self.call("POST", "/actions", {"actions": [source]})

    def key(self, value):
        source = {"type": "key", "id": "keys", "actions": [{"type": t, "value": value} for t in ("keyDown", "keyUp")]}
        self.call("POST", "/actions", {"actions": [source]})

    def place(self, selector):
        """Left, top, width, height in the window."""
        return self.script(
            f"const r = document.querySelector('{selector}').getBoundingClientRect();"
            "return [r.x, r.y, r.width, r.height]"
        )

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("GET", "/screenshot")))

    def close(self):
        self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()


def inked(browser):
    """Pixels of the canvas that differ from the first."""
    return browser.script(
        "const c = document.querySelector('main canvas');"
        "const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);"
        "let n = 0; for (const p of d) n += p !== d[0]; return n"
    )


def main(page, pictures):
    browser = Browser()
    try:
        browser.call("POST", "/url", {"url": pathlib.Path(page).resolve().as_uri()})
        views = browser.script("return data.views.map((view) => view.name)")
        for at, view in enumerate(views, 1):
            browser.script("document.activeElement.blur()")
            browser.key(str(at))
            browser.wait(f"document.body.dataset.ready === '{view}'")
            if view == "grid":
                browser.wait("document.querySelector('main canvas').dataset.ready")
            if view == "text":
                browser.wait("document.querySelectorAll('main .token[style*=background]').length > 1")
                left, top, width, height = browser.place("main .token:nth-of-type(4)")
                browser.pointer(left + width / 2, top + height / 2)
            else:
                assert inked(browser) > 2_000, f"{view} is empty"
                left, top, width, height = browser.place("main canvas")
                browser.pointer(left + (150 if view == "heatmap" else 60), top + min(height / 2, 160))
            said = browser.script("return document.getElementById('reading').textContent")
            assert any(c.isdigit() for c in said), f"{view} reads nothing under the pointer: {said}"
            print(f"{view}: {said}")
            if pictures:
                browser.picture(pathlib.Path(pictures) / f"{view}.png")
        browser.key(str(views.index("grid") + 1))
        browser.wait("document.body.dataset.ready === 'grid'")
        browser.wait("document.querySelector('main canvas').dataset.ready")
        left, top, *_ = browser.place("main canvas")
        browser.pointer(left + 32 + 10, top + 20 + 10, click=True)
        browser.wait("document.body.dataset.ready === 'heatmap' && state.layer === 0 && state.head === 0")
        browser.script("document.activeElement.blur()")
        browser.key("\ue014")
        browser.wait("state.head === 1 || layerNow().heads.length === 1")
        errors = [entry["message"] for entry in browser.call("POST", "/se/log", {"type": "browser"})]
        assert not errors, errors
        asked = browser.script("return performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert not asked, asked
        print(f"{len(views)} views passed")
    finally:
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
