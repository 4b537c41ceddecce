// SPDX-License-Identifier: BSD-3-Clause
//
// The port mapper and rpcbind services, which return the address of a program. sluice-rpc passes
// the bindings in SLUICE_RPC_PROGRAMS (bindings.h); clients cannot register programs. The network
// is taken from a call's arguments if they contain it; RFC 1833 would derive it from the transport
// of the call.
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

// Same layout as rpcgen's output for portmap.x.
struct Mapping {
  uint32_t program;
  uint32_t version;
  uint32_t protocol;
  uint32_t port;
};
struct MappingList {
  Mapping map;
  MappingList* next;
};
struct Binding {
  uint32_t program;
  uint32_t version;
  char* network;
  char* address;
  char* owner;
};
struct BindingList {
  Binding map;
  BindingList* next;
};
struct Entry {
  char* address;
  char* network;
  uint32_t semantics;
  char* family;
  char* protocol;
};
struct EntryList {
  Entry map;
  EntryList* next;
};

namespace {

char kNone[] = "";
char kOwner[] = "sluice-rpc";
char kInet[] = "inet", kInet6[] = "inet6", kUdp[] = "udp", kTcp[] = "tcp";

/// RFC 1833 section 2.1: NC_TPI_CLTS, NC_TPI_COTS_ORD; section 3.1: IPPROTO_UDP, IPPROTO_TCP.
struct Network {
  std::string_view name;
  uint32_t semantics;
  char* family;
  char* protocol;
  uint32_t number;
  bool old;  ///< Supported by version 2.
};
constexpr Network kNetworks[] = {{"udp", 1, kInet, kUdp, 17, true},
                                 {"tcp", 3, kInet, kTcp, 6, true},
                                 {"udp6", 1, kInet6, kUdp, 17, false},
                                 {"tcp6", 3, kInet6, kTcp, 6, false}};

/// One version of one program in one network.
struct Place {
  uint32_t program;
  uint32_t version;
  const Network* network;
  std::string name;
  std::string address;

  /// Returns the port, which is encoded in the last two numbers (RFC 5665 section 5.2.3.3).
  uint32_t port() const {
    const size_t low = address.rfind('.');
    const size_t high = address.rfind('.', low - 1);
    return static_cast<uint32_t>(256 * std::atoi(address.c_str() + high + 1) +
                                 std::atoi(address.c_str() + low + 1));
  }
};

// Removes and returns the text before `end`, and removes `end` too. If there is no `end`, removes
// and returns the whole text.
std::string_view Cut(std::string_view& text, char end) {
  const std::string_view word = text.substr(0, text.find(end));
  text.remove_prefix(word.size() == text.size() ? word.size() : word.size() + 1);
  return word;
}

// The bindings are constant while the process runs, so the lists are built once.
class Places {
 public:
  Places() {
    const char* const given = std::getenv("SLUICE_RPC_PROGRAMS");
    std::string_view text = given != nullptr ? given : "";
    while (!text.empty()) Add(Cut(text, ' '));
    for (Place& place : places_) List(place);
    Link(mappings_);
    Link(bindings_);
  }

  const std::deque<Place>& all() const { return places_; }
  MappingList* mappings() { return mappings_.empty() ? nullptr : mappings_.data(); }
  BindingList* bindings() { return bindings_.empty() ? nullptr : bindings_.data(); }

  /// Returns this version of the program. If it is missing and `any` is set, returns another
  /// version (RFC 1833 section 2.2.1: a call to that address then reports the versions that exist).
  /// Returns null if the network has no version of the program.
  template <typename InNetwork>
  Place* Find(uint32_t program, uint32_t version, bool any, InNetwork in_network) {
    Place* found = nullptr;
    for (Place& place : places_) {
      if (place.program != program || !in_network(place)) continue;
      if (place.version == version) return &place;
      if (any) found = &place;
    }
    return found;
  }

