"""Random configurations of the decoder families, beside transformers at every site.

    python benches/walk.py [--attnscope target/release/attnscope] [--n 400] [--seed 0] [--only FAMILY]

Each has random sizes, heads and key/value heads, rotary embeddings of every kind, shares of a head, windows, caps,
biases, norms, ties and activations, and reads a text that is shorter or longer than the model was made for.
A tiny model is made with transformers' own class and saved, and opened again by both sides. Verdicts are those of
`odd.py`, and where one side alone can do it:

* equal but for rounding: the difference is at most twice what happens to PyTorch's own numbers when its weights change
  in their last bit;
* REFUSED: transformers runs it;
* RUNS ALONE: transformers fails;
* not made: transformers refuses the configuration itself, so another one is drawn.

Exit status 1 when any verdict is in capitals. `--seed S --only NUMBER` repeats one of them.
"""

import argparse
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import torch
import transformers

from odd import LIMIT, ROOT, capture, compare, difference, reference, sentence
from odd_cases import Case, expected_sites, load

import reference as recorder  # noqa: E402

ACTIVATIONS = ["gelu", "gelu_new", "gelu_pytorch_tanh", "gelu_fast", "gelu_accurate", "gelu_python", "relu", "silu",
               "swish", "quick_gelu", "tanh"]  # fmt: skip
# Odd numbers of turned dimensions are tried only where the library itself can turn them.
SHARES = [0.25, 0.4, 0.5, 0.75, 1.0]
EPS = [1e-6, 1e-5, 1e-3, 0.02]


