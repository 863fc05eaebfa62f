// The two hot loops of a build that Python would run for each header or line: canonical records taken off a WET file,
// and kept lines put together as documents.
//
// What is not canonical beyond doubt is left to Python, which has the last word on it.

#include "../_python.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../_words.hpp"

namespace corpusfmt {
namespace {

// ---------------------------------------------------------------------------------------------------------------------
// Records

constexpr std::string_view kVersionLine = "WARC/1.0\r\n";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kEndOfRecord = "\r\n\r\n";
constexpr size_t kMostHeaderBytes = 64 * 1024;
constexpr size_t kMostDigits = 9;  // of a length, leading zeros included; larger records are no pages

struct Header {
    std::string name;  // in lower case
    std::string_view value;
};

struct Record {
    std::vector<Header> headers;
    std::string_view text;
    size_t next = 0;  // where the next record starts
};

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

std::string_view stripped(std::string_view value) {
    constexpr std::string_view kBlanks = " \t";
    const size_t first = value.find_first_not_of(kBlanks);
    return first == std::string_view::npos ? std::string_view() : value.substr(first, value.find_last_not_of(kBlanks) - first + 1);
}

std::optional<Header> header_in(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || line[0] == ' ' || line[0] == '\t') return std::nullopt;
    if (line.find('\n') != std::string_view::npos) return std::nullopt;
    Header header{std::string(line.substr(0, colon)), stripped(line.substr(colon + 1))};
    for (char& letter : header.name) {
        if (static_cast<unsigned char>(letter) >= 0x80) return std::nullopt;
        if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
    }
    return header;
}

std::optional<size_t> length_in(std::string_view value) {
    if (value.empty() || value.size() > kMostDigits) return std::nullopt;
    size_t length = 0;
    for (const char digit : value) {
        if (digit < '0' || digit > '9') return std::nullopt;
        length = length * 10 + static_cast<size_t>(digit - '0');
    }
    return length;
}

// The record that starts at a place, where it is canonical and the data hold all of it.
std::optional<Record> canonical_record(std::string_view data, size_t start) {
    if (!starts_with(data.substr(start), kVersionLine)) return std::nullopt;
    Record record;
    std::optional<size_t> length;
    size_t at = start + kVersionLine.size();
    while (!starts_with(data.substr(at), kLineEnd)) {
        const size_t end = data.substr(0, start + kMostHeaderBytes).find(kLineEnd, at);
        std::optional<Header> header = end == std::string_view::npos ? std::nullopt : header_in(data.substr(at, end - at));
        if (!header) return std::nullopt;
        for (const Header& other : record.headers) {
            if (other.name == header->name) return std::nullopt;
        }
        if (header->name == "content-length" && !(length = length_in(header->value))) return std::nullopt;
        record.headers.push_back(std::move(*header));
        at = end + kLineEnd.size();
    }
    at += kLineEnd.size();
    if (!length || data.size() - at < *length || !starts_with(data.substr(at + *length), kEndOfRecord)) return std::nullopt;
    record.text = data.substr(at, *length);
    record.next = at + *length + kEndOfRecord.size();
    return record;
}

// ---------------------------------------------------------------------------------------------------------------------
// Documents

// Classified lines, in order, and where the records end in which they stand.
struct Lines {
    std::string_view text;
    const int64_t* record_ends;
    size_t records;
    const int64_t* starts;
    const int64_t* ends;
    const int32_t* labels;
    const float* scores;
    size_t count;

