"""ExecuTorch's developer tools without PyTorch: the Inspector, and the values that an ETDump logs."""

from flambeau.runtime.inspector.event_blocks import Event, EventBlock, Inspector, PerfData, TimeScale
from flambeau.runtime.inspector.logged_values import LoggedCall, logged_calls

__all__ = ["Event", "EventBlock", "Inspector", "LoggedCall", "PerfData", "TimeScale", "logged_calls"]
