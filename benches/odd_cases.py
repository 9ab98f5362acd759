"""The configurations of `odd.py`, and how one of them becomes a checkpoint and PyTorch's numbers."""

import json
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Callable

import torch
import transformers as hf
from transformers.models.trocr.modeling_trocr import TrOCRAttention

import openclip
import reference
from reference import naflex, record
from timm_vision import watched

IDS = [7, 33, 5, 48, 21, 9, 40, 14, 3, 27, 52, 18]
PADDED = [*IDS[:8], 0, 0, 0, 0]


@dataclass
class Case:
    """One configuration. `model` is the class that makes it, `config` what is unlike its family's numbers."""

    name: str
    model: str
    config: dict = field(default_factory=dict)
    # Changes `config.json` after saving: what older versions and other programs write.
    edit: Callable | None = None
    # Leaves out of `config.json` whatever is the class's default.
    minimal: bool = False
    inputs: dict = field(default_factory=lambda: {"input_ids": torch.tensor([IDS])})
    # A word that must be in the sentence when it is refused; `None` when it must not be.
    refusal: str | None = None
    # A word that must be in the report about a head that is not shown; `None` when it must be shown.
    headless: str | None = None
    # What transformers needs besides the input.
    options: dict = field(default_factory=dict)
    # Encoder and decoder of a pair.
    parts: tuple = ()


CASES: list[Case] = []
NAMES = set()


def case(name, model, *, ids=None, target=None, size=None, edit=None, minimal=False, refusal=None, headless=None,
         options=None, parts=(), **config):  # fmt: skip
    """Adds a case; `size` is that of a picture."""
    inputs = {}
    if size is not None:
        inputs["pixel_values"] = torch.randn(1, 3, *size, generator=torch.Generator().manual_seed(7))
    if ids is not None or size is None or model in ("CLIPModel", "OpenCLIP", "Siglip2Model", "SiglipModel") or model.startswith("BridgeTower"):
        inputs["input_ids"] = torch.tensor([ids or IDS])
    if target is not None:
        inputs["decoder_input_ids"] = torch.tensor([target])
    if name in NAMES:
        raise ValueError(f"two cases are called {name}")
    NAMES.add(name)
    CASES.append(Case(name, model, config, edit, minimal, inputs, refusal, headless, options or {}, parts))


# Small, and no two numbers alike, so that a mixed-up dimension shows.
BERT = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
            max_position_embeddings=30)  # fmt: skip
LLAMA = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
             num_key_value_heads=2, max_position_embeddings=96, bos_token_id=1, eos_token_id=2)  # fmt: skip
GEMMA = LLAMA | dict(head_dim=10)
BART = dict(vocab_size=61, d_model=24, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=2, encoder_ffn_dim=28, decoder_ffn_dim=20, max_position_embeddings=40)  # fmt: skip
T5 = dict(vocab_size=61, d_model=24, d_kv=6, d_ff=28, num_layers=2, num_decoder_layers=1, num_heads=3)
VISION = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40)
PICTURE = dict(image_size=16, patch_size=4)
PATCHES = dict(patch_size=4, num_patches=16)
DINO = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=2) | PICTURE
TOWER = dict(hidden_size=18, num_hidden_layers=2, num_attention_heads=3, intermediate_size=28)
CLIP_TEXT = TOWER | dict(vocab_size=61, max_position_embeddings=14, bos_token_id=1, eos_token_id=52)
HYBRID = dict(head_dim=16, full_attention_interval=2, linear_num_key_heads=2, linear_num_value_heads=6,
              linear_key_head_dim=5, linear_value_head_dim=7, linear_conv_kernel_dim=3)  # fmt: skip
LATENT = LLAMA | dict(num_key_value_heads=4, kv_lora_rank=10, q_lora_rank=14, qk_nope_head_dim=6, qk_rope_head_dim=4,
                      v_head_dim=5, n_routed_experts=8, num_experts_per_tok=3, moe_intermediate_size=12)  # fmt: skip
MAMBA = dict(layer_types=["linear_attention", "full_attention"], mamba_n_heads=6, mamba_d_head=8, mamba_n_groups=2,
             mamba_d_state=5, mamba_d_conv=3, mamba_expand=2, mamba_chunk_size=4, shared_intermediate_size=20)  # fmt: skip
BESIDE = dict(mamba_d_ssm=42, mamba_n_heads=6, mamba_n_groups=3, mamba_d_state=5, mamba_d_conv=3, mamba_chunk_size=4)
EXPERTS = dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12, shared_expert_intermediate_size=20)
NUMBERS = {
    "albert": BERT | dict(embedding_size=16),
    "bart": BART,
    "beit": VISION | PICTURE,
    "bert": BERT,
    "bloom": dict(vocab_size=61, hidden_size=24, n_layer=2, n_head=6),
    "bridgetower": dict(
        hidden_size=18, num_hidden_layers=2, contrastive_hidden_size=10, logit_scale_init_value=2.6592,
        # One head for each 64 of its width.
        vision_config=dict(hidden_size=128, num_hidden_layers=2) | PICTURE,
        text_config=TOWER | dict(vocab_size=61, max_position_embeddings=16)),
    "camembert": BERT,
    "clip": dict(vision_config=VISION | PICTURE, text_config=CLIP_TEXT, projection_dim=20),
    "clip_vision_model": VISION | PICTURE,
    "codegen": dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=30, rotary_dim=4),
    "cohere": LLAMA,
    "cohere2": LLAMA | dict(num_hidden_layers=4, sliding_window=3),
    "deberta-v2": BERT,
    "deepseek_v2": LATENT | dict(first_k_dense_replace=1),
    "deepseek_v3": LATENT | dict(first_k_dense_replace=1, n_group=4, topk_group=2),
    "deit": VISION | PICTURE,
    "dinov2": DINO,
    "dinov2_with_registers": DINO,
    "distilbert": dict(vocab_size=61, dim=24, n_layers=2, n_heads=3, hidden_dim=40, max_position_embeddings=30),
    "electra": BERT | dict(embedding_size=16),
    "dinov3_vit": VISION | PICTURE,
    "esm": BERT | dict(pad_token_id=1, mask_token_id=21),
    "eurobert": LLAMA | dict(pad_token_id=0),
    "falcon": dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=6, ffn_hidden_size=40,
                   max_position_embeddings=96, bos_token_id=1, eos_token_id=2),  # fmt: skip
    "falcon_h1": LLAMA | BESIDE,
    "gemma": GEMMA,
    "gemma2": GEMMA,
    "gemma3_text": GEMMA,
    "gemma4_text": GEMMA | dict(global_head_dim=14, hidden_size_per_layer_input=6, vocab_size_per_layer_input=61, sliding_window=4,
                                layer_types=["sliding_attention", "full_attention"]),  # fmt: skip
    "glm4": LLAMA | dict(head_dim=8, pad_token_id=0),
    "glm4_moe_lite": LATENT,
    "gpt_bigcode": dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=30),
    "gpt2": dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=30),
    "gpt_neo": dict(vocab_size=61, hidden_size=24, num_layers=2, num_heads=3, max_position_embeddings=30,
                    attention_types=[[["global", "local"], 1]], window_size=4),  # fmt: skip
    "gpt_neox": BERT,
    "gpt_oss": LLAMA | dict(head_dim=10, num_local_experts=4, num_experts_per_tok=2, sliding_window=3, rope_parameters=dict(
        rope_type="yarn", rope_theta=1000.0, factor=4.0, truncate=False, original_max_position_embeddings=24)),  # fmt: skip
    "gptj": dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=30, rotary_dim=4),
    "granite": LLAMA,
    "granitemoehybrid": LLAMA | MAMBA | dict(intermediate_size=12, num_local_experts=4),
    "gte": BERT,
    "jina_embeddings_v3": BERT,
    "lfm2": LLAMA | dict(num_hidden_layers=3, layer_types=["conv", "full_attention", "conv"], block_multiple_of=8),
    "llama": LLAMA,
    "marian": BART | dict(pad_token_id=59, eos_token_id=0, decoder_start_token_id=59),
    "m2m_100": BART | dict(pad_token_id=1, eos_token_id=2, decoder_start_token_id=2),
    "mbart": BART,
    "ministral3": LLAMA | dict(head_dim=8, rope_parameters=dict(
        rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=5, llama_4_scaling_beta=0.3)),  # fmt: skip
    "mistral": LLAMA,
    "mixtral": LLAMA | dict(num_local_experts=4),
    "modernbert": BERT | dict(num_hidden_layers=3, local_attention=6, pad_token_id=0),
    "modernbert-decoder": BERT | dict(num_hidden_layers=3, local_attention=6, pad_token_id=0, bos_token_id=1, eos_token_id=2),
    "mpnet": BERT,
    "mpt": dict(vocab_size=61, d_model=24, n_layers=2, n_heads=3, max_seq_len=96),
    "mt5": T5,
    "nomic_bert": BERT,
    "olmo2": LLAMA,
    "olmo3": LLAMA,
    "olmoe": LLAMA | dict(num_experts=4, num_experts_per_tok=2, pad_token_id=0, eos_token_id=2),
    "opt": dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, ffn_dim=40,
                max_position_embeddings=30),  # fmt: skip
    "pegasus": BART,
    "phi": LLAMA | dict(hidden_size=32),
    "phi3": LLAMA | dict(pad_token_id=None),
    "qwen2": LLAMA,
    "qwen2_moe": LLAMA | dict(num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12,
                              shared_expert_intermediate_size=20),
    "qwen3": LLAMA | dict(head_dim=10),
    "qwen3_moe": LLAMA | dict(head_dim=10, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=12),
    "qwen3_5_text": LLAMA | HYBRID,
    "qwen3_5_moe_text": LLAMA | HYBRID | EXPERTS,
    "qwen3_next": LLAMA | HYBRID | EXPERTS,
    "roberta": BERT,
    "siglip": dict(vision_config=TOWER | PICTURE, text_config=CLIP_TEXT | dict(projection_size=18)),
    "siglip_vision_model": VISION | PICTURE,
    "siglip2": dict(vision_config=TOWER | PATCHES, text_config=CLIP_TEXT | dict(projection_size=18)),
    "siglip2_vision_model": VISION | PATCHES,
    "smollm3": LLAMA | dict(pad_token_id=0),
    "stablelm": LLAMA | dict(hidden_size=32),
    "starcoder2": LLAMA,
    "t5": T5,
    "trocr": dict(vocab_size=61, d_model=18, decoder_layers=2, decoder_attention_heads=3, decoder_ffn_dim=20,
                  max_position_embeddings=40),  # fmt: skip
    "timm_wrapper": dict(
        architecture="vit_tiny_patch16_224",
        num_labels=3,
        model_args=dict(embed_dim=24, depth=2, num_heads=4, mlp_ratio=1.5, patch_size=4, img_size=[16, 16]),
    ),
    "vit": VISION | PICTURE,
    "xlm-roberta": BERT,
}  # fmt: skip


def without(*keys, **changes):
    """An edit that removes keys and sets others, as another version of the library would have written them."""

    def edit(config):
        for key in keys:
            config.pop(key, None)
        config.update(changes)

    return edit


def build(kind, changes):
    """A fresh model of a class and its family's numbers."""
    kind = getattr(hf, kind)
    numbers = NUMBERS[kind.config_class.model_type]
    merged = {key: value | changes.get(key, {}) if isinstance(value, dict) else value for key, value in numbers.items()}
    merged |= {key: value for key, value in changes.items() if not isinstance(numbers.get(key), dict)}
    return kind(kind.config_class(**merged))


# What is not trained, and is kept with the weights.
KEPT_BIASES = ("final_logits_bias", "e_score_correction_bias", "layer_scalar")


def lively(model, seed=3):
    """Random weights of an ordinary size in which everything makes a difference, and sharp patterns."""
    generator = torch.Generator().manual_seed(seed)
    # Scores of T5 and GPT-Neo are not divided by the width of a head.
    sharpness = 1.2 if model.config.model_type in ("t5", "mt5", "gpt_neo") else 2.0
    query_key = ("query", "key", "query_proj", "key_proj", "q_proj", "k_proj", "q_lin", "k_lin", "c_attn", "q_attn", "q", "k",
                 "query_key_value", "qkv_proj", "Wqkv", "qkv", "q_b_proj", "kv_b_proj")  # fmt: skip
    computed = {id(m.weight) for m in model.modules() if "Sinusoidal" in type(m).__name__ and hasattr(m, "weight")}
    with torch.no_grad():
        for name, weight in [*model.named_parameters(), *model.named_buffers()]:
            noise = torch.randn(weight.shape, generator=generator)
            if id(weight) in computed or (not weight.requires_grad and not name.endswith(KEPT_BIASES)):
                continue
            if name == "final_logits_bias" or name.endswith("bias") and weight.dim() <= 2:
                weight.copy_(0.1 * noise)
            elif "lambda" in name:
                weight.copy_(0.6 + 0.3 * noise)
            elif name.startswith("logit_"):
                weight.fill_(1.3 if name == "logit_scale" else -0.7)
            elif name.endswith("sinks"):
                weight.copy_(noise)
            elif weight.dim() == 0:
                weight.fill_(0.7)
            elif weight.dim() == 1:
                weight.copy_(1.0 + 0.1 * noise)
            elif any(part in name for part in ("embed", "wte", "wpe", "shared", "token", "probe", "bias")):
                weight.copy_((0.1 if getattr(model.config, "scale_embedding", False) else 0.6) * noise)
            else:
                fan_in = weight[0].numel() if type(model).__name__[:4] != "GPT2" else weight.size(0)
                weight.copy_(noise / fan_in**0.5)
                if name.split(".")[-2] in query_key:
                    weight.mul_(sharpness)
    return model.eval()


def pair(kind, parts):
    """An encoder and a decoder, each a class with its changes."""
    (encoder, encoder_changes), (decoder, decoder_changes) = parts
    encoder = build(encoder, encoder_changes)
    decoding = dict(is_decoder=True, add_cross_attention=True)
    decoder = build(decoder, decoding | decoder_changes)
    return getattr(hf, kind)(encoder=encoder, decoder=decoder)


def defaults_dropped(config, kind):
    """The configuration without what its class says by itself."""
    model_type = config.get("model_type")
    defaults = json.loads(json.dumps(hf.CONFIG_MAPPING[model_type]().to_dict(), default=str)) if model_type else {}
    kept = ("model_type", "architectures")
    return {
        key: defaults_dropped(value, kind) if isinstance(value, dict) and "model_type" in value else value
        for key, value in config.items()
        if key in kept or key not in defaults or defaults[key] != value
    }


def save(case, folder):
    """Writes the checkpoint of a case."""
    torch.manual_seed(1)
    if case.model == "OpenCLIP":
        model, cfg = openclip.make(**case.config)
        openclip.save(openclip.lively(model, 3), cfg, folder)
        if case.edit:
            path = folder / "open_clip_config.json"
            config = json.loads(path.read_text())
            case.edit(config["model_cfg"])
            path.write_text(json.dumps(config, indent=2))
        return
    model = pair(case.model, case.parts) if case.parts else build(case.model, case.config)
    lively(model).save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text())
    if case.minimal:
        config = defaults_dropped(config, case.model)
    if case.edit:
        case.edit(config)
    path.write_text(json.dumps(config, indent=2))


def load(case, folder):
    """The checkpoint as PyTorch opens it; every weight must be there."""
    if case.model == "OpenCLIP":
        return openclip.load(folder)
    model, found = getattr(hf, case.model).from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    if found["missing_keys"]:
        raise AssertionError(f"{case.name}: transformers misses {found['missing_keys']}")
    if case.parts:
        model.set_attn_implementation = lambda name: attend(model, name)
    return model.eval()


