"""A trained model's file in plain PyTorch: the same logits, the same gradients.

The model is the one that the induction experiment saves. Its tensors are read
with their names and shapes of TransformerLens and put through PyTorch's own
operations in float64; logits agree to 1e-4 of the largest, gradients by autograd
too.
"""

import math
import os
import subprocess
import tempfile
import unittest

import numpy
import torch

from base.safetensors import safetensors_numpy

INDUCTION = os.path.abspath("experiments/induction/induction")
RUN_MODEL = os.path.abspath("model/run_model")
SEED = 20251130


def forward(weights, tokens):
    """Logits of an attention-only model without norms."""
    x = weights["embed.W_E"][tokens]
    x = x + weights["pos_embed.W_pos"][: tokens.shape[1]]
    layer = 0
    while f"blocks.{layer}.attn.W_Q" in weights:
        q, k, v = (
            torch.einsum("btd,hde->bhte", x,
                         weights[f"blocks.{layer}.attn.W_{letter}"])
            for letter in "QKV")
        z = torch.nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=True, scale=1 / math.sqrt(q.shape[-1]))
        x = x + torch.einsum("bhte,hed->btd", z,
                             weights[f"blocks.{layer}.attn.W_O"])
        layer += 1
    return x @ weights["unembed.W_U"]


class ModelPytorchTest(unittest.TestCase):
    def test_a_trained_model(self):
        with tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)

            subprocess.run(
                [INDUCTION, f"--output={folder}", "--judge=false",
                 "--controls=false", "--steps=150", "--sequences=8",
                 "--curve_interval=150", f"--save_model={path('model')}"],
                check=True, stdout=subprocess.DEVNULL)
            random = numpy.random.default_rng(SEED)
            tensors = {name: random.integers(0, 64, (6, 64))
                       for name in ("tokens", "targets")}
            safetensors_numpy.write(path("in"), tensors)
            subprocess.run(
                [RUN_MODEL, f"--model={path('model')}",
                 f"--input={path('in')}", f"--output={path('out')}"],
                check=True)
            found, _ = safetensors_numpy.read(path("out"))
            stored, _ = safetensors_numpy.read(path("model"))
        weights = {name: torch.tensor(array.astype(numpy.float64),
                                      requires_grad=True)
                   for name, array in stored.items()}
        self.assertEqual(tuple(weights["blocks.0.attn.W_Q"].shape),
                         (2, 64, 32))
        self.assertEqual(tuple(weights["blocks.1.attn.W_O"].shape),
                         (2, 32, 64))
        logits = forward(weights, torch.tensor(tensors["tokens"]))
        expected = logits.detach().numpy()
        self.assertLess(abs(found["logits"] - expected).max(),
                        1e-4 * abs(expected).max())
        loss = torch.nn.functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]),
            torch.tensor(tensors["targets"]).reshape(-1))
        self.assertAlmostEqual(found["loss"][0], loss.item(), 5)
        loss.backward()
        for name, weight in weights.items():
            gradient = weight.grad.numpy()
            self.assertLess(
                abs(found[f"gradient.{name}"] - gradient).max(),
                1e-4 * abs(gradient).max(), name)


if __name__ == "__main__":
    unittest.main()
