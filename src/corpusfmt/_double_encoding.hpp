// Finds where UTF-8 that was read as Windows-1252 and encoded again may begin; io/double_encoding.py decides.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "_json.hpp"
#include "_utf8.hpp"

namespace corpusfmt {

constexpr unsigned char kDoubleEncodedLead = 0xC3;  // of the UTF-8 of U+00C0 to U+00FF

// The byte that Windows-1252, or else Latin-1, decodes to a character beyond ASCII; 0 if there is none.
constexpr unsigned byte_read_as(uint32_t point) {
    if (point < 0x100) return point < 0x80 ? 0 : point;
    constexpr uint32_t kOthers[] = {0x0152, 0x0153, 0x0160, 0x0161, 0x0178, 0x017D, 0x017E, 0x0192, 0x02C6,
                                    0x02DC, 0x2013, 0x2014, 0x2018, 0x2019, 0x201A, 0x201C, 0x201D, 0x201E,
                                    0x2020, 0x2021, 0x2022, 0x2026, 0x2030, 0x2039, 0x203A, 0x20AC, 0x2122};
    for (const uint32_t other : kOthers) {
        if (point == other) return 0x80;  // any continuation byte will do here
    }
    return 0;
}

struct Character {
    unsigned byte = 0;  // its source, see above
    size_t length = 0;
};

// The character beyond ASCII at a position in UTF-8.
inline Character character_at(const unsigned char* at, const unsigned char* end) {
    if (end - at >= 2 && at[0] >= 0xC2 && at[0] < 0xE0 && is_continuation(at[1])) {
        return {byte_read_as((at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu)), 2};
    }
    if (end - at >= 3 && at[0] == 0xE2 && is_continuation(at[1]) && is_continuation(at[2])) {
        return {byte_read_as(0x2000u | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu)), 3};
    }
    return {};
}

// The character of a JSON escape at a position.
inline Character escaped_character_at(const unsigned char* at, const unsigned char* end) {
    const bool is_escape = end - at >= 6 && at[0] == '\\' && at[1] == 'u';
    const int point = is_escape ? unit_at(reinterpret_cast<const char*>(at + 2)) : -1;
    return point < 0 ? Character{} : Character{byte_read_as(static_cast<uint32_t>(point)), 6};
}

// Whether a character was decoded from a lead byte of UTF-8 and does not occur there in real text: see double_encoding.py.
template <typename Read>
bool is_double_encoded(const unsigned char* begin, const unsigned char* at, const unsigned char* end, Read read) {
    const Character lead = read(at, end);
    if (lead.byte < 0xC2 || lead.byte > 0xF4) return false;
    const size_t following = lead.byte < 0xE0 ? 1 : lead.byte < 0xF0 ? 2 : 3;
    const unsigned char* next = at + lead.length;
    for (size_t count = 0; count < following; ++count) {
        const Character character = read(next, end);
        if (character.byte < 0x80 || character.byte >= 0xC0) return false;
        next += character.length;
    }
    switch (lead.byte) {
        case 0xC2: case 0xC3: case 0xE2: case 0xEF: case 0xF0: return true;
        case 0xD7: case 0xDF: break;  // not upper-case letters
        default:
            if (following == 1 && at > begin && at[-1] >= 'a' && at[-1] <= 'z') return true;
    }
    return read(next, end).byte >= 0xC2;
}

// Whether the character at a position needs a closer check, which is rare. Reads `kLookAhead` bytes.
constexpr ptrdiff_t kLookAhead = 7, kUsualBlock = 64;
constexpr bool is_suspect(const unsigned char* at) { return (at[0] == kDoubleEncodedLead) & (at[2] >= 0xC2) & (at[2] != kDoubleEncodedLead); }
constexpr bool is_suspect_escape(const unsigned char* at) {
    return (at[0] == '\\') & (at[3] == '0') & ((at[4] | 0x20) >= 'c') & (at[6] == '\\');
}

// The start of the first block in which a character needs that, or of what is left.
template <bool kEscaped>
CORPUSFMT_WIDE const unsigned char* after_usual_blocks(const unsigned char* at, const unsigned char* end) {
    for (; end - at >= kUsualBlock + kLookAhead; at += kUsualBlock) {
        unsigned char any = 0;
        for (ptrdiff_t place = 0; place < kUsualBlock; ++place) {
            any |= static_cast<unsigned char>(is_suspect(at + place) | (kEscaped && is_suspect_escape(at + place)));
        }
        if (any) break;
    }
    return at;
}

// The first position from `start` on where text may be UTF-8 that was read as Windows-1252 and encoded again, or none.
template <bool kEscaped>
std::optional<size_t> double_encoding_at(std::string_view data, size_t start) {
    const unsigned char* const begin = bytes_of(data);
    const unsigned char* const end = begin + data.size();
    for (const unsigned char* at = begin + std::min(start, data.size()); at < end;) {
        at = after_usual_blocks<kEscaped>(at, end);
        for (const unsigned char* const stop = at + std::min(end - at, kUsualBlock + kLookAhead); at < stop; ++at) {
            const bool found = *at == kDoubleEncodedLead ? is_double_encoded(begin, at, end, character_at)
                               : kEscaped && *at == '\\' && is_double_encoded(begin, at, end, escaped_character_at);
            if (found) return static_cast<size_t>(at - begin);
        }
    }
    return std::nullopt;
}

}  // namespace corpusfmt
