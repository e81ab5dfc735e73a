"""What the demo says about leaks: it would see one."""

from __future__ import annotations

from middleware.cli.demo_turns import Send, Trail, Turn
from middleware.resume import Shown

INJECTED = "<qwen:user-prompt-submit-context>\nbranch: &lt;main&gt; is frozen\n</qwen:user-prompt-submit-context>"


def trail_with(attribute: str) -> Trail:
    trail = Trail()
    trail.injected.append(INJECTED)
    with trail.provider.get_tracer("test").start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.input.messages", attribute)
    return trail


def turn_with(*, query: str = "why?", displayed: str = "why?", answer: str = "because") -> Turn:
    send = Send(origin="user_query", trace_id=None, parts=[], span_prompt=None, recall_query=query, recalled=[])
    rows = [Shown(type="user", text=displayed, uuid="a"), Shown(type="assistant", text=answer, uuid="b")]
    return Turn(typed="why?", sends=[send], answer=answer, displayed=displayed, rows=rows)


def test_a_clean_turn_has_none() -> None:
    assert trail_with("why?").leaks([turn_with()]) == (0, 3)


def test_an_injected_line_in_a_span_is_seen_escaped_and_bare() -> None:
    assert trail_with("why?\nbranch: &lt;main&gt; is frozen").leaks([turn_with()]) == (1, 3)
    assert trail_with("why?\nbranch: <main> is frozen").leaks([turn_with()]) == (1, 3)


def test_a_tag_in_a_span_is_seen() -> None:
    assert trail_with("<qwen:user-prompt-submit-context>").leaks([turn_with()]) == (1, 3)


def test_an_injected_line_in_a_query_and_in_a_row_is_seen() -> None:
    line = "branch: <main> is frozen"
    assert trail_with("why?").leaks([turn_with(query=line, displayed=line)]) == (2, 3)


def test_what_the_model_repeats_is_no_leak() -> None:
    answer = "You said:\nbranch: <main> is frozen"
    trail = trail_with('[{"content": "You said:\\nbranch: <main> is frozen"}]')
    assert trail.leaks([turn_with(answer=answer)]) == (0, 3)
