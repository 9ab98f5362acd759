"""The icon in every form that a system wants, from attnscope.svg: pictures, one file for Windows, one for macOS.

Needs rsvg-convert; what it writes is in the repository, so that nobody else needs it."""

import struct
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
# Kinds of macOS' icon files by the size of the picture in them.
MACOS = {128: b"ic07", 256: b"ic08", 512: b"ic09"}
WINDOWS = (16, 32, 48, 256)


def picture(size):
    command = ["rsvg-convert", "--width", str(size), "--height", str(size), str(HERE / "attnscope.svg")]
    return subprocess.run(command, check=True, capture_output=True).stdout


def main():
    for size in (32, 64, 128, 256):
        (HERE / f"{size}.png").write_bytes(picture(size))

    pictures = [(size, picture(size)) for size in WINDOWS]
    directory, at = struct.pack("<HHH", 0, 1, len(pictures)), 6 + 16 * len(pictures)
    for size, content in pictures:
        directory += struct.pack("<BBBBHHII", size % 256, size % 256, 0, 0, 1, 32, len(content), at)
        at += len(content)
    (HERE / "attnscope.ico").write_bytes(directory + b"".join(content for _, content in pictures))

    parts = b""
    for size, kind in MACOS.items():
        content = picture(size)
        parts += kind + struct.pack(">I", len(content) + 8) + content
    (HERE / "attnscope.icns").write_bytes(b"icns" + struct.pack(">I", len(parts) + 8) + parts)


if __name__ == "__main__":
    main()
