// SPDX-License-Identifier: BSD-3-Clause
//
// A separate program implements sluice-rpc for packetized, streaming and bilateral NICs. This
// program, whose NIC decodes calls, therefore needs neither EAL nor frame code.
#pragma once

namespace sluice::rpc_app {

/// Returns whether the arguments name an interface other than coherent, or request the list of
/// interfaces.
bool WantsOtherInterface(int argc, char** argv);

/// Executes the separate program with the same arguments. If that fails, prints an error and
/// returns the exit code.
int RunOtherInterface(char** argv);

}  // namespace sluice::rpc_app
