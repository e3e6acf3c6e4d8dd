// Many groups of lists of one query: what each group's patterns of signs tell, and how the fusions of each order the
// judged documents. What a group does not retrieve is counted, not compared.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "_bits.hpp"

// Inlined into functions for AVX2 too, so that what it calls is.
#ifdef __GNUC__
#define CALIPERS_INLINE inline __attribute__((always_inline))
#else
#define CALIPERS_INLINE inline
#endif

namespace calipers {

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

// How a fused list is made: of scores, added up and multiplied by a power of how many lists have the document; or by a
// start, on which a sort by votes may follow.
struct Fusion {
    enum Start : int64_t { IDS = 0, BORDA = 1, GRADES = 2 };
    int64_t scores;  // which of the rows of scores, or -1
    int64_t power;  // 1, 0 or -1
    int64_t start;
    int64_t votes;  // whether to sort: 0 no, 1 by majority, 2 by majority and grade
    int64_t share, half_stays;  // see sort_by_votes
    double needed;
};

// What is read of a fused list.
struct Shown {
    int64_t length;  // documents, or -1 for all
    int64_t least;  // the list ends after the last document of this level or a higher one
};

// All lists of one query.
struct Lists {
    const int64_t* starts;  // list i has the entries starts[i] to starts[i + 1], best first
    const int32_t* document;  // of each entry, numbered by descending id
    const double* score;  // [row of scores, entry]
    size_t entries;
    const double* grade;  // of each document
    const int32_t* level;  // of each document: the place of its grade among the judged ones, or -1
    size_t documents;
    const int64_t* size;  // of each level: judged documents
    size_t levels;
};

// The documents of one group, by descending id, and what its lists say of them.
class Group {
  public:
    static constexpr size_t ROW = 16, LISTS = ROW - 1;  // a row is the ranks, and that of the grade

    explicit Group(const Lists& lists) : all_(lists), place_(lists.documents, -1), grade_rank_(lists.documents) {
        std::vector<double> grades(lists.grade, lists.grade + lists.documents);
        std::sort(grades.begin(), grades.end());
        grades.erase(std::unique(grades.begin(), grades.end()), grades.end());
        for (size_t d = 0; d < lists.documents; d++) {
            grade_rank_[d] = static_cast<int16_t>(grades.end() - std::lower_bound(grades.begin(), grades.end(), lists.grade[d]));
        }
    }

    void read(const int64_t* group, size_t lists) {
        for (int32_t each : document_) place_[static_cast<size_t>(each)] = -1;
        document_.clear();
        lists_ = lists;
        for (size_t i = 0; i < lists; i++) {
            for (int64_t e = begin(group, i); e < end(group, i); e++) {
                int32_t& at = place_[static_cast<size_t>(all_.document[e])];
                if (at < 0) document_.push_back(all_.document[e]);
                at = 0;
            }
        }
        sort_places();
        const size_t size = document_.size();
        rank_.assign(size * ROW, INT16_MAX);
        count_.assign(size, 0);
        borda_.assign(size, 0);
        grade_.resize(size);
        level_.resize(size);
        for (size_t k = 0; k < size; k++) {
            place_[static_cast<size_t>(document_[k])] = static_cast<int32_t>(k);
            grade_[k] = all_.grade[document_[k]];
            level_[k] = all_.level[document_[k]];
            rank_[k * ROW + LISTS] = grade_rank_[static_cast<size_t>(document_[k])];
        }
        for (size_t i = 0; i < lists; i++) {
            const int64_t length = end(group, i) - begin(group, i);
            int16_t rank = 0;
            for (int64_t e = begin(group, i); e < end(group, i); e++) {
                const size_t k = static_cast<size_t>(place_[static_cast<size_t>(all_.document[e])]);
                rank_[k * ROW + i] = ++rank;
                count_[k]++;
                // Twice the points of Borda, less what all documents have in common.
                borda_[k] += static_cast<double>(static_cast<int64_t>(size) + 1 + length - 2 * rank);
            }
        }
        group_ = group;
    }

