// What several rankings say about pairs of documents: bits of their order, bits that two rows share, patterns of signs,
// and a sort by their votes.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

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

// The bits that two rows have in common in some groups of four words; each group is the place of its first word.
inline int64_t shared_portable(const uint64_t* a, const uint64_t* b, const uint16_t* group, size_t groups) {
    int64_t total = 0;
    for (size_t g = 0; g < groups; g++) {
        for (size_t i = group[g]; i < group[g] + size_t{4}; i++) total += count_bits(a[i] & b[i]);
    }
    return total;
}

#ifdef CALIPERS_AVX2
// Half bytes are looked up in a table of sixteen counts; bytes are summed up before they can overflow.
__attribute__((target("avx2"))) inline int64_t shared_avx2(const uint64_t* a, const uint64_t* b, const uint16_t* group,
                                                           size_t groups) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4,
                                           0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4);
    const __m256i half = _mm256_set1_epi8(15), zero = _mm256_setzero_si256();
    __m256i total = zero;
    size_t g = 0;
    while (g < groups) {
        __m256i bytes = zero;
        const size_t end = std::min(groups, g + 31);  // 31 x 8 still fits a byte
        for (; g < end; g++) {
            __m256i both = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + group[g])),
                                            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + group[g])));
            __m256i low = _mm256_and_si256(both, half);
            __m256i high = _mm256_and_si256(_mm256_srli_epi16(both, 4), half);
            bytes = _mm256_add_epi8(bytes, _mm256_add_epi8(_mm256_shuffle_epi8(table, low),
                                                           _mm256_shuffle_epi8(table, high)));
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(bytes, zero));
    }
    alignas(32) int64_t parts[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(parts), total);
    return parts[0] + parts[1] + parts[2] + parts[3];
}
#endif

// out[i * others + j] = bits that row i of one and row j of other have in common. Where both are the same matrix, each
// two rows are compared once. What is empty in row i is left out: a list lacks many documents, and all their pairs.
inline void shared_bits(const uint64_t* one, size_t ones, const uint64_t* other, size_t others, size_t words,
                        int64_t* out) {
    constexpr size_t BLOCK = 248;  // words of a row at a time, so that all rows stay in the cache
    auto count = shared_portable;
#ifdef CALIPERS_AVX2
    if (__builtin_cpu_supports("avx2")) count = shared_avx2;
#endif
    const bool same = one == other && ones == others;
    std::fill(out, out + ones * others, int64_t{0});
    for (size_t start = 0; start < words; start += BLOCK) {
        const size_t size = std::min(BLOCK, words - start), in_groups = size - size % 4;
        for (size_t i = 0; i < ones; i++) {
            const uint64_t* row = one + i * words + start;
            uint16_t group[BLOCK / 4], left[4];
            size_t groups = 0, rest = 0;
            for (size_t k = 0; k < in_groups; k += 4) {
                group[groups] = static_cast<uint16_t>(k);
                groups += (row[k] | row[k + 1] | row[k + 2] | row[k + 3]) != 0;
            }
            for (size_t k = in_groups; k < size; k++) {
                left[rest] = static_cast<uint16_t>(k);
                rest += row[k] != 0;
            }
            if (groups + rest == 0) continue;
            for (size_t j = same ? i : 0; j < others; j++) {
                const uint64_t* against = other + j * words + start;
                int64_t found = groups ? count(row, against, group, groups) : 0;
                for (size_t k = 0; k < rest; k++) found += count_bits(row[left[k]] & against[left[k]]);
                out[i * others + j] += found;
            }
        }
    }
    if (!same) return;
    for (size_t i = 0; i < ones; i++) {
        for (size_t j = 0; j < i; j++) out[i * others + j] = out[j * others + i];
    }
}

// The patterns of one better document with `size` worse ones: the sum of s_i 3^i, where s_i is 1 if list i gives the
// better one the smaller number, -1 if the larger, 0 if both are the same. At most 10 lists: (3^10 - 1) / 2 fits 15
// bits; and the numbers are not negative, so that their difference fits 16.
inline void patterns_portable(const int16_t* own, const int16_t* worse, size_t worses, size_t lists, size_t size,
                              int16_t* code) {
    for (size_t k = 0; k < size; k++) code[k] = 0;
    for (size_t i = lists; i-- > 0;) {
        const int16_t* below = worse + i * worses;
        for (size_t k = 0; k < size; k++) {
            int16_t sign = static_cast<int16_t>(below[k] - own[i]);
            sign = std::min<int16_t>(std::max<int16_t>(sign, -1), 1);
            code[k] = static_cast<int16_t>(code[k] * 3 + sign);
        }
    }
}

