// What the scanner is made of, under its Cython face: fields, numbers, tables of ids, and the ranking of one query.
//
// A *region* is a stretch of whole lines: its last byte is a line feed. So a walk that stops at a line feed cannot
// leave it, and only what reads several bytes at once has to look where the region ends.

#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#if __has_include(<charconv>)
#include <charconv>
#endif
#if defined(_MSC_VER) && defined(_M_X64)
#include <intrin.h>
#endif

// CALIPERS_PORTABLE leaves out what not every compiler has, so that a test can go through what is used instead.
#if defined(__GNUC__) && !defined(CALIPERS_PORTABLE)
#define CALIPERS_GNU 1
#endif
#if defined(CALIPERS_GNU)
#define CALIPERS_RARE __attribute__((noinline, cold))
#else
#define CALIPERS_RARE
#endif
#if defined(__SIZEOF_INT128__) && defined(CALIPERS_GNU)
#define CALIPERS_INT128 1
#endif
#if defined(__cpp_lib_to_chars) && !defined(CALIPERS_PORTABLE)
#define CALIPERS_FROM_CHARS 1
#endif

namespace calipers {

using byte = unsigned char;

// Cython copies between these types and the arrays of NumPy.
static_assert(std::is_same<byte, uint8_t>::value, "ids are bytes");
static_assert(sizeof(double) == 8 && std::numeric_limits<double>::is_iec559, "scores are float64");

// ------------------------------------------------------------------------------------------------------ fields

inline uint64_t load8(const byte* p) { uint64_t v; std::memcpy(&v, p, 8); return v; }
inline uint64_t load4(const byte* p) { uint32_t v; std::memcpy(&v, p, 4); return v; }

inline bool is_blank(byte c) { return c == ' ' || c == '\t'; }
inline bool at_end(const byte* p) { return p[0] == '\n' || (p[0] == '\r' && p[1] == '\n'); }
inline const byte* after_end(const byte* p) { return p + (p[0] == '\r' ? 2 : 1); }
inline const byte* skip_blanks(const byte* p) { while (is_blank(*p)) ++p; return p; }

// The number of the first byte whose high bit is set, 8 if none is.
inline int first_marked(uint64_t marks) {
#if defined(CALIPERS_GNU)
    return marks ? __builtin_ctzll(marks) >> 3 : 8;
#else
    int n = 0;
    while (n < 8 && !(marks >> (8 * n + 7) & 1)) ++n;
    return n;
#endif
}

// How many of these eight bytes, from the first on, are above the space character. A byte that is not borrows and sets
// its high bit. The borrow may set others behind it, which does not matter here.
inline int plain_bytes(uint64_t v) { return first_marked((v - 0x2121212121212121u) & ~v & 0x8080808080808080u); }

#if defined(CALIPERS_PORTABLE) || (defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
constexpr bool kLittleEndian = false;
#else
constexpr bool kLittleEndian = true;
#endif

// The first byte from p on that is not above the space character, in a region that ends at `end`.
inline const byte* plain_end(const byte* p, const byte* end) {
    if (kLittleEndian) {
        while (end - p >= 8) {
            int n = plain_bytes(load8(p));
            p += n;
            if (n < 8) break;
        }
    }
    while (*p > ' ') ++p;
    return p;
}

// Other control bytes belong to the field. This is rare, and kept out of what is inlined.
#if defined(CALIPERS_GNU)
__attribute__((noinline, cold))
#endif
inline const byte* odd_field_end(const byte* p, const byte* end) {
    while (!is_blank(*p) && !at_end(p)) p = plain_end(p + 1, end);
    return p;
}

// The end of the field that starts at p, in a region that ends at `end`.
inline const byte* field_end(const byte* p, const byte* end) {
    p = plain_end(p, end);
    return is_blank(*p) || at_end(p) ? p : odd_field_end(p, end);
}

inline const byte* line_feed(const byte* p, const byte* end) {
    return static_cast<const byte*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
}

// ----------------------------------------------------------------------------------------------------- numbers

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

#if defined(FLT_EVAL_METHOD) && FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 1
constexpr bool kPlainDoubles = false;  // operations round twice, as on the x87
#else
constexpr bool kPlainDoubles = true;
#endif

#if defined(CALIPERS_FROM_CHARS)
inline double exact(const byte* first, const byte* last, int64_t exponent) {
    const char* f = reinterpret_cast<const char*>(first);
    const char* l = reinterpret_cast<const char*>(last);
    double value = 0.0;
    auto result = std::from_chars(f, l, value);
    if (result.ec == std::errc::result_out_of_range) {  // too large and too small look alike: ask the magnitude
        int64_t digits = 0;
        for (; first < last && (*first | 0x20) != 'e'; ++first)
            digits += *first != '.' && (digits || *first != '0');
        return digits && digits + exponent > 0 ? HUGE_VAL : 0.0;
    }
    return result.ec == std::errc() && result.ptr == l ? value : HUGE_VAL;
}
#else
// A library without from_chars for doubles: Python's own conversion is exact. It wants the GIL.
inline double exact(const byte* first, const byte* last, int64_t) {
    PyGILState_STATE state = PyGILState_Ensure();
    double value = HUGE_VAL;
    try {
        std::string text(reinterpret_cast<const char*>(first), static_cast<size_t>(last - first));
        value = PyOS_string_to_double(text.c_str(), nullptr, nullptr);
        if (PyErr_Occurred()) { PyErr_Clear(); value = HUGE_VAL; }
    } catch (...) {
        PyGILState_Release(state);
        throw;
    }
    PyGILState_Release(state);
    return value;
}
#endif

inline bool is_digit(byte c) { return static_cast<byte>(c - '0') < 10; }

// The 64 leading bits of a power of ten, rounded down, and the binary exponent of the last of them.
struct Power {
    uint64_t bits;
    int exponent;
};

constexpr int kLargestPower = 64;
inline Power powers[2 * kLargestPower + 1];  // filled when the module is loaded, with exact integers

// digits * 10^exponent, if the leading bits are enough to round it; most often they are.
//
// The power lies in [bits, bits + 1), so the product lies in [digits * bits, digits * (bits + 1)): that adds less than
// one to the high half, or two after the shift that normalises it. Unless that can reach or leave the midpoint
// between two doubles, both ends round alike.
inline bool rounded(uint64_t digits, int64_t exponent, double* out) {
#if defined(CALIPERS_INT128)
    if (digits == 0 || exponent < -kLargestPower || exponent > kLargestPower) return false;
    const Power power = powers[exponent + kLargestPower];
    int shift = __builtin_clzll(digits);
    unsigned __int128 product = static_cast<unsigned __int128>(digits << shift) * power.bits;
    int up = !(product >> 127);
    uint64_t high = static_cast<uint64_t>((product << up) >> 64);
    uint64_t low = high & 0x7ff;
    if (low - 0x3fe <= 2) return false;
    uint64_t mantissa = (high >> 11) + (low >> 10);
    // value = mantissa * 2^(...), in the range of normal doubles for all of these powers; a mantissa that was rounded up
    // to 2^53 carries into the exponent as it should.
    uint64_t biased = static_cast<uint64_t>(power.exponent - shift - up + 64 + 11 + 52 + 1023);
    uint64_t bits = (mantissa - (uint64_t(1) << 52)) + (biased << 52);
    std::memcpy(out, &bits, 8);
    return true;
#else
    return static_cast<void>(digits), static_cast<void>(exponent), static_cast<void>(out), false;
#endif
}

// How many of these eight bytes, from the first on, are digits.
inline int leading_digits(uint64_t v) {
    v ^= 0x3030303030303030u;
    return first_marked((v | (v + 0x7676767676767676u)) & 0x8080808080808080u);
}

// The number that eight digits are, in three multiplications; a byte of zero counts as the digit 0.
inline uint64_t eight_digits(uint64_t v) {
    v = (v & 0x0f0f0f0f0f0f0f0fu) * (10 * 256 + 1) >> 8;      // pairs
    v = (v & 0x00ff00ff00ff00ffu) * (100 * 65536 + 1) >> 16;  // fours
    return (v & 0x0000ffff0000ffffu) * (10000 * 4294967296u + 1) >> 32;
}

constexpr uint64_t kTens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000};

