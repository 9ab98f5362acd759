"""Attention in AttnScope, from Python.

    import attnscope
    attnscope.show(outputs.attentions, tokens)          # opens the window; in a notebook, a figure
    attnscope.save("flies.safetensors", outputs.attentions, tokens)
    svg = attnscope.render(outputs.attentions, tokens, view="heatmap", layer=3, head=5)

``attention`` is whatever other libraries give: the tuple that ``output_attentions=True`` returns, or the
whole output of a model, NumPy arrays, or the cache of TransformerLens. The arguments of BertViz's
``head_view`` and ``model_view`` mean here what they mean there, so ``attnscope.head_view`` takes the same call.
"""

from ._capture import AttentionError, Capture, capture
from ._program import Figure, ProgramError, binary, render, save, show

head_view = show
model_view = show

__all__ = [
    "AttentionError",
    "Capture",
    "Figure",
    "ProgramError",
    "binary",
    "capture",
    "head_view",
    "model_view",
    "render",
    "save",
    "show",
]
