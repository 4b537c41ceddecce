// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of a service: a shared object, and the `.x` file that declares them. A procedure
// ADD of version 1 is the C function that `rpcgen -M` declares for it,
//
//   int add_1_svc(add_args *arguments, int *result, void *request);
//
// It returns 0 on failure. `request` is the handle for calls that the function makes
// (sluice_rpc.h). Data that the result points to must stay valid until the same thread calls the
// function again. The result may point into the arguments.
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

/// Returns the text of a file, or nullopt if it cannot be read.
std::optional<std::string> ReadFile(const std::string& path);

/// Compiles a service's `.x` file. `define`: constants in the format of rpc::ReadConstants. Returns
/// nullopt and sets `error` on failure, or if a procedure has several arguments, because functions
/// that `rpcgen -N` declares receive these by value.
std::optional<rpc::CompiledX> CompileFile(const std::string& path, const std::string& define,
                                          std::string* error);

/// Returns the name of a procedure's function.
std::string FunctionName(const std::string& procedure, uint32_t version);

/// State of a service's thread for answering calls; allocates only in the constructor.
class Answerer {
 public:
  /// Both arguments must outlive the object. `callees`: procedures that the functions may call;
  /// null: none.
  explicit Answerer(const rpc::Table& table, const Callees* callees = nullptr);

  /// Executes the call in `end`. Stores the result in the line, or the nested call that the
  /// function requested.
  void Answer(coherent::HostEnd& end);

 private:
  /// Handles results that are large or contain pointers.
  void AnswerAny(coherent::HostEnd& end, const coherent::Content& call);
  /// Handles a function that failed or requested a call. `status` is its return value. Returns
  /// false if the function did neither.
  bool AnswerWithoutResult(coherent::HostEnd& end, const coherent::Content& call, int status);

  const rpc::Table& table_;
  Caller caller_;
  std::vector<uint64_t> result_;  ///< The result structure; an array of words for alignment.
  std::vector<uint8_t> xdr_;      ///< Results that contain pointers, as XDR.
};

/// A shared object with the functions of a `.x` file. There is one per process, and it is never
/// unloaded.
class ServiceFunctions {
 public:
  /// `define`: see CompileFile. Returns null and sets `error` on failure.
  static std::unique_ptr<ServiceFunctions> Load(const std::string& object, const std::string& x,
                                                std::string* error, const std::string& define = {});

  const rpc::Table& table() const { return compiled_.table; }
  /// Returns the function of each procedure of the table, and its result type for Answerer.
  const std::vector<device::rpc::Entry>& entries() const { return entries_; }
  /// Returns the table and the entries as a service at a port.
  device::rpc::Service At(uint16_t port) const { return {port, table(), entries()}; }

 private:
  rpc::CompiledX compiled_;
  std::vector<device::rpc::Entry> entries_;
};

}  // namespace sluice::rpc_app
