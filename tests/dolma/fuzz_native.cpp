// Fuzzes the kernel for Dolma rows with odd and damaged lines: `make fuzz-native-dolma`.
//
// What the rules make of a row is told in Python; here it must be one verdict, whatever stands around the row, and
// nothing that is cut short may be accepted.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/formats/dolma/_native.cpp"

#include "../fuzzing.hpp"

namespace {

using corpusfmt::Attributes;
using corpusfmt::Document;
using fuzzing::below;
using fuzzing::fail;
using fuzzing::one_of;
using fuzzing::Source;

const std::vector<std::string> kText = {
    "a", "word ", "\u00e9", "\u7684", "\U0001F642", "\u2028", "\x7f", "\\n", "\\\\", "\\\"", "\\/", "\\u0000", "\\u00e9",
    "\\uD83D\\uDE00", "{", "}", "[", "]", ":", ",", "'", "\xf4\x8f\xbf\xbf", "\xed\x9f\xbf",
    "a long stretch of plain text, longer than a word of any machine",
};
const std::vector<std::string> kBadText = {
    "\x80", "\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\"", "\\", "\\u12", "\\ud800", "\\udc00",
    "\\ud800\\u0041", "\\x41", "\t", "\r", std::string(1, '\0'), "\x1f",
};
const std::vector<std::string> kNumbers = {
    "0", "-0", "1", "42", "-7", "1.5", "1e5", "1E-7", "-0.0e+0", "9223372036854775807", "9223372036854775808",
    "-9223372036854775808", "-9223372036854775809", "9999999999999999999", "18446744073709551616", "1e307", "1e308",
    "1e309", "1e-99999999999999999999", "1e99999999999999999999", "01", "1.", ".5", "-", "1e", "NaN", "Infinity",
};
const std::vector<std::string> kNames = {"id", "text", "source", "metadata", "attributes", "added", "created", "version",
                                         "e__t__n", "\\u0069d", "", "a", "b"};
const std::vector<std::string> kTimes = {"2023-04-07", "2024-02-29", "2023-02-29", "2023-04-07T15:24:38.5Z",
                                         "2023-04-07 15:24+02:00", "2023-04-07T24:00Z", "2023-04-07T15:24+", "2023-", ""};
const std::vector<std::string> kSpaces = {"", "", "", "", " ", "\t", "\r", "  "};

std::string random_string(Source& source) {
    std::string text = '"' + fuzzing::some_of(kText, 12, source);
    if (source() % 60 == 0) text += one_of(kBadText, source);
    if (source() % 100 == 0) text.append(below(source, 5000), 'x');
    return text + '"';
}

std::string joined(size_t count, const char* open, const char* close, Source& source, std::string (*item)(Source&)) {
    std::string text = open;
    for (size_t at = 0; at < count; ++at) text += (at ? "," : "") + one_of(kSpaces, source) + item(source);
    return text + one_of(kSpaces, source) + close;
}

std::string random_value(Source& source);

std::string random_member(Source& source) {
    const std::string name = source() % 3 ? '"' + one_of(kNames, source) + '"' : random_string(source);
    return name + one_of(kSpaces, source) + ':' + one_of(kSpaces, source) + random_value(source);
}

std::string random_span(Source& source) {
    const size_t start = below(source, 50);
    if (source() % 50 == 0) return random_value(source);
    return '[' + std::to_string(start) + ',' + std::to_string(start + below(source, 9)) + ',' + one_of(kNumbers, source) + ']';
}

std::string random_value(Source& source) {
    switch (source() % 10) {
        case 0: return "true";
        case 1: return "null";
        case 2: return joined(below(source, 5), "[", "]", source, random_value);
        case 3: return joined(below(source, source() % 20 ? 5 : 60), "{", "}", source, random_member);
        case 4: case 5: return one_of(kNumbers, source);
        case 6: return joined(below(source, 5), "[", "]", source, random_span);
        case 7: return '"' + one_of(kTimes, source) + '"';
        case 8:
            if (source() % 40 == 0) {
                const size_t levels = below(source, 200);
                return std::string(levels, '[') + std::string(levels, ']');
            }
            [[fallthrough]];
        default: return random_string(source);
    }
}

std::string random_row(Source& source) {
    std::string row;
    if (source() % 2) {
        row = R"({"id":)" + random_string(source) + R"(,"text":)" + random_string(source) + R"(,"source":)" + random_string(source);
    } else {
        row = R"({"id":)" + random_string(source) + R"(,"attributes":{"e__t__n":)" +
              joined(below(source, 5), "[", "]", source, random_span) + '}';
    }
    for (size_t members = below(source, 3); members > 0; --members) row += ',' + random_member(source);
    row += '}';
    if (source() % 4 == 0) fuzzing::damage(row, kBadText, source);
    return row;
}

// From a copy of exactly its size and the zero behind it, so that reading past that is seen.
template <typename Row>
size_t accepted(std::string_view lines) {
    const auto copy = fuzzing::exact_copy(std::string(lines) + '\0');
    const auto found = corpusfmt::clean_rows<Row>({copy.get(), lines.size()}, true);
    if (!found) return 0;
    for (const Row& row : found->rows) {
        if (!corpusfmt::Utf8Automaton::accepts(row.id)) fail("an id that is not UTF-8", lines);
    }
    for (const corpusfmt::Shape& shape : found->shapes) {
        if (shape.row >= found->rows.size()) fail("a shape of no row", lines);
        for (const std::string_view name : shape.names) {
            if (!corpusfmt::Utf8Automaton::accepts(name)) fail("a name that is not UTF-8", lines);
        }
    }
    for (const auto& [shape, begin, end] : found->samples) {
        if (begin > end || end > lines.size() || (end < lines.size() && lines[end] != '\n')) fail("a sample that is no row", lines);
        const auto alone = corpusfmt::clean_rows<Row>(std::string(lines.substr(begin, end - begin)), true);
        if (!alone || alone->samples[0][0] != shape) fail("another shape of a row alone", lines);
    }
    return found->rows.size();
}

template <typename Row>
size_t exercise(const std::vector<std::string>& rows, Source& source) {
    std::string block;
    size_t lines = 0, clean = 0;
    for (const std::string& row : rows) {
        // A damaged row may have become several lines.
        const size_t expected = static_cast<size_t>(std::count(row.begin(), row.end(), '\n')) + 1;
        const size_t found = accepted<Row>(row);
        lines += expected;
        clean += found;
        block += row + '\n';
        if (found && found != expected) fail("lines were lost", row);
        if (found && found == 1 && accepted<Row>(std::string_view(row).substr(0, below(source, row.find_last_of('}') + 1)))) {
            fail("accepted though cut short", row);
        }
    }
    const size_t together = accepted<Row>(block);
    if (together != (clean == lines ? lines : 0)) fail("another verdict on a block", block);
    return clean;
}

struct Harness {
    static constexpr bool kWantsFiles = false;
    std::vector<std::string> files;
    size_t seen = 0, documents = 0, attributes = 0;

    std::string input(Source& source) {
        std::string block = random_row(source);
        for (size_t rows = below(source, 4); rows > 0; --rows) block += '\n' + random_row(source);
        return block;
    }

    void take(std::string_view block, Source& source) {
        const std::vector<std::string_view> lines = fuzzing::split(block, "\n");
        exercise_rows({lines.begin(), lines.end()}, source);
    }

    void round(Source& source) {
        std::vector<std::string> rows(1 + below(source, 4));
        for (std::string& row : rows) row = random_row(source);
        exercise_rows(rows, source);
    }

    void exercise_rows(const std::vector<std::string>& rows, Source& source) {
        seen += rows.size();
        documents += exercise<Document>(rows, source);
        attributes += exercise<Attributes>(rows, source);
    }

    void summarise() const {
        std::printf("%zu rows, of which %zu were accepted as documents and %zu as attributes: nothing found\n", seen,
                    documents, attributes);
    }
};

}  // namespace

FUZZES(Harness)
