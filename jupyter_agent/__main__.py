"""`python -m jupyter_agent` is the command line."""

from jupyter_agent.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
