// Words of Unicode, as counted in statistics.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "_utf8.hpp"

namespace corpusfmt {

struct Measures {
    uint64_t lines = 0, words = 0, characters = 0;  // lines are LFs
};

// Measures texts by tables: `classes` has the script of each code point and, in the low byte, what it is for the rules on words;
// `next` has the state after each state and class, at their sum. A state is odd where a word counts. Adds to characters by script.
class Measurer {
  public:
    Measurer(const char* classes, const char* next, char* scripts)
        : classes_(reinterpret_cast<const uint16_t*>(classes)), next_(reinterpret_cast<const uint16_t*>(next)),
          scripts_(reinterpret_cast<uint64_t*>(scripts)) {}

    // A text in `data`, valid UTF-8; an LF or nothing is before it.
    Measures measure(std::string_view text, const char* data) {
        Measures found;
        uint32_t state = 0;
        for (const unsigned char *at = bytes_of(text), *const end = at + text.size(); at < end;) {
            const unsigned char* const stop = end - at < kBlock ? end : at + kBlock;
            if (stop - at == kBlock && at - bytes_of({data, 0}) >= 2 && add_ascii(at, found)) {
                at = stop;
                state = after(after(0, at[-2]), at[-1]);
                continue;
            }
            for (; at < stop; ++found.characters) {
                uint32_t point = *at++;
                found.lines += point == '\n';
                if (point >= 0x80) {
                    int more = 1 + (point >= 0xE0) + (point >= 0xF0);
                    for (point &= 0x3Fu >> more; more > 0; --more) point = point << 6 | (*at++ & 0x3F);
                }
                ++scripts_[classes_[point] >> 8];
                state = after(state, point);
                found.words += state & 1;
            }
        }
        return found;
    }

  private:
    static constexpr ptrdiff_t kBlock = 32;

    uint32_t after(uint32_t state, uint32_t point) const { return next_[state + (classes_[point] & 0xFF)]; }

    // Adds a block if it and the two bytes before it are ASCII without `_`, which decide where words begin.
    bool add_ascii(const unsigned char* at, Measures& found) {
        if (!is_ascii({reinterpret_cast<const char*>(at) - 2, kBlock + 2})) return false;
        const auto is_letter = [](unsigned char byte) { return static_cast<unsigned char>((byte | 0x20) - 'a') < 26; };
        const auto is_digit = [](unsigned char byte) { return static_cast<unsigned char>(byte - '0') < 10; };
        uint8_t feeds = 0, starts = 0, letters = 0, others = at[-1] == '_' || at[-2] == '_';
        for (ptrdiff_t place = 0; place < kBlock; ++place) {
            const unsigned char far = at[place - 2], before = at[place - 1], byte = at[place];
            const bool joins = before == '\'' || before == '.';
            const bool joined = (is_letter(far) & is_letter(byte) & (joins | (before == ':'))) |
                                (is_digit(far) & is_digit(byte) & (joins | (before == ',') | (before == ';')));
            starts += (is_letter(byte) | is_digit(byte)) & !(is_letter(before) | is_digit(before)) & !joined;
            letters += is_letter(byte);
            feeds += byte == '\n';
            others |= byte == '_';
        }
        if (others) return false;
        found.lines += feeds;
        found.words += starts;
        found.characters += kBlock;
        scripts_[classes_['a'] >> 8] += letters;
        return true;
    }

    const uint16_t* classes_;
    const uint16_t* next_;
    uint64_t* scripts_;
};

}  // namespace corpusfmt
