// SPDX-License-Identifier: BSD-3-Clause
#include <cstdint>

// As rpcgen declares an `opaque<>`.
struct EchoData {
  uint32_t length;
  char* value;
};

extern "C" int echo_1_svc(EchoData* arguments, EchoData* result, void*) {
  *result = *arguments;
  return 1;
}
