"""From what other libraries give to the tensors and entries of a capture file."""

import json
from collections.abc import Mapping

import numpy as np

from ._arrays import AttentionError, array, chosen
from ._file import Capture
from ._found import Found, found_in
from ._picture import of_regions, picture_of
from ._rows import check
from ._stacks import field, has_hooks, of_hooks, stacks_of
from ._tokens import STYLES, Tokens, Vocabulary, mask_of, seconds, tokens_of

_ROWS = ("full", "partial", "sink")
_NONE = (
    "there is no attention in what was given: load the model with attn_implementation='eager' and call it "
    "with output_attentions=True"
)


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
    tokenizer=None,
    decoder_tokenizer=None,
    token_style=None,
    groups=None,
    attention_mask=None,
    decoder_attention_mask=None,
    beam_indices=None,
    query_positions=None,
    queries=None,
    seconds_per_position=None,
    image=None,
    pixel_values=None,
    grid=None,
    patch_size=None,
    n_prefix=None,
    regions=None,
    region_unit="pixel",
    processor=None,
    include_layers=None,
    rows="full",
    sinks=None,
    item=None,
    name=None,
    text=None,
    text_b=None,
):
    """Takes attention and tokens together.

    attention: layers of ``[heads, queries, keys]``, with or without a batch in front; a model's whole output, also
        that of ``generate()``; or a TransformerLens cache, of which queries, keys and values are kept, too.
    tokens: one text per position, or ids with a tokenizer. sentence_b_start: where the second sentence begins.
    tokenizer: knows texts of ids, special tokens and the spelling; decoder_tokenizer where the decoder has its own.
    token_style: "as is", "wordpiece", "byte-level", "word end" or "sentencepiece"; without it the tokens tell.
    groups: lists of positions of tokens that are words of one's own, ``[[3, 4], [7, 8, 9]]``, or such lists by side
        (``{"encoder": …}``); they are merged as words are.
    attention_mask, decoder_attention_mask: 1 for tokens, 0 for padding, which is cut off.
    beam_indices: of a beam search, where its output is not given whole; False where there were no beams.
    query_positions: where the queries stand, when there are fewer than keys.
    queries: keeps the rows of some queries alone, over all keys, so that long texts stay small: "last:8", or positions
        ``[5, 17]`` among the tokens; of a model with one stack.
    seconds_per_position: labels the positions of a sound that has no tokens (Whisper: 0.02).
    image, pixel_values: the picture as it was, and as the model saw it; grid, patch_size, n_prefix: where its patches
        lie, and how many tokens come before them; processor: what cropped and normalised it.
    regions: boxes on the picture in place of patches, one for each key, as left, top, right and bottom in pixels, or in
        parts of its width and height with region_unit="fraction".
    include_layers: only these layers.
    rows: "full" where rows sum to 1; "sink" where the rest of each went to a learned sink; "partial" where
        it is not known, as in sparse exports.
    sinks: layers of ``[heads, queries]`` with what went to a learned sink, where that was recorded.
    item: which input of a batch, or which returned sequence. name: of the model. text, text_b: the input, for captions
        and, with a tokenizer, for where in it the tokens stand.
    """
    if rows not in _ROWS:
        raise AttentionError(f"rows={rows!r} is none of {', '.join(map(repr, _ROWS))}")
    if token_style is not None and token_style not in STYLES:
        raise AttentionError(f"token_style={token_style!r} is none of {', '.join(map(repr, STYLES))}")
    given = {"encoder": encoder_attention, "decoder": decoder_attention, "cross": cross_attention}
    stacks = {stack: layers for stack, layers in given.items() if layers is not None}
    if has_hooks(attention):
        _no_effect(stacks, "a cache of TransformerLens has all of its attention", "_attention")
        found = Found(of_hooks(attention, item), item)
        found.has_batch = any(array(attention[key]).ndim == 4 for key in attention.keys() if "hook_pattern" in str(key))
    else:
        of_output = stacks_of(attention, bool(stacks))
        _no_effect(stacks.keys() & of_output.keys(), "the output has it already", "_attention")
        stacks.update(of_output)

        def own_mask(one):
            return None if attention_mask is None else mask_of(attention_mask, one, "attention_mask")

        found = found_in(attention, stacks, beam_indices, item, own_mask)
    if include_layers is not None:
        found.keep_layers(include_layers)
    if not found.patterns():
        raise AttentionError(_NONE)
    if item not in (None, 0, -1) and not found.has_batch:
        raise AttentionError(f"item={item} says which input of a batch, and the attention is of one input: leave it out")
    if beam_indices is not None and beam_indices is not False and not found.has_steps:
        _no_effect(["beam_indices"], "there are no steps of generate()")
    _add_sinks(found, rows, sinks)
    found.spread(query_positions)
    sizes = found.sizes()
    if decoder_tokenizer is not None and "decoder" not in sizes:
        _no_effect(["decoder_tokenizer"], "there is no attention of decoder tokens")
    if text_b is not None and text is None:
        _no_effect(["text_b"], "it is the second text of a pair: give text, too")
    if processor is not None and all(it is None for it in (image, pixel_values, grid, patch_size, n_prefix, regions)):
        _no_effect(["processor"], "there is no picture: give image or pixel_values")

    texts = _texts(attention, sizes, tokens, encoder_tokens, decoder_tokens, tokenizer)
    if not texts:
        named = {"tokenizer": tokenizer, "decoder_tokenizer": decoder_tokenizer, "token_style": token_style}
        _no_effect([name for name, it in named.items() if it is not None], "there are no tokens: give tokens, too")
    tokenizers = {side: tokenizer for side in sizes}
    tokenizers["decoder"] = tokenizer if decoder_tokenizer is None else decoder_tokenizer
    vocabularies = {side: Vocabulary(it) for side, it in tokenizers.items() if it is not None}
    listed = {
        side: tokens_of(given, vocabularies.get(side), token_style, found.item_of(side), f"{side} tokens")
        for side, given in texts.items()
    }
    if seconds_per_position is not None:
        side = "encoder" if "encoder" in sizes else "self"
        if side in listed or side not in sizes:
            raise AttentionError("seconds_per_position labels positions that have no tokens: give one or the other")
        listed[side] = seconds(sizes[side], seconds_per_position)
    if sentence_b_start is not None:
        if "self" not in listed:
            raise AttentionError("sentence_b_start is a position among tokens: give tokens, too")
        listed["self"].begin_second(sentence_b_start)
    if groups is not None:
        _group(listed, groups)
    seen = next((side for side in ("vision", "encoder", "self") if side in sizes), None)
    if regions is None:
        if region_unit != "pixel":
            _no_effect(["region_unit"], "there are no regions: give regions, too")
        picture = picture_of(sizes.get(seen), image, pixel_values, grid, patch_size, n_prefix, processor, item)
    else:
        wrong = {"pixel_values": pixel_values, "grid": grid, "patch_size": patch_size, "processor": processor}
        _no_effect([it for it, value in wrong.items() if value is not None], "regions lie on the whole image")
        picture = of_regions(sizes.get(seen), image, regions, region_unit, n_prefix)
    if picture is not None and seen not in listed:
        listed[seen] = Tokens(picture.tokens, "as is")

    masks = _masks(found, sizes, attention_mask, decoder_attention_mask)
    for side in sizes:
        if side in listed or side in masks:
            cut = found.cut(side, sizes[side], listed.get(side), masks.get(side))
            if cut is not None:
                listed[side] = cut
        if text is not None and side in listed and side in vocabularies and side != "decoder":
            listed[side].put_into(text, text_b, vocabularies[side])
    check(found.tensors, rows, rows == "partial" or found.is_partial)
    if queries is not None:
        found.is_partial &= not _keep_queries(found.tensors, listed, sizes, queries)
    if picture is not None and picture.pixels is not None:
        found.tensors["picture"] = picture.pixels
    described = {
        "tokens": {side: it.entries for side, it in listed.items()},
        "token_style": {side: it.style for side, it in listed.items() if it.style is not None},
        "model": {"name": name} if name else None,
        "input": {key: it for key, it in (("text", text), ("text_b", text_b)) if it},
        "image": None if picture is None else picture.entry,
    }
    metadata = {entry: json.dumps(value) for entry, value in described.items() if value}
    if rows == "partial" or found.is_partial:
        metadata["rows"] = "partial"
    return Capture(found.tensors, metadata)


