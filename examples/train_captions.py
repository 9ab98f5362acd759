"""Trains the bundled captioner `demo:captions`: a ViT that looks at drawn scenes, a decoder that describes them.

    python examples/train_captions.py --out RUN --steps 3000

Needs no data: scenes of one or two coloured shapes are drawn, a function of the seed alone. RUN/model
becomes an ordinary vision-encoder-decoder checkpoint, RUN/scenes a few scenes as pictures. Run the same
command again to resume. Needs torch, transformers, tokenizers and Pillow.

Besides the loss on scenes never drawn for training, the log has the share of captions that are true
of their scene, and the share of colour and shape words whose step looks most at a patch of the shape
that it names, in the best head of the decoder's cross-attention.
"""

import json

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, ImageDraw
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import GPT2Config, GPT2LMHeadModel, VisionEncoderDecoderConfig, VisionEncoderDecoderModel, ViTConfig
from transformers import ViTModel

from recipe import Run, arguments, forward_context

# Drawn large, seen small: edges are smooth, as in any picture that is brought to the model's size.
CANVAS, SIZE, PATCH = 256, 64, 8
COLOURS = {
    "red": (214, 45, 48), "green": (44, 150, 64), "blue": (43, 87, 204),
    "yellow": (240, 200, 30), "purple": (138, 58, 166), "orange": (243, 132, 24),
}  # fmt: skip
SHAPES = ("circle", "square", "triangle")
PAD, START, END = 0, 1, 2
WORDS = ["<pad>", "<s>", "</s>", "a", "an", "of", "left", "right", "above", "below", *COLOURS, *SHAPES]
CONTEXT, IGNORE = 16, -100
N_TRAIN, N_HELD_OUT = 24_000, 500


def named(shape):
    colour, name, _, _ = shape
    return f"{'an' if colour == 'orange' else 'a'} {colour} {name}"


def scene(rng):
    """Shapes as (colour, shape, centre, half side) and the caption; the first shape is the one that is named first."""
    shapes = []
    for _ in range(1 if rng.random() < 0.2 else 2):
        while True:
            half = int(rng.integers(26, 49))
            centre = rng.integers(half + 6, CANVAS - half - 6, 2)
            if all(np.abs(centre - other).max() > half + size + 8 for _, _, other, size in shapes):
                break
        shapes.append((str(rng.choice(list(COLOURS))), str(rng.choice(SHAPES)), centre, half))
    return shapes, captions(shapes)[0]


def captions(shapes):
    """What can be said of a scene, the shapes in this order first."""
    if len(shapes) == 1:
        return [named(shapes[0])]
    found = []
    for one, other in (shapes, shapes[::-1]):
        across, down = one[2] - other[2]
        sideways = "left of" if across < 0 else "right of"
        relation = sideways if abs(across) > abs(down) else "above" if down < 0 else "below"
        found.append(f"{named(one)} {relation} {named(other)}")
    return found


def draw(rng, shapes):
    """The scene as a picture on a light ground."""
    picture = Image.new("RGB", (CANVAS, CANVAS), tuple(int(c) for c in rng.integers(215, 250, 3)))
    pen = ImageDraw.Draw(picture)
    for colour, shape, (x, y), half in shapes:
        fill = tuple(int(np.clip(c + rng.integers(-18, 19), 0, 255)) for c in COLOURS[colour])
        box = (x - half, y - half, x + half, y + half)
        if shape == "circle":
            pen.ellipse(box, fill)
        elif shape == "square":
            pen.rectangle(box, fill)
        else:
            pen.polygon([(x, y - half), (x - half, y + half), (x + half, y + half)], fill)
    return picture


def scenes(seed, n):
    """Pixels u8 [n, 3, SIZE, SIZE], shapes and captions."""
    rng = np.random.default_rng(seed)
    pixels, described = [], []
    for _ in range(n):
        shapes, caption = scene(rng)
        small = draw(rng, shapes).resize((SIZE, SIZE), Image.Resampling.BILINEAR)
        pixels.append(np.asarray(small).transpose(2, 0, 1))
        described.append((shapes, caption))
    return np.stack(pixels), described


def word_tokenizer():
    """One token a word."""
    names = {word if i <= END else f"▁{word}": i for i, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(names, unk_token="<pad>"))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    tokenizer.add_special_tokens(WORDS[:3])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", END)])
    return tokenizer


def collate(captions):
    """What the decoder reads, and what it should write."""
    rows = [[WORDS.index(word) for word in caption.split()] + [END] for caption in captions]
    width = max(map(len, rows))
    labels = torch.tensor([row + [IGNORE] * (width - len(row)) for row in rows])
    read = torch.tensor([[START, *row[:-1]] + [PAD] * (width - len(row)) for row in rows])
    return read, labels


def normalised(pixels):
    return torch.from_numpy(pixels).float() / 127.5 - 1.0


def loss_of(model, pixels, captions):
    read, labels = collate(captions)
    logits = model(pixel_values=normalised(pixels), decoder_input_ids=read, use_cache=False).logits
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten(), ignore_index=IGNORE)


