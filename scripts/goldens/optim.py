#!/usr/bin/env python3
"""Three steps of each optimizer variant by torch, as JSON for forge/tests/optim.rs.

    python3 -m venv /some/venv && /some/venv/bin/pip install torch numpy
    /some/venv/bin/python scripts/goldens/optim.py > forge/tests/data/optim.json

Every variant starts from the same parameters and sees the same three gradients. Numbers are exact: they are written as
the shortest decimal that reads back as the same f32 (f64 in the double variants).
"""

import json
import sys

import torch

# Small integers over powers of two: exact in every float type, so no rounding happens on the way here.
N = 11
P0 = [(7 * i % 13 - 6) / 8 for i in range(N)]
G = [[(((5 + s) * i + 3 * s) % 17 - 8) / 16 for i in range(N)] for s in range(3)]
# One gradient is zero throughout, one is tiny: the places where eps counts.
for s in range(3):
    G[s][3] = 0.0
    G[s][4] = 2.0**-30

VARIANTS = {
    "sgd": ("SGD", {"lr": 0.1}),
    "sgd_default": ("SGD", {}),
    "sgd_decay": ("SGD", {"lr": 0.1, "weight_decay": 0.25}),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "sgd_dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "sgd_all": ("SGD", {"lr": 0.05, "momentum": 0.8, "nesterov": True, "weight_decay": 0.1}),
    "adam": ("Adam", {}),
    "adam_lr": ("Adam", {"lr": 0.1, "betas": (0.8, 0.99)}),
    "adam_eps": ("Adam", {"lr": 0.1, "eps": 1e-2}),
    "adam_decay": ("Adam", {"lr": 0.1, "weight_decay": 0.25}),
    "adam_low_beta": ("Adam", {"lr": 0.1, "betas": (0.25, 0.5)}),
    "adam_no_mean": ("Adam", {"lr": 0.1, "betas": (0.0, 0.99)}),
    "adamw": ("AdamW", {}),
    "adamw_decay": ("AdamW", {"lr": 0.1, "weight_decay": 0.25}),
    "adamw_all": ("AdamW", {"lr": 0.05, "betas": (0.7, 0.95), "eps": 1e-5, "weight_decay": 0.5}),
}


def run(dtype):
    out = {}
    for name, (kind, options) in VARIANTS.items():
        p = torch.tensor(P0, dtype=dtype, requires_grad=True)
        optimizer = getattr(torch.optim, kind)([p], foreach=False, **options)
        steps = []
        for g in G:
            p.grad = torch.tensor(g, dtype=dtype)
            optimizer.step()
            steps.append([float(x) for x in p.detach()])
        out[name] = {"kind": kind, "options": options, "steps": steps}
    return out


def clip():
    """Norm before and gradients after clipping, over two tensors."""
    out = []
    for scale, max_norm in [(1.0, 1.0), (1.0, 100.0), (1e-3, 1e-3), (30.0, 0.5)]:
        ps = [torch.zeros(N), torch.zeros(N)]
        for i, p in enumerate(ps):
            p.grad = torch.tensor(G[i]) * scale
        norm = torch.nn.utils.clip_grad_norm_(ps, max_norm, foreach=False)
        grads = [[float(x) for x in p.grad] for p in ps]
        out.append({"scale": scale, "max": max_norm, "norm": float(norm), "grads": grads})
    return out


json.dump(
    {"torch": torch.__version__, "p0": P0, "grads": G, "f32": run(torch.float32), "f64": run(torch.float64), "clip": clip()},
    sys.stdout,
    indent=None,
    separators=(",", ":"),
)
print()