def _keep_queries(tensors, listed, sizes, queries):
    """Leaves the rows of some queries, in a stack of their own. Queries and keys go: nothing is made of some of them. Whether these rows are whole."""
    if set(sizes) != {"self"}:
        raise AttentionError(f"queries keeps some rows of a model with one stack, and this one has {' and '.join(sizes)}")
    n = next(tensor.shape[-1] for name, tensor in tensors.items() if name.endswith(".pattern"))
    if isinstance(queries, str):
        last = queries.removeprefix("last:")
        if not queries.startswith("last:") or not last.isdigit() or int(last) == 0:
            raise AttentionError(f"queries={queries!r} names none: give 'last:8', or a list of positions")
        positions = list(range(max(n - int(last), 0), n))
    else:
        positions = sorted({int(position) for position in queries})
    if not positions or not 0 <= positions[0] <= positions[-1] < n:
        raise AttentionError(f"queries={queries!r} are not positions among {n} tokens")
    for name in [name for name in tensors if name.startswith("self.")]:
        tensor, (_, layer, site) = tensors.pop(name), name.split(".")
        if site in ("pattern", "scores", "z"):
            tensors[f"chosen.{layer}.{site}"] = np.ascontiguousarray(tensor[:, positions])
        elif site == "sink":
            tensors[f"chosen.{layer}.{site}"] = np.ascontiguousarray(tensor[:, positions])
        elif site == "v":
            tensors[f"chosen.{layer}.{site}"] = tensor
    kept = [tensor for name, tensor in tensors.items() if name.endswith(".pattern")]
    of_all = listed.get("self") or Tokens([{"text": str(at)} for at in range(n)], "as is")
    listed["self"] = of_all
    listed["chosen"] = of_all.kept(positions)
    listed["chosen"].entries = [{**entry, "position": at} for entry, at in zip(listed["chosen"].entries, positions)]
    return all(np.allclose(pattern.sum(axis=-1), 1, atol=1e-2) for pattern in kept)


