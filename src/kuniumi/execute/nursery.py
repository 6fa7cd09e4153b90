"""The nursery: a process with one thread, forked early, that forks the workers of an app.

In: what a worker does with its end of a line. Out: lines to new workers, and their end when it is
asked for. A fork copies locks as they are, and none of their owners but one; so it is made where no
other thread runs, and workers are made there, too, however busy the app has become.

The nursery waits for its workers, and says on a worker's line how that ended, as its last word:
neither a process the worker left behind nor a number that was given away twice can deceive anybody.
A worker leads a group of its own, which the programs that functions start are in: they end with it.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import stat
import struct
import sys
import time
import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from kuniumi.execute.frames import write_death

if TYPE_CHECKING:
    from collections.abc import Callable

    Work = Callable[[socket.socket], None]

CANCEL = signal.SIGUSR1
"""What tells a worker that nobody waits for its call any more."""

_START, _STOP, _LEAVE = b"S", b"K", b"E"
_ORDER = struct.Struct("<cId")
_MOST_LINGERING = 64
"""Workers that may clean up after a cancelled call at once, before the first of them is killed."""

_LOOK_UP = 5.0
"""Seconds after which the nursery looks whether its app is still there, whoever holds its line."""


class Nursery:
    """The app's end: asks for workers, and for their end. It must be used by one at a time."""

    def __init__(self, work: Work) -> None:
        _bury_who_has_left()
        ours, theirs = socket.socketpair()
        parent = os.getpid()
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # what waits in its buffer would be written twice
                stream.flush()
        with warnings.catch_warnings():
            # Python warns of other threads. Whoever can opens the nursery before there are any.
            warnings.simplefilter("ignore", DeprecationWarning)
            self.pid = os.fork()
        if not self.pid:
            _end_with(lambda: _Keeper(theirs, parent, work).keep())
        theirs.close()
        self._line = ours
        self._count = 0
        self.workers = 0  # not yet stopped

    def start(self) -> tuple[int, socket.socket]:
        """Give a new worker's number, and a line to it. It may be spoken to before it is there."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)  # noqa: FBT003 - the standard library's own
        try:
            self._count += 1
            order = _ORDER.pack(_START, self._count, 0)
            socket.send_fds(self._line, [order], [theirs.fileno()])
        except OSError:
            ours.close()
            raise
        finally:
            theirs.close()
        self.workers += 1
        return self._count, ours

    def stop(self, number: int, grace: float) -> None:
        """End a worker: at once, or after it was told and had its grace."""
        self.workers -= 1
        with suppress(OSError):  # the nursery is gone, and its workers with it
            self._line.sendall(_ORDER.pack(_STOP, number, grace))

    def close(self) -> None:
        """End it, and all its workers. It does so by itself: nobody waits for it here."""
        with suppress(OSError):
            self._line.sendall(_ORDER.pack(_LEAVE, 0, 0))
        self._line.close()
        _leaving.append(self.pid)
        _bury_who_has_left()

    def let_go(self) -> None:
        """Forget it, in a process that is a copy of the app's."""
        self._line.close()


_leaving: list[int] = []
"""Nurseries that were told to end, and may not have yet."""


def _bury_who_has_left() -> None:
    for pid in tuple(_leaving):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # it is somebody else's by now
            ended = pid
        if ended:
            with suppress(ValueError):  # another thread was quicker
                _leaving.remove(pid)


# ---- in the nursery ------------------------------------------------------------------------------


def _end_with(doing: Callable[[], None]) -> NoReturn:
    """Do something, and end this process whatever comes of it."""
    status = 0
    try:
        doing()
    except BaseException:  # noqa: BLE001 - it would unwind the app's own stack
        from traceback import print_exc  # noqa: PLC0415 - only now

        status = 1
        print_exc()
    finally:
        os._exit(status)


class _Child:
    """A worker, as the nursery sees it."""

    def __init__(self, pid: int, number: int, line: socket.socket) -> None:
        self.pid = pid
        self.number = number
        self.line = line  # its end, held until it has ended
        self.until = float("inf")

    def bury(self, status: int) -> None:
        """Say how it ended, and close its line, whoever else holds it."""
        flags = socket.MSG_DONTWAIT
        with suppress(OSError):  # nothing more can come in: what comes now would be lost unnoticed
            self.line.shutdown(socket.SHUT_RD)
        try:
            unread = bool(self.line.recv(1, flags | socket.MSG_PEEK))
        except OSError:
            unread = False
        with suppress(OSError):
            self.line.send(write_death(status, unread=unread), flags)
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)
        self.line.close()


