"""Trains `demo:scorer-additive`, `-dot`, `-bilinear` and `-mlp`: one translator with four scorers.

    python examples/train_scorers.py --out RUN --score additive --steps 600

The networks of `train_classic.py`, small, translate phrases of a grammar from English into French: “my father's
green hat” becomes “le chapeau vert de mon père”. Colours follow their noun there, owners come last and adverbs
behind the verb, so that a translation has to look back and forth. Sentences are drawn anew for every step, with
the alignment of their words; every tenth possible one, by a checksum, is never trained on, and tests are of those.
The scorers have the same data in the same order and the same sizes. RUN/model becomes a checkpoint that AttnScope
opens. Run the same command again to resume. Needs torch, tokenizers, safetensors.
"""

import json
import zlib

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from recipe import Run, arguments
from train_classic import END, PAD, SCORES, RnnSearch, named
from train_translate import IGNORE

SPECIAL = ["<pad>", "</s>", "<unk>"]
PERSONS = {
    "father": "père m", "mother": "mère f", "brother": "frère m", "sister": "sœur f", "neighbour": "voisin m",
    "doctor": "médecin m", "teacher": "professeur m", "queen": "reine f",
}  # fmt: skip
OWNERS = {"my": "mon ma", "your": "ton ta", "our": "notre notre", "their": "leur leur"}
THINGS = {
    "hat": "chapeau m", "dog": "chien m", "cat": "chat m", "book": "livre m", "house": "maison f", "car": "voiture f",
    "chair": "chaise f", "garden": "jardin m", "bag": "sac m", "coat": "manteau m", "key": "clé f", "boat": "bateau m",
    "flower": "fleur f", "shirt": "chemise f", "bed": "lit m", "letter": "lettre f", "knife": "couteau m", "dress": "robe f",
}  # fmt: skip
# Behind their noun in French, and before it.
COLOURS = {
    "green": "vert verte", "blue": "bleu bleue", "red": "rouge rouge", "white": "blanc blanche",
    "black": "noir noire", "yellow": "jaune jaune", "grey": "gris grise", "brown": "brun brune",
}  # fmt: skip
KINDS = {
    "small": "petit petite", "big": "grand grande", "beautiful": "beau belle", "new": "nouveau nouvelle",
    "old": "vieux vieille", "good": "bon bonne",
}  # fmt: skip
ARTICLES = {"the": "le la", "a": "un une"}
VERBS = {
    "sees": "voit", "takes": "prend", "sells": "vend", "finds": "trouve", "loses": "perd", "washes": "lave",
    "paints": "peint", "buys": "achète", "wants": "veut", "forgets": "oublie",
}  # fmt: skip
ADVERBS = {"often": "souvent", "always": "toujours", "rarely": "rarement", "now": "maintenant"}
PLACES = {"in": "dans", "under": "sous", "behind": "derrière", "with": "avec", "before": "devant"}
CONFIG = {
    "model_type": "rnnsearch", "architectures": ["RNNsearch"], "embedding_size": 48, "encoder_hidden_size": 48,
    "hidden_size": 96, "attention_size": 96, "max_position_embeddings": 64, "pad_token_id": PAD, "eos_token_id": END,
    "decoder_start_token_id": PAD, "tie_word_embeddings": True, "torch_dtype": "float16",
}  # fmt: skip
TESTS = 500
# Of the writer's first state, which alone could carry a short sentence past the attention.
DROPPED = 0.5


def pick(rng, words):
    return list(words)[rng.integers(len(words))]


def person(rng, start):
    """English words, and French words each with the place of the English word that it translates."""
    owner, who = pick(rng, OWNERS), pick(rng, PERSONS)
    french, gender = PERSONS[who].split()
    return [owner, who], [(OWNERS[owner].split()[gender == "f"], start), (french, start + 1)]


def thing(rng, start):
    """The same of a thing, with its owner or an article."""
    kind = [pick(rng, KINDS)] if rng.random() < 0.4 else []
    colour = [pick(rng, COLOURS)] if rng.random() < 0.6 else []
    noun = pick(rng, THINGS)
    french, gender = THINGS[noun].split()
    agree = lambda forms: forms.split()[gender == "f"]
    if rng.random() < 0.5:
        before, owner = person(rng, start)
        english = [*before, "'s", *kind, *colour, noun]
        # The article has no word of its own in English: it goes with its noun.
        article, behind = (agree(ARTICLES["the"]), start + len(english) - 1), [("de", start + 2), *owner]
    else:
        before = [pick(rng, ARTICLES)]
        english = [*before, *kind, *colour, noun]
        article, behind = (agree(ARTICLES[before[0]]), start), []
    last = start + len(english) - 1
    written = [article]
    written += [(agree(KINDS[word]), last - 1 - len(colour)) for word in kind]
    written += [(french, last), *((agree(COLOURS[word]), last - 1) for word in colour)]
    return english, written + behind


