// Scans of text that are slow in Python: counts of lines, words and strings, ends of documents, and whether text is UTF-8 in
// Normalisation Form C, plain, or double-encoded.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile only the scans, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../_python.hpp"
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "../_compiler.hpp"
#include "../_double_encoding.hpp"
#include "../_hashes.hpp"
#include "../_utf8.hpp"
#include "../_words.hpp"
#include "_nfc.hpp"

namespace corpusfmt {
namespace {

// What is known of code points, and which characters need a closer look: by both bytes, or the last of three by the first two.
struct Known {
    std::vector<uint8_t> kinds = std::vector<uint8_t>(0x20000, kUnknown), odd_of_two = std::vector<uint8_t>(0x10000, 1);
    std::vector<uint64_t> odd_of_three = std::vector<uint64_t>(0x1000, ~uint64_t{});

    Known() {
        const auto fill = [&, at = size_t{0}](const Range& range) mutable {
            std::fill_n(kinds.begin() + static_cast<ptrdiff_t>(at += range.skipped), range.length, range.kind);
            at += range.length;
        };
        std::for_each(std::begin(kLetters), std::end(kLetters), fill);
        std::for_each(std::begin(kOthers), std::end(kOthers), fill);
        for (uint32_t point = 0xA0; point < 0x10000; ++point) {  // controls of C1 are before
            if (kinds[point] > kFirst) continue;
            if (point < 0x800) odd_of_two[(point & 0x3F) << 8 | 0x80C0 | point >> 6] = 0;
            else odd_of_three[(point >> 12) << 8 | 0x80 | (point >> 6 & 0x3F)] ^= uint64_t{1} << (point & 0x3F);
        }
    }
};

// Whether a code point is NFC after another, from what they are. If not, that is undecided.
constexpr bool may_follow(uint8_t before, uint8_t kind) {
    if (kind == kSecond) return before != kFirst;
    if (kind == kSecondMark || kind == kMark) return before <= kSecond && (before != kFirst || kind == kMark);
    return kind <= kFirst || (kind != kUnknown && before <= kind);  // classes are in order
}

// The kind of a character and its length, which is 0 if it is not UTF-8.
inline std::pair<uint8_t, ptrdiff_t> character_at(const unsigned char* at, const unsigned char* end, const Known& known) {
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    const ptrdiff_t length = *at < 0x80 ? 1 : *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
    if (is_continuation(*at) || *at > 0xF4 || end - at < length || !std::all_of(at + 1, at + length, is_continuation)) return {kUnknown, 0};
    const uint32_t point = next_point(at);
    if (point < kLeast[length] || point >> 11 == 0x1B || point > 0x10FFFF) return {kUnknown, 0};
    return {point < known.kinds.size() ? known.kinds[point] : kUnknown, length};
}

constexpr ptrdiff_t kBlock = 64;

// Skips blocks of printable ASCII, tabs and LFs.
CORPUSFMT_WIDE const unsigned char* after_plain(const unsigned char* at, const unsigned char* end) {
    for (; end - at >= kBlock; at += kBlock) {
        unsigned char any = 0;
        for (ptrdiff_t place = 0; place < kBlock; ++place) any |= (is_within(at[place], 0x20, 0x7F) + is_within(at[place], '\t', '\n')) ^ 1;
        if (any) break;
    }
    return at;
}

// Which characters of a block need a closer look, as bits: those that are not UTF-8, printable, and NFC after the one before. The
// block begins with a character; `size` is where its last one ends.
inline uint64_t odd_ones(const unsigned char* at, const Known& known, int& size) {
    size = kBlock;
#if defined(CORPUSFMT_VECTORS)
    uint64_t controls = 0, beyond = 0, leads = 0, longer = 0, four = 0, usual = 0;
    for (int part = 0; part < kBlock; part += 16) {
        Bytes bytes;
        std::memcpy(&bytes, at + part, sizeof(bytes));
        const auto add = [&](uint64_t& bits, auto marks) CORPUSFMT_INLINE { bits |= uint64_t{highest_bits(marks)} << part; };
        const auto is_in = [&](int first, int last) CORPUSFMT_INLINE { return bytes - static_cast<unsigned char>(first) <= static_cast<unsigned char>(last - first); };
        add(controls, (bytes < 0x20) & ~is_in('\t', '\n'));
        add(beyond, bytes);  // the highest bit of each, then the next ones
        add(leads, bytes * 2);
        add(longer, bytes * 4);
        add(four, bytes * 8);
        add(usual, is_in(0xC3, 0xCB) | is_in(0xCF, 0xD1) | is_in(0xE4, 0xE9));
    }
    const uint64_t further = beyond & ~leads;
    leads &= beyond, longer &= leads, four &= longer;
    if (const uint64_t cut = (leads & 1ull << 63) | (longer & 1ull << 62) | (four & 1ull << 61)) size = CORPUSFMT_LOWEST(cut);
    const uint64_t all = ~uint64_t{} >> (kBlock - size);
    if (((leads << 1 | longer << 2 | four << 3) ^ further) & (all << 1 | 1)) return all;
    uint64_t odd = controls | four;
    const auto each = [&](uint64_t left, auto take) CORPUSFMT_INLINE {
        for (left &= all; left; left &= left - 1) take(CORPUSFMT_LOWEST(left));
    };
    each(leads & ~(longer | usual), [&](int place) { odd |= uint64_t{known.odd_of_two[little_endian<2>(at + place)]} << place; });
    each(longer & ~(four | usual), [&](int place) {
        odd |= (known.odd_of_three[(at[place] & 0xF) << 8 | at[place + 1]] >> (at[place + 2] & 0x3F) & 1) << place;
    });
    ptrdiff_t ended = 0;  // after an odd one
    each(odd & leads, [&](int place) {
        const auto [kind, length] = character_at(at + place, at + kBlock, known);
        if (kind > kSecond && kind <= kMark && place != ended && kind != kSecondMark) odd ^= uint64_t{1} << place;
        ended = place + length;
    });
    return odd & all;
#else
    return ~uint64_t{};
#endif
}

// How often something occurs, and where first.
struct Sight {
    size_t count = 0, first = 0;

