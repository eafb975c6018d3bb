"""The formats of the export by name: those of contracts, and those of runs."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from proctor.author.export import atif, harbor_job, harbor_tasks, inspect_log, otel, swebench_results, swebench_tasks
from proctor.author.export.interface import ContractFormat, RunFormat

CONTRACT_FORMATS: Mapping[str, ContractFormat] = MappingProxyType(
    {one.name: one for one in (swebench_tasks.FORMAT, harbor_tasks.FORMAT)}
)
RUN_FORMATS: Mapping[str, RunFormat] = MappingProxyType(
    {
        one.name: one
        for one in (swebench_results.FORMAT, harbor_job.FORMAT, atif.FORMAT, inspect_log.FORMAT, otel.FORMAT)
    }
)
