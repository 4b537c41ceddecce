// SPDX-License-Identifier: BSD-3-Clause
//
// Applies the criteria's experiments to the interfaces that carry frames without an agreement:
// packetized and streaming.
#include "../device/enso/host.h"
#include "../device/ipu/host.h"
#include "criteria.h"

namespace sluice::criteria {
namespace {

constexpr int kSteps = 6;
constexpr uint64_t kHourNs = 3'600'000'000'000;

std::string Count(const char* what, uint64_t number) {
  return std::string(what) + " " + std::to_string(number);
}

// Receives and sends a frame per step. The frames' lengths identify them.
template <typename TimeOf>
std::string PacketizedRun(TimeOf time_of) {
  namespace test = device::ipu::test;
  test::Host host;
  test::RecordingSink sink;
  host.StartRx(64, 2048, 63);
  host.StartTx(64);
  std::string seen = "received";
  for (uint32_t step = 0; step < kSteps; ++step) {
    host.nic.SetTime(time_of(step));
    const uint32_t accepted = host.Receive(test::PlainFrame(60 + step));
    seen += " " + std::to_string(accepted == 1 ? host.Received(step).size() : 0);
    host.PostTx(step, test::Host::kBuffers + (200 << 10), 70 + step, test::kTxEndOfPacket);
    host.Write(0, test::kTxBlock, test::kRingTail, step + 1);
    host.nic.Transmit(sink, 16);
  }
  seen += ", sent";
  for (const std::string& frame : sink.frames) seen += " " + std::to_string(frame.size());
  return seen;
}

template <typename TimeOf>
std::string StreamingRun(TimeOf time_of) {
  namespace enso = device::enso;
  enso::Host host;
  host.OpenFallback(1, 0);
  std::string seen = "received";
  for (uint32_t step = 0; step < kSteps; ++step) {
    host.nic->SetTime(time_of(step));
    const bool accepted = host.Receive(enso::MakeFrame(64 + 64 * (step % 2)));
    seen += accepted ? " +" : " -";
    host.Send(0, {enso::MakeFrame(70 + step)});
    host.Transmit();
  }
  seen += " to flit " + std::to_string(host.Slot(0, 0).tail) + ", sent";
  for (const enso::Bytes& frame : host.wire.frames) seen += " " + std::to_string(frame.size());
  return seen;
}

Cell Clocks(std::string trace, bool equal) {
  return {Criterion::kClocks, equal ? Verdict::kFree : Verdict::kFito, std::move(trace)};
}

// Neither device has a timeout. Compares a run in which no time passes between two steps with a run
// in which hours pass.
Cell NoTimeouts(const std::string& at_once, const std::string& hours) {
  return {Criterion::kTimeouts, at_once == hours ? Verdict::kFree : Verdict::kFito,
          "no time or an hour between two steps: " +
              (at_once == hours ? at_once : at_once + "; " + hours)};
}

}  // namespace

Subject Packetized() {
  namespace test = device::ipu::test;
  bool equal = false;
  const std::string clocks = UnderClocks(
      [](Clock clock) { return PacketizedRun([=](uint32_t step) { return At(clock, step); }); },
      equal);

  // Two frames compete for one buffer.
  test::Host host;
  host.StartRx(64, 2048, 1);
  for (const uint32_t length : {60u, 61u}) host.Receive(test::PlainFrame(length));
  const uint64_t dropped = host.Stat(test::kStatRxNoDescriptor);

  // The host withdraws a descriptor by storing a smaller tail before the NIC has fetched it.
  test::RecordingSink sink;
  host.StartTx(64);
  host.PostTx(0, test::Host::kBuffers, 60, test::kTxEndOfPacket);
  host.Write(0, test::kTxBlock, test::kRingTail, 1);
  host.Write(0, test::kTxBlock, test::kRingTail, 0);
  host.nic.Transmit(sink, 16);
  const size_t sent = sink.frames.size();
  return {"packetized",
          {Clocks(clocks, equal),
           NoTimeouts(PacketizedRun([](uint32_t) { return uint64_t{0}; }),
                      PacketizedRun([](uint32_t step) { return step * kHourNs; })),
           {Criterion::kConflicts, dropped > 0 ? Verdict::kFito : Verdict::kFree,
            "two frames for one buffer: " + Count("received", host.Stat(test::kStatRxFrames)) +
                ", " + Count("dropped", dropped)},
           {Criterion::kUndo, sent > 0 ? Verdict::kFito : Verdict::kFree,
            "tail moved back before the NIC read the descriptor: " + Count("frames sent", sent)}}};
}

Subject Streaming() {
  namespace enso = device::enso;
  bool equal = false;
  const std::string clocks = UnderClocks(
      [](Clock clock) { return StreamingRun([=](uint32_t step) { return At(clock, step); }); },
      equal);

  // Frames compete for the last flits of a pipe of 64 flits.
  enso::Host host;
  host.OpenFallback(1, 0);
  for (int i = 0; i < 70; ++i) host.Receive(enso::MakeFrame(64));
  const uint64_t accepted = host.Count("rx_frames"), dropped = host.Count("rx_pipe_full");

  // The host withdraws bytes by storing a smaller tail before the NIC has read the slot.
  const size_t before = host.wire.frames.size();
  host.Send(0, {enso::MakeFrame(80)});
  const size_t withdrawn = host.wire.frames.size();
  host.Write32(enso::NbPage(0) + enso::kTxTail, host.Read32(enso::NbPage(0) + enso::kTxHead));
  host.Transmit();
  const size_t sent = host.wire.frames.size() - before;
  return {"streaming",
          {Clocks(clocks, equal),
           NoTimeouts(StreamingRun([](uint32_t) { return uint64_t{0}; }),
                      StreamingRun([](uint32_t step) { return step * kHourNs; })),
           {Criterion::kConflicts, dropped > 0 ? Verdict::kFito : Verdict::kFree,
            Count("70 frames for a pipe of 64 flits: accepted", accepted) + ", " +
                Count("dropped", dropped)},
           {Criterion::kUndo, sent > 0 ? Verdict::kFito : Verdict::kPartly,
            "tail moved back before the NIC read the slot (" +
                Count("sent before", withdrawn - before) + "): " + Count("frames sent", sent)}}};
}

}  // namespace sluice::criteria
