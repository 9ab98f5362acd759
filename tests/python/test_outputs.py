"""What models and generate() return, padded, windowed, beamed or of pictures: read as it was meant, or refused in words."""

import json
import subprocess
import tempfile
import types
import unittest
from pathlib import Path

import numpy as np

import attnscope
from test_attnscope import TOKENS, layers, softmax


class FakeTokenizer:
    """Knows six tokens, as Transformers' tokenizers say it."""

    all_special_ids = [0, 3]
    backend_tokenizer = types.SimpleNamespace(model=None, pre_tokenizer="ByteLevel()", decoder="ByteLevel()")

    def get_vocab(self):
        return {text: id for id, text in enumerate(["<s>", "a", "Ġca", "</s>", "f", "Ã©"])}

    def convert_ids_to_tokens(self, id):
        return list(self.get_vocab())[id]


def generated(n_prompt, n_new, n_rows=1, window=None, room=0):
    """What a causal model returns by steps, and its patterns over all: two layers of `[rows, heads, n, n]`."""
    n = n_prompt + n_new - 1
    whole = [softmax((n_rows, 3, n, n), seed, causal=True) for seed in range(2)]
    if window is not None:
        far = np.tril(np.ones((n, n), dtype=bool), -window)
        whole = [np.where(far, 0, layer) for layer in whole]
        whole = [layer / layer.sum(-1, keepdims=True) for layer in whole]
    steps = []
    for step in range(n_new):
        first, last = (0, n_prompt) if step == 0 else (n_prompt + step - 1, n_prompt + step)
        begin = max(last - window, 0) if window is not None and step > 0 else 0
        parts = [layer[:, :, first:last, begin:last] for layer in whole]
        steps.append(tuple(np.pad(part, [(0, 0)] * 3 + [(0, room and n + room - last)]) for part in parts))
    return tuple(steps), whole


