# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The features of a LETOR (SVMlight) file, compiled. What it does, `_features_plain.py` says: both give the same."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memchr, memcpy
from libcpp cimport bool as cbool
from libcpp.vector cimport vector

from calipers.collection.scan_error import BINARY, TOO_LONG, ScanError

COMPILED = True

cdef extern from "_scanner.hpp" namespace "calipers" nogil:
    cbool is_blank(uint8_t c) noexcept
    cbool is_digit(uint8_t c) noexcept
    const uint8_t* skip_blanks(const uint8_t* p) noexcept
    const uint8_t* line_feed(const uint8_t* p, const uint8_t* end) noexcept
    const uint8_t* read_number(const uint8_t* p, const uint8_t* end, double* out) except +
    struct Power:
        uint64_t bits
        int exponent

    const int kLargestPower
    Power* powers

include "_powers.pxi"

ctypedef const uint8_t* Text

cdef size_t MOST_LINE = 1 << 24
cdef int64_t LARGEST_INDEX = 2147483646

# What came of some lines.
cdef enum:
    FINE = 0
    MALFORMED = 1
    HAS_NUL = 2
    LONG = 3


cdef object array_of(const void* data, size_t count, size_t width, str dtype):
    """A new array with a copy of this memory."""
    import numpy

    cdef Py_buffer view
    array = numpy.empty(count, dtype)
    if count:
        PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)
        memcpy(view.buf, data, count * width)
        PyBuffer_Release(&view)
    return array


