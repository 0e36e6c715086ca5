"""Refactoring recipes for notebooks and the proof that a notebook still does what it did."""
