// Strings of JSON.

#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "_utf8.hpp"

namespace corpusfmt {

constexpr auto kEndsPlainText = bytes_that([](unsigned byte) { return byte < 0x20 || byte == '"' || byte == '\\'; });

// The first byte from `at` on that ends a stretch of plain text; there must be one before `end` or at it.
inline const char* end_of_plain_text(const char* at, const char* end) {
#if defined(CORPUSFMT_VECTORS)
    for (; end - at >= 16; at += 16) {
        Bytes bytes;
        std::memcpy(&bytes, at, sizeof(bytes));
        const unsigned marks = highest_bits((bytes < 0x20) | (bytes == '"') | (bytes == '\\'));
        if (marks) return at + __builtin_ctz(marks);
    }
#endif
    while (!kEndsPlainText[static_cast<unsigned char>(*at)]) ++at;
    return at;
}

// What a backslash may precede, apart from u, and what it means.
constexpr std::string_view kEscapes = "bfnrt\"\\/", kMeanings = "\b\f\n\r\t\"\\/";

// Appends a text as `io.text` encodes it between quotation marks. What ends plain text must follow, at once or later.
inline void append_escaped(std::string& to, std::string_view text) {
    for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
        const char* const plain = std::min(end_of_plain_text(at, end), end);
        to.append(at, plain);
        if (plain == end) return;
        const size_t meaning = kMeanings.find(*plain);
        if (meaning != kMeanings.npos) to.append({'\\', kEscapes[meaning]});
        else to.append("\\u00").append({"01"[*plain >> 4], "0123456789abcdef"[*plain & 15]});
        at = plain + 1;
    }
}

// The code unit that four hexadecimal digits represent; negative if one is not such a digit.
inline int unit_at(const char* digits) {
    unsigned unit = 0;
    return std::from_chars(digits, digits + 4, unit, 16).ptr == digits + 4 ? static_cast<int>(unit) : -1;
}

inline void append_utf8(std::string& text, int character) {
    constexpr int kLeads[] = {0, 0xC0, 0xE0, 0xF0};
    int left = (character >= 0x80) + (character >= 0x800) + (character >= 0x10000);
    text += static_cast<char>(kLeads[left] | character >> 6 * left);
    while (left-- > 0) text += static_cast<char>(0x80 | (character >> 6 * left & 0x3F));
}

// Appends the text of a flawless string, which is `raw` between quotation marks.
inline void append_text(std::string& text, std::string_view raw) {
    for (;;) {
        const size_t plain = std::min(raw.find('\\'), raw.size());
        text.append(raw, 0, plain);
        if (plain == raw.size()) return;
        size_t read = 2;
        if (raw[plain + 1] != 'u') {
            text += kMeanings[kEscapes.find(raw[plain + 1])];
        } else {
            int character = unit_at(raw.data() + plain + 2);
            read = 6;
            if (character >= 0xD800 && character <= 0xDBFF) {
                character = 0x10000 + ((character - 0xD800) << 10) + (unit_at(raw.data() + plain + 8) - 0xDC00);
                read = 12;
            }
            append_utf8(text, character);
        }
        raw.remove_prefix(plain + read);
    }
}

}  // namespace corpusfmt
