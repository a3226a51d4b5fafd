#!/usr/bin/env python3
"""Derive models from those of models.json with ONNX Runtime's tools, and write references of them.

    python3 derive.py --models DIR --out DIR [NAME ...]

Needs numpy, onnx, onnx_ir and onnxruntime. DIR holds NAME.onnx as fetch.py writes them; OUT holds
what reference.py wrote: its inputs calibrate. Per derived model it writes DIR/NAME_FORM.onnx and
OUT/NAME_FORM as reference.py does. Forms:

  dynamic    8-bit weights, activations rounded to 8 bits with scales taken from the data
  qdq        QuantizeLinear and DequantizeLinear around operators in floats, calibrated
  qdq16      the same, activations of 16 bits
  qoperator  QLinearConv, QLinearMatMul and the like, calibrated
  f16        f16 throughout
  4bit       MatMulNBits: weights of 4 bits, one scale and zero point for 32 of them
  stretches  every DynamicQuantizeLinear's results are inputs too and what follows reads those; they
             are given as the whole model has them, so each stretch from rounding to rounding is
             compared by itself
"""
import argparse
import logging
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType,
                                      quantize_dynamic, quantize_static)
from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
from onnxruntime.transformers.float16 import convert_float_to_float16

import reference


class Inputs(CalibrationDataReader):
    """The first cases of a model's references."""

    def __init__(self, folder, count=4):
        self.files = iter(sorted(folder.glob("*.in.npz"))[:count])

    def get_next(self):
        f = next(self.files, None)
        return dict(np.load(f)) if f is not None else None


# ---- forms: (source, target, folder of the source's references) ----------

def dynamic(source, target, inputs):
    quantize_dynamic(source, target, weight_type=QuantType.QUInt8)


def static(**options):
    def derive(source, target, inputs):
        quantize_static(source, target, Inputs(inputs), **options)
    return derive


# Products alone: what lies between them stays in floats, as for models that are to keep their quality.
PRODUCTS = dict(quant_format=QuantFormat.QDQ, op_types_to_quantize=["Conv", "MatMul"], per_channel=True,
                activation_type=QuantType.QUInt8)
QLINEAR_PRODUCTS = dict(quant_format=QuantFormat.QOperator, op_types_to_quantize=["Conv", "MatMul"])


def f16(*in_f32, keep_io_types=True, prepare=lambda model: model):
    """`in_f32`: nodes with such a part in their names stay as they are."""
    def derive(source, target, inputs):
        model = prepare(onnx.load(source))
        block = [n.name for n in model.graph.node if any(part in n.name for part in in_f32)]
        onnx.save(convert_float_to_float16(model, keep_io_types=keep_io_types, node_block_list=block),
                  target)
    return derive


def four_bits(prepare=lambda model: model):
    def derive(source, target, inputs):
        q = MatMulNBitsQuantizer(prepare(onnx.load(source)), block_size=32, is_symmetric=False)
        q.process()
        q.model.save_model_to_file(str(target))
    return derive


def of_initializers(derive):
    """The tools look for weights among the initializers alone, some exporters write constants."""
    def derive_so(source, target, inputs):
        model = onnx.load(source)
        g, nodes = model.graph, []
        for n in g.node:
            if n.op_type == "Constant" and n.attribute[0].name == "value":
                g.initializer.add().CopyFrom(n.attribute[0].t)
                g.initializer[-1].name = n.output[0]
            else:
                nodes.append(n)
        del g.node[:]
        g.node.extend(nodes)
        onnx.save(model, target)
        derive(target, target, inputs)
    return derive_so


