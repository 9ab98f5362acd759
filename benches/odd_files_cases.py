"""The files of `odd_files.py`: pictures and image processors, tables and adapters among the weights, folders, paths."""

import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy as np
import torch
import transformers as hf
from PIL import Image
from safetensors.torch import load_file, save_file, save_model

IDS = [7, 33, 5, 48, 21, 9, 40, 14, 3, 27, 52, 18]
BERT = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40,
            max_position_embeddings=30)  # fmt: skip
LLAMA = dict(vocab_size=61, hidden_size=24, num_hidden_layers=2, num_attention_heads=4, intermediate_size=40,
             num_key_value_heads=2, max_position_embeddings=96, bos_token_id=1, eos_token_id=2)  # fmt: skip
BART = dict(vocab_size=61, d_model=24, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4,
            decoder_attention_heads=2, encoder_ffn_dim=28, decoder_ffn_dim=20, max_position_embeddings=40)  # fmt: skip
T5 = dict(vocab_size=61, d_model=24, d_kv=6, d_ff=28, num_layers=2, num_heads=3, decoder_start_token_id=0)
GPT2 = dict(vocab_size=61, n_embd=24, n_layer=2, n_head=3, n_positions=30)
VISION = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, intermediate_size=40, image_size=32,
              patch_size=8)  # fmt: skip


@dataclass
class Case:
    """`make` writes a folder and answers with the model that PyTorch runs; `said` are words that must be said."""

    name: str
    make: Callable
    # Of a refusal when `refused`, else of what is told on the side.
    said: tuple = ()
    refused: bool = False
    # What is opened, when it is not the folder itself.
    path: Callable | None = None
    # A picture, from its folder.
    picture: Callable | None = None
    # Whether transformers refuses the picture unless it is asked to interpolate positions.
    interpolates: bool = False
    target: list = field(default_factory=list)


CASES: list[Case] = []


def case(name, make, *said, **options):
    if any(name == other.name for other in CASES):
        raise ValueError(f"two cases are called {name}")
    CASES.append(Case(name, make, said, **options))


def lively(model, seed=3):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            noise = torch.randn(weight.shape, generator=generator)
            if weight.dim() == 1:
                weight.copy_(0.1 * noise if name.endswith("bias") else 1 + 0.1 * noise)
            else:
                weight.copy_(noise * (0.6 if "emb" in name or "wte" in name else 1.6 / weight[0].numel() ** 0.5))
    return model.eval()


def saved(folder, cls, **config):
    kind = getattr(hf, cls)
    model = lively(kind(kind.config_class(**config)))
    model.save_pretrained(folder)
    return model


def edited(folder, change, file="model.safetensors"):
    tensors = {name: tensor.clone().contiguous() for name, tensor in change(load_file(folder / file)).items()}
    save_file(tensors, folder / file, metadata={"format": "pt"})


def configured(folder, change):
    path = folder / "config.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


# --- pictures -------------------------------------------------------------------------------------------------------


def scene(size=(90, 60), mode="RGB"):
    noise = np.random.default_rng(5).integers(0, 256, (9, 13, 3), dtype=np.uint8)
    return Image.fromarray(np.asarray(Image.fromarray(noise).resize(size, Image.BICUBIC))).convert(mode)


def png(folder):
    scene().save(folder / "a.png")
    return folder / "a.png"


def held(way, suffix="jpg"):
    def make(folder):
        exif = Image.Exif()
        exif[0x0112] = way
        scene().save(folder / f"held.{suffix}", exif=exif, **({"lossless": True} if suffix == "webp" else {}))
        return folder / f"held.{suffix}"

    return make


def other(mode, suffix, size=(90, 60)):
    def make(folder):
        scene(size, mode).save(folder / f"a.{suffix}")
        return folder / f"a.{suffix}"

    return make


