"""What a forked copy of a process does: it cuts itself off, runs code and writes what that shows to a pipe.

The other half of `forked.py`, sent to kernels with it: standard library only, Python 3.9 and later, Linux only.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import gc
import io
import json
import os
import re
import resource
import signal
import stat
import sys
import threading
import time
from typing import Any

COPIED = 256 * 2**20
"""Bytes of one shared mapping without a file that are copied; beyond it the code is not run."""
_SHARED = re.compile(r"^\S+ rw-s.*$", re.MULTILINE)
_LIBRARY = re.compile(r"/[^\n]*\.so[^\n]*")
_POOLS = re.compile("gomp|iomp|libomp|openblas|mkl_rt|blis")
LATE = 5
"""Seconds after which a copy that outlives its time ends itself."""


def become_copy(
    random: Any, shell: Any, code: str, seconds: float, memory: int, parent: int, writers: list[int]
) -> None:
    """Everything that the copy does, right after the fork. Never returns: it leaves without anybody's clean-up.

    `random` is the state of Python's generator, which every fork starts anew otherwise. `writers` are the pipes for
    messages, descriptor 1 and descriptor 2; `parent` is the process, beyond whose memory `memory` bytes are allowed.
    The process ends its copy after `seconds`; should it miss that, a timer does.
    """
    status, reason = "dead", ""
    out = None
    try:
        gc.freeze()
        out = _Out(writers[0])
        mappings = _mappings()
        if random is not None:
            sys.modules["random"].setstate(random)
        reason = _set_apart(parent, writers, seconds, memory, mappings)
        if reason:
            status = "refused"
        else:
            _show_through(shell, out)
            _one_thread(mappings)
            status = _run(shell, code)
    except MemoryError:
        status, reason = "dead", "the copy reached its limit of memory"
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
    try:
        if out is not None:
            out.flush()
            out.put({"type": "end", "status": status, "reason": reason})
            # The process ends us, and what we have started, when it has read that.
            time.sleep(LATE)
    finally:
        os._exit(0)


def _mappings() -> str:
    """/proc/self/maps: a line a mapping, with span, permissions, offset, device, inode, and its path if it has one."""
    with open("/proc/self/maps") as file:
        return file.read()


class _Out:
    """The pipe of messages. Text is held back to the end of a line, so that many small writes are few messages."""

    def __init__(self, writer: int) -> None:
        self._writer = writer
        self._lock = threading.RLock()
        self._name = ""
        self._text: list[str] = []

    def put(self, message: dict[str, Any]) -> None:
        data = json.dumps(message, default=repr).encode() + b"\n"
        with self._lock:
            while data:
                data = data[os.write(self._writer, data) :]

    def send(self, kind: str, content: dict[str, Any]) -> None:
        with self._lock:
            self.flush()
            self.put({"type": kind, "content": content})

    def text(self, name: str, text: str) -> None:
        with self._lock:
            if name != self._name:
                self.flush()
                self._name = name
            self._text.append(text)
            if "\n" in text or len(self._text) > 1000:
                self.flush()

    def flush(self) -> None:
        with self._lock:
            text, self._text = "".join(self._text), []
            if text:
                self.put({"type": "stream", "content": {"name": self._name, "text": text}})


class _Stream(io.TextIOBase):
    """`sys.stdout` or `sys.stderr` of the copy."""

    encoding = "utf-8"
    errors = "backslashreplace"

    def __init__(self, out: _Out, name: str, number: int) -> None:
        self._out, self.name, self._number = out, name, number

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._out.text(self.name, text)
        return len(text)

    def flush(self) -> None:
        self._out.flush()


def _set_apart(parent: int, writers: list[int], seconds: float, memory: int, mappings: str) -> str:
    """Cut the copy off from the process. A sentence where that is not possible."""
    libc = ctypes.CDLL(None, use_errno=True)
    os.setpgid(0, 0)
    libc.prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG: gone with the kernel
    if os.getppid() != parent:
        os._exit(0)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    signal.set_wakeup_fd(-1)
    for number, handler in (
        (signal.SIGINT, signal.default_int_handler),
        (signal.SIGTERM, signal.SIG_DFL),
        (signal.SIGCHLD, signal.SIG_DFL),
    ):
        signal.signal(number, handler)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(min(int(seconds) + LATE, 2**31 - 1))
    reason = _own_mappings(libc, mappings)
    if reason:
        return reason
    _own_descriptors(writers)
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = size + memory
    resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    return ""


def _own_descriptors(writers: list[int]) -> None:
    """Files are opened anew, so that reading moves no offset of the process; what is written to handles of the process
    is dropped (its buffers were copied, too). Sockets, pipes and event queues lead nowhere from now on."""
    null = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        if number in (1, 2, null, *writers):
            continue
        try:
            mode, link = os.fstat(number).st_mode, os.readlink(f"/proc/self/fd/{name}")
            if stat.S_ISREG(mode):
                _reopen(number, null)
            elif number == 0 or not (stat.S_ISDIR(mode) or stat.S_ISBLK(mode) or link in _HARMLESS):
                os.dup2(null, number)
        except OSError:
            continue
    os.dup2(null, 0)
    os.dup2(writers[1], 1)
    os.dup2(writers[2], 2)


_HARMLESS = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")


def _reopen(number: int, null: int) -> None:
    import fcntl

    readable = fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE != os.O_WRONLY
    if not readable:
        os.dup2(null, number)
        return
    offset = os.lseek(number, 0, os.SEEK_CUR)
    try:
        fresh = os.open(f"/proc/self/fd/{number}", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        os.dup2(null, number)
        return
    os.lseek(fresh, offset, os.SEEK_SET)
    os.dup2(fresh, number)
    os.close(fresh)


def _own_mappings(libc: Any, mappings: str) -> str:
    """Memory shared for writing (np.memmap, shared_memory) becomes private. A sentence where it is too large."""
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    private, fixed, anonymous, read_write = 2, 16, 32, 3
    for line in _SHARED.findall(mappings):
        span, _, offset, _, inode, *rest = line.split(None, 5)
        start, end = (int(part, 16) for part in span.split("-"))
        path = rest[0] if rest else ""
        handle = _same_file(path, int(inode))
        if handle >= 0:
            libc.mmap(start, end - start, read_write, private | fixed, handle, int(offset, 16))
            os.close(handle)
            continue
        if end - start > COPIED:
            size = (end - start) // 2**20
            return f"this kernel shares {size} MB of memory with another process, and a copy would write to it"
        content = ctypes.string_at(start, end - start)
        libc.mmap(start, end - start, read_write, private | fixed | anonymous, -1, 0)
        ctypes.memmove(start, content, end - start)
    return ""


def _same_file(path: str, inode: int) -> int:
    """A descriptor of the file that a mapping shows, -1 where it is gone."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC) if path.startswith("/") else -1
    except OSError:
        return -1
    if handle >= 0 and os.fstat(handle).st_ino != inode:
        os.close(handle)
        return -1
    return handle


