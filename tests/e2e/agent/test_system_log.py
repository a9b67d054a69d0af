"""``syslog`` for real: what arrives at the socket that the C library writes to.

That socket is /dev/log, and it is the machine's; so the log is written by a process for which a folder of ours is /dev.
"""

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """\
import sys
from ostler.agent.configuration import load
from ostler.agent.wiring import make_log
from ostler.effects import system_effects
configuration = load(None, {}, {"syslog": "true", "debug": sys.argv[1]}).configuration
log = make_log(configuration, system_effects()).bind(job_id="job_1", run_id="run_1")
log.error("fault", step=2, reason="tëxt\\nwith a line break")
log.debug("detail")
"""
_DAEMON, _ERROR, _DEBUG = 3 << 3, 3, 7


@pytest.mark.parametrize("debug", ["true", "false"])
def test_records_reach_the_systems_log(debug: str, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(tmp_path / "log"))
        log.setblocking(False)
        privately = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
        mounted = [*privately, "sh", "-c", 'mount --bind "$0" /dev && exec "$@"', str(tmp_path)]
        if subprocess.run([*mounted, "true"], check=False, capture_output=True).returncode:
            pytest.skip("this user cannot have a /dev of its own")
        written = subprocess.run([*mounted, sys.executable, "-c", CODE, debug], check=False, capture_output=True)
        assert (written.returncode, written.stderr) == (0, b"")
        first = log.recv(4096).decode()
        assert re.match(rf"<{_DAEMON + _ERROR}>.* ostler-agent\[\d+\]: ", first)
        assert json.loads(first[first.index("{") :]) == {
            "event": "fault",
            "job_id": "job_1",
            "run_id": "run_1",
            "step": 2,
            "reason": "tëxt\nwith a line break",
        }
        if debug == "true":
            assert log.recv(4096).startswith(b"<%d>" % (_DAEMON + _DEBUG))
        with pytest.raises(BlockingIOError):
            log.recv(4096)