MEAN = dict(image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.3, 0.25])
SQUARE = {"height": 32, "width": 32}
VIT = dict(image_processor_type="ViTImageProcessor", size=SQUARE, resample=2) | MEAN
CLIP = dict(image_processor_type="CLIPImageProcessor", size=36, resample=3, crop_size=SQUARE) | MEAN
MODELS = {
    "ViT": ("ViTForImageClassification", VISION),
    "CLIP": ("CLIPVisionModel", VISION),
    "DeiT": ("DeiTForImageClassification", VISION),
    "Beit": ("BeitForImageClassification", VISION),
    "Siglip": ("SiglipVisionModel", VISION),
    "Dinov2": ("Dinov2Model", dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=3, mlp_ratio=2,
                                   image_size=32, patch_size=8)),
}  # fmt: skip


def seen(name, model, file, *said, joint=False, picture=png, **options):
    """A picture seen through a processor's file; `None` takes the key out."""

    def make(folder):
        cls, config = MODELS[model]
        made = saved(folder, cls, **config)
        content = {"image_processor": file} if joint else file
        if content is not None:
            name = "processor_config.json" if joint else "preprocessor_config.json"
            (folder / name).write_text(file if isinstance(file, str) else json.dumps(content))
        return made

    case(name, make, *said, picture=picture, **options)


for way in range(1, 9):
    seen(f"exif {way}", "ViT", VIT, picture=held(way))