    void add(size_t place) {
        if (count++ == 0) first = place;
    }
};

enum Seen { kOddSeparators, kBlankRuns, kShortLines, kReturns, kNuls, kOtherControls, kNotNfc, kSeen };

// Documents are between separators: empty lines, and odd ones of spaces, tabs and CRs.
struct Document {
    int64_t line, lines, size, separators_before;
};

struct Survey {
    // The line and byte where the text begins and, also from the text before, the open document and whether it ends with an
    // empty line (1) or several (2).
    int64_t line = 0, byte = 0, open_line = 0, open_byte = 0, separators = 0, blanks = 0;
    bool keeps_documents = true;

    size_t lines = 0, filled = 0, found = 0;
    std::array<Sight, kSeen> seen{};
    std::vector<size_t> bad;  // the first byte of each line that is not UTF-8
    std::vector<int64_t> odd;
    std::vector<Document> documents;

    // Finds control characters and lines that are not UTF-8 or not in NFC. `is_nfc` judges stretches from a letter to the
    // next code point that composes with nothing before it.
    template <typename IsNfc>
    void take_characters(std::string_view text, IsNfc is_nfc) {
        static const Known known;
        const unsigned char* const begin = bytes_of(text);
        const unsigned char* const end = begin + text.size();
        const auto place = [&](const unsigned char* at) { return static_cast<size_t>(at - begin); };
        const auto line_of = [&](const unsigned char* at) { return text.rfind('\n', place(at)) + 1; };
        const auto end_of_line = [&](const unsigned char* at) { return begin + std::min(text.find('\n', place(at)), text.size()); };
        // Lines that are blank, not UTF-8 or not in NFC are looked at once.
        const unsigned char *done = begin, *odd_to = begin, *bad_to = begin, *judged_to = begin;
        bool is_odd = false;
        size_t last = 0;  // line not in NFC
        const auto judge = [&](const unsigned char* at) {
            done = at + 1;
            if (*at == '\r') {
                if (at >= odd_to) {
                    odd_to = end_of_line(at);
                    is_odd = text.find_first_not_of(" \t\r", line_of(at)) >= place(odd_to);
                }
                if (!is_odd) seen[kReturns].add(place(at));
            } else if (*at < 0x20 && *at != '\n' && *at != '\t') {
                seen[*at ? kOtherControls : kNuls].add(place(at));
            } else if (*at == 0xC2 && end - at > 1 && is_continuation(at[1]) && at[1] < 0xA0) {
                seen[kOtherControls].add(place(at));
            }
            if (*at < 0x80 || at < bad_to) return;
            const auto step_back = [&](const unsigned char*& from) {
                if (from == begin || from[-1] == '\n') return uint8_t{kLetter};
                do --from;
                while (is_continuation(*from));
                return character_at(from, end, known).first;
            };
            const unsigned char* letter = at;
            uint8_t before = step_back(letter);
            auto [kind, length] = character_at(at, end, known);
            done = at + std::max<ptrdiff_t>(length, 1);
            if (length && may_follow(before, kind)) return;
            while (before > kSecond) before = step_back(letter);
            while (length && done < end) {
                std::tie(kind, length) = character_at(done, end, known);
                if (length && kind <= kFirst) break;
                done += length;
            }
            if (!length) {
                bad.push_back(line_of(at));
                bad_to = end_of_line(done);
                if (seen[kNotNfc].count && last == bad.back()) --seen[kNotNfc].count;
            } else if (at >= judged_to && !is_nfc(text.substr(place(letter), static_cast<size_t>(done - letter)))) {
                seen[kNotNfc].add(last = line_of(at));
                judged_to = end_of_line(done);
            }
        };
        unsigned char padded[kBlock];
        int size;
        for (const unsigned char* at = begin; (at = after_plain(at, end)) < end; at += size) {
            const ptrdiff_t left = end - at;
            if (left < kBlock) std::fill(std::copy(at, end, padded), std::end(padded), ' ');
            for (uint64_t odd = odd_ones(left < kBlock ? padded : at, known, size); odd; odd &= odd - 1) {
                const unsigned char* const one = at + CORPUSFMT_LOWEST(odd);
                if (one >= done && one < end) judge(one);
            }
        }
    }

