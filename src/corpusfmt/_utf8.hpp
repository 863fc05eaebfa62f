// UTF-8 for the native kernels: validation, and counts of code points.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "_compiler.hpp"

namespace corpusfmt {

constexpr bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

// As a number: loops of bytes become vectors if nothing in them is wider. Such numbers are added up, not combined by `|`, from
// which the compiler would make shifts of words.
constexpr unsigned char is_within(unsigned char byte, unsigned char first, unsigned char last) {
    return static_cast<unsigned char>(byte - first) <= static_cast<unsigned char>(last - first);
}

constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Whether a text fits a pattern, in which 9 is any digit, X a hexadecimal one and B one of base32.
inline bool fits(std::string_view text, std::string_view pattern) {
    return std::equal(text.begin(), text.end(), pattern.begin(), pattern.end(), [](char byte, char wanted) {
        if (wanted == '9') return is_digit(byte);
        if (wanted == 'X') return is_digit(byte) || ((byte | 0x20) >= 'a' && (byte | 0x20) <= 'f');
        if (wanted == 'B') return (byte >= 'A' && byte <= 'Z') || (byte >= '2' && byte <= '7');
        return byte == wanted;
    });
}

inline const unsigned char* bytes_of(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

CORPUSFMT_WIDE inline unsigned char largest_in(std::string_view text) {
    unsigned char largest = 0;
    for (const char byte : text) largest = std::max(largest, static_cast<unsigned char>(byte));
    return largest;
}

inline bool is_ascii(std::string_view text) { return largest_in(text) < 0x80; }

// Which bytes pass a test.
template <typename Test>
constexpr std::array<bool, 256> bytes_that(Test test) {
    std::array<bool, 256> table{};
    for (unsigned byte = 0; byte < 256; ++byte) table[byte] = test(byte);
    return table;
}

// The number of bytes of a text that are marked.
template <typename IsMarked>
CORPUSFMT_INLINE inline size_t count_marked(std::string_view text, IsMarked is_marked) {
    constexpr size_t kBlock = 128;  // the count of a block fits a byte, which vectorises best
    size_t count = 0;
    for (size_t begin = 0; begin < text.size(); begin += kBlock) {
        const size_t end = std::min(begin + kBlock, text.size());
        uint8_t marked = 0;
        for (size_t at = begin; at < end; ++at) marked = static_cast<uint8_t>(marked + is_marked(static_cast<unsigned char>(text[at])));
        count += marked;
    }
    return count;
}

// The number of continuation bytes in a text; in UTF-8, each other byte begins a code point.
CORPUSFMT_WIDE inline size_t continuations_in(std::string_view text) {
    return count_marked(text, [](unsigned char byte) { return is_continuation(byte); });
}

CORPUSFMT_WIDE inline size_t count_lines(std::string_view data) { return count_marked(data, [](unsigned char byte) { return byte == '\n'; }); }

constexpr ptrdiff_t kUtf8Block = 64;

// Whether blocks continue the three bytes before them in UTF-8: RFC 3629 and Python's strict decoder. At their end more may follow.
CORPUSFMT_WIDE inline bool continues_utf8(const unsigned char* at, const unsigned char* end) {
    for (; at < end; at += kUtf8Block) {
        unsigned char any = at[-1] | at[-2] | at[-3];
        for (ptrdiff_t place = 0; place < kUtf8Block; ++place) any |= at[place];
        if (any < 0x80) continue;
        any = 0;
        for (ptrdiff_t place = 0; place < kUtf8Block; ++place) {
            const unsigned char byte = at[place], before = at[place - 1], far = at[place - 2], farther = at[place - 3];
            const unsigned char follows = is_within(before, 0xC2, 0xFF) + is_within(far, 0xE0, 0xFF) + is_within(farther, 0xF0, 0xFF);
            const auto is_after = [&](auto lead, auto first, auto last) -> unsigned char { return is_within(before, lead, lead) & is_within(byte, first, last); };
            const unsigned char never = is_within(byte, 0xC0, 0xC1) + is_within(byte, 0xF5, 0xFF) + is_after(0xE0, 0x80, 0x9F) +
                                        is_after(0xED, 0xA0, 0xBF) + is_after(0xF0, 0x80, 0x8F) + is_after(0xF4, 0x90, 0xBF);
            any |= (is_within(byte, 0x80, 0xBF) ^ follows) | never;
        }
        if (any) return false;
    }
    return true;
}

inline bool is_utf8(std::string_view text) {
    const size_t rest = text.size() % kUtf8Block, whole = text.size() - rest, before = std::min<size_t>(whole, 3);
    unsigned char padded[3 + kUtf8Block] = {};
    if (rest + before) std::memcpy(padded + 3 - before, text.data() + whole - before, before + rest);
    if (!continues_utf8(padded + 3, std::end(padded))) return false;
    if (whole == 0) return true;
    std::memset(padded, 0, 3);
    std::memcpy(padded + 3, text.data(), kUtf8Block);
    return continues_utf8(padded + 3, std::end(padded)) && continues_utf8(bytes_of(text) + kUtf8Block, bytes_of(text) + whole);
}

}  // namespace corpusfmt
