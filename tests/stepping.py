"""A child process that is stopped before each of its system calls: raced, failed or killed there.

What a fault does can so be tried at every place there is, not only where the code has a hook.
"""

import ctypes
import errno
import os
import platform
import signal
import sys
import traceback

import pytest

_TRACEME, _PEEKUSER, _POKEUSER, _CONT, _SYSCALL, _SETOPTIONS = 0, 3, 6, 7, 24, 0x4200
_GOOD, _EXITKILL = 0x1, 0x100000
_WALL = 0x40000000
_ORIG_RAX, _RAX = 120, 80

_NUMBERS = """
    read=0 write=1 close=3 stat=4 fstat=5 lstat=6 lseek=8 pread64=17 pwrite64=18 dup=32 fcntl=72
    fsync=74 fdatasync=75 rename=82 link=86 unlink=87 chmod=90 fchmod=91 chown=92 fchown=93
    setxattr=188
    lsetxattr=189 fsetxattr=190 getxattr=191 lgetxattr=192 fgetxattr=193 listxattr=194
    llistxattr=195 flistxattr=196 removexattr=197 fremovexattr=199 getdents64=217 openat=257
    fchownat=260 newfstatat=262 unlinkat=263 renameat=264 linkat=265 fchmodat=268 renameat2=316
"""
FILE_CALLS = {int(number): name for name, number in (pair.split("=") for pair in _NUMBERS.split())}
"""Calls about files, by their numbers on x86-64."""

CAN_FAIL = sys.platform == "linux" and platform.machine() == "x86_64"


class Stepped:
    """A child that does `work` and stops before each system call; use it in a `with`.

    It ends with 0 when the work is done, and with 1 when it raised; what it raised is on stderr
    unless it is one of `expected`.
    """

    def __init__(self, work, expected=()):
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.ptrace.restype = ctypes.c_long
        self._libc.ptrace.argtypes = (
            ctypes.c_long,
            ctypes.c_long,
            ctypes.c_void_p,
            ctypes.c_void_p,
        )
        self.calls = 0
        self._inside = False
        self.status = None
        self.pid = os.fork()
        if self.pid == 0:
            self._child(work, expected)
        os.waitpid(self.pid, _WALL)
        self._ptrace(_SETOPTIONS, 0, _GOOD | _EXITKILL)

    def _child(self, work, expected):
        code = 1
        try:
            self._libc.ptrace(_TRACEME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            code = 0
        except expected:
            pass
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def to_call(self, number):
        """Run to just before the system call of this number, from 0; False when it ended first."""
        while self.calls <= number:
            if self._inside and not self._go_on():  # the end of the call before
                return False
            if not self._go_on():
                return False
            self._inside = True
            self.calls += 1
        return True

    def name(self):
        """Return the name of the call that it stands before, if it is one about files."""
        return FILE_CALLS.get(self._ptrace(_PEEKUSER, _ORIG_RAX, 0))

    def fail(self, number):
        """Have the call that it stands before fail with an error, without being done."""
        self._ptrace(_POKEUSER, _ORIG_RAX, -1)
        assert self._go_on()
        self._ptrace(_POKEUSER, _RAX, -number)
        self._inside = False

    def end(self):
        """Let it run to its end; return its exit status."""
        while self._go_on(_CONT):
            pass
        return os.waitstatus_to_exitcode(self.status)

    def kill(self):
        """Kill it where it stands."""
        if self.status is None:
            os.kill(self.pid, signal.SIGKILL)
            _, self.status = os.waitpid(self.pid, _WALL)
            while os.WIFSTOPPED(self.status):
                _, self.status = os.waitpid(self.pid, _WALL)

    def _go_on(self, how=_SYSCALL):
        if self.status is not None:
            return False
        passed = 0
        while True:
            self._ptrace(how, 0, passed)
            _, status = os.waitpid(self.pid, _WALL)
            if not os.WIFSTOPPED(status):
                self.status = status
                return False
            if os.WSTOPSIG(status) == signal.SIGTRAP | 0x80:
                return True
            passed = os.WSTOPSIG(status)

    def _ptrace(self, request, address, data):
        ctypes.set_errno(0)
        answer = self._libc.ptrace(request, self.pid, address, data)
        if answer == -1 and ctypes.get_errno():
            number = ctypes.get_errno()
            raise OSError(number, f"ptrace: {os.strerror(number)}")
        return answer


def can_step():
    """Tell whether a process may be traced here."""
    if sys.platform != "linux":
        return False
    try:
        with Stepped(lambda: None) as child:
            return child.to_call(0)
    except (OSError, ChildProcessError) as error:
        if error.errno in (errno.EPERM, errno.ENOSYS, errno.ECHILD, errno.ESRCH):
            return False
        raise


def require_stepping():
    """Skip a module of tests where no process may be traced."""
    if not can_step():
        pytest.skip("no process may be traced here", allow_module_level=True)