def products_in_floats(model):
    """MatMulInteger of what DynamicQuantizeLinear rounded, times its scales, as MatMul of floats."""
    g = model.graph
    producer = {o: n for n in g.node for o in n.output}
    users = {}
    for n in g.node:
        for i in n.input:
            users.setdefault(i, []).append(n)
    tensors = {i.name: i for i in g.initializer}
    tensors.update((n.output[0], n.attribute[0].t) for n in g.node
                   if n.op_type == "Constant" and n.attribute[0].name == "value")
    for n in [n for n in g.node if n.op_type == "MatMulInteger"]:
        rounding = producer[n.input[0]]
        cast, = users[n.output[0]]
        scaled, = users[cast.output[0]]
        scale = producer[next(i for i in scaled.input if i != cast.output[0])]
        weight_scale = next(i for i in scale.input if i != rounding.output[1])
        w, zero, s = (numpy_helper.to_array(tensors[i]) for i in (n.input[1], n.input[3], weight_scale))
        name = n.input[1] + "_float"
        if name not in tensors:
            tensors[name] = numpy_helper.from_array((w.astype(np.int32) - zero).astype(np.float32) * s, name)
            g.initializer.append(tensors[name])
        n.op_type = "MatMul"
        n.output[0], scaled.output[0] = scaled.output[0], n.output[0]
        del n.input[:]
        n.input.extend([rounding.input[0], name])
    remove_unused(g)
    return model


def roundings(graph):
    return [n for n in graph.node if n.op_type == "DynamicQuantizeLinear"]


def whole_with_roundings(source):
    """A session of `source` that gives the results of its roundings after its outputs."""
    model = onnx.load(source)
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(o)
                              for n in roundings(model.graph) for o in n.output)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return ort.InferenceSession(model.SerializeToString(), options)


def base_of(name):
    """The model of models.json that `name` was derived from, by whatever steps."""
    return max((n for n in reference.CASES if name.startswith(n)), key=len)


def cases_of_stretches(source):
    """The cases of `source`'s model, with what its roundings give as further inputs."""
    session = whole_with_roundings(source)
    declared = [i.name for i in session.get_inputs()]
    count = len(onnx.load(source).graph.output)

    def generator(run):
        cases, outputs = reference.CASES[base_of(source.stem)](run), None
        while True:
            try:
                case, arrays = cases.send(outputs)
            except StopIteration:
                return
            results = session.run(None, dict(zip(declared, arrays)))
            outputs = results[:count]
            yield case, list(arrays) + results[count:]
    return generator


def shape_names(declared, cases):
    """For each array of the cases its dims: the declared name whose size it has in all, a number, or
    a name for all that have those sizes."""
    def sizes_of(index, axis):
        return tuple(arrays[index].shape[axis] for _, arrays in cases)

    names = {sizes_of(*place): name for name, place in declared.items()}

    def of(axis, index):
        sizes = sizes_of(index, axis)
        if sizes not in names and len(set(sizes)) == 1:
            return sizes[0]
        return names.setdefault(sizes, f"size{len(names)}")
    return [[of(axis, i) for axis in range(x.ndim)] for i, x in enumerate(cases[0][1])]


def stretches(source, target, inputs):
    model = onnx.load(source)
    graph = model.graph
    declared = {d.dim_param: (k, a) for k, i in enumerate(graph.input)
                for a, d in enumerate(i.type.tensor_type.shape.dim) if d.dim_param}
    runner = reference.Runner(source.parent)
    shapes = shape_names(declared, list(cases_of_stretches(source)(runner.run)))[len(graph.input):]
    given = {}
    for node, types in ((n, (TensorProto.UINT8, TensorProto.FLOAT, TensorProto.UINT8)) for n in roundings(graph)):
        for name, dtype in zip(node.output, types):
            given[name] = name + "_given"
            graph.output.append(onnx.helper.make_tensor_value_info(name, dtype, shapes[0]))
            graph.input.append(onnx.helper.make_tensor_value_info(given[name], dtype, shapes.pop(0)))
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = given.get(name, name)
    onnx.save(model, target)


def remove_unused(graph):
    wanted, nodes = {o.name for o in graph.output}, []
    for n in reversed(graph.node):
        if any(o in wanted for o in n.output):
            nodes.append(n)
            wanted.update(n.input)
    tensors = [i for i in graph.initializer if i.name in wanted]
    for things, rest in ((graph.node, nodes[::-1]), (graph.initializer, tensors)):
        del things[:]
        things.extend(rest)


