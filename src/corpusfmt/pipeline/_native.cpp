// The hot loops of a build that run for each header or line: read canonical records of a WET file, join kept lines into
// documents, compare hashes of lines.
//
// Input that is not certainly canonical is left to Python, which decides.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile only the loops, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../_python.hpp"
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../_compiler.hpp"
#include "../_json.hpp"
#include "../_utf8.hpp"
#include "../_hashes.hpp"

namespace corpusfmt {
namespace {

constexpr std::string_view kVersionLine = "WARC/1.0\r\n";
constexpr std::string_view kLineEnd = "\r\n";
constexpr std::string_view kEndOfRecord = "\r\n\r\n";
constexpr size_t kMostHeaderBytes = 64 * 1024;
constexpr size_t kMostDigits = 9;  // of a length, including leading zeros; larger records are not pages

char in_lower_case(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

struct Header {
    std::string_view name, value;

    bool is_named(std::string_view other) const {
        const auto is_same = [](char one, char another) { return in_lower_case(one) == in_lower_case(another); };
        return std::equal(name.begin(), name.end(), other.begin(), other.end(), is_same);
    }
};

struct Record {
    std::vector<Header> headers;
    std::string_view text;
    size_t next = 0;  // where the next record starts

    std::string_view kind() const {
        const auto found = std::find_if(headers.begin(), headers.end(), [](const Header& header) { return header.is_named("warc-type"); });
        return found == headers.end() ? std::string_view() : found->value;
    }
};

bool starts_with(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

std::string_view stripped(std::string_view value) {
    value.remove_prefix(std::min(value.find_first_not_of(" \t"), value.size()));
    return value.substr(0, value.find_last_not_of(" \t") + 1);
}

// Neither white space of any script nor part of a character that may be.
bool has_plain_ends(std::string_view text) {
    const auto is_plain = [](char byte) { return byte > ' ' && !(byte & 0x80); };
    return is_plain(text.front()) && is_plain(text.back());
}

// Leaves to warcio what it reads otherwise.
std::optional<Header> header_in(std::string_view line) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || colon == 0 || line.find('\n') != std::string_view::npos) return std::nullopt;
    const Header header{line.substr(0, colon), stripped(line.substr(colon + 1))};
    const bool is_plain = has_plain_ends(header.name) && (header.value.empty() || has_plain_ends(header.value));
    return is_plain && is_ascii(header.name) ? std::optional<Header>(header) : std::nullopt;
}

std::optional<size_t> length_in(std::string_view value) {
    uint32_t length;  // unsigned: no sign before it
    const char* const end = value.data() + value.size();
    const auto [rest, error] = std::from_chars(value.data(), end, length);
    return value.size() <= kMostDigits && error == std::errc() && rest == end ? std::optional<size_t>(length) : std::nullopt;
}

// The record that starts at a position, if it is canonical and complete in the data.
std::optional<Record> canonical_record(std::string_view data, size_t start) {
    if (!starts_with(data.substr(start), kVersionLine)) return std::nullopt;
    Record record;
    std::optional<size_t> length;
    size_t at = start + kVersionLine.size();
    while (!starts_with(data.substr(at), kLineEnd)) {
        const size_t end = data.substr(0, start + kMostHeaderBytes).find(kLineEnd, at);
        const std::optional<Header> header = end == std::string_view::npos ? std::nullopt : header_in(data.substr(at, end - at));
        const auto has_its_name = [&](const Header& other) { return other.is_named(header->name); };
        if (!header || std::any_of(record.headers.begin(), record.headers.end(), has_its_name)) return std::nullopt;
        if (header->is_named("content-length") && !(length = length_in(header->value))) return std::nullopt;
        record.headers.push_back(*header);
        at = end + kLineEnd.size();
    }
    if (!is_utf8(data.substr(start, at - start))) return std::nullopt;
    at += kLineEnd.size();
    if (!length || data.size() - at < *length || !starts_with(data.substr(at + *length), kEndOfRecord)) return std::nullopt;
    record.text = data.substr(at, *length);
    record.next = at + *length + kEndOfRecord.size();
    return record;
}

// Consecutive records: those of conversions, the number of records of all kinds, and the start of the first that was not read.
struct Records {
    std::vector<Record> conversions;
    size_t seen = 0, next = 0;
};

// Reads records up to the first that is not canonical, or of a kind that WET files do not have.
Records canonical_records(std::string_view data, size_t start) {
    constexpr std::array<std::string_view, 3> kNotOfWet{"response", "resource", "request"};
    Records found{{}, 0, start};
    while (auto record = canonical_record(data, found.next)) {
        const std::string_view kind = record->kind();
        if (std::find(kNotOfWet.begin(), kNotOfWet.end(), kind) != kNotOfWet.end()) break;
        ++found.seen;
        found.next = record->next;
        if (kind == "conversion") found.conversions.push_back(std::move(*record));
    }
    return found;
}

// One JSON object, its names in lower case.
std::string headers_as_json(const Record& record) {
    std::string json, name;
    for (const Header& header : record.headers) {
        name.assign(header.name);
        std::transform(name.begin(), name.end(), name.begin(), in_lower_case);
        append_escaped(json.append(json.empty() ? "{\"" : ",\""), name);
        append_escaped(json.append("\":\""), header.value);
        json += '"';
    }
    return json + '}';
}

// Classified lines, in order, and the ends of their records.
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
};

// Lines above the minimum probability, by record and label; with `adjacent`, only adjacent lines are joined.
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
    }
    return documents;
}

