"""Environment variables in the templates of HTTP hooks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from middleware.hooks.interpolation import interpolated, names_in


def test_a_variable_has_a_dollar_and_perhaps_braces() -> None:
    env = {"K": "v", "K_1": "w"}
    assert interpolated("$K ${K} ${K $K} $K_1 $1 $ ${} $Ké", ["K", "K_1"], env) == "v v v v w $1 $ ${} vé"
    assert interpolated("$K", ["K"], {}) == ""


def test_a_value_is_not_interpolated_again() -> None:
    assert interpolated("$A", ["A", "B"], {"A": "$B", "B": "secret"}) == "$B"


def test_the_names_of_a_template() -> None:
    assert names_in("$B ${A} $B $1") == ("B", "A")


@pytest.mark.parametrize("name", ["__proto__", "constructor", "QWEN_SERVER_TOKEN", "QWEN_CODE_PRIVATE_ACP_CAPABILITY"])
def test_some_names_are_empty_even_if_they_are_listed(name: str) -> None:
    assert interpolated(f"<${name}>", [name], {name: "v"}) == "<>"


@given(st.text(alphabet="${}AB_1 \r\n\x00é"))
def test_what_is_not_listed_never_reaches_a_header(template: str) -> None:
    made = interpolated(template, ["A"], {"A": "", "B": "secret", "A_1": "secret", "_": "secret"})
    assert "secret" not in made
    assert not set(made) & set("\r\n\0")
