"""run_model against textbook numpy: logits, activations, loss, gradients."""

import os
import subprocess
import tempfile
import unittest

import numpy

from base.safetensors import safetensors_numpy
from model import transformer_numpy as textbook

PROGRAM = os.path.abspath("model/run_model")
SEED = 20251130

SMALL = dict(textbook.PUBLISHED, d_model=12, d_head=6, d_vocab=11, n_ctx=9)
CONFIGS = [
    SMALL,
    dict(SMALL, normalization_type="RMS", d_mlp=10, final_norm=True,
         biases=True),
    dict(SMALL, normalization_type="LN", d_mlp=7, act_fn="relu", biases=True,
         n_heads=4, n_key_value_heads=2),
    dict(SMALL, positional_embedding_type="rotary", tied=True,
         n_key_value_heads=1),
    dict(SMALL, positional_embedding_type="alibi", n_layers=3,
         smeared_keys=True),
    dict(SMALL, positional_embedding_type="none", normalization_type="RMS",
         final_norm=True, tied=True, biases=True, smeared_keys=True, n_heads=3,
         n_key_value_heads=1),
]


class RunModelTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.random = numpy.random.default_rng(SEED)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_model(self, config, weights, tensors, *flags, code=0):
        """What run_model writes, or its error."""
        safetensors_numpy.write(self.path("model"), weights,
                                textbook.metadata(config))
        safetensors_numpy.write(self.path("in"), tensors)
        done = subprocess.run(
            [PROGRAM, f"--model={self.path('model')}",
             f"--input={self.path('in')}", f"--output={self.path('out')}",
             *flags],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        if code:
            self.assertEqual(done.stderr.count("\n"), 1)
            self.assertFalse(os.path.exists(self.path("out")))
            return done.stderr
        return safetensors_numpy.read(self.path("out"))[0]

    def draw_tokens(self, config, *shape):
        return {name: self.random.integers(0, config["d_vocab"], shape,
                                           dtype=numpy.int64)
                for name in ("tokens", "targets")}

    def test_every_activation_by_name_and_shape(self):
        for config in CONFIGS:
            with self.subTest(config):
                weights = textbook.draw(config, self.random)
                tensors = self.draw_tokens(config, 3, config["n_ctx"])
                names = textbook.hook_shapes(config, 3, config["n_ctx"])
                found = self.run_model(
                    config, weights, tensors,
                    "--activations=" + ",".join(names), "--threads=2")
                expected = textbook.forward(config, weights, tensors["tokens"])
                self.assertEqual(set(names) | {"logits"}, set(expected))
                for name, shape in names.items():
                    self.assertEqual(found[name].shape, shape, name)
                for name, array in expected.items():
                    error = abs(found[name] - array).max()
                    self.assertLess(error, 1e-5 * abs(array).max(), name)
                per_token = textbook.losses(expected["logits"],
                                            tensors["targets"])
                self.assertLess(
                    abs(found["loss_per_token"] - per_token).max(), 1e-5)
                self.assertAlmostEqual(found["loss"][0], per_token.mean(), 5)

    def test_gradients_are_slopes(self):
        step = 1e-6
        for config in CONFIGS:
            with self.subTest(config):
                weights = textbook.draw(config, self.random)
                tensors = self.draw_tokens(config, 2, 6)
                tensors["targets"][0, 2] = -1
                found = self.run_model(config, weights, tensors)
                self.assertEqual(
                    {name for name in found if name.startswith("gradient.")},
                    {f"gradient.{name}" for name in textbook.shapes(config)})

                def loss(changed):
                    logits = textbook.forward(config, changed,
                                              tensors["tokens"])["logits"]
                    return textbook.losses(
                        logits, tensors["targets"]).sum() / 11

                for name, array in weights.items():
                    way = self.random.normal(size=array.shape)
                    ends = [
                        loss(dict(weights, **{
                            name: array.astype(numpy.float64) + sign * step * way
                        })) for sign in (1, -1)]
                    slope = (ends[0] - ends[1]) / (2 * step)
                    gradient = found[f"gradient.{name}"]
                    self.assertEqual(gradient.shape, array.shape)
                    self.assertAlmostEqual(
                        (gradient * way).sum(), slope,
                        delta=2e-5 * max(1, abs(gradient).max()
                                         * array.size ** 0.5), msg=name)

    def test_trains_as_adamw_by_hand(self):
        config = CONFIGS[1]
        weights = textbook.draw(config, self.random)
        tensors = self.draw_tokens(config, 4, 2, 5)
        found = self.run_model(
            config, weights, tensors, "--train", "--rate=0.01", "--clip=0.5",
            "--weight_decay=0.1", "--beta1=0.8", "--beta2=0.95")
        now = {name: array.astype(numpy.float64)
               for name, array in weights.items()}
        mean = {name: 0 for name in now}
        square = {name: 0 for name in now}
        for step in range(4):
            batch = {name: array[step] for name, array in tensors.items()}
            one = self.run_model(
                config, {name: array.astype(numpy.float32)
                         for name, array in now.items()}, batch)
            self.assertAlmostEqual(found["loss"][step], one["loss"][0], 4)
            gradients = {name: one[f"gradient.{name}"].astype(numpy.float64)
                         for name in now}
            norm = sum((g * g).sum() for g in gradients.values()) ** 0.5
            for name, gradient in gradients.items():
                gradient = gradient * min(1, 0.5 / norm)
                mean[name] = 0.8 * mean[name] + 0.2 * gradient
                square[name] = 0.95 * square[name] + 0.05 * gradient ** 2
                way = (mean[name] / (1 - 0.8 ** (step + 1))
                       / ((square[name] / (1 - 0.95 ** (step + 1))) ** 0.5
                          + 1e-8))
                # Matrices decay, vectors (biases, norms) do not.
                if ".W_" in name:
                    way = way + 0.1 * now[name]
                now[name] = now[name] - 0.01 * way
        for name, array in now.items():
            # A bias of keys moves all scores of a query alike, so its gradient
            # is rounding, whose sign Adam follows with full steps.
            if not name.endswith("b_K"):
                self.assertLess(abs(found[name] - array).max(), 2e-4, name)

    def test_bad_input(self):
        config = SMALL
        weights = textbook.draw(config, self.random)
        tensors = self.draw_tokens(config, 2, 5)
        tokens = tensors["tokens"]
        for changed, flags, words in (
            ({"tokens": tokens[0]}, [], "tokens has shape [5]"),
            ({"targets": tokens}, [], 'no tensor "tokens"'),
            ({"tokens": tokens + 9}, [], "allowed: 0 to 10"),
            ({"tokens": tokens.astype(numpy.float32)}, [], "tokens"),
            ({"tokens": tokens[:, :0]}, [], "tokens has shape [2, 0]"),
            ({"tokens": numpy.tile(tokens, 2)}, [], "context of 9"),
            ({"tokens": tokens, "targets": tokens[:1]}, [],
             "targets have shape [1, 5]"),
            ({"tokens": tokens, "other": tokens}, [],
             'unknown tensor "other"'),
            ({"tokens": tokens * 0 + 2**40}, [], "what 32 bits hold"),
            (tensors, ["--train"], "[S, B, T] with --train"),
            (tensors, ["--activations=blocks.9.attn.hook_z"],
             "blocks.9.attn.hook_z"),
            (tensors, ["--threads=0"], "--threads is 0; allowed: 1 to 1024"),
            (tensors, ["--isa=sse"], '--isa is "sse"'),
            (tensors, ["--model=/nowhere"], "/nowhere"),
            (tensors, ["--input="], "flag --input is missing"),
            (tensors, [f"--output={self.path('in')}"],
             "flag --output is an input file"),
        ):
            with self.subTest(words):
                error = self.run_model(config, weights, changed, *flags,
                                       code=2)
                self.assertIn(words, error)


if __name__ == "__main__":
    unittest.main()