def sentence(rng):
    if rng.random() < 0.2:
        return thing(rng, 0)
    english, french = person(rng, 0)
    adverb = [pick(rng, ADVERBS)] if rng.random() < 0.4 else []
    verb = pick(rng, VERBS)
    english += [*adverb, verb]
    french += [(VERBS[verb], len(english) - 1), *((ADVERBS[word], len(english) - 2) for word in adverb)]
    more, written = thing(rng, len(english))
    english, french = english + more, french + written
    if rng.random() < 0.4:
        place = pick(rng, PLACES)
        french.append((PLACES[place], len(english)))
        english.append(place)
        more, written = thing(rng, len(english))
        english, french = english + more, french + written
    return [*english, "."], [*french, (".", len(english))]


def is_held_out(english):
    return zlib.crc32(" ".join(english).encode()) % 10 == 0


def sentences(rng, how_many, held_out):
    found = []
    while len(found) < how_many:
        pair = sentence(rng)
        if is_held_out(pair[0]) == held_out:
            found.append(pair)
    return found


def vocabulary():
    forms = [f.removesuffix(" m").removesuffix(" f") for f in (*PERSONS.values(), *THINGS.values())]
    tables = (OWNERS, COLOURS, KINDS, ARTICLES, VERBS, ADVERBS, PLACES)
    english = [word for table in (PERSONS, THINGS, *tables) for word in table]
    french = [form for table in tables for forms_of in table.values() for form in forms_of.split()]
    return {word: i for i, word in enumerate(dict.fromkeys([*SPECIAL, ".", "'s", "de", *english, *forms, *french]))}


def phrase_tokenizer():
    tokenizer = Tokenizer(models.WordLevel(vocabulary(), unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace("’", "'"), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"'s|\w+|[^\w\s]"), behavior="removed", invert=True)
    tokenizer.add_special_tokens(SPECIAL)
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", END)])
    return tokenizer


def batch_of(ids, pairs):
    """Sources, what the writer reads, its labels, and the place in the source of each label, `-100` where there is none."""
    pad = lambda rows, value: torch.nn.utils.rnn.pad_sequence(list(map(torch.tensor, rows)), batch_first=True, padding_value=value)
    source = [[*(ids[word] for word in english), END] for english, _ in pairs]
    written = [[*(ids[word] for word, _ in french), END] for _, french in pairs]
    places = [[*(place for _, place in french), IGNORE] for _, french in pairs]
    return pad(source, PAD), pad([[PAD, *row[:-1]] for row in written], PAD), pad(written, IGNORE), pad(places, IGNORE)


def export(half, folder):
    save_file(named(half), folder / "model.safetensors", metadata={"format": "pt"})
    (folder / "config.json").write_text(json.dumps(half.config, indent=2) + "\n")
    phrase_tokenizer().save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": CONFIG["max_position_embeddings"],
        "pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>",
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n")


def main():
    more = lambda parser: parser.add_argument("--score", choices=SCORES, default="additive")
    options = arguments(__doc__, batch=32, lr=6e-3, more=more, needs_data=False)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    ids = vocabulary()
    model = RnnSearch(CONFIG | {"vocab_size": len(ids), "attention_score": options.score}, DROPPED)
    print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.3f} M parameters", flush=True)
    run = Run(model, options, weight_decay=0.01, columns=["heldout_loss", "right", "aer", "weight"])
    loss_of = lambda logits, labels: F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=IGNORE)
    tests = sentences(np.random.default_rng(options.seed), TESTS, True)

    def loss_of_step(step):
        drawn = sentences(np.random.default_rng((options.seed, step)), options.batch, False)
        source, read, labels, _ = batch_of(ids, drawn)
        torch.manual_seed(options.seed * 1_000_003 + step)
        return loss_of(model(source, read)[0], labels)

    def evaluate(final):
        """Loss, sentences translated right from end to end, and errors and weight of the alignment."""
        model.eval()
        with torch.no_grad():
            source, read, labels, places = batch_of(ids, tests)
            logits, patterns = model(source, read)
            written = model.translate(source, labels.shape[1])
            expected = [[ids[word] for word, _ in french] for _, french in tests]
            right = [row[: len(wanted) + 1] == [*wanted, PAD][: len(row)] for row, wanted in zip(written, expected)]
            aligned = places != IGNORE
            weight = patterns.gather(-1, places.clamp(min=0)[..., None]).squeeze(-1)
            hits = patterns.argmax(-1) == places
        model.train()
        # One link for each word on both sides, all of them sure: the error rate is the share of wrong ones.
        mean = lambda values: values[aligned].float().mean().item()
        measured = {"aer": 1 - mean(hits), "weight": mean(weight), "right": sum(right) / len(right)}
        return measured | {"heldout_loss": loss_of(logits, labels).item()}

    run.train(loss_of_step, evaluate, export)


if __name__ == "__main__":
    main()
