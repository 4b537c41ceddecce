// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of a service: a shared object, and the `.x` file that declares them. A procedure
// ADD of version 1 is the C function that `rpcgen -M` declares for it,
//
//   int add_1_svc(add_args *arguments, int *result, void *request);
//
// which returns 0 if it failed. `request` is what sluice_rpc.h makes calls by. What the result
// points to stays valid until the function is called again by the same thread; it may be the
// arguments.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "caller.h"
#include "coherent/host_end.h"
#include "device/rpc/services.h"
#include "engine/rpc/execution.h"
#include "rpc/x_compiler.h"

namespace sluice::rpc_app {

/// The text of a file; nothing: it cannot be read.
std::optional<std::string> ReadFile(const std::string& path);

/// Compiles a `.x` file of a service. `define`: constants, as rpc::ReadConstants reads them.
/// nullopt, with one line in `error`, also if a procedure has several arguments: functions of
/// `rpcgen -N` receive these by value.
std::optional<rpc::CompiledX> CompileFile(const std::string& path, const std::string& define,
                                          std::string* error);

/// The name of a procedure's function.
std::string FunctionName(const std::string& procedure, uint32_t version);

/// What a thread of a service needs to answer calls; allocates nothing afterwards.
class Answerer {
 public:
  /// Both outlive it. `callees`: what the functions may call; null: nothing.
  explicit Answerer(const rpc::Table& table, const Callees* callees = nullptr);

  /// Calls what `end` has content for, and leaves the result in the line, or the call that the
  /// function wants to be made first.
  void Answer(coherent::HostEnd& end);

 private:
  /// With a result that is large, or has pointers.
  void AnswerAny(coherent::HostEnd& end, const coherent::Content& call);
  /// If the function failed, or made a call: `said` is what it returned.
  bool AnswerWithoutResult(coherent::HostEnd& end, const coherent::Content& call, int said);

  const rpc::Table& table_;
  Caller caller_;
  std::vector<uint64_t> result_;  ///< The result's structure; words, so that it is aligned.
  std::vector<uint8_t> xdr_;      ///< Of results that have pointers.
};

/// A shared object with the functions of a `.x` file. One for each process, for as long as it runs.
class ServiceFunctions {
 public:
  /// `define`: as of CompileFile. Null, with one line in `error`.
  static std::unique_ptr<ServiceFunctions> Load(const std::string& object, const std::string& x,
                                                std::string* error, const std::string& define = {});

  const rpc::Table& table() const { return compiled_.table; }
  /// For each procedure of the table: its function, and what Answerer makes of its result.
  const std::vector<device::rpc::Entry>& entries() const { return entries_; }
  /// Both, at a port.
  device::rpc::Service At(uint16_t port) const { return {port, table(), entries()}; }

 private:
  rpc::CompiledX compiled_;
  std::vector<device::rpc::Entry> entries_;
};

}  // namespace sluice::rpc_app
