"""The look of an exported page: light and dark, from a phone's width up, nothing fetched."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root {
  --page: #fbfaf8; --ink: #1d1c1a; --soft: #6c6862; --rule: #e2ded7; --card: #fff; --code: #f3f0ea;
  --you: #0b6b50; --you-back: #eef7f2; --tool: #8a5a00; --note: #2f5fb3; --bad: #b3261e;
  --hook: #9c2c86; --memory: #0a6c80; --sub: #6546b8; --session: #8f5d00; --sent: #5d6470;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #16171a; --ink: #e8e6e1; --soft: #9b978f; --rule: #303237; --card: #1d1f23; --code: #23252a;
    --you: #58cfa4; --you-back: #18271f; --tool: #e2b04f; --note: #85abf2; --bad: #f28b82;
    --hook: #ea8fd5; --memory: #5fc9de; --sub: #b39df5; --session: #e3b665; --sent: #a7aebb;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; max-width: 50rem; padding: 1.5rem 1rem 4rem; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
  -webkit-text-size-adjust: 100%; text-size-adjust: 100%;
}
header { border-bottom: 1px solid var(--rule); margin-bottom: 1.5rem; padding-bottom: 1rem; }
h1 { font-size: 1.45rem; line-height: 1.25; margin: 0 0 .6rem; overflow-wrap: anywhere; unicode-bidi: isolate; }
.facts { list-style: none; display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; margin: 0; padding: 0; }
.facts, .legend, footer, .note { color: var(--soft); font-size: .85rem; overflow-wrap: anywhere; }
.legend { margin: .5rem 0 0; }
.legend span { font-weight: 600; }
article { margin: 0 0 1.1rem; scroll-margin-top: 1rem; contain-intrinsic-size: auto 6rem; }
article:target { outline: 2px solid var(--note); outline-offset: 6px; border-radius: 6px; }
.who { display: flex; align-items: baseline; gap: .6rem; margin-bottom: .15rem; }
h2 { font-size: .82rem; font-weight: 650; margin: 0; color: var(--soft); }
h3 { font-size: .75rem; font-weight: 600; margin: .6rem 0 .2rem; color: var(--soft); }
.model { color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
.when {
  margin-left: auto; color: var(--soft); font-size: .78rem; text-decoration: none; font-variant-numeric: tabular-nums;
}
.when:hover { text-decoration: underline; }
.user {
  background: var(--you-back); border-left: 4px solid var(--you); border-radius: 0 8px 8px 0; padding: .7rem .9rem;
  margin-top: 1.9rem;
}
.user h2 { color: var(--you); }
.notification h2 { color: var(--note); }
.notification, .system {
  color: var(--soft); border-left: 2px solid var(--rule); padding-left: .9rem; font-size: .92rem;
}
.blocked { border-left-color: var(--bad); }
.blocked h2 { color: var(--bad); }
.text, .pre { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.pre, code {
  font-family: ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .86em;
}
.text code { background: var(--code); border-radius: 4px; padding: .05em .3em; }
.pre { background: var(--code); border-radius: 6px; padding: .55rem .7rem; margin: .4rem 0; line-height: 1.45; }
summary { cursor: pointer; overflow-wrap: anywhere; }
summary:focus-visible, .when:focus-visible { outline: 2px solid var(--note); outline-offset: 2px; border-radius: 4px; }
.size { color: var(--soft); font-size: .8rem; white-space: nowrap; font-weight: 400; }
.call { border: 1px solid var(--rule); background: var(--card); border-radius: 8px; padding: .4rem .7rem; }
.call > summary { font-size: .92rem; }
.call > summary b { color: var(--tool); font-weight: 600; }
.call > summary code { color: var(--soft); unicode-bidi: isolate; }
.tool + .tool { margin-top: -.6rem; }
.added { border: 1px dashed; border-radius: 8px; padding: .3rem .7rem; margin-top: .55rem; font-size: .88rem; }
.added > summary b { font-weight: 600; }
.added > summary ~ * { color: var(--ink); }
.by-hook { color: var(--hook); } .by-memory { color: var(--memory); } .by-subagent-hook { color: var(--sub); }
.by-session-hook { color: var(--session); } .sent { color: var(--sent); }
.long > summary { list-style: none; }
.long > summary::-webkit-details-marker { display: none; }
.more { color: var(--note); font-size: .85rem; display: block; }
.more::before { content: "\\25b8\\a0"; }
.long[open] > summary .more::before { content: "\\25be\\a0"; }
.long[open] > summary .glimpse { display: none; }
.glimpse { display: block; }
.hidden {
  font: 600 .72em ui-monospace, Menlo, Consolas, monospace; color: var(--bad); border: 1px solid; border-radius: 3px;
  padding: 0 .25em; margin: 0 .1em; white-space: nowrap; unicode-bidi: isolate; direction: ltr;
}
img { display: block; max-width: 100%; height: auto; border-radius: 6px; margin: .5rem 0; }
footer { border-top: 1px solid var(--rule); margin-top: 2.5rem; padding-top: .8rem; }
@media (min-width: 46rem) { body { padding: 2.5rem 2rem 5rem; } }
@media print { body { max-width: none; } .when { display: none; } }
"""
