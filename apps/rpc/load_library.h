// SPDX-License-Identifier: BSD-3-Clause
//
// The clients of sluice-rpc as the wire of a model NIC: wire=library:libsluice_rpc_wire.so+OPTIONS.
// Their counters are statistics of the wire.
//
//   outstanding=N  run_calls=N  echo_bytes=N  timeout_ns=N
//   target=KIND:PROGRAM:VERSION:PROCEDURE:PORT   one for each service, in order; KIND is the number
//                                                of a LoadTarget::Kind
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "load_wire.h"

namespace sluice::rpc_app {

/// Returns `options` as text, without the seed.
[[gnu::visibility("default")]] std::string LoadOptionsText(const LoadOptions& options);

/// Parses the options described above. Returns nullopt and sets `error` if an option is invalid.
[[gnu::visibility("default")]] std::optional<LoadOptions> ReadLoadOptions(std::string_view text,
                                                                          uint64_t seed,
                                                                          std::string* error);

}  // namespace sluice::rpc_app
