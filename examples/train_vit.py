"""Trains the bundled image model `demo:vit`: a small vision transformer on CIFAR-10.

    python examples/train_vit.py --data DATA --out RUN --steps 11000

DATA/images/cifar10_jpg.tar holds `train/CLASS/*.jpg` and `test/CLASS/*.jpg`, 32×32 pixels.
RUN/model becomes an ordinary checkpoint. Run the same command again to resume. Needs torch,
transformers and Pillow; one CPU thread is enough.

The weights start so that attention is already local, which saves a large part of the training:
positions as sines and cosines, queries and keys that agree where their inputs do, and values that
the output takes away again (mimetic initialisation, Trockman and Kolter 2023). For most of
the run it sees half of the patches of each picture, others in every step (PatchDropout, Liu et al.
2022): twice as many pictures in the same time, and less to learn by heart.
"""

import io
import json
import tarfile

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from transformers import ViTConfig, ViTForImageClassification

from recipe import SAMPLE, Run, arguments, forward_context

SIZE, PADDING = 32, 4
# Share of the run after which all patches are seen.
ALL_PATCHES_FROM = 0.92
CLASSES = "airplane automobile bird cat deer dog frog horse ship truck".split()


def read_pictures(data):
    """`{"train": (pixels, labels), "test": …}`; pixels are u8 [n, 3, 32, 32]."""
    pixels, labels = {"train": [], "test": []}, {"train": [], "test": []}
    with tarfile.open(data / "images" / "cifar10_jpg.tar") as archive:
        for member in archive:
            if not member.name.endswith(".jpg"):
                continue
            part, label = member.name.split("/")[-3:-1]
            picture = Image.open(io.BytesIO(archive.extractfile(member).read())).convert("RGB")
            pixels[part].append(np.asarray(picture).transpose(2, 0, 1))
            labels[part].append(CLASSES.index(label))
    return {part: (np.stack(pixels[part]), np.array(labels[part])) for part in pixels}


def drawn_pictures():
    """Pictures of ten kinds, in the form of `read_pictures`: a square each of another colour and size."""
    rng = np.random.default_rng(0)
    pictures = {}
    for part, n in (("train", 2000), ("test", 250)):
        labels = rng.integers(0, len(CLASSES), n)
        pixels = rng.integers(0, 80, (n, 3, SIZE, SIZE), dtype=np.uint8)
        for picture, label in zip(pixels, labels):
            side = 8 + 2 * label
            y, x = rng.integers(0, SIZE - side, 2)
            picture[label % 3, y : y + side, x : x + side] += np.uint8(120)
        pictures[part] = (pixels, labels)
    return pictures


def augmented(rng, pictures):
    """A random shift of up to 4 pixels, and a mirror image half of the time."""
    padded = np.pad(pictures, ((0, 0), (0, 0), (PADDING, PADDING), (PADDING, PADDING)), "reflect")
    out = np.empty(pictures.shape, dtype=np.float32)
    for i, picture in enumerate(padded):
        y, x = rng.integers(0, 2 * PADDING + 1, 2)
        cut = picture[:, y : y + SIZE, x : x + SIZE]
        out[i] = cut[:, :, ::-1] if rng.random() < 0.5 else cut
    return torch.from_numpy(out / 127.5 - 1.0)


