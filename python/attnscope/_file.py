"""What a capture file holds, and its bytes."""

import json
import struct

import numpy as np


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
        # Pictures last: their values have one byte, so the next ones would not be aligned.
        for name, tensor in sorted(self.tensors.items(), key=lambda it: it[1].dtype == np.uint8):
            dtype, code = ("U8", "u1") if tensor.dtype == np.uint8 else ("F32", "<f4")
            values = np.ascontiguousarray(tensor, dtype=code).tobytes()
            header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [at, at + len(values)]}
            parts.append(values)
            at += len(values)
        text = json.dumps(header).encode()
        # Values begin at a multiple of eight.
        text += b" " * (-len(text) % 8)
        return b"".join([struct.pack("<Q", len(text)), text, *parts])
