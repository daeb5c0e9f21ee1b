"""What PyTorch itself does with the chapter's two listings.

    python3 make_listings.py > listings_pytorch.json

The padding listing: the fused call against the computation by hand, the causal
flag against an explicit mask, and the three answers of a row that sees no key
(padding on the left under a causal mask). The multi-head listing: whether the
transposed heads merge as a view.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F

BATCH, HEADS, POSITIONS, WIDTH = 2, 8, 5, 32
PADS = 2  # of the second sequence, on the left


def largest(tensor):
    return tensor.abs().max().item()


def masking(dtype):
    torch.manual_seed(1)
    q, k, v = (
        torch.randn(BATCH, HEADS, POSITIONS, WIDTH, dtype=torch.float64).to(dtype)
        for _ in range(3))
    causal = torch.ones(POSITIONS, POSITIONS, dtype=torch.bool).tril()
    starts = torch.tensor([0, PADS])
    real = torch.arange(POSITIONS) >= starts[:, None]
    mask = causal & real[:, None, None, :]
    fused = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH)
    by_hand = scores.masked_fill(~mask, float("-inf")).softmax(dim=-1) @ v
    lowest = torch.zeros(mask.shape, dtype=dtype).masked_fill(
        ~mask, torch.finfo(dtype).min)
    by_lowest = F.scaled_dot_product_attention(q, k, v, attn_mask=lowest)
    blind = (1, 0, 0)  # the first pad query of the first head
    flag = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    explicit = F.scaled_dot_product_attention(q, k, v, attn_mask=causal)
    sighted = mask.any(dim=-1).expand(BATCH, HEADS, POSITIONS)
    return {
        "fused_against_by_hand": largest((fused - by_hand)[sighted]),
        "causal_flag_against_mask": largest(flag - explicit),
        "blind_row_fused_largest_magnitude": largest(fused[blind]),
        "blind_row_by_hand_nan_entries": by_hand[blind].isnan().sum().item(),
        "blind_row_entries": WIDTH,
        "blind_row_lowest_finite_largest_magnitude": largest(by_lowest[blind]),
        "blind_row_lowest_finite_against_average":
            largest(by_lowest[blind] - v[1, 0].mean(dim=0)),
    }


def multi_head():
    batch, positions, heads, width = 2, 16, 8, 32
    averages = torch.zeros(batch, heads, positions, width)
    transposed = averages.transpose(1, 2)
    try:
        transposed.view(batch, positions, heads * width)
        error = "none"
    except RuntimeError as raised:
        error = type(raised).__name__
    merged = transposed.reshape(batch, positions, heads * width)
    halves = transposed.view(batch, positions, heads, 2, width // 2)
    split = torch.zeros(batch, positions, heads * width).view(
        batch, positions, heads, width)
    rejoined = split.reshape(batch, positions, heads * width)
    return {
        "error_of_view": error,
        "reshape_of_transposed_copies":
            int(merged.data_ptr() != averages.data_ptr()),
        "reshape_of_split_copies": int(rejoined.data_ptr() != split.data_ptr()),
        "other_view_shares_memory":
            int(halves.data_ptr() == averages.data_ptr()),
    }


def listings():
    return {
        "provenance": {
            "made_by": "testdata/reference/make_listings.py",
            "torch": torch.__version__,
            "what": "PyTorch's own behaviour in the chapter's listings",
        },
        "values": {
            "masking": {
                "float64": masking(torch.float64),
                "float32": masking(torch.float32),
            },
            "multi_head": multi_head(),
        },
    }


if __name__ == "__main__":
    json.dump(listings(), sys.stdout, indent=1)
    sys.stdout.write("\n")
