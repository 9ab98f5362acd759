"""The tensors of one input: picked from a batch, put where their queries stand, and freed of padding."""

import numpy as np

from ._arrays import AttentionError, array, chosen, counted
from ._rows import TOLERANCE
from ._stacks import Steps, field, is_windowed, joined, layers_of, sides, unrolled


def _shape(pattern):
    return f"{counted(pattern.shape[1], 'query', 'queries')} and {counted(pattern.shape[2], 'key', 'keys')}"


class Found:
    """Tensors by their names in a file, and what is known of how they came about."""

    def __init__(self, tensors, item):
        self.tensors = tensors
        self.item = item
        # What of its batch the encoder read, where one input has several outputs.
        self.encoder_item = item
        # By pattern, the position of the first query that an output of generate() has.
        self.starts = {}
        # By side, the number of tokens that the longest sequence of the batch has, where the model wrote them.
        self.written = {}
        # Whether some rows are not there.
        self.is_partial = False
        # Whether one input was picked from several, and whether they are steps of generate().
        self.has_batch = False
        self.has_steps = False

    def patterns(self):
        return {where: it for where, it in self.tensors.items() if where.endswith(".pattern")}

    def item_of(self, side):
        return self.encoder_item if side == "encoder" else self.item

    def sizes(self):
        """How many positions each side has."""
        sizes, first = {}, {}
        for where, pattern in self.patterns().items():
            for side, n in zip(sides(where.split(".")[0]), pattern.shape[1:]):
                first.setdefault(side, where)
                if sizes.setdefault(side, n) != n:
                    raise AttentionError(
                        f"{where} has {_shape(pattern)}, but {first[side]} is of {counted(sizes[side], side + ' token', side + ' tokens')}: "
                        "all layers are to be of one input"
                    )
        return sizes

    def keep_layers(self, layers):
        layers = {int(layer) for layer in np.atleast_1d(layers)}
        known = {int(where.split(".")[1]) for where in self.tensors}
        if not layers <= known:
            raise AttentionError(
                f"include_layers names {sorted(layers - known)}, but there are the layers {sorted(known)}"
            )
        self.tensors = {where: it for where, it in self.tensors.items() if int(where.split(".")[1]) in layers}

    def spread(self, query_positions):
        """Puts the rows of a text with fewer queries than keys where the queries stand; the others are missing."""
        if query_positions is not None and all(
            where.startswith("cross.") or it.shape[1] == it.shape[2] for where, it in self.patterns().items()
        ):
            raise AttentionError(
                "query_positions says where the queries stand among more keys, and there are as many queries as keys: "
                "leave it out"
            )
        for where, pattern in self.patterns().items():
            n_query, n_key = pattern.shape[1:]
            if where.startswith("cross.") or n_query == n_key:
                continue
            if n_query > n_key:
                raise AttentionError(f"{where} has {_shape(pattern)}: {_WINDOWS}")
            if query_positions is None and where not in self.starts and not pattern[..., n_query:].any():
                # Room in a static cache to which nothing was written.
                self.tensors[where] = pattern[..., :n_query]
                continue
            positions = self._positions(where, pattern, query_positions)
            for name in (where, where.replace(".pattern", ".sink")):
                if name in self.tensors:
                    given = self.tensors[name]
                    self.tensors[name] = np.zeros((given.shape[0], n_key, *given.shape[2:]), dtype=np.float32)
                    self.tensors[name][:, positions] = given
            self.is_partial = True

    def _positions(self, where, pattern, given):
        n_query, n_key = pattern.shape[1:]
        if given is None:
            # The last queries of a causal model see one key more each; those that see all say nothing.
            unseen = np.triu(np.ones((n_query, n_key), dtype=bool), n_key - n_query + 1)
            is_causal = n_query > 1 and not pattern[:, unseen].any()
            if where not in self.starts and not is_causal:
                raise AttentionError(
                    f"{where} has {_shape(pattern)}: give query_positions=[…], where the queries stand among the keys; {_WINDOWS}"
                )
            start = self.starts.get(where, n_key - n_query)
            return list(range(start, start + n_query))
        positions = [int(position) for position in np.atleast_1d(array(given, dtype=None))]
        if len(positions) != n_query or len(set(positions)) != n_query or not all(0 <= it < n_key for it in positions):
            raise AttentionError(
                f"query_positions={positions} are not {counted(n_query, 'position', 'different positions')} among {n_key} keys, "
                f"as {where} has them"
            )
        return positions

    def cut(self, side, n, tokens, mask):
        """Cuts the padding of one side off patterns and tokens, and checks that all have one length. `tokens` may be
        none, and so may `mask`, a name with what it says of each position."""
        given = mask
        if mask is not None and side in self.written and len(mask[1]) != n:
            name, kept = mask
            # It is of what the model was given; what it wrote is no padding.
            mask = (name, np.concatenate([kept, np.ones(max(n - len(kept), 0), dtype=bool)])[:n])
        elif mask is not None and len(mask[1]) < n and self._is_filled_up(side, len(mask[1])):
            mask = (mask[0], np.concatenate([mask[1], np.zeros(n - len(mask[1]), dtype=bool)]))
        if tokens is not None and side in self.written and len(tokens) > n:
            # The last one was written and never read; those behind it are of longer sequences of the batch.
            if len(tokens) in (n + 1, self.written[side], self.written[side] + 1):
                tokens = tokens.kept(range(n))
        n_tokens = n if tokens is None else len(tokens)
        fits = n_tokens == n if mask is None else len(mask[1]) == n and n_tokens in (n, int(mask[1].sum()))
        if not fits:
            raise AttentionError(self._disagreement(side, n_tokens, given))
        if mask is None:
            return tokens
        self._cut_tensors(side, *mask)
        return tokens.kept(np.flatnonzero(mask[1])) if tokens is not None and n_tokens == n else tokens

    def _is_filled_up(self, side, n):
        """Whether a model that sees both ways added positions behind the first `n`, as BigBird does to fill a block."""
        own = [it for where, it in self.patterns().items() if set(sides(where.split(".")[0])) == {side}]
        both_ways = any(np.triu(pattern[:, :n, :n], 1).any() for pattern in own)
        return both_ways and not any(pattern[:, :n, n:].any() for pattern in own)

    def _cut_tensors(self, side, name, kept):
        if kept.all():
            return
        for where, tensor in list(self.tensors.items()):
            stack, _, site = where.split(".")
            of_queries, of_keys = (it == side for it in sides(stack))
            if of_keys and site == "pattern":
                lost = tensor[..., ~kept].sum(axis=-1)
                lost = lost[:, kept] if of_queries else lost
                if lost.max(initial=0.0) > TOLERANCE:
                    raise AttentionError(
                        f"{where} has rows with {lost.max():.2f} of their weight on what {name} calls padding: the model "
                        "was called without this mask, so nothing can be cut off"
                    )
                tensor = tensor[..., kept]
            if of_keys if site in ("k", "v") else of_queries:
                tensor = tensor[:, kept]
            self.tensors[where] = tensor

    def _disagreement(self, side, n_tokens, mask):
        where, pattern = next(
            (where, it) for where, it in self.patterns().items() if side in sides(where.split(".")[0])
        )
        if mask is not None:
            name, kept = mask
            return (
                f"{where} has {_shape(pattern)}, there are {n_tokens} {side} tokens, and {name} has {len(kept)} entries, "
                f"of which {int(kept.sum())} are 1: give all three of the same input, as the model had them"
            )
        axis = sides(where.split(".")[0]).index(side)
        n = pattern.shape[1 + axis]
        hint = ""
        if n_tokens < n:
            name = "decoder_attention_mask" if side == "decoder" else "attention_mask"
            hint = f"; if the rest is padding, give {name}= as the model had it, and it is cut off"
        elif n_tokens == n + 1:
            hint = (
                "; the last token that generate() writes is never read: give its whole output, or leave that token out"
            )
        return f"{where} has {n} {('queries', 'keys')[axis]}, but there are {n_tokens} {side} tokens{hint}"


