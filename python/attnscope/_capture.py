"""From what other libraries give to the tensors and entries of a capture file."""

import json
import re
import struct
from collections.abc import Mapping

import numpy as np

# The stacks of an encoder-decoder by what Transformers and BertViz call them.
_NAMED = {
    "encoder": ("encoder_attention", "encoder_attentions"),
    "decoder": ("decoder_attention", "decoder_attentions"),
    "cross": ("cross_attention", "cross_attentions"),
}
# `blocks.3.attn.hook_pattern`, `decoder.0.cross_attn.hook_pattern`
_HOOK = re.compile(r"(blocks|encoder|decoder)\.(\d+)\.(attn|cross_attn)\.hook_(pattern|rot_q|rot_k|q|k|v)")
_ROWS = ("full", "partial", "sink")


class AttentionError(ValueError):
    """What was given cannot be shown; the message says what to do."""


class Capture:
    """Named tensors, and what is known about them: what a capture file holds."""

    def __init__(self, tensors, metadata):
        self.tensors = tensors
        self.metadata = metadata

    def to_bytes(self):
        """The file: a header in JSON, then the values of every tensor, little-endian."""
        header, parts, at = {}, [], 0
        if self.metadata:
            header["__metadata__"] = self.metadata
        for name, tensor in self.tensors.items():
            values = np.ascontiguousarray(tensor, dtype="<f4").tobytes()
            header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [at, at + len(values)]}
            parts.append(values)
            at += len(values)
        text = json.dumps(header).encode()
        # Values begin at a multiple of eight.
        text += b" " * (-len(text) % 8)
        return b"".join([struct.pack("<Q", len(text)), text, *parts])


def capture(
    attention=None,
    tokens=None,
    sentence_b_start=None,
    *,
    encoder_attention=None,
    decoder_attention=None,
    cross_attention=None,
    encoder_tokens=None,
    decoder_tokens=None,
    rows="full",
    sinks=None,
    item=None,
    name=None,
    text=None,
):
    """Takes attention and tokens together.

    attention: layers of ``[heads, queries, keys]``, with or without a batch in front; a model's whole output;
        or a TransformerLens cache, of which queries, keys and values are kept, too.
    tokens: one text per position. sentence_b_start: the position where the second sentence begins.
    rows: "full" where rows sum to 1; "sink" where the rest of each went to a learned sink; "partial" where
        it is not known, as in sparse exports.
    sinks: layers of ``[heads, queries]`` with what went to a learned sink, where that was recorded.
    item: which input of a batch. name: of the model. text: the input, for captions.
    """
    if rows not in _ROWS:
        raise AttentionError(f"rows={rows!r} is none of {', '.join(map(repr, _ROWS))}")
    given = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    tensors = {}
    if _has_hooks(attention):
        tensors.update(_from_hooks(attention, item))
    else:
        stacks = {stack: layers for stack, layers in given.items() if layers is not None}
        stacks.update(_stacks_of(attention, bool(stacks)))
        for stack, layers in stacks.items():
            for layer, pattern in enumerate(_layers(layers)):
                if pattern is not None:
                    where = f"{stack}.{layer}.pattern"
                    tensors[where] = _pattern(pattern, where, item)
    patterns = {where: tensor for where, tensor in tensors.items() if where.endswith(".pattern")}
    if not patterns:
        raise AttentionError(
            "there is no attention in what was given: load the model with attn_implementation='eager' and call it "
            "with output_attentions=True"
        )
    if sinks is not None:
        tensors.update(_sinks(sinks, item))
    elif rows == "sink":
        for where, pattern in patterns.items():
            left = 1.0 - pattern.astype(np.float64).sum(axis=-1)
            tensors[where.replace(".pattern", ".sink")] = np.clip(left, 0.0, 1.0).astype(np.float32)
    metadata = _described(_tokens(patterns, tokens, encoder_tokens, decoder_tokens, sentence_b_start, item), name, text)
    if rows == "partial":
        metadata["rows"] = "partial"
    return Capture(tensors, metadata)


def _has_hooks(attention):
    """Whether it is a cache of TransformerLens, which has the methods of a mapping and is none."""
    has_keys = hasattr(attention, "keys") and hasattr(attention, "__getitem__")
    return has_keys and any(_HOOK.fullmatch(str(key)) for key in attention.keys())


def _stacks_of(attention, others):
    """The stacks of one argument: layers, or an output that has some."""
    if attention is None:
        return {}
    get = attention.get if isinstance(attention, Mapping) else lambda name: getattr(attention, name, None)
    # What a model does not have is left out of its output, or None, or empty.
    def first(names):
        return next((it for it in map(get, names) if it is not None and len(it) > 0), None)

    found = {stack: first(names) for stack, names in _NAMED.items()}
    found = {stack: layers for stack, layers in found.items() if layers is not None}
    alone = first(("attentions", "attention"))
    if found:
        # A decoder that reads from elsewhere calls its own attention as if there were no other.
        return found if alone is None else {"decoder": alone, **found}
    if alone is None and (isinstance(attention, Mapping) or hasattr(attention, "logits")):
        return {}
    if others:
        raise AttentionError("give either attention, or encoder_attention, decoder_attention and cross_attention")
    return {"self": attention if alone is None else alone}


