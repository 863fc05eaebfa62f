// Text as split by fastText: separators, the bytes of a hash, words as the vocabulary compares them.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "../_utf8.hpp"

namespace corpusfmt {

constexpr std::string_view kEndOfLine = "</s>";
constexpr std::string_view kLabelPrefix = "__label__";

// Branchless, because it is computed for many bytes at once.
constexpr bool is_separator(uint32_t byte) {
    return (byte == ' ') | (byte - '\t' <= uint32_t{'\r' - '\t'}) | (byte == 0);
}

constexpr auto kSeparator = bytes_that(is_separator);

// All bits of a number that is negative if it is read as signed, otherwise none.
constexpr uint32_t all_if_negative(uint32_t number) {
    return 0 - (number >> 31);
}

constexpr uint32_t kHashStart = 2166136261u;
constexpr uint32_t kHashPrime = 16777619u;

// fastText hashes bytes as *signed* values; published models depend on it.
constexpr uint32_t signed_byte(uint32_t byte) {
    return byte | all_if_negative(byte << 24) << 8;
}

// A word in the form in which the vocabulary compares it.
struct Word {
    static constexpr size_t kCovered = 2 * sizeof(uint64_t);  // bytes in `head` and `tail`

    Word() = default;

    explicit Word(std::string_view word) : text(word) {
        const size_t length = std::min(text.size(), sizeof(head));
        std::memcpy(&head, text.data(), length);
        std::memcpy(&tail, text.data() + text.size() - length, length);
    }

    // The same for a nonempty word, if eight bytes from its start and eight bytes before its end are readable.
    static Word amid(std::string_view text) {
        Word word;
        word.text = text;
        std::memcpy(&word.head, text.data(), sizeof(head));
        std::memcpy(&word.tail, text.data() + text.size() - sizeof(tail), sizeof(tail));
        const size_t foreign_bits = 8 * (sizeof(head) - std::min(text.size(), sizeof(head)));
        word.head = word.head << foreign_bits >> foreign_bits;
        word.tail >>= foreign_bits;
        return word;
    }

    uint32_t hash() const {
        constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
        uint64_t hash = head * kFactor + tail + text.size();
        for (size_t at = sizeof(head); at + sizeof(tail) < text.size(); at += sizeof(head)) {
            uint64_t inner;
            std::memcpy(&inner, text.data() + at, sizeof(inner));
            hash = (hash ^ hash >> 32 ^ inner) * kFactor;
        }
        return static_cast<uint32_t>((hash ^ hash >> 32) * kFactor >> 32);
    }

    uint64_t head = 0, tail = 0;  // the first and the last eight bytes; for shorter words, the whole word twice
    std::string_view text;
};

}  // namespace corpusfmt
