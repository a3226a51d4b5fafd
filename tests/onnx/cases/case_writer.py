"""Writes a case: a model beside its inputs and what ONNX Runtime makes of them."""
import os
import shutil

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
OPSETS = [("", 17), ("com.microsoft", 1), ("ai.onnx.ml", 3)]
F, I, H = TensorProto.FLOAT, TensorProto.INT64, TensorProto.FLOAT16
U8, I8 = TensorProto.UINT8, TensorProto.INT8
MS, ML = "com.microsoft", "ai.onnx.ml"


def build(name, nodes, inputs, outputs, opsets=OPSETS, constants=()):
    """inputs: name -> array; those of `constants` are initialisers."""
    values = [helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
              for n, a in inputs.items() if n not in constants]
    results = [helper.make_tensor_value_info(n, t, None) for n, t in outputs.items()]
    graph = helper.make_graph(nodes, name, values, results,
                              [numpy_helper.from_array(inputs[n], n) for n in constants])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid(*o) for o in opsets],
                             ir_version=8)


def case(name, op, domain, inputs, outputs, opsets=OPSETS, constants=(), reference=None,
         unchecked=(), **attributes):
    """inputs: name -> array, outputs: name -> type; None for one left out. Those in `unchecked`
    are of the node but not of the model. Where ONNX Runtime doesn't have the operator, `reference`
    is nodes from the same names to the same."""
    node = helper.make_node(op, *([n if v is not None else "" for n, v in values.items()]
                                  for values in (inputs, outputs)), domain=domain, **attributes)
    inputs = {n: a for n, a in inputs.items() if a is not None}
    outputs = {n: t for n, t in outputs.items() if t is not None and n not in unchecked}
    model = build(name, [node], inputs, outputs, opsets, constants)
    by = build(name, reference, inputs, outputs, opsets, constants) if reference else model
    write(name, model, {n: a for n, a in inputs.items() if n not in constants}, by)


def write(name, model, feeds, reference):
    """`model`, and what `reference` gives for `feeds`: the same model, or one that means it."""
    one = ort.SessionOptions()
    one.intra_op_num_threads = 1
    session = ort.InferenceSession(reference.SerializeToString(), one)
    got = session.run(None, feeds)
    folder = os.path.join(HERE, name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "test_data_set_0"))
    onnx.save(model, os.path.join(folder, "model.onnx"))
    for kind, arrays in (("input", feeds.values()), ("output", got)):
        for i, a in enumerate(arrays):
            with open(os.path.join(folder, "test_data_set_0", f"{kind}_{i}.pb"), "wb") as file:
                file.write(numpy_helper.from_array(np.asarray(a)).SerializeToString())