    // Pairs of a better and a worse document in the right and in the wrong order: [shown list, right and wrong].
    void pairs(const Fusion& fusion, const std::vector<Shown>& shown, double* found) {
        if (fusion.scores >= 0) {
            by_score(summed(fusion));
        } else {
            start(fusion.start);
            if (fusion.votes) sort_by_votes(fusion);
        }
        for (size_t s = 0; s < shown.size(); s++) count(shown[s], found + 2 * s);
    }

  private:
    struct Key {
        uint64_t bits;
        int32_t number;
    };

    int64_t begin(const int64_t* group, size_t i) const { return all_.starts[group[i]]; }
    int64_t end(const int64_t* group, size_t i) const { return all_.starts[group[i] + 1]; }

    // The documents in ascending order: marks are looked through where they are dense.
    void sort_places() {
        if (document_.size() * 16 < all_.documents) {
            std::sort(document_.begin(), document_.end());
            return;
        }
        size_t k = 0;
        document_.resize(document_.size() + 1);  // what is written last may be too much
        for (size_t d = 0; d < all_.documents; d++) {
            document_[k] = static_cast<int32_t>(d);
            k += place_[d] >= 0;
        }
        document_.pop_back();
    }

    const std::vector<double>& summed(const Fusion& fusion) {
        const double* score = all_.score + static_cast<size_t>(fusion.scores) * all_.entries;
        sum_.assign(document_.size(), 0.0);
        for (size_t i = 0; i < lists_; i++) {
            for (int64_t e = begin(group_, i); e < end(group_, i); e++) {
                sum_[static_cast<size_t>(place_[static_cast<size_t>(all_.document[e])])] += score[e];
            }
        }
        for (size_t k = 0; k < sum_.size(); k++) {
            if (fusion.power > 0) sum_[k] *= static_cast<double>(count_[k]);
            if (fusion.power < 0) sum_[k] /= static_cast<double>(count_[k]);
        }
        return sum_;
    }

    void start(int64_t how) {
        if (how == Fusion::BORDA) {
            by_score(borda_);
        } else if (how == Fusion::GRADES) {
            by_score(grade_);
        } else {
            order_.resize(document_.size());
            std::iota(order_.begin(), order_.end(), 0);
        }
        first_.clear();
    }

    // By descending score, then by number; and the rank where the tie of each starts. A radix sort: digits that all
    // scores have in common are skipped, and there are many of them.
    void by_score(const std::vector<double>& score) {
        const size_t size = score.size();
        keys_.resize(size);
        sorted_.resize(size);
        uint32_t digits[8][256] = {};
        for (size_t k = 0; k < size; k++) {
            const double below = 0.0 - score[k];  // never minus zero
            uint64_t bits;
            std::memcpy(&bits, &below, sizeof bits);
            bits ^= bits >> 63 ? ~uint64_t{0} : uint64_t{1} << 63;  // unsigned numbers order as the doubles do
            keys_[k] = {bits, static_cast<int32_t>(k)};
            for (size_t d = 0; d < 8; d++) digits[d][bits >> 8 * d & 255]++;
        }
        for (size_t d = 0; d < 8 && size; d++) {
            if (digits[d][keys_[0].bits >> 8 * d & 255] == size) continue;
            uint32_t start = 0;
            for (uint32_t& each : digits[d]) start += std::exchange(each, start);
            for (const Key& key : keys_) sorted_[digits[d][key.bits >> 8 * d & 255]++] = key;
            std::swap(keys_, sorted_);
        }
        order_.resize(size);
        first_.resize(size);
        for (size_t k = 0; k < size; k++) {
            order_[k] = keys_[k].number;
            first_[k] = k > 0 && keys_[k].bits == keys_[k - 1].bits ? first_[k - 1] : static_cast<int32_t>(k);
        }
    }