inline const byte* read_digits(const byte* p, const byte* end, uint64_t* digits) {
    uint64_t value = *digits;
    int n = 8;
    if (kLittleEndian) {
        while (n == 8 && end - p >= 8) {
            uint64_t v = load8(p);
            n = leading_digits(v);
            if (n == 0) break;
            value = value * kTens[n] + eight_digits(v << (64 - 8 * n));
            p += n;
        }
    }
    if (n == 8)
        while (is_digit(*p)) value = value * 10 + (*p++ - '0');
    *digits = value;
    return p;
}

// Reads the decimal number at p, in a region; null if there is none, or none that is finite. Rounded correctly.
inline const byte* read_number(const byte* p, const byte* end, double* out) {
    bool negative = *p == '-';
    if (negative || *p == '+') ++p;
    const byte* first = p;
    uint64_t digits = 0;  // all of them as one integer, if that is below 10^19
    while (is_digit(*p)) digits = digits * 10 + (*p++ - '0');
    int64_t count = p - first, exponent = 0;
    if (*p == '.') {
        const byte* point = ++p;
        p = read_digits(p, end, &digits);
        exponent = point - p;
        count -= exponent;
    }
    if (count == 0) return nullptr;
    if ((*p | 0x20) == 'e') {
        ++p;
        bool down = *p == '-';
        if (down || *p == '+') ++p;
        if (!is_digit(*p)) return nullptr;
        int64_t written = 0;
        for (; is_digit(*p); ++p)
            if (written < 1000000000) written = written * 10 + (*p - '0');  // beyond any line's number of digits
        exponent += down ? -written : written;
    }
    if (count > 19)
        for (const byte* zero = first; count > 19 && (*zero == '0' || *zero == '.'); ++zero) count -= *zero == '0';
    double value;
    // Both the digits and the power of ten are exact doubles: one operation, one rounding (Clinger, PLDI 1990).
    if (kPlainDoubles && count <= 19 && digits <= (uint64_t(1) << 53) && exponent >= -22 && exponent <= 22) {
        value = static_cast<double>(digits);
        value = exponent < 0 ? value / kPowers[-exponent] : value * kPowers[exponent];
    } else if (count <= 19 && digits == 0) {
        value = 0.0;
    } else if (!(count <= 19 && rounded(digits, exponent, &value))) {
        value = exact(first, p, exponent);
        if (!std::isfinite(value)) return nullptr;
    }
    *out = (negative ? -value : value) + 0.0;  // -0.0 and 0.0 are the same score
    return p;
}

// ------------------------------------------------------------------------------------------------ tables of ids

inline uint64_t mix(uint64_t a, uint64_t b) {
#if defined(CALIPERS_INT128)
    unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
#elif defined(_MSC_VER) && defined(_M_X64)
    uint64_t high;
    uint64_t low = _umul128(a, b, &high);
    return low ^ high;
#else
    uint64_t al = a & 0xffffffffu, ah = a >> 32, bl = b & 0xffffffffu, bh = b >> 32;
    uint64_t mid = ah * bl + ((al * bl) >> 32), mid2 = al * bh + (mid & 0xffffffffu);
    return (a * b) ^ (ah * bh + (mid >> 32) + (mid2 >> 32));
#endif
}

// Eight bytes a step; the last eight overlap the ones before, so nothing outside of the id is read.
inline uint64_t hash_id(const byte* p, size_t n, uint64_t seed) {
    constexpr uint64_t k1 = 0x9e3779b97f4a7c15u, k2 = 0xd6e8feb86659fd93u;
    uint64_t h = seed ^ n, last;
    if (n >= 8) {
        const byte* tail = p + n - 8;
        for (; p < tail; p += 8) h = mix(load8(p) ^ h, k1);
        last = load8(tail);
    } else if (n >= 4) {
        last = load4(p) << 32 | load4(p + n - 4);
    } else {
        last = n ? uint64_t(p[0]) << 16 | uint64_t(p[n >> 1]) << 8 | p[n - 1] : 0;
    }
    return mix(last ^ h, k2);
}

