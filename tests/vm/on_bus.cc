// SPDX-License-Identifier: BSD-3-Clause
//
// on_bus DEED EAL-ARGUMENTS: uses a NIC on a PCI bus in ways that standard programs do not, or do
// not use often enough to be counted. Exits with 0, or prints the failed check and exits with 1.
//
//   faults    a frame at an address that the IOMMU does not map is a counted fault of net_ipu;
//             later frames pass
//   sleeps    waits for each frame by an interrupt of its queue
//   echoes=N  echoes N frames, prints a line, and echoes more until SIGTERM
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_interrupts.h>
#include <rte_mbuf.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>

namespace {

using Clock = std::chrono::steady_clock;
constexpr uint16_t kPort = 0;
constexpr uint16_t kBurst = 32;
constexpr std::chrono::seconds kPatience(120);
volatile std::sig_atomic_t ended = 0;

[[noreturn]] __attribute__((format(printf, 1, 2))) void Fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(stderr, format, arguments);
  va_end(arguments);
  std::fputc('\n', stderr);
  std::exit(1);
}

void Check(int result, const char* what) {
  if (result < 0) Fail("%s: %s", what, rte_strerror(-result));
}

void WaitUntil(const std::function<bool()>& condition, const char* what) {
  const auto end = Clock::now() + kPatience;
  while (!condition()) {
    if (Clock::now() > end) Fail("timeout: %s", what);
  }
}

rte_mempool* StartPort(bool interrupts = false) {
  rte_mempool* const pool =
      rte_pktmbuf_pool_create("frames", 4095, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
  if (pool == nullptr) Fail("no memory for frames");
  rte_eth_conf conf{};
  conf.intr_conf.rxq = interrupts;
  Check(rte_eth_dev_configure(kPort, 1, 1, &conf), "configure");
  Check(rte_eth_rx_queue_setup(kPort, 0, 256, 0, nullptr, pool), "receive queue");
  Check(rte_eth_tx_queue_setup(kPort, 0, 256, 0, nullptr), "transmit queue");
  Check(rte_eth_dev_start(kPort), "start");
  // A driver without this operation returns -ENOTSUP. net_enso implements the operation, which
  // succeeds because every receive mode of Ensō is promiscuous.
  const int promiscuous = rte_eth_promiscuous_enable(kPort);
  if (promiscuous != -ENOTSUP) Check(promiscuous, "every address");
  return pool;
}

/// Echoes a burst. Returns the number of frames.
uint16_t Echo() {
  std::array<rte_mbuf*, kBurst> frames;
  const uint16_t received = rte_eth_rx_burst(kPort, 0, frames.data(), kBurst);
  uint16_t sent = 0;
  const auto end = Clock::now() + kPatience;
  while (sent < received && Clock::now() < end) {
    sent = static_cast<uint16_t>(sent + rte_eth_tx_burst(kPort, 0, frames.data() + sent,
                                                         static_cast<uint16_t>(received - sent)));
  }
  if (sent < received) Fail("the port does not accept frames");
  return received;
}

uint64_t Xstat(const std::string& name) {
  uint64_t id = 0;
  uint64_t value = 0;
  Check(rte_eth_xstats_get_id_by_name(kPort, name.c_str(), &id), name.c_str());
  Check(rte_eth_xstats_get_by_id(kPort, &id, &value, 1), name.c_str());
  return value;
}

void Faults() {
  rte_mempool* const pool = StartPort();
  WaitUntil([] { return Echo() != 0; }, "a frame");
  const uint64_t before = Xstat("model_tx_dma_faults");
  rte_mbuf* wild = rte_pktmbuf_alloc(pool);
  if (wild == nullptr) Fail("no mbuf");
  rte_pktmbuf_append(wild, 60);
  const rte_iova_t sound = wild->buf_iova;
  wild->buf_iova = rte_iova_t{1} << 45;
  if (rte_eth_tx_burst(kPort, 0, &wild, 1) != 1) Fail("the port does not accept the frame");
  WaitUntil([&] { return Xstat("model_tx_dma_faults") == before + 1; }, "a counted fault");
  wild->buf_iova = sound;  // The driver frees the mbuf when it releases its ring.
  uint64_t frames = 0;
  WaitUntil([&] { return (frames += Echo()) > 1000; }, "frames behind the fault");
  std::printf("faults: %lu counted, then %lu frames\n", Xstat("model_tx_dma_faults") - before,
              frames);
}

void Sleeps() {
  constexpr uint64_t kWakes = 100;
  StartPort(true);
  Check(rte_eth_dev_rx_intr_ctl_q(kPort, 0, RTE_EPOLL_PER_THREAD, RTE_INTR_EVENT_ADD, nullptr),
        "the queue's file");
  uint64_t frames = 0;
  for (uint64_t wakes = 0; wakes < kWakes; ++wakes) {
    while (const uint16_t more = Echo()) frames += more;
    Check(rte_eth_dev_rx_intr_enable(kPort, 0), "arm");
    // The interrupt must be raised whether frames arrive before or after this call.
    rte_epoll_event event;
    const int patience_ms = static_cast<int>(std::chrono::milliseconds(kPatience).count());
    if (rte_epoll_wait(RTE_EPOLL_PER_THREAD, &event, 1, patience_ms) != 1) {
      Fail("no interrupt, after %lu of them", wakes);
    }
    Check(rte_eth_dev_rx_intr_disable(kPort, 0), "disarm");
    const uint16_t first = Echo();
    if (first == 0) Fail("woken without a frame, after %lu interrupts", wakes);
    frames += first;
  }
  std::printf("sleeps: woken %lu times, %lu frames\n", kWakes, frames);
}

void Echoes(uint64_t count) {
  std::signal(SIGTERM, [](int) { ended = 1; });
  StartPort();
  uint64_t frames = 0;
  auto end = Clock::now() + kPatience;
  while (frames < count) {
    const uint16_t more = Echo();
    frames += more;
    if (more != 0) end = Clock::now() + kPatience;
    if (Clock::now() > end) Fail("no more frames after %lu", frames);
  }
  std::printf("echoes: %lu frames\n", frames);
  std::fflush(stdout);
  while (ended == 0) Echo();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) Fail("give faults, sleeps or echoes=N, and EAL's arguments");
  const std::string_view deed = argv[1];
  argv[1] = argv[0];
  if (rte_eal_init(argc - 1, argv + 1) < 0) return 1;
  if (rte_eth_dev_count_avail() == 0) Fail("no port");
  if (deed == "faults") {
    Faults();
  } else if (deed == "sleeps") {
    Sleeps();
  } else if (deed.starts_with("echoes=")) {
    Echoes(std::strtoull(deed.data() + 7, nullptr, 10));
  } else {
    Fail("%s: use faults, sleeps or echoes=N", deed.data());
  }
  std::fflush(stdout);
  rte_eth_dev_stop(kPort);
  rte_eth_dev_close(kPort);
  rte_eal_cleanup();
  return 0;
}
