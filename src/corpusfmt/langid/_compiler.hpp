// What the classifier asks of compilers that can do it.

#ifndef CORPUSFMT_LANGID_COMPILER_HPP
#define CORPUSFMT_LANGID_COMPILER_HPP

// Runs once for a model: small code rather than fast code.
#if defined(__GNUC__) || defined(__clang__)
#define CORPUSFMT_ONCE __attribute__((cold))
#else
#define CORPUSFMT_ONCE
#endif

// Compiled for several processors where the loader can choose: the oldest of x86-64 cannot multiply 32-bit numbers in
// vectors. None of the copies fuses multiplications with additions.
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 12
#define CORPUSFMT_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
#elif defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define CORPUSFMT_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CORPUSFMT_WIDE
#endif

#endif  // CORPUSFMT_LANGID_COMPILER_HPP
