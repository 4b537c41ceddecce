// SPDX-License-Identifier: BSD-3-Clause
//
// A packetized NIC and its workers. The NIC prefetches receive descriptors, so that no frame waits
// for a descriptor, and writes each one back separately. A worker processes a burst of packets,
// sends them with one doorbell, and returns their buffers with another.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "simulation/echo/nic.h"

namespace sluice::simulation {
namespace {

constexpr uint32_t kRing = 8192;  // Receive descriptors per worker.

class PacketNic final : public EchoNic {
 public:
  PacketNic(fabric::EventQueue& queue, const EchoParameters& parameters, WireOut& wire)
      : EchoNic(queue, parameters, wire) {
    for (uint32_t i = 0; i < parameters.workers; ++i) {
      workers_.push_back(std::make_unique<Worker>(queue));
      workers_[i]->processor().Start([this, i] { Run(*workers_[i]); });
    }
  }

  void Receive(uint32_t number) override {
    Worker& worker = *workers_[number % workers_.size()];
    if (!HasBuffer()) return;
    if (worker.buffers == 0) return Drop();
    if (worker.received++ % (rings().fetch / rings().rx_descriptor) == 0)
      link().DeviceReads(rings().fetch, [](auto) {});
    --worker.buffers;
    worker.came.push_back(queue().now());
    WriteFrame(kFrame);
    link().DeviceWrites(rings().rx_descriptor, [&worker] {
      ++worker.ready;
      worker.processor().Signal();
    });
  }

  Picoseconds WorkersBusy() const override {
    Picoseconds busy = 0;
    for (const auto& worker : workers_) busy += worker->busy();
    return busy;
  }

 private:
  struct Worker : EchoWorker {
    using EchoWorker::EchoWorker;
    uint64_t received = 0;
    uint64_t sent = 0;
    uint32_t buffers = kRing;      ///< Buffers that the NIC may fill.
    uint32_t ready = 0;            ///< Descriptors written back that the worker has not seen yet.
    std::deque<Picoseconds> came;  ///< Arrival times of frames that have not been sent yet.
  };

  const PacketRings& rings() const { return parameters().rings; }

  void Run(Worker& worker) {
    const fabric::Costs& costs = parameters().costs;
    for (;;) {
      while (worker.ready == 0) worker.processor().Wait();
      worker.Work(costs.host_cached_line);
      const uint32_t burst = std::min(worker.ready, rings().burst);
      worker.ready -= burst;
      worker.Work(burst * (parameters().packet_time + parameters().request_time) +
                  costs.mmio_write_uncached);
      link().HostStores([this, &worker, burst] { Fetch(worker, burst); });
      worker.Work(costs.mmio_write_uncached);
      link().HostStores([&worker, burst] { worker.buffers += burst; });
    }
  }

  /// Reads the descriptors of packets to send, then the packets themselves.
  void Fetch(Worker& worker, uint32_t packets) {
    const uint32_t most = rings().fetch / rings().tx_descriptor;
    for (uint32_t at = 0; at < packets; at += most) {
      const uint32_t fetched = std::min(packets - at, most);
      link().DeviceReads(fetched * rings().tx_descriptor, [this, &worker, fetched](uint32_t) {
        for (uint32_t i = 0; i < fetched; ++i)
          link().DeviceReads(kFrame, [this, &worker](uint32_t) { Leave(worker); });
      });
    }
  }

  void Leave(Worker& worker) {
    wire().Leaves(queue().now(), worker.came.front());
    worker.came.pop_front();
    if (++worker.sent % rings().tx_report == 0) link().DeviceWrites(rings().tx_descriptor);
  }

  std::vector<std::unique_ptr<Worker>> workers_;
};

}  // namespace

std::unique_ptr<EchoNic> MakePacketNic(fabric::EventQueue& queue, const EchoParameters& parameters,
                                       WireOut& wire) {
  return std::make_unique<PacketNic>(queue, parameters, wire);
}

}  // namespace sluice::simulation
