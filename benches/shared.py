"""What several benches need: an input for the command line, and a section of a page."""

import numpy as np
from safetensors.numpy import save_file


def input_arguments(inputs, work):
    """What PyTorch reads (a batch of one), or a reference keeps (no batch), for the command line of attnscope."""
    arguments = []
    if "pixel_values" in inputs:
        pixels = np.asarray(inputs["pixel_values"], dtype=np.float32)
        save_file({"pixel_values": np.ascontiguousarray(pixels.reshape(pixels.shape[-3:]))}, work / "pixels.safetensors")
        arguments += ["--pixels", str(work / "pixels.safetensors")]
    for key, flag in (("input_ids", "--ids"), ("decoder_input_ids", "--target-ids")):
        if key in inputs:
            arguments += [flag, ",".join(str(int(token)) for token in np.asarray(inputs[key]).reshape(-1))]
    if "global_attention_mask" in inputs:
        chosen = np.flatnonzero(np.asarray(inputs["global_attention_mask"]).reshape(-1))
        arguments += ["--global", ",".join(map(str, chosen)) or "none"]
    return arguments


def write_section(path, title, section):
    """Puts a section that begins with `title` in the place of the older one, or at the end; others stay."""
    text = path.read_text() if path.exists() else ""
    section = section.rstrip() + "\n"
    start = text.find(f"{title}\n")
    if start < 0:
        path.write_text((text.rstrip() + "\n\n" if text else "") + section)
        return
    end = text.find("\n## ", start)
    path.write_text(text[:start] + section + (text[end:] if end >= 0 else ""))
