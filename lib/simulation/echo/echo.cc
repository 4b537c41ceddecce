// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/echo/echo.h"

#include <algorithm>
#include <memory>

#include "fabric/event_queue.h"
#include "simulation/echo/nic.h"
#include "simulation/percentile.h"

namespace sluice::simulation {

std::string_view NameOf(NicInterface interface) {
  switch (interface) {
    case NicInterface::kPacketized:
      return "packetized";
    case NicInterface::kNotifyPacket:
      return "pipes, a notification per packet";
    case NicInterface::kReactive:
      return "pipes, reactive";
    case NicInterface::kPrefetch:
      break;
  }
  return "pipes, reactive and prefetched";
}

Picoseconds EchoResults::Percentile(double share) const { return PercentileOf(latencies, share); }

EchoResults PlayEcho(const EchoParameters& parameters) {
  const double gap = static_cast<double>(WireOut::kFrameTime) / parameters.load;
  const auto comes = [gap](uint32_t number) {
    return static_cast<Picoseconds>(gap * (number + 1.0));
  };
  fabric::EventQueue queue;
  WireOut wire(comes(parameters.frames / 2), comes(parameters.frames - 1));
  const auto nic = parameters.interface == NicInterface::kPacketized
                       ? MakePacketNic(queue, parameters, wire)
                       : MakePipeNic(queue, parameters, wire);
  for (uint32_t number = 0; number < parameters.frames; ++number) {
    queue.RunUntil(comes(number));
    nic->Receive(number);
  }
  queue.Run();
  EchoResults results;
  results.frames_per_second = wire.FramesPerSecond();
  results.latencies = wire.ReleaseLatencies();
  std::sort(results.latencies.begin(), results.latencies.end());
  results.dropped = nic->dropped();
  results.worker_time = wire.left() == 0 ? 0 : nic->WorkersBusy() / wire.left();
  return results;
}

}  // namespace sluice::simulation
