// Words, as counted in the sizes of corpora: runs without ASCII white space.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace corpusfmt {

constexpr bool is_space(unsigned char byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

inline size_t count_words(std::string_view text) {
    constexpr size_t kBlock = 128;  // the count of a block fits a byte, which vectorises best
    if (text.empty()) return 0;
    size_t words = is_space(static_cast<unsigned char>(text[0])) ? 0 : 1;
    for (size_t begin = 1; begin < text.size(); begin += kBlock) {
        const auto* const at = reinterpret_cast<const unsigned char*>(text.data()) + begin;
        const size_t size = text.size() - begin < kBlock ? text.size() - begin : kBlock;
        uint8_t starts = 0;
        for (size_t byte = 0; byte < size; ++byte) {
            const bool begins = is_space(at[static_cast<ptrdiff_t>(byte) - 1]) & !is_space(at[byte]);
            starts = static_cast<uint8_t>(starts + begins);
        }
        words += starts;
    }
    return words;
}

}  // namespace corpusfmt
