// Fast accept: which rows of Dolma and of OSCAR's metadata are certainly clean, and the values that pair them.
//
// One pass reads each row with a parser that is stricter than JSON where JSON leaves room: a row that it accepts is
// strict UTF-8 and strict JSON, has no name twice in one object and no number beyond 64 bits, and breaks none of the
// rules on documents, attributes or records, except those on spans, on missing headers and languages, and on texts that are
// marked since they may be encoded twice. Other rows may still be correct: the rules judge them, with message and place.
// Therefore every doubt is a "no" here, and hash collisions, deep nesting or numbers near the limits need no more care.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile the parser alone, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../_python.hpp"
#endif

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../_double_encoding.hpp"
#include "../_json.hpp"
#include "../_utf8.hpp"
#include "../_hashes.hpp"

namespace corpusfmt {

constexpr int kLevels = 64;

// The same as `is_timestamp` of the rules.
inline bool is_timestamp(std::string_view text) {
    constexpr int kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const auto starts = [&](std::string_view pattern) { return fits(text.substr(0, pattern.size()), pattern); };
    const auto number = [&](size_t at) { return (text[at] - '0') * 10 + text[at + 1] - '0'; };
    if (!starts("9999-99-99")) return false;
    const int year = number(2) ? number(2) : number(0), month = number(5), day = number(8);
    if (month < 1 || month > 12 || day < 1 || day > kDays[month - 1] + (month == 2 && year % 4 == 0)) return false;
    text.remove_prefix(10);
    if (text.empty()) return true;
    if (!(starts("T99:99") || starts("t99:99") || starts(" 99:99")) || number(1) > 23 || number(4) > 59) return false;
    text.remove_prefix(6);
    if (starts(":")) {
        if (!starts(":99") || number(1) > 60) return false;
        text.remove_prefix(3);
        if (starts(".9") || starts(",9")) text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
    }
    if (!starts("+99") && !starts("-99")) return text.empty() || text == "Z" || text == "z";
    if (number(1) > 23) return false;
    text.remove_prefix(3);
    return text.empty() || ((fits(text, "99") || fits(text, ":99")) && number(text.size() - 2) <= 59);
}

struct String {
    std::string_view raw;  // between the quotation marks
    size_t saved = 0;      // the number of characters that escapes add to the raw text
    bool accents = false;  // whether escapes represent characters from U+00C0 to U+00FF
    bool coded = false;    // whether an escape is a code or a slash, as usual encoders hardly write
};

struct Name {
    std::string_view raw = "\xFF", text;  // the former with its quotation marks; at first it is nowhere in UTF-8
    uint64_t hash = 0;
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
    // `end` is the place of a control character after the row to read, or a later one.
    void start(const char* row, const char* end) {
        at_ = row;
        end_ = end;
        names_.clear();
        names_read_ = 0;
    }

    const char* at() const { return at_; }

    CORPUSFMT_INLINE bool skip_space() { return *at_ > ' ' || skip_some_space(); }

    bool take(char byte) {
        if (*at_ != byte) return false;
        ++at_;
        return true;
    }

    bool quoted(String& found) {
        if (!take('"')) return false;
        const char* const begin = at_;
        found.saved = 0;
        found.accents = found.coded = false;
        for (;;) {
            at_ = end_of_plain_text(at_, end_);
            if (*at_ == '"') break;
            if (!take('\\') || !escape(found)) return false;
        }
        found.raw = {begin, static_cast<size_t>(at_++ - begin)};
        return true;
    }

    // The text of a string. It lives as long as the parser and the bytes that it reads.
    std::string_view text_of(const String& string) {
        if (string.saved) append_text(decoded_.emplace_back(), string.raw);
        return string.saved ? std::string_view(decoded_.back()) : string.raw;
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
        int32_t exponent = 0;
        if (take('.')) {
            found.integer = false;
            const char* const fraction = at_;
            while (is_digit(*at_)) ++at_;
            if (at_ == fraction) return false;
            significant += at_ - (significant ? fraction : std::find_if(fraction, at_, [](char digit) { return digit != '0'; }));
        }
        if (*at_ == 'e' || *at_ == 'E') {
            found.integer = false;
            at_ += at_[1] == '+' && is_digit(at_[2]) ? 2 : 1;
            const auto [rest, error] = std::from_chars(at_, end_, exponent);
            if (error != std::errc()) return false;
            at_ = rest;
        }
        if (!found.integer) return digits + exponent <= kDigitsOfDoubles && significant <= kDigitsKept;
        return digits <= kDigitsOfIntegers && (!found.negative || found.magnitude <= uint64_t{1} << 63);
    }

