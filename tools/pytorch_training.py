"""The two-layer model and its training step in PyTorch, beside ours.

For tools/compare_pytorch. PyTorch's side is what one writes first: a module of
torch operations with scaled_dot_product_attention, cross_entropy, autograd,
clip_grad_norm_ and torch.optim.AdamW, run eagerly. Ours is //model:run_model
with --train, which reads weights and tokens from files and prints the time of
its steps. Both start from the same weights and see the same tokens.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch

from base.safetensors import safetensors_numpy

PROGRAM = "//model:run_model"
WIDTHS = (64, 128, 256)
LAYERS, HEADS, VOCABULARY, POSITIONS, BATCH = 2, 2, 64, 64, 32
RATE, DECAY, BETAS, CLIP = 3e-3, 0.01, (0.9, 0.98), 1.0
STEPS = 20  # over which the losses must agree
# The relative difference of float32 losses that 20 steps of AdamW may make of
# different orders of summation.
AGREEMENT = 1e-3


def case_name(width):
    return "training step d=%d" % width


def config(width):
    return {
        "n_layers": LAYERS, "n_heads": HEADS, "n_key_value_heads": HEADS,
        "d_model": width, "d_head": width // HEADS, "d_mlp": 0,
        "d_vocab": VOCABULARY, "n_ctx": POSITIONS, "act_fn": "gelu",
        "normalization_type": "none", "final_norm": False,
        "positional_embedding_type": "standard",
        "biases": False, "tied": False, "smeared_keys": False}


def draw_weights(width, random):
    def normal(*shape):
        return random.normal(scale=width**-0.5, size=shape).astype(
            numpy.float32)

    weights = {"embed.W_E": normal(VOCABULARY, width),
               "pos_embed.W_pos": normal(POSITIONS, width)}
    for layer in range(LAYERS):
        for letter in "QKV":
            weights["blocks.%d.attn.W_%s" % (layer, letter)] = normal(
                HEADS, width, width // HEADS)
        weights["blocks.%d.attn.W_O" % layer] = normal(
            HEADS, width // HEADS, width)
    weights["unembed.W_U"] = normal(width, VOCABULARY)
    return weights


class Model(torch.nn.Module):
    """Weights with all heads of a role side by side, as one multiplies them."""

    def __init__(self, weights):
        super().__init__()
        tensors = {name: torch.tensor(array)
                   for name, array in weights.items()}
        parameter = torch.nn.Parameter
        self.embedding = parameter(tensors["embed.W_E"])
        self.positions = parameter(tensors["pos_embed.W_pos"])
        self.unembedding = parameter(tensors["unembed.W_U"])
        self.qkv = torch.nn.ParameterList()
        self.out = torch.nn.ParameterList()
        for layer in range(LAYERS):
            block = "blocks.%d.attn.W_" % layer
            # [H, d, D] to [d, H D], three of them.
            self.qkv.append(parameter(torch.cat(
                [tensors[block + letter].permute(1, 0, 2).flatten(1)
                 for letter in "QKV"], dim=1)))
            self.out.append(parameter(tensors[block + "O"].flatten(0, 1)))

    def forward(self, tokens):
        batch, positions = tokens.shape
        x = self.embedding[tokens] + self.positions[:positions]
        for qkv, out in zip(self.qkv, self.out):
            q, k, v = (x @ qkv).view(batch, positions, 3, HEADS, -1).permute(
                2, 0, 3, 1, 4)
            z = torch.nn.functional.scaled_dot_product_attention(
                q, k, v, is_causal=True)
            x = x + z.transpose(1, 2).flatten(2) @ out
        return x @ self.unembedding


class Theirs:
    def __init__(self, weights):
        self.model = Model(weights)
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), lr=RATE, betas=BETAS, weight_decay=DECAY)

    def step(self, tokens, targets):
        self.optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(
            self.model(tokens).flatten(0, 1), targets.flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), CLIP)
        self.optimizer.step()
        return loss.item()


class Ours:
    def __init__(self, program, folder, width, weights, threads, isa):
        def path(name):
            return os.path.join(folder, name)

        self.out = path("out")
        self.tokens = path("in")
        self.command = [
            program, "--train", "--model=" + path("model"),
            "--input=" + self.tokens, "--output=" + self.out,
            "--rate=%r" % RATE, "--weight_decay=%r" % DECAY,
            "--beta1=%r" % BETAS[0], "--beta2=%r" % BETAS[1],
            "--clip=%r" % CLIP, "--threads=%d" % threads, "--isa=" + isa]
        safetensors_numpy.write(path("model"), weights, {
            "format": "softlookup model", "version": "2",
            "config": json.dumps(config(width))})

    def train(self, tokens, targets):
        """The losses of the steps, and the smallest seconds of one."""
        safetensors_numpy.write(self.tokens,
                                {"tokens": tokens, "targets": targets})
        done = subprocess.run(self.command, check=True, text=True,
                              stdout=subprocess.PIPE)
        seconds = float(re.search(r"minimum ([0-9.]+)", done.stdout).group(1))
        return safetensors_numpy.read(self.out)[0]["loss"], seconds


def build_program(root):
    """The path of run_model, or None with Bazel's errors on stderr."""
    build = subprocess.run(["bazel", "build", PROGRAM], cwd=root,
                           stderr=subprocess.PIPE, text=True)
    if build.returncode != 0:
        print(build.stderr, file=sys.stderr)
        return None
    folder = subprocess.run(["bazel", "info", "bazel-bin"], cwd=root,
                            check=True, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True).stdout
    return os.path.join(folder.strip(), "model/run_model")


HEADER = ("model", "ours ms", "PyTorch ms", "ratio", "spread",
          "losses differ by")


def compare(program, widths, threads, isa, rounds, show):
    """Rows for HEADER, shown as they come, and what went wrong."""
    rows, reasons = [], []
    for width in widths:
        random = numpy.random.default_rng(1)
        weights = draw_weights(width, random)
        tokens, targets = random.integers(
            0, VOCABULARY, (2, STEPS, BATCH, POSITIONS))
        batches = [(torch.tensor(x), torch.tensor(y))
                   for x, y in zip(tokens, targets)]
        with tempfile.TemporaryDirectory() as folder:
            ours = Ours(program, folder, width, weights, threads, isa)
            times = []
            difference = 0.0
            for _ in range(rounds):
                losses, own = ours.train(tokens, targets)
                theirs = Theirs(weights)
                seconds = []
                for (x, y), loss in zip(batches, losses):
                    start = time.perf_counter()
                    other = theirs.step(x, y)
                    seconds.append(time.perf_counter() - start)
                    off = abs(other - loss) / other
                    if not off <= difference:  # also for NaN
                        difference = off
                times.append((own, min(seconds)))
        if not difference <= AGREEMENT:
            reasons.append("%s: the losses differ by %g" %
                           (case_name(width), difference))
        ratios = sorted(other / own for own, other in times)
        low, _, high = (statistics.quantiles(ratios, n=4)
                        if len(ratios) > 1 else ratios * 3)
        own, other = (min(side) for side in zip(*times))
        rows.append((case_name(width), "%.3f" % (own * 1e3),
                     "%.3f" % (other * 1e3), "%.2f" % (other / own),
                     "%.2f-%.2f" % (low, high), "%.1e" % difference))
        show(rows[-1])
    return rows, reasons
