"""The cases of `captures.py` about models that do something of their own: sinks, chunks, layers without attention, halves
of other families, and generate() with a cache or an assistant."""

import numpy as np
import torch
import transformers as hf

from captures_cases import (
    EAGER,
    GENERATE,
    SIZES,
    VOCAB,
    arrays,
    case,
    given,
    llama,
    made,
    named,
    some_ids,
    stacks_of,
    t5,
    whisper,
    written,
)

ENDLESS = {**GENERATE, "eos_token_id": None}


def own(kind, cls=None, **more):
    return made(
        getattr(hf, cls or f"{kind}ForCausalLM")(
            getattr(hf, f"{kind}Config")(vocab_size=VOCAB, **{**SIZES, **EAGER, **more})
        )
    )


@case()
def gpt_oss_with_sinks():
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1}
    model = own("GptOss", head_dim=8, num_key_value_heads=2, sliding_window=4, **experts)
    made_case = written(model, eos_token_id=None)
    made_case["options"]["rows"] = "sink"
    return {**made_case, "labels": [*made_case["labels"], "(sink)"]}


@case()
def llama4_with_chunks():
    experts = {"num_local_experts": 2, "num_experts_per_tok": 1, "intermediate_size_mlp": 48}
    config = hf.Llama4TextConfig(
        vocab_size=VOCAB, head_dim=8, num_key_value_heads=2, attention_chunk_size=4, **experts, **SIZES, **EAGER
    )
    return written(made(hf.Llama4ForCausalLM(config)), eos_token_id=None)


@case()
def jamba_with_layers_without_attention():
    sizes = {
        "attn_layer_period": 2,
        "attn_layer_offset": 1,
        "num_experts": 1,
        "num_experts_per_tok": 1,
        "mamba_d_state": 4,
        "mamba_dt_rank": 4,
    }
    return written(own("Jamba", num_key_value_heads=2, use_mamba_kernels=False, **sizes), eos_token_id=None)


@case()
def t5_with_a_prompt_and_beams():
    model, ids, prompt = t5(), some_ids(1, 9), torch.tensor([[0, 7, 8]])
    out = model.generate(ids, decoder_input_ids=prompt, num_beams=2, **ENDLESS)
    n = 2 + len(out.decoder_attentions)
    with torch.no_grad():
        ref = model(input_ids=ids, decoder_input_ids=out.sequences[:1, :n], output_attentions=True)
    return given(out, encoder_tokens=named(ids[0]), decoder_tokens=named(out.sequences[0]), patterns=stacks_of(ref))


t5_with_a_prompt_and_beams.limit = 1e-5


def continued(model):
    first = model.generate(some_ids(1, 9), **ENDLESS)
    cache = {"past_key_values": first.get("past_key_values", first.get("cache"))}
    # Otherwise a written token that happens to be the padding would be masked.
    out = model.generate(first.sequences, attention_mask=torch.ones_like(first.sequences), **cache, **ENDLESS)
    with torch.no_grad():
        ref = arrays(model(out.sequences[:, :-1], output_attentions=True).attentions)
    for pattern in ref:
        pattern[:, : first.sequences.shape[1] - 1] = 0
    return given(
        out, named(out.sequences[0]), patterns={"self": ref}, labels=[*named(out.sequences[0, :-1]), "(missing)"]
    )


@case()
def continued_from_a_cache():
    return continued(llama())


@case()
def continued_from_a_cache_with_a_window():
    return continued(llama("Mistral", sliding_window=4))


@case(refused=["no weight on the token itself", "assisted generation", "call the model itself"])
def assisted():
    torch.manual_seed(0)
    model, assistant = llama(), made(llama(), 0.15)
    out = model.generate(some_ids(1, 9), assistant_model=assistant, **ENDLESS)
    return given(out, named(out.sequences[0]), patterns={})


@case()
def bert_to_bert():
    sizes = {"vocab_size": VOCAB, "max_position_embeddings": 64, **SIZES}
    decoder = hf.BertConfig(is_decoder=True, add_cross_attention=True, **sizes)
    config = hf.EncoderDecoderConfig.from_encoder_decoder_configs(hf.BertConfig(**sizes), decoder)
    config.decoder_start_token_id, config.pad_token_id = 2, 1
    model, ids = made(hf.EncoderDecoderModel(config=config)), some_ids(1, 9)
    model.set_attn_implementation("eager")
    out = model.generate(ids, **ENDLESS)
    with torch.no_grad():
        ref = model(input_ids=ids, decoder_input_ids=out.sequences[:, :-1], output_attentions=True)
    return given(out, encoder_tokens=named(ids[0]), decoder_tokens=named(out.sequences[0]), patterns=stacks_of(ref))


