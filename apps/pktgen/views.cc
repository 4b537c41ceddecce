// SPDX-License-Identifier: BSD-3-Clause
#include "views.h"

#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <nlohmann/json.hpp>

#include "engine/pktgen/percentile_text.h"
#include "engine/pktgen/rate.h"
#include "host/measures.h"
#include "host/output_text.h"
#include "runtime/report.h"

namespace sluice::pktgen {

namespace {

using engine::pktgen::LostRange;
using engine::pktgen::StreamResult;
using engine::pktgen::TrialResult;
using engine::workload::Histogram;
using Json = nlohmann::ordered_json;
using host::PerSecond;
using host::Us;

std::string Latency(const Histogram& latency) {
  return absl::StrFormat("latency p50 %.1f  p99 %.1f  p99.9 %.1f us", Us(latency.Percentile(0.5)),
                         Us(latency.Percentile(0.99)), Us(latency.Percentile(0.999)));
}

/// Returns only scalars, because telemetry cannot represent other values.
Json Figures(const StreamResult& stream) {
  return {{"name", stream.name},
          {"sent_pkts", stream.sent},
          {"sent_bytes", stream.sent_bytes},
          {"unsent_pkts", stream.unsent},
          {"untagged_pkts", stream.untagged},
          {"received_pkts", stream.received},
          {"received_bytes", stream.received_bytes},
          {"lost", stream.lost},
          {"corrupted", stream.corrupted},
          {"duplicated", stream.duplicated},
          {"reordered", stream.reordered},
          {"reorder_extent_max", stream.reorder_extent_max},
          {"reorder_extent_mean", stream.reorder_extent_mean},
          {"late", stream.late},
          {"delay_variation_mean_ns", stream.delay_variation_mean_ns}};
}

Json StreamJson(const StreamResult& stream, double seconds) {
  Json json = Figures(stream);
  json["tx_mpps"] = PerSecond(stream.sent, seconds) / 1e6;
  json["tx_gbps"] = runtime::Gbps(stream.sent_bytes, stream.sent, seconds);
  json["rx_mpps"] = PerSecond(stream.received, seconds) / 1e6;
  json["rx_gbps"] = runtime::Gbps(stream.received_bytes, stream.received, seconds);
  json["latency_ns"] = LatencyJson(stream.latency);
  json["lost_ranges"] = Json::array();
  for (const LostRange& range : stream.ranges) {
    json["lost_ranges"].push_back(
        {{"worker", range.worker}, {"first", range.gone.first}, {"count", range.gone.count}});
  }
  return json;
}

}  // namespace

Json LatencyJson(const Histogram& latency) {
  Json json{{"count", latency.count()}, {"min", latency.min()}, {"mean", latency.mean()}};
  for (const auto& [name, share] :
       {std::pair{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}}) {
    json[name] = latency.Percentile(share);
  }
  json["max"] = latency.max();
  return json;
}

std::string Views::Line() {
  const StreamResult now = round_.trial().Result(false).Sum();
  Histogram latency = now.latency;
  latency.Subtract(shown_);
  shown_ = now.latency;
  return absl::StrFormat(
      "          unsent %d  in flight or lost %d  corrupted %d  duplicated %d  reordered %d  %s",
      now.unsent, now.lost, now.corrupted, now.duplicated, now.reordered, Latency(latency));
}

std::string Views::Totals(const TrialResult& result, double seconds) {
  std::string text;
  for (const StreamResult& stream : result.streams) {
    absl::StrAppendFormat(
        &text,
        "stream %s: sent %d (%.6g Mpps, %.6g Gb/s), unsent %d, received %d, lost %d, corrupted %d, "
        "duplicated %d, reordered %d (by %d at most); %s, max %.1f us\n",
        stream.name, stream.sent, PerSecond(stream.sent, seconds) / 1e6,
        runtime::Gbps(stream.sent_bytes, stream.sent, seconds), stream.unsent, stream.received,
        stream.lost, stream.corrupted, stream.duplicated, stream.reordered,
        stream.reorder_extent_max, Latency(stream.latency), Us(stream.latency.max()));
    if (stream.untagged > 0) {
      absl::StrAppendFormat(&text,
                            "  untagged %d: frames too short for a tag, which are not checked\n",
                            stream.untagged);
    }
    constexpr size_t kShown = 8;
    for (size_t i = 0; i < stream.ranges.size() && i < kShown; ++i) {
      const LostRange& range = stream.ranges[i];
      absl::StrAppendFormat(&text, "  missing: %d frame(s) from number %d of worker %d\n",
                            range.gone.count, range.gone.first, range.worker);
    }
    if (stream.ranges.size() > kShown) text += "  missing: more frames, listed in the report\n";
  }
  return text;
}

std::string Views::CaptureNotes(const Settings& settings) {
  std::string text;
  for (const engine::pktgen::StreamSpec& stream : settings.streams) {
    const engine::pktgen::CaptureNotes notes =
        stream.notes.value_or(engine::pktgen::CaptureNotes{});
    std::vector<std::string> all;
    const auto note = [&all](uint64_t frames, std::string_view what) {
      if (frames > 0) all.push_back(absl::StrFormat("%d %s", frames, what));
    };
    note(notes.oversize, "longer than 1518 bytes and not sent");
    note(notes.snapped, "truncated in the capture and filled with zeros");
    if (stream.offsets != nullptr) {
      note(notes.steps_back, "with a timestamp before that of the preceding frame");
      note(notes.jumps, "at which the clock jumped, sent without a gap");
    }
    if (all.empty()) continue;
    absl::StrAppendFormat(&text, "stream %s: its capture has %d frames: %s\n", stream.name,
                          stream.captured->size() + notes.oversize, absl::StrJoin(all, "; "));
  }
  return text;
}

void Views::Extend(const TrialResult& result, double seconds, const Settings& settings,
                   Json& report) {
  const StreamResult sum = result.Sum();
  report["duration_s"] = seconds;
  report["mpps"] = PerSecond(sum.sent, seconds) / 1e6;
  report["gbps"] = runtime::Gbps(sum.sent_bytes, sum.sent, seconds);
  report["unsent_pkts"] = sum.unsent;
  report["departure_delay_max_ns"] = result.latest_ns;
  report["streams"] = Json::array();
  for (size_t i = 0; i < result.streams.size(); ++i) {
    Json& stream = report["streams"].emplace_back(StreamJson(result.streams[i], seconds));
    if (!settings.streams[i].notes) continue;
    const engine::pktgen::CaptureNotes& notes = *settings.streams[i].notes;
    stream["capture"] = {{"oversize_pkts", notes.oversize},
                         {"snapped_pkts", notes.snapped},
                         {"steps_back_pkts", notes.steps_back},
                         {"clock_jumps", notes.jumps}};
  }
}

runtime::Findings Views::FindingsOf(const TrialResult& result) {
  const StreamResult sum = result.Sum();
  return {.lost = sum.lost,
          .corrupted = sum.corrupted,
          .duplicated = sum.duplicated,
          .reordered = sum.reordered,
          .foreign = result.others};
}

std::vector<runtime::TelemetryCommand> Views::Commands() {
  return {
      {"/sluice/pktgen/streams",
       "Returns the sent and returned frames of each stream. No parameters.",
       [this](std::string_view) {
         Json streams = Json::array();
         for (const StreamResult& stream : round_.trial().Result(false).streams) {
           streams.push_back(Figures(stream));
         }
         return streams;
       }},
      {"/sluice/pktgen/latency",
       "Returns the latencies of each stream since the run began, as histograms. No parameters.",
       [this](std::string_view) {
         Json latencies = Json::object();
         for (const StreamResult& stream : round_.trial().Result(false).streams) {
           latencies[stream.name] = host::BucketsJson(stream.latency);
         }
         return latencies;
       }}};
}

bool Views::WriteLatencies(const TrialResult& result, const std::string& prefix,
                           std::string* failed) {
  for (const StreamResult& stream : result.streams) {
    *failed = prefix + stream.name + ".hgrm";
    if (!host::WriteText(*failed, engine::pktgen::PercentileText(stream.latency, 1e3))) {
      return false;
    }
  }
  return true;
}

}  // namespace sluice::pktgen
