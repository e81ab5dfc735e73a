"""The type checker keeps model-bound text away from recall."""

import subprocess
import sys

PROGRAM = """
from middleware.parts import ModelBoundText, PreInjectionText
from middleware.turn import Recall

Recall(query={argument})
"""


def mypy(tmp_path, argument):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(argument=argument))
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--config-file=", str(program)]
    return subprocess.run(command, capture_output=True, text=True).stdout


def test_the_text_from_before_injection_type_checks(tmp_path):
    assert mypy(tmp_path, 'PreInjectionText("hi")') == ""


def test_model_bound_text_does_not_type_check(tmp_path):
    assert '"Recall" has incompatible type "ModelBoundText"; expected "PreInjectionText"' in mypy(
        tmp_path, 'ModelBoundText("hi")'
    )


def test_a_plain_string_does_not_type_check(tmp_path):
    assert '"Recall" has incompatible type "str"; expected "PreInjectionText"' in mypy(tmp_path, '"hi"')
