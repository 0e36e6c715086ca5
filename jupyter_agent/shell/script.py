"""What bash is told: the command, and the report of its final folder and exported variables. Pure text.

The command comes through a descriptor, so that its length has no limit and nobody's process list shows it.
"""

from __future__ import annotations

from collections.abc import Mapping

SCRIPT_FD = 197
STATE_FD = 198

# Builtins only: the command may have changed PATH. The report is made at the end of the command or from the EXIT trap,
# which the command may take for itself; a command that replaces the shell (`exec`) leaves no report, and then the state
# stays as it was. All of it is on one line, so that bash counts the command's lines from 1.
PROLOGUE = " ".join(
    f"""
__jupyter_agent_state() {{
  [[ -n ${{__jupyter_agent_reported-}} ]] && return;
  __jupyter_agent_reported=1;
  {{
    local IFS=$'\\n' name;
    printf '%s\\0' "$PWD";
    for name in $(compgen -e); do printf '%s=%s\\0' "$name" "${{!name-}}"; done;
  }} >&{STATE_FD};
}} 2>/dev/null;
trap __jupyter_agent_state EXIT;
IFS= read -r -d '' __jupyter_agent_command <&{SCRIPT_FD};
exec {SCRIPT_FD}<&-;
eval "$__jupyter_agent_command";
__jupyter_agent_status=$?;
__jupyter_agent_state;
exit $__jupyter_agent_status
""".split()
)

NOT_INTERACTIVE: Mapping[str, str] = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "MANPAGER": "cat",
    "SYSTEMD_PAGER": "cat",
    "EDITOR": "true",
    "VISUAL": "true",
    # Vim without a terminal waits for keys on standard error; batch use (`-es`, `-c wq`) ends before or is not "n".
    "VIMINIT": 'autocmd VimEnter * if !has("ttyin") && mode() ==# "n" | cquit | endif',
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "true",
    "SSH_ASKPASS": "true",
    "SSH_ASKPASS_REQUIRE": "never",
    "SUDO_ASKPASS": "/bin/false",
    "GCM_INTERACTIVE": "never",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
    "PYTHONUNBUFFERED": "1",
}
"""Nobody can answer: programs that would ask or page give up or go on instead (fault f25)."""

_OWN = ("JUPYTER_AGENT_COMMAND", "SHLVL", "_", "PWD", "OLDPWD", "BASHOPTS", "SHELLOPTS")


def arguments(bash: str) -> list[str]:
    """The argument vector that runs what `SCRIPT_FD` holds."""
    return [bash, "--noprofile", "--norc", "-c", PROLOGUE, "bash"]


def parse_state(state: str) -> tuple[str, dict[str, str]] | None:
    """(folder, exported variables) as the command left them, or None when it reported nothing whole."""
    if not state.endswith("\0"):
        return None
    folder, *pairs = state[:-1].split("\0")
    variables = dict(pair.partition("=")[::2] for pair in pairs)
    if not folder.startswith("/"):
        return None
    return folder, {name: value for name, value in variables.items() if name and name not in _OWN}