#ifdef CALIPERS_AVX2
__attribute__((target("avx2"))) inline void patterns_avx2(const int16_t* own, const int16_t* worse, size_t worses,
                                                          size_t lists, size_t size, int16_t* code) {
    __m256i mine[10], power[10];
    int16_t each = 1;
    for (size_t i = 0; i < lists; i++, each = static_cast<int16_t>(each * 3)) {
        mine[i] = _mm256_set1_epi16(own[i]);
        power[i] = _mm256_set1_epi16(each);
    }
    size_t k = 0;
    for (; k + 16 <= size; k += 16) {
        __m256i sum = _mm256_setzero_si256();
        for (size_t i = 0; i < lists; i++) {
            const __m256i below = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(worse + i * worses + k));
            sum = _mm256_add_epi16(sum, _mm256_sign_epi16(power[i], _mm256_sub_epi16(below, mine[i])));
        }
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(code + k), sum);
    }
    if (k < size) patterns_portable(own, worse + k, worses, lists, size - k, code + k);
}
#endif

// counts[middle + pattern] += 1 for each pair of a better and a worse document: [list, document] numbers.
template <typename Count>
inline void count_patterns(const int16_t* better, size_t betters, const int16_t* worse, size_t worses, size_t lists,
                           Count* counts) {
    constexpr size_t BLOCK = 512;  // of all lists they fit the cache
    int16_t code[BLOCK], own[10];
    auto patterns = patterns_portable;
#ifdef CALIPERS_AVX2
    if (__builtin_cpu_supports("avx2")) patterns = patterns_avx2;
#endif
    int64_t middle = 0;
    for (size_t i = 0; i < lists; i++) middle = 3 * middle + 1;
    for (size_t start = 0; start < worses; start += BLOCK) {
        const size_t size = std::min(BLOCK, worses - start);
        for (size_t r = 0; r < betters; r++) {
            for (size_t i = 0; i < lists; i++) own[i] = better[i * betters + r];
            patterns(own, worse + start, worses, lists, size, code);
            for (size_t k = 0; k < size; k++) counts[middle + code[k]]++;
        }
    }
}

// n lg n; small numbers, which most patterns have, are looked up.
inline double times_log(double n) {
    static const std::vector<double> known = [] {
        std::vector<double> made(1 << 12, 0.0);
        for (size_t i = 2; i < made.size(); i++) made[i] = static_cast<double>(i) * std::log2(static_cast<double>(i));
        return made;
    }();
    return n < static_cast<double>(known.size()) ? known[static_cast<size_t>(n)] : n * std::log2(n);
}

// The sum over patterns s of c(s) lg(2 c(s) / (c(s) + c(-s))), of counts around their middle.
template <typename Count>
inline double pattern_bits(const Count* counts, size_t size) {
    const size_t middle = size / 2;
    double bits = 0;
    for (size_t start = 1; start <= middle; start += 16) {
        const size_t end = std::min(start + 16, middle + 1);
        Count any = 0;
        for (size_t k = start; k < end; k++) any |= counts[middle + k] | counts[middle - k];
        if (any == 0) continue;  // most patterns do not occur
        for (size_t k = start; k < end; k++) {
            const double one = static_cast<double>(counts[middle + k]), other = static_cast<double>(counts[middle - k]);
            bits += one + other;  // all of it where only one of the two occurs
            if (one > 0 && other > 0) bits += times_log(one) + times_log(other) - times_log(one + other);
        }
    }
    return bits;
}

// One bit for each of `size` documents: whether its number is larger than `own`, or the same. Which bit is whose depends
// on `size` alone. Numbers that are missing are the same as nothing.
inline void compare_portable(int16_t own, const int16_t* numbers, size_t size, int16_t missing, uint64_t* larger,
                             uint64_t* same) {
    for (size_t start = 0; start < size; start += 64, larger++, same++) {
        const size_t end = std::min(size - start, size_t{64});
        uint64_t bits[2] = {0, 0};
        for (size_t k = 0; k < end; k++) {
            const int16_t other = numbers[start + k];
            bits[0] |= static_cast<uint64_t>(other > own) << k;
            bits[1] |= static_cast<uint64_t>(other == own && own != missing) << k;
        }
        *larger = bits[0];
        *same = bits[1];
    }
}