    bool fit() const {
        int64_t before = 0;
        for (size_t line = 0; line < count; ++line) {
            if (starts[line] < before || ends[line] < starts[line]) return false;
            before = ends[line];
        }
        return count == 0 || (before <= static_cast<int64_t>(text.size()) && records != 0 && before <= record_ends[records - 1]);
    }
};

struct Document {
    size_t record;
    int32_t label;
    std::vector<size_t> lines;
    size_t size = 0;  // in bytes, each line with its LF
};

// Lines that are sure enough, by record and label; only those that follow each other where `adjacent` says so.
std::vector<Document> documents_of(const Lines& lines, double least, bool adjacent) {
    std::vector<Document> documents;
    size_t record = 0, first = 0;  // of the documents of the record
    for (size_t line = 0; line < lines.count; ++line) {
        if (static_cast<double>(lines.scores[line]) < least) continue;
        while (lines.starts[line] >= lines.record_ends[record] && record + 1 < lines.records) ++record;
        if (documents.empty() || documents.back().record != record) first = documents.size();
        if (adjacent && first < documents.size()) first = documents.size() - 1;
        auto found = std::find_if(documents.begin() + static_cast<ptrdiff_t>(first), documents.end(),
                                  [&](const Document& each) { return each.label == lines.labels[line]; });
        if (found == documents.end()) found = documents.insert(found, {record, lines.labels[line], {}});
        found->lines.push_back(line);
        found->size += static_cast<size_t>(lines.ends[line] - lines.starts[line]) + 1;
    }
    return documents;
}

// ---------------------------------------------------------------------------------------------------------------------
// The Python module

PyObject* wet_record(PyObject*, PyObject* arguments) {
    const char* data;
    Py_ssize_t size, start;
    if (!PyArg_ParseTuple(arguments, "y#n:wet_record", &data, &size, &start)) return nullptr;
    if (start < 0 || start > size) return Py_NewRef(Py_None);
    const auto record = canonical_record({data, static_cast<size_t>(size)}, static_cast<size_t>(start));
    if (!record) return Py_NewRef(Py_None);
    Owned headers(PyDict_New());
    for (const Header& header : record->headers) {
        PyObject* name = as_str(header.name);
        if (name) PyUnicode_InternInPlace(&name);
        const Owned key(name), value(as_str(header.value));
        if (!value && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError)) {
            PyErr_Clear();
            return Py_NewRef(Py_None);
        }
        if (!headers || !key || !value || PyDict_SetItem(headers.get(), key.get(), value.get()) < 0) return nullptr;
    }
    return Py_BuildValue("Ny#n", headers.release(), record->text.data(), static_cast<Py_ssize_t>(record->text.size()),
                         static_cast<Py_ssize_t>(record->next));
}

class Column {
  public:
    Column() = default;
    Column(const Column&) = delete;
    Column& operator=(const Column&) = delete;
    ~Column() {
        if (view.obj) PyBuffer_Release(&view);
    }

    template <typename Item>
    const Item* items() const {
        return static_cast<const Item*>(view.buf);
    }

    template <typename Item>
    size_t size() const {
        return static_cast<size_t>(view.len) / sizeof(Item);
    }

    Py_buffer view{};
};

PyObject* as_object(const Document& document, const Lines& lines) {
    Owned text(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(document.size)));
    Owned scores(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(document.lines.size() * sizeof(float))));
    if (!text || !scores) return nullptr;
    char* const begin = PyBytes_AsString(text.get());
    char* out = begin;
    char* score = PyBytes_AsString(scores.get());
    for (const size_t line : document.lines) {
        const auto size = static_cast<size_t>(lines.ends[line] - lines.starts[line]);
        std::memcpy(out, lines.text.data() + lines.starts[line], size);
        out[size] = '\n';
        out += size + 1;
        std::memcpy(score, &lines.scores[line], sizeof(float));
        score += sizeof(float);
    }
    return Py_BuildValue("niNnnN", static_cast<Py_ssize_t>(document.record), static_cast<int>(document.label), text.release(),
                         static_cast<Py_ssize_t>(document.lines.size()),
                         static_cast<Py_ssize_t>(count_words({begin, document.size})), scores.release());
}

PyObject* documents(PyObject*, PyObject* arguments) {
    Column text, record_ends, starts, ends, labels, scores;
    double least;
    int adjacent;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*dp:documents", &text.view, &record_ends.view, &starts.view, &ends.view,
                          &labels.view, &scores.view, &least, &adjacent)) {
        return nullptr;
    }
    const Lines lines{{text.items<char>(), text.size<char>()},
                      record_ends.items<int64_t>(),
                      record_ends.size<int64_t>(),
                      starts.items<int64_t>(),
                      ends.items<int64_t>(),
                      labels.items<int32_t>(),
                      scores.items<float>(),
                      starts.size<int64_t>()};
    const std::array<size_t, 3> others{ends.size<int64_t>(), labels.size<int32_t>(), scores.size<float>()};
    if (std::any_of(others.begin(), others.end(), [&](size_t size) { return size != lines.count; }) || !lines.fit()) {
        PyErr_SetString(PyExc_ValueError, "columns do not fit each other, or the text");
        return nullptr;
    }
    try {
        return as_list(documents_of(lines, least, adjacent != 0), [&](const Document& each) { return as_object(each, lines); });
    } catch (const std::bad_alloc&) {
        return PyErr_NoMemory();
    }
}

PyMethodDef kMethods[] = {
    {"wet_record", wet_record, METH_VARARGS, "wet_record(data, start) -> (headers, text, start of the next), or None."},
    {"documents", documents, METH_VARARGS,
     "documents(text, record_ends, starts, ends, labels, scores, least, adjacent) -> [(record, label, text, lines, words, "
     "scores)]."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot kSlots[] = {{0, nullptr}};

PyModuleDef kModule = {
    PyModuleDef_HEAD_INIT, "_native", "Hot loops of a build.", 0, kMethods, kSlots, nullptr, nullptr, nullptr,
};

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }
