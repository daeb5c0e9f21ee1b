"""Transformers in textbook numpy, float64: what run_model is held to.

Written from the formulas in model/transformer.h and model/config.h, with the
weights as a model file names and shapes them (those of TransformerLens), and
nothing shared with the C++ sources.

    activations = forward(config, weights, tokens)
    activations["logits"]                             # [B, T, V]
    activations["blocks.0.attn.hook_pattern"]         # [B, H, T, T]
"""

import json
import math

import numpy

EPSILON = 1e-5
ERF = numpy.vectorize(math.erf)


def shapes(config):
    """The name and shape of every parameter of a model."""
    d, width = config["d_model"], config["d_head"]
    heads, key_heads = config["n_heads"], config["n_key_value_heads"]
    found = {"embed.W_E": (config["d_vocab"], d)}

    def norm(name):
        if config["normalization_type"] != "none":
            found[f"{name}.w"] = (d,)
        if config["normalization_type"] == "LN":
            found[f"{name}.b"] = (d,)

    if config["positional_embedding_type"] == "standard":
        found["pos_embed.W_pos"] = (config["n_ctx"], d)
    for layer in range(config["n_layers"]):
        block = f"blocks.{layer}."
        norm(block + "ln1")
        for letter, count in (("Q", heads), ("K", key_heads),
                              ("V", key_heads)):
            found[f"{block}attn.W_{letter}"] = (count, d, width)
            if config["biases"]:
                found[f"{block}attn.b_{letter}"] = (count, width)
        found[f"{block}attn.W_O"] = (heads, width, d)
        if config["biases"]:
            found[f"{block}attn.b_O"] = (d,)
        if config["smeared_keys"]:
            found[f"{block}attn.smear"] = (key_heads,)
        m = config["d_mlp"]
        if m:
            norm(block + "ln2")
            found[f"{block}mlp.W_in"] = (d, m)
            found[f"{block}mlp.W_out"] = (m, d)
            if config["biases"]:
                found[f"{block}mlp.b_in"] = (m,)
                found[f"{block}mlp.b_out"] = (d,)
    if config["final_norm"]:
        norm("ln_final")
    if not config["tied"]:
        found["unembed.W_U"] = (d, config["d_vocab"])
    if config["biases"]:
        found["unembed.b_U"] = (config["d_vocab"],)
    return found


def hook_shapes(config, batch, positions):
    """The name and shape of every activation."""
    d, width = config["d_model"], config["d_head"]
    stream = (batch, positions, d)
    found = {"hook_embed": stream}
    if config["positional_embedding_type"] == "standard":
        found["hook_pos_embed"] = stream
    normed = config["normalization_type"] != "none"
    for layer in range(config["n_layers"]):
        block = f"blocks.{layer}."
        found[block + "hook_resid_pre"] = stream
        if normed:
            found[block + "ln1.hook_normalized"] = stream
        for letter, heads in (("q", "n_heads"), ("k", "n_key_value_heads"),
                              ("v", "n_key_value_heads"), ("z", "n_heads")):
            found[f"{block}attn.hook_{letter}"] = (
                batch, positions, config[heads], width)
        found[block + "attn.hook_pattern"] = (
            batch, config["n_heads"], positions, positions)
        found[block + "hook_attn_out"] = stream
        if config["d_mlp"]:
            found[block + "hook_resid_mid"] = stream
            if normed:
                found[block + "ln2.hook_normalized"] = stream
            hidden = (batch, positions, config["d_mlp"])
            found[block + "mlp.hook_pre"] = hidden
            found[block + "mlp.hook_post"] = hidden
            found[block + "hook_mlp_out"] = stream
        found[block + "hook_resid_post"] = stream
    if config["final_norm"]:
        found["ln_final.hook_normalized"] = stream
    return found


def normalize(config, weights, name, x):
    if config["normalization_type"] == "none":
        return x
    if config["normalization_type"] == "LN":
        x = x - x.mean(axis=-1, keepdims=True)
    x = x / numpy.sqrt((x * x).mean(axis=-1, keepdims=True) + EPSILON)
    x = x * weights[f"{name}.w"]
    if config["normalization_type"] == "LN":
        x = x + weights[f"{name}.b"]
    return x


def rotate(x):
    """Rotary positions by halves, base 10,000: x [B, T, H, D]."""
    half = x.shape[3] // 2
    angles = (numpy.arange(x.shape[1])[:, None]
              * 10000.0 ** (-numpy.arange(half) / half))
    cosines = numpy.cos(angles)[:, None, :]
    sines = numpy.sin(angles)[:, None, :]
    first, second = x[..., :half], x[..., half:]
    return numpy.concatenate([first * cosines - second * sines,
                              first * sines + second * cosines], axis=3)


def smear(keys, logits):
    """k_t <- s k_t + (1 - s) k_(t - 1), s a sigmoid of each head's logit."""
    share = (1 / (1 + numpy.exp(-logits)))[:, None]
    mixed = keys.copy()
    mixed[:, 1:] = share * keys[:, 1:] + (1 - share) * keys[:, :-1]
    return mixed


