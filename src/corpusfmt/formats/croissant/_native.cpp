// Blocks of CSV and TSV files in one pass: whether every cell is clearly valid, and the hashes of the keys.
//
// The kernel leaves everything else to the reader of rows, which decides and words the messages.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile the loops alone, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../../_python.hpp"
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../_utf8.hpp"
#include "../../_hashes.hpp"

namespace corpusfmt {
namespace {

// The types that cells of a column may have. For other types every cell that is not empty is left over.
enum Kind : int { kText, kInteger, kNumber, kDate, kBoolean, kUrl, kOther };

// What a column needs: a key its hashes, an integer the check of its range.
struct Wanted {
    size_t column;
    int kind;
    bool is_key;
    int64_t low, high;
};

// A cell that only a cast can judge: its row, the text between its quotes, and whether quotes inside are doubled.
struct LeftOver {
    size_t row;
    std::string_view text;
    bool is_escaped;
};

struct Column {
    std::vector<LeftOver> left_over;
    std::vector<uint64_t> hashes;  // of the keys, by row
    std::vector<uint8_t> present;  // which rows have one
};

struct Table {
    size_t rows = 0;
    std::vector<Column> columns;
};

// With more cells than this the whole block is left over.
constexpr size_t kMostLeftOver = 1 << 16;

// The number in a text of few digits, perhaps with a sign; for a key only if no other text is the same number.
bool is_plain_integer(std::string_view text, const Wanted& wanted) {
    constexpr size_t kMostDigits = 18;  // any of them fits 64 bits
    const bool is_negative = text[0] == '-', is_signed = is_negative || (text[0] == '+' && !wanted.is_key);
    if (is_signed) text.remove_prefix(1);
    if (text.empty() || text.size() > kMostDigits || !std::all_of(text.begin(), text.end(), is_digit)) return false;
    if (wanted.is_key && text[0] == '0' && (is_negative || text.size() > 1)) return false;
    int64_t number = 0;
    std::from_chars(text.data() - is_negative, text.data() + text.size(), number);
    return wanted.low <= number && number <= wanted.high;
}

bool is_plain_number(std::string_view text) {
    constexpr size_t kMostCharacters = 24;
    if (text.size() > kMostCharacters) return false;
    if (text[0] == '-' || text[0] == '+') text.remove_prefix(1);
    size_t at = 0, digits = 0, points = 0;
    for (; at < text.size() && (is_digit(text[at]) || text[at] == '.'); ++at) {
        digits += is_digit(text[at]);
        points += text[at] == '.';
    }
    if (digits == 0 || points > 1) return false;
    if (at == text.size()) return true;
    if (text[at] != 'e' && text[at] != 'E') return false;
    text.remove_prefix(at + 1);
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
    // An exponent of two digits keeps any number finite.
    return !text.empty() && text.size() <= 2 && std::all_of(text.begin(), text.end(), is_digit);
}

// Days beyond the 28th are left to the calendar.
bool is_plain_date(std::string_view text) {
    if (!fits(text, "9999-99-99")) return false;
    const int month = (text[5] - '0') * 10 + text[6] - '0', day = (text[8] - '0') * 10 + text[9] - '0';
    return text.substr(0, 4) != "0000" && month >= 1 && month <= 12 && day >= 1 && day <= 28;
}

bool is_plain(std::string_view text, const Wanted& wanted) {
    switch (wanted.kind) {
        case kText: return true;
        case kInteger: return is_plain_integer(text, wanted);
        case kNumber: return is_plain_number(text);
        case kDate: return is_plain_date(text);
        case kBoolean: return text == "true" || text == "false" || text == "0" || text == "1";
        case kUrl: return std::all_of(text.begin(), text.end(), [](char byte) { return byte > ' ' && byte < 0x7F; });
        default: return false;
    }
}

// Reads the cells of whole lines.
class Reader {
  public:
    Reader(std::string_view data, char delimiter) : data_(data), delimiter_(delimiter) {
        ends_[static_cast<unsigned char>(delimiter)] = ends_['\n'] = ends_['"'] = ends_['\r'] = true;
    }

    bool is_at_end() const { return at_ == data_.size(); }

    // Reads a cell and its end; false if only a reader of rows can interpret it.
    bool read() {
        is_escaped = false;
        if (at_ < data_.size() && data_[at_] == '"') return read_quoted();
        const size_t start = at_;
        while (at_ < data_.size() && !ends_[static_cast<unsigned char>(data_[at_])]) ++at_;
        text = data_.substr(start, at_ - start);
        const bool begins_row = ends_row;
        return read_end() && !(begins_row && ends_row && text.empty());  // an empty line is not a row
    }

    std::string_view text;
    bool is_escaped = false;
    // Whether the cell is the last of its row: a row ends where its first cell begins.
    bool ends_row = true;

  private:
    bool read_quoted() {
        const size_t start = ++at_;
        for (;; at_ += 2) {
            const size_t quote = data_.find('"', at_);
            if (quote == std::string_view::npos) return false;
            at_ = quote;
            if (at_ + 1 == data_.size() || data_[at_ + 1] != '"') break;
            is_escaped = true;
        }
        text = data_.substr(start, at_ - start);
        ++at_;
        for (size_t at = 0; (at = text.find('\r', at)) != std::string_view::npos; ++at) {
            if (at + 1 == text.size() || text[at + 1] != '\n') return false;
        }
        return read_end();
    }