    // Finds separators, documents, and lines with fewer code points than `least`.
    void take_lines(std::string_view text, size_t least) {
        constexpr size_t kMostOdd = 10'000, kLongestSequence = 4;
        auto next_bad = bad.begin();
        for (size_t start = 0, end; start < text.size(); start = end + 1, ++lines) {
            end = std::min(text.find('\n', start), text.size());
            const std::string_view whole = text.substr(start, end - start);
            const bool is_bad = next_bad != bad.end() && *next_bad == start;
            next_bad += is_bad;
            const int64_t number = line + static_cast<int64_t>(lines);
            if (whole.find_first_not_of(" \t\r") != std::string_view::npos) {
                ++filled;
                blanks = 0;
                if (whole.size() >= least * kLongestSequence || is_bad) continue;
                if (whole.size() - continuations_in(whole) < least) seen[kShortLines].add(start);
                continue;
            }
            if (whole.empty()) {
                if (blanks == 1) seen[kBlankRuns].add(start);
                blanks = blanks ? 2 : 1;
            } else {
                seen[kOddSeparators].add(start);
                if (odd.size() < kMostOdd) odd.push_back(number);
                blanks = 0;
            }
            if (number > open_line) {
                ++found;
                const int64_t size = byte + static_cast<int64_t>(start) - 1 - open_byte;
                if (keeps_documents) documents.push_back({open_line, number - open_line, size, separators});
                separators = 0;
            }
            ++separators;
            open_line = number + 1;
            open_byte = byte + static_cast<int64_t>(end) + 1;
        }
    }
};

// The quotation marks that are not escaped: after an even number of backslashes, or none.
size_t count_quotes(std::string_view data) {
    if (data.find('\\') == std::string_view::npos) return count_marked(data, [](unsigned char byte) { return byte == '"'; });
    size_t count = 0;
    for (size_t at = data.find('"'); at != std::string_view::npos; at = data.find('"', at + 1)) {
        size_t start = at;
        while (start > 0 && data[start - 1] == '\\') --start;
        count += (at - start) % 2 == 0;
    }
    return count;
}

struct Piece {
    std::string_view text;
    size_t lines;
};

// The parts of a text between its empty lines. Nothing if two of these are adjacent, or a line but the first has only blanks.
std::optional<std::vector<Piece>> split_at_empty_lines(std::string_view data) {
    std::vector<Piece> found;
    size_t begin = 0, lines = 1;
    for (size_t end = data.find('\n'); end != std::string_view::npos; end = data.find('\n', end + 1)) {
        const size_t next = end + 1;
        if (next < data.size() && data[next] == '\n') {
            if (next + 1 < data.size() && data[next + 1] == '\n') return std::nullopt;
            found.push_back({data.substr(begin, end - begin), lines});
            begin = next + 1;
            lines = 1;
            end = next;
        } else {
            ++lines;
        }
        const size_t start = end + 1;
        if (start < data.size() && (data[start] == ' ' || data[start] == '\t' || data[start] == '\r')) {
            const size_t other = data.find_first_not_of(" \t\r", start);
            if (other == std::string_view::npos || data[other] == '\n') return std::nullopt;
        }
    }
    found.push_back({data.substr(begin), lines});
    return found;
}

// The measures of texts that LFs join; `ends` are the places after each, as 64-bit numbers. Nothing if they are not UTF-8.
std::optional<std::vector<uint64_t>> measures(std::string_view data, std::string_view ends, Measurer* measurer) {
    if (!is_utf8(data)) return std::nullopt;
    std::vector<uint64_t> found(kUnits * (ends.size() / sizeof(uint64_t)));
    for (uint64_t at = 0, begin = 0, end = 0; at < found.size() / kUnits; ++at, begin = end + 1) {
        std::memcpy(&end, ends.data() + at * sizeof(end), sizeof(end));
        measure(data.substr(begin, end - begin), data.data(), measurer, found, at);
    }
    return found;
}

// The columns of a table, one after another, with its rows in the order of the first; the last column has their numbers before.
std::vector<uint64_t> sorted_columns(const uint64_t* columns, size_t width, size_t rows) {
    std::vector<std::pair<uint64_t, uint64_t>> order(rows);
    for (size_t row = 0; row < rows; ++row) order[row] = {columns[row], row};
    std::sort(order.begin(), order.end());
    std::vector<uint64_t> sorted;
    sorted.reserve((width + 1) * rows);
    for (const uint64_t* column = columns; column != columns + width * rows; column += rows) {
        for (const auto& each : order) sorted.push_back(column[each.second]);
    }
    for (const auto& each : order) sorted.push_back(each.second);
    return sorted;
}

}  // namespace
}  // namespace corpusfmt

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace corpusfmt {
namespace {

template <auto kCount>
PyObject* counted(PyObject*, PyObject* object) {
    Buffer data;
    return data.open(object) ? PyLong_FromSize_t(kCount(data.bytes())) : nullptr;
}

PyObject* split_at_empty_lines(PyObject*, PyObject* object) {
    Buffer data;
    if (!data.open(object)) return nullptr;
    const auto found = split_at_empty_lines(data.bytes());
    if (!found) return Py_NewRef(Py_None);
    return as_list(*found, [](const Piece& piece) {
        return Py_BuildValue("y#n", piece.text.data(), static_cast<Py_ssize_t>(piece.text.size()), static_cast<Py_ssize_t>(piece.lines));
    });
}

PyObject* survey(PyObject*, PyObject* arguments) {
    const char* data;
    Py_ssize_t size, least;
    PyObject* is_nfc;
    Survey found;
    int keeps = 0;
    if (!PyArg_ParseTuple(arguments, "y#n(LLLLLL)pO:survey", &data, &size, &least, &found.line, &found.byte, &found.open_line,
                          &found.open_byte, &found.separators, &found.blanks, &keeps, &is_nfc)) {
        return nullptr;
    }
    found.keeps_documents = keeps;
    const std::string_view text(data, static_cast<size_t>(size));
    auto unlocked = std::make_optional<Unlocked>();
    found.take_characters(text, [&](std::string_view stretch) {
        thread_local std::array<std::string, 1 << 13> settled;  // the same stretches recur
        std::string& recent = settled[std::hash<std::string_view>()(stretch) % settled.size()];
        if (recent == stretch) return true;
        const Locked locked(*unlocked);
        const Owned piece(PyErr_Occurred() ? nullptr : as_bytes(stretch));
        const Owned said(piece ? PyObject_CallFunctionObjArgs(is_nfc, piece.get(), nullptr) : nullptr);
        if (said && said.get() != Py_False && stretch.size() <= 64) recent = stretch;
        return said.get() != Py_False;
    });
    found.take_lines(text, static_cast<size_t>(std::max<Py_ssize_t>(least, 0)));
    unlocked.reset();
    if (PyErr_Occurred()) return nullptr;
    const auto column = [&](int64_t Document::*value) {
        return as_list(found.documents, [&](const Document& each) { return PyLong_FromLongLong(each.*value); });
    };
    const auto sight = [](const Sight& each) {
        return Py_BuildValue("nn", static_cast<Py_ssize_t>(each.count), static_cast<Py_ssize_t>(each.first));
    };
    return Py_BuildValue("nnn(LLLL)(NNNN)NNN", found.lines, found.filled, found.found, found.open_line, found.open_byte,
                         found.separators, found.blanks, column(&Document::line), column(&Document::lines),
                         column(&Document::size), column(&Document::separators_before), as_list(found.odd, PyLong_FromLongLong),
                         as_list(found.bad, PyLong_FromSize_t), as_list(found.seen, sight));
}

PyObject* double_encoding_at(PyObject*, PyObject* arguments) {
    const char* data;
    Py_ssize_t size, start;
    int escaped;
    if (!PyArg_ParseTuple(arguments, "y#np:double_encoding_at", &data, &size, &start, &escaped)) return nullptr;
    const auto from = static_cast<size_t>(std::max<Py_ssize_t>(start, 0));
    const std::string_view lines(data, static_cast<size_t>(size));
    const auto found = escaped ? corpusfmt::double_encoding_at<true>(lines, from) : corpusfmt::double_encoding_at<false>(lines, from);
    return PyLong_FromSsize_t(found ? static_cast<Py_ssize_t>(*found) : -1);
}

PyObject* measures(PyObject*, PyObject* arguments) {
    const char *data, *ends, *classes, *next;
    Py_ssize_t size, places, points, states;
    PyObject* scripts;
    if (!PyArg_ParseTuple(arguments, "y#y#y#y#Y", &data, &size, &ends, &places, &classes, &points, &next, &states, &scripts)) return nullptr;
    Measurer words(classes, next, PyByteArray_AsString(scripts));
    const auto found = measures({data, static_cast<size_t>(size)}, {ends, static_cast<size_t>(places)}, points ? &words : nullptr);
    return found ? as_bytes(*found) : Py_NewRef(Py_None);
}

PyObject* sorted_columns(PyObject*, PyObject* arguments) {
    Buffer columns;
    Py_ssize_t width;
    if (!PyArg_ParseTuple(arguments, "y*n:sorted_columns", &columns.view, &width)) return nullptr;
    if (width < 1) return PyErr_Format(PyExc_ValueError, "expected columns");
    const auto count = static_cast<size_t>(width);
    const auto sorted = (Unlocked(), sorted_columns(columns.items<uint64_t>(), count, columns.size<uint64_t>() / count));
    return as_bytes(sorted);  // a Python object, so with the lock
}

PyMethodDef kMethods[] = {
    {"survey", guarded<survey>, METH_VARARGS, "survey(data, least, state, keeps, is_nfc) -> the lines, documents and oddities of a text, see `io.scan`."},
    {"is_utf8", guarded<counted<is_utf8>>, METH_O, "is_utf8(data) -> 1 if it is, or 0."},
    {"count_lines", guarded<counted<count_lines>>, METH_O, "count_lines(data) -> how many LFs there are."},
    {"measures", guarded<measures>, METH_VARARGS, "measures(texts, ends, classes, next, letters) -> lines, words, characters and bytes of each text."},
    {"count_quotes", guarded<counted<count_quotes>>, METH_O, "count_quotes(data) -> how many quotation marks no backslash escapes."},
    {"split_at_empty_lines", guarded<split_at_empty_lines>, METH_O, "split_at_empty_lines(data) -> what is between them, each with its number of lines, or None."},
    {"double_encoding_at", guarded<double_encoding_at>, METH_VARARGS,
     "double_encoding_at(data, start, escaped) -> the first place where text may have been encoded twice, or -1."},
    {"sorted_columns", guarded<sorted_columns>, METH_VARARGS, "sorted_columns(columns, width) -> the columns and numbers of rows, see `io.runs`."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = kernel_of("Scans of text, fast.", kMethods);

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
