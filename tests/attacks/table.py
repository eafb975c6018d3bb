"""The one table of attacks on isolation."""

from __future__ import annotations

from tests.attacks.attack import Attack
from tests.attacks.on_files import FILES
from tests.attacks.on_kernel import KERNEL
from tests.attacks.on_namespaces import NAMESPACES
from tests.attacks.on_network import NETWORK
from tests.attacks.on_pid_one import PID_ONE
from tests.attacks.on_programs import STARTS
from tests.attacks.on_sockets import SOCKETS
from tests.attacks.on_system_files import SYSTEM_FILES

ATTACKS: tuple[Attack, ...] = (
    *FILES,
    *KERNEL,
    *NETWORK,
    *NAMESPACES,
    *PID_ONE,
    *SOCKETS,
    *STARTS,
    *SYSTEM_FILES,
)
