"""Tokens: from texts or ids, with what a tokenizer knows of them, and which of them are padding."""

import numpy as np

from ._arrays import AttentionError, array

# How a vocabulary spells its pieces, see docs/captures.md.
STYLES = ("as is", "wordpiece", "byte-level", "word end", "sentencepiece")


class Tokens:
    """The tokens of one side: an entry for each, as the file has them, and how they are spelled."""

    def __init__(self, entries, style=None):
        self.entries = entries
        self.style = style

    def __len__(self):
        return len(self.entries)

    def put_into(self, text, text_b, vocabulary):
        """Notes where each token stands in the text, which tells exactly what words they make."""
        ids = [entry.get("id") for entry in self.entries]
        places = None if vocabulary is None or None in ids else vocabulary.places(ids, text, text_b)
        for entry, (start, end, segment) in zip(self.entries, places or ()):
            entry.update(start=start, end=end)
            if segment:
                entry["segment"] = segment

    def begin_second(self, start):
        """Marks where the second sentence begins."""
        if not 0 < start < len(self):
            raise AttentionError(f"sentence_b_start={start} is no position within {len(self)} tokens")
        for entry in self.entries[start:]:
            entry["segment"] = 1

    def group(self, groups):
        """Makes one word of the tokens of each list of positions."""
        for number, positions in enumerate(groups):
            positions = [int(position) for position in positions]
            if not positions or positions != list(range(positions[0], positions[0] + len(positions))):
                raise AttentionError(f"the group {positions} is no list of positions that follow each other")
            for position in positions:
                if not 0 <= position < len(self):
                    raise AttentionError(f"the group {positions} has position {position}, and there are {len(self)} tokens")
                if "group" in self.entries[position]:
                    raise AttentionError(f"token {position} is in two groups")
                self.entries[position]["group"] = number

    def kept(self, positions):
        return Tokens([self.entries[at] for at in positions], self.style)


class Vocabulary:
    """What a tokenizer of Transformers or of `tokenizers` says about tokens; a processor has one."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
        self.backend = getattr(tokenizer, "backend_tokenizer", None) or getattr(tokenizer, "_tokenizer", None)
        if self.backend is None and hasattr(tokenizer, "id_to_token"):
            self.backend = tokenizer
        if not hasattr(tokenizer, "convert_ids_to_tokens") and not hasattr(tokenizer, "id_to_token"):
            raise AttentionError(f"tokenizer is {type(tokenizer).__name__}, which is no tokenizer of Transformers")

    def text(self, id):
        if hasattr(self.tokenizer, "convert_ids_to_tokens"):
            text = self.tokenizer.convert_ids_to_tokens(int(id))
        else:
            text = self.tokenizer.id_to_token(int(id))
        return f"#{id}" if text is None else _text(text)

    def special_ids(self):
        found = set(getattr(self.tokenizer, "all_special_ids", ()))
        added = getattr(self.tokenizer, "added_tokens_decoder", None)
        if added is None and hasattr(self.tokenizer, "get_added_tokens_decoder"):
            added = self.tokenizer.get_added_tokens_decoder()
        return found | {id for id, token in (added or {}).items() if getattr(token, "special", False)}

    def ids(self, texts):
        """Ids of the vocabulary's own entries; `None` if some text is none, as where tokens were decoded before."""
        known = self.tokenizer.get_vocab()
        found = [known.get(text) for text in texts]
        return None if None in found else found

    def style(self):
        """How entries are spelled; `None` where the tokenizer does not say."""
        if self.backend is None:
            if hasattr(self.tokenizer, "sp_model"):
                return "sentencepiece"
            return "byte-level" if hasattr(self.tokenizer, "byte_encoder") else None
        model = self.backend.model
        parts = "".join(str(getattr(self.backend, part, "")) for part in ("pre_tokenizer", "decoder", "normalizer"))
        if "ByteLevel" in parts:
            return "word end" if getattr(model, "end_of_word_suffix", None) == "</w>" else "byte-level"
        if "Metaspace" in parts or "ByteFallback" in parts:
            return "sentencepiece"
        return "wordpiece" if type(model).__name__ == "WordPiece" else None

    def places(self, ids, text, text_b):
        """Where each token stands in its text, in bytes, and in which of two; `None` where these ids are of other texts."""
        if not getattr(self.tokenizer, "is_fast", False):
            return None
        for special in (True, False):
            read = self.tokenizer(text, text_b, add_special_tokens=special, return_offsets_mapping=True)
            n = len(read["input_ids"])
            # What a model wrote follows.
            if not 0 < n <= len(ids) or list(read["input_ids"]) != ids[:n]:
                continue
            places = []
            for (start, end), of in zip(read["offset_mapping"], read.sequence_ids()):
                source = (text, text_b)[of or 0] or ""
                places.append((len(source[:start].encode()), len(source[:end].encode()), of or 0))
            return places
        return None


