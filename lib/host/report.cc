// SPDX-License-Identifier: BSD-3-Clause
#include "host/report.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "host/output_text.h"

namespace sluice::host {

nlohmann::ordered_json NewReport(std::string_view app, double duration_s) {
  return {{"app", app},
          {"duration_s", duration_s},
          {"version", SLUICE_VERSION},
          {"report_version", kReportVersion}};
}

std::string ReportText(const nlohmann::ordered_json& report) {
  return report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

bool WriteReport(const std::string& path, const std::string& report) {
  if (path.empty() || WriteText(path, report)) return true;
  std::fprintf(stderr, "--json=%s: could not be written\n", path.c_str());
  return false;
}

}  // namespace sluice::host
