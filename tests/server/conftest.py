"""See lab.serving."""

from lab.serving import model_port, script, server

__all__ = ["model_port", "script", "server"]
