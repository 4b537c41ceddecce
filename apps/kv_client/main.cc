// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv-client: sends requests to key-value servers over UDP and verifies every value. Start
// reading at run.h; the client itself is lib/engine/kv/client.
#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/standard_streams.h"
#include "etcd_source.h"
#include "file_source.h"
#include "host/report.h"
#include "report.h"
#include "run.h"
#include "settings.h"

namespace {

using sluice::host::WriteReport;
using sluice::kv_client::EtcdSource;
using sluice::kv_client::Figures;
using sluice::kv_client::FileSource;
using sluice::kv_client::MemberSource;
using sluice::kv_client::Run;
using sluice::kv_client::Settings;

volatile std::sig_atomic_t interrupted = 0;

// Returns the source of servers; null if the servers do not change.
std::unique_ptr<MemberSource> SourceOf(const Settings& settings) {
  if (settings.servers_etcd) {
    return std::make_unique<EtcdSource>(*settings.servers_etcd, settings.rules);
  }
  if (settings.servers_file.empty()) return nullptr;
  return std::make_unique<FileSource>(settings.servers_file, settings.rules);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::base::OpenStandardStreams();
  int exit_code = 0;
  const std::optional<Settings> settings = sluice::kv_client::ReadSettings(argc, argv, &exit_code);
  if (!settings) return exit_code;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });

  // The exit code is 2 for a bad argument. An etcd fault is not an error of the command line; its
  // exit code is 1.
  const int no_servers = settings->servers_etcd ? 1 : 2;
  std::string error;
  const std::unique_ptr<MemberSource> source = SourceOf(*settings);
  const auto servers = source != nullptr ? source->Open(&error) : std::optional(settings->servers);
  if (!servers) {
    std::fprintf(stderr, "--%s: %s\n", settings->ServersFlag().c_str(), error.c_str());
    return no_servers;
  }
  Run run(*settings, *servers, source.get(), interrupted);
  if (!run.Open(&error)) {
    std::fprintf(stderr, "--%s: %s\n", settings->ServersFlag().c_str(), error.c_str());
    return no_servers;
  }
  if (!run.Preload()) {
    std::fprintf(stderr,
                 "no answer for %g s while preloading: check that a server is running at this "
                 "address\n",
                 settings->patience_s);
    return 1;
  }
  run.Measure();
  const Figures& figures = run.figures();
  settings->Print(sluice::kv_client::Totals(*settings, figures));
  if (!WriteReport(settings->json, sluice::kv_client::Json(*settings, figures))) return 1;
  return figures.counters.answers() > 0 && figures.counters.wrong == 0 ? 0 : 1;
}
