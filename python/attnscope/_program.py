"""The program beside the module: opening its window, and figures from it."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from ._capture import capture

_NAME = "attnscope.exe" if os.name == "nt" else "attnscope"
# What `render` and `open` call what a person asks for here.
_RENDERED = ("stack", "layer", "head", "query", "key", "theme", "width", "height", "top_p", "top_k", "threshold")
_OPENED = ("stack", "layer", "head", "query", "theme", "size")


class ProgramError(RuntimeError):
    """The program is not there, or refused: its own sentence."""


class Figure:
    """A figure as SVG; notebooks draw it."""

    def __init__(self, svg):
        self.svg = svg

    def _repr_svg_(self):
        return self.svg

    def __repr__(self):
        return f"<attnscope.Figure, {len(self.svg)} bytes of SVG>"


def binary():
    """The program: ATTNSCOPE_BINARY, the one that was installed with this module, or one on the PATH."""
    chosen = os.environ.get("ATTNSCOPE_BINARY")
    if chosen:
        if not Path(chosen).is_file():
            raise ProgramError(f"ATTNSCOPE_BINARY is {chosen}, where there is no file")
        return chosen
    schemes = [sysconfig.get_path("scripts")]
    user = f"{os.name}_user"
    if user in sysconfig.get_scheme_names():
        schemes.append(sysconfig.get_path("scripts", user))
    # A module that was installed into a folder of its own has its scripts in there.
    schemes.append(str(Path(__file__).parent.parent / "bin"))
    for folder in schemes:
        path = Path(folder) / _NAME
        if path.is_file():
            return str(path)
    found = shutil.which(_NAME)
    if found is None:
        raise ProgramError("the attnscope program is not beside this module: install the wheel with pip, or set ATTNSCOPE_BINARY")
    return found


def save(path, attention=None, tokens=None, sentence_b_start=None, **what):
    """Writes a capture file, which the program opens; the arguments are those of ``capture``.

    A file that is there stays whole until the new one is."""
    path = Path(path)
    content = capture(attention, tokens, sentence_b_start, **what).to_bytes()
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def render(attention=None, tokens=None, sentence_b_start=None, *, view="heads", **options):
    """A figure of a view as SVG: heads, heatmap, image, scatter, matrix and what else ``attnscope render`` draws.

    stack, layer, head, query, key, theme, width, height, top_p, top_k and threshold are those of the command."""
    flags = _flags(options, _RENDERED)
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "attention.safetensors", Path(folder) / "figure.svg"
        save(path, attention, tokens, sentence_b_start, **options)
        run = subprocess.run(
            [binary(), "render", view, "--capture", str(path), "--out", str(out), *flags], capture_output=True, text=True
        )
        if run.returncode != 0:
            raise ProgramError(run.stderr.strip().removeprefix("attnscope: ") or f"the program ended with {run.returncode}")
        return out.read_text(encoding="utf-8")


def show(attention=None, tokens=None, sentence_b_start=None, *, view="heads", wait=False, **options):
    """Opens the window on attention, and goes on; with ``wait`` only after it was closed.

    In a notebook a figure is returned, which the notebook draws. Options are those of ``capture`` and ``render``."""
    if _in_notebook():
        return Figure(render(attention, tokens, sentence_b_start, view=view, **options))
    flags = _flags(options, _OPENED)
    program = binary()
    # The window reads the file when it is ready, and may read it again: it lies as long as temporary files do.
    folder = Path(tempfile.mkdtemp(prefix="attnscope-"))
    path = folder / f"{options.get('name') or 'attention'}.safetensors".replace("/", "-")
    try:
        save(path, attention, tokens, sentence_b_start, **options)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    window = subprocess.Popen([program, "open", str(path), "--view", view, *flags], stdin=subprocess.DEVNULL)
    if wait:
        code = window.wait()
        shutil.rmtree(folder, ignore_errors=True)
        if code != 0:
            raise ProgramError(f"the window ended with {code}")
    return None


def _flags(options, known):
    """Takes what the program is told out of what is written."""
    flags = []
    for name in known:
        value = options.pop(name, None)
        if value is not None:
            flags += [f"--{name.replace('_', '-')}", str(value)]
    return flags


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell else None
    return type(shell).__name__ == "ZMQInteractiveShell"
