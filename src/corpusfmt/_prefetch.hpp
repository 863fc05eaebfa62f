// Prefetches memory, for tables that are larger than the caches.

#ifndef CORPUSFMT_PREFETCH_HPP
#define CORPUSFMT_PREFETCH_HPP

#if defined(__GNUC__) || defined(__clang__)
#define CORPUSFMT_PREFETCH(address) __builtin_prefetch(address)
#else
#define CORPUSFMT_PREFETCH(address) static_cast<void>(address)
#endif

#endif  // CORPUSFMT_PREFETCH_HPP