seen("exif of a png", "ViT", VIT, picture=held(6, "png"))
seen("exif of a webp", "ViT", VIT, picture=held(8, "webp"))
seen("exif and a crop", "CLIP", CLIP, picture=held(5))
seen("grey", "ViT", VIT, picture=other("L", "png"))
seen("palette", "CLIP", CLIP, picture=other("P", "gif"))
seen("alpha", "Siglip", dict(image_processor_type="SiglipImageProcessor", size=SQUARE, resample=3), picture=other("RGBA", "png"))
seen("bmp", "ViT", VIT, picture=other("RGB", "bmp"))
seen("very wide", "CLIP", CLIP, picture=other("RGB", "png", (400, 20)))
seen("smaller than a patch", "ViT", VIT, picture=other("RGB", "png", (5, 3)))
seen("size is a number of ViT", "ViT", VIT | dict(size=32))
seen("size is a number of CLIP", "CLIP", CLIP)
seen("default_to_square of CLIP", "CLIP", CLIP | dict(default_to_square=True))
seen("default_to_square off", "ViT", VIT | dict(size=32, default_to_square=False, do_center_crop=True, crop_size=32))
seen("default_to_square null", "ViT", VIT | dict(size=32, default_to_square=None, do_center_crop=True, crop_size=32))
seen("size is a list", "ViT", VIT | dict(size=[32, 32]))
seen("shortest and longest edge", "ViT", VIT | dict(size={"shortest_edge": 32, "longest_edge": 40}), interpolates=True)
seen("max_height and max_width", "Dinov2", VIT | dict(size={"max_height": 40, "max_width": 50}))
seen("longest edge alone", "ViT", VIT | dict(size={"longest_edge": 32}), "longest_edge", refused=True)
seen("pixels in all", "ViT", VIT | dict(size={"min_pixels": 9, "max_pixels": 99}), "max_pixels", refused=True)
seen("three keys in size", "ViT", VIT | dict(size=SQUARE | {"shortest_edge": 32}), "shortest_edge", refused=True)
seen("size null", "ViT", VIT | dict(size=None), "size is null", refused=True)
seen("size null without resizing", "Dinov2", VIT | dict(size=None, do_resize=False))
seen("do_resize null", "Dinov2", VIT | dict(do_resize=None))
seen("do_rescale off", "ViT", VIT | dict(do_rescale=False))
seen("do_normalize null", "ViT", VIT | dict(do_normalize=None))
seen("rescale_factor", "ViT", VIT | dict(rescale_factor=1 / 127.5))
seen("one mean", "ViT", VIT | dict(image_mean=0.3, image_std=0.4))
seen("two means", "ViT", VIT | dict(image_mean=[0.3, 0.4]), "image_mean", refused=True)
seen("nearest", "ViT", VIT | dict(resample=0))
seen("lanczos", "ViT", VIT | dict(resample=1))
seen("box", "ViT", VIT | dict(resample=4))
seen("hamming", "ViT", VIT | dict(resample=5))
seen("a filter nobody has", "ViT", VIT | dict(resample=99), "resample", refused=True)
seen("pad_size", "ViT", VIT | dict(size={"height": 24, "width": 24}, do_pad=True, pad_size=SQUARE))
seen("pad_size is a number", "ViT", VIT | dict(size=[20, 30], do_pad=True, pad_size=32))
seen("pad_size too small", "ViT", VIT | dict(do_pad=True, pad_size=30), "pad_size", refused=True)
seen("do_pad without a size", "ViT", VIT | dict(do_pad=True))
seen("pad_size without do_pad", "ViT", VIT | dict(pad_size=48))
seen("crop of ViT", "ViT", VIT | dict(size=40, do_center_crop=True, crop_size=32))
seen("crop without a size", "ViT", VIT | dict(do_center_crop=True), "crop_size", refused=True)
seen("crop larger than the picture", "CLIP", CLIP | dict(size=20))
seen("crop_size of an edge", "CLIP", CLIP | dict(crop_size={"shortest_edge": 32}), "crop_size", refused=True)
seen("use_square_size", "CLIP", CLIP | dict(use_square_size=True), "use_square_size", refused=True)
seen("flag is a number", "Beit", dict(image_processor_type="BeitImageProcessor", size=32, do_center_crop=0) | MEAN)
seen("old name, number", "DeiT", dict(feature_extractor_type="DeiTFeatureExtractor", size=36, crop_size=32))
seen("fast name", "ViT", VIT | dict(image_processor_type="ViTImageProcessorFast"))
seen("name of version 4", "ViT", VIT | dict(image_processor_type="ViTFeatureExtractor"), "ViTFeatureExtractor", refused=True)
seen("no name", "DeiT", dict(size=36, crop_size=32))
seen("joint file", "Siglip", dict(image_processor_type="SiglipImageProcessor", size=SQUARE), joint=True)
seen("Blip's", "ViT", dict(image_processor_type="BlipImageProcessor", size=SQUARE))
seen("Pvt's", "ViT", dict(image_processor_type="PvtImageProcessor", size=SQUARE))
seen("ConvNext's", "ViT", VIT | dict(image_processor_type="ConvNextImageProcessor"), "ConvNext", refused=True)
seen("SigLIP 2's", "Siglip", dict(image_processor_type="Siglip2ImageProcessor"), "Siglip2", refused=True)
seen("DPT's", "ViT", VIT | dict(image_processor_type="DPTImageProcessor"), "DPT", refused=True)
seen("size left out", "ViT", {key: value for key, value in VIT.items() if key != "size"}, interpolates=True)
seen("48 pixels for 32", "ViT", VIT | dict(size=48), "32 × 32", "interpolat", interpolates=True)
seen("48 pixels for CLIP", "CLIP", CLIP | dict(size=48, crop_size=48), "32 × 32", "interpolat", interpolates=True)
seen("48 pixels for DINOv2", "Dinov2", VIT | dict(size=48), "32 × 32", "interpolat")
seen("not square", "ViT", VIT | dict(size=[32, 48]), "48 × 32", interpolates=True)
seen("channels last", "ViT", VIT | dict(data_format="channels_last", input_data_format="channels_first"))
seen("do_convert_rgb off", "ViT", VIT | dict(do_convert_rgb=False), picture=other("L", "png"))
seen("keys of others", "ViT", VIT | dict(crop_pct=0.5, do_flip_channel_order=True, size_divisor=64))
seen("NaN in the processor's file", "ViT", json.dumps(VIT | dict(note=float("nan"))))
seen("processor's file cut off", "ViT", '{"size": 32', "preprocessor_config.json", refused=True)

# --- tables, adapters, quantised weights ----------------------------------------------------------------------------

