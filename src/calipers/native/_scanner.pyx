# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The scanner, compiled. What it does, `plain.py` says: both give the same results, and the same errors.

Blocks are cut into *regions* of whole lines, walked once each without the GIL; a line that a block cuts in two is put
together in a buffer of its own.
"""

import numpy

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AsString, PyBytes_FromStringAndSize, PyBytes_Size
from cpython.dict cimport PyDict_GetItemWithError
from cpython.float cimport PyFloat_AsDouble
from cpython.ref cimport PyObject
from libc.math cimport isfinite
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy
from libcpp cimport bool as cbool
from libcpp.algorithm cimport reverse, sort, upper_bound
from libcpp.memory cimport make_shared, make_unique, shared_ptr, unique_ptr
from libcpp.vector cimport vector

import os

from calipers.native.scan_error import BINARY, MOST_LINE, ScanError, duplicate, too_long

COMPILED = True


cdef extern from "_bits.hpp" namespace "calipers" nogil:
    void count_shared "calipers::shared_bits"(const uint64_t*, size_t, const uint64_t*, size_t, size_t, int64_t*) noexcept
    void add_patterns "calipers::count_patterns"[Count](
        const int16_t*, size_t, const int16_t*, size_t, size_t, Count*
    ) noexcept
    double bits_of_patterns "calipers::pattern_bits"[Count](const Count*, size_t) except +
    void compare_orders "calipers::order_bits"(
        const int16_t*, size_t, const int16_t*, size_t, size_t, int16_t, uint64_t*, uint64_t*
    ) noexcept
    void count_one_sided "calipers::one_sided_pairs"(
        const int16_t*, size_t, const int16_t*, size_t, size_t, int16_t, int64_t*
    ) except +
    void sort_rows "calipers::sort_by_votes"[Rank](
        int64_t*, const int64_t*, size_t, const Rank*, const double*, size_t, double, const double*, cbool, cbool
    ) except +

    cppclass Sides:
        const int16_t* better
        size_t betters
        const int16_t* worse
        size_t worses

    void count_groups "calipers::bits_of_groups"[Count](
        const vector[Sides]&, const int64_t*, size_t, size_t, int16_t, double*
    ) except +


cdef extern from "_scanner.hpp" namespace "calipers" nogil:
    cbool is_blank(uint8_t c) noexcept
    cbool at_end(const uint8_t* p) noexcept
    const uint8_t* after_end(const uint8_t* p) noexcept
    const uint8_t* skip_blanks(const uint8_t* p) noexcept
    const uint8_t* field_end(const uint8_t* p, const uint8_t* end) noexcept
    const uint8_t* line_feed(const uint8_t* p, const uint8_t* end) noexcept
    const uint8_t* read_number(const uint8_t* p, const uint8_t* end, double* out) except +
    struct Power:
        uint64_t bits
        int exponent

    const int kLargestPower
    Power* powers

    uint64_t hash_id(const uint8_t* p, size_t n, uint64_t seed) noexcept

    cppclass IdTable:
        vector[uint8_t] data
        vector[int64_t] offsets
        void set_seed(uint64_t seed) noexcept
        size_t size() noexcept
        int64_t find(const uint8_t* p, size_t n) noexcept
        int64_t add(const uint8_t* p, size_t n) except +

    cppclass Judged:
        IdTable queries
        uint64_t seed
        cbool distinct
        cbool build(const uint8_t* query_data, const int64_t* query_offsets, size_t query_count, const int64_t* parts,
                    const uint8_t* data, const int64_t* offsets, size_t count, uint64_t random) except +
        int64_t find(size_t q, const uint8_t* p, size_t n, uint64_t hash) noexcept
        OfQuery of_query(size_t q) noexcept

    cppclass OfQuery "calipers::Judged::OfQuery":
        int64_t find(const uint8_t* p, size_t n, uint64_t hash) noexcept

    cppclass PairTable:
        void set_seed(uint64_t seed) noexcept
        size_t number(const int32_t* group, const uint8_t* data, const int64_t* offsets, size_t n, int32_t* out) except +
        void split(vector[int32_t]& group, vector[uint8_t]& data, vector[int64_t]& offsets) except +

    void number_keys(const uint64_t* key, size_t n, uint64_t seed, int64_t* number, vector[int64_t]& first) except +

    cppclass Sorter:
        pass

    cppclass Selector:
        Selector(uint64_t seed) except +

    cppclass Top:
        vector[int64_t] order, offsets
        vector[int32_t] first, last, tied
        void add(Sorter& sorter, Selector& selector, const double* score, size_t n, int64_t base, size_t depth) except +

    size_t below(const double* sorted, size_t n, double value) noexcept
    void rank_segment(Sorter& sorter, const double* score, size_t n, int64_t base, int64_t* order, int32_t* first,
                      int32_t* last) except +

    struct Row:
        double score
        int32_t document, first, last, docid_rank, input_rank

    struct Summary:
        int32_t length, tied

    struct Tie:
        int32_t first, last

    cppclass List:
        void clear() except +
        cbool add(const uint8_t* id, size_t n, uint64_t hash, double score, int64_t row) except +
        size_t add_rows(const OfQuery& judged, uint64_t seed, const uint8_t* text, const int64_t* cut,
                        const double* score, size_t n, cbool single) except +
        Summary rank(size_t depth, vector[Row]& rows, vector[Tie]& ties) except +

    cppclass Bins:
        vector[uint32_t] order
        void add(size_t q, const uint8_t* id, size_t n, int64_t line, double score) except +
        void append(Bins& later, int64_t lines) except +


cdef extern from *:
    """
    // Fills the list with the lines of a query. Returns the line of the first document that is there already, 0 if none.
    static int64_t fill(calipers::List& list, const calipers::Bins& bins, const calipers::Judged& judged, size_t q,
                        const calipers::byte** document, size_t* length) {
        int64_t twice = 0;
        list.clear();
        bins.each(q, [&](const calipers::byte* id, size_t n, int64_t line, double score) {
            uint64_t hash = calipers::hash_id(id, n, judged.seed);
            if (list.add(id, n, hash, score, judged.find(q, id, n, hash))) return true;
            *document = id;
            *length = n;
            twice = line;
            return false;
        });
        return twice;
    }
    """
    int64_t fill(List& list, const Bins& bins, const Judged& judged, size_t q, const uint8_t** document,
                 size_t* length) except + nogil


ctypedef const uint8_t* Text


cdef size_t LONGEST = MOST_LINE  # bytes that a line may have
cdef size_t SLICE = 1 << 20  # bytes walked at a time; a line that fits cannot be too long
cdef enum: MEMO = 64  # bytes of a line's unchanging head and rest that are remembered

# What came of a region.
cdef enum:
    FINE = 0
    MALFORMED = 1
    TWICE = 2
    HAS_NUL = 3
    LONG = 4


cdef int fill_powers() except -1:
    """The 64 leading bits of each power of ten that numbers are rounded with: floor(10^e / 2^exponent)."""
    for e in range(-kLargestPower, kLargestPower + 1):
        above, below = 10 ** max(e, 0), 10 ** max(-e, 0)
        exponent = above.bit_length() - below.bit_length() - 64
        scaled = (above << max(-exponent, 0)) // (below << max(exponent, 0))
        if scaled >> 64:
            scaled, exponent = scaled >> 1, exponent + 1
        powers[e + kLargestPower].bits = scaled
        powers[e + kLargestPower].exponent = exponent
    return 0


fill_powers()


# ------------------------------------------------------------------------------------------- to and from arrays


cdef object array_of(const void* data, size_t count, size_t width, str dtype):
    """A new array with a copy of this memory."""
    cdef Py_buffer view
    array = numpy.empty(count, dtype)
    if count:
        PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
        memcpy(view.buf, data, count * width)
        PyBuffer_Release(&view)
    return array


cdef object int32s(vector[int32_t]& values):
    return array_of(values.data(), values.size(), 4, "int32")


cdef object int64s(vector[int64_t]& values):
    return array_of(values.data(), values.size(), 8, "int64")


cdef object doubles(vector[double]& values):
    return array_of(values.data(), values.size(), 8, "float64")


cdef object ids_of(vector[uint8_t]& data, vector[int64_t]& offsets):
    from calipers.native.ids import Ids

    return Ids(array_of(data.data(), data.size(), 1, "uint8"), int64s(offsets))


cdef class Borrowed:
    """The memory of a contiguous array, for as long as this object lives."""

    cdef Py_buffer view
    cdef bint held
    cdef size_t count

    def __cinit__(self, values, str dtype, bint writable=False):
        array = values if writable else numpy.ascontiguousarray(values, dtype)
        if array.ndim != 1:
            raise ValueError("expected an array of one dimension")
        PyObject_GetBuffer(array, &self.view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
        self.held = True
        self.count = len(array)

    def __dealloc__(self):
        if self.held:
            PyBuffer_Release(&self.view)


cdef bint cuts(const int64_t* offsets, size_t count, int64_t total) noexcept nogil:
    """Whether `count` numbers are the bounds of parts of `total` things."""
    cdef size_t i
    if count == 0 or offsets[0] != 0 or offsets[count - 1] != total:
        return False
    for i in range(1, count):
        if offsets[i] < offsets[i - 1]:
            return False
    return True


# --------------------------------------------------------------------------------------------- blocks into lines


cdef class Lines:
    """Cuts blocks into regions, counts lines, and raises what a scanner refuses."""

    cdef bint busy, closed
    cdef bint deaf  # nothing that follows matters, be it readable or not
    cdef int64_t number  # whole lines so far
    cdef int64_t content  # those that were not skipped
    cdef vector[uint8_t] tail
    cdef Text bad  # the line that was refused
    cdef str grammar  # the function of `plain` that reads a line, and says what is wrong with one

    cdef int scan(self, Text p, Text end) except -1 nogil:
        """Walk a region. On anything but FINE, `number` is the lines before the refused one, at `bad`."""
        return FINE

    cdef object explain(self, bytes line):
        """Raise the ScanError that says what is wrong with the line."""
        from calipers.native import plain

        getattr(plain, self.grammar)(line)

    cdef object twice(self):
        """The message about a document that is there twice."""

    cdef int settle(self) except -1:
        """Raise an earlier error, if there is one that has not been looked for yet."""
        return 0

    @property
    def lines(self):
        return self.number

    @property
    def rows(self):
        return self.content

    @property
    def idle(self):
        return self.deaf

    def feed(self, block):
        """Take the next block: any bytes-like object, cut anywhere."""
        cdef Py_buffer view
        cdef int outcome
        self.enter()
        try:
            PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)
            try:
                with nogil:
                    outcome = self.take(<Text> view.buf, view.len)
                if outcome != FINE:
                    self.refuse(outcome)
            finally:
                PyBuffer_Release(&view)
        except BaseException:
            self.closed = True
            raise
        finally:
            self.busy = False

    cdef int close(self) except -1:
        """Take the last line, if it lacks its end."""
        cdef int outcome
        self.enter()
        self.closed = True
        try:
            if not self.deaf and not self.tail.empty():
                with nogil:
                    outcome = self.joined()
                if outcome != FINE:
                    self.refuse(outcome)
        finally:
            self.busy = False
        return 0

    cdef int enter(self) except -1:
        if self.busy:
            raise RuntimeError("a scanner takes one block at a time")
        if self.closed:
            raise ValueError("this scanner is finished, or has refused a line")
        self.busy = True
        return 0

    cdef int refuse(self, int outcome) except -1:
        cdef Text end
        self.settle()
        if outcome == HAS_NUL:
            error = ScanError(BINARY)
        elif outcome == LONG:
            error = ScanError(too_long(MOST_LINE))
        elif outcome == TWICE:
            error = ScanError(self.twice())
        else:
            end = self.bad
            while not at_end(end):
                end += 1
            line = PyBytes_FromStringAndSize(<const char*> self.bad, end - self.bad)
            try:
                self.explain(line)
            except ScanError as said:
                error = said
            else:
                raise AssertionError(f"the two scanners disagree about {line!r}")
        error.line = self.number + 1
        raise error

    cdef int take(self, Text p, Py_ssize_t n) except -1 nogil:
        cdef Text end = p + n, stop
        cdef int outcome
        while p < end and not self.deaf:
            stop = p + SLICE if <size_t> (end - p) > SLICE else end
            outcome = self.take_slice(p, stop)
            if outcome != FINE:
                return outcome
            p = stop
        return FINE

    cdef int take_slice(self, Text p, Text stop) except -1 nogil:
        cdef Text nul = <Text> memchr(p, 0, stop - p)
        cdef Text end = nul if nul != NULL else stop  # what comes before is text
        cdef Text feed, last
        cdef int outcome
        if self.number == 0 or not self.tail.empty():  # the first line may start with a byte order mark
            feed = line_feed(p, end)
            last = feed if feed != NULL else end
            if self.tail.size() + <size_t> (last - p) > LONGEST:
                return LONG
            self.tail.insert(self.tail.end(), p, last)
            if feed == NULL:
                return HAS_NUL if nul != NULL else FINE
            outcome = self.joined()
            if outcome != FINE or self.deaf:
                return outcome
            p = feed + 1
        last = end
        while last > p and (last - 1)[0] != c"\n":
            last -= 1
        if last > p:
            outcome = self.scan(p, last)
            if outcome != FINE or self.deaf:
                return outcome
        if nul != NULL:
            return HAS_NUL
        self.tail.assign(last, end)
        return FINE

    cdef int joined(self) except -1 nogil:
        """Walk the one line in the buffer."""
        cdef Text p
        cdef int outcome
        self.tail.push_back(c"\n")
        p = self.tail.data()
        if self.number == 0 and self.tail.size() > 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
            p += 3
        outcome = self.scan(p, self.tail.data() + self.tail.size())
        if outcome == FINE:
            self.tail.clear()
        return outcome


# ------------------------------------------------------------------------------------------------ whole columns


cdef class ColumnScanner(Lines):
    """All lines of judgments ("qrels"), of a run ("run"), or of query, document and number ("triples"), as columns."""

    cdef bint run, triples, keep_second
    cdef IdTable queries
    cdef vector[int32_t] query
    cdef vector[uint8_t] documents, seconds
    cdef vector[int64_t] document_offsets, second_offsets
    cdef vector[double] value
    cdef vector[int64_t] line_of
    cdef bytes tag

    def __cinit__(self, kind, *, bint keep_second=False):
        if kind not in ("qrels", "run", "triples"):
            raise ValueError(f"kind is 'qrels', 'run' or 'triples', not {kind!r}")
        self.run = kind == "run"
        self.triples = kind == "triples"
        self.grammar = f"{kind}_line"
        self.keep_second = keep_second and kind == "qrels"
        self.queries.set_seed(new_seed())
        self.document_offsets.assign(1, 0)
        self.second_offsets.assign(1, 0)
        self.tag = b""

    cdef int scan(self, Text p, Text end) except -1 nogil:
        cdef Text[6] start
        cdef Text[6] stop
        cdef int i, fields = 6 if self.run else 3 if self.triples else 4
        cdef int document = 1 if self.triples else 2, numeric = 4 if self.run else 2 if self.triples else 3
        cdef double value
        while p < end:
            self.bad = p
            if p[0] == c"#":
                p = line_feed(p, end) + 1
                self.number += 1
                continue
            for i in range(fields):
                p = skip_blanks(p)
                if at_end(p):
                    break
                start[i] = p
                p = field_end(p, end)
                stop[i] = p
            else:
                i = fields
            p = skip_blanks(p)
            if i == 0:
                p = after_end(p)
                self.number += 1
                continue
            if i < fields or not at_end(p) or read_number(start[numeric], end, &value) != stop[numeric]:
                return MALFORMED
            p = after_end(p)
            self.number += 1
            self.query.push_back(row_of(self.queries, self.query, start[0], stop[0] - start[0]))
            self.documents.insert(self.documents.end(), start[document], stop[document])
            self.document_offsets.push_back(<int64_t> self.documents.size())
            self.value.push_back(value)
            self.line_of.push_back(self.number)
            if self.keep_second:
                self.seconds.insert(self.seconds.end(), start[1], stop[1])
                self.second_offsets.push_back(<int64_t> self.seconds.size())
            if self.run and self.content == 0:
                with gil:
                    self.tag = PyBytes_FromStringAndSize(<const char*> start[5], stop[5] - start[5])
            self.content += 1
        return FINE

    def finish(self):
        from calipers.native.columns import Columns

        self.close()
        return Columns(
            queries=ids_of(self.queries.data, self.queries.offsets),
            query=int32s(self.query),
            documents=ids_of(self.documents, self.document_offsets),
            value=doubles(self.value),
            line=int64s(self.line_of),
            second=ids_of(self.seconds, self.second_offsets) if self.keep_second else None,
            tag=self.tag,
        )


cdef inline int32_t row_of(IdTable& queries, vector[int32_t]& before, Text id, size_t n) except -1 nogil:
    """The row of a line's query, which most often is that of the line before."""
    cdef int64_t start
    if not before.empty():
        start = queries.offsets[before.back()]
        if <size_t> (queries.offsets[before.back() + 1] - start) == n and memcmp(queries.data.data() + start, id, n) == 0:
            return before.back()
    return <int32_t> queries.add(id, n)


