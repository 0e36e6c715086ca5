"""The edit engine: places SEARCH/REPLACE blocks in a text, or refuses. Pure, and cheap to import."""

from jupyter_agent.edit.engine import edit, edit_bytes, edit_text
from jupyter_agent.edit.markers import parse_blocks
from jupyter_agent.edit.model import Block, EditResult, Hunk, Tier
from jupyter_agent.errors import EditRefused, Place

__all__ = [
    "Block",
    "EditRefused",
    "EditResult",
    "Hunk",
    "Place",
    "Tier",
    "edit",
    "edit_bytes",
    "edit_text",
    "parse_blocks",
]