    bool read_end() {
        if (at_ < data_.size() && data_[at_] == '\r') {
            if (at_ + 1 == data_.size() || data_[at_ + 1] != '\n') return false;
            ++at_;
        }
        ends_row = at_ == data_.size() || data_[at_] == '\n';
        if (!ends_row && data_[at_] != delimiter_) return false;
        at_ += at_ < data_.size();
        return true;
    }

    std::string_view data_;
    char delimiter_;
    size_t at_ = 0;
    std::array<bool, 256> ends_{};
};

// Judges the cells of a row, and takes its keys.
void take_cell(const Wanted& wanted, const Reader& reader, size_t row, Column& column) {
    if (!reader.text.empty()) {
        const bool is_its_text = !reader.is_escaped || (wanted.kind == kText && !wanted.is_key);
        if (!is_its_text || !is_plain(reader.text, wanted)) column.left_over.push_back({row, reader.text, reader.is_escaped});
    }
    if (wanted.is_key) {
        column.hashes.push_back(Xxh64::of(reader.text));
        column.present.push_back(!reader.text.empty());
    }
}

// The rows of whole lines, and the results for their columns, which are in order; nothing if a row has another
// width, if a quote or CR is misplaced, if bytes are not UTF-8, or if many cells are left over.
std::optional<Table> plain_table(std::string_view data, char delimiter, size_t width, const std::vector<Wanted>& wanted) {
    if (width == 0 || !is_utf8(data)) return std::nullopt;
    Table table;
    table.columns.resize(wanted.size());
    Reader reader(data, delimiter);
    for (; !reader.is_at_end(); ++table.rows) {
        size_t next = 0;
        for (size_t at = 0; at < width; ++at) {
            if (!reader.read() || reader.ends_row != (at + 1 == width)) return std::nullopt;
            for (; next < wanted.size() && wanted[next].column == at; ++next) {
                Column& column = table.columns[next];
                take_cell(wanted[next], reader, table.rows, column);
                if (column.left_over.size() > kMostLeftOver) return std::nullopt;
            }
        }
    }
    return table;
}

}  // namespace
}  // namespace corpusfmt

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace corpusfmt {
namespace {

PyObject* as_tuple(const Column& column) {
    const auto cell = [](const LeftOver& each) {
        return Py_BuildValue("ny#N", static_cast<Py_ssize_t>(each.row), each.text.data(),
                             static_cast<Py_ssize_t>(each.text.size()), PyBool_FromLong(each.is_escaped));
    };
    return Py_BuildValue("NNN", as_list(column.left_over, cell), as_bytes(column.hashes), as_bytes(column.present));
}

PyObject* plain_table(PyObject*, PyObject* arguments) {
    const char *data, *delimiter;
    Py_ssize_t size, length, width;
    PyObject* list;
    if (!PyArg_ParseTuple(arguments, "y#y#nO:plain_table", &data, &size, &delimiter, &length, &width, &list)) return nullptr;
    if (!PyList_Check(list) || length != 1 || width < 1) return PyErr_Format(PyExc_ValueError, "plain_table(data, delimiter, width, wanted)");
    std::vector<Wanted> wanted;
    for (Py_ssize_t at = 0; at < PyList_Size(list); ++at) {
        Py_ssize_t column;
        int kind, is_key;
        long long low, high;
        if (!PyArg_ParseTuple(PyList_GetItem(list, at), "nipLL:plain_table", &column, &kind, &is_key, &low, &high)) return nullptr;
        wanted.push_back({static_cast<size_t>(column), kind, is_key != 0, low, high});
    }
    const auto found = plain_table({data, static_cast<size_t>(size)}, *delimiter, static_cast<size_t>(width), wanted);
    return found ? Py_BuildValue("nN", static_cast<Py_ssize_t>(found->rows), as_list(found->columns, as_tuple)) : Py_NewRef(Py_None);
}

// The hash for each number in a buffer, which may be at any address.
template <typename Hash>
PyObject* hashes_for(const Buffer& numbers, Hash hash) {
    std::vector<uint64_t> hashes(numbers.size<uint64_t>());
    std::memcpy(hashes.data(), numbers.items(), hashes.size() * sizeof(uint64_t));
    std::transform(hashes.begin(), hashes.end(), hashes.begin(), hash);
    return as_bytes(hashes);
}

PyObject* hashes_of_integers(PyObject*, PyObject* object) {
    Buffer numbers;
    return numbers.open(object) ? hashes_for(numbers, [](uint64_t each) { return Xxh64::of(std::to_string(static_cast<int64_t>(each))); }) : nullptr;
}

PyObject* hashes_of_texts(PyObject*, PyObject* arguments) {
    Buffer texts, ends;
    if (!PyArg_ParseTuple(arguments, "y*y*", &texts.view, &ends.view)) return nullptr;
    size_t begin = 0;
    return hashes_for(ends, [&](uint64_t end) {
        const size_t start = std::min(std::exchange(begin, end), texts.size());
        return Xxh64::of(texts.bytes().substr(start, end - start));
    });
}

PyMethodDef kMethods[] = {
    {"plain_table", guarded<plain_table>, METH_VARARGS,
     "plain_table(data, delimiter, width, wanted) -> (number of rows, for each column: cells left over, hashes, which rows have a key), or None."},
    {"hashes_of_integers", guarded<hashes_of_integers>, METH_O, "hashes_of_integers(numbers) -> the hash of the text of each number of 64 bits."},
    {"hashes_of_texts", guarded<hashes_of_texts>, METH_VARARGS, "hashes_of_texts(texts, ends) -> the hash of each text, from the end of the one before."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = kernel_of("Blocks of tables, fast.", kMethods);

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
