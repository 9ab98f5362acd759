"""What the training recipes share: schedule, log, resumable state and export."""

import argparse
import copy
import csv
import os
import re
import time
from contextlib import nullcontext
from pathlib import Path

import torch

# What `--quick` trains on where no data is given, and for how long.
SAMPLE, QUICK_STEPS = Path(__file__).parent / "sample", 12

# Parameters of a numbered layer, in the names of every architecture used here. GPT-2's queries, keys and
# values are one matrix: Muon would give most of each step to the values, which have the larger gradients.
INNER = re.compile(r"\.(h|layer|layers)\.\d+\.(?!.*c_attn)")


def arguments(description, batch, lr, more=lambda parser: None, needs_data=True):
    """The command line of a recipe; `more` adds what this one has besides."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, help="folder of training data; with --quick a small sample")
    parser.add_argument("--out", type=Path, required=True, help="folder for checkpoint, log and state")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=90, help="plan the decay by elapsed time")
    length.add_argument("--steps", type=int, help="plan the decay by steps: better on a busy machine")
    parser.add_argument("--quick", action="store_true", help="a few steps, to try the recipe: the loss must fall")
    parser.add_argument("--batch", type=int, default=batch)
    parser.add_argument("--lr", type=float, default=lr, help="peak learning rate")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--every", type=float, default=4, help="minutes between evaluations and saves")
    parser.add_argument("--f32", action="store_true", help="no bfloat16 autocast, even where the processor is faster with it")
    more(parser)
    options = parser.parse_args()
    if options.quick:
        options.steps = QUICK_STEPS
    elif needs_data and options.data is None:
        parser.error("--data is needed, unless with --quick")
    options.data = options.data or SAMPLE
    return options


def forward_context(options):
    """bfloat16 matrix products unless `--f32` was given or the processor has none of its own.

    Without AVX-512 they are emulated: a step takes about twenty times as long as in float32.
    """
    is_native = torch.backends.cpu.get_cpu_capability() != "AVX2"
    return torch.autocast("cpu", torch.bfloat16) if is_native and not options.f32 else nullcontext()


def sentences(ids, ends):
    """`ids` cut behind every run of `ends`."""
    found, start = [], 0
    for i, token in enumerate(ids):
        if i + 1 == len(ids) or token in ends and ids[i + 1] not in ends:
            found.append(ids[start : i + 1])
            start = i + 1
    return found


class Run:
    """One training run: everything that has to survive an interruption, and the log."""

    WARMUP_STEPS = 200

    def __init__(self, model, options, weight_decay, columns, muon=False):
        """`muon` hands the matrices inside the layers to Muon (Jordan et al. 2024): fewer steps on two cores.

        What is left, embeddings above all, then learns at half the rate.
        """
        self.model, self.options, self.columns = model, options, columns
        named = list(model.named_parameters())
        inner = [p for name, p in named if muon and p.ndim == 2 and INNER.search(name)]
        rest = [p for _, p in named if not any(p is q for q in inner)]
        groups = [
            {"params": [p for p in rest if p.ndim >= 2], "weight_decay": weight_decay},
            {"params": [p for p in rest if p.ndim < 2], "weight_decay": 0.0},
        ]
        self.optimizers = [torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), fused=True)]
        # Of the rate that was asked for, by optimizer.
        self.shares = [0.5, 1.0] if inner else [1.0]
        if inner:
            settings = {"weight_decay": weight_decay, "adjust_lr_fn": "match_rms_adamw"}
            self.optimizers.append(torch.optim.Muon(inner, lr=0.0, **settings))
        self.step, self.seconds, self.rows = 0, 0.0, []
        self.state_file = options.out / "state.pt"
        options.out.mkdir(parents=True, exist_ok=True)
        if self.state_file.exists():
            state = torch.load(self.state_file, weights_only=True)
            model.load_state_dict(state["model"])
            for optimizer, kept in zip(self.optimizers, state["optimizers"]):
                optimizer.load_state_dict(kept)
            self.step, self.seconds, self.rows = state["step"], state["seconds"], state["rows"]
            print(f"resumed at step {self.step}, {self.seconds / 60:.1f} min", flush=True)

    def progress(self):
        """Share of the planned run that is done, 0 to 1."""
        if self.options.steps:
            return min(1.0, self.step / self.options.steps)
        return min(1.0, self.seconds / (60 * self.options.minutes))

    def train(self, loss_of_step, evaluate, export):
        """Calls `loss_of_step(step)` until the plan is done.

        Batches are a function of the seed and the step alone, so a resumed run sees
        the batches it would have seen. `evaluate(final)` returns a dict of columns.
        """
        warmup = min(self.WARMUP_STEPS, (self.options.steps or self.WARMUP_STEPS * 10) / 10)
        if self.options.quick:
            before = evaluate(False)["heldout_loss"]
        losses, last_save, clock = [], time.monotonic(), time.monotonic()
        while self.progress() < 1.0:
            rate = self.options.lr * min(1.0, (self.step + 1) / warmup)
            rate *= 1.0 - self.progress()
            for optimizer, share in zip(self.optimizers, self.shares):
                for group in optimizer.param_groups:
                    group["lr"] = rate * share
            loss = loss_of_step(self.step)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            for optimizer in self.optimizers:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
            self.step += 1
            now = time.monotonic()
            self.seconds, clock = self.seconds + now - clock, now
            final = self.progress() >= 1.0
            if final or now - last_save > 60 * self.options.every:
                self.record(losses, rate, evaluate(final))
                self.save(export)
                losses, last_save, clock = [], time.monotonic(), time.monotonic()
        if self.options.quick:
            after = self.rows[-1]["heldout_loss"]
            print(f"held-out loss {before:.3f} before, {after:.3f} after {self.step} steps", flush=True)
            if not after < before:
                raise SystemExit("the loss did not fall")

    def record(self, losses, rate, measured):
        """Appends a row to the log and prints it."""
        row = {
            "step": self.step,
            "minutes": round(self.seconds / 60, 2),
            "lr": f"{rate:.2e}",
            "loss": round(sum(losses) / len(losses), 4),
        }
        row |= {name: round(measured[name], 4) for name in self.columns}
        self.rows.append(row)
        print(" ".join(f"{key} {value}" for key, value in row.items()), flush=True)

    def save(self, export):
        """Writes the log, an ordinary f16 checkpoint, and the state to resume from."""
        folder = self.options.out / "model"
        folder.mkdir(exist_ok=True)
        with open(folder / "training.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, fieldnames=list(self.rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(self.rows)
        export(copy.deepcopy(self.model).half(), folder)
        state = {
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": self.step,
            "seconds": self.seconds,
            "rows": self.rows,
        }
        partial = self.state_file.with_suffix(".part")
        torch.save(state, partial)
        os.replace(partial, self.state_file)
