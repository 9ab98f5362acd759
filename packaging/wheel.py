"""A wheel from a program that is built, without a compiler: python3 packaging/wheel.py PROGRAM FOLDER [PLATFORM].

It holds what maturin would put into it (pyproject.toml): the module, the program as a script, the metadata. On Linux
PLATFORM is found in the program: the newest C library whose symbols it names. Elsewhere it is given, such as win_amd64."""

import base64
import hashlib
import platform
import re
import sys
import tomllib
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from stage import ROOT, notices, version


def linux(program):
    """The tag of the oldest Linux on which the program starts."""
    if program[:4] != b"\x7fELF":
        raise SystemExit("give the platform: the program is none of Linux")
    needed = max(int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", program))
    return f"manylinux_2_{needed}_{platform.machine()}"


def metadata(project):
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {version()}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']}",
        "License-File: LICENSE-APACHE",
        "License-File: LICENSE-MIT",
        "License-File: NOTICES.txt",
        f"Requires-Python: {project['requires-python']}",
        *[f"Requires-Dist: {needed}" for needed in project["dependencies"]],
        "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (ROOT / project["readme"]).read_text(encoding="utf-8")


def main():
    program, folder = Path(sys.argv[1]), Path(sys.argv[2])
    content = program.read_bytes()
    tag = sys.argv[3] if len(sys.argv) > 3 else linux(content)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    stem = f"{project['name']}-{version()}"
    info = f"{stem}.dist-info"
    files = {path.relative_to(ROOT / "python").as_posix(): path.read_bytes() for path in (ROOT / "python").glob("*/*.py")}
    script = f"{stem}.data/scripts/{program.name}"
    files[script] = content
    files[f"{info}/METADATA"] = metadata(project).encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: packaging\nRoot-Is-Purelib: false\nTag: py3-none-{tag}\n".encode()
    for name in ("LICENSE-APACHE", "LICENSE-MIT"):
        files[f"{info}/licenses/{name}"] = (ROOT / name).read_bytes()
    files[f"{info}/licenses/NOTICES.txt"] = notices().encode()
    record = [f"{name},sha256={digest(content)},{len(content)}" for name, content in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""]).encode()

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stem}-py3-none-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if name == script else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, content)
    print(path)


def digest(content):
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


if __name__ == "__main__":
    main()