def _layers(given):
    """One entry per layer."""
    if hasattr(given, "shape"):
        array = _array(given)
        if array.ndim not in (4, 5):
            raise AttentionError(f"attention has {array.ndim} axes where layers, heads, queries and keys belong")
        return list(array)
    layers = list(given)
    if layers and isinstance(layers[0], (list, tuple)) and all(hasattr(part, "shape") for part in layers[0]):
        return _joined(layers)
    return layers


def _joined(steps):
    """What a model says that writes: for every step all layers, with the rows that are new."""
    layers = []
    for parts in zip(*steps):
        parts = [_array(part) for part in parts]
        n_key = max(part.shape[-1] for part in parts)
        pad = [[(0, 0)] * (part.ndim - 1) + [(0, n_key - part.shape[-1])] for part in parts]
        layers.append(np.concatenate([np.pad(part, by) for part, by in zip(parts, pad)], axis=-2))
    return layers


def _array(given):
    """A NumPy array of float32, whatever library it comes from, on whatever device."""
    if hasattr(given, "detach"):
        given = given.detach().cpu().float().numpy()
    return np.asarray(given, dtype=np.float32)


def _item(array, n_axes, where, item):
    """One input of a batch."""
    if array.ndim == n_axes:
        return array
    if array.ndim != n_axes + 1:
        raise AttentionError(f"{where} has the shape {list(array.shape)}, which has {array.ndim} axes, not {n_axes}")
    if item is None and array.shape[0] != 1:
        raise AttentionError(f"{where} is of a batch of {array.shape[0]}: say which one with item=0")
    if not -array.shape[0] <= (item or 0) < array.shape[0]:
        raise AttentionError(f"there is no item {item} in a batch of {array.shape[0]}")
    return array[item or 0]


def _pattern(given, where, item):
    return _item(_array(given), 3, where, item)


def _sinks(sinks, item):
    """Sinks of the only stack, or of several by their names."""
    by_stack = sinks if isinstance(sinks, Mapping) else {"self": sinks}
    found = {}
    for stack, layers in by_stack.items():
        for layer, sink in enumerate(layers):
            if sink is not None:
                where = f"{stack}.{layer}.sink"
                found[where] = _item(_array(sink), 2, where, item)
    return found


def _from_hooks(cache, item):
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
        if site == "pattern":
            found[where] = _pattern(cache[key], where, item)
        else:
            # Queries and keys as they meet: after the rotation, where there is one.
            found[where] = np.swapaxes(_item(_array(cache[key]), 3, where, item), 0, 1)
    return found


def _tokens(patterns, tokens, encoder_tokens, decoder_tokens, sentence_b_start, item):
    """Tokens by side, each with a text, checked against the patterns."""
    sides = {"self": tokens, "encoder": encoder_tokens, "decoder": decoder_tokens}
    if any(where.startswith(("encoder.", "decoder.", "cross.")) for where in patterns):
        if tokens is not None:
            raise AttentionError("an encoder-decoder has two texts: give encoder_tokens and decoder_tokens")
    found = {}
    for side, texts in sides.items():
        if texts is None:
            continue
        texts = list(texts)
        if texts and isinstance(texts[0], (list, tuple)):
            if item is None and len(texts) != 1:
                raise AttentionError(f"there are tokens of {len(texts)} inputs: say which one with item=0")
            texts = list(texts[item or 0])
        entries = [{"text": _text(token)} for token in texts]
        if side == "self" and sentence_b_start is not None:
            if not 0 < sentence_b_start < len(entries):
                raise AttentionError(f"sentence_b_start={sentence_b_start} is no position within {len(entries)} tokens")
            for entry in entries[sentence_b_start:]:
                entry["segment"] = 1
        found[side] = entries
    for where, pattern in patterns.items():
        stack = where.split(".")[0]
        ends = ("decoder", "encoder") if stack == "cross" else (stack, stack)
        for side, n, what in zip(ends, pattern.shape[1:], ("queries", "keys")):
            if side in found and len(found[side]) != n:
                raise AttentionError(f"{where} has {n} {what}, but there are {len(found[side])} {side} tokens")
    return found


def _text(token):
    return token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)


def _described(tokens, name, text):
    """Entries of a file are texts; these hold JSON."""
    described = {"tokens": tokens or None, "model": {"name": name} if name else None}
    described["input"] = {"text": text} if text else None
    return {entry: json.dumps(value) for entry, value in described.items() if value is not None}