class _Keeper:
    """The nursery's end: starts workers and ends them, until the app closes the line."""

    def __init__(self, line: socket.socket, parent: int, work: Work) -> None:
        self.line = line
        self.parent = parent
        self.work = work
        self.children: dict[int, _Child] = {}  # by pid
        self.lingering: list[_Child] = []
        self.orders = b""

    def keep(self) -> None:
        """Do so."""
        _leave_the_app_alone(self.line.fileno())
        bell, ring = os.pipe()
        for end in (bell, ring):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(ring, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, _take_no_notice)
        self.bell = bell
        self.poll = select.poll()  # unlike select, it takes a descriptor of any number
        for heard in (self.line.fileno(), bell):
            self.poll.register(heard, select.POLLIN)
        try:
            while self._turn():
                pass
            self._part()
        finally:
            for child in self.children.values():
                _kill(child)

    def _turn(self) -> bool:
        ready = self._wait()
        if self.line.fileno() in ready:
            return self._obey()
        return bool(ready) or os.getppid() == self.parent

    def _wait(self) -> set[int]:
        """Wait until something happens; bury whoever has ended, and end whoever had the time."""
        until = min((child.until for child in self.lingering), default=float("inf"))
        patience = min(_LOOK_UP, max(0.0, until - time.monotonic()))
        ready = {descriptor for descriptor, _ in self.poll.poll(patience * 1000)}
        if self.bell in ready:
            os.read(self.bell, 4096)
            self._reap()
        now = time.monotonic()
        for child in [child for child in self.lingering if child.until <= now]:
            self._end(child)
        return ready

    def _part(self) -> None:
        """End all workers but those that were told to end: these get the rest of their time."""
        self.poll.unregister(self.line.fileno())
        for child in self.children.values():
            if child not in self.lingering:
                _kill(child)
        while self.lingering:
            self._wait()

    def _obey(self) -> bool:
        data, lines, _, _ = socket.recv_fds(self.line, _ORDER.size, 1)
        self.orders += data
        while len(self.orders) >= _ORDER.size:
            order, number, grace = _ORDER.unpack(self.orders[: _ORDER.size])
            self.orders = self.orders[_ORDER.size :]
            if order == _START:
                self._start(number, socket.socket(fileno=lines.pop(0)))
            elif order == _LEAVE:
                return False
            else:
                self._stop(number, grace)
        return bool(data)

    def _start(self, number: int, line: socket.socket) -> None:
        try:
            pid = os.fork()
        except OSError:  # no more processes to be had
            _Child(0, number, line).bury(-signal.SIGKILL)
            return
        if not pid:
            nursery = os.getppid()
            _end_with(lambda: self._become_worker(line, nursery))
        _lead_a_group(pid)
        self.children[pid] = _Child(pid, number, line)

    def _become_worker(self, line: socket.socket, nursery: int) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _lead_a_group(0)
        _die_with(nursery)
        _be_the_first_to_go()
        for child in self.children.values():
            child.line.close()
        self.line.close()
        self.work(line)

    def _stop(self, number: int, grace: float) -> None:
        child = next((child for child in self.children.values() if child.number == number), None)
        if child is None:
            return
        if grace <= 0:
            self._end(child)
            return
        child.until = time.monotonic() + grace
        self.lingering.append(child)
        os.kill(child.pid, CANCEL)
        if len(self.lingering) > _MOST_LINGERING:
            self._end(self.lingering[0])

    def _end(self, child: _Child) -> None:
        if child in self.lingering:
            self.lingering.remove(child)
        _kill(child)

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not pid:
                return
            child = self.children.pop(pid, None)
            if child is not None:
                if child in self.lingering:
                    self.lingering.remove(child)
                _kill_group(child)
                child.bury(os.waitstatus_to_exitcode(status))


def _kill(child: _Child) -> None:
    """Kill a child that was not waited for yet: its number is still its own."""
    _kill_group(child)
    with suppress(ProcessLookupError):  # it may not have led its group yet
        os.kill(child.pid, signal.SIGKILL)


def _kill_group(child: _Child) -> None:
    """Kill what a child has started, but for what has begun a session of its own.

    A group keeps its number for as long as it has a member, also when its leader has ended.
    """
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)


def _lead_a_group(pid: int) -> None:
    """Make a worker the leader of a group; it does so itself and is made to, whoever comes first."""
    with suppress(OSError):
        os.setpgid(pid, pid)


def _take_no_notice(_signal: int, _frame: object) -> None:
    """Go on. Ignoring a signal would be passed on to the programs that a function starts."""


def _leave_the_app_alone(but: int) -> None:
    """Let go of the app's signals and of all its lines to others.

    Each descriptor is filled, not closed: an object of the app that is taken apart here later then
    closes nothing that has come to be in its place.
    """
    signal.set_wakeup_fd(-1)
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM, CANCEL):
        signal.signal(number, _take_no_notice)  # the app decides when its workers end
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    for descriptor in _descriptors():
        if descriptor <= 2 or descriptor in {but, nothing}:
            continue
        with suppress(OSError):
            mode = os.fstat(descriptor).st_mode
            if stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode):
                os.dup2(nothing, descriptor, inheritable=False)
    gc.freeze()  # no worker has to copy what it would look at in vain


def _descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/dev/fd")]  # noqa: PTH208 - names are all it takes
    except OSError:
        return list(range(256))


def _die_with(nursery: int) -> None:
    """End this process when the nursery ends, where the system can do that."""
    if sys.platform == "linux":
        import ctypes  # noqa: PLC0415 - only here

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != nursery:
        os._exit(1)


def _be_the_first_to_go() -> None:
    """Have the system take a worker, not the app, where memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # noqa: PTH123 - no path to work with
        file.write("800")