TIED = {
    "LlamaForCausalLM": LLAMA | dict(tie_word_embeddings=True), "GemmaForCausalLM": LLAMA | dict(head_dim=10),
    "Qwen2ForCausalLM": LLAMA | dict(tie_word_embeddings=True), "GPT2LMHeadModel": GPT2,
    "BloomForCausalLM": dict(vocab_size=61, hidden_size=24, n_layer=2, n_head=6),
    "GPTNeoXForCausalLM": BERT | dict(tie_word_embeddings=True), "BertForMaskedLM": BERT, "RobertaForMaskedLM": BERT,
    "ElectraForMaskedLM": BERT | dict(embedding_size=16), "DebertaV2ForMaskedLM": BERT, "MPNetForMaskedLM": BERT,
    "ModernBertForMaskedLM": BERT | dict(pad_token_id=0), "AlbertForMaskedLM": BERT | dict(embedding_size=16),
    "T5ForConditionalGeneration": T5, "BartForConditionalGeneration": BART, "MBartForConditionalGeneration": BART,
    "MarianMTModel": BART | dict(pad_token_id=59, decoder_start_token_id=59, eos_token_id=0),
}  # fmt: skip


def tied(cls, config, keep_last):
    """One name of a tied table: `save_model` keeps the first; `keep_last` the last."""

    def make(folder):
        model = saved(folder, cls, **config)
        path = str(folder / "model.safetensors")
        os.remove(path)
        if not keep_last:
            save_model(model, path, metadata={"format": "pt"})
            return model
        kept = {}
        for name, tensor in reversed(list(model.state_dict().items())):
            kept.setdefault(tensor.data_ptr(), (name, tensor.clone().contiguous()))
        save_file(dict(kept.values()), path, metadata={"format": "pt"})
        return model

    return make


for cls, config in TIED.items():
    target = [0, 17, 4] if cls.startswith(("T5", "Bart", "MBart", "Marian")) else []
    case(f"{cls} saved by save_model", tied(cls, config, False), target=target)
    case(f"{cls} with the table's last name", tied(cls, config, True), target=target)


def without(cls, config, key):
    def make(folder):
        saved(folder, cls, **config)
        edited(folder, lambda tensors: {name: tensor for name, tensor in tensors.items() if name != key})

    return make


for cls, config, key in [
    ("GPT2LMHeadModel", GPT2, "lm_head.weight"),
    ("BertForMaskedLM", BERT, "cls.predictions.decoder.weight"),
    ("LlamaForCausalLM", LLAMA, "lm_head.weight"),
    ("BartForConditionalGeneration", BART, "lm_head.weight"),
]:
    make = without(cls, config | dict(tie_word_embeddings=False), key)
    target = [0, 17, 4] if cls.startswith("Bart") else []
    case(f"{cls} without its output", make, "is not shown", key, target=target)

Q = "model.layers.0.self_attn.q_proj"
for name, extra, word in [
    ("LoRA", {f"{Q}.lora_A.default.weight": (4, 24), f"{Q}.lora_B.default.weight": (24, 4)}, "LoRA"),
    ("LoRA of MLX", {f"{Q}.lora_a": (24, 4), f"{Q}.lora_b": (4, 24)}, "LoRA"),
    ("LoRA of embeddings", {"model.embed_tokens.lora_embedding_A.default": (4, 61)}, "LoRA"),
    ("DoRA", {f"{Q}.lora_magnitude_vector.default.weight": (24,)}, "LoRA"),
    ("IA3", {f"{Q}.ia3_l.default": (24, 1)}, "IA³"),
    ("LoHa", {f"{Q}.hada_w1_a.default": (24, 4)}, "LoHa"),
    ("VeRA", {f"{Q}.vera_lambda_d.default": (4,)}, "VeRA"),
    ("bottleneck", {"model.layers.0.adapters.x.adapter_down.weight": (8, 24)}, "bottleneck"),
    ("soft prompt", {"prompt_encoder.default.embedding.weight": (8, 24)}, "soft prompt"),
]:

    def make(folder, extra=extra):
        saved(folder, "LlamaForCausalLM", **LLAMA)
        edited(folder, lambda tensors: tensors | {key: torch.rand(shape) for key, shape in extra.items()})

    case(f"{name} among the weights", make, word, "merge_and_unload", refused=True)


def wrapped(folder):
    saved(folder, "LlamaForCausalLM", **LLAMA)
    edited(folder, lambda tensors: {f"base_model.model.{key}".replace("q_proj.", "q_proj.base_layer."): tensor
                                    for key, tensor in tensors.items()})  # fmt: skip