    void sort_by_votes(const Fusion& fusion) {
        // Whether the second of two documents goes first: of the votes above and below, and whether its grade is better.
        uint8_t goes[(LISTS + 1) * (LISTS + 1) * 2];
        const double grades[] = {0, 1};
        for (size_t above = 0; above <= LISTS; above++) {
            for (size_t below = 0; below <= LISTS; below++) {
                for (int64_t better : {0, 1}) {
                    goes[place(above, below, better)] =
                        second_first(static_cast<double>(above), static_cast<double>(below), fusion.needed,
                                     fusion.votes == 2 ? grades : nullptr, fusion.share != 0, fusion.half_stays != 0,
                                     0, better);
                }
            }
        }
        fresh_.resize(order_.size());
        auto merge = merge_portable;
#ifdef CALIPERS_AVX2
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt")) merge = merge_avx2;
#endif
        merge(order_.data(), fresh_.data(), order_.size(), rank_.data(), goes);
    }

    static CALIPERS_INLINE size_t place(size_t above, size_t below, size_t better) {
        return (above * (LISTS + 1) + below) * 2 + better;
    }

    // Two neighbouring parts on their way into one.
    struct Merge {
        size_t i, middle, j, right, k;

        Merge(size_t left, size_t width, size_t size)
            : i(std::min(left, size)), middle(std::min(left + width, size)), j(middle),
              right(std::min(left + 2 * width, size)), k(i) {}
        bool goes_on() const { return i < middle && j < right; }
    };

    // A stable merge sort from short parts to long ones. Two merges take turns: one waits for its votes meanwhile.
    template <typename Votes>
    static CALIPERS_INLINE void merge_with(int32_t* order, int32_t* fresh, size_t size, const int16_t* rank,
                                           const uint8_t* goes, Votes votes) {
        int32_t *from = order, *to = fresh;
        auto step = [&](Merge& at) {
            const int32_t one = from[at.i], other = from[at.j];
            const bool later = goes[votes(rank + static_cast<size_t>(one) * ROW, rank + static_cast<size_t>(other) * ROW)];
            to[at.k++] = later ? other : one;
            at.i += !later;
            at.j += later;
        };
        for (size_t width = 1; width < size; width *= 2) {
            for (size_t left = 0; left < size; left += 4 * width) {
                Merge one(left, width, size), other(left + 2 * width, width, size);
                while (one.goes_on() && other.goes_on()) {
                    step(one);
                    step(other);
                }
                for (Merge* each : {&one, &other}) {
                    while (each->goes_on()) step(*each);
                    std::copy(from + each->i, from + each->middle, to + each->k);
                    std::copy(from + each->j, from + each->right, to + each->k + (each->middle - each->i));
                }
            }
            std::swap(from, to);
        }
        if (from != order) std::copy(from, from + size, order);
    }

    // The place in `goes` of two rows of ranks.
    struct PlainVotes {
        size_t operator()(const int16_t* one, const int16_t* other) const {
            size_t above = 0, below = 0;
            for (size_t i = 0; i < LISTS; i++) {
                above += one[i] < other[i];
                below += other[i] < one[i];
            }
            return place(above, below, other[LISTS] < one[LISTS]);
        }
    };

    static void merge_portable(int32_t* order, int32_t* fresh, size_t size, const int16_t* rank, const uint8_t* goes) {
        merge_with(order, fresh, size, rank, goes, PlainVotes());
    }

#ifdef CALIPERS_AVX2
    struct FastVotes {
        __attribute__((target("avx2,popcnt"))) size_t operator()(const int16_t* one, const int16_t* other) const {
            const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(one));
            const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(other));
            // Two bits for each list, those of the grades at the end.
            const auto above = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi16(b, a)));
            const auto below = static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpgt_epi16(a, b)));
            return place(static_cast<size_t>(__builtin_popcount(above << 2)) / 2,
                         static_cast<size_t>(__builtin_popcount(below << 2)) / 2, below >> 31);
        }
    };

    __attribute__((target("avx2,popcnt"))) static void merge_avx2(int32_t* order, int32_t* fresh, size_t size,
                                                                  const int16_t* rank, const uint8_t* goes) {
        merge_with(order, fresh, size, rank, goes, FastVotes());
    }