#ifdef CALIPERS_AVX2
__attribute__((target("avx2"))) inline uint64_t packed_avx2(__m256i a, __m256i b, __m256i c, __m256i d) {
    const uint32_t low = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(a, b)));
    const uint32_t high = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_packs_epi16(c, d)));
    return low | static_cast<uint64_t>(high) << 32;
}

__attribute__((target("avx2"))) inline void compare_avx2(int16_t own, const int16_t* numbers, size_t size,
                                                         int16_t missing, uint64_t* larger, uint64_t* same) {
    const __m256i mine = _mm256_set1_epi16(own);
    size_t start = 0;
    for (; start + 64 <= size; start += 64, larger++, same++) {
        __m256i n[4];
        for (size_t i = 0; i < 4; i++) {
            n[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(numbers + start + 16 * i));
        }
        *larger = packed_avx2(_mm256_cmpgt_epi16(n[0], mine), _mm256_cmpgt_epi16(n[1], mine),
                              _mm256_cmpgt_epi16(n[2], mine), _mm256_cmpgt_epi16(n[3], mine));
        *same = own == missing ? 0
                               : packed_avx2(_mm256_cmpeq_epi16(n[0], mine), _mm256_cmpeq_epi16(n[1], mine),
                                             _mm256_cmpeq_epi16(n[2], mine), _mm256_cmpeq_epi16(n[3], mine));
    }
    compare_portable(own, numbers + start, size - start, missing, larger, same);
}
#endif

// above, tied: [list, better document, word], bits of the worse documents that the list gives a larger number than the
// better one, or the same.
inline void order_bits(const int16_t* better, size_t betters, const int16_t* worse, size_t worses, size_t lists,
                       int16_t missing, uint64_t* above, uint64_t* tied) {
    auto compare = compare_portable;
#ifdef CALIPERS_AVX2
    if (__builtin_cpu_supports("avx2")) compare = compare_avx2;
#endif
    const size_t words = (worses + 63) / 64;
    for (size_t i = 0; i < lists * betters; i++, above += words, tied += words) {
        compare(better[i], worse + i / betters * worses, worses, missing, above, tied);
    }
}

// [document, list]: all bits set where the list lacks the document, none where it shows it.
inline std::vector<uint32_t> lacking(const int16_t* numbers, size_t documents, size_t lists, int16_t missing) {
    std::vector<uint32_t> found(documents * lists);
    for (size_t i = 0; i < lists; i++) {
        for (size_t d = 0; d < documents; d++) found[d * lists + i] = numbers[i * documents + d] == missing ? ~0u : 0u;
    }
    return found;
}

// out[i * lists + j]: twice the pairs that list i has in the right order, and once those that it ties, of whose documents
// list j shows neither. List i is gone through from the top, for all j at once, with the worse documents that j lacks
// and that have not come yet.
inline void one_sided_pairs(const int16_t* better, size_t betters, const int16_t* worse, size_t worses, size_t lists,
                            int16_t missing, int64_t* out) {
    const std::vector<uint32_t> lacks_better = lacking(better, betters, lists, missing);
    const std::vector<uint32_t> lacks_worse = lacking(worse, worses, lists, missing);
    std::vector<uint32_t> all(lists), left, sum;
    for (size_t d = 0; d < worses; d++) {
        for (size_t j = 0; j < lists; j++) all[j] -= lacks_worse[d * lists + j];
    }
    std::vector<uint64_t> shown;  // number and document, of which the worse ones come last
    const auto add = [&](size_t document) {
        const uint32_t* lacks = lacks_better.data() + document * lists;
        for (size_t j = 0; j < lists; j++) sum[j] += lacks[j] & left[j];
    };
    for (size_t i = 0; i < lists; i++) {
        shown.clear();
        const auto take = [&](const int16_t* numbers, size_t documents, size_t first) {
            for (size_t d = 0; d < documents; d++) {
                if (numbers[d] == missing) continue;
                shown.push_back(static_cast<uint64_t>(static_cast<uint16_t>(numbers[d])) << 48 | (first + d));
            }
        };
        take(better + i * betters, betters, 0);
        take(worse + i * worses, worses, betters);
        std::sort(shown.begin(), shown.end());
        left = all;
        sum.assign(lists, 0);
        for (size_t start = 0, end = 0; start < shown.size(); start = end) {
            size_t first_worse = start;
            for (; end < shown.size() && shown[end] >> 48 == shown[start] >> 48; end++) {
                const size_t document = shown[end] & ((uint64_t{1} << 48) - 1);
                if (document < betters) {
                    add(document);
                    first_worse = end + 1;
                } else {
                    const uint32_t* lacks = lacks_worse.data() + (document - betters) * lists;
                    for (size_t j = 0; j < lists; j++) left[j] += lacks[j];
                }
            }
            for (size_t k = start; k < first_worse; k++) add(shown[k] & ((uint64_t{1} << 48) - 1));
        }
        for (size_t j = 0; j < lists; j++) out[i * lists + j] = sum[j];
    }
}

