# SPDX-License-Identifier: BSD-3-Clause
"""Reads a GPU's PCIe link and the counters of its traffic from NVIDIA's management library (NVML),
if the host has this library. nvml.h documents the functions and their numbers."""
import ctypes
import threading
from statistics import median

LIBRARY = "libnvidia-ml.so.1"
# nvmlPcieUtilCounter_t: bytes that the GPU sends, and bytes that it receives.
COUNTERS = {"to_host": 0, "from_host": 1}
# nvmlDeviceGetPcieThroughput counts for 20 ms and returns KB/s.
BITS_PER_KB = 8000
JOIN_S = 1  # A window ends sooner unless the GPU does not respond.


class Link:
    """The PCIe link of a GPU. Its numbers are None if the library or the GPU does not provide
    them."""

    def __init__(self, index=0):
        """`index` is NVML's, which orders GPUs by their PCI addresses."""
        self.device = ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL(LIBRARY)
        except OSError:
            self.library = None
        if self.library and not (self.call("nvmlInit_v2") and self.call(
                "nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(self.device))):
            self.library = None

    def call(self, name, *arguments):
        """Returns whether the library has the function and the function succeeds."""
        function = getattr(self.library, name, None)
        return function is not None and function(*arguments) == 0

    def number(self, name, *arguments):
        value = ctypes.c_uint()
        read = self.library and self.call(name, self.device, *arguments, ctypes.byref(value))
        return value.value if read else None

    def state(self):
        """Returns the current generation and width: an idle link may have a lower generation."""
        return {"generation": self.number("nvmlDeviceGetCurrPcieLinkGeneration"),
                "width": self.number("nvmlDeviceGetCurrPcieLinkWidth")}

    def rate(self, counter):
        """Returns Gb/s in one window, in which the calling thread waits."""
        kilobytes = self.number("nvmlDeviceGetPcieThroughput", ctypes.c_int(counter))
        return None if kilobytes is None else kilobytes * BITS_PER_KB / 1e9


class Sampler:
    """Samples a link in a thread while the `with` block runs."""

    def __init__(self, link):
        self.link = link
        self.rates = {name: [] for name in COUNTERS}
        self.states = []
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.sample, daemon=True)

    def __enter__(self):
        if self.link.library:
            self.thread.start()
        return self

    def __exit__(self, *failure):
        self.ended.set()
        if self.link.library:
            self.thread.join(JOIN_S)

    def sample(self):
        while not self.ended.is_set():
            found = {name: self.link.rate(counter) for name, counter in COUNTERS.items()}
            self.states.append(self.link.state())
            if None in found.values():  # The GPU has no counters, so there is nothing to wait for.
                return
            for name, rate in found.items():
                self.rates[name].append(rate)

    def found(self):
        """Returns the state of the link and its rates in Gb/s; empty if nothing was read."""
        known = [state for state in self.states if None not in state.values()]
        best = max(known, key=lambda state: state["generation"], default={})
        return best | {f"{name}_gbps": loaded(rates) for name, rates in self.rates.items() if rates}


def loaded(rates):
    """Returns the median of the windows with at least half of the highest rate, because a program
    also starts and ends while it is sampled."""
    return median(rate for rate in rates if rate >= max(rates) / 2)
