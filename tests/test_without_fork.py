"""A system without `fork`, as Windows: nothing there registers what a child would have to do."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os

del os.fork, os.register_at_fork
import middleware.hooks
import middleware.telemetry.processes
from middleware import Middleware, Settings
from middleware.testing import capture

lock = middleware.telemetry.processes.ForkLock()
with capture("fine") as captured, captured.model.openai() as client:
    app = Middleware(Settings(), hooks=[lambda given: "branch=main"], **captured.providers)
    asked = {"model": "local", "messages": [{"role": "user", "content": "hi"}]}
    with lock:
        print(app.wrap(client).chat.completions.create(**asked).choices[0].message.content)
    print([span.name for span in captured.spans_named("chat")])
"""


def test_a_wrapped_client_works_where_os_has_no_register_at_fork() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("fine\n['chat local']\n", "")