cdef uint64_t new_seed():
    """Results do not depend on it; the time that ids chosen to collide would cost does."""
    return int.from_bytes(os.urandom(8), "little")


cdef class LetorScanner(Lines):
    """The labels, queries and document names of a LETOR (SVMlight) file; features are skipped unread."""

    cdef IdTable queries
    cdef vector[int32_t] query
    cdef vector[double] label
    cdef vector[uint8_t] documents
    cdef vector[int64_t] document_offsets
    cdef vector[int64_t] line_of
    cdef bint nameless  # a line without a document has been met

    def __cinit__(self):
        self.grammar = "letor_line"
        self.queries.set_seed(new_seed())
        self.document_offsets.assign(1, 0)

    cdef int scan(self, Text p, Text end) except -1 nogil:
        cdef Text q, feed, hash_sign
        cdef double label
        cdef size_t n
        while p < end:
            self.bad = p
            feed = line_feed(p, end)
            p = skip_blanks(p)
            if p[0] == c"#" or at_end(p):
                p = feed + 1
                self.number += 1
                continue
            p = read_number(p, end, &label)
            if p == NULL or not is_blank(p[0]):
                return MALFORMED
            p = skip_blanks(p)
            if p[0] != c"q" or p[1] != c"i" or p[2] != c"d" or p[3] != c":":
                return MALFORMED
            p += 4
            q = p
            p = field_end(p, end)
            hash_sign = <Text> memchr(q, c"#", feed - q)
            if hash_sign != NULL and hash_sign < p:
                p = hash_sign
            n = p - q
            if n == 0:
                return MALFORMED
            self.number += 1
            self.query.push_back(row_of(self.queries, self.query, q, n))
            self.label.push_back(label)
            self.line_of.push_back(self.number)
            self.content += 1
            if not self.nameless:
                self.nameless = hash_sign == NULL or not self.keep_name(hash_sign + 1, end)
            p = feed + 1
        return FINE

    cdef bint keep_name(self, Text p, Text end) except -1 nogil:
        """Take X of a comment `docid = X`; false if there is none."""
        cdef Text name
        p = skip_blanks(p)
        if p[0] != c"d" or p[1] != c"o" or p[2] != c"c" or p[3] != c"i" or p[4] != c"d":
            return False
        p = skip_blanks(p + 5)
        if p[0] != c"=":
            return False
        name = skip_blanks(p + 1)
        p = field_end(name, end)
        if p == name:
            return False
        self.documents.insert(self.documents.end(), name, p)
        self.document_offsets.push_back(<int64_t> self.documents.size())
        return True

    def finish(self):
        from calipers.native.columns import Labels

        self.close()
        named = self.content > 0 and not self.nameless
        return Labels(
            queries=ids_of(self.queries.data, self.queries.offsets),
            query=int32s(self.query),
            label=doubles(self.label),
            documents=ids_of(self.documents, self.document_offsets) if named else None,
            line=int64s(self.line_of),
        )