inline bool same_bytes(const byte* a, const byte* b, size_t n) {
    if (n >= 8) {
        const byte* tail = a + n - 8;
        for (; a < tail; a += 8, b += 8)
            if (load8(a) != load8(b)) return false;
        b -= a - tail;
        return load8(tail) == load8(b);
    }
    if (n >= 4) return load4(a) == load4(b) && load4(a + n - 4) == load4(b + n - 4);
    for (size_t i = 0; i < n; ++i)
        if (a[i] != b[i]) return false;
    return true;
}

// An id is short: two steps that may overlap are over before a call would have begun.
inline void copy_id(byte* to, const byte* p, size_t n) {
    if (n >= 8 && n <= 16) {
        uint64_t head = load8(p), tail = load8(p + n - 8);
        std::memcpy(to, &head, 8);
        std::memcpy(to + n - 8, &tail, 8);
    } else {
        std::memcpy(to, p, n);
    }
}

struct Slot {
    uint32_t tag;  // the high half of the hash
    uint32_t row;  // counted from 1; 0 is an empty slot
};

inline uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

inline size_t table_size(size_t rows) {  // at most half full
    size_t size = 2;
    while (size < 2 * rows) size *= 2;
    return size;
}

// A filter has a word an id, and each id sets four bits of one word: if they are not all set, it is not there. That
// they are although it is not happens to one id in some ten thousand.
inline uint64_t bits_of(uint64_t hash) {
    return uint64_t(1) << (hash >> 58) | uint64_t(1) << (hash >> 52 & 63) | uint64_t(1) << (hash >> 46 & 63) |
           uint64_t(1) << (hash >> 40 & 63);
}

// Distinct ids, numbered in order of first appearance.
class IdTable {
public:
    std::vector<byte> data;
    std::vector<int64_t> offsets{0};

    void set_seed(uint64_t seed) { seed_ = seed; }
    size_t size() const { return offsets.size() - 1; }
    size_t length(size_t row) const { return static_cast<size_t>(offsets[row + 1] - offsets[row]); }
    const byte* at(size_t row) const { return data.data() + offsets[row]; }

    int64_t find(const byte* p, size_t n) const {
        return slots_.empty() ? -1 : static_cast<int64_t>(slots_[place(p, n, hash_id(p, n, seed_))].row) - 1;
    }

    // The row of the id, which is new if it equals the size before the call.
    int64_t add(const byte* p, size_t n) {
        if (slots_.size() < 2 * (size() + 1)) grow();
        uint64_t hash = hash_id(p, n, seed_);
        Slot& slot = slots_[place(p, n, hash)];
        if (!slot.row) {
            if (size() >= UINT32_MAX / 2) throw std::bad_alloc();
            data.insert(data.end(), p, p + n);
            offsets.push_back(static_cast<int64_t>(data.size()));
            slot = {tag_of(hash), static_cast<uint32_t>(size())};
        }
        return static_cast<int64_t>(slot.row) - 1;
    }

private:
    std::vector<Slot> slots_;
    uint64_t seed_ = 0;

    size_t place(const byte* p, size_t n, uint64_t hash) const {
        size_t mask = slots_.size() - 1, i = hash & mask;
        for (; slots_[i].row; i = (i + 1) & mask) {
            size_t row = slots_[i].row - 1;
            if (slots_[i].tag == tag_of(hash) && length(row) == n && same_bytes(at(row), p, n)) break;
        }
        return i;
    }

    CALIPERS_RARE void grow() {
        std::vector<Slot> larger(slots_.empty() ? 16 : 2 * slots_.size());
        slots_.swap(larger);
        for (size_t row = 0; row < size(); ++row) {
            uint64_t hash = hash_id(at(row), length(row), seed_);
            slots_[place(at(row), length(row), hash)] = {tag_of(hash), static_cast<uint32_t>(row + 1)};
        }
    }
};

// The judged documents of every query. Read-only once built, so threads share it.
class Judged {
public:
    IdTable queries;
    uint64_t seed = 0;
    bool distinct = true;  // no query has a document twice

    // The offsets have been checked by the caller. False if a query occurs twice.
    bool build(const byte* query_data, const int64_t* query_offsets, size_t query_count, const int64_t* parts,
               const byte* data, const int64_t* offsets, size_t count, uint64_t random) {
        seed = random;
        queries.set_seed(random);
        data_.assign(data, data + offsets[count]);
        offsets_.assign(offsets, offsets + count + 1);
        tables_.reserve(query_count);
        size_t room = 0, words = 0;
        for (size_t q = 0; q < query_count; ++q) {
            size_t size = table_size(static_cast<size_t>(parts[q + 1] - parts[q]));
            tables_.push_back({room, words, size - 1, size / 2 - 1});
            room += size;
            words += size / 2;
        }
        slots_.resize(room);
        filter_.resize(words);
        for (size_t q = 0; q < query_count; ++q) {
            const byte* id = query_data + query_offsets[q];
            if (queries.add(id, static_cast<size_t>(query_offsets[q + 1] - query_offsets[q])) != int64_t(q)) return false;
            for (int64_t row = parts[q]; row < parts[q + 1]; ++row) {
                uint64_t hash = hash_id(at(row), length(row), seed);
                Slot& slot = slots_[place(q, at(row), length(row), hash)];
                if (slot.row) distinct = false;
                else slot = {tag_of(hash), static_cast<uint32_t>(row + 1)};
                filter_[tables_[q].words + (hash & tables_[q].filter_mask)] |= bits_of(hash);
            }
        }
        return true;
    }

    int64_t find(size_t q, const byte* p, size_t n, uint64_t hash) const { return of_query(q).find(p, n, hash); }

    // The judged documents of one query.
    class OfQuery {
    public:
        OfQuery() = default;

        int64_t find(const byte* p, size_t n, uint64_t hash) const {
            if (bits_of(hash) & ~filter_[hash & mask_]) return -1;
            return static_cast<int64_t>(judged_->slots_[judged_->place(query_, p, n, hash)].row) - 1;
        }

