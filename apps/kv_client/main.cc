// SPDX-License-Identifier: BSD-3-Clause
//
// sluice-kv-client: loads key-value servers over UDP and checks what they say. Start reading at
// run.h; the client itself is lib/engine/kv/client.
#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>

#include "report.h"
#include "run.h"
#include "settings.h"

namespace {

using sluice::kv_client::Figures;
using sluice::kv_client::Run;
using sluice::kv_client::Settings;

volatile std::sig_atomic_t interrupted = 0;

bool Write(const std::string& path, const std::string& text) {
  if (path == "-") return std::fputs(text.c_str(), stdout) >= 0;
  std::ofstream file(path);
  file << text;
  return file.flush().good();
}

}  // namespace

int main(int argc, char** argv) {
  int exit_code = 0;
  const std::optional<Settings> settings = sluice::kv_client::ReadSettings(argc, argv, &exit_code);
  if (!settings) return exit_code;
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, [](int) { interrupted = 1; });

  Run run(*settings, interrupted);
  std::string error;
  if (!run.Open(&error)) {
    std::fprintf(stderr, "--%s: %s\n",
                 settings->servers_file.empty() ? "server" : "servers_file", error.c_str());
    return 2;
  }
  if (!run.Preload()) {
    std::fprintf(stderr, "no answer for %g s while preloading: is a server there?\n",
                 settings->patience_s);
    return 1;
  }
  run.Measure();
  const Figures& figures = run.figures();
  std::fputs(sluice::kv_client::Totals(*settings, figures).c_str(), stdout);
  const std::string json = sluice::kv_client::Json(*settings, figures);
  if (!settings->json.empty() && !Write(settings->json, json)) {
    std::fprintf(stderr, "%s: the report could not be written\n", settings->json.c_str());
    return 1;
  }
  return figures.counters.answers() > 0 && figures.counters.wrong == 0 ? 0 : 1;
}
