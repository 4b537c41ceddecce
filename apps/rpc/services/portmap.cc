// SPDX-License-Identifier: BSD-3-Clause
//
// The port mapper: tells clients the port of a program. What there is, sluice-rpc says in
// SLUICE_RPC_PROGRAMS: PROGRAM:VERSION:PORT, by spaces. Nobody registers anything here.
#include <cstdint>
#include <cstdlib>
#include <vector>

// As rpcgen declares portmap.x.
struct Mapping {
  uint32_t program;
  uint32_t version;
  uint32_t protocol;
  uint32_t port;
};
struct List {
  Mapping map;
  List* next;
};

namespace {

constexpr uint32_t kUdp = 17;

// Linked in order.
std::vector<List> ReadPrograms() {
  std::vector<List> programs;
  const char* text = std::getenv("SLUICE_RPC_PROGRAMS");
  while (text != nullptr && *text != '\0') {
    char* rest = nullptr;
    const auto number = [&] {
      const auto value = static_cast<uint32_t>(std::strtoul(text, &rest, 10));
      text = *rest == '\0' ? rest : rest + 1;
      return value;
    };
    const uint32_t program = number();
    const uint32_t version = number();
    programs.push_back({{program, version, kUdp, number()}, nullptr});
  }
  for (size_t i = 1; i < programs.size(); ++i) programs[i - 1].next = &programs[i];
  return programs;
}

// What there is does not change while the process runs.
std::vector<List>& Programs() {
  static std::vector<List> programs = ReadPrograms();
  return programs;
}

}  // namespace

extern "C" {

int pmapproc_null_2_svc(void*, void*, void*) { return 1; }

int pmapproc_set_2_svc(Mapping*, int32_t* result, void*) {
  *result = 0;
  return 1;
}

int pmapproc_unset_2_svc(Mapping*, int32_t* result, void*) {
  *result = 0;
  return 1;
}

// The port of this version; of any other, if there is not this one (RFC 1833 section 3.2: the
// program says then which there are); 0: no such program over UDP.
int pmapproc_getport_2_svc(Mapping* asked, uint32_t* result, void*) {
  *result = 0;
  if (asked->protocol != kUdp) return 1;
  for (const List& one : Programs()) {
    if (one.map.program != asked->program) continue;
    *result = one.map.port;
    if (one.map.version == asked->version) break;
  }
  return 1;
}

int pmapproc_dump_2_svc(void*, List** result, void*) {
  *result = Programs().empty() ? nullptr : Programs().data();
  return 1;
}
}
