"""Files: paths inside the root, regular files only, a read ledger, atomic compare-and-swap writes as effects."""

from jupyter_agent.workspace.ledger import Ledger, describe, line_count
from jupyter_agent.workspace.protected import TAMPERING
from jupyter_agent.workspace.workspace import FileContent, Workspace
from jupyter_agent.workspace.writing import Written

__all__ = ["TAMPERING", "FileContent", "Ledger", "Workspace", "Written", "describe", "line_count"]
