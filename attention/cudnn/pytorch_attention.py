"""Times PyTorch's cuDNN attention for gpu_check, which starts this script.

    python3 pytorch_attention.py

One line of JSON in is a request, one line out its reply. The first reply comes
unasked: {"torch": "2.9.1", "cudnn": "9.15.1", "device": "NVIDIA H200"}, or
{"error": "no PyTorch: ..."}, after which there is nothing to ask. Requests:

    {"request": "attention", "batch": 1, "heads": 64, "key_heads": 8,
     "length": 8192, "width": 128, "causal": true, "backward": false,
     "calls": 5}
    {"request": "product", "size": 8192, "calls": 5}

Replies are {"seconds": 0.0012}, per call, by CUDA events, or {"error": "why"}.
All is in bfloat16. Attention is scaled_dot_product_attention, by cuDNN or not
at all, on tensors that want gradients, so that the forward pass keeps its
log-sum-exp as ours does; a backward pass is torch.autograd.grad alone. The
problem of the last request stays prepared.
"""

import json
import os
import sys
import warnings

WARM_UP = 3  # calls


def one_line(text, longest=300):
    return " ".join(str(text).split())[:longest]


def import_torch():
    """The module, or an error for the first reply."""
    try:
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
    except ImportError as error:
        return None, "no PyTorch: %s" % one_line(error)
    except Exception as error:  # a library that does not load, for instance
        return None, "PyTorch does not start: %s" % one_line(error)
    if not hasattr(SDPBackend, "CUDNN_ATTENTION"):
        return None, "PyTorch %s has no cuDNN attention" % torch.__version__
    try:
        if not torch.cuda.is_available():
            return None, "PyTorch %s sees no GPU" % torch.__version__
        torch.cuda.get_device_name()
    except Exception as error:
        return None, "PyTorch does not start: %s" % one_line(error)
    return torch, sdpa_kernel(SDPBackend.CUDNN_ATTENTION)


def cudnn_version(torch):
    number = torch.backends.cudnn.version()
    if number is None:
        return "none"
    return "%d.%d.%d" % (number // 10000, number // 100 % 100, number % 100)


def draw(torch, shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16,
                       requires_grad=True)


def prepare_attention(torch, request):
    """A function that starts one call of what is asked for."""
    batch, length, width = (request[name] for name in
                            ("batch", "length", "width"))
    query = draw(torch, (batch, request["heads"], length, width))
    key, value = (draw(torch, (batch, request["key_heads"], length, width))
                  for _ in range(2))

    def forward():
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=request["causal"], enable_gqa=True)

    if not request["backward"]:
        return forward
    output = forward()
    gradient = torch.randn_like(output)

    def backward():
        return torch.autograd.grad(output, (query, key, value), gradient,
                                   retain_graph=True)

    return backward


def prepare_product(torch, request):
    shape = (request["size"], request["size"])
    with torch.no_grad():
        a, b = (draw(torch, shape).detach() for _ in range(2))
    return lambda: torch.matmul(a, b)


PREPARE = {"attention": prepare_attention, "product": prepare_product}


def seconds_per_call(torch, call, calls):
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    before.record()
    for _ in range(calls):
        call()
    after.record()
    after.synchronize()
    return before.elapsed_time(after) * 1e-3 / calls


class Server:

    def __init__(self, torch):
        self.torch = torch
        self.prepared = None  # the problem that `call` is for
        self.call = None

    def prepare(self, request):
        problem = {name: value for name, value in request.items()
                   if name != "calls"}
        if problem == self.prepared:
            return
        # The last problem's memory first: the GPU is shared with gpu_check.
        self.prepared = self.call = None
        self.torch.cuda.empty_cache()
        self.call = PREPARE[request["request"]](self.torch, request)
        for _ in range(WARM_UP):
            self.call()
        self.torch.cuda.synchronize()
        self.prepared = problem

    def answer(self, line):
        # Why cuDNN is not used is in warnings, and not in the error.
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                request = json.loads(line)
                calls = request["calls"]
                if not isinstance(calls, int) or calls < 1:
                    raise ValueError("calls is %r; allowed: 1 or more" % calls)
                if request["request"] not in PREPARE:
                    raise ValueError("request is %r; allowed: %s" % (
                        request["request"], ", ".join(PREPARE)))
                self.prepare(request)
                return {"seconds": seconds_per_call(self.torch, self.call,
                                                    calls)}
            except Exception as error:
                reasons = [one_line(error) or type(error).__name__]
                reasons += [one_line(warning.message) for warning in caught]
                return {"error": one_line("; ".join(reasons), 600)}


def main():
    # What libraries print is no reply.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)

    def reply(value):
        replies.write(json.dumps(value) + "\n")
        replies.flush()

    torch, backend = import_torch()
    if torch is None:
        reply({"error": backend})
        return
    reply({"torch": str(torch.__version__), "cudnn": cudnn_version(torch),
           "device": torch.cuda.get_device_name()})
    server = Server(torch)
    with backend:
        for line in sys.stdin:
            reply(server.answer(line))


if __name__ == "__main__":
    main()
