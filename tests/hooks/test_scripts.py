"""Hook scripts as people write them for Claude Code and the reference, in a folder with a space in its name."""

import json

import pytest

from middleware import HookBlocked, Middleware, Settings
from middleware.testing import capture

SHELL = """#!/bin/sh
prompt=$(cat | sed -n 's/.*"prompt":"\\([^"]*\\)".*/\\1/p')
echo "asked: $prompt, in ${PWD##*/}"
"""
PYTHON = """#!/usr/bin/env python3
import datetime, json, os, re, sys
try:
    given = json.load(sys.stdin)
except json.JSONDecodeError as error:
    print(f"Error: Invalid JSON input: {error}", file=sys.stderr)
    sys.exit(1)
if re.search(r"(?i)\\b(password|secret|key|token)\\s*[:=]", given.get("prompt", "")):
    print(json.dumps({"decision": "block", "reason": "Security policy violation: no secrets"}))
    sys.exit(0)
print("Project:", os.path.basename(os.environ["CLAUDE_PROJECT_DIR"]))
"""
NODE = """#!/usr/bin/env node
let text = '';
process.stdin.on('data', (piece) => (text += piece));
process.stdin.on('end', () => {
  const given = JSON.parse(text);
  console.log(JSON.stringify({continue: true, suppressOutput: true, hookSpecificOutput: {
    hookEventName: given.hook_event_name, additionalContext: `${given.prompt.length} characters`}}));
});
"""
EXIT_2 = """#!/bin/bash
if grep -q deploy; then echo "Not on a Friday" >&2; exit 2; fi
"""


@pytest.fixture
def submit(tmp_path, monkeypatch):
    """What the model is sent behind a prompt when a script is the only hook."""
    project = tmp_path / "my project"
    (project / ".claude").mkdir(parents=True)
    monkeypatch.chdir(project)

    def run(script, prompt, command='"$CLAUDE_PROJECT_DIR"/.claude/hook'):
        (project / ".claude" / "hook").write_text(script)
        (project / ".claude" / "hook").chmod(0o755)
        entry = {"type": "command", "command": command, "timeout": 30}
        (project / "h.json").write_text(json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}}))
        with capture() as captured:
            app = Middleware(Settings(hooks_file="h.json"), **captured.providers)
            messages = [{"role": "user", "content": prompt}]
            app.wrap(captured.model.openai()).chat.completions.create(model="m", messages=messages)
            content = captured.requests[0]["messages"][0]["content"]
        return "" if isinstance(content, str) else content[-1]["text"]

    return run


def tagged(context):
    return f"<qwen:user-prompt-submit-context>\n{context}\n</qwen:user-prompt-submit-context>"


@pytest.mark.parametrize("quoted", ['"$CLAUDE_PROJECT_DIR"/.claude/hook', '"${QWEN_PROJECT_DIR}/.claude/hook" --x'])
def test_a_shell_script_that_reads_json_with_sed_adds_its_output(submit, quoted):
    assert submit(SHELL, "hi there", quoted) == tagged("asked: hi there, in my project")


def test_a_python_script_adds_what_it_prints(submit):
    assert submit(PYTHON, "hi") == tagged("Project: my project")


def test_a_python_script_blocks_by_its_decision(submit):
    with pytest.raises(HookBlocked, match="Security policy violation: no secrets"):
        submit(PYTHON, "my password: hunter2")


def test_a_node_script_adds_its_additional_context(submit):
    assert submit(NODE, "deploy it") == tagged("9 characters")


def test_an_exit_2_refuses_with_what_is_on_stderr_and_an_exit_0_lets_through(submit):
    with pytest.raises(HookBlocked, match="Not on a Friday"):
        submit(EXIT_2, "deploy it")
    assert submit(EXIT_2, "hi") == ""
