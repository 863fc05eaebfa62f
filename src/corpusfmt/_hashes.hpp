// Hashes that identify texts.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>

namespace corpusfmt {

constexpr uint64_t rotated(uint64_t word, int bits) { return word << bits | word >> (64 - bits); }

// Compiled to a single load.
template <size_t... Byte>
constexpr uint64_t little_endian(const unsigned char* at, std::index_sequence<Byte...>) {
    return ((static_cast<uint64_t>(at[Byte]) << 8 * Byte) | ...);
}

template <size_t Size>
uint64_t little_endian(const unsigned char* at) {
    return little_endian(at, std::make_index_sequence<Size>());
}

inline uint64_t random_word() { return uint64_t{std::random_device{}()} << 32 | std::random_device{}(); }

// XXH64 with seed 0 (https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md).
class Xxh64 {
  public:
    static uint64_t of(std::string_view data) {
        const auto* at = reinterpret_cast<const unsigned char*>(data.data());
        const unsigned char* const end = at + data.size();
        uint64_t hash = kPrime5;
        if (data.size() >= 32) {
            std::array<uint64_t, 4> lanes{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
            for (; end - at >= 32; at += 32) {
                for (size_t lane = 0; lane < 4; ++lane) lanes[lane] = round(lanes[lane], little_endian<8>(at + 8 * lane));
            }
            hash = rotated(lanes[0], 1) + rotated(lanes[1], 7) + rotated(lanes[2], 12) + rotated(lanes[3], 18);
            for (const uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
        }
        hash += data.size();
        for (; end - at >= 8; at += 8) hash = rotated(hash ^ round(0, little_endian<8>(at)), 27) * kPrime1 + kPrime4;
        for (; end - at >= 4; at += 4) hash = rotated(hash ^ little_endian<4>(at) * kPrime1, 23) * kPrime2 + kPrime3;
        for (; at < end; ++at) hash = rotated(hash ^ *at * kPrime5, 11) * kPrime1;
        hash = (hash ^ hash >> 33) * kPrime2;
        hash = (hash ^ hash >> 29) * kPrime3;
        return hash ^ hash >> 32;
    }

  private:
    static constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                              kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;

    static constexpr uint64_t round(uint64_t lane, uint64_t word) { return rotated(lane + word * kPrime2, 31) * kPrime1; }
};

// SipHash-1-3 of 128 bits (https://github.com/veorq/SipHash): who does not know the key cannot write texts of one hash, as for XXH64.
struct SipHash {
    uint64_t first, second;

    std::array<uint64_t, 2> of(std::string_view data) const {
        uint64_t a = first ^ 0x736F6D6570736575, b = second ^ 0x646F72616E646F83, c = first ^ 0x6C7967656E657261, d = second ^ 0x7465646279746573;
        const auto mix = [&] {
            a += b, b = rotated(b, 13) ^ a, a = rotated(a, 32);
            c += d, d = rotated(d, 16) ^ c;
            a += d, d = rotated(d, 21) ^ a;
            c += b, b = rotated(b, 17) ^ c, c = rotated(c, 32);
        };
        const auto take = [&](uint64_t word) { d ^= word, mix(), a ^= word; };
        const auto* at = reinterpret_cast<const unsigned char*>(data.data());
        const unsigned char* const end = at + data.size();
        for (; end - at >= 8; at += 8) take(little_endian<8>(at));
        uint64_t last = static_cast<uint64_t>(data.size()) << 56;
        for (int bits = 0; at < end; ++at, bits += 8) last |= static_cast<uint64_t>(*at) << bits;
        take(last);
        c ^= 0xEE, mix(), mix(), mix();
        const uint64_t word = a ^ b ^ c ^ d;
        b ^= 0xDD, mix(), mix(), mix();
        return {word, a ^ b ^ c ^ d};
    }
};

}  // namespace corpusfmt