case("PEFT's names without an adapter", wrapped, "base_layer", "merge_and_unload", refused=True)


def beside(folder):
    model = saved(folder, "LlamaForCausalLM", **LLAMA)
    (folder / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "a/b", "peft_type": "LORA"}))
    save_file({f"base_model.model.{Q}.lora_A.weight": torch.rand(4, 24)}, folder / "adapter_model.safetensors")
    return model


case("an adapter beside whole weights", beside, "“a/b”", "is not applied")


def shared_config(folder):
    config = hf.BertConfig(**BERT)
    both = hf.EncoderDecoderConfig.from_encoder_decoder_configs(config, config)
    both.decoder_start_token_id, both.pad_token_id = 2, 0
    model = lively(hf.EncoderDecoderModel(config=both))
    model.save_pretrained(folder)
    return model


case("one configuration for both sides", shared_config, "add_cross_attention", target=[2, 5, 9])

# --- folders, configurations, paths ---------------------------------------------------------------------------------


def holding(*names):
    """A model folder whose weights have another name; the first of the names gets them."""

    def make(folder):
        saved(folder, "BertForMaskedLM", **BERT)
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes((folder / "model.safetensors").read_bytes())
        (folder / "model.safetensors").unlink()

    return make


for names, said in [
    (["model-q4.gguf"], ["damaged", "GGUF"]),
    (["ggml-model-f16.bin.ggml"], ["llama.cpp"]),
    (["consolidated.00.pth", "params.json"], ["original format", "convert_llama"]),
    (["onnx/model.onnx", "onnx/model.onnx_data"], ["ONNX"]),
    (["openvino_model.xml", "openvino_model.bin"], ["OpenVINO"]),
    (["tf_model.h5"], ["TensorFlow", "from_tf"]),
    (["flax_model.msgpack"], ["Flax", "from_flax"]),
    (["coreml/text.mlpackage/Data/weights.bin"], ["Core ML"]),
    (["global_step5/mp_rank_00_model_states.pt", "zero_to_fp32.py", "latest"], ["DeepSpeed", "zero_to_fp32"]),
    (["pytorch_model_fsdp_0/__0_0.distcp", "pytorch_model_fsdp_0/.metadata"], ["FSDP", "merge-weights"]),
    (["model.fp16.safetensors"], ["model.fp16.safetensors", "Open that file"]),
    (["pytorch_model.fp16.bin"], ["pytorch_model.fp16.bin", "Open that file"]),
    (["model-00001-of-00002.safetensors"], ["model.safetensors.index.json", "1 of 2 parts are missing"]),
    (["best.pt"], ["best.pt", "Open that file"]),
    (["model.zip"], ["archive", "Unpack"]),
    (["optimizer.pt", "scheduler.pt", "trainer_state.json", "rng_state.pth"], ["training run", "save_model"]),
    (["last.ckpt"], ["Lightning"]),
    (["weights.npz"], ["MLX"]),
    (["1_Pooling/config.json"], ["no weights"]),
]:
    case(f"folder with {names[0]}", holding(*names), *said, refused=True)


def variant(folder):
    model = saved(folder, "BertForMaskedLM", **BERT)
    (folder / "model.safetensors").rename(folder / "model.fp16.safetensors")
    return model


case("the variant's file itself", variant, path=lambda folder: folder / "model.fp16.safetensors")


def three_kinds(folder):
    model = saved(folder, "BertForMaskedLM", **BERT)
    for name in ("pytorch_model.bin", "tf_model.h5", "flax_model.msgpack"):
        (folder / name).write_bytes(b"another model")
    return model


case("three kinds of weights", three_kinds)


def below(*places):
    def make(folder):
        for place in places:
            saved(folder / place, "BertForMaskedLM", **BERT)

    return make


for places in (["checkpoint-500"], ["checkpoint-20", "checkpoint-100"], ["0_Transformer"], ["snapshots/abc"]):
    case(f"one folder down: {places[-1]}", below(*places), "further down", places[-1], refused=True)


def empty(folder):
    pass