// Whether votes of this weight above and below want the second of two rows first: see sort_by_votes of plain.py.
inline bool second_first(double above, double below, double needed, const double* grade, bool share, bool half_stays,
                         int64_t one, int64_t other) {
    if (!grade) return below - above > needed;
    const double least = share ? needed * (above + below) : needed;
    const bool stays = above >= least, goes = below >= least;
    if (stays && goes && half_stays) return false;
    return stays == goes ? grade[other] > grade[one] : goes;
}

// The votes of runs between two rows.
template <typename Rank>
struct WeightedVotes {
    const Rank* rank;
    const double* weight;
    size_t runs;

    void operator()(int64_t one, int64_t other, double* above, double* below) const {
        const Rank *first = rank + static_cast<size_t>(one) * runs, *second = rank + static_cast<size_t>(other) * runs;
        *above = *below = 0;
        for (size_t i = 0; i < runs; i++) {
            if (first[i] < second[i]) {
                *above += weight[i];
            } else if (second[i] < first[i]) {
                *below += weight[i];
            }
        }
    }
};

// The same where each of at most 16 runs has one vote: rows of 16 numbers, compared all at once.
struct PlainVotes {
    static constexpr size_t RUNS = 16;
    std::vector<int16_t> rank;

    PlainVotes(const uint16_t* ranks, size_t rows, size_t runs) : rank(rows * RUNS) {
        for (size_t row = 0; row < rows; row++) {
            for (size_t i = 0; i < runs; i++) rank[row * RUNS + i] = static_cast<int16_t>(ranks[row * runs + i] ^ 0x8000);
        }
    }

    void operator()(int64_t one, int64_t other, double* above, double* below) const {
        const int16_t *first = rank.data() + static_cast<size_t>(one) * RUNS;
        const int16_t *second = rank.data() + static_cast<size_t>(other) * RUNS;
#ifdef CALIPERS_AVX2
        int up = 0, down = 0;
        for (size_t i = 0; i < RUNS; i += 8) {
            const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first + i));
            const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second + i));
            up |= _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(b, a), _mm_setzero_si128())) << i;
            down |= _mm_movemask_epi8(_mm_packs_epi16(_mm_cmpgt_epi16(a, b), _mm_setzero_si128())) << i;
        }
        // Both counts in one word.
        uint64_t x = static_cast<uint64_t>(up) | static_cast<uint64_t>(down) << 32;
        x -= (x >> 1) & 0x5555555555555555u;
        x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
        x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fu;
        x += x >> 8;
        *above = static_cast<double>(x & 31);
        *below = static_cast<double>(x >> 32 & 31);
#else
        int16_t up = 0, down = 0;
        for (size_t i = 0; i < RUNS; i++) {
            up = static_cast<int16_t>(up + (first[i] < second[i]));
            down = static_cast<int16_t>(down + (second[i] < first[i]));
        }
        *above = up;
        *below = down;
#endif
    }
};

// A stable merge sort of the rows order[offsets[s]:offsets[s + 1]] of each segment, from short parts to long ones.
template <typename Votes>
inline void merge_by_votes(int64_t* order, const int64_t* offsets, size_t segments, const Votes& votes, double needed,
                           const double* grade, bool share, bool half_stays) {
    std::vector<int64_t> fresh;
    for (size_t s = 0; s < segments; s++) {
        int64_t* rows = order + offsets[s];
        const size_t size = static_cast<size_t>(offsets[s + 1] - offsets[s]);
        fresh.resize(size);
        for (size_t width = 1; width < size; width *= 2) {
            for (size_t left = 0; left < size; left += 2 * width) {
                const size_t middle = std::min(left + width, size), right = std::min(left + 2 * width, size);
                size_t i = left, j = middle, k = left;
                while (i < middle && j < right) {
                    double above, below;
                    votes(rows[i], rows[j], &above, &below);
                    const bool later =
                        second_first(above, below, needed, grade, share, half_stays, rows[i], rows[j]);
                    fresh[k++] = later ? rows[j++] : rows[i++];
                }
                while (i < middle) fresh[k++] = rows[i++];
                while (j < right) fresh[k++] = rows[j++];
            }
            std::copy(fresh.begin(), fresh.end(), rows);
        }
    }
}

