"""What becomes of every key of `config.json`, per family: read, harmless, refused.

    python benches/keys.py [--attnscope target/release/attnscope] [--out docs/families.md]

The tiny checkpoints of `tests/fixtures` are opened by `attnscope check`, which prints the keys that it read
and those that it knows to change no number. Keys that only some checkpoints ask for count as read. To learn
what is refused, every key that transformers' own class has (`tests/fixtures/configurations/keys.json`) is
given another value, one at a time: flags are turned round, anything else becomes a number that no model has.
A key counts as refused when the sentence that follows names it.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from shared import write_section

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "tests" / "fixtures"
SECTIONS = ("text_config", "vision_config", "encoder", "decoder")
# Before the names of keys of other files.
FILES = ("generation", "image_processor")
READ, HARMLESS = "Configuration", "Not read, and change no number"
TITLE = "## Keys of config.json"
HEADING = f"""{TITLE}

Written by `python benches/keys.py --out docs/families.md` from what `attnscope check` prints about the checkpoints of `tests/fixtures`; `tests/it/keys.rs` fails when transformers' own configuration class (version {{version}}) has a key that is neither read nor known to change no number.
Refused are keys that were given another value than the usual one and whose refusal names them; some depend on others, and values out of range are refused everywhere.
Keys that no class has, such as notes of tools, stop nothing: `attnscope check` and the window's audit list them as unknown.

| `model_type` | read | harmless | refused with other values |
|---|---|---|---|
"""
# An answer to nothing.
ODD = 12_345_678


def check(attnscope, folder):
    done = subprocess.run([str(attnscope), "check", str(folder), "--details"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def keys(report, title):
    """Names of the entries under a title of the report."""
    names, inside = set(), False
    for line in report.splitlines():
        if not line.startswith("  "):
            inside = line == title
        elif inside and (" = " in line or " is not given" in line):
            names.add(line.strip().split(" = ")[0].split(" is not given")[0])
    return names


def checkpoints():
    """Folders by the `model_type` that they, or a section of theirs, have; with the section's name."""
    found = defaultdict(list)
    for path in sorted([*FIXTURES.glob("*/config.json"), *FIXTURES.glob("families/*/config.json")]):
        config = json.loads(path.read_text())
        if not any(path.parent.glob("model.safetensors")):
            continue
        found[config.get("model_type")].append((path.parent, None))
        for section in SECTIONS:
            inner = config.get(section)
            if isinstance(inner, dict) and "model_type" in inner:
                found[inner["model_type"]].append((path.parent, section))
    return found


def own(names, section):
    """The names inside one section, or outside all of them."""
    if section is None:
        return {name for name in names if name.split(".")[0] not in SECTIONS + FILES}
    return {name.removeprefix(f"{section}.") for name in names if name.startswith(f"{section}.")}


def refused(attnscope, folder, section, candidates):
    names = set()
    for name, usual in candidates.items():
        with tempfile.TemporaryDirectory() as place:
            changed = Path(place) / "model"
            shutil.copytree(folder, changed)
            config = json.loads((changed / "config.json").read_text())
            target = config[section] if section else config
            value = target.get(name, usual)
            target[name] = not value if isinstance(value, bool) else ODD
            (changed / "config.json").write_text(json.dumps(config))
            status, report = check(attnscope, changed)
        if status and name in report and "not supported" in report:
            names.add(name)
    return names


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    classes = json.loads((FIXTURES / "configurations" / "keys.json").read_text())
    places, rows = checkpoints(), {}
    for model_type, entry in classes["families"].items():
        read, harmless = set(), set()
        for folder, section in places.get(model_type, ()):
            status, report = check(options.attnscope, folder)
            if status and READ not in report:
                print(f"left out, because its probe does not run: {folder}: {report}", file=sys.stderr)
                continue
            read |= own(keys(report, READ), section)
            harmless |= own(keys(report, HARMLESS), section)
        if not read:
            continue
        folder, section = places[model_type][0]
        known = entry["keys"] | dict.fromkeys(entry["asked"])
        tried = {name: usual for name, usual in known.items() if isinstance(usual, bool) or usual is None}
        rows[model_type] = (read, harmless - read, refused(options.attnscope, folder, section, tried))
        print(model_type, *(len(part) for part in rows[model_type]), flush=True)
    listed = lambda names: ", ".join(f"`{name}`" for name in sorted(names)) or "–"  # noqa: E731
    table = HEADING.format(version=classes["transformers"])
    for model_type, (read, harmless, no) in rows.items():
        table += f"| {model_type} | {listed(read)} | {listed(harmless)} | {listed(no)} |\n"
    if options.out:
        write_section(options.out, TITLE, table)
    else:
        print(table)


if __name__ == "__main__":
    main()
