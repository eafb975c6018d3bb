"""The one table of attacks on isolation."""

from __future__ import annotations

from tests.attacks.attack import Attack
from tests.attacks.on_files import FILES
from tests.attacks.on_kernel import KERNEL
from tests.attacks.on_network import NETWORK

ATTACKS: tuple[Attack, ...] = (*FILES, *KERNEL, *NETWORK)
