"""Notebook documents: one protocol, several owners; rendering of cells and outputs; data flow between cells."""

from jupyter_agent.notebook.opening import open_notebook

__all__ = ["open_notebook"]
