// Counting what several rankings say about pairs of documents: bits that two rows share, and patterns of signs.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#if defined(__x86_64__) && defined(__GNUC__)
#define CALIPERS_AVX2 1
#include <immintrin.h>
#endif

namespace calipers {

inline int64_t count_bits(uint64_t x) {
    x -= (x >> 1) & 0x5555555555555555u;
    x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
    return static_cast<int64_t>((x * 0x0101010101010101u) >> 56);
}

inline int64_t shared_portable(const uint64_t* a, const uint64_t* b, size_t words) {
    int64_t total = 0;
    for (size_t i = 0; i < words; i++) total += count_bits(a[i] & b[i]);
    return total;
}

#ifdef CALIPERS_AVX2
// Half bytes are looked up in a table of sixteen counts; bytes are summed up before they can overflow.
__attribute__((target("avx2"))) inline int64_t shared_avx2(const uint64_t* a, const uint64_t* b, size_t words) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                                           0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    __m256i total = zero;
    size_t i = 0;
    while (i + 4 <= words) {
        __m256i bytes = zero;
        size_t end = std::min(words - words % 4, i + 4 * 31);  // 31 x 8 still fits a byte
        for (; i < end; i += 4) {
            __m256i both = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + i)),
                                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + i)));
            __m256i low = _mm256_and_si256(both, half);
            __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), half);
            bytes = _mm256_add_epi8(bytes, _mm256_add_epi8(_mm256_shuffle_epi8(table, low),
                                                           _mm256_shuffle_epi8(table, high)));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(bytes, zero));
    }
    alignas(32) int64_t parts[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), total);
    int64_t sum = parts[0] + parts[1] + parts[2] + parts[3];
    for (; i < words; i++) sum += count_bits(a[i] & b[i]);
    return sum;
}
#endif

// out[i * others + j] = bits that row i of one and row j of other have in common. Where both are the same matrix, each
// two rows are compared once.
inline void shared_bits(const uint64_t* one, size_t ones, const uint64_t* other, size_t others, size_t words,
                        int64_t* out) {
    constexpr size_t BLOCK = 248;  // words of a row at a time, so that all rows stay in the cache
    constexpr size_t SPARSE = 8;   // where fewer than one word in so many has a bit, only those are looked at
    auto count = shared_portable;
#ifdef CALIPERS_AVX2
    if (__builtin_cpu_supports("avx2")) count = shared_avx2;
#endif
    const bool same = one == other && ones == others;
    std::fill(out, out + ones * others, int64_t{0});
    for (size_t start = 0; start < words; start += BLOCK) {
        const size_t size = std::min(BLOCK, words - start);
        for (size_t i = 0; i < ones; i++) {
            const uint64_t* row = one + i * words + start;
            uint16_t filled[BLOCK];
            size_t some = 0;
            for (size_t k = 0; k < size; k++) {
                filled[some] = static_cast<uint16_t>(k);
                some += row[k] != 0;
            }
            if (some == 0) continue;
            for (size_t j = same ? i : 0; j < others; j++) {
                const uint64_t* against = other + j * words + start;
                int64_t found = 0;
                if (some * SPARSE < size) {
                    for (size_t k = 0; k < some; k++) found += count_bits(row[filled[k]] & against[filled[k]]);
                } else {
                    found = count(row, against, size);
                }
                out[i * others + j] += found;
            }
        }
    }
    if (!same) return;
    for (size_t i = 0; i < ones; i++) {
        for (size_t j = 0; j < i; j++) out[i * others + j] = out[j * others + i];
    }
}

// counts[middle + sum of s_i 3^i] += 1 for each pair of a better and a worse document, where s_i is 1 if list i gives the
// better one the smaller number, -1 if the larger, 0 if both are the same. At most 10 lists: (3^10 - 1) / 2 fits 15 bits.
inline void count_patterns(const int16_t* better, size_t betters, const int16_t* worse, size_t worses, size_t lists,
                           int64_t* counts) {
    constexpr size_t BLOCK = 512;
    int16_t code[BLOCK];
    int64_t middle = 0;
    for (size_t i = 0; i < lists; i++) middle = 3 * middle + 1;
    for (size_t start = 0; start < worses; start += BLOCK) {
        const size_t size = std::min(BLOCK, worses - start);
        for (size_t r = 0; r < betters; r++) {
            for (size_t k = 0; k < size; k++) code[k] = 0;
            for (size_t i = lists; i-- > 0;) {
                const int16_t* below = worse + i * worses + start;
                const int16_t own = better[i * betters + r];
                for (size_t k = 0; k < size; k++) {
                    int16_t sign = static_cast<int16_t>(below[k] - own);
                    sign = std::min<int16_t>(std::max<int16_t>(sign, -1), 1);
                    code[k] = static_cast<int16_t>(code[k] * 3 + sign);
                }
            }
            for (size_t k = 0; k < size; k++) counts[middle + code[k]]++;
        }
    }
}

}  // namespace calipers