    private:
        friend class Judged;
        const Judged* judged_ = nullptr;
        const uint64_t* filter_ = nullptr;
        size_t mask_ = 0, query_ = 0;
    };

    OfQuery of_query(size_t q) const {
        OfQuery found;
        found.judged_ = this;
        found.filter_ = filter_.data() + tables_[q].words;
        found.mask_ = tables_[q].filter_mask;
        found.query_ = q;
        return found;
    }

private:
    // Most retrieved documents are not judged, and the slots of all queries do not fit in the cache. So a filter, which
    // does, answers first.
    struct Table {
        size_t start, words;  // where the query's slots and its part of the filter begin
        size_t mask, filter_mask;
    };
    std::vector<byte> data_;
    std::vector<int64_t> offsets_;
    std::vector<Table> tables_;
    std::vector<Slot> slots_;
    std::vector<uint64_t> filter_;

    const byte* at(int64_t row) const { return data_.data() + offsets_[row]; }
    size_t length(int64_t row) const { return static_cast<size_t>(offsets_[row + 1] - offsets_[row]); }

    size_t place(size_t q, const byte* p, size_t n, uint64_t hash) const {
        const Table& table = tables_[q];
        size_t i = hash & table.mask;
        for (;; i = (i + 1) & table.mask) {
            const Slot slot = slots_[table.start + i];
            if (!slot.row) break;
            int64_t row = slot.row - 1;
            if (slot.tag == tag_of(hash) && length(row) == n && same_bytes(at(row), p, n)) break;
        }
        return table.start + i;
    }
};

// Pairs of a group and an id, numbered in order of first appearance. Each group has a table of its own: rows come group by
// group, and one group's table fits in the cache.
class PairTable {
public:
    void set_seed(uint64_t seed) { seed_ = seed; }

    // Numbers n rows, whose groups and offsets have been checked; the first row whose pair one of these rows had before,
    // n if none.
    size_t number(const int32_t* group, const byte* data, const int64_t* offsets, size_t n, int32_t* out) {
        size_t again = n;
        ++call_;
        for (size_t row = 0; row < n; ++row) {
            const size_t g = static_cast<size_t>(group[row]);
            while (groups_.size() <= g) {
                groups_.emplace_back();
                groups_.back().ids.set_seed(seed_);
            }
            Group& of = groups_[g];
            const size_t found = static_cast<size_t>(
                of.ids.add(data + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])));
            if (found == of.numbered.size()) {
                if (group_of_.size() > INT32_MAX) throw std::bad_alloc();  // numbers are int32
                of.numbered.push_back({static_cast<int32_t>(group_of_.size()), 0});
                group_of_.push_back(group[row]);
            }
            Numbered& pair = of.numbered[found];
            if (pair.call == call_) again = std::min(again, row);
            pair.call = call_;
            out[row] = pair.number;
        }
        return again;
    }

    // The groups and ids of all pairs, in the order of their numbers.
    void split(std::vector<int32_t>& group, std::vector<byte>& data, std::vector<int64_t>& offsets) const {
        group = group_of_;
        offsets.assign(1, 0);
        std::vector<size_t> next(groups_.size(), 0);
        for (int32_t g : group_of_) {
            const IdTable& ids = groups_[static_cast<size_t>(g)].ids;
            const size_t row = next[static_cast<size_t>(g)]++;
            data.insert(data.end(), ids.at(row), ids.at(row) + ids.length(row));
            offsets.push_back(static_cast<int64_t>(data.size()));
        }
    }

private:
    struct Numbered {
        int32_t number;
        uint32_t call;  // the one that met the pair last
    };
    struct Group {
        IdTable ids;
        std::vector<Numbered> numbered;
    };
    uint64_t seed_ = 0;
    std::vector<Group> groups_;
    std::vector<int32_t> group_of_;  // of each number
    uint32_t call_ = 0;
};

// Numbers n keys in order of first appearance, equal ones alike; `first` gets the place where each number appears first.
inline void number_keys(const uint64_t* key, size_t n, uint64_t seed, int64_t* number, std::vector<int64_t>& first) {
    struct Numbered {
        uint64_t key;
        int64_t number;
    };
    const auto slot_of = [seed](const std::vector<Numbered>& slots, uint64_t k) {
        size_t mask = slots.size() - 1, i = mix(k ^ seed, 0x9e3779b97f4a7c15u) & mask;
        while (slots[i].number >= 0 && slots[i].key != k) i = (i + 1) & mask;
        return i;
    };
    std::vector<Numbered> slots(1 << 10, Numbered{0, -1});
    for (size_t row = 0; row < n; ++row) {
        if (slots.size() < 2 * (first.size() + 1)) {
            std::vector<Numbered> larger(2 * slots.size(), Numbered{0, -1});
            for (const Numbered& each : slots)
                if (each.number >= 0) larger[slot_of(larger, each.key)] = each;
            slots.swap(larger);
        }
        Numbered& slot = slots[slot_of(slots, key[row])];
        if (slot.number < 0) {
            slot = {key[row], static_cast<int64_t>(first.size())};
            first.push_back(static_cast<int64_t>(row));
        }
        number[row] = slot.number;
    }
}

// ----------------------------------------------------------------------------------------------------- sorting

inline void exchange(uint64_t& a, uint64_t& b) {
    uint64_t low = a < b ? a : b, high = a < b ? b : a;
    a = low;
    b = high;
}

inline void sort_eight(uint64_t* a) {  // Batcher's network
    exchange(a[0], a[1]); exchange(a[2], a[3]); exchange(a[4], a[5]); exchange(a[6], a[7]);
    exchange(a[0], a[2]); exchange(a[1], a[3]); exchange(a[4], a[6]); exchange(a[5], a[7]);
    exchange(a[1], a[2]); exchange(a[5], a[6]);
    exchange(a[0], a[4]); exchange(a[1], a[5]); exchange(a[2], a[6]); exchange(a[3], a[7]);
    exchange(a[2], a[4]); exchange(a[3], a[5]);
    exchange(a[1], a[2]); exchange(a[3], a[4]); exchange(a[5], a[6]);
}