def forward(config, weights, tokens):
    """Every activation by its name, and the logits."""
    weights = {name: numpy.asarray(array, numpy.float64)
               for name, array in weights.items()}
    seen = {}
    positions = tokens.shape[1]

    def bias(name):
        return weights[name] if config["biases"] else 0.0

    x = seen["hook_embed"] = weights["embed.W_E"][tokens]
    if config["positional_embedding_type"] == "standard":
        seen["hook_pos_embed"] = numpy.broadcast_to(
            weights["pos_embed.W_pos"][:positions], x.shape)
        x = x + seen["hook_pos_embed"]
    group = config["n_heads"] // config["n_key_value_heads"]
    visible = numpy.tril(numpy.ones((positions, positions), bool))
    for layer in range(config["n_layers"]):
        block = f"blocks.{layer}."
        attention = block + "attn."
        seen[block + "hook_resid_pre"] = x
        y = normalize(config, weights, block + "ln1", x)
        if config["normalization_type"] != "none":
            seen[block + "ln1.hook_normalized"] = y
        q, k, v = (
            numpy.einsum("btd,hde->bthe", y, weights[f"{attention}W_{letter}"])
            + bias(f"{attention}b_{letter}")
            for letter in "QKV")
        seen.update({f"{attention}hook_q": q, f"{attention}hook_k": k,
                     f"{attention}hook_v": v})
        if config["smeared_keys"]:
            k = smear(k, weights[attention + "smear"])
        if config["positional_embedding_type"] == "rotary":
            q, k = rotate(q), rotate(k)
        k, v = (numpy.repeat(each, group, axis=2) for each in (k, v))
        scores = numpy.einsum("bihe,bjhe->bhij", q, k)
        scores = scores / math.sqrt(config["d_head"])
        if config["positional_embedding_type"] == "alibi":
            slopes = 2.0 ** (-8 * (numpy.arange(config["n_heads"]) + 1)
                             / config["n_heads"])
            distance = (numpy.arange(positions)[:, None]
                        - numpy.arange(positions))
            scores = scores - slopes[:, None, None] * distance
        scores = numpy.where(visible, scores, -numpy.inf)
        pattern = numpy.exp(scores - scores.max(axis=3, keepdims=True))
        pattern = pattern / pattern.sum(axis=3, keepdims=True)
        seen[attention + "hook_pattern"] = pattern
        z = numpy.einsum("bhij,bjhe->bihe", pattern, v)
        seen[attention + "hook_z"] = z
        write = numpy.einsum("bthe,hed->btd", z, weights[attention + "W_O"])
        write = write + bias(attention + "b_O")
        seen[block + "hook_attn_out"] = write
        x = x + write
        if config["d_mlp"]:
            seen[block + "hook_resid_mid"] = x
            y = normalize(config, weights, block + "ln2", x)
            if config["normalization_type"] != "none":
                seen[block + "ln2.hook_normalized"] = y
            pre = y @ weights[block + "mlp.W_in"] + bias(block + "mlp.b_in")
            if config["act_fn"] == "relu":
                post = numpy.maximum(pre, 0)
            else:
                post = pre * (1 + ERF(pre / math.sqrt(2))) / 2
            write = post @ weights[block + "mlp.W_out"]
            write = write + bias(block + "mlp.b_out")
            seen.update({f"{block}mlp.hook_pre": pre,
                         f"{block}mlp.hook_post": post,
                         f"{block}hook_mlp_out": write})
            x = x + write
        seen[block + "hook_resid_post"] = x
    if config["final_norm"]:
        x = normalize(config, weights, "ln_final", x)
        seen["ln_final.hook_normalized"] = x
    unembedding = (weights["embed.W_E"].T if config["tied"]
                   else weights["unembed.W_U"])
    seen["logits"] = x @ unembedding + bias("unembed.b_U")
    return seen


def losses(logits, targets):
    """Cross-entropy of each position, 0 where the target is -1."""
    top = logits.max(axis=2, keepdims=True)
    total = numpy.log(numpy.exp(logits - top).sum(axis=2)) + top[..., 0]
    hit = numpy.take_along_axis(
        logits, numpy.maximum(targets, 0)[..., None], axis=2)[..., 0]
    return numpy.where(targets < 0, 0.0, total - hit)


PUBLISHED = {
    "n_layers": 2, "n_heads": 2, "n_key_value_heads": 2, "d_model": 64,
    "d_head": 32, "d_mlp": 0, "d_vocab": 64, "n_ctx": 64, "act_fn": "gelu",
    "normalization_type": "none", "final_norm": False,
    "positional_embedding_type": "standard",
    "biases": False, "tied": False, "smeared_keys": False,
}


def metadata(config):
    """What a model file says about itself, beside its tensors."""
    return {"format": "softlookup model", "version": "2",
            "config": json.dumps(config)}


def draw(config, random):
    """Random weights, float32, none of them where it changes nothing."""
    return {
        name: random.normal(size=shape, scale=config["d_model"] ** -0.5).astype(
            numpy.float32) + (1 if name.endswith(".w") else 0)
        for name, shape in shapes(config).items()
    }
