// Words of Unicode, as counted in statistics.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "_utf8.hpp"

namespace corpusfmt {

constexpr size_t kUnits = 4;  // lines, words, characters and bytes

struct Measures {
    uint64_t lines = 0, words = 0, characters = 0;  // lines are LFs
};

// The code point at a place in valid UTF-8, which moves after it. A loop over its bytes would take longer.
inline uint32_t next_point(const unsigned char*& at) {
    const uint32_t lead = *at++;
    if (lead < 0x80) return lead;
    const uint32_t second = *at++ & 0x3F;
    if (lead < 0xE0) return (lead & 0x1F) << 6 | second;
    const uint32_t third = second << 6 | (*at++ & 0x3F);
    return lead < 0xF0 ? (lead & 0xF) << 12 | third : (lead & 7) << 18 | third << 6 | (*at++ & 0x3F);
}

// Measures texts by tables: `classes` has the script of each code point and, in the low byte, what it is for the rules on words;
// `next` has the state after each state and class, at their sum. A state is odd where a word counts. Adds to characters by script.
class Measurer {
  public:
    Measurer(const char* classes, const char* next, char* scripts)
        : classes_(reinterpret_cast<const uint16_t*>(classes)), next_(reinterpret_cast<const uint16_t*>(next)),
          scripts_(reinterpret_cast<uint64_t*>(scripts)) {}

    // A text in `data`, valid UTF-8; an LF or nothing is before it.
    Measures measure(std::string_view text, const char* data) {
        Measures found, usual;  // the former in registers: a counter of scripts might be at the place of the latter
        uint32_t state = 0;
        for (const unsigned char *at = bytes_of(text), *const end = at + text.size(); at < end;) {
            const unsigned char* const begin = at;
            const bool is_known = at - bytes_of({data, 0}) >= 3 && is_usual_before(at) && (at[-1] >= 0x80 || is_usual_before(at - 1));
            if (is_known && (at = after_usual(at, end, usual)) > begin) {
                state = after(after(0, at[-2] < 0x80 ? at[-2] : 'a'), at[-1] < 0x80 ? at[-1] : 'a');
                continue;
            }
            for (const unsigned char* const stop = at + std::min(end - at, kStride); at < stop; ++found.characters) {
                const uint32_t point = next_point(at);
                ++scripts_[classes_[point] >> 8];
                state = after(state, point);
                found.lines += point == '\n';
                found.words += state & 1;
            }
        }
        return {found.lines + usual.lines, found.words + usual.words, found.characters + usual.characters};
    }

  private:
    static constexpr ptrdiff_t kStride = 32, kBlock = 64;

    uint32_t after(uint32_t state, uint32_t point) const { return next_[state + (classes_[point] & 0xFF)]; }

    // Whether a byte is `_` or begins another character than a letter of Latin, Cyrillic or Arabic from U+00C0 to U+027F, U+0400 to
    // U+047F, U+0620 to U+063F or U+0641 to U+064A. Continuation bytes follow from that.
    static unsigned char is_unusual(unsigned char byte, unsigned char next) {
        return is_within(byte, '_', '_') + is_within(byte, 0xC0, 0xC2) + is_within(byte, 0xCA, 0xCF) + is_within(byte, 0xD2, 0xD7) +
               is_within(byte, 0xDA, 0xFF) + (is_within(byte, 0xC3, 0xC3) & (is_within(next, 0x97, 0x97) + is_within(next, 0xB7, 0xB7))) +
               (is_within(byte, 0xD8, 0xD8) & is_within(next, 0x80, 0x9F)) + (is_within(byte, 0xD9, 0xD9) & (is_within(next, 0x81, 0x8A) ^ 1));
    }
    static bool is_usual_before(const unsigned char* at) { return at[-1] < 0x80 ? at[-1] != '_' : at[-2] >= 0xC0 && !is_unusual(at[-2], at[-1]); }

    // Adds blocks that are usual, as are the characters before them, which decide where words begin.
    CORPUSFMT_WIDE const unsigned char* after_usual(const unsigned char* at, const unsigned char* end, Measures& found) {
        const auto is_latin = [](unsigned char byte) { return is_within(byte | 0x20, 'a', 'z'); };
        const auto is_letter = [&](unsigned char byte) -> unsigned char { return is_latin(byte) + is_within(byte, 0x80, 0xFF); };
        const auto is_digit = [](unsigned char byte) { return is_within(byte, '0', '9'); };
        const unsigned char* const begin = at;
        for (; end - at > kBlock; at += kBlock) {
            unsigned char highest = 0, others = 0, feeds = 0, starts = 0, latin = 0, cyrillic = 0, arabic = 0, further = 0;
            for (ptrdiff_t place = 0; place < kBlock; ++place) {
                highest |= at[place];
                others |= is_within(at[place], '_', '_');
            }
            for (ptrdiff_t place = 0; place < kBlock && highest >= 0x80; ++place) {
                others |= is_unusual(at[place], at[place + 1]);
                latin += is_within(at[place], 0xC3, 0xC9);
                cyrillic += is_within(at[place], 0xD0, 0xD1);
                arabic += is_within(at[place], 0xD8, 0xD9);
                further += is_within(at[place], 0x80, 0xBF);
            }
            if (others) break;
            for (ptrdiff_t place = 0; place < kBlock; ++place) {
                const unsigned char far = at[place - 2], before = at[place - 1], byte = at[place];
                const bool joins = before == '\'' || before == '.';
                const bool joined = (is_letter(far) & is_letter(byte) & (joins | (before == ':'))) |
                                    (is_digit(far) & is_digit(byte) & (joins | (before == ',') | (before == ';')));
                starts += (is_letter(byte) | is_digit(byte)) & !(is_letter(before) | is_digit(before)) & !joined;
                latin += is_latin(byte);
                feeds += byte == '\n';
            }
            found = {found.lines + feeds, found.words + starts, found.characters + kBlock - further};
            scripts_[classes_['a'] >> 8] += latin;
            scripts_[classes_[0x430] >> 8] += cyrillic;
            scripts_[classes_[0x627] >> 8] += arabic;
        }
        return at + (at > begin && at[-1] >= 0xC0);
    }

    const uint16_t* classes_;
    const uint16_t* next_;
    uint64_t* scripts_;
};

// Puts the lines, words (if `measurer` counts them), characters and bytes of a text into columns, one after another.
inline void measure(std::string_view text, const char* data, Measurer* measurer, std::vector<uint64_t>& columns, size_t at) {
    const Measures found = measurer ? measurer->measure(text, data) : Measures{count_lines(text), 0, text.size() - continuations_in(text)};
    const uint64_t lines = found.lines + (!text.empty() && text.back() != '\n');
    for (const uint64_t value : {lines, found.words, found.characters, uint64_t{text.size()}}) {
        columns[at] = value;
        at += columns.size() / kUnits;
    }
}

}  // namespace corpusfmt