def _text(token):
    # A vocabulary has no text for an id that it does not know.
    if token is None:
        return ""
    return token.decode("utf-8", "replace") if isinstance(token, bytes) else str(token)


def _is_text(token):
    return isinstance(token, (str, bytes))


def tokens_of(given, vocabulary, style, item, what):
    """The tokens of one side: texts or ids, of one input or of a batch, or what a tokenizer returned."""
    if _is_text(given):
        raise AttentionError(
            f"{what} are one text: give a list with one text for each position, as convert_ids_to_tokens returns it"
        )
    if hasattr(given, "keys"):
        if "input_ids" not in given:
            raise AttentionError(f"{what} are a {type(given).__name__} without input_ids: give a list of texts or ids")
        given = given["input_ids"]
    if hasattr(given, "shape"):
        given = array(given, dtype=None)
    given = given.tolist() if hasattr(given, "tolist") else list(given)
    if given and isinstance(given[0], (list, tuple)):
        if item is None and len(given) != 1:
            raise AttentionError(f"there are {what} of {len(given)} inputs: say which one with item=0")
        if not -len(given) <= (item or 0) < len(given):
            raise AttentionError(f"there are {what} of {len(given)} inputs, and no item {item}")
        given = list(given[item or 0])
    ids = None
    if given and not any(map(_is_text, given)) and all(isinstance(token, (int, np.integer)) for token in given):
        if vocabulary is None:
            raise AttentionError(f"{what} are ids: give tokenizer= as well, which knows their texts")
        ids, given = given, [vocabulary.text(id) for id in given]
    texts = [_text(token) for token in given]
    entries = [{"text": text} for text in texts]
    if vocabulary is not None:
        ids = ids or vocabulary.ids(texts)
        if ids is not None:
            special = vocabulary.special_ids()
            for entry, id in zip(entries, ids):
                entry.update(id=int(id), special=int(id) in special)
            style = style or vocabulary.style()
    return Tokens(entries, style)


def seconds(n, each):
    """A label for each position of a sound: where in it the position begins."""
    if isinstance(each, (str, bytes)) or not 0 < each < float("inf"):
        raise AttentionError(f"seconds_per_position={each!r} is no length of time in seconds, such as 0.02")
    digits = next((digits for digits in range(5) if abs(each * 10**digits - round(each * 10**digits)) < 1e-6), 4)
    return Tokens([{"text": f"{at * each:.{digits}f} s"} for at in range(n)], "as is")


def mask_of(given, item, what):
    """Which positions are no padding."""
    mask = array(given)
    if mask.ndim == 2:
        if item is None and mask.shape[0] != 1:
            raise AttentionError(f"{what} is of a batch of {mask.shape[0]}: say which one with item=0")
        if not -mask.shape[0] <= (item or 0) < mask.shape[0]:
            raise AttentionError(f"{what} is of a batch of {mask.shape[0]}, and there is no item {item}")
        mask = mask[item or 0]
    if mask.ndim != 1 or not np.isin(mask, (0.0, 1.0)).all():
        raise AttentionError(
            f"{what} is 1 for tokens and 0 for padding, as tokenizers return it: one number for each token"
        )
    if not mask.any():
        raise AttentionError(f"{what} leaves no token of this input")
    return mask.astype(bool)
