"""The situations of `captures.py`: how attention was made, what is given to the module, and what must come back.

A case is a function that returns the arguments of `attnscope.save` (`args`, `options`) or a `file`, and what the program
must draw: `patterns` by stack and layer, `labels` of the keys of the first stack. `refused` are words of the sentence
with which it must be refused instead."""

import torch
import transformers as hf

hf.logging.set_verbosity_error()
CASES = []
VOCAB = 60
GENERATE = {"output_attentions": True, "return_dict_in_generate": True, "max_new_tokens": 6, "pad_token_id": 1}
TEXT = "The nurse wrote it down and the patient's café was closed, 今天 too."


def case(refused=None):
    def add(function):
        function.refused = refused
        CASES.append(function)
        return function

    return add


def made(model, by=0.16):
    """A model with weights that make sharp patterns."""
    torch.manual_seed(0)
    with torch.no_grad():
        for tensor in model.parameters():
            if tensor.ndim >= 2:
                tensor.copy_(torch.randn_like(tensor) * by)
    return model.eval()


SIZES = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
EAGER = {"attn_implementation": "eager"}


def llama(kind="Llama", **more):
    sizes = {**SIZES, "num_key_value_heads": 2, "vocab_size": VOCAB, **more}
    config = getattr(hf, {"Gemma3": "Gemma3TextConfig"}.get(kind, f"{kind}Config"))
    return made(getattr(hf, f"{kind}ForCausalLM")(config(**sizes, **EAGER, eos_token_id=None, pad_token_id=1)))


def gpt2():
    config = hf.GPT2Config(
        vocab_size=VOCAB, n_embd=32, n_layer=2, n_head=4, n_positions=64, eos_token_id=None, bos_token_id=None, **EAGER
    )
    return made(hf.GPT2LMHeadModel(config))


def bert(**more):
    return made(hf.BertModel(hf.BertConfig(vocab_size=400, max_position_embeddings=64, **SIZES, **EAGER, **more)))


HALVES = {
    f"{half}_{name}": value
    for half in ("encoder", "decoder")
    for name, value in {"layers": 2, "attention_heads": 4, "ffn_dim": 48}.items()
}


def bart(kind="Bart", **more):
    config = getattr(hf, f"{kind}Config")(
        vocab_size=VOCAB,
        d_model=32,
        **HALVES,
        **EAGER,
        **{"max_position_embeddings": 64, "forced_eos_token_id": None, **more},
    )
    return made(getattr(hf, f"{kind}ForConditionalGeneration")(config))


def t5():
    config = hf.T5Config(
        vocab_size=VOCAB,
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
        eos_token_id=2,
        **EAGER,
    )
    return made(hf.T5ForConditionalGeneration(config))


def some_ids(*shape, seed=0):
    return torch.randint(5, VOCAB, shape, generator=torch.Generator().manual_seed(seed))


def named(ids):
    return [f"t{id}" for id in ids.tolist()]


def arrays(attentions, item=0):
    return [None if it is None else it[item].detach().float().numpy() for it in attentions]


def stacks_of(output):
    return {stack: arrays(getattr(output, f"{stack}_attentions")) for stack in ("encoder", "decoder", "cross")}


def given(*args, patterns, labels=None, **options):
    return {"args": args, "options": options, "patterns": patterns, "labels": labels}


# What generate() returns.


def written(model, item=None, ids=None, **more):
    ids = some_ids(1, 6) if ids is None else ids
    torch.manual_seed(1)
    out = model.generate(ids, **GENERATE, **more)
    one = out.sequences[(item or 0) : (item or 0) + 1, :-1]
    with torch.no_grad():
        ref = model(one, output_attentions=True).attentions
    tokens = named(out.sequences[item or 0])
    return given(out, tokens, item=item, patterns={"self": arrays(ref)}, labels=tokens[:-1])


def written_case(name, make, **more):
    def function():
        return written(make(), **more)

    function.__name__ = name
    case()(function)


written_case("generate, dynamic cache", llama)
written_case("generate, static cache", llama, cache_implementation="static")
written_case("generate, window", lambda: llama("Mistral", sliding_window=4))
written_case(
    "generate, window, static cache", lambda: llama("Mistral", sliding_window=4), cache_implementation="static"
)
written_case("generate, some layers with window", lambda: llama("Gemma2", sliding_window=4, head_dim=8))
written_case(
    "generate, wide window, static cache",
    lambda: llama("Gemma3", sliding_window=9, head_dim=8),
    cache_implementation="static",
)
written_case("generate, beams", llama, num_beams=3)
written_case("generate, beams with a window", lambda: llama("Mistral", sliding_window=4), num_beams=3)
written_case("generate, second of two beams", llama, num_beams=3, num_return_sequences=2, item=1)
written_case("generate, sampled beams", llama, num_beams=3, do_sample=True)
written_case("generate, third of three samples", llama, do_sample=True, num_return_sequences=3, item=2)
written_case("generate, prompt lookup", llama, prompt_lookup_num_tokens=3)
written_case("generate, one token", llama, ids=some_ids(1, 1))