// A hash of 64 or 128 bits, the number of its line, and that of its section.
struct Key {
    uint64_t first, second, line;
    size_t section;
};

// Sorted keys as stored in a container: a column for each word of the hashes, and one for lines.
struct Section {
    size_t input;
    const uint64_t* columns;
    size_t size;
    size_t words;

    Key key(size_t at, size_t section) const { return {columns[at], words > 1 ? columns[size + at] : 0, columns[words * size + at], section}; }
};

// The lines that repeat an earlier one, by input. Sections are in input order, and equal keys in each in line order.
std::map<size_t, std::vector<uint64_t>> repetitions(const std::vector<Section>& sections) {
    constexpr size_t kKeysARange = 512;  // they stay in the cache
    constexpr uint64_t kOdd = 0x9E3779B97F4A7C15;
    // Nobody can write lines whose hashes all take the same slot.
    static const uint64_t secret = random_word() | 1;
    uint64_t lowest = UINT64_MAX, highest = 0;
    size_t total = 0;
    for (const Section& section : sections) {
        if (section.size == 0) continue;
        lowest = std::min(lowest, section.columns[0]);
        highest = std::max(highest, section.columns[section.size - 1]);
        total += section.size;
    }
    const size_t ranges = total / kKeysARange + 1;
    const uint64_t width = (highest - lowest) / ranges + 1;
    std::vector<size_t> starts(sections.size()), slots;  // a slot has the number of an occurrence, from 1 on, or 0
    std::vector<Key> occurrences;                        // in a range of hashes
    std::map<size_t, std::vector<uint64_t>> found;
    for (size_t range = 0; total > 0 && range < ranges; ++range) {
        occurrences.clear();
        for (size_t number = 0; number < sections.size(); ++number) {
            const Section& section = sections[number];
            for (size_t& at = starts[number]; at < section.size; ++at) {
                if (range < ranges - 1 && section.columns[at] - lowest >= width * (range + 1)) break;
                occurrences.push_back(section.key(at, number));
            }
        }
        int bits = 1;
        while (size_t{1} << bits < 2 * occurrences.size()) ++bits;
        slots.assign(size_t{1} << bits, 0);
        for (size_t number = 1; number <= occurrences.size(); ++number) {
            const Key& key = occurrences[number - 1];
            size_t at = static_cast<size_t>((key.first ^ key.second * kOdd) * secret >> (64 - bits));
            const auto is_same = [&](const Key& before) { return before.first == key.first && before.second == key.second; };
            while (slots[at] && !is_same(occurrences[slots[at] - 1])) at = (at + 1) & (slots.size() - 1);
            if (slots[at]) found[sections[key.section].input].push_back(key.line);
            else slots[at] = number;
        }
    }
    for (auto& [input, repeated] : found) std::sort(repeated.begin(), repeated.end());
    return found;
}