def attend(model, name):
    """Both parts of a pair; the library would reach copies of their configurations."""
    for module in model.modules():
        if hasattr(module, "config"):
            module.config._attn_implementation = name


def first(module, *paths):
    """The first attribute of these that a module has."""
    for path in paths:
        found = module
        for part in path.split("."):
            found = getattr(found, part, None)
        if found is not None:
            return found
    return None


def attention(block):
    """The module of a block whose calls are its self-attention."""
    return first(block, "attention.self", "attention.attn", "attn.attention", "self_attn", "self_attention", "attention", "attn")


def body_of(model):
    """The module that has the list of blocks."""
    if hasattr(model, "albert"):
        return model.albert
    for module in model.modules():
        if any(isinstance(child, torch.nn.ModuleList) for child in module.children()):
            return module
    raise AssertionError("no blocks")


def blocks_of(body):
    """The blocks in the order in which they run."""
    config = getattr(body, "config", None)
    if config is not None and config.model_type == "albert":
        groups = [body.encoder.albert_layer_groups[int(i / (config.num_hidden_layers / config.num_hidden_groups))]
                  for i in range(config.num_hidden_layers)]  # fmt: skip
        return [block for group in groups for block in group.albert_layers]
    return next(child for child in body.children() if isinstance(child, torch.nn.ModuleList))


def final_of(model, blocks):
    """The module whose output is the stream that heads read."""
    if model.config.model_type.startswith("clip"):
        return blocks[-1]
    for module in model.modules():
        found = first(module, "norm", "ln_f", "norm_f", "final_layer_norm", "final_layernorm", "layernorm", "final_norm", "post_layernorm", "emb_layer_norm_after", "embedding_norm")
        if found is not None and any(isinstance(child, torch.nn.ModuleList) for child in module.modules()) and module not in set(blocks):
            return found
    return blocks[-1]


def layout(model):
    """(stacks, final modules) for `reference.record`."""
    kind = model.config.model_type
    if kind.endswith("encoder-decoder"):
        encoder = blocks_of(body_of(model.encoder))
        decoder = blocks_of(body_of(model.decoder))
        cross = lambda block: first(block, "crossattention.self", "crossattention", "encoder_attn")  # noqa: E731
        stacks = {"encoder": (encoder, attention), "decoder": (decoder, attention), "cross": (decoder, cross)}
        return stacks, {"encoder": final_of(model.encoder, encoder), "decoder": final_of(model.decoder, decoder)}
    if kind in ("clip", "siglip", "siglip2") and hasattr(model, "text_model"):
        vision, text = model.vision_model, model.text_model
        stacks = {name: (tower.encoder.layers, attention) for name, tower in (("vision", vision), ("text", text))}
        last = vision.post_layernorm if kind.startswith("siglip") else vision.encoder.layers[-1]
        return stacks, {"vision": last, "text": text.final_layer_norm}
    if kind == "bridgetower":
        body = getattr(model, "bridgetower", model)
        visual = body.vision_model.visual
        text, blocks = body.text_model.encoder.layer, visual.transformer.resblocks
        own, other = lambda block: block.attention.self, lambda block: block.crossattention.self
        words, patches = body.cross_modal_text_layers, body.cross_modal_image_layers
        stacks = {
            "vision": (blocks[: len(text)], lambda block: block.attn), "text": (text, own),
            "cross_modal_text": (words, own), "text_to_vision": (words, other),
            "cross_modal_vision": (patches, own), "vision_to_text": (patches, other)}  # fmt: skip
        return stacks, {"vision": visual.ln_post}
    if kind in ("t5", "mt5"):
        body = getattr(model, "transformer", model)
        own, other = lambda block: block.layer[0].SelfAttention, lambda block: block.layer[1].EncDecAttention
        if not hasattr(body, "decoder"):
            return {"self": (body.encoder.block, own)}, {"self": body.encoder.final_layer_norm}
        stacks = {"encoder": (body.encoder.block, own), "decoder": (body.decoder.block, own), "cross": (body.decoder.block, other)}
        return stacks, {name: getattr(body, name).final_layer_norm for name in ("encoder", "decoder")}
    if kind in ("bart", "m2m_100", "mbart", "marian", "pegasus"):
        body = getattr(model, "model", model)
        if not hasattr(body, "encoder"):
            return {"self": (body.decoder.layers, attention)}, {"self": getattr(body.decoder, "layer_norm", body.decoder.layers[-1])}
        other = lambda block: block.encoder_attn  # noqa: E731
        stacks = {"encoder": (body.encoder.layers, attention), "decoder": (body.decoder.layers, attention), "cross": (body.decoder.layers, other)}
        final = {name: getattr(getattr(body, name), "layer_norm", None) for name in ("encoder", "decoder")}
        return stacks, {name: module for name, module in final.items() if module is not None}
    blocks = blocks_of(body_of(model))
    return {"self": (blocks, attention)}, {"self": final_of(getattr(model, "beit", model), blocks)}


PROJECTIONS = {
    "deberta-v2": ("query_proj", "key_proj", "value_proj"),
    "mpnet": ("q", "k", "v"),
    "gpt_neo": ("q_proj", "k_proj", "v_proj"),
    "bloom": ("query_key_value",) * 3,
}


@contextmanager
def trocr_recorded():
    """TrOCR's attention cannot be replaced, so its sites are computed beside it."""
    original = TrOCRAttention.forward

    def forward(self, hidden_states, key_value_states=None, attention_mask=None, **options):
        source = hidden_states if key_value_states is None else key_value_states
        heads = lambda x: x.view(1, -1, self.num_heads, self.head_dim).transpose(1, 2)  # noqa: E731
        q, k, v = heads(self.q_proj(hidden_states)), heads(self.k_proj(source)), heads(self.v_proj(source))
        reference._recording_attention(self, q, k, v, attention_mask, self.scaling)
        return original(self, hidden_states, key_value_states, attention_mask=attention_mask, **options)

    TrOCRAttention.forward = forward
    try:
        yield
    finally:
        TrOCRAttention.forward = original


def expected_sites(case, model, wide=False):
    """Every site as PyTorch computes it."""
    if case.model == "OpenCLIP":
        pixels, ids = case.inputs["pixel_values"], case.inputs["input_ids"]
        return openclip.watched(model, pixels.double() if wide else pixels, ids)
    kind = model.config.model_type
    if kind == "timm_wrapper":
        pixels = case.inputs["pixel_values"]
        return watched(model.timm_model, pixels.double() if wide else pixels)
    stacks, final = layout(model)
    inputs = {key: value.double() if wide and value.is_floating_point() else value for key, value in case.inputs.items()}
    if kind.startswith("siglip2"):
        config = getattr(model.config, "vision_config", model.config)
        inputs |= naflex(inputs["pixel_values"], config.patch_size)
    if case.model.endswith("ForMultipleChoice"):
        inputs["input_ids"] = inputs["input_ids"][None]
    with trocr_recorded():
        tokens_first = ("vision",) if kind == "bridgetower" else ()
        sites = record(model, stacks, inputs | case.options, final, PROJECTIONS.get(kind), tokens_first)
    for name in sites:
        site = name.rsplit(".", 1)[-1]
        if site == "scores":
            # What is hidden has the smallest number there is.
            sites[name] = sites[name].masked_fill(sites[name] < -1e30, float("-inf"))
        if kind == "esm" and site == "q":
            # The same of ESM.
            sites[name] = sites[name] * (model.config.hidden_size / model.config.num_attention_heads) ** 0.5
        if kind == "opt" and site == "q":
            # OPT scales its queries before they reach the attention function; the scale is not part of q.
            sites[name] = sites[name] * (model.config.hidden_size // model.config.num_attention_heads) ** 0.5
        if kind == "bloom" and site in "qkv":
            sites[name] = sites[name].unflatten(-1, (3, -1))[..., "qkv".index(site), :]
    if kind == "bloom":
        for name in [name for name in sites if name.endswith(".z")]:
            sites[name] = sites[name.replace(".z", ".pattern")] @ sites[name.replace(".z", ".v")]
    if case.model == "BridgeTowerForContrastiveLearning":
        with torch.no_grad():
            output = model(**inputs | case.options)
        vectors = [output.text_embeds[0], output.image_embeds[0], output.cross_embeds[0]]
        cosines = torch.stack([vectors[a] @ vectors[b] for a, b in ((0, 1), (0, 2), (1, 2))])
        sites["logits"] = (cosines * model.logit_scale.exp()).detach()
    if case.model == "ElectraForPreTraining":
        # One number for “replaced”, whose sigmoid is the softmax of it and zero.
        sites["logits"] = torch.stack([torch.zeros_like(sites["logits"]), sites["logits"]], -1)
    return {name: tensor.contiguous() for name, tensor in sites.items()}


YARN = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=24)
MORE_TEXT = [*IDS, *IDS, *IDS]


def encoders():
    case("bert-minimal", "BertForMaskedLM", minimal=True)
    case("bert-eps", "BertForMaskedLM", layer_norm_eps=0.05, hidden_act="gelu_new")
    case("bert-gelu-python", "BertModel", hidden_act="gelu_python")
    case("bert-gelu-10", "BertModel", hidden_act="gelu_10", refusal="gelu_10")
    case("bert-mish", "BertModel", hidden_act="mish", refusal="mish")
    case("bert-untied", "BertForMaskedLM", tie_word_embeddings=False)
    case("bert-five-segments", "BertModel", type_vocab_size=5)
    case("bert-chunked", "BertForMaskedLM", chunk_size_feed_forward=4)
    case("bert-multi-label", "BertForSequenceClassification", num_labels=4, problem_type="multi_label_classification")
    case("bert-regression", "BertForSequenceClassification", num_labels=1)
    case("bert-pre-training", "BertForPreTraining")
    case("bert-next-sentence", "BertForNextSentencePrediction")
    case("bert-questions", "BertForQuestionAnswering", headless="QuestionAnswering")
    case("bert-choice", "BertForMultipleChoice", headless="MultipleChoice")
    case("bert-causal", "BertLMHeadModel", is_decoder=True)
    case("bert-causal-untied", "BertLMHeadModel", is_decoder=True, tie_word_embeddings=False)
    case("bert-masked-causal", "BertForMaskedLM", is_decoder=True)
    case("bert-not-causal", "BertLMHeadModel", is_decoder=True, is_causal=False)
    case("bert-cross-alone", "BertLMHeadModel", is_decoder=True, add_cross_attention=True)
    for kind in ("relative_key", "relative_key_query"):
        case(f"bert-{kind.replace('_', '-')}", "BertModel", edit=without(position_embedding_type=kind), refusal="position_embedding_type")  # fmt: skip
    case("roberta-minimal", "RobertaForMaskedLM", minimal=True)
    case("roberta-padding-5", "RobertaForMaskedLM", pad_token_id=5, layer_norm_eps=1e-3)
    case("roberta-causal", "RobertaForCausalLM", is_decoder=True, tie_word_embeddings=False)
    case("roberta-not-decoder", "RobertaForCausalLM", is_decoder=False)
    case("roberta-tokens", "RobertaForTokenClassification", num_labels=5, type_vocab_size=3)
    case("roberta-choice", "RobertaForMultipleChoice", headless="MultipleChoice")
    case("roberta-relu", "RobertaForMaskedLM", hidden_act="relu")
    case("xlm-roberta-minimal", "XLMRobertaForMaskedLM", minimal=True)
    case("xlm-roberta-questions", "XLMRobertaForQuestionAnswering", headless="QuestionAnswering")
    case("camembert-causal", "CamembertForCausalLM", is_decoder=True)
    case("camembert-minimal", "CamembertForSequenceClassification", minimal=True, num_labels=7)
    case("distilbert-minimal", "DistilBertForMaskedLM", minimal=True)
    case("distilbert-sinusoidal", "DistilBertModel", sinusoidal_pos_embds=True)
    case("distilbert-tokens", "DistilBertForTokenClassification", activation="relu", num_labels=3)
    case("distilbert-questions", "DistilBertForQuestionAnswering", headless="QuestionAnswering")
    case("electra-minimal", "ElectraForPreTraining", minimal=True)
    case("electra-causal", "ElectraForCausalLM", is_decoder=True)
    case("electra-tokens", "ElectraForTokenClassification", hidden_act="gelu_new", num_labels=3)
    case("electra-choice", "ElectraForMultipleChoice", headless="MultipleChoice", summary_activation="relu")
    case("electra-classifier-relu", "ElectraForSequenceClassification", hidden_act="relu", num_labels=3)
    case("electra-discriminator-relu", "ElectraForPreTraining", hidden_act="relu", layer_norm_eps=1e-3)
    case("albert-minimal", "AlbertForMaskedLM", minimal=True)
    case("albert-groups", "AlbertForMaskedLM", num_hidden_layers=7, num_hidden_groups=3, inner_group_num=2)
    case("albert-pre-training", "AlbertForPreTraining", hidden_act="relu")
    case("albert-tokens", "AlbertForTokenClassification", num_labels=3)
    case("albert-untied", "AlbertForMaskedLM", tie_word_embeddings=False, type_vocab_size=3)
    case("mpnet-minimal", "MPNetForMaskedLM", minimal=True)
    case("mpnet-buckets", "MPNetForMaskedLM", relative_attention_num_buckets=40)
    case("mpnet-tokens", "MPNetForTokenClassification", layer_norm_eps=1e-3, hidden_act="relu", num_labels=3)
    case("mpnet-questions", "MPNetForQuestionAnswering", headless="QuestionAnswering")
    case("modernbert-minimal", "ModernBertForMaskedLM", minimal=True)
    case("modernbert-odd-window", "ModernBertForMaskedLM", local_attention=5, norm_eps=1e-2)
    linear = dict(rope_type="linear", rope_theta=300.0, factor=3.0)
    plain = dict(rope_type="default", rope_theta=50.0)
    case("modernbert-rope-linear", "ModernBertForMaskedLM", rope_parameters=dict(full_attention=linear, sliding_attention=plain))
    case("modernbert-rope-yarn", "ModernBertForMaskedLM", rope_parameters=dict(full_attention=YARN, sliding_attention=plain), max_position_embeddings=96)
    case("modernbert-every-2", "ModernBertModel", num_hidden_layers=4, edit=without("layer_types", global_attn_every_n_layers=2))
    case("modernbert-relu-classes", "ModernBertForSequenceClassification", classifier_activation="relu", hidden_activation="silu", num_labels=3)
    case("modernbert-questions", "ModernBertForQuestionAnswering", headless="QuestionAnswering")
    case("modernbert-choice", "ModernBertForMultipleChoice", headless="MultipleChoice")
    case("modernbert-all-local", "ModernBertForMaskedLM", layer_types=["sliding_attention"] * 3, decoder_bias=False)


def both_ways():
    """Layers that encoders and decoders share."""
    case("eurobert-minimal", "EuroBertForMaskedLM", minimal=True)
    case("eurobert-biases", "EuroBertForMaskedLM", attention_bias=True, mlp_bias=True)
    case("eurobert-tied", "EuroBertForMaskedLM", tie_word_embeddings=True, rms_norm_eps=0.01)
    case("eurobert-tied-bias", "EuroBertForMaskedLM", tie_word_embeddings=True, mlp_bias=True)
    case("eurobert-one-key", "EuroBertForMaskedLM", num_key_value_heads=1)
    case("eurobert-own-keys", "EuroBertModel", num_key_value_heads=None, edit=without("num_key_value_heads"))
    case("eurobert-wide-heads", "EuroBertForMaskedLM", head_dim=10, hidden_act="gelu")
    case("eurobert-yarn", "EuroBertForMaskedLM", rope_parameters=dict(YARN))
    case("eurobert-older", "EuroBertForMaskedLM", edit=without("rope_parameters", rope_theta=250.0, rope_scaling=None))
    case("eurobert-silent", "EuroBertForMaskedLM", edit=without("rope_parameters", "head_dim"))
    case("eurobert-first", "EuroBertForSequenceClassification", classifier_pooling="bos", num_labels=3)
    case("eurobert-mean", "EuroBertForSequenceClassification", classifier_pooling="mean", num_labels=3)
    case("eurobert-late", "EuroBertForSequenceClassification", num_labels=3, edit=without("classifier_pooling"))
    case("eurobert-labels", "EuroBertForSequenceClassification", num_labels=4, problem_type="multi_label_classification")
    case("eurobert-score", "EuroBertForSequenceClassification", num_labels=1)
    case("eurobert-other-pooling", "EuroBertForSequenceClassification", edit=without(classifier_pooling="max"), refusal="classifier_pooling")
    case("eurobert-tokens", "EuroBertForTokenClassification", num_labels=3)
    case("eurobert-causal", "EuroBertForMaskedLM", is_causal=True)
    case("eurobert-decoder", "EuroBertForMaskedLM", is_decoder=True)
    name = "ModernBertDecoderForCausalLM"
    plain = dict(rope_type="default", rope_theta=50.0)
    case("modernbert-decoder-minimal", name, minimal=True)
    case("modernbert-decoder-odd-window", name, local_attention=5, norm_eps=1e-2)
    case("modernbert-decoder-narrow", name, local_attention=2)
    case("modernbert-decoder-no-window", name, edit=without("sliding_window", local_attention=1), refusal="local_attention")
    case("modernbert-decoder-other-window", name, edit=without(sliding_window=4))
    case("modernbert-decoder-older", name, edit=without("layer_types", "rope_parameters", "sliding_window", global_attn_every_n_layers=2, global_rope_theta=500.0, local_rope_theta=70.0))
    case("modernbert-decoder-yarn", name, rope_parameters=dict(full_attention=YARN, sliding_attention=plain), max_position_embeddings=96)
    case("modernbert-decoder-scaling", name, edit=without("rope_parameters", rope_scaling=dict(rope_type="linear", factor=2.0)))
    case("modernbert-decoder-untied", name, tie_word_embeddings=False, decoder_bias=False)
    case("modernbert-decoder-biases", name, attention_bias=True, mlp_bias=True, norm_bias=True, classifier_bias=True)
    case("modernbert-decoder-all-local", name, layer_types=["sliding_attention"] * 3)
    case("modernbert-decoder-all-global", name, layer_types=["full_attention"] * 3, hidden_activation="silu")
    case("modernbert-decoder-relu", name, classifier_activation="relu")
    case("modernbert-decoder-classes", "ModernBertDecoderForSequenceClassification", num_labels=3, ids=PADDED)
    case("modernbert-decoder-score", "ModernBertDecoderForSequenceClassification", num_labels=1, classifier_bias=True)
    case("modernbert-decoder-body", "ModernBertDecoderModel")
    case("modernbert-decoder-not-causal", name, edit=without(is_causal=False), refusal="is_causal")


def residues():
    rotary = dict(position_embedding_type="rotary")
    case("esm-minimal", "EsmForMaskedLM", minimal=True)
    case("esm-rotary", "EsmForMaskedLM", **rotary, rope_theta=500.0)
    case("esm-dropped", "EsmForMaskedLM", **rotary, token_dropout=True)
    case("esm-dropped-nothing", "EsmForMaskedLM", **rotary, token_dropout=True, mask_token_id=60)
    case("esm-dropped-much", "EsmForMaskedLM", token_dropout=True, ids=[21, 21, 5, 21, 9, 21])
    case("esm-dropped-unnamed", "EsmForMaskedLM", **rotary, edit=without("mask_token_id", token_dropout=True), refusal="mask_token_id")
    case("esm-normed", "EsmForMaskedLM", emb_layer_norm_before=True, layer_norm_eps=0.01)
    case("esm-padded", "EsmForMaskedLM", pad_token_id=0, ids=PADDED)
    case("esm-untied", "EsmForMaskedLM", **rotary, tie_word_embeddings=False)
    case("esm-decoder", "EsmForMaskedLM", **rotary, is_decoder=True)
    case("esm-not-causal", "EsmForMaskedLM", **rotary, is_decoder=True, is_causal=False)
    case("esm-cross", "EsmForMaskedLM", edit=without(add_cross_attention=True), refusal="add_cross_attention")
    case("esm-folding", "EsmForMaskedLM", edit=without(is_folding_model=True), refusal="is_folding_model")
    case("esm-classes", "EsmForSequenceClassification", **rotary, num_labels=3)
    case("esm-tokens", "EsmForTokenClassification", num_labels=3)
    case("esm-body", "EsmModel", **rotary)
    case("esm-scaling", "EsmForMaskedLM", **rotary, edit=without(rope_scaling=dict(rope_type="linear", factor=2.0)))
    case("esm-relative", "EsmForMaskedLM", edit=without(position_embedding_type="relative_key"), refusal="position_embedding_type")


def rotary_berts():
    linear = dict(rope_type="linear", rope_theta=300.0, factor=3.0)
    for name, kind in (("nomic", "NomicBert"), ("gte", "Gte"), ("jina", "JinaEmbeddingsV3")):
        case(f"{name}-minimal", f"{kind}ForMaskedLM", minimal=True)
        case(f"{name}-linear", f"{kind}ForMaskedLM", rope_parameters=dict(linear))
        case(f"{name}-yarn", f"{kind}ForMaskedLM", rope_parameters=dict(YARN), max_position_embeddings=96)
        case(f"{name}-silent", f"{kind}ForMaskedLM", edit=without("rope_parameters"))
        case(f"{name}-older", f"{kind}ForMaskedLM", edit=without("rope_parameters", rope_theta=70.0))
        case(f"{name}-relu", f"{kind}ForMaskedLM", hidden_act="relu", layer_norm_eps=0.01)
        case(f"{name}-untied", f"{kind}ForMaskedLM", tie_word_embeddings=False)
        case(f"{name}-segments", f"{kind}ForMaskedLM", type_vocab_size=4)
        case(f"{name}-classes", f"{kind}ForSequenceClassification", num_labels=3)
        case(f"{name}-score", f"{kind}ForSequenceClassification", num_labels=1)
        case(f"{name}-tokens", f"{kind}ForTokenClassification", num_labels=3)
        case(f"{name}-decoder", f"{kind}ForMaskedLM", is_decoder=True)
        case(f"{name}-body", f"{kind}Model")
    case("nomic-wide-heads", "NomicBertForMaskedLM", head_dim=10)
    case("nomic-gpt-names", "NomicBertForMaskedLM", edit=without(n_embd=24, n_layer=2, n_head=3, n_inner=40, rotary_emb_base=1000))
    case("gte-no-segments", "GteForMaskedLM", type_vocab_size=0)
    case("jina-questions", "JinaEmbeddingsV3ForQuestionAnswering", headless="QuestionAnswering")


def deberta():
    relative = dict(relative_attention=True, position_biased_input=False)
    both = relative | dict(pos_att_type=["p2c", "c2p"], share_att_key=True, position_buckets=4, norm_rel_ebd="layer_norm")
    xlarge = both | dict(conv_kernel_size=3, conv_act="gelu", attention_head_size=8)
    name = "DebertaV2ForMaskedLM"
    case("deberta-minimal", name, minimal=True)
    case("deberta-not-relative", name, pos_att_type="p2c|c2p", max_position_embeddings=30)
    case("deberta-convolution", name, **xlarge)
    case("deberta-convolution-groups", name, **both, conv_kernel_size=5, conv_groups=3)
    case("deberta-convolution-even", name, **both, conv_kernel_size=4, refusal="conv_kernel_size")
    case("deberta-narrow-embeddings", name, **both, embedding_size=16, refusal="embedding_size")
    case("deberta-far", name, **relative, pos_att_type=["c2p", "p2c"], max_relative_positions=4)
    case("deberta-few-buckets", name, **both | dict(position_buckets=2), max_relative_positions=5)
    case("deberta-no-kinds", name, **relative, pos_att_type=[])
    case("deberta-legacy-head", name, **both, legacy=False, tie_word_embeddings=False)
    case("deberta-segments", "DebertaV2ForSequenceClassification", **both, type_vocab_size=2, pooler_hidden_act="tanh", num_labels=3)
    case("deberta-questions", "DebertaV2ForQuestionAnswering", **both, headless="QuestionAnswering")
    case("deberta-choice", "DebertaV2ForMultipleChoice", **both, headless="MultipleChoice")
    case("deberta-eps", "DebertaV2ForTokenClassification", **both, layer_norm_eps=0.02, hidden_act="relu", num_labels=3)


