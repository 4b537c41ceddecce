// SPDX-License-Identifier: BSD-3-Clause
#include "frames/views.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>

#include "host/measures.h"

namespace sluice::chain_app {

using engine::messages::MessageCounts;
using engine::messages::MessageServer;
using host::Us;
using runtime::PortStats;

std::string MessageLine(const MessageServer& server, const PortStats& port) {
  const MessageCounts counts = server.counts();
  std::string line =
      absl::StrFormat("            messages %d  answered %d  unanswered %d  incomplete %d",
                      counts.received, counts.answered, counts.unanswered, counts.incomplete);
  const emulator::ClientCounts clients = runtime::ReadClients(port);
  if (clients.requests != 0) {
    absl::StrAppendFormat(&line, "; clients: p50 %.1f  p99 %.1f us  lost %d  wrong %d",
                          Us(port.Get("wire_client_p50_ns")), Us(port.Get("wire_client_p99_ns")),
                          clients.lost, clients.wrong);
  }
  return line;
}

std::string ClientFault(const emulator::ClientCounts& clients, const Figures& run) {
  if (clients.wrong != 0) return absl::StrCat(clients.wrong, " wrong answers");
  if (clients.duplicated != 0) return absl::StrCat(clients.duplicated, " duplicate answers");
  if (clients.missing() != 0)
    return absl::StrCat(clients.missing(),
                        " messages that were not answered, refused or counted as lost");
  if (clients.lost != 0 && run.restarts == 0)
    return absl::StrCat(clients.lost, " messages lost although no stage died");
  if (clients.answered + clients.refused + clients.lost == 0) return "no message arrived";
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
                        {"latency_us", host::LatencyJson(server.latency())}};
  if (!clients) return;
  const emulator::ClientCounts found = runtime::ReadClients(port);
  report["clients"] = {
      {"requests", found.requests}, {"answered", found.answered}, {"wrong", found.wrong},
      {"refused", found.refused},   {"lost", found.lost},         {"duplicated", found.duplicated},
      {"late", found.late},         {"unknown", found.unknown},   {"missing", found.missing()}};
  report["latency_us"] = runtime::ClientLatency(port);
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