def _one_thread(mappings: str) -> None:
    """Pools of OpenMP and of BLAS have lost their threads: from now on they use the one that there is."""
    for path in set(_LIBRARY.findall(mappings)):
        if not _POOLS.search(os.path.basename(path)):
            continue
        with contextlib.suppress(OSError):
            library = ctypes.CDLL(path)
            for prefix in ("omp_set", "openblas_set", "scipy_openblas_set", "MKL_Set", "bli_thread_set"):
                for suffix in ("", "64_"):
                    with contextlib.suppress(AttributeError):
                        setter = getattr(library, f"{prefix}_num_threads{suffix}")
                        setter.argtypes, setter.restype = [ctypes.c_int], None
                        setter(1)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[variable] = "1"
    torch = sys.modules.get("torch")
    if torch is not None:
        with contextlib.suppress(Exception):
            torch.set_num_threads(1)


def _show_through(shell: Any, out: _Out) -> None:
    """Streams, displays, results and tracebacks of the shell go to the pipe; nobody can be asked for input."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = _Stream(out, name, number)
        old = getattr(sys, name)
        setattr(sys, name, stream)
        # Loggers hold the old one.
        with contextlib.suppress(Exception):
            old.write, old.flush = stream.write, stream.flush

    hook = shell.displayhook

    def publish(data: Any, metadata: Any = None, *args: Any, **kwargs: Any) -> None:
        content = {"data": _encoded(data), "metadata": metadata or {}, "transient": kwargs.get("transient") or {}}
        out.send("update_display_data" if kwargs.get("update") else "display_data", content)

    def clear_output(wait: bool = False) -> None:
        out.send("clear_output", {"wait": wait})

    def result(format_dict: Any, md_dict: Any = None) -> None:
        count = hook.prompt_count
        out.send("execute_result", {"data": _encoded(format_dict), "metadata": md_dict or {}, "execution_count": count})

    def traceback(etype: Any, evalue: Any, stb: Any) -> None:
        lines = [str(line) for line in stb] if isinstance(stb, (list, tuple)) else [str(stb)]
        try:
            text = str(evalue)
        except Exception:
            text = ""
        out.send("error", {"ename": etype.__name__, "evalue": text, "traceback": lines})

    def nothing(*args: Any, **kwargs: Any) -> None:
        return None

    shell.display_pub.publish, shell.display_pub.clear_output = publish, clear_output
    hook.write_format_data = result
    hook.start_displayhook = hook.write_output_prompt = hook.finish_displayhook = nothing
    shell._showtraceback = traceback
    kernel = getattr(shell, "kernel", None)
    session = getattr(kernel, "session", None)
    if session is not None:
        session.send = nothing
    _no_input()
    _plots_inline()


def _no_input() -> None:
    import builtins
    import getpass

    class StdinNotImplementedError(RuntimeError):
        pass

    def refuse(*args: Any, **kwargs: Any) -> str:
        raise StdinNotImplementedError("scratch code does not support input requests.")

    builtins.input = refuse
    getpass.getpass = refuse


INLINE = "module://matplotlib_inline.backend_inline"


def _plots_inline() -> None:
    """A window of the process cannot be drawn into from here: plots come back as images."""
    os.environ["MPLBACKEND"] = INLINE
    pyplot, matplotlib = sys.modules.get("matplotlib.pyplot"), sys.modules.get("matplotlib")
    with contextlib.suppress(Exception):
        if pyplot is not None and "inline" not in str(matplotlib.get_backend()):  # type: ignore[union-attr]
            pyplot.switch_backend(INLINE)
        elif matplotlib is not None and pyplot is None:
            matplotlib.use(INLINE)


def _run(shell: Any, code: str) -> str:
    """The code on an event loop of its own, as the shell runs a cell."""
    import asyncio

    _leave_loop(asyncio)
    # The lists of the history are the copy's own; into its database the copy writes nothing.
    history = shell.history_manager
    history.db_input_cache_lock, history.db_output_cache_lock = threading.Lock(), threading.Lock()
    history.using_thread = False
    transformed, failed = code, None
    try:
        transformed = shell.transform_cell(code)
    except Exception:
        failed = sys.exc_info()

    async def cell() -> Any:
        result = await shell.run_cell_async(
            code, store_history=True, silent=False, transformed_cell=transformed, preprocessing_exc_tuple=failed
        )
        shell.events.trigger("post_execute")
        inline = sys.modules.get("matplotlib_inline.backend_inline")
        if inline is not None:
            inline.flush_figures()
        return result

    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    result = loop.run_until_complete(cell())
    failed_at_all = result.error_before_exec is not None or result.error_in_exec is not None
    return "error" if failed_at_all else "ok"


def _leave_loop(asyncio: Any) -> None:
    """The loop that the fork happened in belongs to the process."""
    loop = asyncio._get_running_loop()
    if loop is not None:
        with contextlib.suppress(Exception):
            task = asyncio.current_task(loop)
            if task is not None:
                asyncio.tasks._leave_task(loop, task)
    asyncio._set_running_loop(None)


def _encoded(data: Any) -> dict[str, Any]:
    """A MIME bundle as messages carry it: bytes in base64."""
    return {
        str(mime): base64.b64encode(value).decode("ascii") if isinstance(value, bytes) else value
        for mime, value in dict(data).items()
    }
