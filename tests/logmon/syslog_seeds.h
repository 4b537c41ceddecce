// SPDX-License-Identifier: BSD-3-Clause
//
// A syslog message of each form: the examples in RFC 5424 section 6.5 and RFC 3164 section 5.4.
#pragma once

#include <string_view>

namespace sluice::test {

inline constexpr std::string_view kSyslogSeeds[] = {
    "<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \xef\xbb\xbf'su root' failed",
    "<165>1 2003-10-11T22:14:15.003Z h evntslog - ID47 [exampleSDID@32473 iut=\"3\" "
    "eventID=\"1\\]\\\"\"][examplePriority@32473 class=\"high\"]",
    "<34>Oct 11 22:14:15 mymachine su[12]: 'su root' failed for lonvick on /dev/pts/8",
    "<0>2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc: do-nuts",
    "Use the BFG!",
};

}  // namespace sluice::test
