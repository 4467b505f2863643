"""A server that has PyTorch imported, from which `flambeau` and `flambeau-opt` fork: their start takes seconds, most of it imports.

    subprocess.run(["bash", "-c", "flambeau compile …"], env=os.environ | {"PATH": command_path()})

A command has its arguments, folder, environment, and streams; only its imports happened before.
"""

from __future__ import annotations

import array
import atexit
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

COMMANDS = {"flambeau": "flambeau.tools.main", "flambeau-opt": "flambeau.tools.opt.driver"}
"""The modules whose function `main` each command is."""
_STREAMS = 3
_OPEN = ExitStack()
atexit.register(_OPEN.close)
_CLIENT = f"""\
#!{sys.executable} -IS
import array, json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "socket"))
asked = json.dumps([[os.path.basename(sys.argv[0]), *sys.argv[1:]], os.getcwd(), dict(os.environ)]).encode()
server.sendmsg([len(asked).to_bytes(8, "little")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", range({_STREAMS})))])
server.sendall(asked)
sys.exit(int(server.recv(16) or b"70"))
"""


def _received(client: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        data += client.recv(size - len(data))
    return data


def _run(command: list[str], folder: str, environment: dict[str, str], streams: list[int]) -> int:
    """Runs a command in this process, which was forked for it, and returns its exit status."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # another command's
    sys.argv = command
    try:
        status = sys.modules[COMMANDS[command[0]]].main()
    except SystemExit as exit:
        status = exit.code
    except BaseException:
        traceback.print_exc()
        status = 1
    if isinstance(status, str):
        print(status, file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    return int(status) if isinstance(status, int) else int(status is not None)


def _answer(client: socket.socket, child: int) -> None:
    _, ended = os.waitpid(child, 0)
    client.sendall(str(os.waitstatus_to_exitcode(ended) % 256).encode())
    client.close()


def serve(path: str) -> None:
    """Imports the commands, and forks them for whoever connects, until its standard input ends."""
    for module in (*COMMANDS.values(), "torch.export._trace", "flambeau.frontends.torch_export"):
        __import__(module)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()
    print("ready", flush=True)
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(0)), daemon=True).start()
    while True:
        client, _ = listener.accept()
        size, sent, _, _ = client.recvmsg(8, socket.CMSG_SPACE(4 * _STREAMS))
        streams = array.array("i", sent[0][2]).tolist()
        command, folder, environment = json.loads(_received(client, int.from_bytes(size, "little")))
        child = os.fork()
        if child == 0:
            listener.close()
            client.close()
            os._exit(_run(command, folder, environment, streams))
        for stream in streams:
            os.close(stream)
        threading.Thread(target=_answer, args=(client, child)).start()


@cache
def command_path() -> str:
    """Returns a PATH whose commands a server runs that ends with this process, and then those of this environment."""
    folder = _OPEN.enter_context(served_commands())
    return os.pathsep.join([str(folder), str(Path(sys.executable).parent), os.environ["PATH"]])


@contextmanager
def served_commands() -> Generator[Path]:
    """Starts a server, and gives the folder of the commands that ask it."""
    folder = Path(tempfile.mkdtemp(prefix="flambeau-commands-"))
    command = [sys.executable, __file__, str(folder / "socket")]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None and server.stdout.readline() == "ready\n"
        for name in COMMANDS:
            (folder / name).write_text(_CLIENT, "utf-8")
            (folder / name).chmod(0o755)
        yield folder
    finally:
        server.communicate()
        shutil.rmtree(folder)


if __name__ == "__main__":
    serve(sys.argv[1])
