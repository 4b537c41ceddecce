// SPDX-License-Identifier: BSD-3-Clause
//
// The part of sluice-rpc for packetized, streaming and bilateral NICs is a separate program. This
// program, whose NIC decodes calls, therefore needs neither EAL nor frame code.
#pragma once

namespace sluice::rpc_app {

/// Returns whether the arguments name an interface other than coherent, or ask for the list of
/// interfaces.
bool WantsOtherInterface(int argc, char** argv);

/// Executes the separate program with the same arguments. Returns only on failure: prints an error
/// and returns the exit code.
int RunOtherInterface(char** argv);

}  // namespace sluice::rpc_app
