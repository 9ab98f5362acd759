"""Whether patterns can be opened: the program refuses the same, with the same words."""

import warnings

import numpy as np

from ._arrays import AttentionError

# What a row may miss in sum: half precision does.
TOLERANCE = 1e-2


def check(tensors, rows, is_partial):
    """`rows` is what was said of them; `is_partial` also where an output has only some of them."""
    patterns = {where: it for where, it in tensors.items() if where.endswith(".pattern")}
    complete = True
    for where, pattern in patterns.items():
        sink = tensors.get(where.replace(".pattern", ".sink"))
        complete &= _check(where, pattern, sink, is_partial)
    for where in tensors:
        if where.endswith(".sink") and where.replace(".sink", ".pattern") not in patterns:
            raise AttentionError(f"{where} is given, but there is no attention of this layer")
    if rows == "partial" and complete:
        warnings.warn("rows='partial' is given, but all rows sum to 1, so it changes nothing", stacklevel=3)


def _check(where, pattern, sink, is_partial):
    """Raises what is wrong with one pattern; whether its rows are complete."""
    if 0 in pattern.shape:
        raise AttentionError(f"{where} is empty")
    wrong = ~np.isfinite(pattern) | (pattern < 0)
    if wrong.any():
        at = tuple(int(it) for it in np.argwhere(wrong)[0])
        value = float(pattern[at])
        kind = "a negative value" if np.isfinite(value) else "a value that is not a number"
        raise AttentionError(f"{where} has {kind} ({value:g}) at {list(at)}: give the weights after the softmax")
    sums = pattern.sum(axis=-1, dtype=np.float64)
    if sink is not None:
        if sink.shape != pattern.shape[:2]:
            raise AttentionError(
                f"{where} has {pattern.shape[0]} heads and {pattern.shape[1]} queries, but its sink has the shape "
                f"{list(sink.shape)}"
            )
        if not ((sink >= 0) & (sink <= 1 + TOLERANCE)).all():
            raise AttentionError(f"the sink of {where} has values that are not between 0 and 1")
        sums = sums + sink
    above, below = sums > 1 + TOLERANCE, sums < 1 - TOLERANCE
    lacks = below & (sink is not None or not is_partial)
    if (above | lacks).any():
        head, query = (int(it) for it in np.argwhere(above | lacks)[0])
        raise AttentionError(
            f"{where} has rows that do not sum to 1: head {head}, query {query} sums to {sums[head, query]:.4f}"
            f"{_why(pattern, sink, above, below)}"
        )
    return not below.any()


def _why(pattern, sink, above, below):
    sums = pattern.sum(axis=-1, dtype=np.float64)
    if _are_near(sums, 100.0):
        return "; these are per cent: divide them by 100"
    if _are_near(pattern.sum(axis=-2, dtype=np.float64), 1.0):
        return "; its columns do, so it is the other way round: exchange the last two axes, queries first"
    if above.any() and below.any():
        return "; some rows are above 1 and some below, as dropout leaves them: call model.eval() before the run"
    if above.any():
        return ""
    if sink is not None:
        return " with its sink"
    return "; give rows='partial' where the rest is not known, rows='sink' where it went to a learned sink"


def _are_near(sums, whole):
    return bool((np.abs(sums / whole - 1.0) <= TOLERANCE).all())