#endif

    // Pairs of documents in the right and in the wrong order; of a tied pair half each.
    void count(const Shown& shown, double* found) {
        size_t size = order_.size();
        if (shown.length >= 0) size = std::min(size, static_cast<size_t>(shown.length));
        if (shown.least > 0) size = cut(size, shown.least);
        const size_t levels = all_.levels;
        seen_.assign(levels, 0);
        int64_t wrong = 0;  // twice
        for (size_t k = 0; k < size;) {
            const size_t end = tie_end(k, size);
            if (end > k + 1) {
                before_ = seen_;
                for (size_t d = k; d < end; d++) see(d);
                for (size_t better = 1; better < levels; better++) {
                    for (size_t worse = 0; worse < better; worse++) {
                        wrong += (seen_[better] - before_[better]) * (before_[worse] + seen_[worse]);
                    }
                }
            } else if (const int32_t level = level_[static_cast<size_t>(order_[k])]; level >= 0) {
                for (size_t worse = 0; worse < static_cast<size_t>(level); worse++) wrong += 2 * seen_[worse];
                seen_[static_cast<size_t>(level)]++;
            }
            k = end;
        }
        int64_t whole = 0, hidden = 0;
        for (size_t better = 1; better < levels; better++) {
            for (size_t worse = 0; worse < better; worse++) {
                whole += seen_[better] * all_.size[worse];
                hidden += (all_.size[better] - seen_[better]) * seen_[worse];
            }
        }
        const double inside = static_cast<double>(wrong) / 2;
        found[0] = static_cast<double>(whole) - inside;
        found[1] = static_cast<double>(hidden) + inside;
    }

    void see(size_t k) {
        const int32_t level = level_[static_cast<size_t>(order_[k])];
        if (level >= 0) seen_[static_cast<size_t>(level)]++;
    }

    // Where the tie that starts at k ends.
    size_t tie_end(size_t k, size_t size) const {
        size_t end = k + 1;
        while (!first_.empty() && end < size && first_[end] == first_[k]) end++;
        return end;
    }

    // How many documents there are until the last one of this level or a higher one, with what ties with it.
    size_t cut(size_t size, int64_t least) const {
        for (size_t k = size; k-- > 0;) {
            if (level_[static_cast<size_t>(order_[k])] >= least) return tie_end(k, size);
        }
        return 0;
    }

    const Lists all_;
    size_t lists_ = 0;
    const int64_t* group_ = nullptr;
    std::vector<int32_t> place_, document_, level_, order_, first_, fresh_;
    std::vector<int16_t> rank_, grade_rank_;
    std::vector<int64_t> count_, seen_, before_;
    std::vector<double> borda_, grade_, sum_;
    std::vector<Key> keys_, sorted_;
};

// [group, fusion, shown list, right and wrong]: the pairs of each fusion of each group.
inline void fused_pairs(const Lists& lists, const int64_t* groups, size_t count, size_t members,
                        const std::vector<Fusion>& fusions, const std::vector<Shown>& shown, double* found) {
    Group group(lists);
    for (size_t g = 0; g < count; g++, groups += members) {
        group.read(groups, members);
        for (const Fusion& fusion : fusions) {
            group.pairs(fusion, shown, found);
            found += 2 * shown.size();
        }
    }
}

// Of each group: how many bits one of its rows has.
inline void union_sizes(const uint64_t* bits, size_t words, const int64_t* groups, size_t count, size_t members,
                        int64_t* sizes) {
    std::vector<uint64_t> any(words);
    for (size_t g = 0; g < count; g++, groups += members) {
        std::fill(any.begin(), any.end(), uint64_t{0});
        for (size_t i = 0; i < members; i++) {
            const uint64_t* row = bits + static_cast<size_t>(groups[i]) * words;
            for (size_t k = 0; k < words; k++) any[k] |= row[k];
        }
        sizes[g] = 0;
        for (uint64_t each : any) sizes[g] += count_bits(each);
    }
}

}  // namespace calipers