@case()
def vit_to_gpt2_with_beams():
    encoder = hf.ViTConfig(image_size=32, patch_size=8, **SIZES)
    decoder = hf.GPT2Config(
        vocab_size=VOCAB,
        n_embd=32,
        n_layer=2,
        n_head=4,
        add_cross_attention=True,
        is_decoder=True,
        bos_token_id=2,
        eos_token_id=3,
    )
    config = hf.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id = 2, 1
    model, pixels = made(hf.VisionEncoderDecoderModel(config=config)), torch.randn(1, 3, 32, 32)
    model.set_attn_implementation("eager")
    out = model.generate(pixels, num_beams=2, **ENDLESS)
    with torch.no_grad():
        ref = model(pixels, decoder_input_ids=out.sequences[:1, :-1], output_attentions=True)
    labels = ["[CLS]", *places(4, 4)]
    return given(
        out, decoder_tokens=named(out.sequences[0]), pixel_values=pixels, patterns=stacks_of(ref), labels=labels
    )


@case()
def led_generates_over_windows():
    halves = {
        f"{half}_{name}": value
        for half in ("encoder", "decoder")
        for name, value in {"layers": 1, "attention_heads": 4, "ffn_dim": 48}.items()
    }
    config = hf.LEDConfig(
        vocab_size=VOCAB,
        d_model=32,
        attention_window=4,
        max_encoder_position_embeddings=64,
        max_decoder_position_embeddings=64,
        **halves,
    )
    model, ids = made(hf.LEDForConditionalGeneration(config)), some_ids(1, 11)
    out = model.generate(ids, **GENERATE)
    with torch.no_grad():
        ref = model(input_ids=ids, decoder_input_ids=out.sequences[:, :-1], output_attentions=True)
    whole = torch.zeros(4, 11, 11)
    for query in range(11):
        for column, weight in enumerate(ref.encoder_attentions[0][0, :, query].T):
            if 0 <= query - 2 + column < 11:
                whole[:, query, query - 2 + column] = weight
    patterns = {**stacks_of(ref), "encoder": [whole.numpy()]}
    return given(out, encoder_tokens=named(ids[0]), decoder_tokens=named(out.sequences[0]), patterns=patterns)


@case(refused=["5 axes", "by blocks"])
def reformer():
    sizes = {
        "attention_head_size": 8,
        "feed_forward_size": 48,
        "local_attn_chunk_length": 4,
        "lsh_attn_chunk_length": 4,
        "num_buckets": 4,
    }
    config = hf.ReformerConfig(
        vocab_size=VOCAB,
        hidden_size=32,
        num_attention_heads=4,
        attn_layers=["local", "lsh"],
        axial_pos_embds=False,
        **sizes,
    )
    with torch.no_grad():
        return given(made(hf.ReformerModel(config))(some_ids(1, 16), output_attentions=True), patterns={})


def long_sound():
    model = whisper()
    model.generation_config.no_timestamps_token_id = 50
    sound = torch.randn(1, 8, 100, generator=torch.Generator().manual_seed(3))
    return model, sound, model.generate(sound, return_timestamps=True, return_segments=True, **GENERATE)


@case(refused=["in segments", "['result']"])
def whisper_of_a_long_sound():
    return given(long_sound()[2], seconds_per_position=0.02, patterns={})


@case()
def whisper_one_segment():
    model, sound, out = long_sound()
    one = out["segments"][0][0]["result"]
    with torch.no_grad():
        ref = model(sound[..., :40], decoder_input_ids=one["sequences"][None, :-1], output_attentions=True)
    return given(one, decoder_tokens=named(one["sequences"]), seconds_per_position=0.02, patterns=stacks_of(ref))


@case()
def siglip_without_a_class_token():
    pixels = torch.randn(1, 3, 32, 32)
    config = hf.SiglipVisionConfig(image_size=32, patch_size=8, **SIZES, **EAGER)
    with torch.no_grad():
        out = made(hf.SiglipVisionModel(config))(pixels, output_attentions=True)
    return given(out, pixel_values=pixels, patterns={"self": arrays(out.attentions)}, labels=places(4, 4))


@case()
def deit_with_two_class_tokens():
    pixels = torch.randn(1, 3, 32, 32)
    config = hf.DeiTConfig(image_size=32, patch_size=8, **SIZES, **EAGER)
    with torch.no_grad():
        out = made(hf.DeiTModel(config))(pixels, output_attentions=True)
    return given(
        out, pixel_values=pixels, patterns={"self": arrays(out.attentions)}, labels=["[CLS]", "[DIST]", *places(4, 4)]
    )


