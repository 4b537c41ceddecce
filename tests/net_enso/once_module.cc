// SPDX-License-Identifier: BSD-3-Clause
//
// Simulates a driver's plugin for register_once_test.cc.
#include "register_once.h"

extern "C" {
__attribute__((visibility("default"))) extern bool once_registered;
bool once_registered = false;
}

namespace {

__attribute__((constructor)) void Register() {
  once_registered = sluice::drivers::FirstLoaded("librte_once.so");
}

}  // namespace
