#!/usr/bin/env python3
"""Lathe beside ONNX Runtime on the same models and inputs, in turns, the worst ratio first.

Usage: models.py --lathe build/release/bench/lathe-bench --models DIR [--threads 2] [--rounds 5] [NAME ...]

DIR is what scripts/fetch_models fills: NAME.onnx and reference/NAME/CASE.in.npz with an index.json.
Both run in processes of their own and take turns on each case; a case's time is the median of the
turns, each the mean of some calls. First output: a fresh process's load (for Lathe: import, plan, compile)
and first call. Needs numpy and onnxruntime for the interpreter that runs it.
"""
import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np


class Runtime:
    """ONNX Runtime behind the requests that `lathe-bench --contestant` answers."""

    def __init__(self):
        import onnxruntime
        self.runtime = onnxruntime

    def request(self, op, **fields):
        return getattr(self, op)(**fields)

    def load(self, model, threads):
        options = self.runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 4
        start = time.perf_counter()
        self.session = self.runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        return {"time_s": time.perf_counter() - start}

    def prepare(self, inputs):
        values = np.load(inputs)
        self.inputs = {i.name: values[i.name] for i in self.session.get_inputs()}

    def call(self):
        start = time.perf_counter()
        self.session.run(None, self.inputs)
        return time.perf_counter() - start

    def first_call(self, inputs):
        self.prepare(inputs)
        return {"time_s": self.call()}

    def time(self, inputs, min_s, reps):
        self.prepare(inputs)
        calls = max(1, round(min_s / reps / min(self.call(), self.call())))
        return {"times_s": [sum(self.call() for _ in range(calls)) / calls for _ in range(reps)]}

    def counters(self):
        return {}


class Process:
    """A contestant in a process of its own."""

    def __init__(self, command):
        self.child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def request(self, op, **fields):
        self.child.stdin.write(json.dumps({"op": op, **fields}) + "\n")
        self.child.stdin.flush()
        reply = json.loads(self.child.stdout.readline() or '{"error": "no reply"}')
        if "error" in reply:
            raise RuntimeError(reply["error"])
        return reply

    def close(self):
        self.child.stdin.close()
        self.child.wait()


def serve_runtime():
    runtime = Runtime()
    for line in sys.stdin:
        fields = json.loads(line)
        try:
            reply = runtime.request(fields.pop("op"), **fields) or {}
        except Exception as e:  # goes to the other side as text
            reply = {"error": str(e)}
        print(json.dumps(reply), flush=True)


def measure(name, contestants, options):
    model = str(options.models / f"{name}.onnx")
    folder = options.models / "reference" / name
    cases = list(json.loads((folder / "index.json").read_text()))
    if len(cases) > options.cases:  # of a long run of steps, some all along it
        cases = [cases[i * (len(cases) - 1) // max(options.cases - 1, 1)] for i in range(options.cases)]
    running = {who: Process(command) for who, command in contestants.items()}
    first, times = {}, {}
    for who, process in running.items():
        load = process.request("load", model=model, threads=options.threads)
        call = process.request("first_call", inputs=str(folder / f"{cases[0]}.in.npz"))
        first[who] = {**load, "first_call_s": call["time_s"]}
    # Versions are still compiled beside the first calls; what is compared is the steady state.
    for case in cases:
        running["lathe"].request("first_call", inputs=str(folder / f"{case}.in.npz"))
    running["lathe"].request("settle")
    for case in cases:
        for _ in range(options.rounds):
            for who, process in running.items():
                reply = process.request("time", inputs=str(folder / f"{case}.in.npz"), min_s=0.1, reps=3)
                times.setdefault((case, who), []).extend(reply["times_s"])
    compiles = running["lathe"].request("counters").get("compiles_in_calls")
    for process in running.values():
        process.close()
    rows = [(name, case, *(statistics.median(times[case, who]) for who in contestants)) for case in cases]
    return rows, first, compiles


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--lathe", default="build/release/bench/lathe-bench")
    parser.add_argument("--models", type=Path, default=Path("build/release/models"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cases", type=int, default=6, help="most cases of a model")
    options = parser.parse_args()
    if options.serve:
        return serve_runtime()
    contestants = {"lathe": [options.lathe, "--contestant"], "ort": [sys.executable, __file__, "--serve"]}
    names = options.names or sorted(p.stem for p in options.models.glob("*.onnx"))
    rows, first = [], {}
    for name in names:
        new, first[name], compiles = measure(name, contestants, options)
        rows += new
        print(f"{name}: {len(new)} cases, {compiles} compiles in calls", file=sys.stderr)
    rows.sort(key=lambda row: row[3] / row[2])
    print(f"| model | case | Lathe ms | ONNX Runtime ms | Lathe's speed |\n|---|---|---|---|---|")
    for name, case, lathe, ort in rows:
        print(f"| {name} | {case} | {lathe * 1e3:.3f} | {ort * 1e3:.3f} | {ort / lathe:.2f}x |")
    print("\n| file to first output | import | plan | compile | first call | whole | ONNX Runtime | kernels compiled |")
    print("|---|---|---|---|---|---|---|---|")
    for name, f in sorted(first.items(), key=lambda item: -item[1]["lathe"]["time_s"]):
        a, b = f["lathe"], f["ort"]
        print(f"| {name} | " + " | ".join(f"{t * 1e3:.0f} ms" for t in (
            a["import_s"], a["plan_s"], a["compile_s"], a["first_call_s"], a["time_s"] + a["first_call_s"],
            b["time_s"] + b["first_call_s"])) + f" | {a['compiles']} |")


if __name__ == "__main__":
    main()
