"""What the server knows of the pages and their documents."""

from __future__ import annotations

from jupyter_agent.server.pages import Pages


async def test_n26_a_renamed_document_is_open_without_a_gap() -> None:
    """Between a page's two messages about a rename nobody may take the notebook for closed and write its file."""
    pages = Pages()
    page = pages.connect("page", lambda message: None, {"old.ipynb": {"dirty": True, "active": True}})
    pages.receive(page, {"type": "renamed", "path": "old.ipynb", "to": "new.ipynb"})
    assert pages.present_path("old.ipynb") == "new.ipynb"
    assert await pages.owner("new.ipynb") is page
    assert page.documents["new.ipynb"].dirty
    assert not pages.is_open("old.ipynb")


async def test_the_page_of_a_person_is_theirs_while_it_shows_the_document() -> None:
    pages = Pages()
    mine = pages.connect("mine", lambda message: None, {"nb.ipynb": {}})
    pages.connect("theirs", lambda message: None, {"nb.ipynb": {"active": True}})
    assert pages.shown_to("mine", "nb.ipynb") is mine
    assert pages.shown_to("mine", "other.ipynb") is None
    pages.disconnect(mine, leaving=False)
    assert pages.shown_to("mine", "nb.ipynb") is None
    assert pages.shown_to("", "nb.ipynb") is None
