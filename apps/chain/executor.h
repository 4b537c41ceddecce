// SPDX-License-Identifier: BSD-3-Clause
//
// A kind of stage: what it is called, and how one is made. What it does with a message is an
// Executor (device/stage/work.h), which sees the bytes, the command and the state, and leaves a
// result, whichever way the message came. Both headers include the standard library alone, so that
// a stage of your own is one file:
//
//   class Mine final : public sluice::chain_app::Executor { void Run(...) override {...} };
//   SLUICE_STAGE({.name = "mine", .what = "...", .make = ...});
//
// compiled as a shared object and named in a policy graph: "executor": "path/to/mine.so".
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

/// What a stage is made with.
struct StageOptions {
  std::string text;          ///< The graph's "options" of the device: key=value, by commas.
  uint32_t max_message = 0;  ///< Bytes of the longest input and of every output's room.
};

/// A kind of stage. All pointers to what lives as long as the process.
struct StageKind {
  const char* name = nullptr;  ///< In policy graphs.
  const char* what = nullptr;  ///< A line for people: what it does, commands, state, options.
  /// Called once for a stage before its first message, by the thread that starts the process; Run
  /// is called by the stage's. Null, with one line in `error`: the options are wrong, or something
  /// is missing.
  std::unique_ptr<Executor> (*make)(const StageOptions& options, std::string* error) = nullptr;
  /// Names of refusals, for reports, up to the first null. None: one, called "refused".
  std::array<const char*, kMaxRefusals> refusals{};
};

/// Name of the symbol, a StageKind, by which a shared object is found.
inline constexpr const char* kStageSymbol = "sluice_stage";
/// Once in a shared object, outside of namespaces.
#define SLUICE_STAGE(...)                           \
  extern "C" __attribute__((visibility("default"))) \
  const sluice::chain_app::StageKind sluice_stage;  \
  const sluice::chain_app::StageKind sluice_stage __VA_ARGS__

}  // namespace sluice::chain_app