class Draw:
    """Random choices of one configuration."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def __call__(self, *choices):
        return self.random.choice(choices)

    def maybe(self, chance=0.5):
        return self.random.random() < chance

    def number(self, low, high):
        return round(self.random.uniform(low, high), 2)

    def factors(self, n):
        return [self.number(1.0, 5.0) for _ in range(n)]


def heads(draw, grouped=True):
    """(heads, key/value heads, width of a head)."""
    n_heads = draw(1, 2, 3, 4, 6, 8)
    n_kv = draw(*[n for n in range(1, n_heads + 1) if n_heads % n == 0]) if grouped else n_heads
    return n_heads, n_kv, draw(2, 4, 6, 8, 10, 12, 16)


def rope(draw, n_ctx, n_rotated, kinds=("default", "linear", "dynamic", "yarn", "longrope", "llama3")):
    """A rotary embedding of `n_rotated` dimensions."""
    kind = draw(*kinds)
    it = dict(rope_type=kind, rope_theta=draw(20.0, 100.0, 1000.0, 10_000.0, 500_000.0))
    trained = draw(4, 8, 16, 24)
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        it["factor"] = draw(1.0, 1.5, 2.0, 4.0, 8.0)
    if kind in ("yarn", "longrope", "llama3") and draw.maybe(0.8):
        it["original_max_position_embeddings"] = trained
    if kind == "yarn":
        it |= {key: value for key, value in dict(
            beta_fast=draw.number(2.0, 32.0), beta_slow=draw.number(0.2, 2.0), attention_factor=draw.number(0.5, 1.5),
            mscale=draw.number(0.5, 1.5), mscale_all_dim=draw.number(0.5, 1.5), truncate=draw(True, False),
        ).items() if draw.maybe(0.3)}  # fmt: skip
    if kind == "longrope":
        it |= dict(short_factor=draw.factors(n_rotated // 2), long_factor=draw.factors(n_rotated // 2))
        it |= {key: draw.number(0.8, 4.0) for key in ("factor", "attention_factor") if draw.maybe()}
    if kind == "llama3":
        low = draw(1.0, 2.0)
        it |= dict(low_freq_factor=low, high_freq_factor=low * draw(2.0, 4.0))
    return it


def base(draw, n_heads, n_kv, d_model):
    """What nearly all of them have."""
    return dict(
        vocab_size=61,
        hidden_size=d_model,
        intermediate_size=draw(12, 20, 40),
        num_hidden_layers=draw(1, 2, 3),
        num_attention_heads=n_heads,
        num_key_value_heads=n_kv,
        max_position_embeddings=draw(6, 10, 16, 40, 96),
        tie_word_embeddings=draw(True, False),
        hidden_act=draw(*ACTIVATIONS),
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=draw(None, 0),
    )


def gated(draw, own_width=True):
    """LLaMA and those that are nearly it."""
    n_heads, n_kv, d_head = heads(draw)
    d_model = n_heads * (d_head if not own_width or draw.maybe() else draw(3, 5, 8))
    it = base(draw, n_heads, n_kv, d_model) | dict(rms_norm_eps=draw(*EPS))
    if own_width:
        it["head_dim"] = d_head
    return it, d_head


def with_rope(draw, it, n_rotated, **options):
    return it | dict(rope_parameters=rope(draw, it["max_position_embeddings"], n_rotated, **options))


def windows(draw, it, used=True):
    """A window, and which layers have it."""
    window = dict(sliding_window=draw(1, 2, 3, 5, 16))
    if draw.maybe():
        kinds = ("full_attention", "sliding_attention")
        window["layer_types"] = [draw(*kinds) for _ in range(it["num_hidden_layers"])]
    return window | (dict(use_sliding_window=True, max_window_layers=draw(0, 1, 2)) if used else {})


def llama(draw):
    it, d_head = gated(draw)
    return "LlamaForCausalLM", with_rope(draw, it, d_head) | dict(attention_bias=draw.maybe(), mlp_bias=draw.maybe())


def mistral(draw):
    it, d_head = gated(draw)
    return "MistralForCausalLM", with_rope(draw, it, d_head) | dict(sliding_window=draw(None, 1, 3, 8))


def qwen2(draw):
    it, d_head = gated(draw, own_width=False)
    return "Qwen2ForCausalLM", with_rope(draw, it, d_head) | (windows(draw, it) if draw.maybe() else {})


def qwen3(draw):
    it, d_head = gated(draw)
    more = windows(draw, it) if draw.maybe() else {}
    return "Qwen3ForCausalLM", with_rope(draw, it, d_head) | dict(attention_bias=draw.maybe()) | more


def gemma(draw):
    it, d_head = gated(draw)
    return "GemmaForCausalLM", with_rope(draw, it, d_head) | dict(attention_bias=draw.maybe())


def gemma2(draw):
    it, d_head = gated(draw)
    it["hidden_activation"] = it.pop("hidden_act")
    caps = dict(attn_logit_softcapping=draw(None, 1.0, 5.0), final_logit_softcapping=draw(None, 1.0, 7.0))
    more = dict(query_pre_attn_scalar=draw(1, 5, 30), attention_bias=draw.maybe())
    return "Gemma2ForCausalLM", with_rope(draw, it, d_head) | caps | more | windows(draw, it, used=False)


def by_kind(draw, it, d_head):
    """A rotary embedding for each kind of layer."""
    n = it["max_position_embeddings"]
    found = dict(full_attention=rope(draw, n, d_head), sliding_attention=rope(draw, n, d_head))
    return found | (dict(truncate=draw.maybe()) if draw.maybe(0.2) else {})


def gemma3(draw):
    n_heads, n_kv, d_head = heads(draw)
    it = base(draw, n_heads, n_kv, n_heads * draw(4, 5, 8)) | dict(head_dim=d_head, rms_norm_eps=draw(*EPS))
    it["hidden_activation"] = it.pop("hidden_act")
    caps = dict(final_logit_softcapping=draw(None, 1.0, 7.0), use_bidirectional_attention=draw.maybe(0.2))
    more = dict(query_pre_attn_scalar=draw(1, 5, 30), attention_bias=draw.maybe())
    ropes = dict(rope_parameters=by_kind(draw, it, d_head)) if draw.maybe(0.8) else {}
    return "Gemma3ForCausalLM", it | caps | more | ropes | windows(draw, it, used=False)


def olmo2(draw):
    it, d_head = gated(draw, own_width=False)
    return "Olmo2ForCausalLM", with_rope(draw, it, d_head) | dict(attention_bias=draw.maybe())


def olmo3(draw):
    it, d_head = gated(draw, own_width=False)
    ropes = dict(rope_parameters=by_kind(draw, it, d_head)) if draw.maybe(0.8) else {}
    return "Olmo3ForCausalLM", it | ropes | dict(attention_bias=draw.maybe()) | windows(draw, it, used=False)


def granite(draw):
    it, d_head = gated(draw, own_width=False)
    names = ("embedding_multiplier", "attention_multiplier", "residual_multiplier", "logits_scaling")
    factors = {name: draw.number(0.2, 4.0) for name in names if draw.maybe()}
    return "GraniteForCausalLM", with_rope(draw, it, d_head) | factors | dict(
        attention_bias=draw.maybe(), mlp_bias=draw.maybe()
    )


def smollm3(draw):
    it, d_head = gated(draw, own_width=False)
    n = it["num_hidden_layers"]
    layers = draw(dict(no_rope_layers=[draw(0, 1) for _ in range(n)]), dict(no_rope_layer_interval=draw(1, 2, 4)))
    more = {key: value for key, value in windows(draw, it).items() if key != "max_window_layers"} if draw.maybe() else {}
    biases = dict(attention_bias=draw.maybe(), mlp_bias=draw.maybe(), pad_token_id=0)
    return "SmolLM3ForCausalLM", with_rope(draw, it, d_head) | layers | more | biases


def share(draw, d_head, odd=False):
    """(share of a head, turned dimensions)."""
    fitting = [share for share in SHARES if int(d_head * share) % 2 == 0 or odd and share < 1]
    share = draw(*fitting)
    return share, int(d_head * share)


def stablelm(draw):
    it, d_head = gated(draw, own_width=False)
    it["layer_norm_eps"] = it.pop("rms_norm_eps")
    part, n = share(draw, d_head)
    it = with_rope(draw, it, n)
    it["rope_parameters"]["partial_rotary_factor"] = part
    return "StableLmForCausalLM", it | dict(
        use_qkv_bias=draw.maybe(), qk_layernorm=draw.maybe(), use_parallel_residual=draw.maybe()
    )


def phi(draw):
    it, d_head = gated(draw, own_width=False)
    it["layer_norm_eps"] = it.pop("rms_norm_eps")
    part, n = share(draw, d_head)
    it = with_rope(draw, it, n)
    it["rope_parameters"]["partial_rotary_factor"] = part
    return "PhiForCausalLM", it | dict(qk_layernorm=draw.maybe())


def phi3(draw):
    it, d_head = gated(draw, own_width=False)
    part, n = share(draw, d_head, odd=True)
    kinds = ("default",) if n % 2 else ("default", "longrope")
    it = with_rope(draw, it, n, kinds=kinds)
    it["rope_parameters"]["partial_rotary_factor"] = part
    lengths = dict(original_max_position_embeddings=draw(8, 16)) if draw.maybe() else {}
    return "Phi3ForCausalLM", it | lengths | dict(sliding_window=draw(None, 2, 5))


def gpt_neox(draw):
    n_heads, _, d_head = heads(draw, grouped=False)
    it = base(draw, n_heads, n_heads, n_heads * d_head) | dict(layer_norm_eps=draw(*EPS))
    part, n = share(draw, d_head, odd=True)
    kinds = ("default", "linear", "dynamic", "llama3") if n % 2 else ("default", "linear", "dynamic", "yarn", "longrope", "llama3")
    it = with_rope(draw, it, n, kinds=kinds)
    it["rope_parameters"]["partial_rotary_factor"] = part
    it.pop("num_key_value_heads")
    return "GPTNeoXForCausalLM", it | dict(use_parallel_residual=draw.maybe(), attention_bias=draw.maybe())


def gpt2(draw):
    n_heads, _, d_head = heads(draw, grouped=False)
    return "GPT2LMHeadModel", dict(
        vocab_size=61, n_embd=n_heads * d_head, n_layer=draw(1, 2, 3), n_head=n_heads, n_positions=draw(30, 48),
        n_inner=draw(None, 20), activation_function=draw(*ACTIVATIONS), layer_norm_epsilon=draw(*EPS),
        scale_attn_weights=draw.maybe(0.8), scale_attn_by_inverse_layer_idx=draw.maybe(),
        reorder_and_upcast_attn=draw.maybe(0.3), tie_word_embeddings=draw.maybe(0.7), bos_token_id=1, eos_token_id=2,
    )  # fmt: skip


def gpt_neo(draw):
    n_heads, _, d_head = heads(draw, grouped=False)
    n = draw(1, 2, 3)
    return "GPTNeoForCausalLM", dict(
        vocab_size=61, hidden_size=n_heads * d_head, num_layers=n, num_heads=n_heads, max_position_embeddings=draw(30, 48),
        attention_types=[[[draw("global", "local")], 1] for _ in range(n)], window_size=draw(1, 2, 5, 64),
        activation_function=draw(*ACTIVATIONS), layer_norm_epsilon=draw(*EPS), intermediate_size=draw(None, 20),
        tie_word_embeddings=draw.maybe(0.7), bos_token_id=1, eos_token_id=2,
    )  # fmt: skip


def gptj(draw):
    n_heads, _, d_head = heads(draw, grouped=False)
    return "GPTJForCausalLM", dict(
        vocab_size=61, n_embd=n_heads * d_head, n_layer=draw(1, 2, 3), n_head=n_heads, n_positions=draw(30, 48),
        rotary_dim=draw(*range(2, d_head + 1, 2)), n_inner=draw(None, 20), activation_function=draw(*ACTIVATIONS),
        layer_norm_epsilon=draw(*EPS), tie_word_embeddings=draw.maybe(0.3), bos_token_id=1, eos_token_id=2,
    )  # fmt: skip


def bloom(draw):
    n_heads, _, d_head = heads(draw, grouped=False)
    return "BloomForCausalLM", dict(
        vocab_size=61, hidden_size=n_heads * d_head, n_layer=draw(1, 2, 3), n_head=n_heads, seq_length=draw(8, 64),
        layer_norm_epsilon=draw(*EPS), apply_residual_connection_post_layernorm=draw.maybe(),
        tie_word_embeddings=draw.maybe(0.7), bos_token_id=1, eos_token_id=2,
    )  # fmt: skip


def opt(draw):
    n_heads, _, d_head = heads(draw, grouped=False)
    d_model = n_heads * d_head
    before = draw.maybe(0.7)
    return "OPTForCausalLM", dict(
        vocab_size=61, hidden_size=d_model, num_hidden_layers=draw(1, 2, 3), num_attention_heads=n_heads, ffn_dim=draw(20, 40),
        max_position_embeddings=draw(48, 64), do_layer_norm_before=before, word_embed_proj_dim=draw(d_model, 10),
        enable_bias=draw.maybe(0.8), layer_norm_elementwise_affine=draw.maybe(0.8), activation_function=draw(*ACTIVATIONS),
        tie_word_embeddings=draw.maybe(0.8), _remove_final_layer_norm=draw.maybe(0.2), bos_token_id=2, eos_token_id=2,
    )  # fmt: skip


FAMILIES = [llama, mistral, qwen2, qwen3, gemma, gemma2, gemma3, olmo2, olmo3, granite, smollm3, stablelm, phi, phi3,
            gpt_neox, gpt2, gpt_neo, gptj, bloom, opt]  # fmt: skip


def configuration(seed, number):
    """One configuration and its text, the same for the same numbers."""
    draw = Draw(f"{seed} {number}")
    family = FAMILIES[number % len(FAMILIES)]
    model, config = family(draw)
    ids = [draw.random.randrange(3, 60) for _ in range(draw(1, 2, 5, 12, 20, 29))]
    return family.__name__, Case(f"walk-{number}", model, config, inputs={"input_ids": torch.tensor([ids])})


def shaken(case, folder, times=4):
    """By site, the largest change of PyTorch's numbers when every weight changes by a bit."""
    before = expected_sites(case, load(case, folder))
    found = dict.fromkeys(before, 0.0)
    for time in range(times):
        model, generator = load(case, folder), torch.Generator().manual_seed(time)
        with torch.no_grad():
            for weight in model.parameters():
                weight.mul_(1 + torch.randint(-1, 2, weight.shape, generator=generator) * 2.0**-23)
        after = expected_sites(case, model)
        found = {name: max(worst, difference(name, after[name], before[name])) for name, worst in found.items()}
    return found


