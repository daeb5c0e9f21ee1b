"""attend against PyTorch: forward and all gradients, on 200 drawn cases.

PyTorch computes in float64 with autograd. Two comparisons for each case, the
error of a tensor always relative to its largest element, max |b|:

  float64   max |a - b| <= 1e-12 max |b|
  float32   max |a - b| <= 2e-6 (1 + max |score| / 4) max |b|

In float32 both sides get the same inputs, rounded to float32, so that the
arithmetic alone is measured. Its bound grows with the scores because exp turns
an absolute error of a score, u |score| and more with u = 6e-8, into a relative
error of its weight. Gradients of query, key and bias come closest to it: where
one key takes nearly all the weight they are small differences of large terms.
"""

import os
import subprocess
import tempfile
import unittest

import numpy
import torch

from base.safetensors import safetensors_numpy

PROGRAM = os.path.abspath("attention/attend/attend")
SEED = 20250302
CASES = 200
# In memory where there is such a folder: a run waits for the disk otherwise.
FOLDER = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
WIDTHS = [1, 2, 3, 4, 8, 16, 32, 64]
ALIGNMENTS = ["none", "top_left", "bottom_right"]
GROUPS = [1, 2, 3, 4]


def broadcast(random, shape):
    """`shape` with some dimensions 1."""
    return [size if random.random() < 0.6 else 1 for size in shape]


