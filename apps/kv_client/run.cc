// SPDX-License-Identifier: BSD-3-Clause
#include "run.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/monotonic_clock.h"
#include "host/run_schedule.h"

namespace sluice::kv_client {

namespace {

using engine::kv::client::Client;
using engine::kv::client::ClientCounters;
using engine::kv::client::Outgoing;

constexpr uint64_t kSecond = 1'000'000'000;
constexpr double kLongestTurnS = 1;
constexpr uint64_t kPollServersNs = 200'000'000;
// A sleep ends this long before the next event is due; this is about the cost of a sleep and a
// wake-up.
constexpr uint64_t kSpinNs = 20'000;

uint64_t Ns(double seconds) { return static_cast<uint64_t>(seconds * 1e9); }

}  // namespace

Run::Run(const Settings& settings, const Servers& servers, MemberSource* source,
         const volatile std::sig_atomic_t& interrupted)
    : settings_(settings),
      interrupted_(interrupted),
      membership_(settings, servers, source),
      client_(settings.client, settings.preload) {}

bool Run::Open(std::string* error) {
  if (!AddServers(error)) return false;
  if (membership_.IsSpread()) {
    client_.Place(membership_.Place(), static_cast<uint32_t>(added_));
  }
  return true;
}

bool Run::Preload() {
  const uint64_t begin = base::MonotonicNs();
  uint64_t progress = begin, done = 0;
  while (client_.phase() == Client::Phase::kPreload && !interrupted_) {
    Turn(progress + Ns(settings_.patience_s));
    const ClientCounters& counters = client_.counters();
    if (counters.preloaded + counters.preload_refused != done) {
      done = counters.preloaded + counters.preload_refused;
      progress = base::MonotonicNs();
    } else if (base::MonotonicNs() - progress > Ns(settings_.patience_s)) {
      return false;
    }
  }
  if (!settings_.preload || interrupted_) return true;
  std::fprintf(settings_.Text(), "preloaded %llu items in %.1f s\n",
               static_cast<unsigned long long>(done),
               static_cast<double>(base::MonotonicNs() - begin) / kSecond);
  std::fflush(settings_.Text());
  return true;
}

void Run::Measure() {
  if (interrupted_) return;
  host::RunSchedule schedule(settings_.duration_s, settings_.stats_period_s);
  const uint64_t begin = base::MonotonicNs();
  client_.Start(begin);
  Figures last;
  while (!interrupted_ && !schedule.IsOver()) {
    // Rest() is infinite if nothing is scheduled, and the conversion to ns needs a finite time.
    Turn(base::MonotonicNs() + Ns(std::min(schedule.Rest(), kLongestTurnS)));
    if (!schedule.LineDue()) continue;
    Figures figures = Collect(base::MonotonicNs() - begin);
    settings_.Print(PeriodLine(last, figures) + "\n");
    last = std::move(figures);
  }
  const uint64_t stop = base::MonotonicNs();
  client_.Stop(stop);
  while (client_.outstanding() > 0) Turn(UINT64_MAX);
  Collect(stop - begin);
}

bool Run::AddServers(std::string* error) {
  bool good = true;
  for (; added_ < membership_.known().size(); ++added_) {
    const auto& server = membership_.known()[added_];
    good &= sockets_.AddServer(server.host, server.port, settings_.client.workers, error);
  }
  return good;
}

// Sends due requests and receives answers. If nothing is due, sleeps until an answer arrives, but
// not beyond `until_ns`.
void Run::Turn(uint64_t until_ns) {
  uint64_t now = base::MonotonicNs();
  if (now - polled_ns_ >= kPollServersNs) PollServers(now);
  bool idle = true;
  for (uint32_t i = 0; i < Sockets::kBurst; ++i) {
    const Outgoing out = client_.Next(now, sockets_.room());
    if (!out) break;
    sockets_.Queue(out.bytes, out.endpoint);
    idle = false;
  }
  sockets_.Flush();
  const auto arrived = sockets_.Receive();
  now = base::MonotonicNs();
  for (const auto& datagram : arrived) client_.OnDatagram(now, datagram);
  if (!idle || !arrived.empty()) return;
  const uint64_t wake = std::min({client_.NextWakeNs(), until_ns, now + kPollServersNs});
  if (wake > now + kSpinNs) sockets_.Wait(wake - now - kSpinNs);
}

void Run::PollServers(uint64_t now) {
  polled_ns_ = now;
  std::string error;
  if (auto placement = membership_.Poll(&error)) {
    AddServers(&error);
    const uint64_t moved = client_.Place(*std::move(placement), static_cast<uint32_t>(added_));
    ++total_.changes;
    total_.items_moved += moved;
    std::fprintf(settings_.Text(), "%zu servers: %llu of %llu items moved\n", membership_.size(),
                 static_cast<unsigned long long>(moved),
                 static_cast<unsigned long long>(settings_.client.items));
    std::fflush(settings_.Text());
  }
  if (!error.empty()) std::fprintf(stderr, "%s\n", error.c_str());
}

// Adds the latencies since the last call to the totals. Returns the latencies since the last call,
// and the totals of all other figures.
Figures Run::Collect(uint64_t elapsed_ns) {
  total_.gets.Add(client_.get_latency());
  total_.sets.Add(client_.set_latency());
  total_.seconds = static_cast<double>(elapsed_ns) / kSecond;
  total_.counters = client_.counters();
  total_.send_errors = sockets_.send_errors();
  total_.strangers = sockets_.strangers();
  total_.servers = membership_.size();
  Figures figures = total_;
  figures.gets = client_.get_latency();
  figures.sets = client_.set_latency();
  client_.ClearLatency();
  return figures;
}

}  // namespace sluice::kv_client
