// SPDX-License-Identifier: BSD-3-Clause
#include "load_library.h"

#include <memory>
#include <vector>

#include "emulator/client_counts.h"
#include "emulator/options.h"
#include "load_recording.h"
#include "packet/bytes.h"

namespace sluice::rpc_app {
namespace {

using emulator::ReadNumber;

bool ReadTarget(std::string_view text, LoadTarget* target) {
  const auto [kind, programs] = emulator::Cut(text, ':');
  const auto [program, versions] = emulator::Cut(programs, ':');
  const auto [version, procedures] = emulator::Cut(versions, ':');
  const auto [procedure, port] = emulator::Cut(procedures, ':');
  uint8_t number = 0;
  if (!ReadNumber(kind, &number)) return false;
  target->kind = static_cast<LoadTarget::Kind>(number);
  return ReadNumber(program, &target->program) && ReadNumber(version, &target->version) &&
         ReadNumber(procedure, &target->procedure) && ReadNumber(port, 1, 65535, &target->port);
}

bool ReadOption(std::string_view key, std::string_view value, LoadOptions* options) {
  if (key == "outstanding") return ReadNumber(value, 1, 4096, &options->outstanding);
  if (key == "run_calls") return ReadNumber(value, 1, 1'000'000'000, &options->run_calls);
  if (key == "echo_bytes") {
    return ReadNumber(value, 0, LoadOptions::kMaxEchoBytes, &options->echo_bytes);
  }
  if (key == "timeout_ns") return ReadNumber(value, 1, ~uint64_t{0}, &options->timeout_ns);
  if (key == "target") return ReadTarget(value, &options->targets.emplace_back());
  return false;
}

/// A client with counters. It expects an answer to every call, so a run waits at its end for the
/// calls in flight.
class CountingLoadWire final : public LoadWire {
 public:
  explicit CountingLoadWire(const LoadOptions& options) : LoadWire(options), options_(options) {}

  std::span<const device::Counter> Counters() override {
    const LoadFigures figures = Figures();
    counters_ = emulator::ClientStatistics({.requests = figures.calls,
                                            .answered = figures.answered,
                                            .wrong = figures.wrong,
                                            .refused = figures.refused,
                                            .lost = figures.lost,
                                            .late = figures.late,
                                            .unknown = figures.unknown});
    emulator::AppendLatency(latency(), counters_);
    return counters_;
  }
  emulator::Recording* recording() override {
    if (recording_ == nullptr) recording_ = std::make_unique<LoadRecording>(options_);
    return recording_.get();
  }

 private:
  const LoadOptions options_;
  std::unique_ptr<emulator::Recording> recording_;  ///< Null until it is requested.
  std::vector<device::Counter> counters_;
};

}  // namespace

std::string LoadOptionsText(const LoadOptions& options) {
  std::string text = "outstanding=" + std::to_string(options.outstanding) +
                     "+run_calls=" + std::to_string(options.run_calls) +
                     "+echo_bytes=" + std::to_string(options.echo_bytes) +
                     "+timeout_ns=" + std::to_string(options.timeout_ns);
  for (const LoadTarget& target : options.targets) {
    text.append("+target=").append(std::to_string(static_cast<uint32_t>(target.kind)));
    for (const uint32_t number :
         {target.program, target.version, target.procedure, uint32_t{target.port}}) {
      text.append(1, ':').append(std::to_string(number));
    }
  }
  return text;
}

std::optional<LoadOptions> ReadLoadOptions(std::string_view text, uint64_t seed,
                                           std::string* error) {
  LoadOptions options;
  options.seed = seed;
  const auto read = [&](std::string_view key, std::string_view value) {
    return ReadOption(key, value, &options);
  };
  if (!emulator::ReadOptions(text, read, error)) return std::nullopt;
  return options;
}

}  // namespace sluice::rpc_app

extern "C" [[gnu::visibility("default")]] sluice::emulator::Wire* sluice_create_wire(
    const char* options, uint64_t seed, const uint8_t* nic, std::string* error) {
  auto read = sluice::rpc_app::ReadLoadOptions(options, seed, error);
  if (!read) return nullptr;
  read->server = sluice::packet::Load<sluice::packet::MacAddress>(nic);
  return new sluice::rpc_app::CountingLoadWire(*read);
}