    // A whole number of at most 18 digits.
    bool offset(uint64_t& found) {
        const char* const begin = at_;
        for (found = 0; is_digit(*at_); ++at_) found = found * 10 + static_cast<uint64_t>(*at_ - '0');
        const auto digits = at_ - begin;
        return digits > 0 && digits <= 18 && (digits == 1 || *begin != '0');
    }

    bool value(int levels) {
        String text;
        Number found;
        switch (*at_) {
            case '"': return quoted(text);
            case '{': return object(levels, [&](std::string_view) { return value(levels - 1); });
            case '[': return array(levels, [&] { return value(levels - 1); });
            case 't': return follows("true");
            case 'f': return follows("false");
            case 'n': return follows("null");
            default: return number(found);
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
            const Name* const found = skip_space() ? name() : nullptr;
            if (!found || (names_.size() - first < kFew && std::find(names_at(first), names_.end(), found->hash) != names_.end())) return false;
            names_.push_back(found->hash);
            if (!(skip_space() && take(':') && skip_space() && member(found->text) && skip_space())) return false;
        } while (take(','));
        if (names_.size() - first > kFew) {  // those were not compared
            std::sort(names_at(first), names_.end());
            if (std::adjacent_find(names_at(first), names_.end()) != names_.end()) return false;
        }
        names_.resize(first);
        return take('}');
    }

    // Calls `item` for each item; it must read the item.
    template <typename Item>
    bool array(int levels, Item item) {
        if (levels == 0 || !take('[')) return false;
        skip_space();
        if (take(']')) return true;
        do {
            if (!(skip_space() && item() && skip_space())) return false;
        } while (take(','));
        return take(']');
    }

    bool follows(std::string_view expected) {
        return std::all_of(expected.begin(), expected.end(), [&](char byte) { return take(byte); });
    }

  private:
    static constexpr int64_t kDigitsOfDoubles = 308;  // any number below 10^308 is finite
    static constexpr int64_t kDigitsKept = 17;  // a double keeps no more
    static constexpr int64_t kDigitsOfIntegers = 19;  // any number below 10^19 fits, if it is not negative
    static constexpr size_t kFew = 24;

    // The next name, or null. Most rows have the same names in the same places.
    const Name* name() {
        Name& usual = usual_[std::min(names_read_++, usual_.size() - 1)];
        const std::string_view rest(at_, static_cast<size_t>(end_ - at_));
        if (rest.substr(0, usual.raw.size()) == usual.raw) {
            at_ += usual.raw.size();
            return &usual;
        }
        String found;
        if (!quoted(found)) return nullptr;
        const std::string_view text = text_of(found);
        usual = {rest.substr(0, found.raw.size() + 2), text, Xxh64::of(text)};
        return &usual;
    }

    CORPUSFMT_ONCE bool skip_some_space() {
        while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r') ++at_;
        return true;
    }

    // One character's escape, after its backslash; surrogates must come in pairs.
    bool escape(String& found) {
        const char kind = *at_;
        found.coded |= kind == 'u' || kind == '/';
        if (kind != 'u') {
            ++at_;
            found.saved += 1;
            return kEscapes.find(kind) != std::string_view::npos;
        }
        int unit = unit_at(++at_);
        if (unit < 0) return false;
        at_ += 4;
        found.saved += 5;
        found.accents |= unit >= 0xC0 && unit <= 0xFF;
        if (unit < 0xD800 || unit > 0xDFFF) return true;
        if (unit > 0xDBFF || !take('\\') || !take('u')) return false;
        unit = unit_at(at_);
        if (unit < 0xDC00 || unit > 0xDFFF) return false;
        at_ += 4;
        found.saved += 6;
        return true;
    }

    std::vector<uint64_t>::iterator names_at(size_t first) { return names_.begin() + static_cast<std::ptrdiff_t>(first); }