 private:
  void Add(std::string_view text) {
    const std::string program(Cut(text, ':')), version(Cut(text, ':'));
    const std::string_view name = Cut(text, ':');
    for (const Network& network : kNetworks) {
      if (network.name != name) continue;
      places_.push_back({static_cast<uint32_t>(std::strtoul(program.c_str(), nullptr, 10)),
                         static_cast<uint32_t>(std::strtoul(version.c_str(), nullptr, 10)),
                         &network, std::string(name), std::string(text)});
    }
  }
  void List(Place& place) {
    bindings_.push_back(
        {{place.program, place.version, place.name.data(), place.address.data(), kOwner}, nullptr});
    if (!place.network->old) return;
    mappings_.push_back(
        {{place.program, place.version, place.network->number, place.port()}, nullptr});
  }
  template <typename Node>
  static void Link(std::vector<Node>& nodes) {
    for (size_t i = 1; i < nodes.size(); ++i) nodes[i - 1].next = &nodes[i];
  }

  std::deque<Place> places_;  ///< A deque, so that the strings do not move.
  std::vector<MappingList> mappings_;
  std::vector<BindingList> bindings_;
};

Places& All() {
  static Places places;
  return places;
}

int Address(const Binding& asked, bool any, char** result) {
  Place* const found = All().Find(asked.program, asked.version, any,
                                  [&](const Place& place) { return place.name == asked.network; });
  *result = found == nullptr ? kNone : found->address.data();
  return 1;
}

int List(BindingList** result) {
  *result = All().bindings();
  return 1;
}

int Time(uint32_t* result) {
  *result = static_cast<uint32_t>(std::time(nullptr));
  return 1;
}

int Refuse(int32_t* result) {
  *result = 0;
  return 1;
}

}  // namespace

extern "C" {

int pmapproc_null_2_svc(void*, void*, void*) { return 1; }
int pmapproc_set_2_svc(Mapping*, int32_t* result, void*) { return Refuse(result); }
int pmapproc_unset_2_svc(Mapping*, int32_t* result, void*) { return Refuse(result); }
int pmapproc_getport_2_svc(Mapping* asked, uint32_t* result, void*) {
  const Place* const found =
      All().Find(asked->program, asked->version, true, [&](const Place& place) {
        return place.network->old && place.network->number == asked->protocol;
      });
  *result = found == nullptr ? 0 : found->port();
  return 1;
}
int pmapproc_dump_2_svc(void*, MappingList** result, void*) {
  *result = All().mappings();
  return 1;
}

int rpcbproc_set_3_svc(Binding*, int32_t* result, void*) { return Refuse(result); }
int rpcbproc_unset_3_svc(Binding*, int32_t* result, void*) { return Refuse(result); }
int rpcbproc_getaddr_3_svc(Binding* asked, char** result, void*) {
  return Address(*asked, true, result);
}
int rpcbproc_dump_3_svc(void*, BindingList** result, void*) { return List(result); }
int rpcbproc_gettime_3_svc(void*, uint32_t* result, void*) { return Time(result); }

int rpcbproc_set_4_svc(Binding*, int32_t* result, void*) { return Refuse(result); }
int rpcbproc_unset_4_svc(Binding*, int32_t* result, void*) { return Refuse(result); }
int rpcbproc_getaddr_4_svc(Binding* asked, char** result, void*) {
  return Address(*asked, true, result);
}
int rpcbproc_dump_4_svc(void*, BindingList** result, void*) { return List(result); }
int rpcbproc_gettime_4_svc(void*, uint32_t* result, void*) { return Time(result); }
int rpcbproc_getversaddr_4_svc(Binding* asked, char** result, void*) {
  return Address(*asked, false, result);
}
// Returns the addresses of this version of the program in all networks.
int rpcbproc_getaddrlist_4_svc(Binding* asked, EntryList** result, void*) {
  static thread_local std::vector<EntryList> entries;
  entries.clear();
  for (const Place& place : All().all()) {
    if (place.program != asked->program || place.version != asked->version) continue;
    const Network& network = *place.network;
    entries.push_back(
        {{const_cast<char*>(place.address.c_str()), const_cast<char*>(place.name.c_str()),
          network.semantics, network.family, network.protocol},
         nullptr});
  }
  for (size_t i = 1; i < entries.size(); ++i) entries[i - 1].next = &entries[i];
  *result = entries.empty() ? nullptr : entries.data();
  return 1;
}
}
