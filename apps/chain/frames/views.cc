// SPDX-License-Identifier: BSD-3-Clause
#include "frames/views.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "runtime/client_latency.h"
#include "runtime/measures.h"

namespace sluice::chain_app {

using engine::messages::MessageCounts;
using engine::messages::MessageServer;
using runtime::PortStats;
using runtime::Us;

std::string MessageLine(const MessageServer& server, const PortStats& port) {
  const MessageCounts counts = server.counts();
  std::string line =
      absl::StrFormat("            messages %d  answered %d  unanswered %d  incomplete %d",
                      counts.received, counts.answered, counts.unanswered, counts.incomplete);
  if (port.Get("wire_client_messages") != 0) {
    absl::StrAppendFormat(&line, "; clients: p50 %.1f  p99 %.1f us  lost %d  wrong %d",
                          Us(port.Get("wire_client_p50_ns")), Us(port.Get("wire_client_p99_ns")),
                          port.Get("wire_client_lost"), port.Get("wire_client_wrong"));
  }
  return line;
}

uint64_t OpenMessages(const PortStats& port) {
  return port.Get("wire_client_messages") - port.Get("wire_client_right") -
         port.Get("wire_client_wrong") - port.Get("wire_client_refused") -
         port.Get("wire_client_lost");
}

runtime::Findings FindingsOf(const PortStats& port) {
  return {.lost = port.Get("wire_client_lost") + OpenMessages(port),
          .corrupted = port.Get("wire_client_wrong"),
          .duplicated = port.Get("wire_client_doubled")};
}

std::string ClientFault(const PortStats& port, const Figures& run) {
  const uint64_t lost = port.Get("wire_client_lost");
  if (const uint64_t wrong = port.Get("wire_client_wrong"); wrong != 0)
    return absl::StrCat(wrong, " wrong answers");
  if (const uint64_t doubled = port.Get("wire_client_doubled"); doubled != 0)
    return absl::StrCat(doubled, " duplicate answers");
  if (OpenMessages(port) != 0)
    return absl::StrCat(OpenMessages(port), " messages without an outcome");
  if (lost != 0 && run.restarts == 0)
    return absl::StrCat(lost, " messages lost although no stage died");
  if (port.Get("wire_client_right") + port.Get("wire_client_refused") + lost == 0)
    return "no message arrived";
  return "";
}

void ExtendByMessages(const MessageServer& server, const PortStats& port, bool clients,
                      nlohmann::ordered_json& report) {
  const MessageCounts counts = server.counts();
  report["messages"] = {{"received", counts.received},
                        {"received_bytes", counts.received_bytes},
                        {"answered", counts.answered},
                        {"answered_bytes", counts.answered_bytes},
                        {"unanswered", counts.unanswered},
                        {"incomplete", counts.incomplete},
                        {"late", counts.late},
                        {"unsent", counts.unsent},
                        {"latency_us", runtime::LatencyJson(server.latency())}};
  if (!clients) return;
  nlohmann::ordered_json found = nlohmann::ordered_json::object();
  for (const char* const name :
       {"messages", "right", "wrong", "refused", "lost", "doubled", "late", "unknown"})
    found[name] = port.Get(std::string("wire_client_") + name);
  found["missing"] = OpenMessages(port);
  report["clients"] = std::move(found);
  report["latency_us"] = runtime::ClientLatency(port, port.Get("wire_client_right"));
}

Endings EndingsOf(const MessageCounts& counts) {
  return {.sent = counts.received,
          .right = counts.answered,
          .lost = counts.unanswered,
          .late = counts.late,
          .sent_bytes = counts.received_bytes,
          .answer_bytes = counts.answered_bytes};
}

}  // namespace sluice::chain_app
