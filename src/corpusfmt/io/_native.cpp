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
#include <new>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "../_double_encoding.hpp"
#include "../_utf8.hpp"
#include "../_words.hpp"
#include "_nfc.hpp"

namespace corpusfmt {
namespace {

enum Kind : uint8_t { kUnknown, kLetter, kMark };

using Kinds = std::array<Kind, 0x10000>;

Kinds kinds_of_code_points() {
    Kinds kinds{};
    for (int point = 0; point < 0x80; ++point) kinds[point] = kLetter;
    for (const Range& range : kLetters) {
        for (uint32_t point = range.first; point <= range.last; ++point) kinds[point] = kLetter;
    }
    for (const Range& range : kMarks) {
        for (uint32_t point = range.first; point <= range.last; ++point) kinds[point] = kMark;
    }
    return kinds;
}

// The only mark in the table that composes, with these three letters.
constexpr bool composes(uint32_t letter, uint32_t mark) {
    return mark == 0x093C && (letter == 0x0928 || letter == 0x0930 || letter == 0x0933);
}

const Kinds& kinds() {
    static const Kinds found = kinds_of_code_points();
    return found;
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

using Span = std::pair<size_t, size_t>;

// The stretches of a text that must be normalised to know whether it is in NFC: each from a letter to the next code point that
// composes with nothing before it. Nothing if the text is not UTF-8.
std::optional<std::vector<Span>> nfc_doubts(std::string_view text) {
    if (!Utf8Automaton::accepts(text)) return std::nullopt;
    const Kinds& known = kinds();
    std::vector<Span> found;
    const unsigned char* const begin = bytes_of(text);
    const unsigned char* const end = begin + text.size();
    const unsigned char* letter = begin;
    uint32_t before = 0;
    const auto begins_anew = [&known, end](const unsigned char* at) {
        uint32_t point = 0;
        return *at < 0x80 || (step_over_nfc(at, end, point, known) && known[point] == kLetter);
    };
    for (const unsigned char* at = begin; at < end;) {
        const unsigned char* const here = at;
        if (*at < 0x80) {
            while (at < end && *at < 0x80) ++at;
            before = 0;  // no ASCII letter composes with a mark of the table
            letter = at - (at[-1] == '\n' ? 0 : 1);
        } else if (step_over_nfc(at, end, before, known)) {
            if (known[before] == kLetter) letter = here;
        } else {
            at = here;
            do {
                at += *at < 0xE0 ? 2 : *at < 0xF0 ? 3 : 4;
            } while (at < end && !begins_anew(at));
            found.emplace_back(letter - begin, at - begin);
            before = 0;
        }
    }
    return found;
}

// Whether eight bytes are ASCII without control characters.
inline bool is_printable_ascii(const unsigned char* at) {
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    return ((word | ((word - in_each_byte(0x20)) & ~word)) & in_each_byte(0x80)) == 0;
}

// Whether a line has at least the given number of code points, is certainly NFC and not double-encoded, is not blank, and has
// no control characters except tabs.
bool is_plain_line(const unsigned char* at, const unsigned char* end, size_t least, const Kinds& known) {
    if (static_cast<size_t>(end - at) < least || *at == ' ' || *at == '\t') return false;
    const unsigned char* const begin = at;
    size_t characters = 0;
    uint32_t before = 0;
    while (at < end) {
        if (*at >= 0x80) {
            const bool may_be_twice = *at == kDoubleEncodedLead && end - at > 2 && is_suspect(at);
            if (may_be_twice && is_double_encoded(begin, at, end, character_at)) return false;
            // C1 control characters and the byte order mark are among those left to Python.
            if ((*at == 0xC2 && end - at > 1 && at[1] < 0xA0) || (*at == 0xEF && end - at > 2 && at[1] == 0xBB)) return false;
            if (!step_over_nfc(at, end, before, known)) return false;
            ++characters;
            continue;
        }
        before = 0;
        while (end - at >= 8 && is_printable_ascii(at)) {
            at += 8;
            characters += 8;
        }
        if (at < end && *at < 0x80) {
            if (*at < 0x20 && *at != '\t') return false;
            ++at;
            ++characters;
        }
    }
    return characters >= least;
}

struct PlainText {
    size_t lines = 0;
    std::vector<Span> blank;  // number and position of each empty line
};

// The empty lines of complete lines, if all other lines are plain and no two empty lines are adjacent.
std::optional<PlainText> plain_text(std::string_view data, size_t least) {
    const Kinds& known = kinds();
    PlainText found;
    bool after_blank = false;
    for (size_t start = 0; start < data.size(); ++found.lines) {
        const size_t end = data.find('\n', start);
        if (end == std::string_view::npos) return std::nullopt;
        const bool blank = end == start;
        if (blank) {
            if (after_blank) return std::nullopt;
            found.blank.emplace_back(found.lines, start);
        } else if (!is_plain_line(bytes_of(data) + start, bytes_of(data) + end, least, known)) {
            return std::nullopt;
        }
        after_blank = blank;
        start = end + 1;
    }
    return found;
}

size_t is_utf8(std::string_view data) { return is_ascii(data) || Utf8Automaton::accepts(data); }

size_t count_lines(std::string_view data) { return count_marked(data, [](char byte) { return byte == '\n'; }); }

// The quotation marks that are not escaped: after an even number of backslashes, or none.
size_t count_quotes(std::string_view data) {
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

// The parts of a text between its empty lines. Nothing if a line other than the first has only blanks (space, tab, CR), or if two
// empty lines are adjacent.
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

// The lines, words (if `measurer` counts them), characters and bytes of texts that LFs join, one column after another; `ends` are
// the places after each, as 64-bit numbers. Nothing if they are not UTF-8.
std::optional<std::vector<uint64_t>> measures(std::string_view data, std::string_view ends, Measurer* measurer) {
    if (!is_utf8(data)) return std::nullopt;
    const size_t number = ends.size() / sizeof(uint64_t);
    std::vector<uint64_t> found(4 * number);
    for (uint64_t at = 0, begin = 0, end = 0; at < number; ++at, begin = end + 1) {
        std::memcpy(&end, ends.data() + at * sizeof(end), sizeof(end));
        const std::string_view text = data.substr(begin, end - begin);
        const Measures each = measurer ? measurer->measure(text, data.data())
                                       : Measures{count_lines(text), 0, text.size() - continuations_in(text)};
        const uint64_t lines = each.lines + (!text.empty() && text.back() != '\n'), values[] = {lines, each.words, each.characters, text.size()};
        for (size_t unit = 0; unit < 4; ++unit) found[unit * number + at] = values[unit];
    }
    return found;
}

}  // namespace
}  // namespace corpusfmt

// -------------------------------------------------------------------------------------------------- The Python module

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace corpusfmt {
namespace {

template <typename Scan>
PyObject* scanned(std::string_view data, Scan scan) try {
    return scan(data);
} catch (const std::bad_alloc&) {
    return PyErr_NoMemory();
}

template <typename Scan>
PyObject* scanned(PyObject* bytes, Scan scan) {
    char* data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(bytes, &data, &size) < 0) return nullptr;
    return scanned(std::string_view(data, static_cast<size_t>(size)), scan);
}

PyObject* nfc_doubts(PyObject*, PyObject* arguments) {
    const char* data;
    Py_ssize_t size;
    PyObject* settled;
    if (!PyArg_ParseTuple(arguments, "y#O!:nfc_doubts", &data, &size, &PySet_Type, &settled)) return nullptr;
    return scanned(std::string_view(data, static_cast<size_t>(size)), [settled](std::string_view text) -> PyObject* {
        auto found = nfc_doubts(text);
        if (!found) return Py_NewRef(Py_None);
        Owned open(PyList_New(0));
        for (const auto& [begin, end] : *found) {
            Owned piece(PyBytes_FromStringAndSize(text.data() + begin, static_cast<Py_ssize_t>(end - begin)));
            const int known = open && piece ? PySet_Contains(settled, piece.get()) : -1;
            if (known < 0) return nullptr;
            Owned item(known ? nullptr : Py_BuildValue("nO", static_cast<Py_ssize_t>(begin), piece.get()));
            if (!known && (!item || PyList_Append(open.get(), item.get()) < 0)) return nullptr;
        }
        return open.release();
    });
}

template <size_t (*kCount)(std::string_view)>
PyObject* counted(PyObject*, PyObject* bytes) {
    return scanned(bytes, [](std::string_view data) { return PyLong_FromSize_t(kCount(data)); });
}

PyObject* split_at_empty_lines(PyObject*, PyObject* bytes) {
    return scanned(bytes, [](std::string_view data) {
        const auto found = split_at_empty_lines(data);
        if (!found) return Py_NewRef(Py_None);
        return as_list(*found, [](const Piece& piece) {
            return Py_BuildValue("y#n", piece.text.data(), static_cast<Py_ssize_t>(piece.text.size()),
                                 static_cast<Py_ssize_t>(piece.lines));
        });
    });
}

PyObject* plain_text(PyObject*, PyObject* arguments) {
    const char* data;
    Py_ssize_t size, least;
    if (!PyArg_ParseTuple(arguments, "y#n:plain_text", &data, &size, &least)) return nullptr;
    return scanned(std::string_view(data, static_cast<size_t>(size)), [least](std::string_view text) -> PyObject* {
        const auto found = plain_text(text, static_cast<size_t>(std::max<Py_ssize_t>(least, 0)));
        if (!found) return Py_NewRef(Py_None);
        Owned lines(as_list(found->blank, [](const auto& each) { return PyLong_FromSize_t(each.first); }));
        Owned places(as_list(found->blank, [](const auto& each) { return PyLong_FromSize_t(each.second); }));
        if (!lines || !places) return nullptr;
        return Py_BuildValue("nNN", static_cast<Py_ssize_t>(found->lines), lines.release(), places.release());
    });
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
    return scanned(std::string_view(data, static_cast<size_t>(size)), [&](std::string_view texts) -> PyObject* {
        Measurer words(classes, next, PyByteArray_AsString(scripts));
        const auto found = measures(texts, {ends, static_cast<size_t>(places)}, points ? &words : nullptr);
        return found ? as_bytes(*found) : Py_NewRef(Py_None);
    });
}

PyMethodDef kMethods[] = {
    {"nfc_doubts", nfc_doubts, METH_VARARGS,
     "nfc_doubts(data, settled) -> places and bytes of stretches that may not be in NFC, or None if it is not UTF-8."},
    {"plain_text", plain_text, METH_VARARGS,
     "plain_text(data, least) -> (number of lines, numbers of the empty ones, places of the empty ones), or None."},
    {"is_utf8", counted<is_utf8>, METH_O, "is_utf8(data) -> 1 if it is, or 0."},
    {"count_lines", counted<count_lines>, METH_O, "count_lines(data) -> how many LFs there are."},
    {"measures", measures, METH_VARARGS,
     "measures(texts, ends, classes, next, letters) -> lines, words, characters and bytes of each text, or None."},
    {"count_quotes", counted<count_quotes>, METH_O, "count_quotes(data) -> how many quotation marks no backslash escapes."},
    {"split_at_empty_lines", split_at_empty_lines, METH_O,
     "split_at_empty_lines(data) -> what stands between them, each with its number of lines, or None."},
    {"double_encoding_at", double_encoding_at, METH_VARARGS,
     "double_encoding_at(data, start, escaped) -> the first place where text may have been encoded twice, or -1."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = kernel_of("Scans of text, fast.", kMethods);

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
