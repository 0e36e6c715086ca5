"""Nothing in the chat loads from elsewhere before a person clicks it: a canary server counts what arrives."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from lab.conftest import Script
from lab.lab import Lab
from playwright.sync_api import expect

FORMS = [
    "![x]({u})",
    "![x][ref]\n\n[ref]: {u}",
    "[![x]({u})]({u})",
    "<img src={u}>",
    '<img srcset="{u} 2x">',
    "<picture><source srcset={u}><img></picture>",
    "<svg><image href={u} /></svg>",
    "<svg><use href='{u}#a'/></svg>",
    "<style>body{{background:url({u})}}</style>",
    "<div style='background:url({u})'>x</div>",
    "<link rel=stylesheet href={u}>",
    "<link rel=prefetch href={u}>",
    "<link rel=dns-prefetch href={u}>",
    "<video src={u} autoplay></video>",
    "<video poster={u}></video>",
    "<audio src={u} autoplay></audio>",
    "<iframe src={u}></iframe>",
    "<object data={u}></object>",
    "<embed src={u}>",
    "<input type=image src={u}>",
    "<body background={u}>",
    "<table background={u}><tr><td>x</td></tr></table>",
    "<script src={u}></script>",
    "<meta http-equiv=refresh content='0;url={u}'>",
    "<base href={u}>",
    "<form action={u}><button>x</button></form>",
    "<a href={u} ping={u}>x</a>",
    "<track src={u}>",
    "<frame src={u}>",
    "<img src=x onerror=\"fetch('{u}')\">",
    "$\\href{{{u}}}{{x}}$",
    "$\\includegraphics{{{u}}}$",
    "$\\style{{background:url({u})}}{{x}}$",
    "```mermaid\ngraph TD\nA[<img src={u}>]\n```",
    '```mermaid\ngraph TD\nA-->B\nclick A href "{u}"\n```',
    "```html\n<img src={u}>\n```",
    "`<img src={u}>`",
    "![x](<{u}>)",
    "![x]({u} 'title')",
    "> - ![x]({u})",
    "| a |\n|---|\n| ![x]({u}) |",
    "<math><mglyph src={u}></math>",
]


@pytest.fixture
def canary() -> Iterator[tuple[str, list[str]]]:
    """A server on this machine and the paths that were asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/gif")
            self.end_headers()

        do_POST = do_HEAD = do_OPTIONS = do_GET

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", asked
    server.shutdown()
    server.server_close()


def test_f76_no_request_without_a_click(lab: Lab, script: Script, canary: tuple[str, list[str]]) -> None:
    url, asked = canary
    text = "\n\n".join(form.format(u=f"{url}/{number}") for number, form in enumerate(FORMS))
    script({"text": text + "\n\n**the end**"})
    lab.ask("Show me")
    lab.wait_ended()
    expect(lab.panel.locator("strong", has_text="the end")).to_be_visible()
    held = lab.panel.locator(".jp-agent-heldImage")
    expect(held.first).to_be_visible()
    lab.page.wait_for_load_state("networkidle")
    assert asked == []
    held.first.click()
    expect(lab.panel.locator(f"img[src='{url}/0']")).to_have_count(1)
    lab.page.wait_for_function("url => document.querySelector(`img[src='${url}/0']`).complete", arg=url)
    assert asked == ["/0"], "the placeholder that was clicked, and no other"