def sines(rows, columns, width):
    """`[rows · columns, width]`: a quarter each of sines and cosines of the row and of the column."""
    frequencies = 10000.0 ** -(torch.arange(width // 4) / (width / 4))
    y, x = torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij")
    angles = [place.flatten()[:, None] * frequencies for place in (y, x)]
    return torch.cat([wave(angle) for angle in angles for wave in (torch.sin, torch.cos)], dim=1)


def factors(width, rank, noise, identity):
    """Two `[width, rank]` matrices whose product is nearest to noise plus a multiple of the identity."""
    target = noise * torch.randn(width, width) / width**0.5 + identity * torch.eye(width)
    u, s, v = torch.linalg.svd(target)
    root = s[:rank].sqrt()
    return u[:, :rank] * root, v[:rank].T * root


@torch.no_grad()
def start_local(model):
    """Weights whose attention is local before the first step."""
    config = model.config
    width, heads = config.hidden_size, config.num_attention_heads
    side = config.image_size // config.patch_size
    model.vit.embeddings.position_embeddings[0, 1:] = sines(side, side, width)
    for layer in model.vit.layers:
        attention = layer.attention
        query_key = [factors(width, width // heads, 0.7, 0.7) for _ in range(heads)]
        attention.q_proj.weight.copy_(torch.cat([query for query, _ in query_key], dim=1).T)
        attention.k_proj.weight.copy_(torch.cat([key for _, key in query_key], dim=1).T)
        value, output = factors(width, width, 0.4, -0.4)
        attention.v_proj.weight.copy_(value.T)
        attention.o_proj.weight.copy_(output)


def main():
    options = arguments(__doc__, batch=128, lr=2e-3)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    pictures = drawn_pictures() if options.data == SAMPLE else read_pictures(options.data)
    train_x, train_y = pictures["train"]
    test_x, test_y = pictures["test"]
    print(f"{len(train_x)} training pictures, {len(test_x)} test pictures", flush=True)

    config = ViTConfig(
        hidden_size=192, num_hidden_layers=6, num_attention_heads=6, intermediate_size=384,
        image_size=SIZE, patch_size=4, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(CLASSES)), label2id={name: i for i, name in enumerate(CLASSES)},
        attn_implementation="eager",
    )  # fmt: skip
    model = ViTForImageClassification(config)
    start_local(model)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f} M parameters", flush=True)
    columns = ["heldout_loss", "heldout_accuracy"]
    run = Run(model, options, weight_decay=0.05, columns=columns, muon=True)
    steps_per_epoch = len(train_x) // options.batch

    def drop_patches(_, __, tokens):
        if not model.training or run.progress() >= ALL_PATCHES_FROM:
            return tokens
        n, n_tokens, _ = tokens.shape
        rng = np.random.default_rng((options.seed, 2, run.step))
        kept = 1 + np.sort(rng.random((n, n_tokens - 1)).argsort(1)[:, : n_tokens // 2])
        kept = torch.from_numpy(np.concatenate([np.zeros((n, 1), dtype=kept.dtype), kept], 1))
        return tokens[torch.arange(n)[:, None], kept]

    model.vit.embeddings.register_forward_hook(drop_patches)

    def loss_of_step(step):
        epoch, index = divmod(step, steps_per_epoch)
        order = np.random.default_rng((options.seed, epoch)).permutation(len(train_x))
        chosen = order[index * options.batch : (index + 1) * options.batch]
        x = augmented(np.random.default_rng((options.seed, 1, step)), train_x[chosen])
        with forward_context(options):
            logits = model(x).logits
        return F.cross_entropy(logits.float(), torch.from_numpy(train_y[chosen]), label_smoothing=0.1)

    def evaluate(final):
        model.eval()
        every = 1 if final and not options.quick else 8
        x, y = torch.from_numpy(test_x[::every]), torch.from_numpy(test_y[::every])
        loss, hits = 0.0, 0
        with torch.no_grad(), forward_context(options):
            for pixels, labels in zip(x.split(250), y.split(250)):
                logits = model(pixels.float() / 127.5 - 1.0).logits.float()
                loss += F.cross_entropy(logits, labels, reduction="sum").item()
                hits += int((logits.argmax(-1) == labels).sum())
        model.train()
        return {"heldout_loss": loss / len(y), "heldout_accuracy": hits / len(y)}

    def export(half, folder):
        half.save_pretrained(folder)
        settings = {
            "image_processor_type": "ViTImageProcessor", "do_resize": True,
            "size": {"height": SIZE, "width": SIZE}, "resample": 3, "do_rescale": True,
            "rescale_factor": 1 / 255, "do_normalize": True,
            "image_mean": [0.5] * 3, "image_std": [0.5] * 3,
        }  # fmt: skip
        (folder / "preprocessor_config.json").write_text(json.dumps(settings, indent=2) + "\n")

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
