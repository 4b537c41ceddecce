// SPDX-License-Identifier: BSD-3-Clause
//
// Seeds for the fuzz target LogmonFilter: the first line is the pattern, and the other lines are
// matched.
#pragma once

namespace sluice::test {

inline constexpr const char* kFilterSeeds[] = {
    "ERROR \"a b\" -%^x[^b]{1,3}.*$%\n[ERROR] a b\nERROR a b\nxERROR a b",
    "?a ?%b+|c$%\nbbb\nac\n\nd",
    "{ ($.a[0].b = \"x*y\" || $.n >= 1e3) && $.s IS NULL }\n"
    "{\"a\":[{\"b\":\"xzy\"}],\"s\":null}\n{\"n\":1000.5,\"s\":null,\"a\":\"\\u0061\"}\n{}",
    "{ $.t = %a+|b$% && $.u NOT EXISTS }\n{\"t\":\"aab\"}\n{\"t\":7,\"u\":1}",
    "[ip, ..., request = \"*.html*\", status = 4* && status != 404, bytes > 1000]\n"
    "1.2.3.4 - [10/Oct/2000:13:25:15 -0700] \"GET /i.html HTTP\" 403 1001\n\"a [b",
    "(?i)^Failed (?:password|publickey)+? for .* from <HOST>(?: port \\d{1,5})?\\s*$\n"
    "failed password for root from 192.0.2.1 port 22\nFailed publickey for x from [2001:db8::1]",
};

}  // namespace sluice::test