class Outputs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "attention.safetensors"

    def refused(self, words, *args, **options):
        with self.assertRaises(attnscope.AttentionError) as caught:
            attnscope.capture(*args, **options)
        for word in words:
            self.assertIn(word, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def keys(self, *options):
        """The keys that the program draws of the file."""
        out = self.path.with_suffix(".json")
        run = subprocess.run(
            [attnscope.binary(), "render", "heatmap", "--capture", self.path, "--data", out, *options],
            capture_output=True,
            text=True,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        found = json.loads(out.read_text())
        return found

    def same(self, capture, patterns, stack="self"):
        for layer, pattern in enumerate(patterns):
            np.testing.assert_allclose(capture.tensors[f"{stack}.{layer}.pattern"], pattern, atol=1e-6)

    def tokens(self, capture, side="self"):
        return [token["text"] for token in json.loads(capture.metadata["tokens"])[side]]

    def test_steps_are_put_where_their_keys_are(self):
        for options in ({}, {"window": 3}, {"room": 4}):
            steps, whole = generated(4, 5, **options)
            output = types.SimpleNamespace(attentions=steps, sequences=np.zeros((1, 9), dtype=int))
            capture = attnscope.capture(output, list("abcdefghi"))
            self.same(capture, [layer[0] for layer in whole])
            self.assertEqual(self.tokens(capture), list("abcdefgh"), "the last token was never read")
            self.assertNotIn("rows", capture.metadata)

    def test_steps_without_a_cache_have_all_rows(self):
        _, whole = generated(4, 5)
        # Each step has its own numbers, as rounding gives them: those of the last one count.
        steps = tuple(
            tuple(layer[:, :, :n, :n] + (0 if n == 8 else 1e-3) for layer in whole) for n in range(4, 9)
        )
        output = types.SimpleNamespace(attentions=steps, sequences=np.zeros((1, 9), dtype=int))
        for given in (output, steps):
            capture = attnscope.capture(given, list("abcdefgh"))
            self.same(capture, [layer[0] for layer in whole])
            self.assertEqual(self.tokens(capture), list("abcdefgh"))
        crossed = [softmax((1, 3, 8, 5), seed) for seed in range(2)]
        cross = tuple(tuple(layer[:, :, :n] for layer in crossed) for n in range(4, 9))
        output = types.SimpleNamespace(
            decoder_attentions=steps, cross_attentions=cross, sequences=np.zeros((1, 9), dtype=int)
        )
        capture = attnscope.capture(output, encoder_tokens=list("vwxyz"), decoder_tokens=list("abcdefgh"))
        self.same(capture, [layer[0] for layer in whole], "decoder")
        self.same(capture, [layer[0] for layer in crossed], "cross")

    def test_beams_are_followed(self):
        steps, whole = generated(3, 4, n_rows=3)
        beams = np.array([[1, 0, 2, 1], [0, 2, -1, -1]])
        output = types.SimpleNamespace(attentions=steps, beam_indices=beams, sequences=np.zeros((2, 7), dtype=int))
        rows = [1, 1, 1, 0, 2, 1]
        mixed = [np.stack([layer[beam, :, at] for at, beam in enumerate(rows)], axis=1) for layer in whole]
        self.same(attnscope.capture(output, list("abcdefg"), item=0), mixed)
        short = attnscope.capture(output, list("abcdefg"), item=1)
        self.assertEqual(short.tensors["self.0.pattern"].shape, (3, 4, 4))
        self.assertEqual(self.tokens(short), list("abcd"), "a sequence that ended before the others")
        self.refused(["2 sequences", "item=0"], output, list("abcdefg"))
        self.refused(["3 rows in each step", "beam_indices"], steps, list("abcdef"), item=0)
        self.same(attnscope.capture(steps, list("abcdef"), item=2, beam_indices=False), [layer[2] for layer in whole])

    def test_rows_of_other_tokens_and_earlier_calls_are_noticed(self):
        steps, whole = generated(4, 5, window=3)
        output = types.SimpleNamespace(attentions=steps[2:], sequences=np.zeros((1, 9), dtype=int))
        capture = attnscope.capture(output, list("abcdefghi"))
        self.same(capture, [np.concatenate([0 * layer[0][:, :5], layer[0][:, 5:]], axis=1) for layer in whole])
        # What assisted generation gives: the first rows again, one key more each.
        wrong = tuple(np.pad(layer[:, :, :1, :4], [(0, 0)] * 3 + [(0, 1)]) for layer in generated(4, 2)[1])
        self.refused(["token 4", "on the token itself", "assisted"], (generated(4, 2)[0][0], wrong), list("abcde"))

    def test_padding_is_cut(self):
        patterns = [softmax((2, 3, 6, 6), seed) for seed in range(2)]
        for at, kept in enumerate(([0, 1, 2, 3], [2, 3, 4, 5])):
            for pattern in patterns:
                others = [position for position in range(6) if position not in kept]
                pattern[at][..., others] = 0
                pattern[at] /= pattern[at].sum(-1, keepdims=True)
        mask = np.array([[1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]])
        words = [list("abcdpp"), list("ppabcd")]
        for item, part in ((0, slice(0, 4)), (1, slice(2, 6))):
            for given in (words, list("abcd")):
                capture = attnscope.capture(patterns, given, item=item, attention_mask=mask)
                self.same(capture, [pattern[item][:, part, part] for pattern in patterns])
                self.assertEqual(self.tokens(capture), list("abcd"))
        second = attnscope.capture(patterns, words[1], 4, item=1, attention_mask=mask)
        segments = [token.get("segment", 0) for token in json.loads(second.metadata["tokens"])["self"]]
        self.assertEqual(segments, [0, 0, 1, 1], "the second sentence begins where it began before")
        three = ["6 queries and 6 keys", "3 self tokens", "attention_mask has 6 entries, of which 4 are 1"]
        self.refused(three, patterns, list("abc"), item=0, attention_mask=mask)
        self.refused(["attention_mask has 5 entries"], patterns, list("abc"), item=0, attention_mask=mask[:, :5])
        self.refused(["without this mask"], layers(), TOKENS, attention_mask=[1, 1, 1, 0])
        self.refused(["1 for tokens and 0 for padding"], layers(), TOKENS, attention_mask=[0, 0, 0, -1e9])
        self.refused(["4 queries", "3 self tokens", "attention_mask="], layers(), TOKENS[:3])
        self.refused(["5 self tokens", "never read"], layers(), [*TOKENS, "x"])

    def test_prompts_and_what_follows_share_a_mask(self):
        steps, whole = generated(4, 3)
        for layer in range(2):
            whole[layer][..., :2] *= np.eye(6)[:, :2] + 0
            whole[layer] /= whole[layer].sum(-1, keepdims=True)
        steps = tuple(
            tuple(layer[:, :, first:last, :last] for layer in whole) for first, last in ((0, 4), (4, 5), (5, 6))
        )
        output = types.SimpleNamespace(attentions=steps, sequences=np.zeros((1, 7), dtype=int))
        capture = attnscope.capture(output, list("ppabcde"), attention_mask=[[0, 0, 1, 1]])
        self.same(capture, [layer[0][:, 2:, 2:] for layer in whole])
        self.assertEqual(self.tokens(capture), list("abcd"))

    def test_few_queries_stand_where_they_are_said_to(self):
        few = [layer[0][:, [1, 3]] for layer in layers()]
        capture = attnscope.capture(few, TOKENS, query_positions=[1, 3])
        found = capture.tensors["self.1.pattern"]
        np.testing.assert_array_equal(found[:, [1, 3]], few[1])
        self.assertEqual((found[:, [0, 2]].sum(), capture.metadata["rows"]), (0, "partial"))
        self.refused(["2 queries and 4 keys", "query_positions"], few, TOKENS)
        self.refused(["[1, 4]", "4 keys"], few, TOKENS, query_positions=[1, 4])
        last = [softmax((3, 4, 4), causal=True)[:, 2:]]
        self.assertEqual(attnscope.capture(last, TOKENS).tensors["self.0.pattern"][:, :2].sum(), 0)

    def test_windows_of_longformer_are_unrolled(self):
        n, reach = 6, 1
        dense = np.where(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= reach, softmax((2, n, n)), 0)
        dense[:, :, 0] = 0.25
        dense /= dense.sum(-1, keepdims=True)
        dense[:, 0] = softmax((2, n), 5)
        local = np.zeros((1, 2, n, 1 + 2 * reach + 1), dtype=np.float32)
        for query in range(1, n):
            local[0, :, query, 0] = dense[:, query, 0]
            for key in range(max(query - reach, 1), min(query + reach + 1, n)):
                local[0, :, query, 1 + key - query + reach] = dense[:, query, key]
        everywhere = dense[None, :, 0, :, None]
        output = type("LongformerBaseModelOutput", (), {"attentions": (local,), "global_attentions": (everywhere,)})()
        self.same(attnscope.capture(output, list("abcdef")), [dense])
        self.refused(["6 queries and 4 keys", "whole output"], (local,), list("abcdef"))
        swin = [softmax((4, 3, 4, 4)), softmax((1, 3, 4, 4))]
        self.refused(["batches of 1, 4", "windows of a picture"], swin, item=0)

    def test_special_tokens_and_spelling_are_known(self):
        texts = ["<s>", "a", "Ġca", "f", "Ã©", "</s>"]
        patterns = layers(q=6)
        for options in (
            {"tokens": texts},
            {"tokens": np.array([[0, 1, 2, 4, 5, 3]]), "tokenizer": FakeTokenizer()},
            {"tokens": texts, "tokenizer": FakeTokenizer()},
        ):
            attnscope.save(self.path, patterns, **options)
            drawn = json.dumps(self.keys("--words", "--hide", "special"), ensure_ascii=False)
            self.assertIn("café", drawn)
            self.assertNotIn("</s>", json.dumps([row for row in self.rows("--hide", "special")]))
        attnscope.save(self.path, patterns, texts, token_style="as is")
        self.assertIn("Ġca", json.dumps(self.keys(), ensure_ascii=False))
        self.refused(["ids", "tokenizer="], patterns, [0, 1, 2, 4, 5, 3])
        self.refused(["token_style='bytes'", "byte-level"], patterns, texts, token_style="bytes")
        output = types.SimpleNamespace(attentions=generated(3, 3)[0], sequences=np.array([[0, 1, 2, 4, 5, 3]]))
        self.assertEqual(self.tokens(attnscope.capture(output, tokenizer=FakeTokenizer())), texts[:3] + ["f", "Ã©"])

    def rows(self, *options):
        """The key texts of a table."""
        out = self.path.with_suffix(".csv")
        subprocess.run(
            [attnscope.binary(), "render", "heatmap", "--capture", self.path, "--data", out, *options], check=True
        )
        return {line.split(",")[6] for line in out.read_text().splitlines()[1:]}

    def test_regions_of_a_picture_are_keys(self):
        cross = [softmax((1, 2, 3, 4), 0)]
        pixels = np.zeros((48, 64, 3), dtype=np.uint8)
        boxes = [(0, 0, 64, 20), (6, 12, 34, 44), (16, 28, 24, 44.4), (40, 10, 60, 48.5)]

        def taken(**given):
            return attnscope.capture(cross_attention=cross, decoder_tokens=["a", "b", "c"], **given)

        capture = taken(image=pixels, regions=boxes)
        entry = json.loads(capture.metadata["image"])
        self.assertEqual((entry["regions"][1], entry["regions"][3][3]), ([6.0, 12.0, 34.0, 44.0], 48.0))
        self.assertEqual(self.tokens(capture, "encoder"), [f"region {nth}" for nth in range(4)])
        parts = np.array(boxes) / [64, 48, 64, 48]
        again = json.loads(taken(image=pixels, regions=parts, region_unit="fraction").metadata["image"])
        np.testing.assert_allclose(again["regions"], entry["regions"])
        for words, given in [
            (["give image"], {"regions": boxes}),
            (["3 regions", "4 keys"], {"regions": boxes[:3], "image": pixels, "n_prefix": 0}),
            (["region 1", "no area"], {"regions": [boxes[0], (6, 12, 6, 14), *boxes[2:]], "image": pixels}),
            (["region 0", "outside", "64 × 48"], {"regions": [(0, 0, 80, 9), *boxes[1:]], "image": pixels}),
            (["not finite"], {"regions": [(0, 0, float("nan"), 9), *boxes[1:]], "image": pixels}),
            (["region_unit"], {"image": pixels, "regions": boxes, "region_unit": "inch"}),
        ]:
            with self.assertRaises(attnscope.AttentionError) as raised:
                taken(**given)
            for word in words:
                self.assertIn(word, str(raised.exception))

    def test_pictures_come_with_their_patches(self):
        patterns = layers(q=17)
        pixels = np.arange(8 * 12 * 3, dtype=np.uint8).reshape(8, 12, 3)
        capture = attnscope.capture(patterns, image=pixels, pixel_values=np.zeros((1, 3, 32, 32)))
        np.testing.assert_array_equal(capture.tensors["picture"], pixels)
        entry = json.loads(capture.metadata["image"])
        self.assertEqual(
            (entry["grid_height"], entry["grid_width"], entry["n_prefix"], entry["patch_width"]), (4, 4, 1, 8)
        )
        self.assertEqual(self.tokens(capture)[:2], ["[CLS]", "r0 c0"])
        processor = types.SimpleNamespace(
            do_resize=True, size={"shortest_edge": 32}, do_center_crop=True, crop_size={"height": 32, "width": 32}
        )
        crop = json.loads(attnscope.capture(patterns, image=pixels, processor=processor).metadata["image"])["crop"]
        self.assertEqual(crop, {"x": 2.0, "y": 0.0, "width": 8.0, "height": 8.0})
        attnscope.save(self.path, patterns, image=pixels)
        self.assertIn("<image", attnscope.render(patterns, image=pixels, view="image", query=3))
        wide = attnscope.capture(layers(q=29), grid=(4, 6), n_prefix=5)
        self.assertEqual(self.tokens(wide)[4:6], ["[REG4]", "r0 c0"])
        self.refused(["29 tokens", "grid=(rows, columns)"], layers(q=29), image=pixels)
        self.refused(["3 × 3", "17 tokens"], patterns, grid=3, n_prefix=1)
        self.refused(["below 0", "pixel_values"], patterns, image=np.full((8, 8, 3), -1.0))
        self.refused(["cannot be read"], patterns, image=str(self.path.parent / "missing.png"))

    def test_sounds_are_labelled_by_seconds(self):
        parts = {
            "encoder_attention": layers(q=5),
            "decoder_attention": layers(q=3),
            "cross_attention": layers(q=3, k=5),
        }
        capture = attnscope.capture(**parts, decoder_tokens=list("abc"), seconds_per_position=0.02)
        self.assertEqual(self.tokens(capture, "encoder"), ["0.00 s", "0.02 s", "0.04 s", "0.06 s", "0.08 s"])
        self.assertIn(
            "0.08 s", attnscope.render(**parts, decoder_tokens=list("abc"), seconds_per_position=0.02, stack="cross")
        )
        self.refused(
            ["seconds_per_position", "no tokens"], **parts, encoder_tokens=list("abcde"), seconds_per_position=0.02
        )

    def test_both_halves_of_a_model_that_sees_and_reads(self):
        halves = {"text_model_output": {"attentions": layers(q=3)}, "vision_model_output": {"attentions": layers(q=10)}}
        capture = attnscope.capture(halves, list("abc"), grid=(3, 3))
        self.assertEqual((len(self.tokens(capture, "text")), len(self.tokens(capture, "vision"))), (3, 10))

    def test_the_arguments_of_bertviz(self):
        attention, words = layers(), TOKENS
        for options in (
            {"prettify_tokens": False},
            {"layer": 1, "heads": [0, 2]},
            {"include_layers": [1]},
            {"include_heads": [0]},
            {"display_mode": "light"},
        ):
            self.assertIn("<svg", attnscope.render(attention, words, **options)[:200])
        page = attnscope.head_view(attention, words, 2, True, 1, [0, 2], html_action="return").data
        self.assertTrue(page.startswith("<!DOCTYPE html>"))
        encoder, cross = layers(q=5), layers(q=4, k=5)
        halves = (encoder, attention, cross, list("abcde"), words)
        page = attnscope.model_view(None, None, None, True, "dark", *halves, html_action="return", stack="cross").data
        self.assertEqual([f'"title":"{stack}"' in page for stack in ("encoder", "decoder", "cross")], [True] * 3)
        self.assertIn('"theme":"dark","start":{"view":"grid","stack":2', page)
        options = {"include_layers": [1], "include_heads": [0, 2], "width": 480}
        drawn = attnscope.model_view(attention, words, **options, html_action="return").data
        self.assertEqual(
            ["L1H0" in drawn, "L1H1" in drawn, "L1H2" in drawn, "L0H0" in drawn], [True, False, True, False]
        )
        only = attnscope.capture(attention, words, include_layers=[1])
        self.assertEqual(set(only.tensors), {"self.1.pattern"})
        for wrong, said in [
            ({"include_layers": [7]}, "[7]"),
            ({"html_action": "save"}, "html_action"),
            ({"display_mode": "pink"}, "display_mode"),
            ({"heads": [0], "include_heads": [1]}, "either"),
            ({"sentence_b": 2}, "sentence_b_start"),
        ]:
            with self.assertRaisesRegex(attnscope.AttentionError, said.replace("[", "\\[")):
                attnscope.render(attention, words, **wrong)
        with self.assertRaisesRegex(attnscope.AttentionError, "attnscope open"):
            attnscope.neuron_view.show(None, "bert", None, "a sentence")


if __name__ == "__main__":
    unittest.main()
