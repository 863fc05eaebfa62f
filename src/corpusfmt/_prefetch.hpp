// Prefetches memory, for tables that are larger than the caches.

#pragma once

#if defined(__GNUC__) || defined(__clang__)
#define CORPUSFMT_PREFETCH(address) __builtin_prefetch(address)
#else
#define CORPUSFMT_PREFETCH(address) static_cast<void>(address)
#endif
