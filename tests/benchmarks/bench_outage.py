"""What an endpoint that refuses every export adds to a call, against the limit of 5 ms.

One process a protocol; medians of 60 calls, alone and with `telemetry.configure()`.
`python -m tests.benchmarks.bench_outage`.
"""

from __future__ import annotations

import os
import subprocess
import sys

LIMIT_MS = 5.0
SCRIPT = """
import logging, os, time
from middleware import Middleware, telemetry
from middleware.testing import LocalModel
logging.disable(logging.CRITICAL)
client = Middleware.from_settings(capture_content="SPAN_ONLY").wrap(LocalModel().openai())

def median():
    took = []
    for _ in range(61):
        start = time.perf_counter()
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        took.append(time.perf_counter() - start)
    return sorted(took[1:])[30] * 1000

alone = median()
telemetry.configure()
print(alone, median(), flush=True)
os._exit(0)
"""


def main() -> int:
    print("| protocol | alone, ms | endpoint down, ms | added | limit |\n|---|---|---|---|---|")
    over = 0
    for protocol in ("http/protobuf", "grpc"):
        environment = {"OTEL_EXPORTER_OTLP_PROTOCOL": protocol, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
        command = [sys.executable, "-c", SCRIPT]
        said = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=True)
        alone, down = map(float, said.stdout.split())
        over += down - alone > LIMIT_MS
        print(f"| {protocol} | {alone:.2f} | {down:.2f} | {down - alone:+.2f} | {LIMIT_MS:.0f} |")
    return min(over, 1)


if __name__ == "__main__":
    sys.exit(main())
