// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the host's cost per RPC, for callgrind with --toggle-collect=NAME. The NIC always
// answers a load before the host reads the line, as if the load had stalled.
//
//   rpc_host_bench NAME REQUESTS [OBJECT.so FILE.x]
//   HostAnswersNothing    waits, reads the code pointer, returns an empty reply
//   HostTakesArguments    like HostAnswersNothing, and loads 32 bytes of arguments into registers
//   ServiceAnswers        the work of a service's thread, including its function
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "coherent/host_end.h"
#include "service_functions.h"

using namespace sluice::coherent;  // NOLINT
using sluice::rpc_app::Answerer;
using sluice::rpc_app::ServiceFunctions;

namespace {

constexpr Geometry kGeometry = {.overflow_lines = 1};
constexpr uint32_t kArgumentBytes = 32;

uint64_t Word(std::span<const uint8_t> payload, size_t number) {
  uint64_t word;
  std::memcpy(&word, &payload[8 * number], sizeof(word));
  return word;
}

}  // namespace

/// Returns the code pointer of the request, or 0 without a request.
extern "C" __attribute__((noinline)) uint64_t HostAnswersNothing(HostEnd* end) {
  if (end->Wait(0) != Got::kContent) return 0;
  const uint64_t code = end->content().code;
  end->Return({.kind = Kind::kReply});
  return code;
}

extern "C" __attribute__((noinline)) uint64_t HostTakesArguments(HostEnd* end) {
  if (end->Wait(0) != Got::kContent) return 0;
  const uint64_t code = end->content().code;
  const auto payload = end->payload();
  if (payload.size() < kArgumentBytes) return 0;
  const uint64_t first = Word(payload, 0), second = Word(payload, 1), third = Word(payload, 2),
                 fourth = Word(payload, 3);
  end->Return({.kind = Kind::kReply});
  return code + (first ^ second ^ third ^ fourth);
}

extern "C" __attribute__((noinline)) uint64_t ServiceAnswers(HostEnd* end, Answerer* answerer) {
  if (end->Wait(0) != Got::kContent) return 0;
  answerer->Answer(*end);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 5) return 2;
  const std::string_view name = argv[1];
  const uint64_t requests = std::strtoull(argv[2], nullptr, 10);
  std::unique_ptr<ServiceFunctions> functions;
  Content request = {.kind = Kind::kRequest, .code = 0x1000};
  if (name == "HostTakesArguments") request.length = kArgumentBytes;
  std::string error;
  if (name == "ServiceAnswers") {
    functions = argc == 5 ? ServiceFunctions::Load(argv[3], argv[4], &error) : nullptr;
    if (functions == nullptr) {
      std::fprintf(stderr, "%s\n", error.c_str());
      return 2;
    }
    request.code = functions->entries().back().code;
    request.data = functions->entries().back().data;
  }
  std::unique_ptr<uint8_t, void (*)(void*)> pages(
      static_cast<uint8_t*>(std::aligned_alloc(4096, 8192)), std::free);
  std::memset(pages.get(), 0, 8192);
  const EndpointMemory memory = EndpointMemory::Format({pages.get(), 8192}, kGeometry);
  HostEnd end(memory, WaitMethod::kPause);
  std::unique_ptr<Answerer> answerer;
  if (functions != nullptr) answerer = std::make_unique<Answerer>(functions->table());
  for (uint64_t number = 1; number <= requests; ++number) {
    ControlLine& line = memory.line(Pair::kReceive, number);
    line.code = request.code;
    line.data = request.data;
    const Control control = {
        .number = static_cast<uint32_t>(number), .length = request.length, .kind = request.kind};
    line.control = control.Word();
    const uint64_t done = answerer != nullptr            ? ServiceAnswers(&end, answerer.get())
                          : name == "HostAnswersNothing" ? HostAnswersNothing(&end)
                                                         : HostTakesArguments(&end);
    if (done == 0 || Control::Of(line.control).kind != Kind::kReply) return 1;
  }
  return 0;
}
