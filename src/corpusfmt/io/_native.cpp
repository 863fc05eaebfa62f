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
#include <utility>
#include <vector>

#include "../_compiler.hpp"
#include "../_double_encoding.hpp"
#include "../_utf8.hpp"
#include "../_words.hpp"
#include "_nfc.hpp"

namespace corpusfmt {
namespace {

enum Kind : uint8_t { kUnknown, kLetter, kMark };

using Kinds = std::array<Kind, 0x10000>;

const Kinds& kinds() {
    static const Kinds found = [] {
        Kinds kinds{};
        const auto fill = [&](const auto& ranges, Kind kind) {
            auto* at = kinds.data();
            for (const Range& range : ranges) at = std::fill_n(at + range.skipped, range.length, kind);
        };
        fill(kLetters, kLetter);
        fill(kMarks, kMark);
        return kinds;
    }();
    return found;
}

// The only mark in the table that composes, with these three letters.
constexpr bool composes(uint32_t letter, uint32_t mark) {
    return mark == 0x093C && (letter == 0x0928 || letter == 0x0930 || letter == 0x0933);
}

// Steps over one code point beyond ASCII that is NFC after `before`, which it then replaces. False means undecided.
inline bool step_over_nfc(const unsigned char*& at, const unsigned char* end, uint32_t& before, const Kinds& kinds) {
    uint32_t point = 0;
    if (*at < 0xE0) {
        if (*at < 0xC2 || end - at < 2 || !is_continuation(at[1])) return false;
        point = (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
        at += 2;
    } else {
        // Sequences of four bytes are left to Python; the table has no surrogates.
        if (*at > 0xEF || end - at < 3 || !is_continuation(at[1]) || !is_continuation(at[2])) return false;
        point = (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        if (point < 0x800) return false;
        at += 3;
    }
    const Kind kind = kinds[point];
    if (kind != kLetter && (kind == kUnknown || kinds[before] == kMark || composes(before, point))) return false;
    before = point;
    return true;
}

constexpr ptrdiff_t kBlock = 64;

// The beginning of a character that goes on at a place behind known ones, or else this place.
inline const unsigned char* within_character(const unsigned char* at) { return at[-1] >= 0xC0 ? at - 1 : at[-2] >= 0xE0 ? at - 2 : at; }

// Skips blocks of printable ASCII, tabs, LFs and letters of the most common scripts, which are in NFC; marks other bytes of the
// block where it stops, or all if it is the last. Passes a virama behind a consonant of Hindi. Reads five bytes before `at`.
CORPUSFMT_WIDE const unsigned char* after_letters(const unsigned char* at, const unsigned char* end, unsigned char* marks) {
    using Byte = unsigned char;
    const auto leads_two = [&](Byte byte) -> Byte { return is_within(byte, 0xC3, 0xCB) + is_within(byte, 0xCF, 0xD1) + is_within(byte, 0xD8, 0xD9); };
    const auto leads_three = [&](Byte byte) -> Byte { return is_within(byte, 0xE0, 0xE0) + is_within(byte, 0xE2, 0xED) + is_within(byte, 0xEF, 0xEF); };
    const auto is_consonant = [](auto* at) -> Byte { return is_within(at[0], 0xE0, 0xE0) & is_within(at[1], 0xA4, 0xA4) & is_within(at[2], 0x80, 0xB9); };
    enum { kTwoBytes, kThreeBytes, kIndic };  // the longest characters of a block, or also those that begin with 0xE0
    const auto mark = [&](auto longest) CORPUSFMT_INLINE -> Byte {
        Byte any = 0;
        for (ptrdiff_t place = 0; place < kBlock; ++place) {
            const Byte byte = at[place], before = at[place - 1], far = at[place - 2];
            const auto is_after = [&](Byte lead, Byte first, Byte last) -> Byte { return is_within(before, lead, lead) & is_within(byte, first, last); };
            const auto is_third = [&](Byte lead, Byte second, Byte first, Byte last) -> Byte { return is_within(far, lead, lead) & is_after(second, first, last); };
            Byte follows = leads_two(before), known = is_within(byte, 0x20, 0xBF) + is_within(byte, '\t', '\n') + leads_two(byte);
            Byte other = is_after(0xD8, 0x80, 0x9A) + is_after(0xD9, 0x8B, 0x9F) + is_after(0xD9, 0xB0, 0xB0);
            if constexpr (longest() == kIndic) {
                other += is_after(0xE0, 0x80, 0xA3) + is_after(0xE0, 0xA6, 0xBF) + is_third(0xE0, 0xA4, 0xBC, 0xBC) +
                         is_third(0xE0, 0xA5, 0x8E, 0x9F) + (is_third(0xE0, 0xA5, 0x8D, 0x8D) & (is_consonant(at + place - 5) ^ 1));
            }
            if constexpr (longest() != kTwoBytes) {
                follows += leads_three(before) + (leads_three(far) & is_within(before, 0x80, 0xBF));
                known += leads_three(byte);
                other += is_after(0xE2, 0x81, 0xBF) + is_third(0xE2, 0x80, 0x80, 0x81) + is_after(0xE3, 0x84, 0xBF) + is_third(0xE3, 0x80, 0xAA, 0xAF) +
                         is_third(0xE3, 0x81, 0x80, 0x80) + is_third(0xE3, 0x82, 0x97, 0x9A) + is_after(0xEA, 0x80, 0xAF) + is_after(0xED, 0x9E, 0xBF) +
                         is_after(0xEF, 0x80, 0xBB) + is_third(0xEF, 0xBC, 0x80, 0x80) + is_after(0xEF, 0xBE, 0xBF);
            }
            marks[place] = ((is_within(byte, 0x80, 0xBF) ^ follows) | other | (known ^ 1)) != 0;
            any |= marks[place];
        }
        return any;
    };
    for (; end - at >= kBlock; at += kBlock) {
        Byte any = within_character(at) != at, largest = std::max(at[-1], at[-2]), indic = at[-1] == 0xE0 || at[-2] == 0xE0;
        for (ptrdiff_t place = 0; place < kBlock; ++place) {
            largest = std::max(largest, at[place]);
            indic |= is_within(at[place], 0xE0, 0xE0);
            any |= (is_within(at[place], 0x20, 0x7F) + is_within(at[place], '\t', '\n')) ^ 1;
        }
        if (!any) continue;
        if (indic) any = mark(std::integral_constant<int, kIndic>());
        else any = largest < 0xE0 ? mark(std::integral_constant<int, kTwoBytes>()) : mark(std::integral_constant<int, kThreeBytes>());
        if (any) return at;
    }
    std::memset(marks, 1, kBlock);
    return at;
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
        const Kinds& known = kinds();
        const unsigned char* const begin = bytes_of(text);
        const unsigned char* const end = begin + text.size();
        const auto place = [&](const unsigned char* at) { return static_cast<size_t>(at - begin); };
        const auto line_of = [&](const unsigned char* at) { return text.rfind('\n', place(at)) + 1; };
        const auto end_of_line = [&](const unsigned char* at) { return begin + std::min(text.find('\n', place(at)), text.size()); };
        const auto begins_anew = [&](const unsigned char* at) {
            uint32_t point = 0;
            return *at < 0x80 || (step_over_nfc(at, end, point, known) && known[point] == kLetter);
        };
        // Lines that are blank, not UTF-8 or not in NFC are looked at once.
        const unsigned char *letter = begin, *odd_to = begin, *bad_to = begin, *judged_to = begin;
        bool is_odd = false;
        size_t last = 0;  // line not in NFC
        uint32_t before = 0;
        const auto skip_to = [&](const unsigned char*& at, const unsigned char* next) {
            if (next <= at) return;
            letter = at = next;
            before = 0;
            do --letter;
            while (is_continuation(*letter));
            if (const unsigned char* again = letter; *letter >= 0x80) step_over_nfc(again, end, before, known);
            if (known[before] == kMark) letter -= 3;  // to the consonant before a virama
            if (*letter == '\n') letter = at;
        };
        unsigned char marks[kBlock];
        std::memset(marks, 1, kBlock);
        for (const unsigned char* at = begin; at < end;) {
            const unsigned char* const block = place(at) < 5 ? at : after_letters(at, end, marks);
            const unsigned char* const stop = end - block < kBlock ? end : block + kBlock;
            if (block != at) skip_to(at, within_character(block));
            while (at < stop) {
                if (at < block || !marks[at - block]) {
                    const ptrdiff_t from = std::max<ptrdiff_t>(at - block, 0);
                    const void* const marked = std::memchr(marks + from, 1, static_cast<size_t>(stop - block - from));
                    skip_to(at, within_character(marked ? block + (static_cast<const unsigned char*>(marked) - marks) : stop));
                    if (!marked) break;
                }
                const unsigned char* const here = at;
                if (*at < 0x80) {
                    if (*at == '\r') {
                        if (at >= odd_to) {
                            odd_to = end_of_line(at);
                            is_odd = text.find_first_not_of(" \t\r", line_of(at)) >= place(odd_to);
                        }
                        if (!is_odd) seen[kReturns].add(place(at));
                    } else if (*at < 0x20 && *at != '\n' && *at != '\t') {
                        seen[*at ? kOtherControls : kNuls].add(place(at));
                    }
                    letter = *at == '\n' ? at + 1 : at;
                    before = 0;  // no ASCII letter composes with a mark of the table
                    ++at;
                    continue;
                }
                if (*at == 0xC2 && end - at > 1 && is_continuation(at[1]) && at[1] < 0xA0) seen[kOtherControls].add(place(at));
                if (at < bad_to) {
                    ++at;
                } else if (step_over_nfc(at, end, before, known)) {
                    if (known[before] == kLetter) letter = here;
                } else {
                    at = here;
                    size_t length;
                    do {
                        length = *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
                        if (!is_utf8(text.substr(place(at), length))) length = 0;
                        at += length;
                    } while (length && at < end && !begins_anew(at));
                    before = 0;
                    if (!length) {
                        bad.push_back(line_of(here));
                        bad_to = end_of_line(at);
                        if (seen[kNotNfc].count && last == bad.back()) --seen[kNotNfc].count;
                    } else if (here >= judged_to && !is_nfc(text.substr(place(letter), place(at) - place(letter)))) {
                        seen[kNotNfc].add(last = line_of(here));
                        judged_to = end_of_line(at);
                    }
                }
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
    found.take_characters(text, [&](std::string_view stretch) {
        thread_local std::array<std::string, 1 << 13> settled;  // the same stretches recur
        std::string& recent = settled[std::hash<std::string_view>()(stretch) % settled.size()];
        if (recent == stretch) return true;
        const Owned piece(PyErr_Occurred() ? nullptr : as_bytes(stretch));
        const Owned said(piece ? PyObject_CallFunctionObjArgs(is_nfc, piece.get(), nullptr) : nullptr);
        if (said.get() == Py_False) return false;
        if (said && stretch.size() <= 64) recent = stretch;
        return true;
    });
    if (PyErr_Occurred()) return nullptr;
    found.take_lines(text, static_cast<size_t>(std::max<Py_ssize_t>(least, 0)));
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
