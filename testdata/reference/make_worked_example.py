"""Values of the worked example (the chapter, section 3) from PyTorch.

    python3 make_worked_example.py > worked_example_pytorch.json

Everything in float64. The four cases are computed twice: written out, so that
autograd can tell the gradient of every intermediate value, and by PyTorch's
own scaled_dot_product_attention.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F


def nested(tensor):
    return tensor.detach().tolist()


def forward(query, key, value, causal, scale):
    """Raw scores, scaled scores, weights, output; the last three in the graph."""
    raw = query @ key.transpose(-2, -1)
    scores = raw * scale
    masked = scores
    if causal:
        future = torch.ones(scores.shape, dtype=torch.bool).triu(diagonal=1)
        masked = scores.masked_fill(future, float("-inf"))
    weights = masked.softmax(dim=-1)
    return raw, scores, weights, weights @ value


def gradients(query, key, value, causal, loss):
    """The gradients of loss(output), of inputs and intermediate values."""
    query, key, value = (x.clone().requires_grad_() for x in (query, key, value))
    _, scores, weights, output = forward(query, key, value, causal, 1 / math.sqrt(2))
    for intermediate in (scores, weights, output):
        intermediate.retain_grad()
    result = loss(output)
    result.backward()
    return {
        "loss": result.item(),
        "output": nested(output.grad),
        "weights": nested(weights.grad),
        "scores": nested(scores.grad),
        "query": nested(query.grad),
        "key": nested(key.grad),
        "value": nested(value.grad),
    }


def fused_gradients(query, key, value, causal, loss):
    """The same from the fused function, which shows inputs only."""
    query, key, value = (x.clone().requires_grad_() for x in (query, key, value))
    output = F.scaled_dot_product_attention(
        query[None, None], key[None, None], value[None, None], is_causal=causal)[0, 0]
    loss(output).backward()
    return {
        "query": nested(query.grad),
        "key": nested(key.grad),
        "value": nested(value.grad),
    }


def worked_example():
    """{"provenance": ..., "values": ...} from the PyTorch that is installed."""
    query = torch.tensor([[1, 0], [0, 1], [1, 1]], dtype=torch.float64)
    key = query.clone()
    value = torch.tensor([[1, 0], [0, 2], [3, 3]], dtype=torch.float64)
    values = {"query": nested(query), "key": nested(key), "value": nested(value)}
    for name, causal, scale in (
            ("causal_scaled", True, 1 / math.sqrt(2)),
            ("unmasked_scaled", False, 1 / math.sqrt(2)),
            ("causal_unscaled", True, 1.0),
            ("unmasked_unscaled", False, 1.0)):
        raw, scores, weights, output = forward(query, key, value, causal, scale)
        fused = F.scaled_dot_product_attention(
            query[None, None], key[None, None], value[None, None],
            is_causal=causal, scale=scale)[0, 0]
        values[name] = {
            "raw_scores": nested(raw),
            "scores": nested(scores),
            "weights": nested(weights),
            "output": nested(output),
            "fused_output": nested(fused),
        }
    second_of_last = lambda output: output[2, 1]
    values["gradients"] = gradients(query, key, value, True, second_of_last)
    values["fused_gradients"] = fused_gradients(
        query, key, value, True, second_of_last)
    second_of_all = lambda output: output[:, 1].sum()
    values["gradients_of_all_rows"] = gradients(
        query, key, value, True, second_of_all)
    values["gradients_of_all_rows_unmasked"] = gradients(
        query, key, value, False, second_of_all)
    provenance = {
        "made_by": "testdata/reference/make_worked_example.py",
        "torch": torch.__version__,
        "dtype": "float64",
        "what": "the worked example of the chapter's section 3, forward and backward",
    }
    return {"provenance": provenance, "values": values}


def main():
    json.dump(worked_example(), sys.stdout, indent=1)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
