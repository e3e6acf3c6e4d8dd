# What rounding decimal numbers needs, filled once in each module that reads numbers with `_scanner.hpp`.

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
