// SPDX-License-Identifier: BSD-3-Clause
//
// A NIC with pipes and its workers, which follow the rules of Ensō's hardware. If nothing is
// pending in a pipe, the NIC sends a notification for the pipe's next frame. It then stays silent
// until the worker stores the pipe's head, and sends another notification if frames follow that
// head. A worker echoes all frames that it knows of in place, in one transfer per pipe, and stores
// the head when the NIC reports that it has read the transfer.
#include <cstdint>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "simulation/echo/nic.h"

namespace sluice::simulation {
namespace {

constexpr uint64_t kPipeFlits = 32768;

/// The state of a pipe at the NIC and at the worker. Counts are cumulative, in frames that each
/// occupy one flit.
struct Pipe {
  // State at the NIC:
  uint64_t head = 0;  ///< As stored by the worker.
  uint64_t tail = 0;
  uint64_t left = 0;             ///< Position up to which the NIC has read frames to send.
  bool silent = false;           ///< The NIC does not send notifications for new frames.
  std::deque<Picoseconds> came;  ///< Arrival times of frames that have not been sent yet.
  // State at the worker:
  uint64_t notified = 0;  ///< The newest tail in a notification from the NIC.
  uint64_t taken = 0;
  uint64_t freed = 0;  ///< Position up to which the NIC has reported frames as read.
};

struct Notification {
  uint32_t pipe;
  uint64_t tail;
};

/// A send request for frames `begin` to `end` of a pipe.
struct Transfer {
  uint32_t pipe;
  uint64_t begin;
  uint64_t end;
};

struct PipeWorker : EchoWorker {
  PipeWorker(fabric::EventQueue& queue, uint32_t pipe_count)
      : EchoWorker(queue), pipes(pipe_count) {}

  std::vector<Pipe> pipes;
  std::vector<Notification> news;  ///< Notifications that the worker has not seen yet.
  std::vector<Transfer> reports;   ///< Completed transfers that the worker has not seen yet.
};

class PipeNic final : public EchoNic {
 public:
  PipeNic(fabric::EventQueue& queue, const EchoParameters& parameters, WireOut& wire)
      : EchoNic(queue, parameters, wire) {
    for (uint32_t i = 0; i < parameters.workers; ++i) {
      workers_.push_back(std::make_unique<PipeWorker>(queue, parameters.pipes));
      workers_[i]->processor().Start([this, i] { Run(*workers_[i]); });
    }
  }

  void Receive(uint32_t number) override {
    PipeWorker& worker = *workers_[number % workers_.size()];
    const auto at = static_cast<uint32_t>(number / workers_.size() % worker.pipes.size());
    Pipe& pipe = worker.pipes[at];
    if (!HasBuffer()) return;
    if (pipe.tail - pipe.head + 1 >= kPipeFlits) {
      pipe.silent = true;
      return Drop();
    }
    ++pipe.tail;
    pipe.came.push_back(queue().now());
    WriteFrame(kLine);
    const bool each = parameters().interface == NicInterface::kNotifyPacket;
    if (each || !pipe.silent) Notify(worker, at);
    pipe.silent = !each;
  }

  Picoseconds WorkersBusy() const override {
    Picoseconds busy = 0;
    for (const auto& worker : workers_) busy += worker->busy();
    return busy;
  }

 private:
  void Notify(PipeWorker& worker, uint32_t pipe) {
    link().DeviceWrites(kLine, [&worker, pipe, tail = worker.pipes[pipe].tail] {
      worker.news.push_back({pipe, tail});
      worker.processor().Signal();
    });
  }

  void Run(PipeWorker& worker) {
    for (;;) {
      while (worker.news.empty() && worker.reports.empty()) worker.processor().Wait();
      const auto reports = std::exchange(worker.reports, {});
      const auto news = std::exchange(worker.news, {});
      worker.Work(parameters().costs.host_cached_line +
                  (reports.size() + news.size() - 1) * parameters().line_time);
      if (!news.empty()) Store(worker, [] {});  // Returns the notification slots to the NIC.
      Free(worker, reports);
      for (const auto& [pipe, tail] : news) worker.pipes[pipe].notified = tail;
      for (uint32_t pipe = 0; pipe < worker.pipes.size(); ++pipe) {
        if (worker.pipes[pipe].taken != worker.pipes[pipe].notified) Echo(worker, pipe);
      }
    }
  }

  void Store(PipeWorker& worker, DmaLink::Action then) {
    worker.Work(parameters().costs.mmio_write_uncached);
    link().HostStores(std::move(then));
  }

  void StoreHead(PipeWorker& worker, uint32_t pipe) {
    Store(worker, [this, &worker, pipe, head = worker.pipes[pipe].freed] {
      Pipe& stored = worker.pipes[pipe];
      stored.head = head;
      stored.silent = head != stored.tail;
      if (stored.silent) Notify(worker, pipe);
    });
  }

  /// Stores the head once per pipe, for all transfers from the pipe.
  void Free(PipeWorker& worker, const std::vector<Transfer>& reports) {
    for (const Transfer& transfer : reports) worker.pipes[transfer.pipe].freed = transfer.end;
    for (const Transfer& transfer : reports) {
      if (worker.pipes[transfer.pipe].freed == transfer.end) StoreHead(worker, transfer.pipe);
    }
  }

  /// Echoes all frames in a pipe that the worker knows of.
  void Echo(PipeWorker& worker, uint32_t pipe) {
    if (parameters().interface == NicInterface::kPrefetch)
      StoreHead(worker, static_cast<uint32_t>((pipe + 1) % worker.pipes.size()));
    Pipe& echoed = worker.pipes[pipe];
    const Transfer transfer = {pipe, std::exchange(echoed.taken, echoed.notified), echoed.notified};
    worker.Work((transfer.end - transfer.begin) *
                (parameters().line_time + parameters().request_time));
    Store(worker, [this, &worker, transfer] {
      link().DeviceReads(kLine, [this, &worker, transfer](uint32_t) { Fetch(worker, transfer); });
    });
  }

  /// Reads a transfer, sends its frames, and reports it to the worker.
  void Fetch(PipeWorker& worker, Transfer transfer) {
    const auto bytes = static_cast<uint32_t>((transfer.end - transfer.begin) * kLine);
    link().DeviceReads(bytes, [this, &worker, transfer](uint32_t read) {
      Pipe& pipe = worker.pipes[transfer.pipe];
      for (uint32_t at = 0; at < read; at += kLine) {
        wire().Leaves(queue().now(), pipe.came.front());
        pipe.came.pop_front();
        ++pipe.left;
      }
      if (pipe.left == transfer.end) Report(worker, transfer);
    });
  }

  void Report(PipeWorker& worker, Transfer transfer) {
    link().DeviceWrites(kLine, [&worker, transfer] {
      worker.reports.push_back(transfer);
      worker.processor().Signal();
    });
  }

  std::vector<std::unique_ptr<PipeWorker>> workers_;
};

}  // namespace

std::unique_ptr<EchoNic> MakePipeNic(fabric::EventQueue& queue, const EchoParameters& parameters,
                                     WireOut& wire) {
  return std::make_unique<PipeNic>(queue, parameters, wire);
}

}  // namespace sluice::simulation