// Sorts n numbers by merging, without a branch that depends on them: such a branch is mispredicted every other time,
// and costs more than all the rest: with std::sort the shape `shuffled` of the benchmarks takes a tenth longer, and a
// thousand scores are ranked in 1.7 times the time. `work` has room for n more.
inline void sort_numbers(uint64_t* a, uint64_t* work, size_t n) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) sort_eight(a + i);
    for (size_t k = i + 1; k < n; ++k)
        for (size_t j = k; j > i && a[j] < a[j - 1]; --j) std::swap(a[j], a[j - 1]);
    uint64_t *from = a, *to = work;
    for (size_t width = 8; width < n; width *= 2, std::swap(from, to)) {
        for (size_t start = 0; start < n; start += 2 * width) {
            const uint64_t *left = from + start, *right = left + std::min(width, n - start);
            uint64_t* out = to + start;
            if (n - start >= 2 * width) {
                // Halves of one size: `width` steps from each end meet in the middle and cannot run off a half.
                const uint64_t *left_end = right - 1, *right_end = right + width - 1;
                uint64_t* out_end = out + 2 * width - 1;
                for (size_t k = 0; k < width; ++k) {
                    bool r = *right < *left;
                    *out++ = r ? *right : *left;
                    right += r;
                    left += !r;
                    bool l = *left_end > *right_end;
                    *out_end-- = l ? *left_end : *right_end;
                    left_end -= l;
                    right_end -= !l;
                }
            } else {
                std::merge(left, right, right, static_cast<const uint64_t*>(from + n), out);
            }
        }
    }
    if (from != a) std::memcpy(a, from, n * sizeof *a);
}

// The rows of n scores, none of them NaN, by score descending and row ascending.
class Sorter {
public:
    const uint64_t* sort(const double* score, size_t n) {
        if (keys_.size() < n) {
            keys_.resize(n);
            work_.resize(n);
        }
        uint64_t rows = 1;  // a power of two: the low bits of a key give way to the row
        while (rows < n) rows *= 2;
        const uint64_t low = rows - 1;
        for (size_t i = 0; i < n; ++i) {
            uint64_t bits;
            double value = score[i] + 0.0;
            std::memcpy(&bits, &value, 8);
            bits ^= bits >> 63 ? 0 : ~(uint64_t(1) << 63);  // now ascending bits are descending scores
            keys_[i] = (bits & ~low) | i;
        }
        sort_numbers(keys_.data(), work_.data(), n);
        for (size_t i = 0; i < n;) {  // scores that differ in the lost bits only are still out of order
            size_t start = i;
            uint64_t high = keys_[i] & ~low;
            bool sorted = true;
            keys_[i] &= low;
            for (++i; i < n && (keys_[i] & ~low) == high; ++i) {
                keys_[i] &= low;
                sorted &= score[keys_[i]] <= score[keys_[i - 1]];
            }
            if (!sorted)
                std::stable_sort(keys_.begin() + start, keys_.begin() + i,
                                 [score](uint64_t a, uint64_t b) { return score[a] > score[b]; });
        }
        return keys_.data();
    }

private:
    std::vector<uint64_t> keys_, work_;
};

inline bool strictly_falling(const double* score, size_t n) {
    for (size_t i = 1; i < n; ++i)
        if (!(score[i] < score[i - 1])) return false;
    return true;
}

// How many of n ascending numbers are below this one. No branch depends on them.
inline size_t below(const double* sorted, size_t n, double value) {
    const double* start = sorted;
    while (n > 1) {
        size_t half = n / 2;
        sorted += sorted[half - 1] < value ? half : 0;
        n -= half;
    }
    return static_cast<size_t>(sorted - start) + (n && *sorted < value);
}

// One segment of rank_segments; the rows counted from `base`.
inline void rank_segment(Sorter& sorter, const double* score, size_t n, int64_t base, int64_t* order, int32_t* first,
                         int32_t* last) {
    if (strictly_falling(score, n)) {
        for (size_t i = 0; i < n; ++i) {
            order[i] = base + static_cast<int64_t>(i);
            first[i] = last[i] = static_cast<int32_t>(i + 1);
        }
        return;
    }
    const uint64_t* rows = sorter.sort(score, n);
    for (size_t start = 0; start < n;) {
        size_t end = start + 1;
        double value = score[rows[start]];
        while (end < n && score[rows[end]] == value) ++end;
        for (size_t i = start; i < end; ++i) {
            order[i] = base + static_cast<int64_t>(rows[i]);
            first[i] = static_cast<int32_t>(start + 1);
            last[i] = static_cast<int32_t>(end);
        }
        start = end;
    }
}

// ----------------------------------------------------------------------------------- the top of long segments

// Finds what could be among the first of n scores, none of them NaN, without sorting them all.
class Selector {
public:
    std::vector<uint32_t> rows;  // chosen by `select`, ascending
    std::vector<double> values;  // their scores

    explicit Selector(uint64_t seed = 0) : seed_(seed) {}

    // Chooses a few rows more than `depth`: all whose score is at least a bound that `depth` scores reach. The bound is
    // the depth-th largest of the maxima of 2 * depth groups. Needs 2 * depth <= n.
    void select(const double* score, size_t n, size_t depth) {
        const size_t groups = 2 * depth;
        largest_.assign(score, score + groups);
        double* const largest = largest_.data();
        for (size_t start = groups; start + groups <= n; start += groups)
            for (size_t j = 0; j < groups; ++j) largest[j] = score[start + j] > largest[j] ? score[start + j] : largest[j];
        std::nth_element(largest, largest + depth - 1, largest + groups, std::greater<double>());
        const double bound = largest[depth - 1];
        if (rows.size() < n) rows.resize(n);
        size_t count = 0;
        for (size_t i = 0; i < n; ++i) {  // no branch depends on the scores
            rows[count] = static_cast<uint32_t>(i);
            count += score[i] >= bound;
        }
        values.resize(count);
        for (size_t i = 0; i < count; ++i) values[i] = score[rows[i]];
    }

