// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of the emulated wire on the device lcore, in TSC cycles per generated and
// verified frame. The device only returns the frames' pointers. Run by hand: bench_wire [frames].
#include <rte_cycles.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bar/posted_queue.h"
#include "emulator/arguments.h"
#include "emulator/gen.h"
#include "emulator/stepper.h"

namespace {

using namespace sluice;

/// Returns each frame that it receives, without a copy.
class Mirror final : public device::Device {
 public:
  void WriteRegister(uint32_t, uint32_t, uint64_t) override {}
  uint64_t ReadRegister(uint32_t, uint32_t) override { return 0; }
  void SetTime(uint64_t) override {}
  uint32_t Receive(std::span<const device::WireFrame> frames, bool) override {
    frames_ = frames;
    return static_cast<uint32_t>(frames.size());
  }
  uint32_t Transmit(device::FrameSink& sink, uint32_t) override {
    if (frames_.empty()) return 0;
    sink.Deliver(frames_);
    const uint32_t sent = static_cast<uint32_t>(frames_.size());
    frames_ = {};
    return sent;
  }
  std::span<const device::Counter> Counters() override { return {}; }

 private:
  std::span<const device::WireFrame> frames_;
};

double CyclesPerFrame(const char* wire, const char* verify, uint64_t frames) {
  std::string error;
  const std::pair<std::string, std::string> given[] = {{"wire", wire}, {"verify", verify}};
  const auto arguments = emulator::ParseArguments(given, &error);
  if (!arguments) std::abort();
  const auto source =
      emulator::GeneratorWire::Create(arguments->generator, arguments->verify, &error);
  const auto queue = std::make_unique<bar::PostedQueue>();
  Mirror mirror;
  emulator::Stepper stepper(queue.get(), mirror, *source, true);
  stepper.EnableWire(true, 0);
  std::vector<double> samples;
  for (int repeat = 0; repeat < 9; ++repeat) {
    const uint64_t before = source->totals().offered;
    const uint64_t start = rte_rdtsc();
    while (source->totals().offered - before < frames) stepper.Step(0);
    samples.push_back(static_cast<double>(rte_rdtsc() - start) /
                      static_cast<double>(source->totals().offered - before));
  }
  if (source->totals().corrupted != 0 || source->totals().gaps != 0) std::abort();
  std::sort(samples.begin(), samples.end());
  return samples[samples.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t frames = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  std::printf("%-44s %8s %8s %8s\n", "wire (cycles a frame, median of 9)", "off", "sampled",
              "full");
  for (const char* wire :
       {"gen:size=64", "gen:size=64+flows=1", "gen:size=64+flows=100000",
        "gen:size=64+order=random", "gen:size=imix", "gen:size=random", "gen:size=1518"}) {
    std::printf("%-44s %8.1f %8.1f %8.1f\n", wire, CyclesPerFrame(wire, "off", frames),
                CyclesPerFrame(wire, "sampled", frames), CyclesPerFrame(wire, "full", frames));
  }
  return 0;
}
