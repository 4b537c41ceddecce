// SPDX-License-Identifier: BSD-3-Clause
//
// A C++ program outside the tree: it composes a frame in a TX pipe of net_enso and receives the
// frame on an RX pipe, over wire=loopback. install_test.py builds and runs it.
#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_pmd_enso.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace {

constexpr uint64_t kDeadlineSeconds = 20;

// An IPv4 datagram of 46 bytes after an Ethernet header: one flit in the hardware's framing.
constexpr std::array<uint8_t, 60> kFrame = {
    2,  0, 0, 0,  0, 1, 2, 0,  0, 0, 0, 2, 8, 0, 0x45, 0, 0,  46, 0, 0,   0,   0,   64,
    17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 7, 0, 7,    0, 26, 0,  0, 'S', 'l', 'u', 'i'};

}  // namespace

int main(int argc, char** argv) {
  if (rte_eal_init(argc, argv) < 0) return 1;
  rte_pmd_enso_nb* nb = nullptr;
  rte_pmd_enso_pipe* rx = nullptr;
  rte_pmd_enso_pipe* tx = nullptr;
  if (rte_pmd_enso_nb_open(0, &nb) != 0 ||
      rte_pmd_enso_pipe_open(nb, RTE_PMD_ENSO_RX, RTE_PMD_ENSO_FALLBACK, &rx) != 0 ||
      rte_pmd_enso_pipe_open(nb, RTE_PMD_ENSO_TX, 0, &tx) != 0 ||
      rte_eth_dev_set_link_up(0) != 0) {  // Enables the wire.
    return 1;
  }
  uint8_t* room = nullptr;
  if (rte_pmd_enso_tx_room(tx, &room) < RTE_PMD_ENSO_FLIT_BYTES) return 1;
  std::copy(kFrame.begin(), kFrame.end(), room);
  if (rte_pmd_enso_send(tx, room, RTE_PMD_ENSO_FLIT_BYTES, 0) != 0) return 1;
  rte_pmd_enso_flush(nb);

  const uint64_t deadline = rte_get_tsc_cycles() + kDeadlineSeconds * rte_get_tsc_hz();
  rte_pmd_enso_span span{};
  while (rte_pmd_enso_poll(nb, &span, 1, 0) == 0 && rte_get_tsc_cycles() < deadline) {
  }
  const bool same = span.data != nullptr && std::equal(kFrame.begin(), kFrame.end(), span.data);
  if (span.data != nullptr) rte_pmd_enso_release(rx, span.bytes);
  std::puts(same ? "same bytes" : "other bytes");
  rte_pmd_enso_pipe_close(tx);
  rte_pmd_enso_pipe_close(rx);
  rte_pmd_enso_nb_close(nb);
  rte_eal_cleanup();
  return same ? 0 : 1;
}