cdef class NumberScanner(Lines):
    """A file with one score per line."""

    cdef vector[double] value

    def __cinit__(self):
        self.grammar = "number_line"

    cdef int scan(self, Text p, Text end) except -1 nogil:
        cdef double value
        while p < end:
            self.bad = p
            if p[0] == c"#":
                p = line_feed(p, end) + 1
                self.number += 1
                continue
            p = skip_blanks(p)
            if not at_end(p):
                p = read_number(p, end, &value)
                if p == NULL:
                    return MALFORMED
                p = skip_blanks(p)
                if not at_end(p):
                    return MALFORMED
                self.value.push_back(value)
                self.content += 1
            p = after_end(p)
            self.number += 1
        return FINE

    def finish(self):
        self.close()
        return doubles(self.value)


# ------------------------------------------------------------------------------- a run against the judgments


cdef class JudgedIndex:
    """Judged queries and documents, found by their ids. Built once, read by any number of scanners and threads.

    The documents of query q are the rows offsets[q]:offsets[q + 1]; an id that occurs twice is found at its first row.
    """

    cdef Judged judged

    def __cinit__(self, queries, offsets, documents):
        cdef Borrowed query_data = Borrowed(queries.data, "uint8")
        cdef Borrowed query_offsets = Borrowed(queries.offsets, "int64")
        cdef Borrowed parts = Borrowed(offsets, "int64")
        cdef Borrowed data = Borrowed(documents.data, "uint8")
        cdef Borrowed document_offsets = Borrowed(documents.offsets, "int64")
        cdef const int64_t* query_cuts = <const int64_t*> query_offsets.view.buf
        cdef const int64_t* document_cuts = <const int64_t*> document_offsets.view.buf
        cdef const int64_t* part_cuts = <const int64_t*> parts.view.buf
        cdef cbool distinct
        if not cuts(query_cuts, query_offsets.count, query_data.count):
            raise ValueError("the ids of the queries are damaged")
        if not cuts(document_cuts, document_offsets.count, data.count):
            raise ValueError("the ids of the documents are damaged")
        if parts.count != query_offsets.count or not cuts(part_cuts, parts.count, document_offsets.count - 1):
            raise ValueError("offsets do not cut the documents into one part per query")
        if document_offsets.count >= 2**31 or query_offsets.count >= 2**31:
            raise ValueError("too many judgments: rows are counted in 32 bits")
        cdef uint64_t seed = new_seed()
        with nogil:
            distinct = self.judged.build(
                <Text> query_data.view.buf, query_cuts, query_offsets.count - 1, part_cuts,
                <Text> data.view.buf, document_cuts, document_offsets.count - 1, seed,
            )
        if not distinct:
            raise ValueError("a query occurs twice")

    def __len__(self):
        return self.judged.queries.size()

    @property
    def distinct(self):
        """Whether no query has a document twice."""
        return self.judged.distinct

    def query(self, bytes identifier not None):
        """The row of a query, -1 if it is not judged."""
        return self.judged.queries.find(<Text> PyBytes_AsString(identifier), PyBytes_Size(identifier))

    def find(self, Py_ssize_t query, bytes identifier not None):
        """The row of a document among all judged documents, -1 if this query has no judgment of it."""
        cdef Text id = <Text> PyBytes_AsString(identifier)
        cdef size_t n = PyBytes_Size(identifier)
        if not 0 <= query < <Py_ssize_t> self.judged.queries.size():
            raise IndexError(query)
        return self.judged.find(query, id, n, hash_id(id, n, self.judged.seed))


