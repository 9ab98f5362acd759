"""The Python module with the program: what is written is read, and drawn.

    PYTHONPATH=python ATTNSCOPE_BINARY=target/debug/attnscope python3 -m unittest discover -s tests/python
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

import attnscope

try:
    import torch
except ImportError:
    torch = None

TOKENS = ["[CLS]", "flies", "time", "[SEP]"]


def softmax(shape, seed=0, causal=False):
    scores = np.random.default_rng(seed).normal(size=shape)
    if causal:
        scores = np.where(np.tril(np.ones(shape[-2:], dtype=bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def layers(n=2, heads=3, q=4, k=None):
    return tuple(softmax((1, heads, q, k or q), seed) for seed in range(n))


@unittest.skipIf(torch is None, "no torch")
class Steps(unittest.TestCase):
    def test_rows_of_cached_steps_are_those_of_the_whole_run(self):
        from transformers import GPT2Config, GPT2LMHeadModel

        torch.manual_seed(0)
        config = GPT2Config(vocab_size=50, n_positions=32, n_embd=16, n_layer=2, n_head=2, attn_implementation="eager")
        model = GPT2LMHeadModel(config).eval()
        ids = torch.randint(0, 50, (1, 9))
        with torch.no_grad():
            whole = model(ids, output_attentions=True).attentions
            # The beginning at once, then token after token.
            step = model(ids[:, :6], use_cache=True)
            for at in range(6, 9):
                step = model(ids[:, at : at + 1], past_key_values=step.past_key_values, use_cache=True, output_attentions=True)
        tokens = [f"t{id}" for id in ids[0].tolist()]
        last = attnscope.capture(step.attentions, tokens, query_positions=[8], queries=[8])
        self.assertNotIn("rows", last.metadata)
        some = attnscope.capture(whole, tokens, queries="last:3")
        self.assertEqual([token["position"] for token in json.loads(some.metadata["tokens"])["chosen"]], [6, 7, 8])
        for layer, pattern in enumerate(whole):
            np.testing.assert_array_equal(some.tensors[f"chosen.{layer}.pattern"], pattern[0, :, 6:].numpy())
            found = last.tensors[f"chosen.{layer}.pattern"]
            self.assertEqual(found.shape, (2, 1, 9))
            np.testing.assert_allclose(found[:, 0], pattern[0, :, 8].numpy(), atol=1e-6)
        with self.assertRaisesRegex(attnscope.AttentionError, "positions among 9 tokens"):
            attnscope.capture(whole, tokens, queries=[9])

    def test_groups_are_numbers_of_tokens(self):
        grouped = attnscope.capture(layers(), TOKENS, groups=[[1, 2]])
        entries = json.loads(grouped.metadata["tokens"])["self"]
        self.assertEqual([entry.get("group") for entry in entries], [None, 0, 0, None])
        with self.assertRaisesRegex(attnscope.AttentionError, "follow each other"):
            attnscope.capture(layers(), TOKENS, groups=[[1, 3]])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "attention.safetensors"

    def header(self):
        content = self.path.read_bytes()
        (n,) = struct.unpack("<Q", content[:8])
        return json.loads(content[8 : 8 + n]), content[8 + n :]

    def numbers(self, *options):
        """What the program draws of the file, as the rows of its own table."""
        out = self.path.with_suffix(".json")
        run = subprocess.run(
            [attnscope.binary(), "render", "heatmap", "--capture", self.path, "--data", out, *options],
            capture_output=True,
            text=True,
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(out.read_text())

    def test_weights_come_back_from_the_program(self):
        attentions = layers()
        attnscope.save(self.path, attentions, TOKENS, name="flies", text="flies time")
        header, values = self.header()
        self.assertEqual(header["self.1.pattern"]["shape"], [3, 4, 4])
        begin, end = header["self.1.pattern"]["data_offsets"]
        found = np.frombuffer(values[begin:end], dtype="<f4").reshape(3, 4, 4)
        np.testing.assert_array_equal(found, attentions[1][0])
        text = json.dumps(self.numbers("--layer", "1", "--head", "2"))
        for token in TOKENS:
            self.assertIn(token, text)
        weights = [float(f"{weight:.5f}") for weight in attentions[1][0, 2].ravel()]
        drawn = [round(float(number), 5) for number in re.findall(r"0\.\d+(?:e-\d+)?", text)]
        self.assertLessEqual(set(weights), set(drawn))

    def test_one_array_lists_and_missing_layers(self):
        stacked = np.stack([layer[0] for layer in layers()])
        for given in (stacked, stacked[:, None], list(stacked)):
            attnscope.save(self.path, given)
            self.assertEqual(set(self.header()[0]), {"self.0.pattern", "self.1.pattern"})
        attnscope.save(self.path, (None, stacked[0], None), TOKENS)
        self.assertIn("self.1.pattern", self.header()[0])
        self.numbers("--layer", "1")

    def test_a_batch_needs_a_choice(self):
        batch = tuple(np.concatenate([layer, layer[:, :, ::-1]]) for layer in layers())
        with self.assertRaisesRegex(attnscope.AttentionError, "batch of 2.*item=0"):
            attnscope.save(self.path, batch, TOKENS)
        attnscope.save(self.path, batch, [TOKENS, TOKENS], item=1)
        found = np.frombuffer(self.header()[1], dtype="<f4")[:48].reshape(3, 4, 4)
        np.testing.assert_array_equal(found, batch[0][1])

    def test_encoder_decoder_by_the_names_of_either_library(self):
        encoder, decoder, cross = layers(q=5), layers(q=3), layers(q=3, k=5)
        words = {"encoder_tokens": list("abcde"), "decoder_tokens": list("xyz")}
        output = types.SimpleNamespace(encoder_attentions=encoder, decoder_attentions=decoder, cross_attentions=cross)
        by_name = {"encoder_attention": encoder, "decoder_attention": decoder, "cross_attention": cross}
        for positional, named in [((output,), {}), ((), by_name)]:
            attnscope.save(self.path, *positional, **named, **words)
            self.assertEqual(self.header()[0]["cross.1.pattern"]["shape"], [3, 3, 5])
            self.assertIn("encoder", attnscope.render(*positional, **named, **words, stack="cross"))
        with self.assertRaisesRegex(attnscope.AttentionError, "encoder_tokens"):
            attnscope.save(self.path, tokens=list("abcde"), **by_name)

    def test_outputs_say_in_several_ways_what_they_lack(self):
        for lacking in (None, ()):
            output = types.SimpleNamespace(attentions=layers(), cross_attentions=lacking, logits=0)
            attnscope.save(self.path, output, TOKENS)
            self.assertEqual(set(self.header()[0]) - {"__metadata__"}, {"self.0.pattern", "self.1.pattern"})
            attnscope.save(self.path, dict(vars(output)), TOKENS)
        reader = {"attentions": layers(q=3), "cross_attentions": layers(q=3, k=5)}
        attnscope.save(self.path, reader, decoder_tokens=list("xyz"))
        self.assertIn("decoder.1.pattern", self.header()[0])

    def test_what_a_model_that_writes_returns(self):
        steps = tuple(tuple(softmax((1, 2, 1, n), n) for _ in range(2)) for n in (3, 4, 5))
        attnscope.save(self.path, cross_attention=None, decoder_attention=steps)
        header = self.header()[0]
        # Two keys are of an earlier call, whose rows are not there.
        self.assertEqual((header["decoder.1.pattern"]["shape"], header["__metadata__"]["rows"]), ([2, 5, 5], "partial"))

    def test_caches_of_transformer_lens_keep_queries_and_keys(self):
        cache = {"blocks.0.hook_resid_pre": np.zeros((1, 4, 8))}
        for layer in range(2):
            for site in ("q", "k", "v", "rot_q"):
                cache[f"blocks.{layer}.attn.hook_{site}"] = np.full((1, 4, 3, 8), float(site == "rot_q"))
            cache[f"blocks.{layer}.attn.hook_pattern"] = softmax((1, 3, 4, 4), layer, causal=True)


        class Cache:
            """What TransformerLens gives: no mapping, but with its methods."""

            def keys(self):
                return cache.keys()

            def __getitem__(self, key):
                return cache[key]

        attnscope.save(self.path, cache, TOKENS)
        as_mapping = self.path.read_bytes()
        attnscope.save(self.path, Cache(), TOKENS)
        self.assertEqual(self.path.read_bytes(), as_mapping)
        header, values = self.header()
        self.assertEqual(header["self.1.q"]["shape"], [3, 4, 8])
        begin, end = header["self.1.q"]["data_offsets"]
        self.assertTrue((np.frombuffer(values[begin:end], dtype="<f4") == 1).all(), "after the rotation")
        self.numbers("--layer", "1")

    def test_rows_that_do_not_sum_to_one_are_declared(self):
        short = tuple(layer * np.float32(0.7) for layer in layers())
        with self.assertRaisesRegex(attnscope.AttentionError, "rows='partial'.*rows='sink'"):
            attnscope.save(self.path, short, TOKENS)
        self.assertIn("(missing)", attnscope.render(short, TOKENS, view="heatmap", rows="partial"))
        self.assertIn("(sink)", attnscope.render(short, TOKENS, rows="sink"))
        sinks = [np.full((1, 3, 4), 0.3)] * 2
        self.assertIn("(sink)", attnscope.render(short, TOKENS, sinks=sinks))
        with self.assertRaisesRegex(attnscope.AttentionError, "some.*full"):
            attnscope.save(self.path, short, rows="some")

    def refused_by_program(self, tensors):
        """What the program says of a file that `capture` did not make."""
        self.path.write_bytes(attnscope.Capture(tensors, {}).to_bytes())
        run = [attnscope.binary(), "render", "heatmap", "--capture", self.path, "--out", self.path.with_suffix(".svg")]
        refused = subprocess.run(run, capture_output=True, text=True)
        self.assertEqual(refused.returncode, 1, refused.stdout)
        return refused.stderr

    def test_what_the_program_refuses_is_not_saved(self):
        good = layers(n=1, q=4)[0]
        negative, broken = good.copy(), good.copy()
        negative[0, 1, 2, 0] = -0.1
        broken[0, 0, 0, 0] = np.nan
        train = good * np.random.default_rng(0).choice([0.0, 2.0], good.shape).astype(np.float32)
        for wrong, words in [
            (good * 0.7, "do not sum to 1: head 0, query 0"),
            (good * 100, "per cent: divide them by 100"),
            (np.swapaxes(good, -1, -2), "the other way round"),
            (train, "model.eval()"),
            (negative, "a negative value"),
            (broken, "not a number"),
        ]:
            with self.assertRaises(attnscope.AttentionError) as caught:
                attnscope.save(self.path, (wrong,))
            self.assertFalse(self.path.exists())
            self.assertIn(words, str(caught.exception))
            self.assertIn(words, self.refused_by_program({"self.0.pattern": wrong[0]}))
            self.path.unlink()
        for sinks, words in [([np.full((2, 4), 0.3)], "the shape [2, 4]"), ([np.full((3, 4), 1.5)], "between 0 and 1")]:
            with self.assertRaises(attnscope.AttentionError) as caught:
                attnscope.save(self.path, (good * 0.7,), sinks=sinks)
            self.assertIn(words, str(caught.exception))
        with self.assertWarnsRegex(UserWarning, "changes nothing"):
            attnscope.save(self.path, (good,), rows="partial")

    def test_an_argument_that_changes_nothing_is_refused(self):
        tokenizer = types.SimpleNamespace()
        for what, words in [
            ({"item": 3}, "item=3"),
            ({"beam_indices": [[0, 1]]}, "no steps of generate"),
            ({"query_positions": [0, 1, 2, 3]}, "as many queries as keys"),
            ({"decoder_tokenizer": tokenizer, "tokens": TOKENS}, "decoder_tokenizer is given and changes nothing"),
            ({"text_b": "more"}, "text_b is given"),
            ({"processor": tokenizer}, "no picture"),
            ({"tokenizer": tokenizer}, "give tokens"),
            ({"token_style": "wordpiece"}, "give tokens"),
        ]:
            with self.assertRaises(attnscope.AttentionError) as caught:
                attnscope.save(self.path, tuple(layer[0] for layer in layers()), **what)
            self.assertIn(words, str(caught.exception))
        whole = {"encoder_attentions": layers(), "decoder_attentions": layers(), "cross_attentions": layers()}
        with self.assertRaisesRegex(attnscope.AttentionError, "encoder_attention is given and changes nothing"):
            attnscope.save(self.path, whole, encoder_attention=layers())

    def test_two_sentences(self):
        attnscope.save(self.path, layers(), TOKENS, 2)
        tokens = json.loads(self.header()[0]["__metadata__"]["tokens"])["self"]
        self.assertEqual([token.get("segment", 0) for token in tokens], [0, 0, 1, 1])
        with self.assertRaisesRegex(attnscope.AttentionError, "sentence_b_start=4"):
            attnscope.save(self.path, layers(), TOKENS, 4)

    def test_bad_input_is_one_sentence_and_leaves_the_file(self):
        self.path.write_bytes(b"kept")
        for wrong, words in [
            (((None, None),), "attn_implementation='eager'"),
            ((types.SimpleNamespace(attentions=None, logits=0),), "attn_implementation='eager'"),
            ((layers(), TOKENS[:3]), "4 queries, but there are 3"),
            ((np.zeros((4, 4)),), "2 axes"),
            (([np.zeros((2, 4))],), "2 axes, not 3"),
        ]:
            with self.assertRaises(attnscope.AttentionError) as caught:
                attnscope.save(self.path, *wrong)
            self.assertIn(words, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))
        self.assertEqual(self.path.read_bytes(), b"kept")
        self.assertEqual(len(list(self.path.parent.iterdir())), 1, "nothing is left beside it")

    @unittest.skipIf(torch is None, "torch is not installed")
    def test_tensors_of_torch_in_any_precision(self):
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            attentions = tuple(torch.tensor(layer, dtype=dtype, requires_grad=True) for layer in layers())
            attnscope.save(self.path, attentions, TOKENS)
            found = np.frombuffer(self.header()[1], dtype="<f4")[:48].reshape(3, 4, 4)
            np.testing.assert_array_equal(found, attentions[0][0].detach().float().numpy())


class Program(unittest.TestCase):
    def test_figures_are_drawn_by_the_program(self):
        svg = attnscope.render(layers(), TOKENS, view="heatmap", layer=1, head=2, theme="dark")
        self.assertTrue(svg.lstrip().startswith("<svg") or "<svg" in svg[:200])
        self.assertIn("flies", svg)
        with self.assertRaisesRegex(attnscope.ProgramError, "(?i)layer"):
            attnscope.render(layers(), TOKENS, view="heatmap", layer=9)

    def test_a_notebook_gets_a_page_and_a_figure_where_one_is_asked_for(self):
        shell = type("ZMQInteractiveShell", (), {})()
        with mock.patch.dict(sys.modules, {"IPython": types.SimpleNamespace(get_ipython=lambda: shell)}):
            page = attnscope.head_view(layers(), TOKENS, sentence_b_start=2, layer=1, heads=[0, 2])
            figure = attnscope.show(layers(), TOKENS, view="heatmap", width=300)
        self.assertIn('"start":{"view":"lines","stack":0,"layer":1,"head":0,"also":[2]', page.data)
        frame = page._repr_html_()
        self.assertTrue(frame.startswith("<iframe srcdoc=") and frame.count("<") == 2, "the page is inside the frame")
        self.assertIn("<svg", figure._repr_svg_())
        path = os.path.join(tempfile.mkdtemp(), "page.html")
        page.save(path)
        self.assertEqual(Path(path).read_text(encoding="utf-8"), page.html)

    def test_the_window_is_started_on_the_file(self):
        with mock.patch("subprocess.Popen") as started:
            self.assertIsNone(attnscope.show(layers(), TOKENS, layer=1, head=2, view="heatmap"))
        program, command, path, *options = started.call_args.args[0]
        self.addCleanup(lambda: (os.remove(path), os.rmdir(os.path.dirname(path))))
        self.assertEqual((program, command), (attnscope.binary(), "open"))
        self.assertEqual(options, ["--view", "heatmap", "--layer", "1", "--head", "2"])
        self.assertGreater(os.path.getsize(path), 2 * 3 * 4 * 4 * 4)

    def test_the_program_is_found_or_its_absence_said(self):
        with mock.patch.dict(os.environ, {"ATTNSCOPE_BINARY": "/nowhere/attnscope"}):
            with self.assertRaisesRegex(attnscope.ProgramError, "/nowhere/attnscope"):
                attnscope.binary()


if __name__ == "__main__":
    unittest.main()
