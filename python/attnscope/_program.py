"""The program beside the module: opening its window, and figures from it."""

import difflib
import html
import inspect
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from ._arrays import AttentionError
from ._capture import capture

_NAME = "attnscope.exe" if os.name == "nt" else "attnscope"
# Of one head on a sheet, in points.
_COLUMN = 240
# What `render` and `open` call what a person asks for here.
_RENDERED = (
    "stack",
    "layer",
    "head",
    "query",
    "key",
    "theme",
    "width",
    "height",
    "top_p",
    "top_k",
    "threshold",
    "sheet",
)
_OPENED = ("stack", "layer", "head", "query", "theme", "size")
_OF_PAGES = ("stack", "layer", "head", "query", "theme")
# Views that a page for a browser has.
_VIEWS_OF_PAGES = ("lines", "heatmap", "grid")
# Of a page in a notebook, in pixels.
_PAGE_HEIGHT = 640


class ProgramError(RuntimeError):
    """The program is not there, or refused: its own sentence."""


class Page:
    """A page with every head, for a browser: ``save`` it to send it; notebooks show it. ``data`` is the same, under the
    name that IPython's objects have."""

    def __init__(self, page):
        self.html = self.data = page

    def save(self, path):
        Path(path).write_text(self.html, encoding="utf-8")

    def _repr_html_(self):
        # A frame of its own: nothing of the notebook is seen from there, and several pages do not disturb each other.
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" sandbox="allow-scripts" title="Attention" '
            f'style="width: 100%; height: {_PAGE_HEIGHT}px; border: 0"></iframe>'
        )

    def __repr__(self):
        return f"<attnscope.Page, {len(self.html)} bytes of HTML>"


class Figure:
    """A figure as SVG; notebooks draw it. ``data`` is the same, under the name that IPython's objects have."""

    def __init__(self, svg):
        self.svg = self.data = svg

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
        raise ProgramError(
            "the attnscope program is not beside this module: install the wheel with pip, or set ATTNSCOPE_BINARY"
        )
    return found


def save(path, attention=None, tokens=None, sentence_b_start=None, **what):
    """Writes a capture file, which the program opens; the arguments are those of ``capture``.

    A file that is there stays whole until the new one is."""
    _write(Path(path), capture(attention, tokens, sentence_b_start, **what))


def _write(path, captured):
    content = captured.to_bytes()
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        beside.write_bytes(content)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def render(attention=None, tokens=None, sentence_b_start=None, *, view="lines", all_heads=False, **options):
    """A figure of a view as SVG: lines, heatmap, picture, qk-map, qk-maps and what else ``attnscope render`` draws.

    stack, layer, head, query, key, theme, width, height, top_p, top_k, threshold and sheet are those of the command; several
    heads are heads=[0, 3], and all_heads puts every head of a stack on one sheet. The arguments of BertViz' functions mean
    what they mean there."""
    options, _ = _of_bertviz(options, _RENDERED)
    captured, options = _captured((attention, tokens, sentence_b_start), options)
    if all_heads:
        options = _on_a_sheet(captured.tensors, options)
    return _drawn(captured, view, "figure.svg", _flags(options, _RENDERED))


def page(attention=None, tokens=None, sentence_b_start=None, *, view="lines", **options):
    """A page for a browser with every head: one file that needs no other and no network, as HTML.

    It opens with a view (lines, heatmap, grid), stack, layer, head or heads, query and theme. The other arguments are
    those of ``capture``."""
    options, _ = _of_bertviz(options, _OF_PAGES)
    captured, options = _captured((attention, tokens, sentence_b_start), options)
    return _drawn(captured, view, "page.html", _flags(options, _OF_PAGES))


def _captured(given, options):
    """The capture that some of the options make, and the other options."""
    what = inspect.signature(capture).parameters
    captured = capture(*given, **{name: it for name, it in options.items() if name in what})
    return captured, {name: it for name, it in options.items() if name not in what}