    // How many of n scores are equal to another one.
    size_t tied(const double* score, size_t n) {
        const size_t size = table_size(2 * n), mask = size - 1;
        if (keys_.size() < size) {
            keys_.resize(size);
            again_.resize(size);
        }
        std::memset(keys_.data(), 0xff, size * sizeof keys_[0]);  // an empty slot holds the bits of a NaN
        std::memset(again_.data(), 0, size);
        size_t tied = 0;
        for (size_t i = 0; i < n; ++i) {
            const double value = score[i] + 0.0;
            uint64_t bits;
            std::memcpy(&bits, &value, 8);
            size_t slot = mix(bits ^ seed_, 0x9e3779b97f4a7c15u) & mask;
            while (keys_[slot] != bits && keys_[slot] != UINT64_MAX) slot = (slot + 1) & mask;
            const bool equal = keys_[slot] == bits;
            tied += equal ? size_t(2) - again_[slot] : 0;  // the second one counts for the first one too
            again_[slot] |= equal;
            keys_[slot] = bits;
        }
        return tied;
    }

private:
    uint64_t seed_;
    std::vector<double> largest_;
    std::vector<uint64_t> keys_;
    std::vector<byte> again_;
};

// The rows of segments whose tie starts at one of the first ranks, segment after segment.
struct Top {
    std::vector<int64_t> order, offsets{0};
    std::vector<int32_t> first, last;
    std::vector<int32_t> tied;  // of each segment: rows with the score of another one, the whole segment counted

    // Adds a segment whose rows are counted from `base`.
    void add(Sorter& sorter, Selector& selector, const double* score, size_t n, int64_t base, size_t depth) {
        size_t found = 0;
        if (strictly_falling(score, n)) {
            for (size_t i = 0; i < std::min(n, depth); ++i) append(base + int64_t(i), i, i + 1);
        } else if (n / 4 < depth) {
            found = ties(score, sorter.sort(score, n), n, depth, [&](size_t row) { return base + int64_t(row); });
        } else {
            selector.select(score, n, depth);
            const double* values = selector.values.data();
            const size_t count = selector.values.size();
            ties(values, sorter.sort(values, count), count, depth,
                 [&](size_t row) { return base + int64_t(selector.rows[row]); });
            found = selector.tied(score, n);
        }
        tied.push_back(static_cast<int32_t>(found));
        offsets.push_back(static_cast<int64_t>(order.size()));
    }

private:
    void append(int64_t row, size_t start, size_t end) {
        order.push_back(row);
        first.push_back(static_cast<int32_t>(start + 1));
        last.push_back(static_cast<int32_t>(end));
    }

    // Adds the ties of sorted rows that start above `depth`; how many of all n rows are in a tie.
    template <class Place>
    size_t ties(const double* score, const uint64_t* rows, size_t n, size_t depth, Place place) {
        size_t found = 0;
        for (size_t start = 0, end; start < n; start = end) {
            const double value = score[rows[start]];
            for (end = start + 1; end < n && score[rows[end]] == value;) ++end;
            if (end - start > 1) found += end - start;
            for (size_t i = start; start < depth && i < end; ++i) append(place(rows[i]), start, end);
        }
        return found;
    }
};

// ------------------------------------------------------------------------------------- the documents of one query

struct Row {  // a judged document that was retrieved
    double score;
    int32_t document, first, last, docid_rank, input_rank, padding;
};

// `RunScanner.finish` hands rows over as an array of "float64,int32,int32,int32,int32,int32,int32".
static_assert(std::is_trivially_copyable<Row>::value && std::is_standard_layout<Row>::value, "rows are copied");
static_assert(sizeof(Row) == 32 && offsetof(Row, score) == 0 && offsetof(Row, document) == 8 &&
                  offsetof(Row, first) == 12 && offsetof(Row, last) == 16 && offsetof(Row, docid_rank) == 20 &&
                  offsetof(Row, input_rank) == 24,
              "the fields of a row are where the array has them");

struct Summary {
    int32_t length, tied;
};

struct Tie {  // the ranks that documents of one score span
    int32_t first, last;
};
static_assert(std::is_trivially_copyable<Tie>::value && sizeof(Tie) == 8, "ties are copied");

class List {
public:
    size_t size() const { return count_; }

    void clear() {
        make_room(std::max<size_t>(64, table_size(count_) / 2));  // what the last query needed, this one may need
        count_ = used_ = 0;
        hits_.clear();
        strict_ = falling_ = true;
        starts_[0] = 0;
    }

    // False if the document is there already. `row` is its row among the judged ones, or -1.
    bool add(const byte* id, size_t n, uint64_t hash, double score, int64_t row) {
        if (count_ == room_) grow();
        const size_t at = count_;
        uint64_t* const word = filter_.data() + (hash & (room_ - 1));
        const uint64_t bits = bits_of(hash), known = *word;
        if (!(bits & ~known) && is_there(id, n, hash)) return false;
        *word = known | bits;
        hashes_[at] = hash;
        double* const scores = scores_.data() + at;
        *scores = score;
        if (at && !(score < scores[-1])) {
            strict_ = false;
            falling_ &= score == scores[-1];
        }
        if (row >= 0) hits_.push_back({static_cast<int32_t>(row), static_cast<int32_t>(at)});
        size_t used = used_;
        if (ids_.size() - used < n) ids_.resize(2 * ids_.size() + n);
        starts_[at + 1] = used_ = used + n;
        count_ = at + 1;
        copy_id(ids_.data() + used, id, n);
        return true;
    }