def draw(case):
    """Case number `case`: its tensors, alignment and scale.

    The case's number walks through all alignments, groups and sets of masks,
    so that 200 cases have every one of them; the sizes are drawn.
    """
    random = numpy.random.default_rng([SEED, case])
    alignment = ALIGNMENTS[case % 3]
    group = GROUPS[case // 3 % 4]
    kinds = [bit for bit in range(4) if case // 12 % 16 >> bit & 1]
    width, value_width = random.choice(WIDTHS, 2)
    batch, key_heads = random.integers(1, 4, 2)
    queries, keys = random.integers(1, 13, 2)
    heads = key_heads * group
    scores = [batch, heads, queries, keys]
    tensors = {
        "query": random.standard_normal([batch, heads, queries, width]),
        "key": random.standard_normal([batch, key_heads, keys, width]),
        "value": random.standard_normal([batch, key_heads, keys, value_width]),
        "output_gradient": random.standard_normal(
            [batch, heads, queries, value_width]),
    }
    if 0 in kinds:
        tensors["mask"] = random.random(broadcast(random, scores)) < 0.7
    if 1 in kinds:
        tensors["bias"] = random.standard_normal(broadcast(random, scores))
        tensors["bias"][random.random(tensors["bias"].shape) < 0.1] = -numpy.inf
    dtype = [numpy.int32, numpy.int64][case % 2]
    if 2 in kinds:
        tensors["key_lengths"] = random.integers(0, keys + 1, batch, dtype)
    if 3 in kinds:
        tensors["key_starts"] = random.integers(0, keys + 1, batch, dtype)
    scale = None
    if random.random() < 0.5:
        scale = float(random.uniform(-1.5, 1.5) / numpy.sqrt(width))
    return tensors, alignment, scale


def pytorch(tensors, alignment, scale):
    """Expected outputs, the largest |score| and the scores' gradient."""
    leaves = {}
    for name in ["query", "key", "value", "bias"]:
        if name in tensors:
            leaves[name] = torch.tensor(tensors[name], dtype=torch.float64,
                                        requires_grad=True)
    query = leaves["query"]
    group = query.shape[1] // leaves["key"].shape[1]
    key = leaves["key"].repeat_interleave(group, dim=1)
    value = leaves["value"].repeat_interleave(group, dim=1)
    scores = query @ key.transpose(2, 3)
    scores = scores * (query.shape[3]**-0.5 if scale is None else scale)
    queries, keys = scores.shape[2:]
    allowed = torch.ones(scores.shape, dtype=torch.bool)
    if alignment != "none":
        shift = 0 if alignment == "top_left" else keys - queries
        allowed &= torch.ones(queries, keys, dtype=torch.bool).tril(shift)
    if "mask" in tensors:
        allowed &= torch.tensor(tensors["mask"])
    positions = torch.arange(keys)
    if "key_lengths" in tensors:
        allowed &= positions < torch.tensor(
            tensors["key_lengths"])[:, None, None, None]
    if "key_starts" in tensors:
        allowed &= positions >= torch.tensor(
            tensors["key_starts"])[:, None, None, None]
    if "bias" in leaves:
        scores = scores + leaves["bias"]
        allowed &= scores.detach() != -torch.inf
    scores.retain_grad()
    seen = allowed.any(dim=3, keepdim=True)
    # Rows that see no key: zeros, by a softmax that they do not reach.
    masked = torch.where(seen, scores.masked_fill(~allowed, -torch.inf), 0.0)
    weights = torch.where(seen, torch.softmax(masked, dim=3), 0.0)
    output = weights @ value
    log_sum_exp = torch.where(seen[..., 0], torch.logsumexp(masked, dim=3),
                              -torch.inf)
    output.backward(torch.tensor(tensors["output_gradient"],
                                 dtype=torch.float64))
    # PyTorch's own operator says the same of the rows that see a key.
    fused = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, scale=scale,
        attn_mask=torch.zeros(scores.shape, dtype=torch.float64).masked_fill(
            ~allowed, -torch.inf) + torch.nan_to_num(
                leaves.get("bias", torch.zeros(1)).detach(), neginf=0.0))
    difference = torch.where(seen, fused - output, 0.0).abs().max()
    assert difference <= 1e-12 * output.abs().max(), difference
    expected = {
        "output": output,
        "log_sum_exp": log_sum_exp,
        "weights": weights,
    }
    for name, leaf in leaves.items():
        expected[name + "_gradient"] = leaf.grad
    visible = scores.detach()[allowed].abs()
    return ({name: tensor.detach().numpy()
             for name, tensor in expected.items()},
            float(visible.max()) if visible.numel() else 0.0,
            scores.grad.numpy())


def attend(folder, tensors, alignment, scale, precision):
    source = os.path.join(folder, "in.safetensors")
    target = os.path.join(folder, "out.safetensors")
    safetensors_numpy.write(source, tensors)
    command = [PROGRAM, "--input=" + source, "--output=" + target, "--weights",
               "--causal=" + alignment, "--precision=" + precision]
    if scale is not None:
        command.append("--scale=%r" % scale)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return safetensors_numpy.read(target)[0]


def largest(name, tensors, expected, d_scores):
    """What a tensor's error is compared with: its largest element.

    But the gradient of a bias that is one number for a whole row is zero, as
    softmax does not change when all scores of a row move together; all that
    either side has there is the rounding of its sum. That is compared with the
    sum of the terms' sizes.
    """
    if name != "bias_gradient" or tensors["bias"].shape[3] != 1:
        return numpy.abs(expected[name]).max()
    terms = numpy.abs(d_scores)
    for axis, size in enumerate(tensors["bias"].shape):
        if size == 1:
            terms = terms.sum(axis=axis, keepdims=True)
    return terms.max()


class AttendPyTorchTest(unittest.TestCase):

    def test_cases_cover_everything(self):
        seen = set()
        widths = set()
        for case in range(CASES):
            tensors, alignment, _ = draw(case)
            query, key, value = (tensors[name].shape
                                 for name in ["query", "key", "value"])
            kinds = {"mask", "bias", "key_lengths", "key_starts"} & set(tensors)
            seen.add((alignment, query[1] // key[1], frozenset(kinds)))
            widths |= {("D", query[3]), ("Dv", value[3])}
        self.assertEqual(len(seen), len(ALIGNMENTS) * len(GROUPS) * 2**4)
        self.assertEqual(len(widths), 2 * len(WIDTHS))

    def compare(self, precision, dtype, bound):
        worst = {}
        with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
            for case in range(CASES):
                tensors, alignment, scale = draw(case)
                for name, array in tensors.items():
                    if array.dtype == numpy.float64:
                        tensors[name] = array.astype(dtype)
                expected, score, d_scores = pytorch(tensors, alignment, scale)
                actual = attend(folder, tensors, alignment, scale, precision)
                self.assertEqual(set(actual), set(expected))
                for name, b in expected.items():
                    a = actual[name]
                    self.assertEqual((a.shape, a.dtype), (b.shape, dtype))
                    finite = numpy.isfinite(b)
                    numpy.testing.assert_array_equal(a[~finite], b[~finite])
                    if not finite.any():
                        continue
                    error = numpy.abs(a[finite] - b[finite]).max()
                    allowed = bound(score) * largest(
                        name, tensors, dict(expected, **{name: b[finite]}),
                        d_scores)
                    self.assertLessEqual(
                        error, allowed, "seed %d, case %d, %s %s" %
                        (SEED, case, name, tensors["query"].shape))
                    ratio = error / allowed if error else 0.0
                    worst[name] = max(worst.get(name, (0.0, 0)), (ratio, case))
        print("%s: error over bound, worst of %d cases" % (precision, CASES))
        for name, (ratio, case) in worst.items():
            print("  %-15s %.2g (case %d)" % (name, ratio, case))

    def test_float64(self):
        self.compare("float64", numpy.float64, lambda score: 1e-12)

    def test_float32(self):
        self.compare("float32", numpy.float32,
                     lambda score: 2e-6 * (1 + score / 4))


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("PyTorch", torch.__version__)
    unittest.main()
