// SPDX-License-Identifier: BSD-3-Clause
#include "trace.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

namespace sluice::rpc_app {
namespace {

using device::rpc::CallTrace;
using device::rpc::Path;

const char* Name(Doer doer) {
  switch (doer) {
    case Doer::kNic:
      return "NIC";
    case Doer::kKernel:
      return "kernel";
    case Doer::kHost:
      return "host";
    case Doer::kNobody:
      return "none";
  }
  return "";
}

const char* Name(Path path) {
  switch (path) {
    case Path::kDirect:
      return "to a core that waited";
    case Path::kQueued:
      return "queued after other calls";
    case Path::kSwitched:
      return "to a core that switched to the process";
  }
  return "";
}

}  // namespace

std::array<TraceStep, 12> StepsOf(const CallTrace& trace) {
  const bool switched = trace.path == Path::kSwitched;
  const std::string core = absl::StrCat("core ", trace.core);
  const Doer os = switched ? Doer::kKernel : Doer::kNobody;
  const std::string there = core + " already ran the process";
  return {{
      {"read the packet", Doer::kNic, ""},
      {"process its headers", Doer::kNic, "Ethernet, IP and UDP, checked"},
      {"put it into a queue", Doer::kNic,
       trace.path == Path::kDirect ? "none was needed" : "the queue of the process"},
      {"interrupt a core", Doer::kNobody,
       absl::StrCat("the NIC answered the pending load of ",
                    switched ? "the kernel" : "the process")},
      {"process the RPC header", Doer::kNic, absl::StrCat("xid ", trace.xid)},
      {"identify the process", Doer::kNic, absl::StrCat("process ", trace.process)},
      {"find a core", Doer::kNic, core},
      {"schedule the process", os, switched ? core + " was notified to run it" : there},
      {"switch to it", os, switched ? "handed over by futex" : there},
      {"unmarshal the arguments", Doer::kNic,
       absl::StrCat(trace.argument_bytes, " bytes, in ", trace.buffer ? "a buffer" : "lines")},
      {"find the function", Doer::kNic, absl::StrFormat("0x%x", trace.code)},
      {"jump", Doer::kHost, ""},
  }};
}

std::string TraceText(const CallTrace& trace, const std::string& service) {
  std::string text = absl::StrFormat(
      "call of %s: %s; delivered after %.2f us, answered after %.2f us\n", service,
      Name(trace.path), static_cast<double>(trace.delivered_ns - trace.arrived_ns) / 1e3,
      static_cast<double>(trace.answered_ns - trace.arrived_ns) / 1e3);
  int number = 0;
  for (const TraceStep& step : StepsOf(trace)) {
    absl::StrAppendFormat(&text, "  %2d  %-24s %-7s %s\n", ++number, step.step, Name(step.doer),
                          step.how);
  }
  return text;
}

}  // namespace sluice::rpc_app