cdef class FeatureScanner:
    """The features of all lines.

    While every row has the features 1 to n and no other, no index is kept: a full file takes eight bytes an entry.
    """

    cdef bint busy, closed
    cdef int64_t number  # whole lines so far
    cdef int64_t content  # those that were not skipped
    cdef vector[uint8_t] text  # lines that are whole but for the last
    cdef size_t bad  # where in the text the refused line starts
    cdef vector[int64_t] start
    cdef vector[int32_t] index
    cdef vector[int32_t] row_index
    cdef vector[double] value
    cdef bint irregular
    cdef int64_t width

    def __init__(self):
        self.start.assign(1, 0)

    @property
    def lines(self):
        return self.number

    @property
    def rows(self):
        return self.content

    @property
    def idle(self):
        return False

    def feed(self, block):
        """Take the next block: any bytes-like object, cut anywhere."""
        cdef Py_buffer view
        cdef int outcome
        self.enter()
        try:
            PyObject_GetBuffer(block, &view, PyBUF_SIMPLE)
            try:
                with nogil:
                    self.text.insert(self.text.end(), <Text> view.buf, <Text> view.buf + view.len)
                    outcome = self.take()
            finally:
                PyBuffer_Release(&view)
            if outcome != FINE:
                self.refuse(outcome)
        except BaseException:
            self.closed = True
            raise
        finally:
            self.busy = False

    def finish(self):
        from calipers.collection.columns import Features

        cdef int outcome
        self.enter()
        self.closed = True
        try:
            if not self.text.empty():
                self.text.push_back(c"\n")
                with nogil:
                    outcome = self.take()
                if outcome != FINE:
                    self.refuse(outcome)
        finally:
            self.busy = False
        index = array_of(self.index.data(), self.index.size(), 4, "int32") if self.irregular else None
        return Features(
            array_of(self.start.data(), self.start.size(), 8, "int64"),
            index,
            array_of(self.value.data(), self.value.size(), 8, "float64"),
            self.width,
        )

    cdef int enter(self) except -1:
        if self.busy:
            raise RuntimeError("a scanner takes one block at a time")
        if self.closed:
            raise ValueError("this scanner is finished, or has refused a line")
        self.busy = True
        return 0

    cdef int refuse(self, int outcome) except -1:
        from calipers.collection import _features_plain

        cdef Text begin = self.text.data() + self.bad
        cdef Text end
        if outcome == HAS_NUL:
            error = ScanError(BINARY)
        elif outcome == LONG:
            error = ScanError(TOO_LONG)
        else:
            end = begin
            while end[0] != c"\n":
                end += 1
            line = PyBytes_FromStringAndSize(<const char*> begin, end - begin).removesuffix(b"\r")
            try:
                _features_plain.feature_line(line)
            except ScanError as said:
                error = said
            else:
                raise AssertionError(f"the two scanners disagree about {line!r}")
        error.line = self.number + 1
        raise error

    cdef int take(self) except -1 nogil:
        """Walk the whole lines of the text, and keep what follows them."""
        cdef Text begin = self.text.data()
        cdef Text p = begin
        cdef Text end = begin + self.text.size()
        cdef Text nul = <Text> memchr(p, 0, end - p)
        cdef Text stop = end if nul == NULL else nul
        cdef Text feed
        cdef int outcome
        if self.number == 0 and stop - p > 3 and p[0] == 0xEF and p[1] == 0xBB and p[2] == 0xBF:
            if line_feed(p, stop) != NULL:  # a byte order mark
                p += 3
        while stop > p and (stop - 1)[0] != c"\n":
            stop -= 1
        while p < stop:
            self.bad = p - begin
            feed = line_feed(p, stop)
            if <size_t> (feed - p) > MOST_LINE:
                return LONG
            outcome = self.scan(p, feed, stop)
            if outcome != FINE:
                return outcome
            self.number += 1
            p = feed + 1
        self.bad = p - begin
        if nul != NULL and <size_t> (nul - p) <= MOST_LINE:
            return HAS_NUL
        if <size_t> (end - p) > MOST_LINE:
            return LONG
        self.text.erase(self.text.begin(), self.text.begin() + (p - begin))
        return FINE

    cdef int scan(self, Text p, Text feed, Text end) except -1 nogil:
        """Take the features of the line from p to its line feed; `end` is that of all whole lines."""
        cdef Text stop = <Text> memchr(p, c"#", feed - p)
        cdef int64_t index, last = 0, count = 0
        cdef double value
        if stop == NULL:
            stop = feed
            if stop > p and (stop - 1)[0] == c"\r":
                stop -= 1
        p = skip_blanks(p)
        if p >= stop:
            return FINE
        p = self.after_field(self.after_field(p, stop), stop)  # the label and the query
        self.row_index.clear()
        while p < stop:
            index = 0
            if not is_digit(p[0]):
                return self.drop(count)
            while is_digit(p[0]) and index <= LARGEST_INDEX:
                index = 10 * index + (p[0] - c"0")
                p += 1
            if p[0] != c":" or index <= last or index > LARGEST_INDEX:
                return self.drop(count)
            p = read_number(p + 1, end, &value)
            if p == NULL or not (p == stop or is_blank(p[0])):
                return self.drop(count)
            last = index
            self.row_index.push_back(<int32_t> (index - 1))
            self.value.push_back(value)
            count += 1
            p = skip_blanks(p)
        self.keep(count, last)
        return FINE

    cdef Text after_field(self, Text p, Text stop) noexcept nogil:
        while p < stop and not is_blank(p[0]):
            p += 1
        return skip_blanks(p) if p < stop else p

    cdef int drop(self, int64_t count) noexcept nogil:
        """Forget the entries of a row that is refused."""
        self.value.resize(self.value.size() - count)
        return MALFORMED

    cdef int keep(self, int64_t count, int64_t last) except -1 nogil:
        cdef int64_t row, i
        if self.content == 0:
            self.width = count if count == last else last
        if not self.irregular and not (count == last == self.width):
            self.irregular = True  # from here on every entry has its index, so those before need theirs
            for row in range(self.content):
                for i in range(self.start[row + 1] - self.start[row]):
                    self.index.push_back(<int32_t> i)
        if last > self.width:
            self.width = last
        if self.irregular:
            self.index.insert(self.index.end(), self.row_index.begin(), self.row_index.end())
        self.content += 1
        self.start.push_back(<int64_t> self.value.size())
        return 0
