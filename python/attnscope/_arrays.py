"""Arrays of whatever library as NumPy arrays, and the error that says what to do."""

import numpy as np


class AttentionError(ValueError):
    """What was given cannot be shown; the message says what to do."""


def array(given, dtype=np.float32):
    """A NumPy array, whatever library it comes from, on whatever device."""
    if hasattr(given, "detach"):
        given = given.detach().cpu()
        given = (given.float() if given.is_floating_point() else given).numpy()
    try:
        return np.asarray(given, dtype=dtype)
    except (TypeError, ValueError):
        raise AttentionError(
            f"a {type(given).__name__} is given where numbers belong, or lists of different lengths"
        ) from None


def chosen(given, n_axes, what, item):
    """One input of a batch; what has no batch is returned as it is."""
    if given.ndim == n_axes:
        return given
    if given.ndim != n_axes + 1:
        hint = "; attention by blocks (LongT5, Reformer) has no rows over all keys" if given.ndim > n_axes + 1 else ""
        raise AttentionError(
            f"{what} has the shape {list(given.shape)}, which has {given.ndim} axes, not {n_axes}{hint}"
        )
    if item is None and given.shape[0] != 1:
        raise AttentionError(f"{what} is of a batch of {given.shape[0]}: say which one with item=0")
    if not -given.shape[0] <= (item or 0) < given.shape[0]:
        raise AttentionError(f"{what}: there is no item {item} in a batch of {given.shape[0]}")
    return given[item or 0]


def counted(n, one, many):
    """A number with its noun."""
    return f"{n} {one if n == 1 else many}"
