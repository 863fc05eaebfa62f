// Attributes and instructions for compilers that support them.

#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

// A function that hardly ever runs: optimised for size, not speed. One that takes less time than a call: always inlined. And a request
// for memory ahead of its use, for tables that are larger than the caches.
#if defined(__GNUC__) || defined(__clang__)
#define CORPUSFMT_ONCE __attribute__((cold))
#define CORPUSFMT_INLINE __attribute__((always_inline))
#define CORPUSFMT_PREFETCH(address) __builtin_prefetch(address)
#define CORPUSFMT_LOWEST(bits) __builtin_ctzll(bits)
#else
#define CORPUSFMT_ONCE
#define CORPUSFMT_INLINE
#define CORPUSFMT_PREFETCH(address) static_cast<void>(address)
#define CORPUSFMT_LOWEST(bits) [place = 0, each = bits]() mutable { for (; !(each & 1); each >>= 1) ++place; return place; }()
#endif

// Compiled for several processors if the loader can select: the oldest x86-64 processors cannot multiply 32-bit numbers in
// vectors. No copy fuses multiplications with additions.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define CORPUSFMT_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#elif defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define CORPUSFMT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CORPUSFMT_WIDE
#endif

// Vectors that any processor has, and a number of the highest bits of their bytes.
#if defined(__GNUC__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define CORPUSFMT_VECTORS
namespace corpusfmt {
using Bytes [[gnu::vector_size(16)]] = unsigned char;
using Words [[gnu::vector_size(16)]] = unsigned long long;
template <typename Vector>
unsigned highest_bits(Vector bytes) {
#if defined(__SSE2__)
    return static_cast<unsigned>(_mm_movemask_epi8(reinterpret_cast<__m128i>(bytes)));
#else
    const Words bits = (reinterpret_cast<Words>(bytes) >> 7 & 0x0101010101010101) * 0x0102040810204080 >> 56;
    return static_cast<unsigned>(bits[0] | bits[1] << 8);
#endif
}
}  // namespace corpusfmt
#endif