template <typename Rank>
inline void sort_by_votes(int64_t* order, const int64_t* offsets, size_t segments, const Rank* rank,
                          const double* weight, size_t runs, double needed, const double* grade, bool share,
                          bool half_stays) {
    if constexpr (sizeof(Rank) == 2) {
        if (runs <= PlainVotes::RUNS && std::all_of(weight, weight + runs, [](double each) { return each == 1; })) {
            const PlainVotes votes(rank, static_cast<size_t>(offsets[segments]), runs);
            merge_by_votes(order, offsets, segments, votes, needed, grade, share, half_stays);
            return;
        }
    }
    const WeightedVotes<Rank> votes{rank, weight, runs};
    merge_by_votes(order, offsets, segments, votes, needed, grade, share, half_stays);
}

// Documents of one grade or more beside all of lower ones: [list, document] numbers, of which the smaller stands above.
struct Sides {
    const int16_t* better;
    size_t betters;
    const int16_t* worse;
    size_t worses;
};

// The documents that one of the lists has: their numbers, [list, document]. Returns how many; `pattern` gets the sum of
// 3^i over the lists that have each.
inline size_t found_by(const int16_t* numbers, size_t documents, const int64_t* group, size_t lists, int16_t missing,
                       std::vector<int16_t>& found, std::vector<int16_t>& pattern) {
    pattern.assign(documents, 0);
    int16_t power = 1;
    for (size_t i = 0; i < lists; i++, power = static_cast<int16_t>(power * 3)) {
        const int16_t* row = numbers + static_cast<size_t>(group[i]) * documents;
        for (size_t d = 0; d < documents; d++) {
            pattern[d] = static_cast<int16_t>(pattern[d] + (row[d] != missing ? power : 0));
        }
    }
    std::vector<uint32_t> kept;
    kept.reserve(documents);
    for (size_t d = 0; d < documents; d++) {
        if (pattern[d] != 0) kept.push_back(static_cast<uint32_t>(d));
    }
    found.resize(kept.size() * lists);
    for (size_t i = 0; i < lists; i++) {
        const int16_t* row = numbers + static_cast<size_t>(group[i]) * documents;
        for (size_t k = 0; k < kept.size(); k++) found[i * kept.size() + k] = row[kept[k]];
    }
    for (size_t k = 0; k < kept.size(); k++) pattern[k] = pattern[kept[k]];
    return kept.size();
}

// Of each group of at most ten lists: the sum over patterns s of c(s) lg(2 c(s) / (c(s) + c(-s))).
template <typename Count>
inline void bits_of_groups(const std::vector<Sides>& sides, const int64_t* groups, size_t count, size_t lists,
                           int16_t missing, double* bits) {
    size_t size = 1;
    for (size_t i = 0; i < lists; i++) size *= 3;
    std::vector<Count> counts(size);
    std::vector<int16_t> better, worse, of_better, of_worse;
    Count* middle = counts.data() + size / 2;
    for (size_t g = 0; g < count; g++, groups += lists) {
        std::fill(counts.begin(), counts.end(), Count{0});
        for (const Sides& each : sides) {
            const size_t ones = found_by(each.better, each.betters, groups, lists, missing, better, of_better);
            const size_t others = found_by(each.worse, each.worses, groups, lists, missing, worse, of_worse);
            count_patterns(better.data(), ones, worse.data(), others, lists, counts.data());
            // What nobody has stands below what somebody has, in the lists that have it.
            for (size_t k = 0; k < ones; k++) middle[of_better[k]] += static_cast<Count>(each.worses - others);
            for (size_t k = 0; k < others; k++) middle[-of_worse[k]] += static_cast<Count>(each.betters - ones);
        }
        bits[g] = pattern_bits(counts.data(), size);
    }
}

}  // namespace calipers
