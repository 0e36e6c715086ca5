"""The Jupyter Server extension: conversations over HTTP and a websocket, documents and kernels of that server."""