    const char *at_ = nullptr, *end_ = nullptr;
    std::vector<uint64_t> names_;  // hashes of the names of all open objects
    std::array<Name, 64> usual_;  // the first names of a row
    size_t names_read_ = 0;
    std::deque<std::string> decoded_;
};

// What pairs a row of documents with one of attributes.
struct Paired {
    std::string_view id;
    std::optional<std::string_view> source;
    uint64_t size = 0;  // of the text, in code points; of attributes, the one that a text must have: the greatest end of spans
};

struct Document : Paired {
    String text;
    bool suspect = false;  // whether the text may be encoded twice
};

// A reach that needs a closer look at the spans.
constexpr uint64_t kUnclear = uint64_t{1} << 63;

struct Attributes : Paired {};

// The names of the attributes of a row and of the rows after it, up to the next shape.
struct Shape {
    size_t row;
    std::vector<std::string_view> names;
};

// A record of OSCAR's metadata. The hash of its headers does not depend on their order.
struct Record {
    uint64_t offset = kUnclear, lines = 0, hash = 0;
    std::optional<uint64_t> length, id;  // the content-length, and the hash of the warc-record-id
    unsigned missing = 0;  // a bit for each of the usual headers
    std::optional<std::string_view> languages;
};

// The rows of a block. Views point into the block or into strings in `parser`.
template <typename Row>
struct Rows {
    Parser parser;
    size_t end = 0;  // of the last row
    std::vector<Row> rows;
    std::vector<Shape> shapes;
    std::vector<std::string_view> names;  // of the attributes of the last row
    std::optional<std::string_view> name;  // of texts, next to which anything may be
};

inline bool read_text(Parser& parser, std::string_view& text) {
    String found;
    if (!parser.quoted(found)) return false;
    text = parser.text_of(found);
    return true;
}

inline bool read_row(Rows<Document>& block, bool ascii, Document& row) {
    Parser& parser = block.parser;
    bool has_id = false, has_text = false, has_source = false;
    const auto member = [&](std::string_view name) {
        if (name == "id") return has_id = read_text(parser, row.id);
        if (name == "source") return has_source = read_text(parser, row.source.emplace());
        if (name == "text") {
            const String& text = row.text;
            if (!parser.quoted(row.text)) return false;
            row.suspect = (!ascii && double_encoding_at<false>(text.raw, 0)) || (text.accents && double_encoding_at<true>(text.raw, 0));
            row.size = text.raw.size() - text.saved - (ascii ? 0 : continuations_in(text.raw));
            return has_text = true;
        }
        String text;
        if (name == "added" || name == "created") {
            return parser.quoted(text) && !text.saved && is_timestamp(text.raw);
        }
        if (name == "metadata" || name == "attributes") return parser.at()[0] == '{' && parser.value(kLevels);
        if (name == "version") return parser.follows("null") || parser.quoted(text);
        return parser.value(kLevels);
    };
    const auto any_member = [&](std::string_view name) {
        return name == block.name ? (has_text = parser.quoted(row.text)) : parser.value(kLevels);
    };
    if (block.name) return parser.object(kLevels, any_member) && has_text;
    return parser.object(kLevels, member) && has_id && has_text && has_source && !row.id.empty();
}

inline bool read_span(Parser& parser, uint64_t& start, uint64_t& end, Number& score) {
    const auto comma = [&] { return parser.skip_space() && parser.take(',') && parser.skip_space(); };
    return parser.take('[') && parser.skip_space() && parser.offset(start) && comma() && parser.offset(end) && comma() &&
           parser.number(score) && parser.skip_space() && parser.take(']');
}

inline bool read_spans(Parser& parser, uint64_t& reach) {
    uint64_t previous = 0;
    bool clear = true;
    const auto span = [&] {
        uint64_t start, end;
        Number score;
        if (!read_span(parser, start, end, score)) return false;
        clear &= (previous <= start) & (start < end);
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
    block.names.clear();
    const auto attribute = [&](std::string_view name) {
        block.names.push_back(name);
        if (parser.at()[0] == '[') return read_spans(parser, row.size);
        return parser.at()[0] != 'n' && parser.value(kLevels);
    };
    const auto member = [&](std::string_view name) {
        if (name == "id") return has_id = read_text(parser, row.id);
        if (name == "attributes") return has_attributes = parser.object(kLevels, attribute);
        if (name == "source") return parser.follows("null") || read_text(parser, row.source.emplace());
        return parser.value(kLevels);
    };
    if (!parser.object(kLevels, member) || !has_id || !has_attributes) return false;
    const auto is_same = [](auto one, auto other) { return one.data() == other.data() || one == other; };  // most are the same view
    const auto is_known = [&](const auto& before) { return std::equal(block.names.begin(), block.names.end(), before.begin(), before.end(), is_same); };
    if (block.shapes.empty() || !is_known(block.shapes.back().names)) block.shapes.push_back({block.rows.size(), block.names});
    return true;
}

struct Header {
    std::string_view name, pattern;  // nothing: any text
};

enum : size_t { kLength, kUri, kDate = 4, kId = 7, kLanguages };
// In the order of `USUAL_HEADERS`.
constexpr std::array<Header, 9> kUsualHeaders = {{
    {"content-length", {}}, {"warc-target-uri", {}}, {"warc-type", "conversion"}, {"content-type", "text/plain"},
    {"warc-date", "9999-99-99T99:99:99Z"}, {"warc-refers-to", {}}, {"warc-block-digest", "sha1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"},
    {"warc-record-id", "<urn:uuid:XXXXXXXX-XXXX-XXXX-XXXX-XXXXXXXXXXXX>"}, {"warc-identified-content-language", {}},
}};

inline bool is_uri(std::string_view text) {
    constexpr std::string_view kOfSchemes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.";
    constexpr size_t kLetters = 52;
    if (text.substr(0, 1) == "<") text.remove_prefix(1);
    const size_t end = text.find_first_not_of(kOfSchemes);
    return end > 0 && end < text.size() - 1 && text[end] == ':' && text[end + 1] != '\n' && kOfSchemes.find(text[0]) < kLetters;
}

// Whether a header has the value that is expected by far the most often: the same as `value_faults` says, or false.
inline bool is_usual(size_t header, std::string_view text) {
    constexpr std::string_view kMostDigits = "999999999999999999";  // any of them fits 64 bits
    if (header == kLength) return !text.empty() && fits(text, kMostDigits.substr(0, text.size()));
    if (header == kUri) return is_uri(text);
    if (header == kDate && (text.size() != 20 || text[17] > '5' || text.substr(0, 4) == "0000" || !is_timestamp(text))) return false;
    return kUsualHeaders[header].pattern.empty() || fits(text, kUsualHeaders[header].pattern);
}

inline bool read_row(Rows<Record>& block, bool, Record& row) {
    Parser& parser = block.parser;
    std::array<std::optional<std::string_view>, kUsualHeaders.size()> usual;
    std::vector<std::pair<std::string_view, std::string_view>> others;
    bool has_headers = false, is_document = false;
    const auto header = [&](std::string_view name) {
        std::string_view text;
        if (!read_text(parser, text)) return false;
        size_t at = 0;
        while (at < usual.size() && kUsualHeaders[at].name != name) ++at;
        if (at < usual.size()) return is_usual(at, *(usual[at] = text));
        is_document |= name == "corpusfmt-document";
        if (name.substr(0, 10) != "corpusfmt-") others.emplace_back(name, text);
        return std::all_of(name.begin(), name.end(), [](char byte) { return (byte & 0x80) == 0 && (byte < 'A' || byte > 'Z'); });
    };
    const auto member = [&](std::string_view name) {
        if (name == "headers") return has_headers = parser.object(kLevels, header);
        if (name == "offset") return parser.offset(row.offset);
        if (name == "nb_sentences") return parser.offset(row.lines) && row.lines > 0;
        return parser.value(kLevels);
    };
    if (!parser.object(kLevels, member) || !has_headers || row.offset == kUnclear || row.lines == 0) return false;
    std::string together;  // 255 is in no UTF-8
    const auto add = [&](std::string_view name, std::string_view text) { together.append(name) += '\xFF', together.append(text) += '\xFF'; };
    for (size_t at = 0; at < usual.size(); ++at) {
        if (usual[at]) add(kUsualHeaders[at].name, *usual[at]);
        else if (!is_document) row.missing |= 1u << at;
    }
    std::sort(others.begin(), others.end());
    for (const auto& [name, text] : others) add(name, text);
    row.hash = Xxh64::of(together);
    row.languages = usual[kLanguages];
    if (usual[kId]) row.id = Xxh64::of(*usual[kId]);
    if (usual[kLength]) std::from_chars(usual[kLength]->data(), usual[kLength]->data() + usual[kLength]->size(), row.length.emplace());
    return true;
}

// Whether a row has more values than `io.text` decodes: all but the first follow a separator outside of strings.
inline bool has_too_many_values(std::string_view row) {
    constexpr size_t kMostValues = 1'000'000;
    const auto is_separator = [](char byte) { return (byte == ',') | (byte == '[') | (byte == '{'); };
    const auto is_too_many = [](auto number) { return static_cast<size_t>(number) > kMostValues; };
    if (row.size() <= kMostValues || !is_too_many(std::count_if(row.begin(), row.end(), is_separator))) return false;
    size_t values = 0;
    bool inside = false;
    for (size_t at = 0; at < row.size(); ++at) {
        if (row[at] == '"') inside = !inside;
        else if (row[at] == '\\') ++at;
        else values += !inside && is_separator(row[at]);
    }
    return is_too_many(values);
}

// The rows of whole lines before the first that is not clean, if there are any. A zero follows `lines`.
template <typename Row>
std::unique_ptr<Rows<Row>> clean_rows(std::string_view lines, std::optional<std::string_view> name = {}) {
    const char* const end = lines.data() + lines.size();
    auto found = std::make_unique<Rows<Row>>();
    found->name = name;
    const char* at = lines.data();
    while (at < end) {
        const void* const feed = std::memchr(at, '\n', static_cast<size_t>(end - at));
        const char* const end_of_row = feed ? static_cast<const char*>(feed) : end;
        const std::string_view bytes(at, static_cast<size_t>(end_of_row - at));
        const bool ascii = is_ascii(bytes);
        Row row;
        found->parser.start(at, end);
        found->parser.skip_space();
        const bool is_read = !has_too_many_values(bytes) && (ascii || is_utf8(bytes)) && read_row(*found, ascii, row) && found->parser.skip_space();
        if (!is_read || found->parser.at() != end_of_row) break;
        found->rows.push_back(row);
        found->end = std::min(static_cast<size_t>(end_of_row - lines.data()) + 1, lines.size());
        at = end_of_row + 1;
    }
    if (!found->shapes.empty() && found->shapes.back().row == found->rows.size()) found->shapes.pop_back();  // of the row that is not clean
    return found->rows.empty() ? nullptr : std::move(found);
}

// Lines without what is between the quotation marks of their texts.
inline std::string without_texts(std::string_view lines, const std::vector<Document>& rows) {
    std::string rest;
    for (const Document& row : rows) {
        const auto begin = static_cast<size_t>(row.text.raw.data() - lines.data());
        rest.append(lines, 0, begin);
        lines.remove_prefix(begin + row.text.raw.size());
    }
    return rest.append(lines);
}

}  // namespace corpusfmt

#include "_converting.hpp"

#ifndef CORPUSFMT_WITHOUT_PYTHON

namespace {

using namespace corpusfmt;

PyObject* as_item(const Shape& shape) {
    const Owned names(as_list(shape.names, as_str));
    return names ? Py_BuildValue("nN", static_cast<Py_ssize_t>(shape.row), PyList_AsTuple(names.get())) : nullptr;
}

// What rules may fire on in clean rows: suspect texts by row and place, and the shapes of attributes.
PyObject* details_of(const Rows<Document>& found, std::string_view lines) {
    std::vector<const Document*> suspects;
    for (const Document& row : found.rows) if (row.suspect) suspects.push_back(&row);
    const auto place = [&](const Document* row) { return Py_BuildValue("nn", row - found.rows.data(), row->text.raw.data() - lines.data()); };
    return as_list(suspects, place);
}
PyObject* details_of(const Rows<Attributes>& found, std::string_view) { return as_list(found.shapes, as_item); }

PyObject* records(PyObject*, PyObject* object) {
    Buffer lines;
    if (!lines.open(object)) return nullptr;
    const auto found = (Unlocked(), clean_rows<Record>(lines.bytes()));  // Python ends all bytes with a zero
    if (!found) return Py_NewRef(Py_None);
    const auto& rows = found->rows;
    std::vector<size_t> changes;
    for (size_t at = 0; at < rows.size(); ++at) {
        const Record &here = rows[at], &before = rows[at ? at - 1 : at];
        if (at == 0 || here.missing != before.missing || here.languages != before.languages) changes.push_back(at);
    }
    const auto change = [&](size_t at) {
        const Record& row = rows[at];
        return Py_BuildValue("nIN", static_cast<Py_ssize_t>(at), row.missing, row.languages ? as_str(*row.languages) : Py_NewRef(Py_None));
    };
    const auto column = [&](auto Record::*value) {
        return as_list(rows, [&](const Record& row) -> PyObject* {
            const std::optional<uint64_t> number = row.*value;
            return number ? PyLong_FromUnsignedLongLong(*number) : Py_NewRef(Py_None);
        });
    };
    return Py_BuildValue("nNNNNNN", static_cast<Py_ssize_t>(found->end), column(&Record::offset), column(&Record::lines),
                         column(&Record::length), column(&Record::id), column(&Record::hash), as_list(changes, change));
}

// What Python keeps of clean rows, and what their views refer to.
struct Kept {
    Buffer lines;
    std::shared_ptr<const void> found;
    std::vector<Paired> rows;