FORMS = dict(
    magika_dynamic=dynamic,
    magika_qdq=static(quant_format=QuantFormat.QDQ),
    magika_qdq16=static(quant_format=QuantFormat.QDQ, activation_type=QuantType.QUInt16,
                        weight_type=QuantType.QInt8),
    magika_qoperator=static(quant_format=QuantFormat.QOperator),
    # The sum of 512 squares is beyond 65504. ONNX Runtime's CPU kernels keep it in f32 between two
    # operators; a tensor of f16 can't.
    magika_f16=f16("LayerNorm_1"),
    magika_4bit=four_bits(),
    silero_vad_sequence_dynamic=dynamic,  # DynamicQuantizeLSTM
    silero_vad_sequence_qdq=static(quant_format=QuantFormat.QDQ),
    silero_vad_sequence_f16=f16(),
    # Its pitch is that of the greatest of two hundred confidences: with weights or activations of fewer
    # bits another one may win. Products alone keep them apart; of the dynamic form the test compares
    # the stretches.
    swift_f0_dynamic=dynamic,
    swift_f0_dynamic_stretches=stretches,
    swift_f0_qdq=static(**PRODUCTS),
    # No f16 of title_encoder: what its layers add up is beyond 65504.
    ocr_cls_dynamic=dynamic,
    ocr_cls_qdq=static(**PRODUCTS),
    ocr_cls_qoperator=static(**QLINEAR_PRODUCTS),
    ocr_cls_f16=f16(keep_io_types=False),
    ocr_cls_4bit=of_initializers(four_bits()),
    ocr_det_dynamic=of_initializers(dynamic),
    ocr_det_qdq=static(**PRODUCTS),
    ocr_det_qoperator=of_initializers(static(**QLINEAR_PRODUCTS)),
    ocr_rec_dynamic=of_initializers(dynamic),  # compared by its stretches
    ocr_rec_dynamic_stretches=stretches,
    ocr_rec_qdq=static(**PRODUCTS),
    ocr_rec_qoperator=of_initializers(static(**QLINEAR_PRODUCTS)),
    ocr_rec_f16=f16(),
    ocr_rec_4bit=of_initializers(four_bits()),
    silero_vad_f16=f16(),
    title_encoder_4bit=four_bits(products_in_floats),
    title_decoder_f16=f16("DequantizeLinear", prepare=products_in_floats),
    title_decoder_4bit=four_bits(products_in_floats),
    title_encoder_stretches=stretches,
    title_decoder_stretches=stretches,
)


def source_of(name):
    return name.rsplit("_", 1)[0]


def as_declared(cases, session):
    """The same cases, f16 where the model wants it."""
    types = [i.type for i in session.get_inputs()]

    def generator(run):
        made, outputs = cases(run), None
        while True:
            try:
                case, arrays = made.send(outputs)
            except StopIteration:
                return
            outputs = yield case, [a.astype(np.float16) if t == "tensor(float16)" else a
                                   for a, t in zip(arrays, types)]
    return generator


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", required=True, metavar="DIR", help="folder of NAME.onnx")
    p.add_argument("--out", required=True, metavar="DIR", help="folder of the references")
    p.add_argument("names", nargs="*", metavar="NAME")
    a = p.parse_args()
    unknown = [n for n in a.names if n not in FORMS]
    if unknown:
        p.error(f"unknown model {', '.join(unknown)}; known: {', '.join(FORMS)}")
    logging.disable(logging.WARNING)
    models, out = pathlib.Path(a.models), pathlib.Path(a.out)
    runner = reference.Runner(models)
    for name in a.names or FORMS:
        source = source_of(name)
        path = models / f"{source}.onnx"
        FORMS[name](path, models / f"{name}.onnx", out / source)
        cases = (cases_of_stretches(path) if FORMS[name] is stretches else
                 as_declared(reference.CASES[base_of(source)], runner.session(name)))
        reference.write(name, cases, runner, out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
