// UTF-8 for the native kernels: validation, and counts of code points.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace corpusfmt {

constexpr bool is_continuation(unsigned char byte) { return (byte & 0xC0) == 0x80; }

inline bool is_ascii(std::string_view text) {
    uint64_t seen = 0, word = 0;
    while (text.size() >= sizeof(word)) {
        std::memcpy(&word, text.data(), sizeof(word));
        seen |= word;
        text.remove_prefix(sizeof(word));
    }
    word = 0;
    if (!text.empty()) std::memcpy(&word, text.data(), text.size());
    return ((seen | word) & 0x8080808080808080) == 0;
}

constexpr uint64_t in_each_byte(unsigned char byte) { return byte * uint64_t{0x0101010101010101}; }

// The number of bytes of a text that are marked.
template <typename IsMarked>
size_t count_marked(std::string_view text, IsMarked is_marked) {
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
inline size_t continuations_in(std::string_view text) {
    return count_marked(text, [](unsigned char byte) { return is_continuation(byte); });
}

// UTF-8 as in RFC 3629 and Python's strict decoder, as an automaton whose state is a shift: the table entry of a byte
// contains the successor of every state, six bits each, so a step is one load and one shift.
class Utf8Automaton {
  public:
    static bool accepts(std::string_view text);

  private:
    enum State : uint64_t {
        kAccept = 0, kReject = 6, kOneMore = 12, kTwoMore = 18, kThreeMore = 24,
        kAfterE0 = 30, kAfterED = 36, kAfterF0 = 42, kAfterF4 = 48,
    };
    struct Step {
        State from;
        unsigned char first, last;
        State to;
    };
    static constexpr Step kSteps[] = {  // all other bytes are rejected
        {kAccept, 0x00, 0x7F, kAccept},   {kAccept, 0xC2, 0xDF, kOneMore},  {kAccept, 0xE0, 0xE0, kAfterE0},
        {kAccept, 0xE1, 0xEC, kTwoMore},  {kAccept, 0xED, 0xED, kAfterED},  {kAccept, 0xEE, 0xEF, kTwoMore},
        {kAccept, 0xF0, 0xF0, kAfterF0},  {kAccept, 0xF1, 0xF3, kThreeMore}, {kAccept, 0xF4, 0xF4, kAfterF4},
        {kOneMore, 0x80, 0xBF, kAccept},  {kTwoMore, 0x80, 0xBF, kOneMore}, {kThreeMore, 0x80, 0xBF, kTwoMore},
        {kAfterE0, 0xA0, 0xBF, kOneMore}, {kAfterED, 0x80, 0x9F, kOneMore}, {kAfterF0, 0x90, 0xBF, kTwoMore},
        {kAfterF4, 0x80, 0x8F, kTwoMore},
    };

    static constexpr std::array<uint64_t, 256> build() {
        std::array<uint64_t, 256> table{};
        for (uint64_t& entry : table) {
            for (uint64_t state = kAccept; state <= kAfterF4; state += 6) entry |= uint64_t{kReject} << state;
        }
        for (const Step& step : kSteps) {
            for (int byte = step.first; byte <= step.last; ++byte) table[byte] ^= uint64_t{kReject ^ step.to} << step.from;
        }
        return table;
    }
};

inline bool Utf8Automaton::accepts(std::string_view text) {
    static constexpr std::array<uint64_t, 256> kTable = build();
    constexpr size_t kBlock = 64;  // most text has long runs of ASCII
    uint64_t state = kAccept;
    for (size_t begin = 0; begin < text.size(); begin += kBlock) {
        const std::string_view block = text.substr(begin, kBlock);
        if ((state & 63) == kAccept && is_ascii(block)) continue;
        for (const char byte : block) state = kTable[static_cast<unsigned char>(byte)] >> (state & 63);
    }
    return (state & 63) == kAccept;
}

inline unsigned char largest_in(std::string_view text) {
    unsigned char largest = 0;
    for (const char byte : text) largest = std::max(largest, static_cast<unsigned char>(byte));
    return largest;
}

}  // namespace corpusfmt