def verdict(case, options):
    """(verdict, details)."""
    folder = options.work / case.name
    shutil.rmtree(folder, ignore_errors=True)
    single, double = reference(case, folder)
    if isinstance(single, str) and not (folder / "config.json").exists():
        return "not made", single
    ours, said = capture(options, folder, case)
    said = sentence(said.replace(str(folder), "…"))
    if isinstance(single, str):
        return ("refused by both", f"{said} ({single})") if ours is None else ("RUNS ALONE", single)
    if ours is None:
        return "REFUSED", said
    name, found, limit = compare(ours, single, double)
    details = f"{name} {found:.1e} of {limit:.1e}"
    if found <= limit:
        return "equal", details
    by_rounding = shaken(case, folder)
    limits = {site: max(LIMIT, 2 * difference(site, value, double[site]), 2 * by_rounding[site]) for site, value in single.items()}
    wrong = [site for site, value in single.items() if difference(site, ours[site], value) > limits[site]]
    return ("DIFFERENT" if wrong else "equal but for rounding"), f"{details}, by rounding {by_rounding[name]:.1e}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attnscope", type=Path, default=ROOT / "target" / "release" / "attnscope")
    parser.add_argument("--n", type=int, default=400, help="configurations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="a family, or the number of one configuration")
    parser.add_argument("--work", type=Path, help="where checkpoints are made and kept")
    options = parser.parse_args()
    options.work = options.work or Path(tempfile.mkdtemp(prefix="attnscope-walk-"))
    options.work.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    # What rounding does is judged by `shaken`.
    recorder.CLOSE = float("inf")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()

    started, counts, by_family, not_made = time.perf_counter(), Counter(), Counter(), 0
    number = -1
    while sum(counts.values()) < options.n and number < 2 * options.n:
        number += 1
        family, case = configuration(options.seed, number)
        if options.only and options.only not in (family, str(number)):
            continue
        kind, details = verdict(case, options)
        if kind == "not made":
            not_made += 1
            continue
        counts[kind] += 1
        by_family[family, kind] += 1
        if kind != "equal" or options.only:
            print(f"{number:4} {family:10} {kind:16} {details}", flush=True)
        if kind.isupper():
            print(f"     {case.config} on {case.inputs['input_ids'].numel()} tokens", flush=True)
    for (family, kind), n in sorted(by_family.items()):
        print(f"{family:10} {kind:16} {n}")
    summary = ", ".join(f"{n} {kind}" for kind, n in counts.most_common())
    print(f"{sum(counts.values())} configurations in {time.perf_counter() - started:.0f} s: {summary}; {not_made} not made")
    return 1 if any(kind.isupper() for kind in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
