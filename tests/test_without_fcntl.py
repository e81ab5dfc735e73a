"""A system without the modules of Unix: everything is imported there, and a chat's files are written."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import importlib, os, pathlib, sys, tempfile

GONE = {"fcntl", "termios", "tty", "pty", "pwd", "grp", "resource"}

class Gone:
    def find_spec(self, name, path=None, target=None):
        if name in GONE:
            raise ImportError(f"No module named {name!r}")

for name in GONE:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Gone())
del os.fork, os.register_at_fork, os.O_CLOEXEC, os.O_NOFOLLOW, os.O_DIRECTORY, os.getuid, os.geteuid, os.killpg
folder = pathlib.Path(sys.argv[1])
names = []
for file in sorted((folder / "middleware").rglob("*.py")):
    parts = file.relative_to(folder).with_suffix("").parts
    if parts[-1] not in ("__main__", "chat_terminal", "chat_screen", "keys", "mirror", "searching", "menu"):
        importlib.import_module(".".join(parts).removesuffix(".__init__"))

from middleware import Middleware, Settings
from middleware.chat.terminal.files import Files
from middleware.testing import capture

with tempfile.TemporaryDirectory() as place:
    for _ in range(2):
        files = Files(pathlib.Path(place))
        chat = files.chat(local=(), prompts=())
        chat.composer.type("hello")
        chat.submit()
        files.keep(chat)
    print([entry.text for entry in Files(pathlib.Path(place)).chat(local=(), prompts=()).history.entries])
    with capture("fine") as captured, captured.model.openai() as client:
        app = Middleware(Settings(transcripts=place), hooks=[lambda given: "branch=main"], **captured.providers)
        session = app.open("s")
        asked = {"model": "local", "messages": [{"role": "user", "content": "hi"}]}
        print(app.wrap(client, session=session).chat.completions.create(**asked).choices[0].message.content)
        app.close()
        print([row.text for row in session.shown()])
"""


def test_the_chats_files_and_a_wrapped_client_work_without_the_modules_of_unix() -> None:
    from .test_layering import ROOT

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT)], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.stdout, done.stderr) == ("['hello', 'hello']\nfine\n['hi', 'fine']\n", "")