// A set of texts, by hash, that forgets them once there are more than `most`. With 0 it has none. The table is at most half full;
// zeros mark an empty slot.
class LineSet {
  public:
    using Hash = std::array<uint64_t, 2>;

    LineSet(SipHash hash, size_t most) : hash_(hash), most_(most) {}

    void forget_if_full() { if (count_ > most_) slots_.clear(), count_ = 0; }

    // The hash of a text, and whether it is new.
    std::pair<Hash, bool> add(std::string_view text) {
        const Hash hash = hash_.of(text);
        if (most_ == 0) return {hash, true};
        if (2 * (count_ + 1) > slots_.size()) grow();
        const bool is_new = std::exchange(slot_of(hash), hash) != hash;
        count_ += is_new;
        return {hash, is_new};
    }

  private:
    Hash& slot_of(const Hash& hash) {
        size_t at = hash[0] & (slots_.size() - 1);
        while (slots_[at] != Hash{} && slots_[at] != hash) at = (at + 1) & (slots_.size() - 1);
        return slots_[at];
    }

    void grow() {
        std::vector<Hash> before(std::max<size_t>(64, 2 * slots_.size()));
        before.swap(slots_);
        for (const Hash& hash : before) slot_of(hash) = hash;
    }

    SipHash hash_;
    size_t most_, count_ = 0;
    std::vector<Hash> slots_;
};

}  // namespace
}  // namespace corpusfmt

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace corpusfmt {
namespace {

PyObject* wet_records(PyObject*, PyObject* arguments) {
    const char* data;
    Py_ssize_t size, start;
    if (!PyArg_ParseTuple(arguments, "y#n:wet_records", &data, &size, &start)) return nullptr;
    if (start < 0 || start > size) return PyErr_Format(PyExc_ValueError, "there is no such place in the data");
    const Records found = canonical_records({data, static_cast<size_t>(size)}, static_cast<size_t>(start));
    std::string text;
    std::vector<int64_t> ends;
    text.reserve(found.next - static_cast<size_t>(start));
    for (const Record& record : found.conversions) {
        text.append(record.text);
        if (!record.text.empty() && record.text.back() != '\n') text += '\n';
        ends.push_back(static_cast<int64_t>(text.size()));
    }
    const auto headers = [](const Record& record) { return as_bytes(headers_as_json(record)); };
    return Py_BuildValue("NNNnn", as_list(found.conversions, headers), as_bytes(text), as_bytes(ends),
                         static_cast<Py_ssize_t>(found.seen), static_cast<Py_ssize_t>(found.next));
}

PyObject* as_object(const Document& document, const Lines& lines) {
    std::string text;
    std::vector<float> scores;
    for (const size_t line : document.lines) {
        text.append(lines.text.substr(static_cast<size_t>(lines.starts[line]), static_cast<size_t>(lines.ends[line] - lines.starts[line]))) += '\n';
        scores.push_back(lines.scores[line]);
    }
    return Py_BuildValue("niNnN", static_cast<Py_ssize_t>(document.record), static_cast<int>(document.label), as_bytes(text),
                         static_cast<Py_ssize_t>(scores.size()), as_bytes(scores));
}

PyObject* documents(PyObject*, PyObject* arguments) {
    Buffer text, record_ends, starts, ends, labels, scores;
    double least;
    int adjacent;
    if (!PyArg_ParseTuple(arguments, "y*y*y*y*y*y*dp:documents", &text.view, &record_ends.view, &starts.view, &ends.view,
                          &labels.view, &scores.view, &least, &adjacent)) {
        return nullptr;
    }
    const Lines lines{text.bytes(), record_ends.items<int64_t>(), record_ends.size<int64_t>(), starts.items<int64_t>(),
                      ends.items<int64_t>(), labels.items<int32_t>(), scores.items<float>(), starts.size<int64_t>()};
    const bool is_even = ends.size<int64_t>() == lines.count && labels.size<int32_t>() == lines.count && scores.size<float>() == lines.count;
    if (!is_even || !lines.fit()) return PyErr_Format(PyExc_ValueError, "columns do not fit each other, or the text");
    return as_list(documents_of(lines, least, adjacent != 0), [&](const Document& each) { return as_object(each, lines); });
}

PyObject* repetitions(PyObject*, PyObject* arguments) {
    PyObject* list;
    Py_ssize_t words;
    if (!PyArg_ParseTuple(arguments, "On:repetitions", &list, &words)) return nullptr;
    if (words != 1 && words != 2) return PyErr_Format(PyExc_ValueError, "hashes have one word or two");
    std::deque<Buffer> held;
    std::vector<Section> sections;
    const size_t columns = static_cast<size_t>(words) + 1;
    for (Py_ssize_t at = 0; at < PyList_Size(list); ++at) {
        Py_ssize_t input;
        Py_buffer& view = held.emplace_back().view;
        if (!PyArg_ParseTuple(PyList_GetItem(list, at), "ny*", &input, &view)) return nullptr;
        const size_t size = held.back().size<uint64_t>() / columns;
        sections.push_back({static_cast<size_t>(input), held.back().items<uint64_t>(), size, static_cast<size_t>(words)});
    }
    if (PyErr_Occurred()) return nullptr;
    const auto found = (Unlocked(), repetitions(sections));
    return as_list(found, [](const auto& each) {
        const auto& [input, lines] = each;
        return Py_BuildValue("nN", static_cast<Py_ssize_t>(input), as_bytes(lines));
    });
}

PyObject* line_set(PyObject*, PyObject* arguments) {
    Buffer key;
    Py_ssize_t most;
    if (!PyArg_ParseTuple(arguments, "y*n:line_set", &key.view, &most)) return nullptr;
    if (key.size() != 16) return PyErr_Format(PyExc_ValueError, "a key has 16 bytes");
    const SipHash hash{little_endian<8>(key.items<unsigned char>()), little_endian<8>(key.items<unsigned char>() + 8)};
    auto lines = std::make_unique<LineSet>(hash, static_cast<size_t>(std::max<Py_ssize_t>(most, 0)));
    const auto end = [](PyObject* self) { delete static_cast<LineSet*>(PyCapsule_GetPointer(self, nullptr)); };
    PyObject* const capsule = PyCapsule_New(lines.get(), nullptr, end);
    if (capsule) lines.release();
    return capsule;
}

PyObject* new_lines(PyObject*, PyObject* arguments) {
    PyObject *capsule, *bytes;
    if (!PyArg_ParseTuple(arguments, "OS:new_lines", &capsule, &bytes)) return nullptr;
    auto* const lines = static_cast<LineSet*>(PyCapsule_GetPointer(capsule, nullptr));
    if (!lines) return nullptr;
    const std::string_view text(PyBytes_AsString(bytes), static_cast<size_t>(PyBytes_Size(bytes)));
    lines->forget_if_full();
    std::string kept, digests, flags;
    for (size_t start = 0, next; start < text.size(); start = next) {
        const size_t end = std::min(text.find('\n', start), text.size());
        next = std::min(end + 1, text.size());
        const auto [hash, is_new] = lines->add(text.substr(start, end - start));
        flags.push_back(is_new ? '\1' : '\0');
        if (!is_new) continue;
        kept.append(text.substr(start, next - start));
        for (const uint64_t word : hash)
            for (int bits = 56; bits >= 0; bits -= 8) digests.push_back(static_cast<char>(word >> bits));
    }
    return Py_BuildValue("NNN", kept.size() == text.size() ? Py_NewRef(bytes) : as_bytes(kept), as_bytes(digests), as_bytes(flags));
}

PyMethodDef kMethods[] = {
    {"wet_records", guarded<wet_records>, METH_VARARGS, "wet_records(data, start) -> (headers, text, ends, seen, next)."},
    {"documents", guarded<documents>, METH_VARARGS,
     "documents(text, record_ends, starts, ends, labels, scores, least, adjacent) -> [(record, label, text, lines, scores)]."},
    {"repetitions", guarded<repetitions>, METH_VARARGS, "repetitions([(input, columns)], words) -> [(input, numbers)]."},
    {"line_set", guarded<line_set>, METH_VARARGS,
     "line_set(key, most) -> a set of lines, known by their hashes; it forgets them when there are more."},
    {"new_lines", guarded<new_lines>, METH_VARARGS,
     "new_lines(line_set, text) -> (its new lines, their digests, for each line 1 if it is new or 0)."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = kernel_of("Hot loops of a build.", kMethods);

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
