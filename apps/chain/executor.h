// SPDX-License-Identifier: BSD-3-Clause
//
// A kind of stage: its name and its factory. The stage processes messages in an Executor
// (device/stage/work.h), which gets the bytes, the command and the state, and produces a result. It
// does not depend on the path of the message. Both headers include only the standard library, so a
// custom stage is one file:
//
//   class Mine final : public sluice::chain_app::Executor { void Run(...) override {...} };
//   SLUICE_STAGE({.name = "mine", .what = "...", .make = ...});
//
// Compile it as a shared object and name it in a policy graph: "executor": "path/to/mine.so".
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "device/stage/work.h"

namespace sluice::chain_app {

using device::stage::Executor;
using device::stage::kMaxBatch;
using device::stage::kMaxRefusals;
using device::stage::Outcome;
using device::stage::Work;

/// Parameters of a stage's factory.
struct StageOptions {
  std::string text;          ///< The device's "options" in the graph: comma-separated key=value.
  uint32_t max_message = 0;  ///< Bytes of the longest input, and of each output buffer.
};

/// A kind of stage. All pointers must remain valid for the lifetime of the process.
struct StageKind {
  const char* name = nullptr;  ///< Name in policy graphs.
  const char* what = nullptr;  ///< One line of help: function, commands, state and options.
  /// Called once per stage before its first message, on the main thread of the process that runs
  /// the stage. Executor::Run is called on the stage's thread. Returns null and sets `error` if the
  /// options are invalid or a dependency is missing.
  std::unique_ptr<Executor> (*make)(const StageOptions& options, std::string* error) = nullptr;
  /// Names of refusals in reports; the first null ends the list. An executor without names has one
  /// refusal, called "refused".
  std::array<const char*, kMaxRefusals> refusals{};
};

/// Name of the StageKind symbol that a shared object must export.
inline constexpr const char* kStageSymbol = "sluice_stage";
/// Use it once per shared object, outside any namespace.
#define SLUICE_STAGE(...)                           \
  extern "C" __attribute__((visibility("default"))) \
  const sluice::chain_app::StageKind sluice_stage;  \
  const sluice::chain_app::StageKind sluice_stage __VA_ARGS__

}  // namespace sluice::chain_app
