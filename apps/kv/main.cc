// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv: a key-value store. The engine is lib/engine/kv; settings.h describes the flags;
// everything else is lib/runtime. Start reading here.
#include <gflags/gflags.h>
#include <rte_cycles.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <optional>
#include <string>
#include <utility>

#include "commands.h"
#include "engine/kv/server.h"
#include "engine/kv/stream_server.h"
#include "handoff_rings.h"
#include "host/argument_faults.h"
#include "live_snapshots.h"
#include "metrics.h"
#include "persistence.h"
#include "registration.h"
#include "runtime/command_line.h"
#include "runtime/port_stats.h"
#include "runtime/session.h"
#include "runtime/tcp/tcp_clients.h"
#include "runtime/tcp/tcp_server.h"
#include "settings.h"
#include "steering.h"
#include "workers.h"

DEFINE_string(snapshot, "",
              "Snapshot file: read at the start if it exists; written on SIGHUP and when the "
              "server ends normally");

namespace {

/// Answer to `version`. Clients compare it with releases of memcached before they use the meta
/// commands or the binary protocol, which are those of memcached 1.6.18.
constexpr char kProtocolVersion[] = "1.6.18-sluice-" SLUICE_VERSION;

using sluice::engine::kv::ServiceOptions;
using sluice::engine::kv::StreamServer;
using sluice::etcd::Registration;
using sluice::kv::Engine;
using sluice::kv::HandoffRings;
using sluice::kv::LiveSnapshots;
using sluice::kv::Persistence;
using sluice::kv::RingHandoffQueue;
using sluice::kv::Settings;
using sluice::kv::Steering;
using sluice::kv::Workers;
using sluice::runtime::AddClientResults;
using sluice::runtime::AppHooks;
using sluice::runtime::BadFlag;
using sluice::runtime::PortStats;
using sluice::runtime::Session;
using sluice::runtime::TcpServer;
using sluice::runtime::Unavailable;
using sluice::runtime::WorkerInfo;

// The workers' clock in seconds, and the time base of items (Exchange::now_s).
uint32_t ClockSeconds() { return static_cast<uint32_t>(rte_rdtsc() / rte_get_tsc_hz()); }
uint32_t ItemSeconds() { return ClockSeconds() + 1; }

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  auto line = sluice::runtime::ReadCommandLine(
      "kv", "serves a key-value store by the protocols of memcached and MICA", argc, argv,
      &exit_code);
  if (!line) return exit_code;
  std::string flag, fix;
  std::optional<Settings> settings = sluice::kv::ReadSettings(&*line, &flag, &fix);
  if (!settings) return BadFlag(flag, fix);
  if (!sluice::kv::FitsMachine(*settings, &flag, &fix)) return Unavailable(flag, fix);
  std::optional<Registration::Entry> entry;
  if (!sluice::kv::ReadRegistration(&entry, &flag, &fix)) return BadFlag(flag, fix);
  fix = sluice::host::ReplacedFileFault(FLAGS_snapshot);
  if (!fix.empty()) return BadFlag("snapshot", fix);

  // The store is created before the port opens: allocating the pages is slow, and clients would
  // have to wait.
  auto made = sluice::kv::MakeStore(*settings, line->options.workers);
  if (!made)
    return Unavailable("memory_mb", "the kernel cannot allocate this memory: give a smaller value");
  auto& store = *made;
  line->options.hangup = !FLAGS_snapshot.empty();
  std::FILE* const text = line->options.Text();
  TcpServer server({settings->service.memcached_port});
  if (settings->tcp) server.Prepare<StreamServer>(*line);
  const auto session = Session::Start(*std::move(line), &exit_code);
  if (session == nullptr) return exit_code;
  Persistence persistence(store, FLAGS_snapshot);
  if (!persistence.Restore(ItemSeconds(), &fix)) return BadFlag("snapshot", fix);

  const auto unix_s = static_cast<uint32_t>(std::time(nullptr));
  settings->service.unix_epoch_s = unix_s - ClockSeconds();
  settings->service.facts = {.version = kProtocolVersion,
                             .pid = static_cast<uint32_t>(getpid()),
                             .started_unix_s = unix_s};
  HandoffRings handoffs(session->workers());
  Steering steering(session->port());
  if (settings->service.mica_port != 0 && session->has_queues()) {
    const std::string how =
        steering.Apply(settings->service.mica_port, settings->partitions, session->workers());
    std::fprintf(text, "steering: %s\n", how.c_str());
    std::fflush(text);
  }
  Workers workers(store);
  LiveSnapshots snapshots(store, FLAGS_snapshot, ItemSeconds);
  AppHooks hooks;
  hooks.line = [&] { return workers.NextLine(PortStats::Read(session->port())); };
  hooks.report = [&](nlohmann::ordered_json& report) {
    workers.Extend(report);
    snapshots.Extend(report);
  };
  hooks.commands = sluice::kv::Commands(workers, store, settings->partition, snapshots);
  if (!FLAGS_snapshot.empty()) {
    hooks.on_hangup = [&snapshots] {
      const std::string error = snapshots.Begin();
      if (!error.empty()) std::fprintf(stderr, "snapshot: %s\n", error.c_str());
    };
  }
  // The server is registered after workers have started to poll, and deregistered before they end.
  std::atomic<bool> registered = false;
  std::optional<Registration> registration;
  hooks.started = [&] {
    if (!entry) return;
    registration.emplace(
        *entry,
        [](const std::string& line) { std::fprintf(stderr, "register: %s\n", line.c_str()); },
        &registered);
  };
  hooks.settle = [&] { registration.reset(); };
  hooks.metrics = [&](auto& families) {
    sluice::kv::AddMetrics(store, snapshots, families);
    if (entry) {
      sluice::runtime::AddGauge(families, "sluice_kv_registered",
                                "1 while etcd keeps the lease of this server's entry.",
                                registered ? 1 : 0);
    }
  };
  if (settings->tcp) {
    if (settings->clients) AddClientResults(*session, hooks);
    exit_code = server.Run(
        *session,
        [&](const WorkerInfo&) { return StreamServer(store, settings->service, rte_get_tsc_hz()); },
        std::move(hooks));
  } else {
    exit_code = session->Run(
        [&](const WorkerInfo& info) {
          ServiceOptions service = settings->service;
          service.gate.own = info.own;
          return Engine(info.own, std::in_place, store, info.worker, service,
                        RingHandoffQueue(handoffs, info.worker), rte_get_tsc_hz());
        },
        std::move(hooks));
  }
  snapshots.Stop();
  if (!persistence.Save(ItemSeconds(), &fix)) {
    std::fprintf(stderr, "sluice-kv: --snapshot: %s\n", fix.c_str());
    return exit_code != 0 ? exit_code : 1;
  }
  return exit_code;
}
