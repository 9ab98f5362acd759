"""From what other libraries give to one pattern per layer, ``[heads, queries, keys]``.

What ``generate()`` returns has a step for every pass of the model, each with all layers and the rows that are new;
see ``joined``. The windows of Longformer are put where they lie; see ``unrolled``."""

import re
from collections.abc import Mapping

import numpy as np

from ._arrays import AttentionError, array, chosen

# The stacks by what Transformers and BertViz call them.
_NAMED = {
    "encoder": ("encoder_attention", "encoder_attentions"),
    "decoder": ("decoder_attention", "decoder_attentions"),
    "cross": ("cross_attention", "cross_attentions"),
}
# The halves of a model that sees and reads (CLIP).
_HALVES = {"vision": "vision_model_output", "text": "text_model_output"}
# `blocks.3.attn.hook_pattern`, `decoder.0.cross_attn.hook_pattern`
_HOOK = re.compile(r"(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_(pattern|rot_q|rot_k|q|k|v)")


def sides(stack):
    """Whose tokens the queries and the keys of a stack are."""
    return ("decoder", "encoder") if stack == "cross" else (stack, stack)


def field(output, name):
    """What an output has under a name: it may be a mapping, or have attributes."""
    if isinstance(output, Mapping):
        return output.get(name)
    return getattr(output, name, None)


def has_hooks(attention):
    """Whether it is a cache of TransformerLens, which has the methods of a mapping and is none."""
    has_keys = hasattr(attention, "keys") and hasattr(attention, "__getitem__")
    return has_keys and any(_HOOK.fullmatch(str(key)) for key in attention.keys())


def of_hooks(cache, item):
    """The activations of a TransformerLens cache: `[batch, position, head, width]`, patterns as everywhere."""
    found, rotated = {}, set()
    for key in cache.keys():
        match = _HOOK.fullmatch(str(key))
        if match is None:
            continue
        part, layer, kind, site = match.groups()
        stack = "self" if part == "blocks" else "cross" if kind == "cross_attn" else part
        where = f"{stack}.{layer}.{site.removeprefix('rot_')}"
        if site.startswith("rot_"):
            rotated.add(where)
        elif where in rotated:
            continue
        one = chosen(array(cache[key]), 3, where, item)
        # Queries and keys as they meet: after the rotation, where there is one.
        found[where] = one if site == "pattern" else np.swapaxes(one, 0, 1)
    return found


def stacks_of(attention, others):
    """The stacks of one argument: layers, or an output that has some."""
    if attention is None:
        return {}

    # What a model does not have is left out of its output, or None, or empty.
    def first(names):
        return next((it for it in (field(attention, name) for name in names) if it is not None and len(it) > 0), None)

    if field(attention, "segments") is not None:
        raise AttentionError(
            "this is what generate() returns for a long sound, in segments: give the output of one, "
            "output['segments'][0][0]['result'], or that of the model called with the sequence"
        )
    halves = {stack: field(attention, name) for stack, name in _HALVES.items()}
    if any(half is not None for half in halves.values()):
        layers = {stack: field(half, "attentions") for stack, half in halves.items() if half is not None}
        return {stack: found for stack, found in layers.items() if found is not None}
    found = {stack: first(names) for stack, names in _NAMED.items()}
    found = {stack: layers for stack, layers in found.items() if layers is not None}
    alone = first(("attentions", "attention"))
    if found:
        # A decoder that reads from elsewhere calls its own attention as if there were no other.
        return found if alone is None else {"decoder": alone, **found}
    is_output = isinstance(attention, Mapping) or any(
        hasattr(attention, it) for it in ("logits", "last_hidden_state", "sequences")
    )
    if alone is None and is_output:
        return {}
    if others:
        raise AttentionError("give either attention, or encoder_attention, decoder_attention and cross_attention")
    return {"self": attention if alone is None else alone}


class Steps:
    """Attention as ``generate()`` returns it: by step, then by layer."""

    def __init__(self, steps):
        self.steps = steps

    def of_layer(self, layer):
        return [step[layer] for step in self.steps]

    def n_rows(self):
        """Rows of the batch: inputs, samples or beams."""
        shapes = [part.shape for part in self.steps[0] if part is not None]
        return shapes[0][0] if shapes and len(shapes[0]) == 4 else 1

    def begins_anew(self):
        """Whether every step has the rows of all tokens so far, as without a cache of keys (`use_cache=False`)."""
        shapes = [next((part.shape[-2:] for part in step if part is not None), (0, 0)) for step in self.steps]
        first, n_source = shapes[0]
        own = all(shape == (first + nth, first + nth) for nth, shape in enumerate(shapes))
        crossed = all(shape == (first + nth, n_source) for nth, shape in enumerate(shapes))
        return len(shapes) > 1 and (own or crossed)

    def layers(self, rows, stack, last=False):
        """By layer, the parts of one output; `rows` says which row of the batch each step has. The `last` one alone where
        it has all rows."""
        for layer in range(len(self.steps[0])):
            parts = self.of_layer(layer)[: len(rows)]
            where = f"{stack}.{layer}"
            pairs = list(zip(parts, rows))[-1:] if last else zip(parts, rows)
            yield None if parts[0] is None else [chosen(array(it), 3, where, row) for it, row in pairs]