@case()
def generate_left_padded_batch():
    model, ids = gpt2(), some_ids(2, 7)
    mask = torch.ones_like(ids)
    ids[1, :3], mask[1, :3] = 1, 0
    out = model.generate(ids, attention_mask=mask, **GENERATE)
    with torch.no_grad():
        ref = model(out.sequences[1:, 3:-1], output_attentions=True).attentions
    tokens = [named(row) for row in out.sequences]
    return given(out, tokens, item=1, attention_mask=mask, patterns={"self": arrays(ref)}, labels=tokens[1][3:-1])


def translated(model, item=0, **more):
    ids = some_ids(2, 7)
    mask = torch.ones_like(ids)
    ids[1, 5:], mask[1, 5:] = 1, 0
    torch.manual_seed(1)
    out = model.generate(ids, attention_mask=mask, **GENERATE, **more)
    source = item // (len(out.sequences) // 2)
    n_source, n_target = int(mask[source].sum()), len(out.sequences[item]) - 1
    if getattr(out, "beam_indices", None) is not None:
        n_target = int((out.beam_indices[item] >= 0).sum())
    with torch.no_grad():
        ref = model(
            input_ids=ids[source : source + 1, :n_source],
            decoder_input_ids=out.sequences[item : item + 1, :n_target],
            output_attentions=True,
        )
    words = {"encoder_tokens": [named(row) for row in ids], "decoder_tokens": [named(row) for row in out.sequences]}
    return given(out, item=item, attention_mask=mask, **words, patterns=stacks_of(ref))


def translated_case(name, make, **more):
    def function():
        return translated(make(), **more)

    function.__name__ = name
    case()(function)


translated_case("BART, batch", bart, item=1)
translated_case("BART, beams of a batch", bart, item=1, num_beams=3)
translated_case("BART, fourth of 2 × 2 beams", bart, item=3, num_beams=3, num_return_sequences=2)
translated_case("BART, fifth of 2 × 3 samples", bart, item=4, do_sample=True, num_return_sequences=3)
translated_case("T5, beams of a batch", t5, item=1, num_beams=3)
translated_case("T5, static cache", t5, item=1, cache_implementation="static")
# Its scores are not scaled, so rounding counts more.
CASES[-1].limit = CASES[-2].limit = 1e-5


@case(refused=["6 rows in each step", "beam_indices"])
def beams_as_a_tuple():
    case_ = translated(bart(), num_beams=3)
    out = case_["args"][0]
    return given(encoder_attention=out.encoder_attentions, cross_attention=out.cross_attentions, item=0, patterns={})


@case()
def beams_as_a_tuple_with_indices():
    case_ = translated(bart(), item=1, num_beams=3)
    out, options = case_["args"][0], dict(case_["options"])
    parts = {f"{stack}_attention": getattr(out, f"{stack}_attentions") for stack in ("encoder", "decoder", "cross")}
    return given(**parts, beam_indices=out.beam_indices, **options, patterns=case_["patterns"])


def whisper():
    sizes = {**HALVES, "num_mel_bins": 8, "max_source_positions": 20, "max_target_positions": 40}
    ids = {"pad_token_id": 1, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 4}
    config = hf.WhisperConfig(
        vocab_size=VOCAB, d_model=32, **sizes, **ids, suppress_tokens=None, begin_suppress_tokens=None, **EAGER
    )
    return made(hf.WhisperForConditionalGeneration(config))


@case(refused=["names row 1", "Whisper", "num_beams=1"])
def whisper_with_beams():
    out = whisper().generate(torch.randn(1, 8, 40, generator=torch.Generator().manual_seed(3)), num_beams=2, **GENERATE)
    return given(out, seconds_per_position=0.02, patterns={})


@case()
def whisper_by_seconds():
    model, sound = whisper(), torch.randn(1, 8, 40, generator=torch.Generator().manual_seed(3))
    out = model.generate(sound, **GENERATE)
    with torch.no_grad():
        ref = model(sound, decoder_input_ids=out.sequences[:1, :-1], output_attentions=True)
    labels = [f"{at * 0.02:.2f} s" for at in range(20)]
    return given(
        out, decoder_tokens=named(out.sequences[0]), seconds_per_position=0.02, patterns=stacks_of(ref), labels=labels
    )


# One forward pass.


@case()
def past_key_values():
    model, ids = gpt2(), some_ids(1, 7)
    with torch.no_grad():
        first = model(ids[:, :4], use_cache=True)
        out = model(ids[:, 4:], past_key_values=first.past_key_values, output_attentions=True)
        ref = arrays(model(ids, output_attentions=True).attentions)
    for pattern in ref:
        pattern[:, :4] = 0
    return given(out, named(ids[0]), patterns={"self": ref}, labels=[*named(ids[0]), "(missing)"])