def _drawn(captured, view, name, flags):
    """What ``attnscope render`` writes of a capture."""
    # Groups are there to be seen as words.
    if '"group":' in captured.metadata.get("tokens", ""):
        flags = [*flags, "--words"]
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder) / "attention.safetensors", Path(folder) / name
        _write(path, captured)
        run = subprocess.run(
            [binary(), "render", view, "--capture", str(path), "--out", str(out), *flags],
            capture_output=True,
            text=True,
        )
        if run.returncode != 0:
            raise ProgramError(
                run.stderr.strip().removeprefix("attnscope: ") or f"the program ended with {run.returncode}"
            )
        return out.read_text(encoding="utf-8")


def show(attention=None, tokens=None, sentence_b_start=None, *, view="lines", wait=False, all_heads=False, **options):
    """Opens the window on attention, and goes on; with ``wait`` only after it was closed.

    In a notebook, or with html_action="return", a page is returned, which notebooks show; a figure where the view is on
    no page or an option that only figures have is given. Options are those of ``capture`` and ``render``."""
    options, returns = _of_bertviz(options, {*_RENDERED, *_OPENED})
    if returns or _in_notebook():
        options.pop("size", None)
        of_figures = {*_RENDERED} - {*_OF_PAGES}
        if view in _VIEWS_OF_PAGES and not of_figures & options.keys():
            view = "grid" if all_heads else view
            return Page(page(attention, tokens, sentence_b_start, view=view, **options))
        return Figure(render(attention, tokens, sentence_b_start, view=view, all_heads=all_heads, **options))
    # The window has all heads; it begins with the first of those that were chosen.
    heads = options.pop("heads", None)
    if heads is not None:
        options["head"] = heads[0]
    flags = _flags(options, _OPENED)
    # What only a figure has.
    options = {name: value for name, value in options.items() if name not in _RENDERED}
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


def _on_a_sheet(tensors, options):
    """The options of a figure with a column for each head and a row for each layer."""
    names = [where.split(".") for where in tensors if where.endswith(".pattern")]
    stack = options.get("stack", names[0][0])
    layers = sorted(int(layer) for of, layer, _ in names if of == stack)
    if not layers:
        raise AttentionError(f"stack={stack!r} is none of {', '.join(dict.fromkeys(of for of, _, _ in names))}")
    heads = options.get("heads", range(max(len(tensors[f"{stack}.{layer}.pattern"]) for layer in layers)))
    sheet = {"layer": layers, "heads": list(heads), "sheet": f"{len(heads)}x{len(layers)}"}
    return {"width": _COLUMN * len(heads), **options, **sheet, "stack": stack}


def _of_bertviz(options, known):
    """The options in our words, of which the program has those in `known`, and whether the figure is to be returned."""
    options = {name: value for name, value in options.items() if value is not None}
    action = options.pop("html_action", "view")
    if action not in ("view", "return"):
        raise AttentionError(f"html_action={action!r} is neither 'view' nor 'return'")
    mode = options.pop("display_mode", None)
    if mode not in (None, "dark", "light"):
        raise AttentionError(f"display_mode={mode!r} is neither 'dark' nor 'light'")
    if mode is not None:
        options.setdefault("theme", mode)
    if not options.pop("prettify_tokens", True):
        options["token_style"] = "as is"
    chosen = [options.pop(name, None) for name in ("heads", "include_heads")]
    chosen = [it for it in chosen if it is not None]
    if len(chosen) == 2:
        raise AttentionError("give either heads or include_heads: both choose the heads that are drawn")
    if chosen:
        heads = [int(head) for head in ([chosen[0]] if isinstance(chosen[0], int) else chosen[0])]
        if not heads or "head" in options:
            raise AttentionError("heads is a list of heads to draw, such as [0, 3], and takes the place of head")
        options["heads"] = heads
    if options.get("include_layers"):
        options.setdefault("layer", options["include_layers"][0])
    known = {*inspect.signature(capture).parameters, *known, "heads"}
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(sorted(known))}"
            raise AttentionError(f"{name} is no argument{hint}")
    return options, action == "return"


def _flags(options, known):
    """Takes what the program is told out of what is written."""
    flags = []
    heads = options.pop("heads", None)
    if heads is not None:
        options["head"] = heads
    for name in known:
        value = options.pop(name, None)
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        if value is not None:
            flags += [f"--{name.replace('_', '-')}", str(value)]
    return flags


def _in_notebook():
    shell = sys.modules.get("IPython")
    shell = shell.get_ipython() if shell else None
    return type(shell).__name__ == "ZMQInteractiveShell"