    // The same for rows of columns, a column at a time: how many of the n rows are before one that is there already.
    // Row i has the id text[cut[i]:cut[i + 1]].
    size_t add_rows(const Judged::OfQuery& judged, uint64_t seed, const byte* text, const int64_t* cut,
                    const double* score, size_t n, bool single) {
        while (room_ - count_ < n) grow();
        const size_t first = count_, bytes = static_cast<size_t>(cut[n] - cut[0]), used = used_;
        if (ids_.size() - used < bytes) ids_.resize(2 * ids_.size() + bytes);
        if (bytes) std::memcpy(ids_.data() + used, text + cut[0], bytes);
        used_ = used + bytes;
        size_t* const starts = starts_.data() + first + 1;
        for (size_t i = 0; i < n; ++i) starts[i] = used + static_cast<size_t>(cut[i + 1] - cut[0]);
        double* const scores = scores_.data() + first;
        for (size_t i = 0; i < n; ++i)
            scores[i] = (single ? static_cast<double>(static_cast<float>(score[i])) : score[i]) + 0.0;
        bool strict = true, falling = true;
        for (size_t i = first ? 0 : 1; i < n; ++i) {
            strict &= scores[i] < scores[i - 1];
            falling &= scores[i] <= scores[i - 1];
        }
        strict_ &= strict;
        falling_ &= falling;
        uint64_t* const hashes = hashes_.data() + first;
        for (size_t i = 0; i < n; ++i) hashes[i] = hash_id(text + cut[i], static_cast<size_t>(cut[i + 1] - cut[i]), seed);
        uint64_t* const filter = filter_.data();
        const size_t mask = room_ - 1;
        for (size_t i = 0; i < n; ++i) {
            const uint64_t hash = hashes[i], bits = bits_of(hash), known = filter[hash & mask];
            const byte* id = text + cut[i];
            const size_t length = static_cast<size_t>(cut[i + 1] - cut[i]);
            if (!(bits & ~known)) {
                count_ = first + i;
                if (is_there(id, length, hash)) return i;
            }
            filter[hash & mask] = known | bits;
            int64_t row = judged.find(id, length, hash);
            if (row >= 0) hits_.push_back({static_cast<int32_t>(row), static_cast<int32_t>(first + i)});
        }
        count_ = first + n;
        return n;
    }

    // Appends the judged documents in docid order, and the ties of all documents; `depth` 0 keeps all.
    Summary rank(size_t depth, std::vector<Row>& rows, std::vector<Tie>& ties) {
        size_t kept = depth ? std::min(depth, count_) : count_;
        Summary summary{static_cast<int32_t>(kept), 0};
        if (strict_) {
            for (const Hit& hit : hits_) {
                if (static_cast<size_t>(hit.position) >= kept) break;
                int32_t rank = hit.position + 1;
                rows.push_back({scores_[hit.position], hit.row, rank, rank, rank, rank, 0});
            }
            return summary;
        }
        judged_.assign(count_, -1);
        for (const Hit& hit : hits_) judged_[hit.position] = hit.row;
        order_.resize(count_);
        if (falling_) {
            for (size_t i = 0; i < count_; ++i) order_[i] = static_cast<uint32_t>(i);
        } else {
            const uint64_t* sorted = sorter_.sort(scores_.data(), count_);
            for (size_t i = 0; i < count_; ++i) order_[i] = static_cast<uint32_t>(sorted[i]);
        }
        for (size_t start = 0, end; start < kept; start = end) {
            double score = scores_[order_[start]];
            bool any = judged_[order_[start]] >= 0;
            for (end = start + 1; end < count_ && scores_[order_[end]] == score; ++end) any |= judged_[order_[end]] >= 0;
            size_t last = std::min(end, kept);
            if (last - start > 1) {
                summary.tied += static_cast<int32_t>(last - start);
                ties.push_back({static_cast<int32_t>(start + 1), static_cast<int32_t>(last)});
            }
            if (any) tie(start, end, last, score, rows);
        }
        return summary;
    }

private:
    struct Hit {
        int32_t row, position;
    };
    std::vector<double> scores_;
    std::vector<size_t> starts_;  // of the ids, and where the last one ends
    std::vector<byte> ids_;
    std::vector<uint64_t> hashes_;
    std::vector<uint64_t> filter_;
    std::vector<uint32_t> slots_;  // a table of the first `entered_` documents, counted from 1; 0 is an empty slot
    std::vector<Hit> hits_;
    std::vector<int32_t> judged_;
    std::vector<uint32_t> order_, by_id_, by_input_;
    Sorter sorter_;
    size_t count_ = 0, used_ = 0, entered_ = 0;
    size_t room_ = 0;  // documents that fit, a power of two
    bool strict_ = true, falling_ = true;

    // Asked for few documents that are not there, so the table that finds them learns about the others only now.
    CALIPERS_RARE bool is_there(const byte* id, size_t n, uint64_t hash) {
        const size_t size = 2 * room_, mask = size - 1;
        if (!entered_) {
            if (slots_.size() < size) slots_.resize(size);
            std::memset(slots_.data(), 0, size * sizeof slots_[0]);
        }
        while (entered_ < count_) {
            size_t i = hashes_[entered_] & mask;
            while (slots_[i]) i = (i + 1) & mask;
            slots_[i] = static_cast<uint32_t>(++entered_);
        }
        for (size_t i = hash & mask; slots_[i]; i = (i + 1) & mask)
            if (hashes_[slots_[i] - 1] == hash && is_at(slots_[i] - 1, id, n)) return true;
        return false;
    }

    bool is_at(size_t i, const byte* id, size_t n) const {
        return starts_[i + 1] - starts_[i] == n && same_bytes(ids_.data() + starts_[i], id, n);
    }

    // Room for a power of two of documents, with an empty filter and table.
    void make_room(size_t documents) {
        if (documents > INT32_MAX) throw std::bad_alloc();  // ranks are int32
        room_ = documents;
        entered_ = 0;
        if (scores_.size() < documents) {
            scores_.resize(documents);
            hashes_.resize(documents);
            starts_.resize(documents + 1);
            filter_.resize(documents);
        }
        std::memset(filter_.data(), 0, documents * sizeof filter_[0]);
    }

    CALIPERS_RARE void grow() {
        make_room(2 * room_);
        for (size_t i = 0; i < count_; ++i) filter_[hashes_[i] & (room_ - 1)] |= bits_of(hashes_[i]);
    }

