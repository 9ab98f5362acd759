"""Attention in AttnScope, from Python.

    import attnscope
    attnscope.show(outputs.attentions, tokens)          # opens the window; in a notebook, a page
    attnscope.save("flies.safetensors", outputs.attentions, tokens)
    svg = attnscope.render(outputs.attentions, tokens, view="heatmap", layer=3, head=5)

``attention`` is whatever other libraries give: the tuple that ``output_attentions=True`` returns, or the
whole output of a model, also of ``generate()``, NumPy arrays, or the cache of TransformerLens. ``head_view`` and
``model_view`` take the calls of BertViz's functions of these names.
"""

from ._arrays import AttentionError
from ._bertviz import head_view, model_view, neuron_view
from ._capture import capture
from ._file import Capture
from ._program import Figure, Page, ProgramError, binary, page, render, save, show

__all__ = [
    "AttentionError",
    "Capture",
    "Figure",
    "Page",
    "ProgramError",
    "binary",
    "capture",
    "head_view",
    "model_view",
    "neuron_view",
    "page",
    "render",
    "save",
    "show",
]
