"""What the program holds after a day at its real window, against what it held after the first minute.

    python benches/day.py [--attnscope target/release/attnscope] [--minutes 20] [--seed 1] [--size 1280x800]

The release program in a window of Xvfb, painted by Mesa's software driver, and somebody at its keys, pointer and wheel:
144 things a minute, so that 20 minutes are the 2,880 things of eight hours. Texts are typed, bundled models, examples,
heads and views are chosen from the palette, panes split and closed, runs stopped, changes made and undone, figures
drawn in the export dialog and copied. After the first minute, every five and at the end a new session is begun with the
first example, and for ten seconds nobody touches anything; what the process holds then is printed, in megabytes, as the
system counts it: all that is resident, what of it is the process's own, and pages of files.

Fails when the process holds more than 1.1 times what it held after the first minute. `cargo bench --bench week` is the
stricter twin: without a window system and a driver, it counts what the program alone asks for, and looks for what is
held by nobody. Linux only; needs xvfb, xdotool and Mesa's drivers, as `.ci/run` installs them.
"""

import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PER_MINUTE = 144
REST_EVERY = 5
REST_SECONDS = 10
MOST_GROWTH = 1.1
FIRST_EXAMPLE = "Once upon a time"
# What is typed into the palette. Some of it is nobody's name ("demo:sentences" is a corpus): it finds nothing, or
# something like it, as happens to people.
MODELS = ["demo:gpt", "demo:bert", "demo:vit", "demo:translate", "demo:sentiment", "demo:bilstm", "demo:sentences"]
EXAMPLES = [
    FIRST_EXAMPLE, "Repeated words", "Queries and keys", "Mary's keys", "A map that lies", "A white house", "A cat, called a dog",
    "Nothing to repeat", "Full stops and commas", "A red boat", "Induction takes two", "One of several",
]  # fmt: skip
COMMANDS = ["Cancel", "Examples", "Theme", "Bookmarks", "Shortcuts", "Detach"]
STORY = (
    "Once there was a little dog who lived beside the river. Every morning the dog ran to the old bridge, because the "
    "children came there with bread and apples. One day nobody came, and the dog waited until the sun stood high."
)


