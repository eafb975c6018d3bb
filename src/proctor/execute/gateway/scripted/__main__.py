"""``python -m proctor.execute.gateway.scripted FILE [--port N]``: serves a scripted model until it is ended."""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from proctor.base.errors import ProctorError
from proctor.base.files import read_bounded
from proctor.execute.gateway.scripted.scripted_model import scripted_server

_FILE_BYTES = 1 << 20
_ENDS = (signal.SIGINT, signal.SIGTERM)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m proctor.execute.gateway.scripted", description=__doc__)
    parser.add_argument("file", type=Path, help="the YAML of the model's turns")
    parser.add_argument("--port", type=int, default=0, help="a free one when left out")
    options = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    try:
        with scripted_server(read_bounded(options.file, _FILE_BYTES), port=options.port) as url:
            print(url, flush=True)
            signal.sigwait(_ENDS)
    except ProctorError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except OSError as error:
        print(f"{options.file}: {error.strerror}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