def layers_of(given):
    """One entry per layer, or `Steps`."""
    if hasattr(given, "shape"):
        whole = array(given)
        if whole.ndim not in (4, 5):
            raise AttentionError(f"attention has {whole.ndim} axes where layers, heads, queries and keys belong")
        return list(whole)
    layers = list(given)

    def is_step(given):
        is_layers = isinstance(given, (list, tuple)) and len(given) > 0
        return is_layers and all(part is None or hasattr(part, "shape") for part in given)

    if layers and all(map(is_step, layers)):
        return Steps(layers)
    return layers


def joined(parts, stack, start=None):
    """The rows of all steps under each other, and the position of the first of them, which may be known.

    A step sees the keys up to its own: fewer where the model has a window, which then ends there; and more where the
    cache has room for what was not yet written, which then has no weight."""
    if stack == "cross":
        return np.concatenate(parts, axis=-2), 0
    n_query, n_key = parts[0].shape[-2:]
    if start is None:
        # Keys before the first query are of an earlier call, unless nothing behind it has weight.
        start = n_key - n_query if n_key > n_query and parts[0][..., n_query:].any() else 0
    end, placed = start, []
    n_all = start + sum(part.shape[-2] for part in parts)
    for part in parts:
        end += part.shape[-2]
        n_key = part.shape[-1]
        if n_key > end:
            if part[..., end:].any():
                raise AttentionError(
                    f"{stack}: a step with {end} tokens has weight on {n_key} keys, so an earlier call left some in the "
                    "cache: give the attention of all calls, or of one without past_key_values"
                )
            part, n_key = part[..., :end], end
        if placed and not part[..., -1, -1].any():
            raise AttentionError(
                f"{stack}: the row of token {end - 1} has no weight on the token itself in any head, so it is the row of "
                "another one, as assisted generation returns them: call the model itself with the sequence that was written"
            )
        row = np.zeros((*part.shape[:-1], n_all), dtype=np.float32)
        row[..., end - n_key : end] = part
        placed.append(row)
    return np.concatenate(placed, axis=-2), start


def is_windowed(pattern):
    """Whether the columns of an encoder's pattern are windows around its queries: there are fewer or more than keys, or
    the first query has nothing before the middle, where it stands itself, and the last one nothing behind it."""
    n_query, n_key = pattern.shape[1:]
    middle = n_key // 2
    outside = [pattern[:, 0, :middle], pattern[:, -1, middle + 1 :]]
    return n_query != n_key or middle > 0 and not any(part.any() for part in outside)


def unrolled(local, everywhere, where, keep=None):
    """Longformer's attention as one row over all keys: `[heads, queries, global + window]`, in which a window is
    centred at its query and the columns before it are those of the tokens that see all; their own rows are in
    `everywhere`, `[heads, keys, global]`, and empty in `local`. `keep` says which positions are no padding."""
    n_heads, n = local.shape[:2]
    n_global = 0 if everywhere is None else everywhere.shape[-1]
    reach, odd = divmod(local.shape[-1] - n_global, 2)
    if not odd:
        raise AttentionError(
            f"{where} has {local.shape[-1]} columns, which are no window beside {n_global} global tokens"
        )
    sees_all = np.flatnonzero(~local.any(axis=(0, 2)) & (True if keep is None else keep))
    if len(sees_all) > n_global:
        raise AttentionError(
            f"{where} has {len(sees_all)} rows without weight, but {n_global} global tokens with rows of their own: if "
            "the others are padding, give attention_mask; generate() leaves out the rows of global tokens, so call the "
            "model itself"
        )
    dense = np.zeros((n_heads, n, n), dtype=np.float32)
    for query in range(n):
        first, last = max(query - reach, 0), min(query + reach + 1, n)
        begin = n_global + first - (query - reach)
        dense[:, query, first:last] = local[:, query, begin : begin + last - first]
    for nth, position in enumerate(sees_all):
        dense[:, :, position] += local[:, :, nth]
        dense[:, position, :] = everywhere[:, :n, nth]
    return dense
