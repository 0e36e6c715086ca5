"""Nothing in the chat runs: payloads in replies, tool output, titles and file names."""

from __future__ import annotations

from lab.conftest import Script
from lab.lab import Lab
from playwright.sync_api import expect

TAGS = [
    "img",
    "svg",
    "body",
    "video",
    "audio",
    "iframe",
    "input",
    "details",
    "marquee",
    "math",
    "a",
    "p",
    "object",
    "embed",
    "style",
    "link",
]
EVENTS = ["onerror", "onload", "onclick", "onfocus", "onmouseover", "ontoggle", "onstart"]
OTHERS = [
    "<script>window.hit=1</script>",
    "<ScRiPt>window.hit=1</sCrIpT>",
    "<script\n>window.hit=1</script\n>",
    "[x](javascript:window.hit=1)",
    "[x](JaVaScRiPt:window.hit=1)",
    "[x](java\tscript:window.hit=1)",
    "[x](&#106;avascript:window.hit=1)",
    "[x](vbscript:x)",
    "[x](data:text/html,<script>window.hit=1</script>)",
    "<javascript:window.hit=1>",
    "![x](javascript:window.hit=1)",
    "<a href=javascript:window.hit=1>x</a>",
    "<iframe srcdoc='<script>parent.hit=1</script>'></iframe>",
    "<svg><script>window.hit=1</script></svg>",
    "<svg><a xlink:href=javascript:window.hit=1><text>x</text></a></svg>",
    "<math><a xlink:href=javascript:window.hit=1>x</a></math>",
    "<noscript><p title='</noscript><img src=x onerror=window.hit=1>'>",
    "<template><img src=x onerror=window.hit=1></template>",
    "<form><button formaction=javascript:window.hit=1>x</button></form>",
    "<a data-commandlinker-command=filebrowser:delete href=#>x</a>",
    "<button data-commandlinker-command=x>y</button>",
    "`<img src=x onerror=window.hit=1>`",
    "``<img src=x onerror=window.hit=1>",
    "```\n<img src=x onerror=window.hit=1>\n```",
    "    <img src=x onerror=window.hit=1>",
    "- item\n\n      <img src=x onerror=window.hit=1>",
    "```mermaid\ngraph TD\nA[<img src=x onerror=window.hit=1>]\n```",
    "$\\href{javascript:window.hit=1}{x}$",
    "$\\text{<img src=x onerror=window.hit=1>}$",
    "<<img src=x onerror=window.hit=1>",
    "<img src='x' onerror='window.hit=1' alt='`'>",
    "<details open ontoggle=window.hit=1><summary>x</summary></details>",
]
PAYLOADS = OTHERS + [f"<{tag} src=x {event}=window.hit=1 open tabindex=1>" for tag in TAGS for event in EVENTS]


def test_f77_nothing_runs(lab: Lab, script: Script) -> None:
    assert len(PAYLOADS) >= 100
    text = "\n\n".join(PAYLOADS)
    name = "<img src=x onerror=window.hit=1>"
    script(
        {"thinking": text, "text": text, "calls": [{"name": "read_file", "arguments": {"path": name}}]},
        {"text": "**the end**"},
    )
    lab.ask(f"{name} javascript:window.hit=1")
    lab.wait_ended()
    expect(lab.panel.locator("strong", has_text="the end")).to_be_visible()
    for head in lab.panel.locator(".jp-agent-toolHead, .jp-agent-thinking summary").all():
        head.click()
    for link in lab.panel.locator(".jp-agent-markdown a").all():
        href = link.get_attribute("href")
        assert href is None or href.startswith(("http://", "https://", "mailto:")), href
    attributes = lab.panel.evaluate(
        "panel => [...panel.querySelectorAll('.jp-agent-markdown *')].flatMap(e => e.getAttributeNames())"
    )
    assert not [
        name for name in attributes if name.startswith("on") or "commandlinker" in name or name in ("srcdoc", "action")
    ]
    assert lab.panel.locator(".jp-agent-markdown").locator("script, iframe, object, embed, form, style").count() == 0
    assert lab.page.evaluate("() => window.hit") is None
