"""The table of speeds from the results of gpu_check, and PyTorch's beside ours.

    python3 pytorch_speed.py --output=gpu_check.json --seconds=220

The packed gpu_check runs this after the program, with the same flags. What the
results have under "speed" is timed by scaled_dot_product_attention, by cuDNN or
not at all, in bfloat16, on tensors that want gradients, so that the forward pass
keeps its log-sum-exp as ours does; a backward pass is torch.autograd.grad alone.
The yardstick is a matrix product. Seven rounds of ten calls, by CUDA events,
after one to warm up, as gpu_check does.

Prints TFLOP/s and writes what it measured into the results. It stops measuring
when --seconds, less those of gpu_check, are used up. Where there is no PyTorch
with CUDA and cuDNN attention one line says why. Speed fails nothing.
"""

import argparse
import json
import os
import statistics
import time
import warnings

ROUNDS = 7
CALLS = 10  # of a round
LEAST_RATIO = 0.97  # ours is at most 3 % slower
PRODUCT = 8192
# Published for an H200 and cuDNN 9.19 (cudnn-frontend's benchmark of attention),
# D = 128: TFLOP/s causal forward and backward, full forward and backward.
PUBLISHED = {2048: (484, 370, 633, 504), 4096: (591, 474, 671, 560),
             8192: (644, 541, 691, 594), 16384: (673, 579, 702, 612)}
LINE = "%4s %6s %-6s %-8s %6s %9s %8s %6s %8s %10s"


def one_line(error):
    return " ".join(str(error).split())[:300] or type(error).__name__


def import_torch():
    """The module, and the context in which attention is cuDNN's."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch %s sees no GPU" % torch.__version__)
    return torch, sdpa_kernel(SDPBackend.CUDNN_ATTENTION)


def attention(torch, row):
    """A function that starts one call of a row of the results."""
    query, key, value = (
        torch.randn([row["batch"], heads, row["length"], row["width"]],
                    device="cuda", dtype=torch.bfloat16, requires_grad=True)
        for heads in (64, 8, 8))

    def forward():
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=row["causal"], enable_gqa=True)

    if not row["backward"]:
        return forward
    output = forward()
    gradient = torch.randn_like(output)
    return lambda: torch.autograd.grad(output, (query, key, value), gradient,
                                       retain_graph=True)


def product(torch):
    a, b = (torch.randn([PRODUCT, PRODUCT], device="cuda", dtype=torch.bfloat16)
            for _ in range(2))
    return lambda: torch.matmul(a, b)


def seconds_per_call(torch, call):
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    for _ in range(CALLS):
        call()
    after.record()
    after.synchronize()
    return before.elapsed_time(after) * 1e-3 / CALLS


def measure(torch, operations, make, *arguments):
    """Seconds and TFLOP/s of what `make` makes, or why there are none."""
    torch.cuda.empty_cache()
    # Why cuDNN is not used is in warnings, and not in the error.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call = make(torch, *arguments)
            seconds = statistics.median([seconds_per_call(torch, call)
                                         for _ in range(ROUNDS + 1)][1:])
        except Exception as error:
            return {"absent": "; ".join(map(one_line, [error] + [
                warning.message for warning in caught]))}
    return {"median_seconds": seconds, "teraflops": operations / seconds * 1e-12}


def compare(torch, results, deadline):
    """Measures what the rows of the results are, and the matrix product."""
    results["matrix_product"] = measure(torch, 2 * PRODUCT**3, product)
    for row in results["speed"]:
        row["pytorch"] = {"absent": "no time left"}
        if time.monotonic() < deadline:
            row["pytorch"] = measure(torch, row["operations"], attention, row)
        if "teraflops" in row["pytorch"]:
            row["ratio"] = row["teraflops"] / row["pytorch"]["teraflops"]
            row["ratio_met"] = row["ratio"] >= LEAST_RATIO


def print_table(results):
    best = results.get("matrix_product", {}).get("teraflops")
    print("matrix product of %d, by PyTorch: %s" % (
        PRODUCT, round(best) if best else "-"))
    print(LINE % ("D", "T", "mask", "pass", "ours", "published", "PyTorch",
                  "ratio", "target", "% product"))
    for row in results["speed"]:
        published = PUBLISHED.get(row["length"] if row["width"] == 128 else 0)
        theirs = row.get("pytorch", {})
        print(LINE % (
            row["width"], row["length"], "causal" if row["causal"] else "full",
            "backward" if row["backward"] else "forward",
            round(row["teraflops"]),
            published[2 * (not row["causal"]) + row["backward"]]
            if published else "-",
            round(theirs["teraflops"]) if "teraflops" in theirs else "-",
            "%.3f" % row["ratio"] if "ratio" in row else "-",
            {True: "met", False: "not met"}.get(row.get("ratio_met"), "-"),
            round(100 * row["teraflops"] / best) if best else "-"))
    for reason in sorted({row.get("pytorch", {}).get("absent", "")
                          for row in results["speed"]} - {""}):
        print('"-": ' + reason)


def main():
    start = time.monotonic()
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--output", default="gpu_check.json")
    parser.add_argument("--seconds", type=float, default=220)
    flags, _ = parser.parse_known_args()
    with open(flags.output, encoding="utf-8") as file:
        results = json.load(file)
    try:
        torch, cudnn_only = import_torch()
        results["pytorch"] = {"torch": str(torch.__version__),
                              "cudnn": torch.backends.cudnn.version(),
                              "device": torch.cuda.get_device_name()}
        with cudnn_only:
            compare(torch, results, start + flags.seconds - results["seconds"])
    except Exception as error:
        results["pytorch"] = {"absent": one_line(error)}
    print("PyTorch:", json.dumps(results["pytorch"]))
    print_table(results)
    with open(flags.output + ".new", "w", encoding="utf-8") as file:
        json.dump(results, file, indent=2)
    os.replace(flags.output + ".new", flags.output)


if __name__ == "__main__":
    main()