    static constexpr const char* kName = "corpusfmt.rows";
    static Kept* in(PyObject* capsule) { return static_cast<Kept*>(PyCapsule_GetPointer(capsule, kName)); }
};

template <typename Row>
PyObject* clean(PyObject*, PyObject* object) {
    auto kept = std::make_unique<Kept>();
    if (!kept->lines.open(object)) return nullptr;
    const std::string_view lines = kept->lines.bytes();
    auto found = (Unlocked(), clean_rows<Row>(lines));
    if (!found) return Py_NewRef(Py_None);
    kept->rows.assign(found->rows.begin(), found->rows.end());
    const auto end = static_cast<Py_ssize_t>(found->end), rows = static_cast<Py_ssize_t>(kept->rows.size());
    const Owned details(details_of(*found, lines));
    kept->found = std::move(found);
    const Owned capsule(PyCapsule_New(kept.get(), Kept::kName, [](PyObject* self) { delete Kept::in(self); }));
    if (capsule) kept.release();
    return Py_BuildValue("nnOO", end, rows, capsule.get(), details.get());
}

PyObject* values(PyObject*, PyObject* capsule) {
    const auto* const kept = Kept::in(capsule);
    if (!kept) return nullptr;
    Owned last;  // rows often have the same source as the one before: they share one object
    std::string_view text;
    const auto source = [&](const Paired& row) {
        if (row.source && (!last || *row.source != text)) last.reset(as_str(text = *row.source));
        return Py_XNewRef(row.source ? last.get() : Py_None);
    };
    return Py_BuildValue("NNN", as_list(kept->rows, [](const Paired& row) { return as_str(row.id); }), as_list(kept->rows, source),
                         as_list(kept->rows, [](const Paired& row) { return PyLong_FromUnsignedLongLong(row.size); }));
}

PyObject* empty_texts(PyObject*, PyObject* capsule) {
    const auto* const kept = Kept::in(capsule);
    if (!kept) return nullptr;
    const auto is_empty = [](const Paired& row) { return row.size == 0; };
    const auto begin = kept->rows.begin(), end = kept->rows.end();
    return Py_BuildValue("nn", std::count_if(begin, end, is_empty), std::find_if(begin, end, is_empty) - begin);
}

PyObject* keys(PyObject*, PyObject* capsule) {
    const auto* const kept = Kept::in(capsule);
    if (!kept) return nullptr;
    std::vector<uint64_t> hashes;
    std::string key;
    for (const Paired& row : kept->rows) {
        key.assign(row.source.value_or("")).append("\t").append(row.id);
        hashes.push_back(Xxh64::of(key));
    }
    return as_bytes(hashes);
}

PyObject* agree(PyObject*, PyObject* arguments) {
    PyObject *one, *other;
    unsigned long long row, start, end;
    if (!PyArg_ParseTuple(arguments, "OKOKK", &one, &row, &other, &start, &end)) return nullptr;
    const auto *const documents = Kept::in(one), *const attributes = documents ? Kept::in(other) : nullptr;
    if (!attributes) return nullptr;
    const auto &rows = attributes->rows, &beside = documents->rows;
    if (start > end || end > rows.size() || row > beside.size() || end - start > beside.size() - row) {
        return PyErr_Format(PyExc_IndexError, "expected rows of both blocks");
    }
    return PyBool_FromLong(std::equal(rows.data() + start, rows.data() + end, beside.data() + row, [](const Paired& mine, const Paired& its) {
        return mine.size <= its.size && mine.id == its.id && (!mine.source || mine.source == its.source);
    }));
}

PyObject* texts(PyObject*, PyObject* object) {
    Buffer lines;
    if (!lines.open(object)) return nullptr;
    const auto found = clean_rows<Document>(lines.bytes());
    if (!found || found->end < lines.size()) return Py_NewRef(Py_None);
    std::vector<uint64_t> ends;
    std::string texts;
    for (const Document& row : found->rows) {
        append_text(texts, row.text.raw);
        ends.push_back(texts.size());
    }
    return Py_BuildValue("NNN", as_bytes(texts), as_bytes(ends), as_bytes(without_texts(lines.bytes(), found->rows)));
}

PyObject* texts_apart(PyObject*, PyObject* arguments) {
    Buffer lines, name;
    if (!PyArg_ParseTuple(arguments, "y*y*", &lines.view, &name.view)) return nullptr;
    const auto found = (Unlocked(), clean_rows<Document>(lines.bytes(), name.bytes()));
    if (!found || found->end < lines.size()) return Py_NewRef(Py_None);
    bool coded = false;
    const auto quoted = [&](const Document& row) {
        coded |= row.text.coded;
        return as_bytes(std::string_view(row.text.raw.data() - 1, row.text.raw.size() + 2));
    };
    const Owned texts(as_list(found->rows, quoted)), rest(as_bytes(without_texts(lines.bytes(), found->rows)));
    return Py_BuildValue("OOO", texts.get(), rest.get(), coded ? Py_True : Py_False);
}

PyObject* rows_of(PyObject*, PyObject* arguments) {
    unsigned long long line;
    Py_ssize_t most;
    Buffer text, records, row;
    if (!PyArg_ParseTuple(arguments, "y*y*y*Kn", &text.view, &records.view, &row.view, &line, &most)) return nullptr;
    const auto made = rows_of_pairs(text.bytes(), records.bytes(), row.bytes(), line, static_cast<size_t>(most));
    return Py_BuildValue("NNnnK", as_bytes(made.texts), as_bytes(made.records), static_cast<Py_ssize_t>(made.text_end),
                         static_cast<Py_ssize_t>(made.records_end), static_cast<unsigned long long>(made.line));
}

PyObject* pairs_of(PyObject*, PyObject* arguments) {
    unsigned long long line;
    Buffer rows, language;
    if (!PyArg_ParseTuple(arguments, "y*y*K", &rows.view, &language.view, &line)) return nullptr;
    const auto made = pairs_of_rows(rows.bytes(), language.bytes(), line);
    return made ? Py_BuildValue("NNK", as_bytes(made->texts), as_bytes(made->records), static_cast<unsigned long long>(made->line))
                : Py_NewRef(Py_None);
}

PyMethodDef kMethods[] = {
    {"documents", guarded<clean<Document>>, METH_O, "documents(lines) -> (bytes read, rows, kept, suspect texts), up to an odd row"},
    {"attributes", guarded<clean<Attributes>>, METH_O, "attributes(lines) -> (bytes read, rows, kept, shapes), up to an odd row"},
    {"values", guarded<values>, METH_O, "values(kept) -> (ids, sources, lengths of texts or reaches of spans)"},
    {"empty_texts", guarded<empty_texts>, METH_O, "empty_texts(documents) -> (number of empty texts, row of the first)"},
    {"keys", guarded<keys>, METH_O, "keys(documents) -> XXH64 of each source and id"},
    {"agree", guarded<agree>, METH_VARARGS, "agree(documents, row, attributes, start, end) -> whether ids and sources are the same and spans within texts"},
    {"texts", guarded<texts>, METH_O, "texts(lines) -> (all texts, where each ends, rows without them), or None"},
    {"texts_apart", guarded<texts_apart>, METH_VARARGS, "texts_apart(lines, name) -> (texts in quotation marks, rows with empty ones, whether escapes are codes), or None"},
    {"records", guarded<records>, METH_O, "records(lines) -> (bytes read, then columns and where headers change), up to an odd one"},
    {"rows_of_pairs", guarded<rows_of>, METH_VARARGS, "rows_of_pairs(text, records, row, line, most) -> (rows, record ids, bytes of text and of records, next line)"},
    {"pairs_of_rows", guarded<pairs_of>, METH_VARARGS, "pairs_of_rows(rows, language, line) -> (text, records, next line), or None if one is unusual"},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef kModule = kernel_of("Clean rows of files, fast.", kMethods);

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
