"""Notebook documents: one protocol, several owners; rendering of cells and outputs; data flow between cells."""
