// Attributes and instructions for compilers that support them.

#pragma once

// A function that hardly ever runs: optimised for size, not speed. One that takes less time than a call: always inlined. And a request
// for memory ahead of its use, for tables that are larger than the caches. Vectors that any processor has.
#if defined(__GNUC__) || defined(__clang__)
namespace corpusfmt { using Bytes [[gnu::vector_size(16)]] = unsigned char; using Words [[gnu::vector_size(16)]] = unsigned long long; }
#define CORPUSFMT_ONCE __attribute__((cold))
#define CORPUSFMT_INLINE __attribute__((always_inline))
#define CORPUSFMT_PREFETCH(address) __builtin_prefetch(address)
#else
#define CORPUSFMT_ONCE
#define CORPUSFMT_INLINE
#define CORPUSFMT_PREFETCH(address) static_cast<void>(address)
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