def patches_of(shape):
    """Which patches a shape's box touches, [rows, columns]."""
    _, _, centre, half = shape
    scale = SIZE / CANVAS / PATCH
    (left, top), (right, bottom) = (((centre + side * half) * scale).astype(int) for side in (-1, 1))
    touched = np.zeros((SIZE // PATCH, SIZE // PATCH), dtype=bool)
    touched[top : bottom + 1, left : right + 1] = True
    return touched


def looked_at(model, pixels, described):
    """Share of colour and shape words that look most at a patch of their shape, the best head, and its place."""
    read, _ = collate([caption for _, caption in described])
    with torch.no_grad():
        out = model(pixel_values=normalised(pixels), decoder_input_ids=read, output_attentions=True, use_cache=False)
    patterns = torch.stack(out.cross_attentions, 1)[..., 1:]  # [n, layer, head, step, patch]
    hits, n = np.zeros(patterns.shape[1:3]), 0
    for index, (shapes, caption) in enumerate(described):
        current = -1
        for step, word in enumerate(caption.split()):
            current += word in ("a", "an")
            if word in COLOURS or word in SHAPES:
                best = patterns[index, :, :, step].argmax(-1).numpy()
                hits += patches_of(shapes[current]).flatten()[best]
                n += 1
    layer, head = np.unravel_index(hits.argmax(), hits.shape)
    return hits.max() / n, (int(layer), int(head))


def written(model, pixels):
    """Greedy captions."""
    with torch.no_grad():
        rows = model.generate(pixel_values=normalised(pixels), max_length=CONTEXT, do_sample=False, num_beams=1)
    texts = []
    for row in rows.tolist():
        row = row[1 : row.index(END, 1)] if END in row[1:] else row[1:]
        texts.append(" ".join(WORDS[token] for token in row))
    return texts


def build():
    encoder = ViTConfig(
        hidden_size=128, num_hidden_layers=4, num_attention_heads=4, intermediate_size=384, image_size=SIZE,
        patch_size=PATCH, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0, attn_implementation="eager",
    )  # fmt: skip
    decoder = GPT2Config(
        vocab_size=len(WORDS), n_positions=CONTEXT, n_embd=128, n_layer=3, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
        attn_pdrop=0.0, bos_token_id=START, eos_token_id=END, pad_token_id=PAD, activation_function="gelu_new",
        is_decoder=True, add_cross_attention=True, attn_implementation="eager",
    )  # fmt: skip
    config = VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        encoder, decoder, decoder_start_token_id=START, pad_token_id=PAD, eos_token_id=END, tie_word_embeddings=False
    )
    model = VisionEncoderDecoderModel(
        config, encoder=ViTModel(encoder, add_pooling_layer=False), decoder=GPT2LMHeadModel(decoder)
    )
    for part in (model, model.decoder):
        part.generation_config.update(
            decoder_start_token_id=START, bos_token_id=START, eos_token_id=END, pad_token_id=PAD, max_length=CONTEXT
        )
    return model


def main():
    options = arguments(__doc__, batch=96, lr=2e-3, needs_data=False)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    n_train, n_held_out = (1000, 50) if options.quick else (N_TRAIN, N_HELD_OUT)
    pixels, described = scenes((options.seed, 0), n_train)
    known = {caption for _, caption in described}
    held_pixels, held_out = scenes((options.seed, 1), n_held_out)
    print(f"{n_train} scenes, {len(known)} captions, {n_held_out} held out", flush=True)
    model = build()
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.05, columns=["heldout_loss", "right", "looked_at"], muon=True)

    def loss_of_step(step):
        chosen = np.random.default_rng((options.seed, 2, step)).integers(0, n_train, options.batch)
        with forward_context(options):
            return loss_of(model, pixels[chosen], [described[i][1] for i in chosen])

    def evaluate(final):
        model.eval()
        with torch.no_grad():
            loss = loss_of(model, held_pixels, [caption for _, caption in held_out]).item()
        right = np.mean([text in captions(shapes) for text, (shapes, _) in zip(written(model, held_pixels), held_out)])
        share, (layer, head) = looked_at(model, held_pixels, held_out)
        print(f"cross-attention L{layer}H{head} looks at what is named", flush=True)
        model.train()
        return {"heldout_loss": loss, "right": float(right), "looked_at": float(share)}

    def export(half, folder):
        half.save_pretrained(folder)
        word_tokenizer().save(str(folder / "tokenizer.json"))
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONTEXT,
            "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>",
        }  # fmt: skip
        (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")
        settings = {
            "image_processor_type": "ViTImageProcessor", "do_resize": True, "size": {"height": SIZE, "width": SIZE},
            "resample": 2, "do_rescale": True, "rescale_factor": 1 / 255, "do_normalize": True,
            "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
        }  # fmt: skip
        (folder / "preprocessor_config.json").write_text(json.dumps(settings, indent=2) + "\n")
        rng = np.random.default_rng((options.seed, 3))
        (options.out / "scenes").mkdir(exist_ok=True)
        for index in range(4):
            shapes, caption = scene(rng)
            draw(rng, shapes).save(options.out / "scenes" / f"{index} {caption}.png")

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