    // The tie of ranks start + 1 .. end, of which those up to `last` are kept.
    void tie(size_t start, size_t end, size_t last, double score, std::vector<Row>& rows) {
        const uint32_t* input = order_.data() + start;
        by_id_.assign(input, input + (end - start));
        if (end - start > 1)
            std::sort(by_id_.begin(), by_id_.end(), [this](uint32_t a, uint32_t b) {
                size_t an = starts_[a + 1] - starts_[a], bn = starts_[b + 1] - starts_[b];
                int order = std::memcmp(ids_.data() + starts_[a], ids_.data() + starts_[b], std::min(an, bn));
                return order ? order > 0 : an > bn;
            });
        size_t kept = last - start;
        if (last < end) {  // ranks by input are among those that the cut keeps
            by_input_.assign(by_id_.begin(), by_id_.begin() + static_cast<ptrdiff_t>(kept));
            std::sort(by_input_.begin(), by_input_.end());
            input = by_input_.data();
        }
        for (size_t i = 0; i < kept; ++i) {
            uint32_t position = by_id_[i];
            if (judged_[position] < 0) continue;
            // Inside a tie, order of input is order of position.
            size_t by_input = static_cast<size_t>(std::lower_bound(input, input + kept, position) - input);
            rows.push_back({score, judged_[position], static_cast<int32_t>(start + 1), static_cast<int32_t>(last),
                            static_cast<int32_t>(start + 1 + i), static_cast<int32_t>(start + 1 + by_input), 0});
        }
    }
};

// ------------------------------------------------------------------------------------------ scattered queries

// The lines of each query, packed: length of the id, id, lines since the query's last one, score. About ten bytes per
// line beside the id. Chunks start small, for there may be many queries with few documents.
class Bins {
public:
    std::vector<uint32_t> order;  // queries, by first appearance

    void add(size_t q, const byte* id, size_t n, int64_t line, double score) {
        if (bins_.size() <= q) bins_.resize(q + 1);
        Bin& bin = bins_[q];
        size_t need = n + 28;  // two numbers of at most ten bytes, and the score
        if (!bin.last || bin.last->size - bin.last->used < need) extend(q, need);
        Chunk* chunk = bin.last;
        byte* start = reinterpret_cast<byte*>(chunk + 1) + chunk->used;
        byte* p = put(start, n);
        std::memcpy(p, id, n);
        p = put(p + n, static_cast<uint64_t>(line - bin.line));
        std::memcpy(p, &score, 8);
        bin.line = line;
        chunk->used += static_cast<uint32_t>(p + 8 - start);
    }

    // Calls take(id, n, line, score) for each line of a query until it returns false.
    template <class Take> void each(size_t q, Take take) const {
        for (const Chunk* chunk = bins_[q].first; chunk; chunk = chunk->next) {
            int64_t line = chunk->before;
            const byte* p = reinterpret_cast<const byte*>(chunk + 1);
            const byte* end = p + chunk->used;
            while (p < end) {
                uint64_t n, lines;
                p = get(p, &n);
                const byte* id = p;
                p = get(p + n, &lines);
                line += static_cast<int64_t>(lines);
                double score;
                std::memcpy(&score, p, 8);
                p += 8;
                if (!take(id, static_cast<size_t>(n), line, score)) return;
            }
        }
    }

    // Takes over the lines of bins that were filled from what follows `lines` lines of ours.
    void append(Bins& later, int64_t lines) {
        if (bins_.size() < later.bins_.size()) bins_.resize(later.bins_.size());
        slabs_.reserve(slabs_.size() + later.slabs_.size());
        order.reserve(order.size() + later.order.size());
        for (uint32_t q : later.order) {
            Bin &mine = bins_[q], &theirs = later.bins_[q];
            for (Chunk* chunk = theirs.first; chunk; chunk = chunk->next) chunk->before += lines;
            if (mine.last) {
                mine.last->next = theirs.first;
            } else {
                mine.first = theirs.first;
                order.push_back(q);
            }
            mine.last = theirs.last;
            mine.line = theirs.line + lines;
        }
        // In front: the last slab is the one that has room.
        slabs_.insert(slabs_.begin(), std::make_move_iterator(later.slabs_.begin()),
                      std::make_move_iterator(later.slabs_.end()));
        later = Bins();
    }

private:
    struct Chunk {
        Chunk* next;
        int64_t before;  // the query's last line before this chunk
        uint32_t used, size;
    };
    struct Bin {
        Chunk *first = nullptr, *last = nullptr;
        int64_t line = 0;
    };
    static constexpr size_t kSlab = size_t(1) << 20, kLargest = 1024;
    // Chunks lie in slabs at multiples of 16.
    static_assert(alignof(Chunk) <= 16 && alignof(Chunk) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__, "chunks are aligned");

    std::vector<Bin> bins_;
    std::vector<std::unique_ptr<byte[]>> slabs_;
    size_t free_ = 0;  // bytes left at the end of the last slab

    static byte* put(byte* p, uint64_t v) {
        for (; v >= 128; v >>= 7) *p++ = static_cast<byte>(v | 128);
        *p++ = static_cast<byte>(v);
        return p;
    }

    static const byte* get(const byte* p, uint64_t* v) {
        uint64_t value = 0;
        int shift = 0;
        for (; *p & 128; shift += 7) value |= uint64_t(*p++ & 127) << shift;
        *v = value | uint64_t(*p++) << shift;
        return p;
    }

    void extend(size_t q, size_t need) {
        Bin& bin = bins_[q];
        if (!bin.first) order.push_back(static_cast<uint32_t>(q));
        size_t size = bin.last ? std::min(kLargest, 2 * (bin.last->size + sizeof(Chunk))) : 128;
        size = (std::max(size, need + sizeof(Chunk)) + 15) & ~size_t(15);
        byte* room;
        if (size > kLargest) {  // an id of uncommon length gets a slab of its own, below the one in use
            std::unique_ptr<byte[]> slab(new byte[size]);
            room = slab.get();
            slabs_.insert(slabs_.end() - (slabs_.empty() ? 0 : 1), std::move(slab));
        } else {
            if (free_ < size) {
                slabs_.emplace_back(new byte[kSlab]);
                free_ = kSlab;
            }
            room = slabs_.back().get() + (kSlab - free_);
            free_ -= size;
        }
        Chunk* chunk = new (room) Chunk{nullptr, bin.line, 0, static_cast<uint32_t>(size - sizeof(Chunk))};
        if (bin.last) bin.last->next = chunk; else bin.first = chunk;
        bin.last = chunk;
    }
};

}  // namespace calipers