_WINDOWS = "where each row is a window around its query (Longformer, LED), give the model's whole output"


def found_in(output, stacks, beam_indices, item, mask_of):
    """The pattern of every layer. `mask_of` gives the mask of the side that encodes, if there is one."""
    beams = field(output, "beam_indices") if beam_indices is None else beam_indices
    found = Found({}, item)
    layers = {stack: layers_of(given) for stack, given in stacks.items()}
    steps = {stack: it for stack, it in layers.items() if isinstance(it, Steps)}
    rows = {stack: _rows(stack, it, output, beams, item) for stack, it in steps.items()}
    found.has_steps = bool(steps)
    n_outputs = next((it.n_rows() for it in steps.values()), None)
    if beams is not None and beams is not False and steps:
        n_outputs = len(beams)
    last = any(it.begins_anew() for it in steps.values())
    for stack, given in layers.items():
        if stack in steps:
            found.has_batch = True
            given = given.layers(rows[stack], stack, last)
        else:
            given = [None if it is None else array(it) for it in given]
            found.has_batch |= any(it is not None and it.ndim == 4 for it in given)
            _no_windows(stack, given)
        if stack == "encoder" and stack not in steps and n_outputs is not None and item is not None:
            n_inputs = next((len(it) for it in given if it is not None and it.ndim == 4), n_outputs)
            found.encoder_item = item // max(n_outputs // n_inputs, 1)
        everywhere = field(output, "encoder_global_attentions" if stack == "encoder" else "global_attentions")
        for layer, pattern in enumerate(given):
            if pattern is None:
                continue
            where = f"{stack}.{layer}.pattern"
            if stack in steps:
                parts = pattern if last else steps[stack].of_layer(layer)
                pattern, start = joined(pattern, stack, 0 if last else _start(parts, output))
                found.written[sides(stack)[0]] = start + sum(part.shape[-2] for part in parts)
                if start > 0:
                    found.starts[where] = start
            else:
                one = found.encoder_item if stack == "encoder" else item
                pattern = chosen(pattern, 3, where, one)
                kind = type(output).__name__
                is_longformer = kind.startswith(("Longformer", "LED")) and stack in ("self", "encoder")
                if is_longformer or kind.startswith("Generate") and stack == "encoder" and is_windowed(pattern):
                    sees_all = None if everywhere is None else chosen(array(everywhere[layer]), 3, where, one)
                    pattern = unrolled(pattern, sees_all, where, mask_of(one))
            found.tensors[where] = pattern
    return found