def gpts():
    case("gpt2-minimal", "GPT2LMHeadModel", minimal=True)
    case("gpt2-inverse-layers", "GPT2LMHeadModel", scale_attn_by_inverse_layer_idx=True, scale_attn_weights=False)
    case("gpt2-upcast", "GPT2LMHeadModel", reorder_and_upcast_attn=True, scale_attn_by_inverse_layer_idx=True)
    case("gpt2-inner", "GPT2LMHeadModel", n_inner=20, activation_function="relu", layer_norm_epsilon=0.01)
    case("gpt2-untied", "GPT2LMHeadModel", tie_word_embeddings=False)
    case("gpt2-classes", "GPT2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("gpt2-classes-padded-left", "GPT2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED[::-1])
    case("gpt2-classes-all-padding", "GPT2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=[0] * 6)
    case("gpt2-classes-no-padding", "GPT2ForSequenceClassification", num_labels=3, ids=PADDED)
    case("gpt2-regression", "GPT2ForSequenceClassification", num_labels=1, pad_token_id=0)
    case("gpt2-tokens", "GPT2ForTokenClassification", num_labels=3)
    case("gpt2-questions", "GPT2ForQuestionAnswering", headless="QuestionAnswering")
    case("gpt2-not-causal", "GPT2LMHeadModel", is_causal=False)
    case("gpt2-cross-alone", "GPT2LMHeadModel", add_cross_attention=True)
    alternating = dict(num_layers=24, attention_types=[[["global", "local"], 12]])
    case("gpt-neo-minimal", "GPTNeoForCausalLM", minimal=True, **alternating, edit=without(num_layers=24))
    case("gpt-neo-window-1", "GPTNeoForCausalLM", window_size=1, attention_types=[[["local"], 2]])
    case("gpt-neo-classes", "GPTNeoForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("gpt-neo-tokens", "GPTNeoForTokenClassification", num_labels=3, activation_function="relu")
    case("gpt-neo-not-causal", "GPTNeoForCausalLM", is_causal=False, refusal="is_causal")
    case("gpt-neo-untied", "GPTNeoForCausalLM", tie_word_embeddings=False, intermediate_size=20)
    neox = "GPTNeoXForCausalLM"
    case("gpt-neox-minimal", neox, minimal=True)
    case("gpt-neox-fully-rotary", neox, rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=1.0))
    case("gpt-neox-odd-rotary", neox, hidden_size=36)
    case("gpt-neox-older", neox, edit=without("rope_parameters", rotary_pct=0.5, rotary_emb_base=100))
    case("gpt-neox-linear", neox, edit=without("rope_parameters", rotary_pct=0.5, rope_scaling={"type": "linear", "factor": 3.0}))
    case("gpt-neox-tied", neox, tie_word_embeddings=True, hidden_act="gelu_fast")
    case("gpt-neox-not-causal", neox, is_causal=False)
    case("gpt-neox-serial-no-bias", neox, use_parallel_residual=False, attention_bias=False, layer_norm_eps=0.01)
    case("gpt-neox-classes", "GPTNeoXForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("gpt-neox-tokens", "GPTNeoXForTokenClassification", num_labels=3)
    case("gpt-neox-questions", "GPTNeoXForQuestionAnswering", headless="QuestionAnswering")
    case("opt-minimal", "OPTForCausalLM", minimal=True)
    case("opt-no-bias", "OPTForCausalLM", enable_bias=False)
    case("opt-plain-norms", "OPTForCausalLM", layer_norm_elementwise_affine=False)
    case("opt-no-final-norm", "OPTForCausalLM", _remove_final_layer_norm=True)
    case("opt-gelu-untied", "OPTForCausalLM", activation_function="gelu", tie_word_embeddings=False)
    case("opt-post-norm", "OPTForCausalLM", do_layer_norm_before=False)
    case("opt-narrow-pre-norm", "OPTForCausalLM", word_embed_proj_dim=16)
    narrow = dict(word_embed_proj_dim=16, do_layer_norm_before=False)
    case("opt-narrow-classes", "OPTForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED, **narrow)
    case("opt-questions", "OPTForQuestionAnswering", headless="QuestionAnswering")
    case("opt-not-causal", "OPTForCausalLM", is_causal=False)
    case("bloom-minimal", "BloomForCausalLM", minimal=True, n_layer=3)
    case("bloom-normed-residual", "BloomForCausalLM", apply_residual_connection_post_layernorm=True)
    case("bloom-untied", "BloomForCausalLM", tie_word_embeddings=False, n_head=3)
    case("bloom-exact", "BloomForCausalLM", pretraining_tp=2, slow_but_exact=True, refusal="slow_but_exact")
    case("bloom-eps", "BloomForCausalLM", pretraining_tp=4, layer_norm_epsilon=0.01)
    case("bloom-n-embed", "BloomForCausalLM", edit=lambda config: config.update(n_embed=config.pop("hidden_size")))
    case("bloom-classes", "BloomForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("bloom-tokens", "BloomForTokenClassification", num_labels=3)
    case("bloom-not-causal", "BloomForCausalLM", is_causal=False)


def llamas():
    name = "LlamaForCausalLM"
    rope = lambda **options: dict(rope_parameters=YARN | options)  # noqa: E731
    older = lambda **scaling: without("rope_parameters", rope_theta=500.0, rope_scaling=scaling)  # noqa: E731
    case("llama-minimal", name, minimal=True)
    case("llama-older-linear", name, edit=older(type="linear", factor=2.0))
    case("llama-older-dynamic", name, edit=older(type="dynamic", factor=2.0))
    case("llama-yarn-mscale", name, **rope(mscale=1.3, mscale_all_dim=0.6))
    case("llama-yarn-one-mscale", name, **rope(mscale=1.3))
    case("llama-yarn-equal-mscales", name, **rope(mscale=1.0, mscale_all_dim=1.0))
    case("llama-yarn-attention-factor", name, **rope(attention_factor=0.7, mscale=1.3, mscale_all_dim=0.6))
    case("llama-yarn-no-truncation", name, **rope(truncate=False, beta_fast=3.0, beta_slow=0.2))
    case("llama-yarn-betas", name, **rope(beta_fast=3, beta_slow=0.2), ids=MORE_TEXT)
    case("llama-yarn-small-factor", name, **rope(factor=1.0))
    case("llama-yarn-two-lengths", name, **rope(), original_max_position_embeddings=8)
    case("llama-longrope", name, rope_parameters=dict(rope_type="longrope", rope_theta=100.0, short_factor=[1.0, 1.1, 1.5], long_factor=[2.0, 3.0, 5.0], original_max_position_embeddings=24, attention_factor=1.2), ids=MORE_TEXT)
    case("llama-proportional", name, rope_parameters=dict(rope_type="proportional", rope_theta=100.0, partial_rotary_factor=0.4), head_dim=10)
    case("llama-3-no-length", name, rope_parameters=dict(rope_type="llama3", rope_theta=500.0, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0))
    case("llama-partial-rotary", name, edit=without(partial_rotary_factor=0.5))
    case("llama-window", name, edit=without(sliding_window=3))
    case("llama-query-scalar", name, edit=without(query_pre_attn_scalar=3, attn_logit_softcapping=2.0, final_logit_softcapping=1.0, qk_layernorm=True, use_parallel_residual=True, use_qkv_bias=True))
    case("llama-not-causal", name, is_causal=False)
    case("llama-one-key", name, num_key_value_heads=1, head_dim=14, attention_bias=True)
    case("llama-mlp-bias", name, mlp_bias=True, hidden_act="gelu", rms_norm_eps=0.01, pretraining_tp=2)
    case("llama-tokens", "LlamaForTokenClassification", num_labels=3)
    case("llama-tokens-bare", "LlamaForTokenClassification", num_labels=3, token_classification_bias=False)
    case("llama-questions", "LlamaForQuestionAnswering", headless="QuestionAnswering")
    case("llama-classes", "LlamaForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("llama-classes-one", "LlamaForSequenceClassification", num_labels=1, pad_token_id=0)
    case("mistral-minimal", "MistralForCausalLM", minimal=True)
    case("mistral-no-window", "MistralForCausalLM", sliding_window=None)
    case("mistral-layer-types", "MistralForCausalLM", sliding_window=3, edit=without(layer_types=["full_attention", "sliding_attention"]))
    case("mistral-not-causal", "MistralForCausalLM", sliding_window=3, is_causal=False)
    case("mistral-classes", "MistralForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("mistral-tokens", "MistralForTokenClassification", num_labels=3, sliding_window=5)
    case("mistral-tied", "MistralForCausalLM", tie_word_embeddings=True, head_dim=8)
    case("qwen2-minimal", "Qwen2ForCausalLM", minimal=True)
    case("qwen2-no-window", "Qwen2ForCausalLM", edit=without("layer_types", sliding_window=3))
    case("qwen2-window", "Qwen2ForCausalLM", edit=without("layer_types", sliding_window=3, use_sliding_window=True, max_window_layers=1))
    case("qwen2-layer-types", "Qwen2ForCausalLM", use_sliding_window=True, sliding_window=3, layer_types=["sliding_attention", "full_attention"])
    case("qwen2-older-yarn", "Qwen2ForCausalLM", edit=older(type="yarn", factor=4.0, original_max_position_embeddings=24))
    case("qwen2-not-causal", "Qwen2ForCausalLM", is_causal=False, head_dim=10)
    case("qwen2-window-not-causal", "Qwen2ForCausalLM", is_causal=False, use_sliding_window=True, sliding_window=3, max_window_layers=1)
    case("qwen2-classes", "Qwen2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("qwen2-tokens", "Qwen2ForTokenClassification", num_labels=3, tie_word_embeddings=True)
    case("qwen3-minimal", "Qwen3ForCausalLM", minimal=True)
    case("qwen3-no-window", "Qwen3ForCausalLM", edit=without("layer_types", sliding_window=3))
    case("qwen3-no-flag", "Qwen3ForCausalLM", edit=without("layer_types", "use_sliding_window", sliding_window=3))
    case("qwen3-window", "Qwen3ForCausalLM", edit=without("layer_types", sliding_window=3, use_sliding_window=True, max_window_layers=1))
    case("qwen3-bias", "Qwen3ForCausalLM", attention_bias=True, rms_norm_eps=0.01, tie_word_embeddings=True)
    case("qwen3-classes", "Qwen3ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("qwen3-questions", "Qwen3ForQuestionAnswering", headless="QuestionAnswering")


def experts():
    case("mixtral-minimal", "MixtralForCausalLM", minimal=True)
    case("mixtral-window", "MixtralForCausalLM", sliding_window=3, head_dim=8)
    case("mixtral-one-expert", "MixtralForCausalLM", num_experts_per_tok=1)
    case("mixtral-all-experts", "MixtralForCausalLM", num_experts_per_tok=4)
    case("mixtral-too-many", "MixtralForCausalLM", edit=without(num_experts_per_tok=5), refusal="num_experts_per_tok")
    case("mixtral-other-key", "MixtralForCausalLM", edit=without("num_local_experts", num_experts=4))
    case("mixtral-no-theta", "MixtralForCausalLM", edit=without("rope_parameters"))
    case("mixtral-jitter", "MixtralForCausalLM", router_jitter_noise=0.3, output_router_logits=True)
    case("mixtral-gelu", "MixtralForCausalLM", hidden_act="gelu", tie_word_embeddings=True)
    case("mixtral-classes", "MixtralForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("mixtral-not-causal", "MixtralForCausalLM", is_causal=False)
    case("olmoe-minimal", "OlmoeForCausalLM", minimal=True)
    case("olmoe-normalised", "OlmoeForCausalLM", norm_topk_prob=True)
    case("olmoe-bias", "OlmoeForCausalLM", attention_bias=True, rms_norm_eps=0.01)
    case("olmoe-own-keys", "OlmoeForCausalLM", num_key_value_heads=None)
    case("olmoe-other-key", "OlmoeForCausalLM", edit=without("num_experts", num_local_experts=4))
    case("olmoe-clipped", "OlmoeForCausalLM", clip_qkv=0.5)
    case("olmoe-clipped-to-nothing", "OlmoeForCausalLM", clip_qkv=0.0)
    case("olmoe-window", "OlmoeForCausalLM", edit=without(sliding_window=3))
    case("olmoe-relu", "OlmoeForCausalLM", hidden_act="relu", num_experts_per_tok=4)
    case("olmoe-tied", "OlmoeForCausalLM", tie_word_embeddings=True)
    case("olmoe-one-expert", "OlmoeForCausalLM", num_experts_per_tok=1, norm_topk_prob=True)
    case("qwen2-moe-minimal", "Qwen2MoeForCausalLM", minimal=True)
    case("qwen2-moe-no-bias", "Qwen2MoeForCausalLM", qkv_bias=False)
    case("qwen2-moe-every-other", "Qwen2MoeForCausalLM", decoder_sparse_step=2)
    case("qwen2-moe-one-dense", "Qwen2MoeForCausalLM", mlp_only_layers=[0], norm_topk_prob=True)
    case("qwen2-moe-window", "Qwen2MoeForCausalLM", use_sliding_window=True, sliding_window=3, edit=without("layer_types"))
    case("qwen2-moe-window-before", "Qwen2MoeForCausalLM", use_sliding_window=True, sliding_window=3, max_window_layers=0)
    case("qwen2-moe-layer-types", "Qwen2MoeForCausalLM", use_sliding_window=True, sliding_window=3, layer_types=["full_attention", "sliding_attention"])
    case("qwen2-moe-no-window", "Qwen2MoeForCausalLM", edit=without("layer_types", sliding_window=3))
    case("qwen2-moe-all-experts", "Qwen2MoeForCausalLM", num_experts_per_tok=4)
    case("qwen2-moe-tokens", "Qwen2MoeForTokenClassification", num_labels=3)
    case("qwen3-moe-minimal", "Qwen3MoeForCausalLM", minimal=True)
    case("qwen3-moe-normalised", "Qwen3MoeForCausalLM", norm_topk_prob=True)
    case("qwen3-moe-older-key", "Qwen3MoeForCausalLM", edit=without("num_local_experts", num_experts=4))
    case("qwen3-moe-every-other", "Qwen3MoeForCausalLM", decoder_sparse_step=2)
    case("qwen3-moe-no-experts", "Qwen3MoeForCausalLM", mlp_only_layers=[0, 1])
    case("qwen3-moe-window", "Qwen3MoeForCausalLM", use_sliding_window=True, sliding_window=3)
    case("qwen3-moe-no-window", "Qwen3MoeForCausalLM", edit=without(sliding_window=3, max_window_layers=1))
    case("qwen3-moe-bias", "Qwen3MoeForCausalLM", attention_bias=True, tie_word_embeddings=True)
    case("qwen3-moe-yarn", "Qwen3MoeForCausalLM", rope_parameters=dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=24))
    case("qwen3-moe-classes", "Qwen3MoeForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("qwen3-moe-one-expert", "Qwen3MoeForCausalLM", num_experts=1, num_experts_per_tok=1)


def gemmas():
    case("gemma-minimal", "GemmaForCausalLM", minimal=True)
    case("gemma-gelu", "GemmaForCausalLM", edit=without(hidden_act="gelu", hidden_activation=None))
    case("gemma-relu", "GemmaForCausalLM", edit=without(hidden_act="relu", hidden_activation="gelu_pytorch_tanh"))
    case("gemma-both-directions", "GemmaForCausalLM", use_bidirectional_attention=True, refusal="use_bidirectional_attention")
    case("gemma-untied-bias", "GemmaForCausalLM", tie_word_embeddings=False, attention_bias=True, rms_norm_eps=0.01)
    case("gemma-classes", "GemmaForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("gemma-tokens", "GemmaForTokenClassification", num_labels=3)
    case("gemma-not-causal", "GemmaForCausalLM", is_causal=False)
    case("gemma2-minimal", "Gemma2ForCausalLM", minimal=True)
    case("gemma2-gelu", "Gemma2ForCausalLM", hidden_activation="gelu")
    case("gemma2-decoy", "Gemma2ForCausalLM", edit=without(hidden_act="silu"))
    case("gemma2-no-caps", "Gemma2ForCausalLM", attn_logit_softcapping=None, final_logit_softcapping=None)
    case("gemma2-classes", "Gemma2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED, final_logit_softcapping=0.5)
    case("gemma2-tokens", "Gemma2ForTokenClassification", num_labels=3, final_logit_softcapping=0.5)
    case("gemma2-layer-types", "Gemma2ForCausalLM", sliding_window=3, layer_types=["full_attention", "sliding_attention"], query_pre_attn_scalar=30)
    case("gemma2-pattern", "Gemma2ForCausalLM", num_hidden_layers=4, sliding_window=3, edit=without("layer_types", sliding_window_pattern=3))
    case("gemma2-both-directions", "Gemma2ForCausalLM", use_bidirectional_attention=True, refusal="use_bidirectional_attention")
    case("gemma2-not-causal", "Gemma2ForCausalLM", is_causal=False, sliding_window=3)
    case("gemma3-minimal", "Gemma3ForCausalLM", minimal=True, num_hidden_layers=7)
    case("gemma3-both-directions", "Gemma3ForCausalLM", use_bidirectional_attention=True, sliding_window=6)
    case("gemma3-embedding", "Gemma3TextModel", use_bidirectional_attention=True, sliding_window=5, num_hidden_layers=7)
    case("gemma3-linear", "Gemma3ForCausalLM", rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0, rope_theta=1000.0), sliding_attention=dict(rope_type="default", rope_theta=50.0)), num_hidden_layers=7)
    case("gemma3-older", "Gemma3ForCausalLM", num_hidden_layers=4, edit=without("rope_parameters", "layer_types", rope_scaling=dict(rope_type="linear", factor=8.0), rope_theta=1000.0, rope_local_base_freq=50.0, sliding_window=3, sliding_window_pattern=2))
    case("gemma3-older-silent", "Gemma3ForCausalLM", num_hidden_layers=7, edit=without("rope_parameters", "layer_types", sliding_window=3))
    case("gemma3-classes", "Gemma3TextForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED, final_logit_softcapping=0.5)
    case("gemma3-caps", "Gemma3ForCausalLM", attn_logit_softcapping=1.5, final_logit_softcapping=2.0, attention_bias=True, tie_word_embeddings=False)
    case("gemma3-not-causal", "Gemma3ForCausalLM", is_causal=False, sliding_window=3)


def gemmas_of_layers():
    name = "Gemma4ForCausalLM"
    sliding, full = "sliding_attention", "full_attention"
    shared = dict(num_hidden_layers=4, layer_types=[sliding, full] * 2, num_kv_shared_layers=2)
    case("gemma4-minimal", name, minimal=True)
    case("gemma4-shared", name, **shared)
    case("gemma4-shared-wide", name, **shared, use_double_wide_mlp=True)
    case("gemma4-shared-all-but-one", name, num_hidden_layers=4, layer_types=[full] * 4, num_kv_shared_layers=3, ids=MORE_TEXT)
    case("gemma4-shared-none-before", name, **shared | dict(num_kv_shared_layers=0), edit=without(num_kv_shared_layers=3), refusal="num_kv_shared_layers")
    case("gemma4-values-are-keys", name, attention_k_eq_v=True, num_global_key_value_heads=1)
    case("gemma4-values-are-keys-with-bias", name, attention_k_eq_v=True, attention_bias=True, **shared)
    case("gemma4-global-heads-ignored", name, edit=without(num_global_key_value_heads=1))
    case("gemma4-global-width", name, edit=without("per_layer_config", global_head_dim=14))
    case("gemma4-own-layers", name, per_layer_config={0: dict(head_dim=6, num_key_value_heads=4)})
    case("gemma4-own-widths-of-one-kind", name, num_hidden_layers=4, layer_types=[sliding, full] * 2, edit=without(per_layer_config={"1": dict(head_dim=14), "3": dict(head_dim=14), "0": dict(head_dim=6)}), refusal="two widths")
    case("gemma4-own-mlp", name, edit=without(per_layer_config={"1": dict(head_dim=14, intermediate_size=12)}), refusal="intermediate_size")
    case("gemma4-no-own-inputs", name, hidden_size_per_layer_input=0)
    case("gemma4-few-own-inputs", name, edit=without(vocab_size_per_layer_input=40), refusal="vocab_size_per_layer_input")
    case("gemma4-last-layer-full", name, num_hidden_layers=3, layer_types=[full, sliding, full], edit=without(layer_types=[full, sliding, sliding]))
    case("gemma4-kinds-of-class", name, num_hidden_layers=7, layer_types=None)
    case("gemma4-whole-rotary", name, rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=500.0), sliding_attention=YARN))
    case("gemma4-proportional-factor", name, rope_parameters=dict(full_attention=dict(rope_type="proportional", rope_theta=500.0, factor=4.0, partial_rotary_factor=0.5), sliding_attention=dict(rope_type="proportional", rope_theta=50.0)))
    case("gemma4-no-rotary-keys", name, edit=without("rope_parameters", rope_theta=3.0))
    case("gemma4-older-rotary", name, edit=without("rope_parameters", rope_scaling=dict(rope_type="linear", factor=8.0)), refusal="rope_scaling")
    case("gemma4-cap-untied", name, final_logit_softcapping=2.0, tie_word_embeddings=False, rms_norm_eps=0.02, hidden_activation="silu")
    case("gemma4-vision", name, use_bidirectional_attention="vision")
    case("gemma4-both-directions", name, edit=without(use_bidirectional_attention="all"), refusal="use_bidirectional_attention")
    case("gemma4-experts", name, enable_moe_block=True, num_experts=4, top_k_experts=2, moe_intermediate_size=12, refusal="enable_moe_block")
    case("gemma4-long", name, **shared, ids=[(17 * at + 5) % 61 for at in range(80)])


def phis():
    half = dict(rope_type="default", rope_theta=100.0)
    case("phi-minimal", "PhiForCausalLM", minimal=True)
    case("phi-tied", "PhiForCausalLM", tie_word_embeddings=True)
    case("phi-fully-rotary", "PhiForCausalLM", rope_parameters=half | dict(partial_rotary_factor=1.0), num_key_value_heads=4)
    case("phi-older", "PhiForCausalLM", edit=without("rope_parameters", rope_theta=100.0, partial_rotary_factor=0.75, rope_scaling=dict(type="linear", factor=2.0)))
    case("phi-relu-norms", "PhiForCausalLM", hidden_act="relu", qk_layernorm=True, layer_norm_eps=0.01)
    case("phi-classes", "PhiForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("phi-tokens", "PhiForTokenClassification", num_labels=3)
    case("phi-not-causal", "PhiForCausalLM", is_causal=False)
    case("phi3-minimal", "Phi3ForCausalLM", minimal=True)
    case("phi3-window", "Phi3ForCausalLM", sliding_window=3)
    case("phi3-partial", "Phi3ForCausalLM", hidden_size=32, rope_parameters=half | dict(partial_rotary_factor=0.5))
    long = dict(type="longrope", short_factor=[1.0, 1.1, 1.5], long_factor=[2.0, 3.0, 5.0])
    case("phi3-older-longrope", "Phi3ForCausalLM", original_max_position_embeddings=24, edit=without("rope_parameters", rope_scaling=long, rope_theta=100.0), ids=MORE_TEXT)
    case("phi3-classes", "Phi3ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("phi3-tokens", "Phi3ForTokenClassification", num_labels=3)
    case("phi3-tied", "Phi3ForCausalLM", tie_word_embeddings=True, rms_norm_eps=0.01)
    case("stablelm-minimal", "StableLmForCausalLM", minimal=True)
    case("stablelm-older", "StableLmForCausalLM", edit=without("rope_parameters", rope_theta=100.0, partial_rotary_factor=0.5))
    case("stablelm-parallel", "StableLmForCausalLM", use_parallel_residual=True, num_key_value_heads=4)
    case("stablelm-norms", "StableLmForCausalLM", qk_layernorm=True, use_qkv_bias=True, num_key_value_heads=1, layer_norm_eps=0.01)
    case("stablelm-tokens", "StableLmForTokenClassification", num_labels=3, tie_word_embeddings=True)
    case("stablelm-classes", "StableLmForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("stablelm-not-causal", "StableLmForCausalLM", is_causal=False)


def of_neighbours():
    yarn = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=24)
    case("glm4-minimal", "Glm4ForCausalLM", minimal=True)
    case("glm4-no-bias", "Glm4ForCausalLM", attention_bias=False)
    case("glm4-one-key", "Glm4ForCausalLM", num_key_value_heads=1, rms_norm_eps=0.01)
    case("glm4-tied", "Glm4ForCausalLM", tie_word_embeddings=True)
    case("glm4-gelu", "Glm4ForCausalLM", hidden_act="gelu")
    case("glm4-older", "Glm4ForCausalLM", edit=without("rope_parameters", rope_theta=100.0, partial_rotary_factor=0.25))
    case("glm4-whole", "Glm4ForCausalLM", rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=1.0))
    case("glm4-silent", "Glm4ForCausalLM", edit=without("rope_parameters"))
    case("glm4-yarn", "Glm4ForCausalLM", rope_parameters=dict(yarn))
    case("glm4-wide-heads", "Glm4ForCausalLM", head_dim=12)
    case("glm4-classes", "Glm4ForSequenceClassification", num_labels=3, ids=PADDED)
    case("glm4-tokens", "Glm4ForTokenClassification", num_labels=3)
    case("glm4-not-causal", "Glm4ForCausalLM", is_causal=False)
    case("cohere-minimal", "CohereForCausalLM", minimal=True)
    case("cohere-norms", "CohereForCausalLM", use_qk_norm=True, num_key_value_heads=1)
    case("cohere-bias", "CohereForCausalLM", attention_bias=True, layer_norm_eps=0.01)
    case("cohere-untied", "CohereForCausalLM", tie_word_embeddings=False, logit_scale=2.0)
    case("cohere-own-keys", "CohereForCausalLM", num_key_value_heads=None)
    case("cohere-gelu", "CohereForCausalLM", hidden_act="gelu")
    case("cohere-silent", "CohereForCausalLM", edit=without("rope_parameters", "logit_scale"))
    case("cohere-older", "CohereForCausalLM", edit=without("rope_parameters", rope_theta=100.0, rope_scaling=dict(type="linear", factor=2.0)))
    case("cohere-wide-heads", "CohereForCausalLM", edit=without(head_dim=6))
    case("cohere-yarn", "CohereForCausalLM", rope_parameters=dict(yarn))
    case("cohere-not-causal", "CohereForCausalLM", is_causal=False)
    case("cohere2-minimal", "Cohere2ForCausalLM", minimal=True)
    case("cohere2-pattern", "Cohere2ForCausalLM", edit=without("layer_types", sliding_window_pattern=2))
    case("cohere2-silent", "Cohere2ForCausalLM", edit=without("layer_types", "rope_parameters"))
    case("cohere2-all-windows", "Cohere2ForCausalLM", layer_types=["sliding_attention"] * 4)
    case("cohere2-no-windows", "Cohere2ForCausalLM", layer_types=["full_attention"] * 4)
    case("cohere2-bias", "Cohere2ForCausalLM", attention_bias=True, num_key_value_heads=1)
    case("cohere2-untied", "Cohere2ForCausalLM", tie_word_embeddings=False, logit_scale=0.5)
    case("cohere2-decoy", "Cohere2ForCausalLM", edit=without(use_qk_norm=True))
    case("cohere2-yarn", "Cohere2ForCausalLM", rope_parameters=dict(yarn))
    case("cohere2-gelu", "Cohere2ForCausalLM", hidden_act="gelu", layer_norm_eps=0.01)
    case("cohere2-not-causal", "Cohere2ForCausalLM", is_causal=False)


def later_decoders():
    yarn = dict(rope_type="yarn", rope_theta=100.0, factor=4.0, original_max_position_embeddings=24)
    case("olmo2-minimal", "Olmo2ForCausalLM", minimal=True)
    case("olmo2-one-key", "Olmo2ForCausalLM", num_key_value_heads=1, rms_norm_eps=0.01)
    case("olmo2-tied-bias", "Olmo2ForCausalLM", tie_word_embeddings=True, attention_bias=True, num_key_value_heads=4)
    case("olmo2-older", "Olmo2ForCausalLM", edit=without("rope_parameters", rope_theta=100.0, rope_scaling=dict(type="linear", factor=2.0)))
    case("olmo2-relu-yarn", "Olmo2ForCausalLM", hidden_act="relu", rope_parameters=yarn)
    case("olmo2-classes", "Olmo2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("olmo2-wide-heads", "Olmo2ForCausalLM", edit=without(head_dim=6))
    case("olmo2-not-causal", "Olmo2ForCausalLM", is_causal=False)
    case("olmo3-minimal", "Olmo3ForCausalLM", minimal=True, num_hidden_layers=5)
    case("olmo3-window", "Olmo3ForCausalLM", num_hidden_layers=5, sliding_window=3, num_key_value_heads=4)
    case("olmo3-yarn", "Olmo3ForCausalLM", sliding_window=3, layer_types=["full_attention", "sliding_attention"], rope_parameters=dict(full_attention=yarn, sliding_attention=dict(rope_type="default", rope_theta=50.0)))
    case("olmo3-older", "Olmo3ForCausalLM", num_hidden_layers=4, edit=without("rope_parameters", "layer_types", rope_scaling=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=24), rope_theta=1000.0, sliding_window=3))
    case("olmo3-all-see-all", "Olmo3ForCausalLM", layer_types=["full_attention"] * 2, attention_bias=True)
    case("olmo3-classes", "Olmo3ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED, sliding_window=3)
    case("olmo3-not-causal", "Olmo3ForCausalLM", is_causal=False, sliding_window=3)
    case("smollm3-minimal", "SmolLM3ForCausalLM", minimal=True, num_hidden_layers=5)
    case("smollm3-interval", "SmolLM3ForCausalLM", num_hidden_layers=3, no_rope_layer_interval=2, num_key_value_heads=1)
    case("smollm3-interval-silent", "SmolLM3ForCausalLM", num_hidden_layers=3, edit=without("no_rope_layers", "layer_types", no_rope_layer_interval=3))
    case("smollm3-listed", "SmolLM3ForCausalLM", no_rope_layers=[0, 1], tie_word_embeddings=False, attention_bias=True, mlp_bias=True)
    case("smollm3-window", "SmolLM3ForCausalLM", no_rope_layers=[0, 1], use_sliding_window=True, sliding_window=3)
    case("smollm3-window-silent", "SmolLM3ForCausalLM", num_hidden_layers=4, edit=without("no_rope_layers", "layer_types", use_sliding_window=True, sliding_window=3))
    case("smollm3-layer-types", "SmolLM3ForCausalLM", sliding_window=3, layer_types=["sliding_attention", "full_attention"])
    case("smollm3-older", "SmolLM3ForCausalLM", edit=without("rope_parameters", rope_theta=100.0, rope_scaling=dict(type="linear", factor=2.0)))
    case("smollm3-yarn", "SmolLM3ForCausalLM", rope_parameters=yarn, rms_norm_eps=0.01)
    case("smollm3-classes", "SmolLM3ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("smollm3-tokens", "SmolLM3ForTokenClassification", num_labels=3)
    case("smollm3-not-causal", "SmolLM3ForCausalLM", is_causal=False)
    factors = dict(embedding_multiplier=12, attention_multiplier=0.2, residual_multiplier=0.22, logits_scaling=8)
    case("granite-minimal", "GraniteForCausalLM", minimal=True)
    case("granite-factors", "GraniteForCausalLM", **factors)
    case("granite-factors-bias-tied", "GraniteForCausalLM", attention_bias=True, mlp_bias=True, tie_word_embeddings=True, **factors)
    case("granite-yarn", "GraniteForCausalLM", rope_parameters=yarn, num_key_value_heads=1)
    case("granite-older", "GraniteForCausalLM", edit=without("rope_parameters", rope_theta=100.0, rope_scaling=dict(type="linear", factor=2.0)))
    case("granite-body", "GraniteModel", rms_norm_eps=0.01, hidden_act="gelu", **factors)
    case("granite-not-causal", "GraniteForCausalLM", is_causal=False)
    case("gptj-minimal", "GPTJForCausalLM", n_embd=192, minimal=True)
    case("gptj-fully-rotary", "GPTJForCausalLM", rotary_dim=8, n_inner=20)
    case("gptj-rotary-silent", "GPTJForCausalLM", n_embd=192, edit=without("rotary_dim"), rotary_dim=64)
    case("gptj-odd-rotary", "GPTJForCausalLM", edit=without(rotary_dim=5), refusal="rotary_dim")
    case("gptj-tied", "GPTJForCausalLM", tie_word_embeddings=True, layer_norm_epsilon=0.01)
    case("gptj-relu", "GPTJForCausalLM", activation_function="relu")
    case("gptj-classes", "GPTJForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("gptj-answers", "GPTJForQuestionAnswering", headless="question answering")
    case("gptj-not-causal", "GPTJForCausalLM", is_causal=False)


def decoders_of_code():
    case("starcoder2-minimal", "Starcoder2ForCausalLM", minimal=True)
    case("starcoder2-no-bias", "Starcoder2ForCausalLM", use_bias=False, tie_word_embeddings=False)
    case("starcoder2-window", "Starcoder2ForCausalLM", sliding_window=3, norm_epsilon=0.01)
    case("starcoder2-wide-heads", "Starcoder2ForCausalLM", edit=without(head_dim=6))
    case("starcoder2-one-key", "Starcoder2ForCausalLM", num_key_value_heads=1, hidden_act="gelu")
    case("starcoder2-own-keys", "Starcoder2ForCausalLM", num_key_value_heads=4)
    case("starcoder2-older", "Starcoder2ForCausalLM", edit=without("rope_parameters", rope_theta=100.0, rope_scaling=dict(type="linear", factor=2.0)))
    case("starcoder2-yarn", "Starcoder2ForCausalLM", rope_parameters=YARN, residual_dropout=0.2, embedding_dropout=0.2)
    case("starcoder2-classes", "Starcoder2ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("starcoder2-tokens", "Starcoder2ForTokenClassification", num_labels=3)
    case("starcoder2-not-causal", "Starcoder2ForCausalLM", is_causal=False)
    case("starcoder2-window-not-causal", "Starcoder2ForCausalLM", is_causal=False, sliding_window=3)
    case("bigcode-minimal", "GPTBigCodeForCausalLM", minimal=True)
    case("bigcode-own-keys", "GPTBigCodeForCausalLM", multi_query=False, n_inner=20)
    case("bigcode-unscaled", "GPTBigCodeForCausalLM", scale_attn_weights=False)
    case("bigcode-half-softmax", "GPTBigCodeForCausalLM", attention_softmax_in_fp32=False, scale_attention_softmax_in_fp32=False)
    case("bigcode-untied", "GPTBigCodeForCausalLM", tie_word_embeddings=False, layer_norm_epsilon=0.01)
    case("bigcode-relu", "GPTBigCodeForCausalLM", activation_function="relu")
    case("bigcode-classes", "GPTBigCodeForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("bigcode-tokens", "GPTBigCodeForTokenClassification", num_labels=3)
    case("bigcode-own-keys-unscaled", "GPTBigCodeForCausalLM", multi_query=False, scale_attn_weights=False)
    case("bigcode-cross", "GPTBigCodeForCausalLM", multi_query=False, edit=without(add_cross_attention=True), refusal="add_cross_attention")
    case("bigcode-not-causal", "GPTBigCodeForCausalLM", is_causal=False)
    case("codegen-minimal", "CodeGenForCausalLM", n_embd=192, rotary_dim=64, minimal=True)
    case("codegen-fully-rotary", "CodeGenForCausalLM", rotary_dim=8, n_inner=20)
    case("codegen-six-heads", "CodeGenForCausalLM", n_head=6, n_embd=48)
    case("codegen-one-head", "CodeGenForCausalLM", n_head=1)
    case("codegen-silent", "CodeGenForCausalLM", n_embd=192, rotary_dim=64, edit=without("rotary_dim", "n_ctx"))
    case("codegen-odd-rotary", "CodeGenForCausalLM", edit=without(rotary_dim=5), refusal="rotary_dim")
    case("codegen-tied", "CodeGenForCausalLM", tie_word_embeddings=True, layer_norm_epsilon=0.01)
    case("codegen-relu", "CodeGenForCausalLM", activation_function="relu")
    case("codegen-body", "CodeGenModel")
    case("codegen-not-causal", "CodeGenForCausalLM", is_causal=False)
    case("falcon-minimal", "FalconForCausalLM", minimal=True)
    case("falcon-own-keys", "FalconForCausalLM", multi_query=False)
    case("falcon-serial", "FalconForCausalLM", parallel_attn=False, bias=True)
    case("falcon-serial-two-norms", "FalconForCausalLM", parallel_attn=False, num_ln_in_parallel_attn=2)
    case("falcon-new", "FalconForCausalLM", new_decoder_architecture=True, num_kv_heads=3)
    case("falcon-new-own-keys", "FalconForCausalLM", new_decoder_architecture=True)
    case("falcon-new-one-norm", "FalconForCausalLM", new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1)
    case("falcon-new-serial", "FalconForCausalLM", edit=without(new_decoder_architecture=True, parallel_attn=False), refusal="parallel_attn")
    case("falcon-decoy-keys", "FalconForCausalLM", num_kv_heads=2)
    case("falcon-alibi", "FalconForCausalLM", alibi=True, ids=MORE_TEXT)
    case("falcon-alibi-new", "FalconForCausalLM", alibi=True, new_decoder_architecture=True, num_kv_heads=2, num_attention_heads=4)
    case("falcon-narrow", "FalconForCausalLM", edit=without("max_position_embeddings"), activation="relu")
    case("falcon-older-yarn", "FalconForCausalLM", edit=without("rope_parameters", rope_theta=100.0, rope_scaling=dict(type="linear", factor=2.0)))
    case("falcon-untied", "FalconForCausalLM", tie_word_embeddings=False, layer_norm_epsilon=0.01)
    case("falcon-classes", "FalconForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("falcon-tokens", "FalconForTokenClassification", num_labels=3)
    case("falcon-answers", "FalconForQuestionAnswering", headless="question answering")
    case("falcon-not-causal", "FalconForCausalLM", is_causal=False)
    case("mpt-minimal", "MptForCausalLM", minimal=True)
    case("mpt-clipped", "MptForCausalLM", attn_config=dict(clip_qkv=0.3))
    case("mpt-clipped-at-zero", "MptForCausalLM", attn_config=dict(clip_qkv=0.0))
    case("mpt-scale", "MptForCausalLM", attn_config=dict(softmax_scale=0.7), n_heads=4)
    case("mpt-no-section", "MptForCausalLM", edit=without("attn_config"))
    case("mpt-norms", "MptForCausalLM", edit=without(attn_config=dict(qk_ln=True)), refusal="qk_ln")
    case("mpt-no-slopes", "MptForCausalLM", edit=without(attn_config=dict(alibi=False)), refusal="alibi")
    case("mpt-narrow", "MptForCausalLM", edit=without(expansion_ratio=2), refusal="expansion_ratio")
    case("mpt-scaled-logits", "MptForCausalLM", edit=without(logit_scale="inv_sqrt_d_model"), refusal="logit_scale")
    case("mpt-untied", "MptForCausalLM", tie_word_embeddings=False, layer_norm_epsilon=0.01)
    case("mpt-classes", "MptForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("mpt-tokens", "MptForTokenClassification", num_labels=3)
    case("mpt-answers", "MptForQuestionAnswering", headless="question answering")


def sinks_and_growth():
    case("gpt-oss-minimal", "GptOssForCausalLM", minimal=True)
    case("gpt-oss-no-bias", "GptOssForCausalLM", attention_bias=False)
    case("gpt-oss-silent", "GptOssForCausalLM", edit=without("rope_parameters", "layer_types", "sliding_window"))
    case("gpt-oss-older", "GptOssForCausalLM", edit=without("rope_parameters", rope_theta=500.0, rope_scaling=dict(rope_type="yarn", factor=4.0, truncate=False, original_max_position_embeddings=24)))
    case("gpt-oss-whole-ramp", "GptOssForCausalLM", rope_parameters=YARN)
    case("gpt-oss-tight", "GptOssForCausalLM", swiglu_limit=0.2, swiglu_alpha=1.0)
    case("gpt-oss-one-expert", "GptOssForCausalLM", num_experts_per_tok=1)
    case("gpt-oss-all-experts", "GptOssForCausalLM", num_experts_per_tok=4)
    case("gpt-oss-all-see-all", "GptOssForCausalLM", layer_types=["full_attention"] * 2, num_key_value_heads=1)
    case("gpt-oss-all-windows", "GptOssForCausalLM", layer_types=["sliding_attention"] * 2)
    case("gpt-oss-no-width", "GptOssForCausalLM", edit=without(sliding_window=None), refusal="sliding_window")
    case("gpt-oss-gelu", "GptOssForCausalLM", hidden_act="gelu", tie_word_embeddings=True, rms_norm_eps=0.01)
    case("gpt-oss-other-key", "GptOssForCausalLM", edit=without("num_local_experts", num_experts=4))
    case("gpt-oss-narrow-heads", "GptOssForCausalLM", head_dim=6)
    case("gpt-oss-classes", "GptOssForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("gpt-oss-tokens", "GptOssForTokenClassification", num_labels=3)
    case("gpt-oss-not-causal", "GptOssForCausalLM", is_causal=False)
    growth = lambda **options: dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, llama_4_scaling_beta=0.3) | options  # noqa: E731
    case("ministral3-minimal", "Ministral3ForCausalLM", minimal=True)
    case("ministral3-long", "Ministral3ForCausalLM", ids=MORE_TEXT)
    case("ministral3-window", "Ministral3ForCausalLM", sliding_window=3, num_key_value_heads=1)
    case("ministral3-silent", "Ministral3ForCausalLM", edit=without("rope_parameters"))
    case("ministral3-older", "Ministral3ForCausalLM", edit=without("rope_parameters", rope_theta=500.0, rope_scaling=growth(original_max_position_embeddings=4)))
    case("ministral3-two-lengths", "Ministral3ForCausalLM", edit=without(original_max_position_embeddings=3))
    case("ministral3-no-length", "Ministral3ForCausalLM", max_position_embeddings=6, edit=without(rope_parameters=growth()))
    case("ministral3-unstretched", "Ministral3ForCausalLM", rope_parameters=growth(rope_type="default", original_max_position_embeddings=4))
    case("ministral3-no-growth", "Ministral3ForCausalLM", edit=without(rope_parameters=YARN), refusal="llama_4_scaling_beta")
    case("ministral3-flat", "Ministral3ForCausalLM", rope_parameters=growth(llama_4_scaling_beta=0.0, original_max_position_embeddings=4))
    case("ministral3-narrow-heads", "Ministral3ForCausalLM", head_dim=6)
    case("ministral3-tied", "Ministral3ForCausalLM", tie_word_embeddings=True, hidden_act="gelu", rms_norm_eps=0.01)
    case("ministral3-classes", "Ministral3ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("ministral3-answers", "Ministral3ForQuestionAnswering", headless="QuestionAnswering")


def readers_and_writers():
    target = [0, 17, 4, 33, 8, 25, 40]
    ended = [*IDS[:-1], 1]
    t5 = "T5ForConditionalGeneration"
    case("t5-minimal", t5, minimal=True, target=target)
    case("t5-gated-silu", t5, feed_forward_proj="gated-silu", target=target)
    case("t5-gated-gelu", t5, feed_forward_proj="gated-gelu", target=target)
    case("t5-plain-gelu", t5, feed_forward_proj="gelu", target=target, layer_norm_epsilon=0.01)
    case("t5-gated-erf", t5, feed_forward_proj="gated-gelu", edit=without(dense_act_fn="gelu"), target=target)
    case("t5-other-activation", t5, edit=without(dense_act_fn="silu"), target=target)
    case("t5-no-decoder-layers", t5, edit=without("num_decoder_layers"), num_decoder_layers=2, target=target)
    case("t5-few-buckets", t5, relative_attention_num_buckets=6, relative_attention_max_distance=5, target=target)
    case("t5-unscaled", t5, tie_word_embeddings=False, target=target)
    case("t5-body", "T5Model", target=target)
    case("t5-tokens", "T5ForTokenClassification", num_labels=3)
    case("t5-classes", "T5ForSequenceClassification", num_labels=3, ids=ended, decoder_start_token_id=0)
    case("t5-classes-padded", "T5ForSequenceClassification", num_labels=3, ids=[*IDS[:6], 1, 0, 0, 0], decoder_start_token_id=0)
    case("t5-not-causal", t5, is_causal=False, target=target)
    case("t5-questions", "T5ForQuestionAnswering", target=target, decoder_start_token_id=0, headless="QuestionAnswering")
    case("mt5-minimal", "MT5ForConditionalGeneration", minimal=True, target=target)
    case("mt5-relu", "MT5ForConditionalGeneration", feed_forward_proj="relu", target=target)
    case("mt5-encoder", "MT5EncoderModel")
    bart, classes = "BartForConditionalGeneration", dict(num_labels=3)
    case("bart-minimal", bart, minimal=True, target=target)
    case("bart-scaled-relu", bart, scale_embedding=True, activation_function="relu", target=target)
    case("bart-untied", bart, tie_word_embeddings=False, target=target)
    case("bart-classes", "BartForSequenceClassification", **classes, ids=[0, *IDS, 2])
    case("bart-classes-padded", "BartForSequenceClassification", **classes, ids=[0, *IDS[:6], 2, 1, 1, 1])
    case("bart-classes-two-texts", "BartForSequenceClassification", **classes, ids=[0, *IDS[:4], 2, 2, *IDS[4:8], 2])
    case("bart-classes-other-start", "BartForSequenceClassification", **classes, ids=[0, *IDS, 2], decoder_start_token_id=5)
    case("bart-classes-minimal", "BartForSequenceClassification", **classes, ids=[0, *IDS, 2], minimal=True)
    case("bart-not-causal", bart, is_causal=False, target=target)
    case("bart-questions", "BartForQuestionAnswering", headless="QuestionAnswering", target=target)
    case("bart-decoder", "BartForCausalLM", refusal="BartForCausalLM")
    case("mbart-minimal", "MBartForConditionalGeneration", minimal=True, target=target)
    case("mbart-gelu-new", "MBartForConditionalGeneration", activation_function="gelu_new", scale_embedding=True, target=target)
    case("mbart-classes", "MBartForSequenceClassification", **classes, ids=[*IDS, 2, 44])
    case("mbart-classes-padded", "MBartForSequenceClassification", **classes, ids=[*IDS[:6], 2, 44, 1, 1, 1])
    case("mbart-questions", "MBartForQuestionAnswering", headless="QuestionAnswering", target=target)
    case("mbart-decoder", "MBartForCausalLM", refusal="MBartForCausalLM")
    name = "M2M100ForConditionalGeneration"
    case("m2m-minimal", name, minimal=True, target=target)
    case("m2m-padded", name, ids=[*IDS[:5], 1, *IDS[5:9], 1, 1], target=[2, 9, 1, 14, 33])
    case("m2m-padding-5", name, pad_token_id=5, ids=IDS, target=target)
    case("m2m-longer", name, max_position_embeddings=8, target=target)
    case("m2m-gelu", name, activation_function="gelu", scale_embedding=False, target=target)
    case("m2m-silent", name, edit=without("activation_function", "scale_embedding"), target=target)
    case("m2m-untied", name, tie_word_embeddings=False, target=target)
    case("m2m-odd-width", name, d_model=27, encoder_attention_heads=3, decoder_attention_heads=9, target=target)
    case("m2m-layerdrop", name, encoder_layerdrop=0.9, decoder_layerdrop=0.9, target=target)
    case("m2m-body", "M2M100Model", target=target)
    case("m2m-not-causal", name, is_causal=False, target=target)
    name = "PegasusForConditionalGeneration"
    case("pegasus-minimal", name, minimal=True, target=target)
    case("pegasus-scaled", name, scale_embedding=True, target=target)
    case("pegasus-relu", name, activation_function="relu", target=target)
    case("pegasus-silent", name, edit=without("activation_function", "scale_embedding"), target=target)
    case("pegasus-untied", name, tie_word_embeddings=False, target=target)
    case("pegasus-odd-width", name, d_model=27, encoder_attention_heads=3, decoder_attention_heads=9, target=target)
    case("pegasus-heads", name, encoder_attention_heads=2, decoder_attention_heads=6, target=target)
    case("pegasus-layers", name, encoder_layers=3, decoder_layers=1, target=target)
    case("pegasus-body", "PegasusModel", target=target)
    case("pegasus-decoder", "PegasusForCausalLM", refusal="PegasusForCausalLM")
    case("pegasus-not-causal", name, is_causal=False, target=target)
    case("marian-minimal", "MarianMTModel", minimal=True, target=target)
    case("marian-relu", "MarianMTModel", activation_function="relu", scale_embedding=True, target=target)
    case("marian-body", "MarianModel", target=target)
    case("marian-decoder", "MarianForCausalLM", refusal="MarianForCausalLM")


def pictures():
    square, vit = (16, 16), "ViTForImageClassification"
    larger = dict(interpolate_pos_encoding=True)
    case("vit-minimal", vit, minimal=True, size=square)
    case("vit-oblong-patches", vit, patch_size=[4, 2], size=square)
    case("vit-uneven", vit, image_size=18, size=(18, 18))
    case("vit-interpolated", vit, size=(20, 28), options=larger)
    case("vit-gray", vit, num_channels=1, size=square, refusal="channels")
    case("vit-head-dim", vit, size=square, edit=without(), head_dim=10)
    case("vit-eps", vit, layer_norm_eps=0.05, hidden_act="gelu_new", qkv_bias=False, num_labels=4, size=square)
    case("vit-masked", "ViTForMaskedImageModeling", encoder_stride=4, size=square, headless="MaskedImageModeling")
    case("vit-pooler", "ViTModel", pooler_act="relu", pooler_output_size=10, size=square)
    case("deit-minimal", "DeiTForImageClassification", minimal=True, size=square)
    case("deit-interpolated", "DeiTForImageClassificationWithTeacher", size=(20, 12), options=larger, num_labels=4)
    case("deit-no-bias", "DeiTModel", qkv_bias=False, hidden_act="relu", size=square)
    case("deit-masked", "DeiTForMaskedImageModeling", encoder_stride=4, size=square, headless="MaskedImageModeling")
    beit = "BeitForImageClassification"
    case("beit-minimal", beit, minimal=True, size=square)
    case("beit-both-biases", beit, use_relative_position_bias=True, use_shared_relative_position_bias=True, size=square)
    case("beit-absolute-interpolated", beit, use_absolute_position_embeddings=True, use_relative_position_bias=True, size=(20, 28))
    case("beit-first-token", beit, use_mean_pooling=False, num_labels=4, size=square)
    case("beit-masked", "BeitForMaskedImageModeling", use_mask_token=True, size=square, headless="MaskedImageModeling")
    case("beit-no-scale", beit, layer_scale_init_value=0.0, hidden_act="relu", size=square)
    case("beit-body", "BeitModel", use_shared_relative_position_bias=True, size=(12, 24))
    case("dinov2-minimal", "Dinov2ForImageClassification", minimal=True, patch_size=7, image_size=28, size=(28, 28))
    case("dinov2-no-mask-token", "Dinov2Model", use_mask_token=False, qkv_bias=False, size=square)
    case("dinov2-other-grid", "Dinov2ForImageClassification", size=(28, 20), num_labels=4)
    case("dinov2-gated-classes", "Dinov2ForImageClassification", use_swiglu_ffn=True, mlp_ratio=3, layerscale_value=0.3, size=square)
    case("registers-minimal", "Dinov2WithRegistersForImageClassification", minimal=True, size=square)
    case("registers-none", "Dinov2WithRegistersModel", num_register_tokens=0, size=square)
    case("registers-gated", "Dinov2WithRegistersModel", use_swiglu_ffn=True, num_register_tokens=7, size=(12, 24))
    clip = "CLIPModel"
    case("clip-minimal", clip, minimal=True, size=square)
    case("clip-gelu", clip, vision_config=dict(hidden_act="gelu", layer_norm_eps=0.01), text_config=dict(hidden_act="relu"), size=square)
    case("clip-two-ends", clip, ids=[1, 7, 52, 8, 52, 60], size=square)
    case("clip-no-end", clip, ids=[1, 7, 33, 8, 41, 60], size=square)
    case("clip-not-causal", clip, text_config=dict(is_causal=False), size=square)
    case("clip-older", clip, edit=lambda config: config.update(text_config_dict=config.pop("text_config")), size=square)
    case("clip-other-grid", clip, vision_config=dict(patch_size=8), size=(24, 16), options=larger)
    case("clip-vision-minimal", "CLIPVisionModel", minimal=True, size=square)
    case("clip-vision-projection", "CLIPVisionModelWithProjection", projection_dim=10, size=square)
    case("siglip-minimal", "SiglipModel", minimal=True, size=square)
    case("siglip-relu", "SiglipModel", vision_config=dict(hidden_act="relu", layer_norm_eps=0.01), size=square)
    case("siglip-vision-minimal", "SiglipVisionModel", minimal=True, size=square)
    case("siglip-vision-bare", "SiglipVisionModel", vision_use_head=False, size=square)
    case("siglip-classes", "SiglipForImageClassification", num_labels=4, size=square)


def streams():
    """Text and picture in two streams."""
    words, match, cosines = "BridgeTowerForMaskedLM", "BridgeTowerForImageAndTextRetrieval", "BridgeTowerForContrastiveLearning"
    size = (16, 16)
    wide = dict(hidden_size=128, vision_config=dict(hidden_size=128), text_config=dict(hidden_size=128, num_attention_heads=4))
    case("bridgetower-minimal", words, minimal=True, size=size)
    case("bridgetower-bare", "BridgeTowerModel", size=size)
    case("bridgetower-eps", words, hidden_act="relu", layer_norm_eps=0.05, vision_config=dict(layer_norm_eps=0.01), text_config=dict(hidden_act="gelu_new", layer_norm_eps=0.003), size=size)
    case("bridgetower-tied", words, tie_word_embeddings=True, size=size)
    case("bridgetower-scaled", match, link_tower_type="scaled_add", size=size)
    case("bridgetower-interpolated", match, link_tower_type="interpolate", size=size)
    case("bridgetower-own-maps", match, share_cross_modal_transformer_layers=False, size=size)
    case("bridgetower-one-layer", match, num_hidden_layers=1, size=size)
    case("bridgetower-from-embeddings", words, num_hidden_layers=3, size=size)
    case("bridgetower-too-many-layers", words, num_hidden_layers=2, edit=without(num_hidden_layers=4), refusal="cross-modal layers", size=size)
    case("bridgetower-more-patches", words, size=(24, 16), options=dict(interpolate_pos_encoding=True))
    case("bridgetower-deeper-vision", words, vision_config=dict(num_hidden_layers=4, remove_last_layer=True), size=size)
    case("bridgetower-shallow-vision", words, edit=lambda config: config["vision_config"].update(remove_last_layer=True), refusal="fewer", size=size)
    case("bridgetower-separate-norms", match, vision_config=dict(share_layernorm=False, stop_gradient=True), size=size)
    case("bridgetower-norms-from-vision", match, edit=lambda config: (config["vision_config"].update(share_layernorm=False), config.update(init_layernorm_from_vision_encoder=True)), refusal="init_layernorm_from_vision_encoder", size=size)
    case("bridgetower-shared-links", match, edit=without(share_link_tower_layers=True), refusal="share_link_tower_layers", size=size)
    case("bridgetower-other-link", match, edit=without(link_tower_type="gate"), refusal="link_tower_type", size=size)
    case("bridgetower-decoder", words, text_config=dict(is_decoder=True), size=size)
    case("bridgetower-crossing-text", words, edit=lambda config: config["text_config"].update(is_decoder=True, add_cross_attention=True), refusal="add_cross_attention", size=size)
    case("bridgetower-padded", words, ids=[7, 33, 5, 48, 1, 1], size=size)
    case("bridgetower-segments", words, text_config=dict(type_vocab_size=3, pad_token_id=5, max_position_embeddings=20), size=size)
    case("bridgetower-cosines", cosines, **wide, size=size)
    case("bridgetower-cosines-own-maps", cosines, edit=without(share_cross_modal_transformer_layers=False), **wide, refusal="share_cross_modal_transformer_layers", size=size)
    case("bridgetower-grey", words, edit=lambda config: config["vision_config"].update(num_channels=1), refusal="channels", size=size)
    case("bridgetower-older-sections", words, edit=lambda config: config.update(text_config_dict=dict(layer_norm_eps=0.1)), size=size)


def places():
    """Patches turned by their places."""
    name = "DINOv3ViTModel"
    size = (16, 16)
    case("dinov3-minimal", name, minimal=True, size=size)
    case("dinov3-registers", name, num_register_tokens=4, size=(12, 20))
    case("dinov3-gated", name, use_gated_mlp=True, hidden_act="silu", size=size)
    case("dinov3-no-biases", name, query_bias=False, value_bias=False, proj_bias=False, mlp_bias=False, size=size)
    case("dinov3-key-bias", name, key_bias=True, size=size)
    case("dinov3-gated-no-biases", name, use_gated_mlp=True, mlp_bias=False, size=(20, 8))
    case("dinov3-theta", name, rope_theta=7.0, size=(24, 12))
    case("dinov3-eps", name, layer_norm_eps=0.05, hidden_act="relu", size=size)
    case("dinov3-one-head", name, num_attention_heads=1, size=size)
    case("dinov3-narrow-heads", name, num_attention_heads=6, size=size)
    case("dinov3-odd-heads", name, edit=without(num_attention_heads=4), refusal="heads", size=size)
    case("dinov3-jitter", name, pos_embed_jitter=2.0, pos_embed_shift=0.5, pos_embed_rescale=None, size=size)
    case("dinov3-oblong-patches", name, image_size=[12, 16], patch_size=[6, 4], size=(12, 24))
    case("dinov3-one-patch", name, size=(4, 4))
    case("dinov3-cut", name, size=(17, 19))
    case("dinov3-grey", name, edit=without(num_channels=1), refusal="channels", size=size)


def timm():
    """Architectures of timm, as transformers saves them."""
    name, size = "TimmWrapperForImageClassification", (16, 16)

    def of(case_name, architecture, size=size, refusal=None, headless=None, edit=None, **arguments):
        arguments = dict(img_size=list(size)) | arguments
        case(
            case_name, name, architecture=architecture, model_args=arguments, size=size, edit=edit, refusal=refusal,
            headless=headless,
        )  # fmt: skip

    of("timm-oblong", "vit_base_patch16_224", size=(12, 24), patch_size=[4, 6])
    of("timm-one-head", "vit_large_patch16_384", num_heads=1)
    of("timm-gap", "vit_base_patch16_gap_224", num_heads=2)
    of("timm-no-class-token", "vit_small_patch16_224", class_token=False, global_pool="avg")
    of("timm-avg", "vit_small_patch16_224", global_pool="avg")
    of("timm-fc-norm", "vit_small_patch16_224", fc_norm=True)
    of("timm-layer-scale", "vit_small_patch16_384", init_values=0.5)
    of("timm-no-bias", "vit_tiny_patch16_224", qkv_bias=False)
    of("timm-registers", "vit_small_patch16_224", reg_tokens=3)
    of("timm-unplaced", "vit_small_patch16_224", reg_tokens=2, no_embed_class=True)
    of("timm-deit3", "deit3_base_patch16_384")
    of("timm-deit", "deit_tiny_patch16_224")
    of("timm-flexi", "flexivit_base")
    of("timm-dinov2", "vit_giant_patch14_dinov2", mlp_ratio=2.0)
    of("timm-reg4", "vit_medium_patch16_reg4_gap_256")
    of("timm-so150m", "vit_so150m_patch16_reg4_gap_256")
    of("timm-clip", "vit_base_patch32_clip_224")
    of("timm-quickgelu", "vit_large_patch14_clip_quickgelu_336")
    of("timm-siglip-gap", "vit_so400m_patch16_siglip_gap_256")
    of("timm-siglip", "vit_base_patch16_siglip_224", headless="attn_pool")
    of("timm-largest", "vit_small_patch16_224", global_pool="max", class_token=False, refusal="global_pool")
    of("timm-qk-norm", "vit_small_patch16_224", qk_norm=True, refusal="qk_norm")
    of("timm-relpos", "vit_relpos_small_patch16_224", refusal="vit_relpos_small_patch16_224")
    eva = "eva02_base_patch14_224"
    of = partial(of, num_heads=3)
    of("eva02-tiny", "eva02_tiny_patch14_336")
    of("eva02-oblong", eva, size=(12, 20), ref_feat_shape=[4, 4])
    of("eva02-not-trained-elsewhere", eva, ref_feat_shape=None)
    of("eva02-clip", "eva02_large_patch14_clip_336", num_heads=2)
    of("eva02-columns-first", eva, size=(12, 16), rope_grid_indexing="xy", rope_grid_offset=0.5)
    of("eva02-temperature", eva, rope_temperature=20.0, rope_rotate_half=True)
    of("eva02-dinov3-places", eva, size=(20, 12), rope_type="dinov3", rope_temperature=100.0)
    of("eva02-unturned", eva, use_rot_pos_emb=False)
    of("eva02-no-positions", eva, use_abs_pos_emb=False)
    of("eva02-no-class-token", eva, class_token=False)
    of("eva02-registers", eva, num_reg_tokens=3, no_embed_class=True)
    of("eva02-registers-placed", eva, num_reg_tokens=2, global_pool="token")
    of("eva02-one-map", eva, qkv_fused=True)
    of("eva02-no-bias", eva, qkv_bias=False)
    of("eva02-plain-mlp", eva, swiglu_mlp=False)
    of("eva02-aligned-mlp", eva, scale_mlp=False, swiglu_align_to=8)
    of("eva02-norm-before-and-behind", eva, use_pre_transformer_norm=True, use_post_transformer_norm=True)
    of("eva02-layer-scale", eva, init_values=0.3)
    of("eva02-rope-attention", eva, attn_type="rope", scale_attn_inner=True)
    of("eva02-behind", "eva02_enormous_patch14_clip_224", use_rot_pos_emb=True)
    of("eva-giant", "eva_giant_patch14_336")
    of("eva-rope-axial", "vit_small_patch16_rope_ape_224", size=(12, 20))
    of("eva-rope-gap", "vit_mediumd_patch16_rope_reg1_gap_256")
    of("eva-pe-core", "vit_pe_core_base_patch16_224", num_heads=3, headless="attn_pool")
    of("eva-pe-spatial", "vit_pe_spatial_gigantic_patch14_448", size=(12, 20))
    of("eva-dinov3", "vit_base_patch16_dinov3_qkvb", size=(12, 20), dynamic_img_size=False)
    of("eva-augmented", "vit_huge_plus_patch16_dinov3", rope_shift_coords=0.3, rope_jitter_coords=2.0, rope_rescale_coords=2.0)
    of("eva-mixed", "vit_small_patch16_rope_mixed_224", refusal="vit_small_patch16_rope_mixed_224")
    of("eva-mixed-places", eva, rope_type="mixed", refusal="rope_type")
    of("eva-sapiens", eva, edit=lambda config: config.update(architecture="vit_base_patch16_sapiens2"), refusal="vit_base_patch16_sapiens2")
    of("eva-qk-norm", eva, qk_norm=True, refusal="qk_norm")
    of("eva-grouped", eva, num_kv_heads=1, attn_type="rope", refusal="num_kv_heads")
    of("eva-attention-scale", eva, init_values=0.3, attn_only_layer_scale=True, refusal="attn_only_layer_scale")
    said = lambda **changes: lambda config: config["model_args"].update(changes)  # noqa: E731
    of("eva-odd-heads", eva, edit=said(num_heads=4), refusal="two axes of pairs")


def siglip2():
    """Pictures in their own shape."""
    name, size = "Siglip2Model", (16, 16)
    case("siglip2-square", name, size=size)
    case("siglip2-minimal", name, minimal=True, size=size)
    case("siglip2-wide", name, size=(8, 28))
    case("siglip2-high", name, size=(32, 4))
    case("siglip2-one-patch", name, size=(4, 4))
    case("siglip2-many-patches", name, size=(28, 36))
    case("siglip2-another-patch", name, size=(18, 12), vision_config=dict(patch_size=6))
    case("siglip2-small-table", name, size=(12, 16), vision_config=dict(num_patches=4))
    case("siglip2-one-place", name, size=(12, 16), vision_config=dict(num_patches=1))
    case("siglip2-relu", name, vision_config=dict(hidden_act="relu", layer_norm_eps=0.01), size=(12, 20))
    case("siglip2-text", name, text_config=dict(hidden_act="gelu", layer_norm_eps=0.02, projection_size=18), size=size)
    case("siglip2-vision", "Siglip2VisionModel", size=(20, 12))
    case("siglip2-vision-bare", "Siglip2VisionModel", vision_use_head=False, size=(12, 24))
    case("siglip2-classes", "Siglip2ForImageClassification", num_labels=4, size=(12, 20))
    case("siglip2-oblong-table", name, size=size, edit=lambda config: config["vision_config"].update(num_patches=12), refusal="12 patches")
    case("siglip2-oblong-patches", name, size=size, edit=lambda config: config["vision_config"].update(patch_size=[4, 6]), refusal="no square")
    case("siglip2-grey", name, size=size, edit=lambda config: config["vision_config"].update(num_channels=1), refusal="channels")


def open_clips():
    """CLIP under OpenCLIP's names."""

    def of(case_name, refusal=None, edit=None, vision=None, text=None, size=(12, 16), **choices):
        case(case_name, "OpenCLIP", ids=openclip.IDS, size=size, refusal=refusal, edit=edit, vision=vision, text=text, **choices)

    of("open-clip")
    of("open-clip-quick-gelu", quick_gelu=True)
    of("open-clip-tanh", vision=dict(act_kwargs=dict(approximate="tanh")))
    of("open-clip-layer-scale", vision=dict(ls_init_value=0.1), text=dict(ls_init_value=0.1))
    of("open-clip-no-first-norm", vision=dict(no_ln_pre=True))
    of("open-clip-eps", vision=dict(norm_kwargs=dict(eps=0.01)), text=dict(norm_kwargs=dict(eps=0.001)))
    of("open-clip-norm-after-pooling", vision=dict(final_ln_after_pool=True))
    of("open-clip-computed-places", vision=dict(pos_embed_type="sin_cos_2d", image_size=12), size=(12, 12))
    of("open-clip-custom", custom_text=True)
    of("open-clip-bias", init_logit_bias=-2.0)
    of("open-clip-list-of-one", nonscalar_logit_scale=True, init_logit_bias=-2.0)
    of("open-clip-one-head", vision=dict(head_width=16), text=dict(heads=1))
    of("open-clip-oblong-patches", vision=dict(patch_size=[6, 4], image_size=[12, 16]))
    of("open-clip-dropped-patches", vision=dict(patch_dropout=0.5))
    said = lambda **changes: lambda config: config["vision_cfg"].update(changes)  # noqa: E731
    written = lambda **changes: lambda config: config["text_cfg"].update(changes)  # noqa: E731
    of("open-clip-resnet", edit=said(layers=[3, 4, 6, 3]), refusal="ModifiedResNet")
    of("open-clip-timm", edit=said(timm_model_name="vit_base_patch16_224"), refusal="timm_model_name")
    of("open-clip-hf", edit=written(hf_model_name="./roberta"), refusal="hf_model_name")
    of("open-clip-coca", edit=lambda config: config.update(multimodal_cfg={}), refusal="multimodal_cfg")
    of("open-clip-attentional", edit=said(attentional_pool=True), refusal="attentional_pool")
    of("open-clip-mean", edit=said(pool_type="avg"), refusal="pool_type")
    of("open-clip-last", edit=written(pool_type="last"), refusal="pool_type")
    of("open-clip-both-ways", edit=written(no_causal_mask=True), refusal="no_causal_mask")
    of("open-clip-scaled-heads", edit=said(scale_heads=True), refusal="scale_heads")
    of("open-clip-norms", edit=said(norm_kwargs=dict(elementwise_affine=False)), refusal="norm_kwargs")


def pairs():
    square, target = (16, 16), [2, 17, 4, 33, 8, 25]
    looking, reading = "VisionEncoderDecoderModel", "EncoderDecoderModel"
    gpt2 = ("GPT2LMHeadModel", dict(scale_attn_by_inverse_layer_idx=True))
    case("pair-beit-gpt2", looking, parts=(("BeitModel", dict(use_relative_position_bias=True)), gpt2), size=square, target=target)
    case("pair-dinov2-bert", looking, parts=(("Dinov2Model", dict(hidden_size=18)), ("BertLMHeadModel", {})), size=square, target=target)
    case("pair-deit-electra", looking, parts=(("DeiTModel", {}), ("ElectraForCausalLM", {})), size=square, target=target)
    case("pair-clip-gpt2", looking, parts=(("CLIPVisionModel", {}), ("GPT2LMHeadModel", {})), size=square, target=target)
    trocr = dict(cross_attention_hidden_size=24, activation_function="relu", scale_embedding=True)
    case("pair-vit-trocr", looking, parts=(("ViTModel", {}), ("TrOCRForCausalLM", trocr)), size=square, target=target)
    case("pair-bert-gpt2", reading, parts=(("BertModel", dict(hidden_size=18)), ("GPT2LMHeadModel", {})), target=target)
    case("pair-roberta-roberta", reading, parts=(("RobertaModel", {}), ("RobertaForCausalLM", {})), target=target)
    case("pair-distilbert-bert", reading, parts=(("DistilBertModel", {}), ("BertLMHeadModel", dict(hidden_act="relu"))), target=target)
    case("pair-camembert-camembert", reading, parts=(("CamembertModel", {}), ("CamembertForCausalLM", {})), target=target)


def hybrids():
    following, plain, mixed = "Qwen3NextForCausalLM", "Qwen3_5ForCausalLM", "Qwen3_5MoeForCausalLM"
    case("qwen3-next-minimal", following, minimal=True)
    case("qwen3-next-linear-last", following, layer_types=["full_attention", "linear_attention"])
    case("qwen3-next-all-full", following, layer_types=["full_attention"] * 2)
    case("qwen3-next-interval", following, num_hidden_layers=5, full_attention_interval=3, edit=without("layer_types", full_attention_interval=3))
    case("qwen3-next-no-interval", following, num_hidden_layers=4, full_attention_interval=4, edit=without("layer_types"))
    case("qwen3-next-sliding", following, edit=without(layer_types=["linear_attention", "sliding_attention"]), refusal="sliding_attention")
    case("qwen3-next-heads", following, linear_num_key_heads=3, linear_num_value_heads=3, linear_key_head_dim=8)
    case("qwen3-next-uneven", following, edit=without(linear_num_key_heads=4), refusal="linear_num_value_heads")
    case("qwen3-next-gelu", following, hidden_act="gelu", rms_norm_eps=0.01)
    case("qwen3-next-bias", following, attention_bias=True, tie_word_embeddings=True)
    case("qwen3-next-not-normalised", following, norm_topk_prob=False)
    case("qwen3-next-no-norm-key", following, edit=without("norm_topk_prob"))
    case("qwen3-next-every-other", following, decoder_sparse_step=2)
    case("qwen3-next-no-experts", following, num_experts=0)
    case("qwen3-next-whole-rotary", following, rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=1.0))
    case("qwen3-next-yarn", following, rope_parameters=dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=24))
    case("qwen3-next-one-tap", following, linear_conv_kernel_dim=1)
    case("qwen3-next-classes", "Qwen3NextForSequenceClassification", num_labels=3, pad_token_id=0, ids=IDS)
    case("qwen3-next-questions", "Qwen3NextForQuestionAnswering", headless="QuestionAnswering")
    case("qwen3-next-long", following, ids=[(17 * at + 5) % 61 for at in range(80)])
    case("qwen3-5-minimal", plain, minimal=True)
    case("qwen3-5-sections", plain, rope_parameters=dict(rope_type="default", rope_theta=100.0, mrope_section=[1, 1, 0], partial_rotary_factor=0.25))
    case("qwen3-5-tied", plain, tie_word_embeddings=True, attention_bias=True)
    case("qwen3-5-heads", plain, linear_num_key_heads=6, num_key_value_heads=4)
    case("qwen3-5-relu", plain, hidden_act="relu", edit=without("layer_types", full_attention_interval=2))
    case("qwen3-5-moe-minimal", mixed, minimal=True)
    case("qwen3-5-moe-one-expert", mixed, num_experts_per_tok=1)
    case("qwen3-5-moe-key", mixed, edit=without(norm_topk_prob=False, mlp_only_layers=[0]))


def state_spaces():
    name = "GraniteMoeHybridForCausalLM"
    case("granite-hybrid-minimal", name, minimal=True)
    case("granite-hybrid-older-kinds", name, edit=without(layer_types=["mamba", "attention"]))
    case("granite-hybrid-other-name", name, edit=without("layer_types", layers_block_type=["linear_attention", "full_attention"]))
    case("granite-hybrid-all-attention", name, layer_types=["full_attention"] * 2, position_embedding_type="rope")
    case("granite-hybrid-sliding", name, edit=without(layer_types=["linear_attention", "sliding_attention"]), refusal="sliding_attention")
    case("granite-hybrid-no-experts", name, num_local_experts=0)
    case("granite-hybrid-one-expert", name, num_experts_per_tok=1, shared_intermediate_size=8)
    case("granite-hybrid-turned", name, position_embedding_type="rope", rope_parameters=dict(rope_type="default", rope_theta=100.0))
    case("granite-hybrid-other-positions", name, position_embedding_type="nope")
    case("granite-hybrid-one-group", name, mamba_n_groups=1, hidden_act="gelu")
    case("granite-hybrid-groups", name, mamba_n_groups=6, rms_norm_eps=0.02)
    case("granite-hybrid-uneven-groups", name, edit=without(mamba_n_groups=4), refusal="mamba_n_groups")
    case("granite-hybrid-auto-width", name, edit=without(mamba_d_head="auto"))
    case("granite-hybrid-other-width", name, edit=without(mamba_d_head=9), refusal="mamba_d_head")
    case("granite-hybrid-limits", name, time_step_limit=(0.4, 0.8))
    case("granite-hybrid-no-limits", name, edit=without("time_step_limit"))
    case("granite-hybrid-biases", name, mamba_proj_bias=True, attention_bias=True)
    case("granite-hybrid-no-biases", name, mamba_conv_bias=False)
    case("granite-hybrid-factors", name, embedding_multiplier=2.5, logits_scaling=0.7, residual_multiplier=0.4, attention_multiplier=0.2)
    case("granite-hybrid-one-tap", name, mamba_d_conv=1, mamba_expand=1, mamba_d_head=4)
    case("granite-hybrid-tied", name, tie_word_embeddings=True)
    case("granite-hybrid-long", name, num_local_experts=0, ids=[(17 * at + 5) % 61 for at in range(80)])


def side_by_side():
    name = "FalconH1ForCausalLM"
    case("falcon-h1-minimal", name, minimal=True)
    case("falcon-h1-width-by-factor", name, mamba_d_ssm=None, mamba_expand=3, mamba_d_head=12)
    case("falcon-h1-width-of-class", name, mamba_d_ssm=1024, mamba_n_heads=4, mamba_n_groups=2, edit=without("mamba_d_ssm"))
    case("falcon-h1-auto-width", name, edit=without(mamba_d_head="auto"))
    case("falcon-h1-other-width", name, edit=without(mamba_d_head=9), refusal="mamba_d_ssm")
    case("falcon-h1-uneven-groups", name, edit=without(mamba_n_groups=4), refusal="mamba_n_groups")
    case("falcon-h1-norm-before-gate", name, mamba_rms_norm=True)
    case("falcon-h1-norm-behind-gate", name, mamba_rms_norm=True, mamba_norm_before_gate=False, rms_norm_eps=0.02)
    case("falcon-h1-biases", name, mamba_proj_bias=True, attention_bias=True, mlp_bias=True, projectors_bias=True, ssm_in_multiplier=0.6,
         attention_in_multiplier=1.4, key_multiplier=0.7, ssm_multipliers=[0.8, 1.2, 0.9, 1.1, 1.3], mlp_multipliers=[0.9, 1.2])  # fmt: skip
    case("falcon-h1-bias-of-output", name, projectors_bias=True, mamba_conv_bias=False)
    case("falcon-h1-factors", name, embedding_multiplier=2.5, lm_head_multiplier=0.3, ssm_out_multiplier=0.4, attention_out_multiplier=1.6)
    case("falcon-h1-no-lists", name, edit=without(ssm_multipliers=None, mlp_multipliers=None))
    case("falcon-h1-short-list", name, edit=without(ssm_multipliers=[1.0, 2.0]), refusal="ssm_multipliers")
    case("falcon-h1-limits", name, time_step_limit=(0.4, 0.8))
    case("falcon-h1-one-tap", name, mamba_d_conv=1, hidden_act="gelu")
    case("falcon-h1-heads", name, head_dim=8, num_key_value_heads=4)
    case("falcon-h1-tied", name, tie_word_embeddings=True, rope_parameters=YARN)
    case("falcon-h1-not-causal", name, is_causal=False)
    case("falcon-h1-long", name, mamba_rms_norm=True, ids=[(17 * at + 5) % 61 for at in range(80)])


def convolutions():
    name = "Lfm2ForCausalLM"
    case("lfm2-minimal", name, minimal=True)
    case("lfm2-bias", name, conv_bias=True)
    case("lfm2-one-tap", name, conv_L_cache=1)
    case("lfm2-many-taps", name, conv_L_cache=7)
    case("lfm2-listed-layers", name, edit=without("layer_types", full_attn_idxs=[1]))
    case("lfm2-all-attention", name, layer_types=["full_attention"] * 3, edit=without("layer_types"))
    case("lfm2-sliding", name, edit=without(layer_types=["conv", "sliding_attention", "conv"]), refusal="sliding_attention")
    case("lfm2-own-width", name, block_auto_adjust_ff_dim=False)
    case("lfm2-factor", name, block_ffn_dim_multiplier=1.7, intermediate_size=43)
    case("lfm2-older-width", name, edit=without("intermediate_size", block_ff_dim=40))
    case("lfm2-older-tie", name, tie_word_embeddings=False, edit=without("tie_word_embeddings", tie_embedding=False))
    case("lfm2-eps", name, norm_eps=0.02)
    case("lfm2-yarn", name, rope_parameters=YARN)
    case("lfm2-no-theta", name, edit=without("rope_parameters"))
    case("lfm2-own-heads", name, head_dim=8, num_key_value_heads=4)
    case("lfm2-long", name, ids=[(17 * at + 5) % 61 for at in range(80)])


def latents():
    two, three, lite = "DeepseekV2ForCausalLM", "DeepseekV3ForCausalLM", "Glm4MoeLiteForCausalLM"
    limited = dict(topk_method="group_limited_greedy", n_group=4, topk_group=2)
    stretched = YARN | dict(mscale=0.7, mscale_all_dim=0.9)
    named = {"type": "yarn"} | {key: value for key, value in stretched.items() if key not in ("rope_type", "rope_theta")}
    case("deepseek-v2-minimal", two, minimal=True)
    case("deepseek-v2-groups", two, **limited)
    case("deepseek-v2-one-group", two, **limited | dict(topk_group=1), num_experts_per_tok=4)
    case("deepseek-v2-no-groups", two, edit=without(topk_method="group_limited_greedy"), refusal="n_group")
    case("deepseek-v2-uneven-groups", two, **limited, edit=without(n_group=3), refusal="n_group")
    case("deepseek-v2-method", two, edit=without(topk_method="noaux_tc"), refusal="topk_method")
    case("deepseek-v2-no-number", two, edit=without("num_experts_per_tok"), refusal="num_experts_per_tok")
    case("deepseek-v2-factor", two, routed_scaling_factor=2.7, norm_topk_prob=True)
    case("deepseek-v2-direct", two, q_lora_rank=None)
    case("deepseek-v2-no-rank-key", two, q_lora_rank=1536, edit=without("q_lora_rank"))
    case("deepseek-v2-bias", two, attention_bias=True, mlp_bias=True)
    case("deepseek-v2-all-dense", two, first_k_dense_replace=2)
    case("deepseek-v2-all-experts", two, first_k_dense_replace=0, n_shared_experts=1)
    case("deepseek-v2-yarn", two, rope_parameters=YARN)
    case("deepseek-v2-yarn-mscale", two, rope_parameters=stretched)
    case("deepseek-v2-older-yarn", two, edit=without("rope_parameters", rope_theta=500.0, rope_scaling=named))
    case("deepseek-v2-linear-mscale", two, rope_parameters=dict(rope_type="linear", rope_theta=100.0, factor=3.0, mscale_all_dim=1.0))
    case("deepseek-v2-default-mscale", two, rope_parameters=dict(rope_type="default", rope_theta=100.0, factor=3.0, mscale_all_dim=1.0))
    case("deepseek-v2-keys", two, edit=without(num_key_value_heads=2), refusal="num_key_value_heads")
    case("deepseek-v2-head-width", two, edit=without(head_dim=9))
    case("deepseek-v2-gelu", two, hidden_act="gelu", rms_norm_eps=0.01, tie_word_embeddings=True)
    case("deepseek-v3-minimal", three, minimal=True)
    case("deepseek-v3-halves", three, rope_interleave=False)
    case("deepseek-v3-no-interleave", three, rope_interleave=False, edit=without(rope_interleave=None))
    case("deepseek-v3-not-normalised", three, norm_topk_prob=False)
    case("deepseek-v3-one-group", three, n_group=1, topk_group=1)
    case("deepseek-v3-no-groups", three, edit=without(n_group=None), refusal="n_group")
    case("deepseek-v3-class-groups", three, n_routed_experts=16, n_group=8, topk_group=4, edit=without("n_group", "topk_group"))
    case("deepseek-v3-narrow-groups", three, edit=without(n_group=8), refusal="n_group")
    case("deepseek-v3-too-many", three, edit=without(num_experts_per_tok=5), refusal="topk_group")
    case("deepseek-v3-direct", three, q_lora_rank=None, attention_bias=True)
    case("deepseek-v3-yarn-mscale", three, rope_parameters=stretched)
    case("deepseek-v3-dynamic", three, rope_parameters=dict(rope_type="dynamic", rope_theta=100.0, factor=3.0), max_position_embeddings=8)
    case("deepseek-v3-llama3", three, rope_parameters=dict(rope_type="llama3", rope_theta=100.0, factor=3.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=24))
    case("deepseek-v3-other-key", three, edit=without("n_routed_experts", num_local_experts=8))
    case("deepseek-v3-written-keys", three, edit=without(topk_method="noaux_tc", scoring_func="sigmoid", moe_layer_freq=1, ep_size=1, aux_loss_alpha=0.001, seq_aux=True))
    case("deepseek-v3-null-keys", three, edit=without(num_key_value_heads=None))
    case("deepseek-v3-many-keys", three, edit=without("num_key_value_heads"), refusal="num_key_value_heads")
    case("deepseek-v3-classes", "DeepseekV3ForSequenceClassification", num_labels=3, pad_token_id=0, ids=PADDED)
    case("deepseek-v3-tokens", "DeepseekV3ForTokenClassification", num_labels=3)
    case("glm4-moe-lite-minimal", lite, minimal=True)
    case("glm4-moe-lite-listed", lite, mlp_layer_types=["sparse", "dense"])
    case("glm4-moe-lite-other-kind", lite, edit=without(mlp_layer_types=["dense", "moe"]), refusal="mlp_layer_types")
    case("glm4-moe-lite-no-list", lite, num_hidden_layers=3, edit=without("mlp_layer_types", first_k_dense_replace=1))
    case("glm4-moe-lite-halves", lite, rope_interleave=False, attention_bias=True)
    case("glm4-moe-lite-groups", lite, n_group=4, topk_group=3, n_shared_experts=3)
    case("glm4-moe-lite-direct", lite, q_lora_rank=None)
    case("glm4-moe-lite-factor", lite, routed_scaling_factor=0.4, norm_topk_prob=False)
    case("glm4-moe-lite-whole-rotary", lite, rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=1.0))
    case("glm4-moe-lite-share", lite, edit=without(rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.5)), refusal="partial_rotary_factor")
    case("glm4-moe-lite-yarn", lite, rope_parameters=stretched, tie_word_embeddings=True)
    case("glm4-moe-lite-eps", lite, rms_norm_eps=0.03, hidden_act="relu")
    case("glm4-moe-lite-head-dim", lite, edit=without("qk_rope_head_dim", head_dim=4))


for family in (encoders, both_ways, residues, rotary_berts, places, streams, deberta, gpts, llamas, experts, hybrids, convolutions, state_spaces, side_by_side, latents, gemmas, gemmas_of_layers, phis, of_neighbours, later_decoders, decoders_of_code, sinks_and_growth, readers_and_writers, pictures, timm, siglip2, open_clips, pairs):
    family()
