"""How long explanations take, beside the same in PyTorch.

    python benches/lab.py [--work FOLDER] [--ours BINARY]

Gradients of all patterns of bert-base at 128 tokens (forward and backward), leave-one-out of 64 tokens (by attention
mask; PyTorch: one batch), causal tracing of 20 tokens in gpt2 (all layers and positions, ten noises; PyTorch: a loop of
hooked batches, one for each layer and position). Attention flow has no peer here; published code took 41 s for a
sentence. The same checkpoints, lengths, threads and precision; both sides one after the other on the same machine.
"""

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch
from checkpoints import full_size

THREADS = 2


def ids(n):
    return torch.tensor([[1000 + 37 * index % 5000 for index in range(n)]])


def timed(rounds, work):
    if rounds > 1:
        work()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def gradients(model):
    def work():
        output = model(ids(128), output_attentions=True)
        for pattern in output.attentions:
            pattern.retain_grad()
        output.logits[0, 5, 7].backward()
        assert all(pattern.grad is not None for pattern in output.attentions)

    # The gradient of the weights is nobody's wish; what is asked for begins at the embeddings.
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    model.get_input_embeddings().weight.requires_grad_(True)
    return timed(5, work)


def leave_one_out(model):
    batch = ids(64).repeat(65, 1)
    visible = torch.ones_like(batch)
    for position in range(64):
        visible[position + 1, position] = 0

    def work():
        with torch.no_grad():
            model(batch, attention_mask=visible).logits[:, 5].softmax(-1)

    return timed(3, work)


def tracing(model):
    tokens, subject, samples = ids(20), range(2, 5), 10
    blocks = model.transformer.h
    clean = []
    hooks = [block.register_forward_hook(lambda _m, _i, out: clean.append(first(out).detach())) for block in blocks]
    with torch.no_grad():
        model(tokens)
    for hook in hooks:
        hook.remove()
    noise = torch.randn(samples, len(subject), model.config.n_embd, generator=torch.Generator().manual_seed(0))

    def corrupt(_module, _inputs, out):
        out = out.clone()
        out[1:, subject.start : subject.stop] += 0.1 * noise
        return out

    def work():
        with torch.no_grad():
            for layer, block in enumerate(blocks):
                for position in range(tokens.shape[1]):

                    def restore(_module, _inputs, out):
                        first(out)[1:, position] = clean[layer][0, position]
                        return out

                    at_input = model.transformer.wte.register_forward_hook(corrupt)
                    at_block = block.register_forward_hook(restore)
                    logits = model(tokens.repeat(samples + 1, 1)).logits
                    logits[1:, -1].softmax(-1)[:, 7].mean()
                    at_input.remove()
                    at_block.remove()

    return timed(1, work)


def first(output):
    return output[0] if isinstance(output, tuple) else output


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, help="where checkpoints are built and kept")
    parser.add_argument("--ours", type=Path, help="what `cargo bench --bench lab --no-run` built; default is to build it")
    options = parser.parse_args()
    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-lab-"))
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(THREADS)
    peers = {}
    for name in ("bert-base", "gpt2"):
        folder, model_class = full_size(name, options.work)
        model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        if name == "bert-base":
            peers["leave-one-out"] = leave_one_out(model)
            peers["gradients"] = gradients(model)
        else:
            peers["causal tracing"] = tracing(model)
    print("torch ms:", {what: round(ms, 1) for what, ms in peers.items()}, flush=True)
    root = Path(__file__).resolve().parent.parent
    ours = [options.ours.resolve(), "--bench"] if options.ours else ["cargo", "bench", "--bench", "lab", "--"]
    command = [*map(str, ours), str(options.work)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=True)
    print(f"{'what':16} {'attnscope ms':>13} {'torch ms':>10} {'ratio':>6}")
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            found = json.loads(line)
            peer = peers.get(found["what"])
            told = f"{peer:10.1f} {found['ms'] / peer:6.2f}" if peer else f"{'–':>10} {'–':>6}"
            print(f"{found['what']:16} {found['ms']:13.1f} {told}", flush=True)


if __name__ == "__main__":
    main()