def zipped(folder):
    with zipfile.ZipFile(folder / "model.zip", "w") as archive:
        archive.writestr("config.json", "{}")


case("an empty folder", empty, "empty", refused=True)
case("a zip alone", zipped, "archive", refused=True)
case("a zip itself", zipped, "archive", refused=True, path=lambda folder: folder / "model.zip")


def changed(change, cls="LlamaForCausalLM", config=LLAMA):
    def make(folder):
        saved(folder, cls, **config)
        configured(folder, change)
        kind = getattr(hf, cls)
        # Without its sizes it would become a model of the usual ones, of many gigabytes.
        if "hidden_size" not in json.loads((folder / "config.json").read_text()):
            return None
        try:
            return kind.from_pretrained(folder, attn_implementation="eager").eval()
        except Exception:
            return None

    return make


LINEAR = {"rope_type": "linear", "factor": 4.0}
case("timm", changed(lambda config: {"architecture": "vit_tiny", "pretrained_cfg": {}}), "timm", refused=True)
case("no model_type", changed(lambda config: {key: value for key, value in config.items() if key != "model_type"}),
     "LlamaForCausalLM", '"model_type": "llama"', refused=True)  # fmt: skip
case("an unknown type", changed(lambda config: config | {"model_type": "mamba9"}), "mamba9", "docs/captures.md", refused=True)
case("a type like a known one", changed(lambda config: config | {"model_type": "qwen3_next"}), "qwen3", refused=True)
case("NaN in a key nobody reads", changed(lambda config: config | {"note": float("nan"), "more": [float("-inf")]}))
case("NaN in a key that is read", changed(lambda config: config | {"rms_norm_eps": float("nan")}), "rms_norm_eps", refused=True)
case("equal rope_scaling", changed(lambda config: config | {"rope_parameters": LINEAR, "rope_scaling": LINEAR}))
case("rope_scaling beside rope_parameters", changed(lambda config: config | {
    "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 50.0}, "rope_scaling": LINEAR}),
     "rope_parameters is not obeyed")  # fmt: skip
case("an empty rope_scaling", changed(lambda config: config | {"rope_scaling": {}, "rope_theta": 50.0, "rope_parameters": None}))
case("quantised by MLX", changed(lambda config: config | {"quantization": {"group_size": 32, "bits": 4}}), "MLX, 4 bits", refused=True)


def plain(folder):
    return saved(folder, "BertForMaskedLM", **BERT)


def moved(name):
    """A model in a folder of this name."""

    def make(folder):
        return saved(folder / name, "BertForMaskedLM", **BERT)

    return make


for name in ("with spaces", "~", "line\nbreak", "ü模型", "a'b\"c"):
    case(f"a folder called {name!r}", moved(name), path=lambda folder, name=name: folder / name)
case("nothing there", plain, "nothing at this path", refused=True, path=lambda folder: folder / "gone")
case("a name of a hub", plain, "nothing at this path", refused=True, path=lambda folder: "somebody/some-model")
case("4,096 letters", plain, "too long", refused=True, path=lambda folder: str(folder) + "/" + "x" * 4096)
case("a file of text", plain, "not a model", refused=True, path=lambda folder: folder / "config.json")
case("a pipe", lambda folder: os.mkfifo(folder / "model.safetensors"), "pipe", refused=True,
     path=lambda folder: folder / "model.safetensors")  # fmt: skip


def piped(folder):
    saved(folder, "BertForMaskedLM", **BERT)
    (folder / "config.json").unlink()
    os.mkfifo(folder / "config.json")


def broken_link(folder):
    saved(folder, "BertForMaskedLM", **BERT)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").symlink_to("../../blobs/gone")


def directory(folder):
    saved(folder, "BertForMaskedLM", **BERT)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors").mkdir()


case("a pipe for a configuration", piped, "config.json", "pipe", refused=True)
case("a broken link for weights", broken_link, "model.safetensors", "a link to nothing", refused=True)
case("a folder for weights", directory, "model.safetensors", "a folder", refused=True)


def locked(folder):
    saved(folder, "BertForMaskedLM", **BERT)
    folder.chmod(0)


case("no right to read", locked, "cannot be read", refused=True)