cdef class RunScanner(Lines):
    """A run against the judgments: keeps the judged documents and where they rank.

    `depth` keeps that many documents per query, the first in trec_eval's order; 0 keeps all. Scores are compared in
    `precision`. Without `regroup` a judged query that comes back after another one sets `scattered`, and the rest of
    the run is ignored: scan again with `regroup`, which takes any order and holds the judged queries in memory.
    """

    cdef JudgedIndex index
    cdef size_t depth
    cdef bint single, regroup, is_scattered
    cdef bytes tag
    cdef int64_t query  # of the line before: its row, -1 if unjudged
    cdef vector[uint8_t] name  # its bytes
    cdef vector[uint8_t] seen  # by query: whether a line of it has been met
    cdef OfQuery judged  # the judged documents of that query
    cdef List documents  # those of the run
    cdef shared_ptr[Bins] bins  # instead, to regroup
    cdef size_t share, shares  # which of its queries this scanner ranks at the end
    cdef IdTable unjudged
    cdef vector[int32_t] out_query, out_length, out_tied
    cdef vector[int64_t] out_offsets
    cdef vector[Row] out_rows
    cdef vector[int64_t] out_tie_offsets
    cdef vector[Tie] out_ties

    # Lines of one query start alike up to the document, and most runs end alike after the score.
    cdef uint8_t[MEMO] head
    cdef uint8_t[MEMO] rest
    cdef size_t head_length, rest_length

    # The document that is there twice.
    cdef Text document
    cdef size_t document_length

    def __cinit__(self, JudgedIndex index not None, *, depth=0, precision="double", bint regroup=False):
        if depth < 0:
            raise ValueError("depth is 0 (all) or more")
        self.grammar = "run_line"
        self.index = index
        self.depth = min(depth, 2**31)
        self.single = is_single(precision)
        self.regroup = regroup
        self.tag = b""
        self.query = -1
        self.seen.assign(index.judged.queries.size(), 0)
        self.unjudged.set_seed(index.judged.seed)
        self.out_offsets.assign(1, 0)
        self.out_tie_offsets.assign(1, 0)
        self.bins = make_shared[Bins]()
        self.shares = 1

    @property
    def scattered(self):
        return self.is_scattered

    cdef object twice(self):
        document = PyBytes_FromStringAndSize(<const char*> self.document, self.document_length)
        return duplicate(document, PyBytes_FromStringAndSize(<const char*> self.name.data(), self.name.size()))

    cdef int scan(self, Text p, Text end) except -1 nogil:
        cdef Text name, document, stop, rest
        cdef double score
        cdef uint64_t hash
        cdef size_t n
        cdef uint64_t seed = self.index.judged.seed
        cdef Bins* bins = self.bins.get()
        while p < end:
            self.bad = p
            if p[0] == c"#":
                p = line_feed(p, end) + 1
                self.number += 1
                continue
            name = stop = NULL
            n = self.head_length
            if n and <size_t> (end - p) > n and p[n] > c" " and memcmp(p, self.head, n) == 0:
                document = p + n
            else:
                name = skip_blanks(p)
                if at_end(name):
                    p = after_end(name)
                    self.number += 1
                    continue
                stop = field_end(name, end)
                p = skip_blanks(stop)
                if at_end(p):
                    return MALFORMED
                p = skip_blanks(field_end(p, end))
                if at_end(p):
                    return MALFORMED
                document = p
            p = field_end(document, end)
            n = p - document
            p = skip_blanks(p)
            if at_end(p):
                return MALFORMED
            p = skip_blanks(field_end(p, end))
            p = read_number(p, end, &score)
            if p == NULL or not is_blank(p[0]):
                return MALFORMED
            if self.rest_length and <size_t> (end - p) >= self.rest_length and (
                memcmp(p, self.rest, self.rest_length) == 0
            ):
                p += self.rest_length
            else:
                rest = p
                p = self.tag_of(p, end)
                if p == NULL:
                    return MALFORMED
                self.rest_length = 0
                if p - rest <= MEMO:
                    self.rest_length = p - rest
                    memcpy(self.rest, rest, p - rest)
            if self.single:
                score = <double> <float> score + 0.0
            if name != NULL:
                if not self.same_query(name, stop - name) and self.change_query(name, stop - name):
                    return FINE
                self.head_length = 0
                if document - self.bad <= MEMO:
                    self.head_length = document - self.bad
                    memcpy(self.head, self.bad, document - self.bad)
            if self.query >= 0:
                if self.regroup:
                    bins.add(self.query, document, n, self.number + 1, score)
                else:
                    hash = hash_id(document, n, seed)
                    if not self.documents.add(document, n, hash, score, self.judged.find(document, n, hash)):
                        self.document = document
                        self.document_length = n
                        return TWICE
            self.number += 1
            self.content += 1
        return FINE

    def feed_rows(self, queries, query, documents, score):
        """Take rows that are columns already: numbers of `queries`, documents, scores. A row counts as a line."""
        cdef Borrowed names = Borrowed(queries.data, "uint8")
        cdef Borrowed name_cuts = Borrowed(queries.offsets, "int64")
        cdef Borrowed codes = Borrowed(query, "int32")
        cdef Borrowed data = Borrowed(documents.data, "uint8")
        cdef Borrowed data_cuts = Borrowed(documents.offsets, "int64")
        cdef Borrowed scores = Borrowed(score, "float64")
        cdef Text name = <Text> names.view.buf
        cdef Text text = <Text> data.view.buf
        cdef const int64_t* name_cut = <const int64_t*> name_cuts.view.buf
        cdef const int64_t* cut = <const int64_t*> data_cuts.view.buf
        cdef const int32_t* code = <const int32_t*> codes.view.buf
        cdef const double* value = <const double*> scores.view.buf
        cdef int outcome
        cdef bint fine = codes.count == scores.count and data_cuts.count == scores.count + 1 and self.tail.empty()
        if not fine or cut[0] != 0 or not cuts(name_cut, name_cuts.count, names.count):
            raise ValueError("the columns do not fit together, or a line is not finished")
        self.enter()
        try:
            if self.deaf:
                return
            with nogil:
                outcome = self.take_rows(name, name_cut, name_cuts.count - 1, code, text, cut, data.count, value,
                                         scores.count)
            if outcome == MALFORMED:
                self.settle()
                raise ValueError("a query or a document that is not there, or a score that is NaN")
            if outcome != FINE:
                self.refuse(outcome)
        except BaseException:
            self.closed = True
            raise
        finally:
            self.busy = False

    cdef int take_rows(self, Text name, const int64_t* name_cut, int64_t names, const int32_t* code, Text text,
                       const int64_t* cut, int64_t size, const double* value, size_t count) except -1 nogil:
        cdef uint64_t seed = self.index.judged.seed
        cdef int64_t before = self.number
        cdef int32_t now
        cdef size_t i = 0, stop, n, added
        cdef int outcome = FINE
        self.head_length = 0
        while i < count and outcome == FINE:
            now = code[i]
            if not 0 <= now < names:
                outcome = MALFORMED
                break
            n = name_cut[now + 1] - name_cut[now]
            if not self.same_query(name + name_cut[now], n) and self.change_query(name + name_cut[now], n):
                break
            stop = i
            while stop < count and code[stop] == now and cut[stop] <= cut[stop + 1] <= size and value[stop] == value[stop]:
                stop += 1
            if stop < count and code[stop] == now:
                outcome = MALFORMED  # unless an earlier row is refused
            added = stop - i
            if self.query >= 0 and self.regroup:
                self.keep_rows(text, cut + i, value + i, added, before + <int64_t> i)
            elif self.query >= 0:
                added = self.documents.add_rows(self.judged, seed, text, cut + i, value + i, added, self.single)
                if i + added < stop:
                    stop = i + added
                    self.document = text + cut[stop]
                    self.document_length = cut[stop + 1] - cut[stop]
                    outcome = TWICE
            self.content += added
            i += added
            self.number = before + <int64_t> i
        return outcome

    cdef int keep_rows(self, Text text, const int64_t* cut, const double* value, size_t count,
                       int64_t before) except -1 nogil:
        cdef Bins* bins = self.bins.get()
        cdef size_t i
        for i in range(count):
            bins.add(self.query, text + cut[i], cut[i + 1] - cut[i], before + <int64_t> i + 1,
                     (<double> <float> value[i] if self.single else value[i]) + 0.0)
        return 0

    cdef Text tag_of(self, Text p, Text end) except? NULL nogil:
        """Where the next line starts; NULL unless exactly one field is left in this one."""
        cdef Text tag = skip_blanks(p)
        if at_end(tag):
            return NULL
        p = field_end(tag, end)
        if self.content == 0:
            with gil:
                self.tag = PyBytes_FromStringAndSize(<const char*> tag, p - tag)
        p = skip_blanks(p)
        return after_end(p) if at_end(p) else NULL

    cdef bint same_query(self, Text name, size_t n) noexcept nogil:
        return self.content > 0 and self.name.size() == n and memcmp(self.name.data(), name, n) == 0

    cdef bint change_query(self, Text name, size_t n) except -1 nogil:
        """Go on to another query; true if that ends the scan, because the query was there before."""
        if not self.regroup and self.query >= 0:
            self.close_query()
        self.name.assign(name, name + n)
        self.query = self.index.judged.queries.find(name, n)
        if self.query < 0:
            self.unjudged.add(name, n)
        elif self.seen[self.query]:
            self.is_scattered = True
            self.deaf = not self.regroup
            self.query = self.query if self.regroup else -1
        else:
            self.seen[self.query] = 1
            if not self.regroup:
                self.judged = self.index.judged.of_query(self.query)
                self.documents.clear()
        return self.deaf

    cdef int close_query(self) except -1 nogil:
        cdef Summary summary = self.documents.rank(self.depth, self.out_rows, self.out_ties)
        self.out_query.push_back(<int32_t> self.query)
        self.out_length.push_back(summary.length)
        self.out_tied.push_back(summary.tied)
        self.out_offsets.push_back(<int64_t> self.out_rows.size())
        self.out_tie_offsets.push_back(<int64_t> self.out_ties.size())
        return 0

    cdef int settle(self) except -1:
        # Regrouping looks for duplicates last, but the first error of the file is the one to report.
        return self.empty_bins(False) if self.regroup else 0

    cdef int empty_bins(self, bint rank) except -1:
        """Rank the regrouped queries, or only look for documents that are there twice."""
        cdef size_t i
        cdef int64_t line, earliest = 0, query = 0
        cdef Text document = NULL
        cdef size_t n = 0
        cdef Bins* bins = self.bins.get()
        cdef size_t count = bins.order.size()
        with nogil:
            for i in range(count * self.share // self.shares, count * (self.share + 1) // self.shares):
                self.query = bins.order[i]
                line = fill(self.documents, bins[0], self.index.judged, self.query, &document, &n)
                if line and (not earliest or line < earliest):
                    earliest, query = line, self.query
                    self.document, self.document_length = document, n
                if rank and not earliest:
                    self.close_query()
        if earliest:
            name = self.index.judged.queries.data.data() + self.index.judged.queries.offsets[query]
            stop = self.index.judged.queries.data.data() + self.index.judged.queries.offsets[query + 1]
            self.name.assign(name, stop)
            raise ScanError(self.twice(), earliest)
        return 0

    def absorb(self, RunScanner later not None):
        """Take over the lines of a scanner that read what follows; both regroup, and both have read whole lines."""
        cdef size_t i
        cdef int64_t start
        if not (self.regroup and later.regroup) or later is self or later.index is not self.index:
            raise ValueError("only scanners that regroup for one index can be put together")
        if not self.tail.empty():
            raise ValueError("the first part ends within a line")
        self.enter()
        try:
            later.close()
            self.is_scattered |= later.is_scattered
            for i in range(self.seen.size()):
                self.is_scattered |= self.seen[i] and later.seen[i]
                self.seen[i] |= later.seen[i]
            for i in range(later.unjudged.size()):
                start = later.unjudged.offsets[i]
                self.unjudged.add(later.unjudged.data.data() + start, later.unjudged.offsets[i + 1] - start)
            self.bins.get().append(later.bins.get()[0], self.number)
            if not self.content:
                self.tag = later.tag
            self.number += later.number
            self.content += later.content
            self.head_length = self.rest_length = 0
            self.name.clear()
        finally:
            self.busy = False

    def split(self, size_t count):
        """Scanners with equal shares of the queries, to finish instead of this one: their results in a row are its own."""
        cdef RunScanner other
        if not self.regroup or not count:
            raise ValueError("only a scanner that regroups can be split")
        self.close()
        others = []
        for i in range(count):
            other = RunScanner(self.index, depth=self.depth, precision="single" if self.single else "double", regroup=True)
            other.bins, other.share, other.shares = self.bins, i, count
            other.tag, other.is_scattered = self.tag, self.is_scattered
            other.number, other.content = self.number, self.content
            if i == 0:
                other.unjudged = self.unjudged
            others.append(other)
        return others

    def finish(self):
        """Rank the last query, or all queries that were regrouped, and hand over the lists."""
        from calipers.native.columns import Retrieved, TieSpans

        self.close()
        if self.regroup:
            self.empty_bins(True)
        elif self.query >= 0:
            self.close_query()
        ties = array_of(self.out_ties.data(), self.out_ties.size(), sizeof(Tie), "int32,int32")
        rows = array_of(
            self.out_rows.data(), self.out_rows.size(), sizeof(Row),
            "float64,int32,int32,int32,int32,int32,int32",  # the last one is padding
        )
        document, first, last, docid_rank, input_rank = (
            numpy.ascontiguousarray(rows[f"f{i}"]) for i in range(1, 6)
        )
        return Retrieved(
            query=int32s(self.out_query),
            length=int32s(self.out_length),
            tied=int32s(self.out_tied),
            offsets=int64s(self.out_offsets),
            document=document,
            score=numpy.ascontiguousarray(rows["f0"]),
            first=first,
            last=last,
            docid_rank=docid_rank,
            input_rank=input_rank,
            all_ties=TieSpans(
                int64s(self.out_tie_offsets), *(numpy.ascontiguousarray(ties[name]) for name in ("f0", "f1"))
            ),
            tag=self.tag,
            unjudged=ids_of(self.unjudged.data, self.unjudged.offsets),
            scattered=self.is_scattered,
        )


# ----------------------------------------------------------------------------------------------------- arrays


def rank_segments(score, offsets):
    """Rows of each segment by score descending, input order inside ties, and the ranks that each one's tie spans."""
    cdef Borrowed scores = Borrowed(score, "float64")
    cdef Borrowed parts = Borrowed(offsets, "int64")
    cdef const double* value = <const double*> scores.view.buf
    cdef const int64_t* part = <const int64_t*> parts.view.buf
    cdef size_t i
    if not cuts(part, parts.count, scores.count):
        raise ValueError("offsets do not cut the scores into segments")
    order = numpy.empty(scores.count, "int64")
    first = numpy.empty(scores.count, "int32")
    last = numpy.empty(scores.count, "int32")
    cdef Borrowed orders = Borrowed(order, "int64", True)
    cdef Borrowed firsts = Borrowed(first, "int32", True)
    cdef Borrowed lasts = Borrowed(last, "int32", True)
    cdef int64_t* to_order = <int64_t*> orders.view.buf
    cdef int32_t* to_first = <int32_t*> firsts.view.buf
    cdef int32_t* to_last = <int32_t*> lasts.view.buf
    cdef Sorter sorter
    cdef bint missing = False
    with nogil:
        for i in range(scores.count):
            missing |= value[i] != value[i]
        if not missing:
            for i in range(parts.count - 1):
                rank_segment(sorter, value + part[i], part[i + 1] - part[i], part[i], to_order + part[i],
                             to_first + part[i], to_last + part[i])
    if missing:
        raise ValueError("a score is NaN")
    return order, first, last


def top_segments(score, offsets, Py_ssize_t depth):
    """The rows of `rank_segments` whose tie starts at rank `depth` or above, as order, first and last.

    Then where those of each segment begin, and how many rows of each whole segment have the score of another one.
    """
    cdef Borrowed scores = Borrowed(score, "float64")
    cdef Borrowed parts = Borrowed(offsets, "int64")
    cdef const double* value = <const double*> scores.view.buf
    cdef const int64_t* part = <const int64_t*> parts.view.buf
    cdef size_t i
    cdef Sorter sorter
    cdef unique_ptr[Selector] selector = make_unique[Selector](new_seed())
    cdef Top top
    cdef bint missing = False
    if depth < 1:
        raise ValueError("depth is at least 1")
    if not cuts(part, parts.count, scores.count):
        raise ValueError("offsets do not cut the scores into segments")
    with nogil:
        for i in range(scores.count):
            missing |= value[i] != value[i]
        if not missing:
            for i in range(parts.count - 1):
                top.add(sorter, selector.get()[0], value + part[i], part[i + 1] - part[i], part[i], depth)
    if missing:
        raise ValueError("a score is NaN")
    return int64s(top.order), int32s(top.first), int32s(top.last), int64s(top.offsets), int32s(top.tied)


def number_distinct(keys):
    """A number for each 64-bit key, in order of first appearance, and the place where each number appears first."""
    cdef Borrowed given = Borrowed(keys, "uint64")
    number = numpy.empty(given.count, "int64")
    cdef Borrowed numbers = Borrowed(number, "int64", True)
    cdef vector[int64_t] first
    cdef uint64_t seed = new_seed()
    with nogil:
        number_keys(<const uint64_t*> given.view.buf, given.count, seed, <int64_t*> numbers.view.buf, first)
    return number, int64s(first)


cdef class PairNumbers:
    """Numbers for pairs of a group and an id, in order of first appearance."""

    cdef PairTable pairs
    cdef bint busy

    def __cinit__(self):
        self.pairs.set_seed(new_seed())

    def number(self, group, ids):
        """The number of each row's pair, and the first row, if any, whose pair an earlier row of this call has."""
        cdef Borrowed groups = Borrowed(group, "int32")
        cdef Borrowed data = Borrowed(ids.data, "uint8")
        cdef Borrowed offsets = Borrowed(ids.offsets, "int64")
        cdef const int64_t* cut = <const int64_t*> offsets.view.buf
        cdef const int32_t* of = <const int32_t*> groups.view.buf
        cdef size_t again, row
        cdef bint fits = offsets.count == groups.count + 1 and cuts(cut, offsets.count, data.count)
        for row in range(groups.count if fits else 0):
            fits &= of[row] >= 0
        if not fits:
            raise ValueError("the ids are damaged, or not one per group")
        if self.busy:
            raise RuntimeError("pairs are numbered by one thread at a time")
        numbers = numpy.empty(groups.count, "int32")
        cdef Borrowed number = Borrowed(numbers, "int32", True)
        self.busy = True
        try:
            with nogil:
                again = self.pairs.number(of, <Text> data.view.buf, cut, groups.count, <int32_t*> number.view.buf)
        finally:
            self.busy = False
        return numbers, None if again == groups.count else again

    def pairs_so_far(self):
        """The group and the id of each number."""
        cdef vector[int32_t] group
        cdef vector[uint8_t] data
        cdef vector[int64_t] offsets
        self.pairs.split(group, data, offsets)
        return int32s(group), ids_of(data, offsets)


def symmetric_means(size, start, members, stop, Py_ssize_t depth):
    """Row by row for each group: q_j for j = 0 to depth, the mean of the product of (1 - stop) over j of its documents.

    A group has `size` documents, of which `members`, from row `start` on, have a stop probability; the others 0.
    """
    cdef Borrowed sizes = Borrowed(size, "int64")
    cdef Borrowed starts = Borrowed(start, "int64")
    cdef Borrowed counts = Borrowed(members, "int64")
    cdef Borrowed stops = Borrowed(stop, "float64")
    cdef const int64_t* whole = <const int64_t*> sizes.view.buf
    cdef const int64_t* first = <const int64_t*> starts.view.buf
    cdef const int64_t* count = <const int64_t*> counts.view.buf
    cdef const double* chance = <const double*> stops.view.buf
    cdef size_t group, groups = sizes.count
    cdef bint fits = starts.count == groups and counts.count == groups and depth >= 0
    cdef int64_t member, j
    cdef double documents, passing, share
    for group in range(groups if fits else 0):
        fits &= 0 <= first[group] and 0 <= count[group] <= <int64_t> stops.count - first[group]
        fits &= count[group] <= whole[group]
    if not fits:
        raise ValueError("the groups do not fit the stop probabilities")
    through = numpy.empty(groups * (depth + 1))
    cdef Borrowed means = Borrowed(through, "float64", True)
    cdef double* mean = <double*> means.view.buf
    with nogil:
        for group in range(groups):
            documents = <double> (whole[group] - count[group])
            for j in range(depth + 1):
                mean[j] = 1.0 if j <= documents else 0.0
            for member in range(first[group], first[group] + count[group]):
                documents += 1.0
                passing = 1.0 - chance[member]
                for j in range(depth, 0, -1):
                    share = <double> j / documents
                    mean[j] = (1.0 - share if share < 1.0 else 0.0) * mean[j] + share * passing * mean[j - 1]
            mean += depth + 1
    return through.reshape(groups, depth + 1)


def shared_bits(one, other):
    """[row of one, row of other]: how many bits two rows have in common; both are arrays of 64-bit words.

    Where both are the same array, each two rows are compared once.
    """
    if one.ndim != 2 or other.ndim != 2 or one.shape[1] != other.shape[1]:
        raise ValueError("expected two matrices with rows of one length")
    cdef size_t ones = one.shape[0], others = other.shape[0], words = one.shape[1]
    cdef Borrowed first = Borrowed(numpy.ascontiguousarray(one).reshape(-1), "uint64")
    cdef Borrowed second = first if other is one else Borrowed(numpy.ascontiguousarray(other).reshape(-1), "uint64")
    found = numpy.empty(ones * others, "int64")
    cdef Borrowed counts = Borrowed(found, "int64", True)
    with nogil:
        count_shared(
            <const uint64_t*> first.view.buf, ones, <const uint64_t*> second.view.buf, others, words,
            <int64_t*> counts.view.buf,
        )
    return found.reshape(ones, others)


def count_patterns(better, worse, counts):
    """Add up the patterns of signs over each pair of a better and a worse document: [list, document] numbers each.

    A sign is 1 where a list gives the better document the smaller number, -1 the larger, 0 the same; the pattern s is
    counted at the middle of `counts`, 3^lists long and of 32 or 64 bits, plus the sum of s_i 3^i. Numbers are not
    negative.
    """
    cdef size_t lists = better.shape[0], betters = better.shape[1], worses = worse.shape[1]
    if worse.shape[0] != lists or lists > 10 or <size_t> len(counts) != <size_t> 3**lists:
        raise ValueError("expected at most ten lists, and a place for each of their patterns")
    cdef Borrowed first = Borrowed(numpy.ascontiguousarray(better).reshape(-1), "int16")
    cdef Borrowed second = Borrowed(numpy.ascontiguousarray(worse).reshape(-1), "int16")
    cdef bint short = counts.dtype == "int32"
    cdef Borrowed found = Borrowed(counts, "int32" if short else "int64", True)
    if first.view.itemsize != 2 or second.view.itemsize != 2 or found.view.itemsize != (4 if short else 8):
        raise ValueError("expected numbers of 16 bits, and counts of 32 or 64")
    with nogil:
        if short:
            add_patterns[int32_t](
                <const int16_t*> first.view.buf, betters, <const int16_t*> second.view.buf, worses, lists,
                <int32_t*> found.view.buf,
            )
        else:
            add_patterns[int64_t](
                <const int16_t*> first.view.buf, betters, <const int16_t*> second.view.buf, worses, lists,
                <int64_t*> found.view.buf,
            )


def pattern_bits(counts):
    """What counted patterns tell: the sum over s of c(s) lg(2 c(s) / (c(s) + c(-s))), c(0) being in the middle."""
    cdef bint short = counts.dtype == "int32"
    cdef Borrowed known = Borrowed(counts, "int32" if short else "int64")
    cdef size_t size = len(counts)
    cdef double bits
    if size % 2 == 0:
        raise ValueError("expected a count for each pattern and for its opposite")
    with nogil:
        if short:
            bits = bits_of_patterns[int32_t](<const int32_t*> known.view.buf, size)
        else:
            bits = bits_of_patterns[int64_t](<const int64_t*> known.view.buf, size)
    return bits


def order_bits(better, worse, missing):
    """Which pairs of a better and a worse document each list has in the right order, and which tied.

    [list, document] numbers of 16 bits each, of which the smaller one stands above; what is not in the list has the
    number `missing`, the largest. Two arrays of 64-bit words, [list, word]: one bit for each pair, the same in both.
    """
    cdef size_t lists = check_sides(better, worse), betters = better.shape[1], worses = worse.shape[1]
    cdef int16_t absent = missing
    cdef Borrowed first = Borrowed(numpy.ascontiguousarray(better).reshape(-1), "int16")
    cdef Borrowed second = Borrowed(numpy.ascontiguousarray(worse).reshape(-1), "int16")
    found = [numpy.empty(lists * betters * ((worses + 63) // 64), "uint64") for _ in range(2)]
    cdef Borrowed above = Borrowed(found[0], "uint64", True)
    cdef Borrowed tied = Borrowed(found[1], "uint64", True)
    with nogil:
        compare_orders(
            <const int16_t*> first.view.buf, betters, <const int16_t*> second.view.buf, worses, lists, absent,
            <uint64_t*> above.view.buf, <uint64_t*> tied.view.buf,
        )
    return tuple(each.reshape(lists, betters * ((worses + 63) // 64)) for each in found)


def one_sided_pairs(better, worse, missing):
    """[list, other list]: the pairs that a list has in the right order, of whose documents the other list shows
    neither; those that it ties count half. Numbers as for `order_bits`.
    """
    cdef size_t lists = check_sides(better, worse), betters = better.shape[1], worses = worse.shape[1]
    if betters * worses >= <size_t> 1 << 31:
        raise ValueError("expected fewer pairs")
    cdef int16_t absent = missing
    cdef Borrowed first = Borrowed(numpy.ascontiguousarray(better).reshape(-1), "int16")
    cdef Borrowed second = Borrowed(numpy.ascontiguousarray(worse).reshape(-1), "int16")
    found = numpy.empty(lists * lists, "int64")
    cdef Borrowed counts = Borrowed(found, "int64", True)
    with nogil:
        count_one_sided(
            <const int16_t*> first.view.buf, betters, <const int16_t*> second.view.buf, worses, lists, absent,
            <int64_t*> counts.view.buf,
        )
    return found.reshape(lists, lists) / 2


cdef size_t check_sides(better, worse) except? 0:
    """How many lists there are: the same number on both sides."""
    if better.ndim != 2 or worse.ndim != 2 or len(better) != len(worse):
        raise ValueError("expected the numbers of as many lists")
    if better.dtype != "int16" or worse.dtype != "int16":
        raise ValueError("expected numbers of 16 bits")
    return len(better)


def sort_by_votes(start, offsets, rank, weight, double needed, grade=None, bint share=False, bint half_stays=False):
    """The rows of each segment, given in the order `start`, by a stable merge sort whose comparator is a vote.

    rank: [row, run], the smaller the better, of which 16 or 32 bits are read. Without grades the second of two rows
    goes first where the runs that want it so weigh more than `needed` more than the others. With grades it does where
    runs of at least `needed` weight want it so and such a weight does not want the opposite; where both or neither is
    so, by grade. share: `needed` is a share of the weight of the runs that have a say on the two rows. half_stays:
    where both is so, the first stays first.
    """
    order = numpy.array(start, "int64")
    ends = numpy.ascontiguousarray(offsets, "int64")
    ranks = numpy.ascontiguousarray(rank, rank.dtype if rank.dtype in ("uint16", "uint32") else "uint32")
    cdef Borrowed bounds = Borrowed(ends, "int64")
    if (ranks.ndim != 2 or len(ranks) != len(order) or ranks.shape[1] != len(weight)
            or not cuts(<const int64_t*> bounds.view.buf, bounds.count, len(order))
            or (order < 0).any() or (order >= len(order)).any() or (grade is not None and len(grade) != len(order))):
        raise ValueError("rows, segments, ranks, weights and grades do not fit each other")
    cdef Borrowed rows = Borrowed(order, "int64", True)
    cdef Borrowed votes = Borrowed(ranks.reshape(-1), str(ranks.dtype))
    cdef Borrowed weights = Borrowed(numpy.ascontiguousarray(weight, "float64"), "float64")
    cdef Borrowed grades = None
    cdef const double* worth = NULL
    if grade is not None:
        grades = Borrowed(numpy.ascontiguousarray(grade, "float64"), "float64")
        worth = <const double*> grades.view.buf
    cdef size_t segments = len(ends) - 1, runs = ranks.shape[1]
    cdef bint short = ranks.dtype == "uint16"
    with nogil:
        if short:
            sort_rows[uint16_t](
                <int64_t*> rows.view.buf, <const int64_t*> bounds.view.buf, segments, <const uint16_t*> votes.view.buf,
                <const double*> weights.view.buf, runs, needed, worth, share, half_stays,
            )
        else:
            sort_rows[uint32_t](
                <int64_t*> rows.view.buf, <const int64_t*> bounds.view.buf, segments, <const uint32_t*> votes.view.buf,
                <const double*> weights.view.buf, runs, needed, worth, share, half_stays,
            )
    return order


def bits_of_groups(sides, groups, missing):
    """What the patterns of each group of at most ten lists tell, in bits: [group].

    sides: pairs of [list, document] numbers of 16 bits, those of better documents and those of worse ones, as for
    `count_patterns`; what is not in a list has the number `missing`. groups: [group, member] places of lists.
    """
    chosen = numpy.ascontiguousarray(groups, "int64")
    if chosen.ndim != 2 or chosen.shape[1] > 10:
        raise ValueError("expected groups of at most ten lists")
    cdef vector[Sides] both
    cdef Sides one
    cdef Borrowed first, second
    cdef size_t total = 0, count = chosen.shape[0], lists = chosen.shape[1]
    cdef int16_t absent = missing
    held = []
    for better, worse in sides:
        if better.ndim != 2 or worse.ndim != 2 or len(better) != len(worse) or not all_places(chosen, len(better)):
            raise ValueError("expected the numbers of all lists of the groups")
        first = Borrowed(numpy.ascontiguousarray(better).reshape(-1), "int16")
        second = Borrowed(numpy.ascontiguousarray(worse).reshape(-1), "int16")
        if first.view.itemsize != 2 or second.view.itemsize != 2:
            raise ValueError("expected numbers of 16 bits")
        held.append((first, second))
        one.better, one.betters = <const int16_t*> first.view.buf, better.shape[1]
        one.worse, one.worses = <const int16_t*> second.view.buf, worse.shape[1]
        total += one.betters * one.worses
        both.push_back(one)
    found = numpy.empty(count, "float64")
    cdef Borrowed members = Borrowed(chosen.reshape(-1), "int64")
    cdef Borrowed bits = Borrowed(found, "float64", True)
    cdef cbool few = total < 2**31
    with nogil:
        if few:
            count_groups[int32_t](
                both, <const int64_t*> members.view.buf, count, lists, absent, <double*> bits.view.buf
            )
        else:
            count_groups[int64_t](
                both, <const int64_t*> members.view.buf, count, lists, absent, <double*> bits.view.buf
            )
    return found


def all_places(numbers, size):
    """Whether all of these are places of something of that size."""
    return not numbers.size or (numbers.min() >= 0 and numbers.max() < size)


def rank_documents(dict scores, list names, Py_ssize_t start, Py_ssize_t end, precision):
    """Of one query's {document: score}: how many there are and how many tie with another; then, for those of
    names[start:end] that are among them, their places in names, their scores, and the ranks that their ties span."""
    cdef vector[double] ranked
    cdef vector[double] score
    cdef vector[int64_t] place
    cdef vector[int64_t] first
    cdef vector[int64_t] last
    cdef Py_ssize_t i
    cdef PyObject* value = NULL
    cdef object held  # a __float__ may take it out of the dict
    cdef double number
    cdef int64_t count, worse, tied = 0, run = 1
    cdef bint falling = True, single = is_single(precision)
    if not 0 <= start <= end <= len(names):
        raise ValueError("these are not places in the names")
    ranked.reserve(len(scores))
    for held in list(scores.values()):
        number = PyFloat_AsDouble(held)
        if not isfinite(number):
            raise ValueError("not finite")
        number = rounded(number, single)
        falling = falling and (ranked.empty() or number <= ranked.back())
        ranked.push_back(number)
    count = ranked.size()
    if falling:
        reverse(ranked.begin(), ranked.end())
    else:
        sort(ranked.begin(), ranked.end())
    for i in range(1, count + 1):
        if i < count and ranked[i] == ranked[i - 1]:
            run += 1
        else:
            tied += run if run > 1 else 0
            run = 1
    place.reserve(end - start)
    score.reserve(end - start)
    for i in range(start, end):
        value = PyDict_GetItemWithError(scores, names[i])
        if value != NULL:
            held = <object> value
            number = rounded(PyFloat_AsDouble(held), single)
            place.push_back(i)
            score.push_back(number)
            worse = below(ranked.data(), count, number)
            last.push_back(count - worse)
            if worse + 1 < count and ranked[worse + 1] == number:  # a tie
                worse = upper_bound(ranked.begin() + worse, ranked.end(), number) - ranked.begin() - 1
            first.push_back(count - worse)
    return count, tied, int64s(place), doubles(score), int64s(first), int64s(last)


cdef bint is_single(precision) except -1:
    if precision not in ("double", "single"):
        raise ValueError(f"precision is 'double' or 'single', not {precision!r}")
    return precision == "single"


cdef double rounded(double number, bint single) noexcept:
    return <double> (<float> number) if single else number
