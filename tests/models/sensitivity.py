#!/usr/bin/env python3
"""What one bit does to a quantised model: how far ONNX Runtime is from itself.

    python3 sensitivity.py --models DIR NAME ...

Needs numpy, onnx and onnxruntime; DIR as reference.py and fetch.py leave it. Each vector of f32
weights (a norm's, as a rule) is moved to the next float above, then below, and the model is run on
the inputs of reference.py. Prints, per case, the largest relative rms of the first output's change.
"""
import argparse
import json
import pathlib

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper


def session(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(model, options)


def first_output(runner, inputs):
    return runner.run(None, inputs)[0].astype(np.float64)


def measure(folder, name):
    model = onnx.load(folder / f"{name}.onnx")
    reference = folder / "reference" / name
    inputs = {case: dict(np.load(reference / f"{case}.in.npz"))
              for case in json.loads((reference / "index.json").read_text())}
    whole = session(model.SerializeToString())
    outputs = {case: first_output(whole, x) for case, x in inputs.items()}
    worst = dict.fromkeys(inputs, 0.0)
    vectors = [t for t in model.graph.initializer
               if t.data_type == onnx.TensorProto.FLOAT and len(t.dims) == 1 and t.dims[0] > 64]
    for weights in vectors:
        kept = weights.SerializeToString()
        values = numpy_helper.to_array(weights)
        for end in (np.float32(np.inf), np.float32(-np.inf)):
            weights.CopyFrom(numpy_helper.from_array(np.nextafter(values, end), weights.name))
            moved = session(model.SerializeToString())
            for case, x in inputs.items():
                change = first_output(moved, x) - outputs[case]
                rms = np.sqrt((change ** 2).sum() / (outputs[case] ** 2).sum())
                worst[case] = max(worst[case], float(rms))
        weights.ParseFromString(kept)
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--models", type=pathlib.Path, required=True)
    parser.add_argument("names", nargs="+")
    arguments = parser.parse_args()
    for name in arguments.names:
        for case, rms in measure(arguments.models, name).items():
            print(f"{name} {case}: {rms:.4f}")


main()
