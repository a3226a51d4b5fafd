#!/usr/bin/env python3
"""How far a model that is quantised dynamically is from itself in exact arithmetic.

    python3 in_f64.py --models DIR NAME ...

Needs numpy and onnx; DIR as reference.py and fetch.py leave it. The model runs with all its f32
values, weights and scales as f64, by the format's own reference evaluator: the 8-bit values are then
those of exact sums. Prints, per case, the relative rms of each output against the references.
"""
import argparse
import json
import pathlib
import warnings

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun

import reference


class DynamicQuantizeLinear(OpRun):
    op_domain = ""

    def _run(self, x):
        low, high = min(0, x.min(initial=0)), max(0, x.max(initial=0))
        scale = (high - low) / 255 or x.dtype.type(1)
        zero = np.clip(np.rint(-low / scale), 0, 255)
        y = np.clip(np.rint(x / scale) + zero, 0, 255)
        return y.astype(np.uint8), np.asarray(scale, x.dtype), zero.astype(np.uint8)


class DequantizeLinear(OpRun):
    """Of one scale, which gives the type."""
    op_domain = ""

    def _run(self, x, scale, zero=0, **unused):
        return ((x.astype(np.int32) - np.int32(zero)) * scale,)


class MatMulInteger(OpRun):
    """In f64, where sums of 8-bit products are exact and numpy is fast."""
    op_domain = ""

    def _run(self, a, b, a_zero=0, b_zero=0):
        product = (a.astype(np.float64) - a_zero) @ (b.astype(np.float64) - b_zero)
        return (product.astype(np.int32),)


def widen(model):
    """All f32 in `model`, in place, as f64."""
    tensors = list(model.graph.initializer)
    for node in model.graph.node:
        tensors += [a.t for a in node.attribute if a.type == onnx.AttributeProto.TENSOR]
        for a in node.attribute:
            if node.op_type == "Cast" and a.name == "to" and a.i == TensorProto.FLOAT:
                a.i = TensorProto.DOUBLE
    for t in tensors:
        if t.data_type == TensorProto.FLOAT:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(np.float64), t.name))
    return model


def measure(models, name):
    model = widen(onnx.load(models / f"{name}.onnx"))
    runner = ReferenceEvaluator(model, new_ops=[DynamicQuantizeLinear, DequantizeLinear, MatMulInteger])
    folder = models / "reference" / name
    for case in json.loads((folder / "index.json").read_text()):
        inputs = dict(np.load(folder / f"{case}.in.npz"))
        inputs = {k: v.astype(np.float64) if v.dtype == np.float32 else v for k, v in inputs.items()}
        wanted = np.load(folder / f"{case}.out.npz")
        rms = [reference.relative_rms(value, wanted[o.name])
               for o, value in zip(model.graph.output, runner.run(None, inputs))]
        print(name, case, *(f"{x:.4f}" for x in rms))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", required=True, metavar="DIR", type=pathlib.Path, help="folder of NAME.onnx")
    p.add_argument("names", nargs="+", metavar="NAME")
    a = p.parse_args()
    warnings.simplefilter("ignore")  # log of 0 in position buckets, which a Where drops
    for name in a.names:
        measure(a.models, name)


main()
