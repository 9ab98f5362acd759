"""What every package holds beside the program, in one folder: python3 packaging/stage.py PROGRAM FOLDER.

Texts, licences (of the dependencies too, as cargo knows them), notices of the bundled models, and the AppStream
description with version and date of the changelog's newest release."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXTS = ("README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT")
LICENCE = re.compile(r"(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)


def version():
    return re.search(r'^version = "(.+)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def date():
    """The day of this version in the changelog; a version without one is not ready to be packaged."""
    found = re.search(rf"^## \[?{re.escape(version())}\]? - (\d{{4}}-\d\d-\d\d)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    if found is None:
        raise SystemExit(f"CHANGELOG.md has no section “{version()} - DATE”")
    return found[1]


def notices():
    """The licences of every crate that is built in, each text once, with the crates that it is of."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1"]
    known = json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout)
    built_in, todo = set(), [known["resolve"]["root"]]
    nodes = {node["id"]: node for node in known["resolve"]["nodes"]}
    while todo:
        crate = todo.pop()
        if crate not in built_in:
            built_in.add(crate)
            deps = nodes[crate]["deps"]
            todo += [dep["pkg"] for dep in deps if any(kind["kind"] != "dev" for kind in dep["dep_kinds"])]
    texts, unwritten = {}, []
    for crate in known["packages"]:
        if crate["id"] not in built_in or crate["source"] is None:
            continue
        name = f"{crate['name']} {crate['version']} ({crate['license'] or 'see its text'})"
        files = [path for path in Path(crate["manifest_path"]).parent.iterdir() if path.is_file() and LICENCE.match(path.name)]
        if not files:
            unwritten.append(name)
        for path in sorted(files):
            texts.setdefault(path.read_text(encoding="utf-8", errors="replace").strip(), []).append(name)
    parts = ["Crates that bring no text of their own; their licence is the one that is named:\n" + "\n".join(unwritten)]
    parts += ["\n".join(sorted(set(names))) + "\n\n" + text for text, names in texts.items()]
    for path in sorted((ROOT / "assets").glob("**/NOTICE.md")) + sorted((ROOT / "assets").glob("**/CREDITS.md")):
        parts.append(f"{path.relative_to(ROOT).as_posix()}\n\n{path.read_text(encoding='utf-8').strip()}")
    return ("\n\n" + "=" * 80 + "\n\n").join(parts) + "\n"


def main():
    program, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy2(program, folder / program.name)
    for name in TEXTS:
        shutil.copy2(ROOT / name, folder / name)
    (folder / "NOTICES.txt").write_text(notices(), encoding="utf-8")
    metainfo = (ROOT / "packaging/metainfo.xml").read_text(encoding="utf-8")
    metainfo = metainfo.replace("@VERSION@", version()).replace("@DATE@", date())
    (folder / "attnscope.metainfo.xml").write_text(metainfo, encoding="utf-8")


if __name__ == "__main__":
    print(version()) if sys.argv[1:] == ["--version"] else main()
