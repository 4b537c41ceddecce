// SPDX-License-Identifier: BSD-3-Clause
//
// The NIC's side of a window, in a separate process. It answers swaps at the window in the
// inherited file until its standard input ends.
//
//  usage: net_ipu_window_peer FD LINES
#include <poll.h>
#include <rte_bus_vdev.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "../eal_run.h"
#include "c_window.h"

using namespace sluice::net_ipu::test;  // NOLINT: this program belongs to that namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const sluice::EalRun eal(argv[0], {"--no-huge", "-m", "64", "--no-pci", "--no-telemetry", "-l",
                                     "0", "--log-level=error"});
  uint16_t id;
  if (!eal.started() || rte_vdev_init("net_ipu0", "") != 0 ||
      rte_eth_dev_get_port_by_name("net_ipu0", &id) != 0) {
    return 3;
  }
  rte_pmd_ipu_window_conf conf{};
  conf.backend = RTE_PMD_IPU_SHM;
  conf.fd = std::atoi(argv[1]);
  conf.lines = static_cast<uint32_t>(std::atoi(argv[2]));
  conf.nic_side = true;
  rte_pmd_ipu_window* window;
  if (rte_pmd_ipu_window_open(id, &conf, &window) != 0) return 4;
  CWindow end(window, conf.lines);
  sluice::swap::ResponderPort<CWindow> port(end, 0, NewResponder());
  Increment resource;
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  while (poll(&input, 1, 0) == 0) {
    port.Poll(resource);
    sched_yield();  // The other end may be on the same processor.
  }
  rte_pmd_ipu_window_close(window);
  return 0;
}
