#!/usr/bin/env python3
"""The serving example on a few requests: its last line is the JSON object with what was promised, and an
error beyond the limit makes it fail after the same line."""
import json
import os
import subprocess
import sys
import tempfile

KEYS = ["requests", "distinct_sizes", "versions", "compiles_in_calls", "max_relative_error", "tokens_per_s",
        "kernels_per_layer", "predicted_bytes", "measured_bytes", "first_over_warm_p99"]


def serve(*flags):
    program, trace = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        chart = os.path.join(folder, "latency.svg")
        done = subprocess.run([program, "--trace", trace, "--chart", chart, *flags], capture_output=True, text=True)
        drawn = os.path.exists(chart)
    lines = done.stdout.splitlines()
    if not lines or not drawn:
        sys.exit(f"serve printed or drew nothing: {done.stderr}")
    return done, json.loads(lines[-1])


def check(holds, what, done):
    if not holds:
        sys.exit(f"{what}\n{done.stdout}\n{done.stderr}")


done, result = serve("--requests", "40", "--check", "1,3,17")
check(done.returncode == 0, f"status {done.returncode}", done)
check(list(result) == KEYS, f"the keys are {list(result)}", done)
check(result["requests"] == 40 and 1 < result["distinct_sizes"] <= 40, "not the requests of the trace", done)
check(result["versions"] >= 2 and result["compiles_in_calls"] == 0, "versions, or compiles in calls", done)
check(result["max_relative_error"] <= 1e-5, "the error", done)
check(result["predicted_bytes"] == result["measured_bytes"] > 0, "the bytes", done)
check(0 < result["kernels_per_layer"] <= 7, "the kernels of a layer", done)
for part in ["a batch of lengths 9, 17, 3, 1: error", "first version", "matmul"]:
    check(part in done.stdout, f"nothing says \"{part}\"", done)

done, result = serve("--requests", "4", "--check", "1", "--most_error", "0")
check(done.returncode == 1 and list(result) == KEYS and "relative error" in done.stderr,
      f"an error beyond the limit gave status {done.returncode}", done)
