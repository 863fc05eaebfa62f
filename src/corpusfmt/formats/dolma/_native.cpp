// Fast accept: which rows of a Dolma file are certainly clean, and the values that pair them.
//
// One pass reads each row with a parser that is stricter than JSON where JSON leaves room: a row that it accepts is
// strict UTF-8 and strict JSON, has no name twice in one object and no number beyond 64 bits, and breaks none of the
// rules on documents or attributes, except those on spans; no text looks as if it was encoded twice. Other rows may
// still be correct: the rules judge them in Python, with message and place. Therefore every doubt is a "no" here, and
// hash collisions, deep nesting or numbers near the limits need no more care than that.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile the parser alone, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../../_python.hpp"
#endif

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../../_double_encoding.hpp"
#include "../../_utf8.hpp"

namespace corpusfmt {

// ---------------------------------------------------------------------------------------------------------------------
// JSON

constexpr bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

constexpr bool ends_plain_text(int byte) { return byte < 0x20 || byte == '"' || byte == '\\'; }

constexpr std::array<bool, 256> kEndsPlainText = [] {
    std::array<bool, 256> table{};
    for (int byte = 0; byte < 256; ++byte) table[static_cast<size_t>(byte)] = ends_plain_text(byte);
    return table;
}();

// Whether one of eight bytes ends a stretch of plain text.
constexpr bool any_ends_plain_text(uint64_t bytes) {
    const uint64_t control_or_quote = (bytes ^ in_each_byte(2)) - in_each_byte(0x21);  // the 2 moves the quote next to them
    const uint64_t backslash = (bytes ^ in_each_byte('\\')) - in_each_byte(1);
    return ((control_or_quote | backslash) & ~bytes & in_each_byte(0x80)) != 0;
}

// The first byte from `at` on that ends a stretch of plain text; there must be one before `end` or at it.
inline const char* end_of_plain_text(const char* at, const char* end) {
    uint64_t bytes;
    while (static_cast<size_t>(end - at) >= sizeof(bytes)) {
        std::memcpy(&bytes, at, sizeof(bytes));
        if (any_ends_plain_text(bytes)) break;
        at += sizeof(bytes);
    }
    while (!kEndsPlainText[static_cast<unsigned char>(*at)]) ++at;
    return at;
}

constexpr bool is_short_escape(char kind) {
    switch (kind) {
        case '"': case '\\': case '/': case 'b': case 'f': case 'n': case 'r': case 't': return true;
        default: return false;
    }
}

inline int hex_digit(char byte) {
    if (is_digit(byte)) return byte - '0';
    const char lower = static_cast<char>(byte | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

inline void append_utf8(std::string& text, uint32_t character) {
    const auto append = [&](uint32_t byte) { text += static_cast<char>(byte); };
    if (character < 0x80) return append(character);
    if (character < 0x800) {
        append(0xC0 | character >> 6);
    } else {
        if (character < 0x10000) {
            append(0xE0 | character >> 12);
        } else {
            append(0xF0 | character >> 18);
            append(0x80 | (character >> 12 & 0x3F));
        }
        append(0x80 | (character >> 6 & 0x3F));
    }
    append(0x80 | (character & 0x3F));
}

// A cheap hash: it must be equal for equal names, and should differ for others.
inline uint64_t hash_of(std::string_view name) {
    constexpr uint64_t kFactor = 0x9E3779B97F4A7C15;
    uint64_t hash = name.size() * kFactor;
    const auto mix = [&](uint64_t word) {
        hash = (hash ^ word) * kFactor;
        hash ^= hash >> 32;
    };
    uint64_t word;
    while (name.size() >= sizeof(word)) {
        std::memcpy(&word, name.data(), sizeof(word));
        mix(word);
        name.remove_prefix(sizeof(word));
    }
    word = 0;
    if (!name.empty()) std::memcpy(&word, name.data(), name.size());
    mix(word);
    return hash;
}

struct String {
    std::string_view raw;  // between the quotation marks
    size_t saved = 0;      // the number of characters that escapes add to the raw text
    bool accents = false;  // whether escapes represent characters from U+00C0 to U+00FF
};

struct Number {
    bool negative = false, integer = true;
    uint64_t magnitude = 0;  // of an integer
};

// Reads JSON values from valid UTF-8. Each function reads one thing and returns whether it is flawless.
//
// A control character must follow: no string, number or space goes past it.
class Parser {
  public:
    // `end` is the place of a control character after the rows to read.
    explicit Parser(const char* end) : end_(end) {}

    void start(const char* row) {
        at_ = row;
        names_.clear();
    }

    const char* at() const { return at_; }

    void skip_space() {
        while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
    }

    bool take(char byte) {
        if (*at_ != byte) return false;
        ++at_;
        return true;
    }

    bool string(String& found) {
        if (!take('"')) return false;
        const char* const begin = at_;
        found.saved = 0;
        found.accents = false;
        for (;;) {
            at_ = end_of_plain_text(at_, end_);
            if (*at_ == '"') break;
            if (!take('\\') || !escape(found)) return false;
        }
        found.raw = {begin, static_cast<size_t>(at_ - begin)};
        ++at_;
        return true;
    }

    // The text of a string. It lives as long as the parser and the bytes that it reads.
    std::string_view text_of(const String& string) {
        return string.saved ? std::string_view(decoded_.emplace_back(unescaped(string.raw))) : string.raw;
    }

    // Integers must fit into 64 bits, other numbers must be finite as a double and have no more digits than it keeps.
    bool number(Number& found) {
        found = Number{};
        found.negative = take('-');
        const char* const begin = at_;
        while (is_digit(*at_)) found.magnitude = found.magnitude * 10 + static_cast<uint64_t>(*at_++ - '0');
        const auto digits = static_cast<int64_t>(at_ - begin);
        if (digits == 0 || (digits > 1 && *begin == '0')) return false;
        int64_t significant = *begin == '0' ? 0 : digits;
        if (take('.')) {
            found.integer = false;
            const char* const fraction = at_;
            if (!skip_digits()) return false;
            const char* first = fraction;
            if (significant == 0) first = std::find_if(fraction, at_, [](char digit) { return digit != '0'; });
            significant += at_ - first;
        }
        int64_t exponent = 0;
        if (*at_ == 'e' || *at_ == 'E') {
            ++at_;
            found.integer = false;
            if (!read_exponent(exponent)) return false;
        }
        if (!found.integer) return digits + exponent <= kDigitsOfDoubles && significant <= kDigitsKept;
        return digits <= kDigitsOfIntegers && (!found.negative || found.magnitude <= uint64_t{1} << 63);
    }

    bool value(int levels) {
        switch (*at_) {
            case '"': {
                String ignored;
                return string(ignored);
            }
            case '{': return object(levels, [&](std::string_view) { return value(levels - 1); });
            case '[': return array(levels, [&] { return value(levels - 1); });
            case 't': return word("true");
            case 'f': return word("false");
            case 'n': return word("null");
            default: {
                Number ignored;
                return number(ignored);
            }
        }
    }

    // Calls `member` with each name; it must read the value.
    template <typename Member>
    bool object(int levels, Member member) {
        if (levels == 0 || !take('{')) return false;
        const size_t first = names_.size();
        skip_space();
        if (take('}')) return true;
        do {
            skip_space();
            String name;
            if (!string(name)) return false;
            const std::string_view text = text_of(name);
            names_.push_back(hash_of(text));
            skip_space();
            if (!take(':')) return false;
            skip_space();
            if (!member(text)) return false;
            skip_space();
        } while (take(','));
        return take('}') && are_different(first);
    }

    // Calls `item` for each item; it must read the item.
    template <typename Item>
    bool array(int levels, Item item) {
        if (levels == 0 || !take('[')) return false;
        skip_space();
        if (take(']')) return true;
        do {
            skip_space();
            if (!item()) return false;
            skip_space();
        } while (take(','));
        return take(']');
    }

    bool word(const char* expected) {
        while (*expected) {
            if (!take(*expected++)) return false;
        }
        return true;
    }

  private:
    static constexpr int64_t kDigitsOfDoubles = 308;  // any number below 10^308 is finite
    static constexpr int64_t kDigitsKept = 17;  // a double keeps no more
    static constexpr int64_t kDigitsOfIntegers = 19;  // any number below 10^19 fits, if it is not negative
    static constexpr int64_t kHugeExponent = 1'000'000;
    static constexpr size_t kFew = 24;

    bool skip_digits() {
        const char* const begin = at_;
        while (is_digit(*at_)) ++at_;
        return at_ != begin;
    }

    bool read_exponent(int64_t& exponent) {
        const bool negative = *at_ == '-';
        if (*at_ == '-' || *at_ == '+') ++at_;
        const char* const begin = at_;
        for (; is_digit(*at_); ++at_) exponent = std::min(exponent * 10 + (*at_ - '0'), kHugeExponent);
        if (negative) exponent = -exponent;
        return at_ != begin;
    }

    bool four_hex_digits(uint32_t& unit) {
        unit = 0;
        for (int count = 0; count < 4; ++count) {
            const int digit = hex_digit(*at_);
            if (digit < 0) return false;
            unit = unit << 4 | static_cast<uint32_t>(digit);
            ++at_;
        }
        return true;
    }

    // One character's escape, after its backslash; surrogates must come in pairs.
    bool escape(String& found) {
        const char kind = *at_;
        if (kind != 'u') {
            if (!is_short_escape(kind)) return false;
            ++at_;
            found.saved += 1;
            return true;
        }
        ++at_;
        uint32_t unit;
        if (!four_hex_digits(unit)) return false;
        found.saved += 5;
        found.accents |= unit >= 0xC0 && unit <= 0xFF;
        if (unit < 0xD800 || unit > 0xDFFF) return true;
        if (unit > 0xDBFF || !word("\\u") || !four_hex_digits(unit)) return false;
        found.saved += 6;
        return unit >= 0xDC00 && unit <= 0xDFFF;
    }

    static uint32_t unit_at(const char* digits) {
        uint32_t unit = 0;
        for (int at = 0; at < 4; ++at) unit = unit << 4 | static_cast<uint32_t>(hex_digit(digits[at]));
        return unit;
    }

    static std::string unescaped(std::string_view raw) {
        std::string text;
        text.reserve(raw.size());
        while (!raw.empty()) {
            const size_t plain = std::min(raw.find('\\'), raw.size());
            text += raw.substr(0, plain);
            raw.remove_prefix(plain);
            if (raw.empty()) break;
            const char kind = raw[1];
            size_t length = 2;
            if (kind == 'u') {
                uint32_t character = unit_at(raw.data() + 2);
                length = 6;
                if (character >= 0xD800 && character <= 0xDBFF) {
                    character = 0x10000 + ((character - 0xD800) << 10) + (unit_at(raw.data() + 8) - 0xDC00);
                    length = 12;
                }
                append_utf8(text, character);
            } else {
                constexpr std::string_view kKinds = "bfnrt", kMeanings = "\b\f\n\r\t";
                const size_t found = kKinds.find(kind);
                text += found == std::string_view::npos ? kind : kMeanings[found];
            }
            raw.remove_prefix(length);
        }
        return text;
    }

    // Whether the names of an object differ, by their hashes; forgets them.
    bool are_different(size_t first) {
        const auto begin = names_.begin() + static_cast<std::ptrdiff_t>(first);
        bool different = true;
        if (names_.size() - first <= kFew) {
            for (auto name = begin; name != names_.end(); ++name) {
                for (auto other = begin; other != name; ++other) different &= *other != *name;
            }
        } else {
            std::sort(begin, names_.end());
            different = std::adjacent_find(begin, names_.end()) == names_.end();
        }
        names_.resize(first);
        return different;
    }

    const char* at_ = nullptr;
    const char* const end_;
    std::vector<uint64_t> names_;  // hashes of the names of all open objects
    std::deque<std::string> decoded_;
};

// ---------------------------------------------------------------------------------------------------------------------
// Timestamps

// Reads the parts of a timestamp; each function returns whether its part is there.
class Clock {
  public:
    explicit Clock(std::string_view text) : rest_(text) {}

    bool at_end() const { return rest_.empty(); }

    bool take_any(std::string_view of) {
        if (rest_.empty() || of.find(rest_.front()) == std::string_view::npos) return false;
        rest_.remove_prefix(1);
        return true;
    }

    // This many digits, as a number from `least` to `most`.
    bool number(size_t digits, int least, int most, int& found) {
        if (rest_.size() < digits) return false;
        found = 0;
        for (size_t at = 0; at < digits; ++at) {
            if (!is_digit(rest_[at])) return false;
            found = found * 10 + (rest_[at] - '0');
        }
        rest_.remove_prefix(digits);
        return found >= least && found <= most;
    }

    bool digits() {
        const size_t before = rest_.size();
        while (!rest_.empty() && is_digit(rest_.front())) rest_.remove_prefix(1);
        return rest_.size() < before;
    }

  private:
    std::string_view rest_;
};

constexpr bool is_leap(int year) { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0); }

inline bool is_date(Clock& clock) {
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year, month, day;
    if (!clock.number(4, 0, 9999, year) || !clock.take_any("-") || !clock.number(2, 1, 12, month)) return false;
    const int days = kDays[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
    return clock.take_any("-") && clock.number(2, 1, days, day);
}

inline bool is_time(Clock& clock) {
    int ignored;
    if (!clock.number(2, 0, 23, ignored) || !clock.take_any(":") || !clock.number(2, 0, 59, ignored)) return false;
    if (clock.take_any(":")) {
        if (!clock.number(2, 0, 60, ignored)) return false;
        if (clock.take_any(".,") && !clock.digits()) return false;
    }
    if (clock.take_any("+-")) {
        if (!clock.number(2, 0, 23, ignored)) return false;
        if (clock.at_end()) return true;
        clock.take_any(":");
        return clock.number(2, 0, 59, ignored);
    }
    clock.take_any("Zz");
    return true;
}

// The same as `is_timestamp` of the rules.
inline bool is_timestamp(std::string_view text) {
    Clock clock(text);
    if (!is_date(clock)) return false;
    return clock.at_end() || (clock.take_any("Tt ") && is_time(clock) && clock.at_end());
}

// ---------------------------------------------------------------------------------------------------------------------
// Rows

constexpr int kLevels = 64;

struct Document {
    std::string_view id, source;
    uint64_t length = 0;  // of the text, in code points
};

// A reach that needs a closer look at the spans.
constexpr uint64_t kUnclear = uint64_t{1} << 63;

struct Attributes {
    std::string_view id;
    std::optional<std::string_view> source;
    uint64_t reach = 0;  // the greatest end of its spans
};

// The names of the attributes of a row and of the rows after it, up to the next shape.
struct Shape {
    size_t row;
    std::vector<std::string_view> names;
};

// The rows of a block. Views point into the block or into strings in `parser`.
template <typename Row>
struct Rows {
    explicit Rows(const char* end) : parser(end) {}

    Parser parser;
    std::vector<Row> rows;
    std::vector<Shape> shapes;
};

inline bool read_text(Parser& parser, std::string_view& text) {
    String found;
    if (!parser.string(found)) return false;
    text = parser.text_of(found);
    return true;
}

inline bool read_timestamp(Parser& parser) {
    String found;
    return parser.string(found) && !found.saved && is_timestamp(found.raw);
}

inline bool read_row(Rows<Document>& block, bool ascii, Document& row) {
    Parser& parser = block.parser;
    bool has_id = false, has_text = false, has_source = false;
    const auto object = [&] { return parser.object(kLevels, [&](std::string_view) { return parser.value(kLevels); }); };
    const auto member = [&](std::string_view name) {
        if (name == "id") return has_id = read_text(parser, row.id);
        if (name == "source") return has_source = read_text(parser, row.source);
        if (name == "text") {
            String text;
            if (!parser.string(text)) return false;
            if (!ascii && double_encoding_at<false>(text.raw, 0)) return false;
            if (text.accents && double_encoding_at<true>(text.raw, 0)) return false;
            row.length = text.raw.size() - text.saved - (ascii ? 0 : continuations_in(text.raw));
            return has_text = true;
        }
        if (name == "added" || name == "created") return read_timestamp(parser);
        if (name == "metadata" || name == "attributes") return object();
        if (name == "version") {
            String version;
            return parser.word("null") || parser.string(version);
        }
        return parser.value(kLevels);
    };
    return parser.object(kLevels, member) && has_id && has_text && has_source && !row.id.empty();
}

inline bool read_offset(Parser& parser, uint64_t& offset) {
    Number number;
    if (!parser.number(number) || !number.integer || number.negative || number.magnitude >= kUnclear) return false;
    offset = number.magnitude;
    return true;
}

inline bool read_span(Parser& parser, uint64_t& start, uint64_t& end) {
    Number score;
    const auto comma = [&] {
        parser.skip_space();
        const bool found = parser.take(',');
        parser.skip_space();
        return found;
    };
    if (!parser.take('[')) return false;
    parser.skip_space();
    if (!read_offset(parser, start) || !comma() || !read_offset(parser, end) || !comma()) return false;
    if (!parser.number(score)) return false;
    parser.skip_space();
    return parser.take(']');
}

inline bool read_spans(Parser& parser, uint64_t& reach) {
    uint64_t previous = 0;
    bool clear = true;
    const auto span = [&] {
        uint64_t start, end;
        if (!read_span(parser, start, end)) return false;
        clear = clear && previous <= start && start < end;
        previous = end;
        return true;
    };
    if (!parser.array(1, span)) return false;
    reach = std::max(reach, clear ? previous : kUnclear);
    return true;
}

inline bool read_row(Rows<Attributes>& block, bool, Attributes& row) {
    Parser& parser = block.parser;
    bool has_id = false, has_attributes = false;
    std::vector<std::string_view> names;
    if (!block.shapes.empty()) names.reserve(block.shapes.back().names.size());
    const auto attribute = [&](std::string_view name) {
        names.push_back(name);
        if (parser.at()[0] == '[') return read_spans(parser, row.reach);
        return parser.at()[0] != 'n' && parser.value(kLevels);
    };
    const auto member = [&](std::string_view name) {
        if (name == "id") return has_id = read_text(parser, row.id);
        if (name == "attributes") return has_attributes = parser.object(kLevels, attribute);
        if (name == "source") return parser.word("null") || read_text(parser, row.source.emplace());
        return parser.value(kLevels);
    };
    if (!parser.object(kLevels, member) || !has_id || !has_attributes) return false;
    if (block.shapes.empty() || block.shapes.back().names != names) {
        block.shapes.push_back({block.rows.size(), std::move(names)});
    }
    return true;
}

// The rows of whole lines, or none unless all are clean. A zero follows `lines`.
template <typename Row>
std::unique_ptr<Rows<Row>> clean_rows(std::string_view lines) {
    const char* const end = lines.data() + lines.size();
    auto found = std::make_unique<Rows<Row>>(end);
    const char* at = lines.data();
    while (at < end) {
        const void* const feed = std::memchr(at, '\n', static_cast<size_t>(end - at));
        const char* const end_of_row = feed ? static_cast<const char*>(feed) : end;
        const std::string_view bytes(at, static_cast<size_t>(end_of_row - at));
        const bool ascii = is_ascii(bytes);
        if (!ascii && !Utf8Automaton::accepts(bytes)) return nullptr;
        Row row;
        found->parser.start(at);
        found->parser.skip_space();
        if (!read_row(*found, ascii, row)) return nullptr;
        found->parser.skip_space();
        if (found->parser.at() != end_of_row) return nullptr;
        found->rows.push_back(row);
        at = end_of_row + 1;
    }
    return found->rows.empty() ? nullptr : std::move(found);
}

}  // namespace corpusfmt

// ---------------------------------------------------------------------------------------------------------------------
// The Python module

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace {

using corpusfmt::as_list;
using corpusfmt::as_str;
using corpusfmt::Attributes;
using corpusfmt::Document;
using corpusfmt::Owned;

// Consecutive rows often have the same source: they share one object.
class Sources {
  public:
    PyObject* operator()(std::string_view source) {
        if (!last_ || source != text_) {
            last_.reset(as_str(source));
            text_ = source;
        }
        return Py_XNewRef(last_.get());
    }

  private:
    std::string_view text_;
    Owned last_;
};

PyObject* columns_of(const corpusfmt::Rows<Document>& found) {
    Sources sources;
    return Py_BuildValue("NNN", as_list(found.rows, [](const Document& row) { return as_str(row.id); }),
                         as_list(found.rows, [&](const Document& row) { return sources(row.source); }),
                         as_list(found.rows, [](const Document& row) { return PyLong_FromUnsignedLongLong(row.length); }));
}

PyObject* as_item(const corpusfmt::Shape& shape) {
    const Owned names(as_list(shape.names, as_str));
    return names ? Py_BuildValue("nN", static_cast<Py_ssize_t>(shape.row), PyList_AsTuple(names.get())) : nullptr;
}

PyObject* columns_of(const corpusfmt::Rows<Attributes>& found) {
    Sources sources;
    const auto source = [&](const Attributes& row) { return row.source ? sources(*row.source) : Py_NewRef(Py_None); };
    return Py_BuildValue("NNNN", as_list(found.rows, [](const Attributes& row) { return as_str(row.id); }),
                         as_list(found.rows, source),
                         as_list(found.rows, [](const Attributes& row) { return PyLong_FromUnsignedLongLong(row.reach); }),
                         as_list(found.shapes, as_item));
}

template <typename Row>
PyObject* clean_columns(PyObject*, PyObject* lines) {
    char* data;
    Py_ssize_t size;
    if (PyBytes_AsStringAndSize(lines, &data, &size) < 0) return nullptr;
    std::unique_ptr<corpusfmt::Rows<Row>> found;
    bool enough_memory = true;
    Py_BEGIN_ALLOW_THREADS
    try {
        found = corpusfmt::clean_rows<Row>({data, static_cast<size_t>(size)});  // Python ends all bytes with a zero
    } catch (const std::bad_alloc&) {
        enough_memory = false;
    }
    Py_END_ALLOW_THREADS
    if (!enough_memory) return PyErr_NoMemory();
    return found ? columns_of(*found) : Py_NewRef(Py_None);
}

PyMethodDef kMethods[] = {
    {"documents", clean_columns<Document>, METH_O,
     "documents(lines) -> (ids, sources, lengths of texts in code points), or None where a rule may have something to "
     "say."},
    {"attributes", clean_columns<Attributes>, METH_O,
     "attributes(lines) -> (ids, sources, reaches, shapes), or None where a rule may have something to say."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = corpusfmt::kernel_of("Clean rows of Dolma files, fast.", kMethods);

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
