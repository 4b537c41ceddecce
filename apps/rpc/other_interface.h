// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-rpc on packetized, streaming and bilateral NICs is a program of its own, so that this one,
// whose NIC decodes calls, has neither EAL nor frames.
#pragma once

namespace sluice::rpc_app {

/// Whether the arguments name an interface other than coherent, or ask which there are.
bool WantsOtherInterface(int argc, char** argv);

/// Becomes that program, with the same arguments. Returns an exit code if it is not there, and has
/// said so.
int RunOtherInterface(char** argv);

}  // namespace sluice::rpc_app