@case()
def some_queries():
    model, ids = bert(), some_ids(1, 9)
    with torch.no_grad():
        ref = arrays(model(ids, output_attentions=True).attentions)
    few = [pattern[:, [1, 6]] for pattern in ref]
    for pattern in ref:
        pattern[:, [at for at in range(9) if at not in (1, 6)]] = 0
    return given(few, named(ids[0]), query_positions=[1, 6], patterns={"self": ref})


@case(refused=["2 queries and 9 keys", "query_positions"])
def some_queries_of_nobody_knows_where():
    with torch.no_grad():
        ref = arrays(bert()(some_ids(1, 9), output_attentions=True).attentions)
    return given([pattern[:, [1, 6]] for pattern in ref], named(some_ids(1, 9)[0]), patterns={})


@case(refused=["model.eval()"])
def dropout():
    with torch.no_grad():
        out = bert(attention_probs_dropout_prob=0.3).train()(some_ids(1, 9), output_attentions=True)
    return given(out, named(some_ids(1, 9)[0]), patterns={"self": arrays(out.attentions)})


def padded_batch():
    ids, mask = some_ids(2, 9), torch.ones(2, 9, dtype=torch.long)
    mask[1, 6:] = 0
    with torch.no_grad():
        out = bert()(ids, attention_mask=mask, output_attentions=True)
        ref = bert()(ids[1:, :6], output_attentions=True)
    return ids, mask, out, arrays(ref.attentions)


@case()
def padding_cut_with_tokens():
    ids, mask, out, ref = padded_batch()
    return given(
        out, [named(row) for row in ids], item=1, attention_mask=mask, patterns={"self": ref}, labels=named(ids[1, :6])
    )


@case()
def padding_and_tokens_without_it():
    ids, mask, out, ref = padded_batch()
    return given(
        out.attentions,
        named(ids[1, :6]),
        item=1,
        attention_mask=mask[1],
        patterns={"self": ref},
        labels=named(ids[1, :6]),
    )


@case(refused=["9 queries", "6 self tokens", "padding", "attention_mask="])
def padding_without_a_mask():
    ids, _, out, _ = padded_batch()
    return given(out, named(ids[1, :6]), item=1, patterns={})


@case(refused=["9 queries and 9 keys", "4 self tokens", "attention_mask has 9 entries, of which 6 are 1"])
def tokens_mask_and_rows_disagree():
    ids, mask, out, _ = padded_batch()
    return given(out, named(ids[1, :4]), item=1, attention_mask=mask, patterns={})


@case(refused=["of their weight on what attention_mask calls padding", "without this mask"])
def a_mask_that_the_model_did_not_have():
    ids, mask, _, _ = padded_batch()
    with torch.no_grad():
        out = bert()(ids, output_attentions=True)
    return given(out, [named(row) for row in ids], item=1, attention_mask=mask, patterns={})


@case(refused=["batches of 1, 4", "windows of a picture"])
def swin():
    config = hf.SwinConfig(
        image_size=32, patch_size=4, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4, **EAGER
    )
    return given(made(hf.SwinModel(config))(torch.randn(1, 3, 32, 32), output_attentions=True), item=0, patterns={})


# What transformers returns for its sparse attention lacks the weight of blocks that it met twice.
@case(refused=["do not sum to 1", "partial"])
def bigbird():
    sizes = {**SIZES, "block_size": 4, "num_random_blocks": 1, "max_position_embeddings": 128}
    model, ids = made(hf.BigBirdModel(hf.BigBirdConfig(vocab_size=VOCAB, **sizes))), some_ids(1, 50)
    with torch.no_grad():
        out = model(ids, attention_mask=torch.ones_like(ids), output_attentions=True)
    ref = [pattern[:, :50, :50] for pattern in arrays(out.attentions)]
    return given(out, named(ids[0]), attention_mask=torch.ones_like(ids), patterns={"self": ref}, labels=named(ids[0]))


@case()
def xlnet():
    model = made(hf.XLNetModel(hf.XLNetConfig(vocab_size=VOCAB, d_model=32, n_layer=2, n_head=4, d_inner=48)))
    with torch.no_grad():
        out = model(some_ids(1, 9), output_attentions=True)
    return given(out, named(some_ids(1, 9)[0]), patterns={"self": arrays(out.attentions)})


@case()
def half_precision():
    model = gpt2().to(torch.bfloat16)
    with torch.no_grad():
        out = model(some_ids(1, 9), output_attentions=True)
    return given(out, named(some_ids(1, 9)[0]), patterns={"self": arrays(out.attentions)})