def _group(listed, groups):
    """Marks the tokens of each group; without sides it is the only one that has tokens."""
    if not isinstance(groups, Mapping):
        if len(listed) != 1:
            sides = " and ".join(map(repr, listed)) or "no side"
            raise AttentionError(f"groups are positions of tokens, and {sides} has some: give groups={{side: […]}}")
        groups = {side: groups for side in listed}
    for side, lists in groups.items():
        if side not in listed:
            raise AttentionError(f"groups has {side!r}, and there are no {side} tokens")
        listed[side].group(lists)


def _no_effect(names, why, ending=""):
    """Refuses arguments that would change nothing."""
    for name in names:
        raise AttentionError(f"{name}{ending} is given and changes nothing: {why}")


def _texts(output, sizes, tokens, encoder_tokens, decoder_tokens, tokenizer):
    """What was given for each side; for what generate() wrote, its own ids."""
    given = {"self": tokens, "encoder": encoder_tokens, "decoder": decoder_tokens}
    if tokens is not None and "self" not in sizes:
        if "text" not in sizes:
            raise AttentionError("an encoder-decoder has two texts: give encoder_tokens and decoder_tokens")
        given = {"text": tokens}
    written = "decoder" if "decoder" in sizes or "cross" in sizes else "self"
    sequences = field(output, "sequences")
    if sequences is not None and tokenizer is not None and given.get(written) is None:
        given[written] = sequences
    given = {side: it for side, it in given.items() if it is not None}
    for side in given:
        if side not in sizes:
            raise AttentionError(f"there are {side} tokens, but no attention of {side} tokens")
    return given


def _masks(found, sizes, own, decoders):
    """By side, the name of a mask and what it says of each position."""
    masks = {}
    for name, given in (("attention_mask", own), ("decoder_attention_mask", decoders)):
        if given is None:
            continue
        reading = ("decoder",) if name.startswith("decoder") else ("encoder", "text", "self")
        side = next((side for side in reading if side in sizes), None)
        if side is None:
            raise AttentionError(f"{name} is given, but there is no attention of {' or '.join(reading)} tokens")
        masks[side] = (name, mask_of(given, found.item_of(side), name))
    return masks


def _add_sinks(found, rows, sinks):
    """What of each row went to a learned sink: recorded, of the only stack or by stack, or what is left."""
    if sinks is not None:
        by_stack = sinks if isinstance(sinks, Mapping) else {"self": sinks}
        for stack, layers in by_stack.items():
            for layer, sink in enumerate(layers):
                if sink is not None:
                    where = f"{stack}.{layer}.sink"
                    found.tensors[where] = chosen(array(sink), 2, where, found.item_of(stack))
    elif rows == "sink":
        for where, pattern in found.patterns().items():
            left = 1.0 - pattern.astype(np.float64).sum(axis=-1)
            found.tensors[where.replace(".pattern", ".sink")] = np.clip(left, 0.0, 1.0).astype(np.float32)