class Window:
    """The program, its screen, and the hands at its keys."""

    def __init__(self, program, size, folder):
        self.width, self.height = map(int, size.split("x"))
        number = f":{100 + os.getpid() % 800}"
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.screen = subprocess.Popen(["Xvfb", number, "-screen", "0", f"{size}x24"], **quiet)
        self.environment = {**os.environ, "DISPLAY": number, "HOME": str(folder), "XDG_RUNTIME_DIR": str(folder)}
        for name in ("WAYLAND_DISPLAY", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
            self.environment.pop(name, None)
        time.sleep(1)
        self.program = subprocess.Popen([str(program)], env=self.environment, **quiet)
        time.sleep(8)
        # Nobody manages windows on this screen, so nobody gives the only one the keys.
        self.do("search", "--sync", "--onlyvisible", "--name", "AttnScope", "windowfocus")

    def do(self, *words):
        """Keys and pointer, in the words of xdotool."""
        subprocess.run(["xdotool", *map(str, words)], env=self.environment, check=True)

    def key(self, *keys):
        self.do("key", "--delay", 20, *keys)

    def choose(self, name):
        """From the palette, by its name."""
        self.key("Escape", "ctrl+k")
        self.do("sleep", 0.05, "type", "--delay", 4, name)
        self.do("sleep", 0.05, "key", "Return")

    def inside(self, rng):
        """Somewhere in the middle, where the pane is."""
        return rng.randrange(300, self.width - 300), rng.randrange(180, self.height - 80)

    def close(self):
        for process in (self.program, self.screen):
            process.terminate()
            process.wait()

    def held(self):
        """What the process holds: resident, its own, of files [MB]."""
        if self.program.poll() is not None:
            sys.exit(f"the program ended with {self.program.returncode}")
        lines = Path(f"/proc/{self.program.pid}/status").read_text().splitlines()
        table = dict(line.split(":", 1) for line in lines)
        return [int(table[name].split()[0]) * 1024 / 1e6 for name in ("VmRSS", "RssAnon", "RssFile")]

    def rest(self):
        """A new session with the first example, and nobody touches anything."""
        self.choose("Cancel")
        for keys in ("Escape", "Escape", "ctrl+shift+n"):
            time.sleep(1)
            self.key(keys)
        time.sleep(1)
        # The middle one of three buttons: "Do not save".
        self.do("mousemove", self.width // 2 - 116, self.height // 2 + 42, "click", 1)
        time.sleep(2)
        self.choose(FIRST_EXAMPLE)
        time.sleep(REST_SECONDS)
        return self.held()


def type_text(window, rng):
    start = rng.randrange(len(STORY) - 50)
    window.do("mousemove", 120, 285, "click", 1, "key", "ctrl+a")
    window.do("type", "--delay", 8, STORY[start : start + rng.randrange(5, 45)])
    window.key("Escape")


def long_text(window, rng):
    window.do("mousemove", 120, 285, "click", 1, "key", "ctrl+a")
    window.do("type", "--delay", 1, STORY * rng.randrange(1, 3))
    window.key("Escape", "ctrl+Return")


def step(window, rng):
    keys = ["Right", "Left", "Down", "Up", "s", "shift+Right", "shift+Left"]
    window.key(*rng.choices(keys, k=3))


def stop(window, rng):
    window.key("ctrl+Return")
    window.choose("Cancel")


def click(window, rng):
    window.do("mousemove", *window.inside(rng), "click", rng.choice([1, 1, 1, 3]))
    window.key("Escape")


def double_click(window, rng):
    window.do("mousemove", *window.inside(rng), "click", "--repeat", 2, "--delay", 60, 1)


def wheel(window, rng):
    held = ["keydown", "ctrl"] if rng.random() < 0.5 else []
    window.do("mousemove", *window.inside(rng), *held, "click", "--repeat", 5, rng.choice([4, 5]), "keyup", "ctrl")


def drag(window, rng):
    window.do("mousemove", *window.inside(rng), "mousedown", 1, "mousemove", *window.inside(rng), "mouseup", 1)


def export(window, rng):
    window.key("ctrl+e")
    time.sleep(0.3)
    window.key("Escape")


ACTS = {
    "a head, layer or query is looked at": (18, step),
    "another view": (14, lambda window, rng: window.key(rng.choice("12345678"))),
    "a click": (8, click),
    "a double click": (3, double_click),
    "a text is typed": (9, type_text),
    "a long text": (2, long_text),
    "the wheel": (6, wheel),
    "a drag": (3, drag),
    "undo, redo, back, forward, flip": (
        8,
        lambda window, rng: window.key(rng.choice(["ctrl+z", "ctrl+shift+z", "alt+Left", "alt+Right", "f"])),
    ),
    "a model": (6, lambda window, rng: window.choose(rng.choice(MODELS))),
    "an example": (6, lambda window, rng: window.choose(rng.choice(EXAMPLES))),
    "panes: split, closed, linked, compared": (
        8,
        lambda window, rng: window.key(
            rng.choice(["ctrl+backslash", "ctrl+shift+backslash", "ctrl+w", "ctrl+w", "w", "l", "ctrl+n"])
        ),
    ),
    "a run that is stopped": (4, stop),
    "a figure in the export dialog": (4, export),
    "a figure is copied": (3, lambda window, rng: window.key("ctrl+shift+c")),
    "a bookmark": (1, lambda window, rng: window.key("ctrl+b", "Escape")),
    "a place's address": (1, lambda window, rng: window.key("ctrl+shift+l")),
    "a command or a sheet": (4, lambda window, rng: (window.choose(rng.choice(COMMANDS)), window.key("Escape"))),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=Path("target/release/attnscope"))
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", default="1280x800")
    parser.add_argument("--picture", type=Path, help="of the window at its last rest")
    options = parser.parse_args()
    rng = random.Random(options.seed)
    names = list(ACTS)
    weights = [ACTS[name][0] for name in names]
    done, rests = collections.Counter(), []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        window = Window(options.attnscope.resolve(), options.size, folder)
        try:
            print("minute   at work: resident   at rest: resident, its own, of files [MB]", flush=True)
            for minute in range(1, options.minutes + 1):
                end, most = time.monotonic() + 60, 0
                for n in range(PER_MINUTE):
                    name = rng.choices(names, weights)[0]
                    ACTS[name][1](window, rng)
                    done[name] += 1
                    most = max(most, window.held()[0])
                    time.sleep(max(0, (end - time.monotonic()) / (PER_MINUTE - n)))
                if minute == 1 or minute % REST_EVERY == 0 or minute == options.minutes:
                    rests.append(window.rest())
                    held = " ".join(f"{held:>9.0f}" for held in rests[-1])
                    print(f"{minute:>6}   {most:>17.0f}    {held}", flush=True)
            if options.picture:
                subprocess.run(["import", "-window", "root", options.picture], env=window.environment, check=True)
        finally:
            window.close()
    for name, n in done.items():
        print(f"  {n:>4} × {name}")
    growth = [last / first for last, first in zip(rests[-1], rests[0], strict=True)]
    print(f"resident {growth[0]:.2f} times (at most {MOST_GROWTH}), the program's own {growth[1]:.2f} times")
    if growth[0] > MOST_GROWTH:
        sys.exit("the window grows")


if __name__ == "__main__":
    main()