def _start(parts, output):
    """The position of the first query, by the length of what was written, whose last token is never read; `None` where
    that is not known."""
    sequences = field(output, "sequences")
    n_query = sum(part.shape[-2] for part in parts)
    n_written = 0 if sequences is None else sequences.shape[-1]
    return n_written - 1 - n_query if n_written > n_query else None


def _no_windows(stack, layers):
    batches = {len(it) for it in layers if it is not None and it.ndim == 4}
    if len(batches) > 1:
        raise AttentionError(
            f"the layers of {stack} attention have batches of {', '.join(map(str, sorted(batches)))}: these are windows of "
            "a picture (Swin), each with attention of its own, which have no place among all its patches here"
        )


def _rows(stack, steps, output, beams, item):
    """Which row of the batch each step of one output has."""
    n_steps, n_rows = len(steps.steps), steps.n_rows()
    if beams is None and n_rows > 1 and (field(output, "sequences") is None or "Beam" in type(output).__name__):
        raise AttentionError(
            f"{stack} attention has {n_rows} rows in each step, which change places where they are beams: give the whole "
            "output of generate(), which has beam_indices, or beam_indices=False if they are inputs or samples"
        )
    if beams is None or beams is False:
        return [item] * n_steps
    beams = array(beams, dtype=np.int64)
    if item is None and len(beams) != 1:
        raise AttentionError(f"beam search returned {len(beams)} sequences: say which one with item=0")
    if not -len(beams) <= (item or 0) < len(beams):
        raise AttentionError(f"there is no item {item} among {len(beams)} returned sequences")
    # Behind the end of a sequence that is shorter than others there is no beam.
    rows = [int(beam) for beam in beams[item or 0][:n_steps] if beam >= 0]
    if rows and max(rows) >= n_rows:
        raise AttentionError(
            f"beam_indices names row {max(rows)}, but the {stack} attention has {counted(n_rows, 'row', 'rows')} in each "
            "step: some generate() of its own (Whisper) keeps one beam of them; call it with num_beams=1, or call the model "
            "itself with the sequence that it wrote"
        )
    return rows
