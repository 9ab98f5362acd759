"""The picture that a vision model saw, and where its patches lie."""

import os

import numpy as np

from ._arrays import AttentionError, array, chosen, counted

# Tokens before the patches that models have: [CLS], none, [CLS] and [DIST], [CLS] and registers.
_PREFIXES = (1, 0, 2, 5)
_PREFIX_NAMES = {1: ["[CLS]"], 2: ["[CLS]", "[DIST]"]}


class Picture:
    """Pixels `[height, width, 3]` or none, the entry of the file, and the names of the tokens."""

    def __init__(self, pixels, entry, tokens):
        self.pixels = pixels
        self.entry = entry
        self.tokens = tokens


def picture_of(n, image, pixel_values, grid, patch_size, n_prefix, processor, item):
    """The picture of `n` tokens; `None` where nothing says that there is one."""
    if all(it is None for it in (image, pixel_values, grid, patch_size, n_prefix)):
        return None
    seen = None if pixel_values is None else chosen(array(pixel_values), 3, "pixel_values", item)
    patch = _pair(patch_size, "patch_size")
    if grid is None and seen is not None and patch is not None:
        grid = (seen.shape[1] // patch[0], seen.shape[2] // patch[1])
    rows, columns, n_prefix = _grid(n, _pair(grid, "grid"), n_prefix, None if seen is None else seen.shape[1:])
    pixels = _pixels(image) if image is not None else _as_seen(seen, processor)
    crop = None if pixels is None else _crop(pixels, processor if image is not None else None)
    if patch is None:
        height, width = _model_size(seen, processor) or ((crop[3], crop[2]) if crop else (16 * rows, 16 * columns))
        patch = (max(round(height / rows), 1), max(round(width / columns), 1))
    entry = {"grid_height": rows, "grid_width": columns, "n_prefix": n_prefix}
    entry.update(patch_height=patch[0], patch_width=patch[1])
    if crop is not None:
        entry["crop"] = dict(zip(("x", "y", "width", "height"), map(float, crop)))
    prefix = _PREFIX_NAMES.get(n_prefix, ["[CLS]"][:n_prefix] + [f"[REG{at}]" for at in range(1, n_prefix)])
    tokens = [{"text": text, "special": True} for text in prefix]
    tokens += [{"text": f"r{row} c{column}", "special": False} for row in range(rows) for column in range(columns)]
    return Picture(pixels, entry, tokens)


def of_regions(n, image, regions, unit, n_prefix):
    """The picture of `n` tokens that are regions, after `n_prefix` others; `regions` as left, top, right and bottom."""
    if unit not in ("pixel", "fraction"):
        raise AttentionError(f"region_unit={unit!r} is neither 'pixel' nor 'fraction'")
    if image is None:
        raise AttentionError("regions are boxes on a picture: give image, too")
    boxes = array(regions)
    if boxes.ndim != 2 or boxes.shape[1] != 4 or len(boxes) == 0:
        raise AttentionError(f"regions has the shape {list(boxes.shape)}, not a left, top, right and bottom for each")
    before = max((n or 0) - len(boxes), 0) if n_prefix is None else n_prefix
    if n is None or len(boxes) + before != n or (n_prefix is None and before not in _PREFIXES):
        found = counted(n or 0, "key", "keys")
        boxes_said = counted(len(boxes), "region", "regions")
        raise AttentionError(f"{boxes_said} and {found} do not fit: give a box for every key")
    pixels = _pixels(image)
    height, width = pixels.shape[:2]
    whole = np.array([width, height, width, height], dtype=np.float64)
    edges = boxes * whole if unit == "fraction" else boxes
    for nth, (box, (left, top, right, bottom)) in enumerate(zip(boxes.tolist(), edges.tolist())):
        said = f"region {nth} ({', '.join(f'{edge:g}' for edge in box)})"
        if not np.isfinite([left, top, right, bottom]).all():
            raise AttentionError(f"{said} is not finite")
        if left >= right or top >= bottom:
            raise AttentionError(
                f"{said} has no area: edges are left, top, right and bottom, not a corner with width and height"
            )
        # Detectors round.
        if min(left, top) < -1 or right > width + 1 or bottom > height + 1:
            raise AttentionError(f"{said} lies outside of the picture of {width} × {height} pixels")
    edges = np.clip(edges, 0, whole)
    entry = {"regions": [[float(edge) for edge in box] for box in edges], "n_prefix": before}
    entry.update(width=int(width), height=int(height))
    prefix = _PREFIX_NAMES.get(before, ["[CLS]"][:before] + [f"[REG{at}]" for at in range(1, before)])
    tokens = [{"text": text, "special": True} for text in prefix]
    tokens += [{"text": f"region {nth}", "special": False} for nth in range(len(boxes))]
    return Picture(pixels, entry, tokens)


def _pair(given, what):
    if given is None:
        return None
    pair = (given, given) if np.ndim(given) == 0 else tuple(given)
    if len(pair) != 2 or not all(int(side) == side and side > 0 for side in pair):
        raise AttentionError(f"{what}={given!r} is neither a number nor a pair of height and width")
    return int(pair[0]), int(pair[1])


def _grid(n, grid, n_prefix, seen):
    """Rows and columns of square patches, and the tokens before them; `seen` has the height and width of the pixels."""
    if grid is not None:
        rows, columns = grid
        n_others = n - rows * columns
        if n_prefix != n_others if n_prefix is not None else n_others not in _PREFIXES:
            before = (
                "tokens before it" if n_prefix is None else counted(n_prefix, "token before it", "tokens before it")
            )
            raise AttentionError(
                f"a grid of {rows} × {columns} patches and {before} are not the {n} tokens of the attention: give grid "
                "and n_prefix that are; patches among the tokens of a text cannot be shown"
            )
        return rows, columns, n_others
    for before in _PREFIXES if n_prefix is None else (n_prefix,):
        height, width = seen or (1, 1)
        side = (max(n - before, 0) * height / width) ** 0.5
        rows, columns = round(side), round(side * width / height)
        if rows > 0 and rows * columns + before == n and rows * width == columns * height:
            return rows, columns, before
    raise AttentionError(
        f"{n} tokens are no {'grid' if seen else 'square'} of square patches: give grid=(rows, columns) and n_prefix"
    )


def _pixels(image):
    """Bytes of a path, of a picture of PIL, or of an array with channels first or last."""
    if isinstance(image, (str, os.PathLike)):
        if not os.path.exists(image):
            raise AttentionError(f"the picture cannot be read: there is nothing at {os.fspath(image)}")
        try:
            from PIL import Image, ImageOps
        except ImportError:
            raise AttentionError(
                "reading a picture needs Pillow: pip install pillow, or give the pixels as an array"
            ) from None
        try:
            with Image.open(image) as opened:
                # Turned as the camera was held, which is what Transformers does with a path.
                image = ImageOps.exif_transpose(opened).convert("RGB")
        except OSError as error:
            raise AttentionError(f"the picture cannot be read: {error}") from None
    if hasattr(image, "convert"):
        image = image.convert("RGB")
    pixels = array(image, dtype=None)
    if pixels.ndim == 2:
        pixels = np.stack([pixels] * 3, axis=-1)
    if pixels.ndim == 3 and pixels.shape[0] in (1, 3, 4) and pixels.shape[2] not in (1, 3, 4):
        pixels = np.moveaxis(pixels, 0, -1)
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or 0 in pixels.shape:
        raise AttentionError(f"image has the shape {list(pixels.shape)}, not height, width and three channels")
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    if pixels.dtype != np.uint8:
        if not np.isfinite(pixels).all() or pixels.min() < 0:
            raise AttentionError("image has values below 0: give it before it was normalised, or as pixel_values")
        pixels = np.clip(np.round(pixels * (255.0 if pixels.max() <= 1.0 else 1.0)), 0, 255).astype(np.uint8)
    return pixels


def _as_seen(values, processor):
    """What a model saw, with the normalisation of its processor undone; without one, from the darkest to the brightest."""
    if values is None:
        return None
    if values.shape[0] not in (1, 3):
        raise AttentionError(f"pixel_values has the shape {list(values.shape)}, not three channels, height and width")
    processor = getattr(processor, "image_processor", processor)
    mean, std = getattr(processor, "image_mean", None), getattr(processor, "image_std", None)
    if mean is not None and std is not None and getattr(processor, "do_normalize", True):
        values = values * np.reshape(std, (-1, 1, 1)) + np.reshape(mean, (-1, 1, 1))
    elif values.min() < 0 or values.max() > 1:
        values = (values - values.min()) / max(values.max() - values.min(), 1e-12)
    return _pixels(np.clip(values, 0.0, 1.0))


def _size(size):
    """Height and width of a processor's size, or the length of the shortest edge."""
    if size is None:
        return None, None
    get = size.get if hasattr(size, "get") else lambda key: getattr(size, key, None)
    if get("height") and get("width"):
        return (int(get("height")), int(get("width"))), None
    return None, get("shortest_edge")


def _model_size(seen, processor):
    if seen is not None:
        return seen.shape[1:]
    processor = getattr(processor, "image_processor", processor)
    cropped = _size(getattr(processor, "crop_size", None))[0] if getattr(processor, "do_center_crop", False) else None
    return cropped or _size(getattr(processor, "size", None))[0]


def _crop(pixels, processor):
    """The part of a picture that the patches cover: x, y, width and height. Without a processor all of it."""
    height, width = pixels.shape[:2]
    processor = getattr(processor, "image_processor", processor)
    exact, short = _size(getattr(processor, "size", None)) if getattr(processor, "do_resize", False) else (None, None)
    scale = (height / exact[0], width / exact[1]) if exact else (1.0, 1.0)
    if short:
        scale = (min(height, width) / short,) * 2
    cropped = _size(getattr(processor, "crop_size", None))[0] if getattr(processor, "do_center_crop", False) else None
    if cropped is None:
        return 0.0, 0.0, width, height
    tall, wide = cropped[0] * scale[0], cropped[1] * scale[1]
    return (width - wide) / 2, (height - tall) / 2, wide, tall