def longformer(n_global, item=0):
    sizes = {**SIZES, "attention_window": [4, 6], "max_position_embeddings": 64}
    model = made(hf.LongformerModel(hf.LongformerConfig(vocab_size=VOCAB, pad_token_id=1, **sizes)))
    ids, mask = some_ids(2, 11), torch.ones(2, 11, dtype=torch.long)
    mask[1, 8:] = 0
    sees_all = torch.zeros_like(ids)
    sees_all[0, :n_global] = sees_all[1, :1] = 1 if n_global else 0
    # From queries and keys alone: softmax over what each token sees.
    seen, handles = {}, []
    for layer, block in enumerate(model.encoder.layer):
        for name, part in block.attention.self.named_children():
            handles.append(
                part.register_forward_hook(
                    lambda _, __, out, at=(layer, name): seen.__setitem__(at, out.detach().clone())
                )
            )
    with torch.no_grad():
        out = model(
            ids, attention_mask=mask, global_attention_mask=sees_all if n_global else None, output_attentions=True
        )
    n, wide = int(mask[item].sum()), sees_all[item].bool()
    ref = []
    for layer, window in enumerate((4, 6)):

        def heads(name):
            # The layer reads positions first, then inputs.
            found = seen[layer, name][:, item]
            return found.reshape(len(found), 4, 8).transpose(0, 1)

        near = (torch.arange(n)[:, None] - torch.arange(n)).abs() <= window // 2
        sight = near | wide[:n] | wide[:n, None]
        q, k = heads("query")[:, :n], heads("key")[:, :n]
        pattern = torch.softmax((q @ k.mT / 8**0.5).masked_fill(~sight, float("-inf")), -1)
        if n_global:
            q, k = heads("query_global"), heads("key_global")[:, :n]
            rows = torch.softmax(q[:, : int(wide.sum())] @ k.mT / 8**0.5, -1)
            pattern[:, wide.nonzero()[:, 0]] = rows
        ref.append(pattern.numpy())
    tokens = [named(row) for row in ids]
    return given(out, tokens, item=item, attention_mask=mask, patterns={"self": ref}, labels=tokens[item][:n])


@case()
def longformer_windows():
    return longformer(0)


@case()
def longformer_windows_padded():
    return longformer(0, item=1)


@case()
def longformer_global_tokens():
    return longformer(2)


@case()
def longformer_global_tokens_padded():
    return longformer(2, item=1)


@case(refused=["11 queries and 5 keys", "whole output"])
def longformer_as_a_tuple():
    case_ = longformer(0)
    return given(case_["args"][0].attentions, case_["args"][1], item=0, patterns={})


# Pictures.


def vision(kind, size, **more):
    config = getattr(hf, f"{kind}Config")(**SIZES, image_size=32, patch_size=8, **more, **EAGER)
    model = made(getattr(hf, f"{kind}Model")(config))
    pixels = torch.randn(1, 3, *size, generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        return model(pixels, output_attentions=True), pixels


def places(rows, columns):
    return [f"r{row} c{column}" for row in range(rows) for column in range(columns)]


@case()
def vit_with_its_picture():
    out, pixels = vision("ViT", (32, 32))
    from PIL import Image

    picture = Image.fromarray((np.arange(40 * 60 * 3) % 251).astype(np.uint8).reshape(40, 60, 3))
    return given(
        out,
        image=picture,
        pixel_values=pixels,
        patterns={"self": arrays(out.attentions)},
        labels=["[CLS]", *places(4, 4)],
    )


@case()
def dinov2_with_registers_on_a_wide_picture():
    out, pixels = vision("Dinov2WithRegisters", (32, 48), num_register_tokens=4)
    labels = ["[CLS]", *(f"[REG{at}]" for at in range(1, 5)), *places(4, 6)]
    return given(out, pixel_values=pixels, patterns={"self": arrays(out.attentions)}, labels=labels)


@case(refused=["17 tokens are no grid of square patches"])
def a_picture_of_another_shape():
    out, _ = vision("ViT", (32, 32))
    return given(out, pixel_values=torch.zeros(1, 3, 32, 40), patterns={})


@case()
def clip_with_both_halves():
    half = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4}
    config = hf.CLIPConfig(
        text_config={**half, "vocab_size": VOCAB, "num_hidden_layers": 2},
        vision_config={**half, "num_hidden_layers": 3, "image_size": 32, "patch_size": 8},
        projection_dim=16,
        **EAGER,
    )
    ids, pixels = some_ids(1, 5), torch.randn(1, 3, 32, 32)
    with torch.no_grad():
        out = made(hf.CLIPModel(config))(input_ids=ids, pixel_values=pixels, output_attentions=True)
    patterns = {"text": arrays(out.text_model_output.attentions), "vision": arrays(out.vision_model_output.attentions)}
    return given(out, named(ids[0]), pixel_values=pixels, patterns=patterns, labels=named(ids[0]))
