// Fuzzes the kernel for rows of Dolma and records of OSCAR with odd and damaged lines: `make fuzz-native-dolma`.
//
// What the rules make of a row is told in Python; here it must be one verdict, whatever stands around the row, and
// nothing that is cut short may be accepted.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/formats/_native.cpp"

#include "../fuzzing.hpp"

namespace {

using corpusfmt::Attributes;
using corpusfmt::Document;
using corpusfmt::Record;
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

const std::vector<std::string> kHeaders = {
    R"("content-length":"11062")", R"("warc-target-uri":"https://example.org/")", R"("warc-target-uri":"<a:\u000a>")",
    R"("warc-type":"conversion")", R"("content-type":"text/plain")", R"("warc-date":"2021-02-24T17:55:29Z")",
    R"("warc-date":"2021-02-30T17:55:29Z")", R"("warc-refers-to":"<urn:uuid:0>")", R"("Warc-Type":"conversion")",
    R"("warc-block-digest":"sha1:7CSNQUV3EXUIHI2FEXEQAXVSYVX3I5TC")", R"("content-length":"0999999999999999999")",
    R"("warc-record-id":"<urn:uuid:62c2ffca-5cd8-44a7-b9c5-8f30c4a5e5a1>")", R"("warc-identified-content-language":"deu,eng")",
    R"("corpusfmt-document":"{}")", R"("corpusfmt-\u00e9":"")", R"("x":"y")", R"("content-length":"")", R"("warc-target-uri":"")",
};

std::string random_record(Source& source) {
    std::string row = R"({"headers":{)";
    for (size_t headers = below(source, 12); headers > 0; --headers) row += one_of(kHeaders, source) + (headers > 1 ? "," : "");
    row += R"(},"nb_sentences":)" + (source() % 4 ? "7" : one_of(kNumbers, source)) + R"(,"offset":)" + one_of(kNumbers, source);
    return row + (source() % 8 ? "" : ',' + random_member(source)) + '}';
}

std::string random_row(Source& source) {
    std::string row;
    if (source() % 3 == 0) {
        row = random_record(source);
        if (source() % 4 == 0) fuzzing::damage(row, kBadText, source);
        return row;
    }
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
    const auto found = corpusfmt::clean_rows<Row>({copy.get(), lines.size()});
    if (!found) return 0;
    for (const Row& row : found->rows) {
        if (!corpusfmt::is_utf8(row.id)) fail("an id that is not UTF-8", lines);
    }
    for (const corpusfmt::Shape& shape : found->shapes) {
        if (shape.row >= found->rows.size()) fail("a shape of no row", lines);
        for (const std::string_view name : shape.names) {
            if (!corpusfmt::is_utf8(name)) fail("a name that is not UTF-8", lines);
        }
    }
    return found->rows.size();
}

bool equal(const Document& one, const Document& other) {
    return one.id == other.id && one.text.raw == other.text.raw && one.size == other.size && one.suspect == other.suspect;
}
bool equal(const Attributes& one, const Attributes& other) { return one.id == other.id && one.size == other.size; }
bool equal(const Record& one, const Record& other) { return one.hash == other.hash && one.missing == other.missing; }

// A run of clean rows ends where a line does, and the first that is not clean is clean nowhere.
template <typename Row>
size_t exercise(std::string_view lines) {
    const auto copy = fuzzing::exact_copy(std::string(lines) + '\0');
    size_t start = 0, clean = 0;
    while (start < lines.size()) {
        const auto found = corpusfmt::clean_rows<Row>({copy.get() + start, lines.size() - start});
        const size_t end = found ? start + found->end : std::min(lines.find('\n', start), lines.size() - 1) + 1;
        if (end <= start || end > lines.size() || (end < lines.size() && lines[end - 1] != '\n')) fail("a run that ends in a line", lines);
        const size_t rows = found ? found->rows.size() : 0;
        for (size_t begin = start, row = 0; begin < end; ++row) {
            const size_t stop = std::min(lines.find('\n', begin), lines.size());
            const std::string line(lines.substr(begin, stop - begin));
            const auto alone = corpusfmt::clean_rows<Row>(line);
            if (!alone != !found || (alone && !equal(alone->rows[0], found->rows[row]))) fail("another verdict on a row alone", lines);
            begin = stop + 1;
        }
        clean += rows;
        start = end;
    }
    return clean;
}

// Rows whose texts are taken out are rows with empty ones; nothing else is missing.
size_t exercise_texts(std::string_view lines, std::string_view name) {
    const auto copy = fuzzing::exact_copy(std::string(lines) + '\0');
    const auto found = corpusfmt::clean_rows<Document>({copy.get(), lines.size()}, name);
    if (!found) return 0;
    size_t texts = 0;
    for (const Document& row : found->rows) {
        if (!corpusfmt::is_utf8(row.text.raw)) fail("a text that is not UTF-8", lines);
        std::string decoded, encoded;
        corpusfmt::append_text(decoded, row.text.raw);
        corpusfmt::append_escaped(encoded, decoded + '\0');
        if (!row.text.coded && encoded != std::string(row.text.raw) + "\\u0000") fail("a text that is encoded otherwise", lines);
        texts += row.text.raw.size();
    }
    const std::string rest = corpusfmt::without_texts({copy.get(), found->end}, found->rows);
    const auto again = corpusfmt::clean_rows<Document>(rest, name);
    const auto is_empty = [](const Document& row) { return row.text.raw.empty(); };
    const bool is_same = again && again->end == rest.size() && again->rows.size() == found->rows.size();
    if (rest.size() + texts != found->end || !is_same || !std::all_of(again->rows.begin(), again->rows.end(), is_empty)) {
        fail("other rows around texts", lines);
    }
    return found->rows.size();
}

// What becomes rows comes back as the same text; what does not ends before a document. Any bytes may be rows.
size_t exercise_conversion(const std::vector<std::string>& rows, Source& source) {
    std::string text, records;
    uint64_t line = 0;
    for (const std::string& row : rows) {
        const uint64_t lines = 1 + below(source, 3);
        for (uint64_t at = 0; at < lines; ++at) text += (source() % 50 ? "a " : "") + one_of(source() % 50 ? kText : kBadText, source) + '\n';
        text += source() % 50 ? "\n" : one_of(kSpaces, source);
        std::string headers;
        for (size_t number : {1, 5, 11}) headers += (headers.empty() ? "" : ",") + kHeaders[source() % 20 ? number : below(source, kHeaders.size())];
        records += R"({"headers":{)" + headers + R"(},"offset":)" + std::to_string(line) + R"(,"nb_sentences":)" + std::to_string(lines) + "}\n";
        if (source() % 20 == 0) records += row + '\n';
        line += lines + 1;
    }
    const auto texts = fuzzing::exact_copy(text + "a" + '\0'), of_texts = fuzzing::exact_copy(records + '\0');
    constexpr char kRow[] =
        "{\"id\":\"\0#de\",\"text\":\"\0\",\"source\":\"oscar\",\"created\":\"\0\",\"metadata\":{\"language\":\"de\",\"url\":\"\0\","
        "\"oscar\":\"{\\\"version\\\":\\\"1.1\\\",\\\"part\\\":\\\"de\\\",\\\"record\\\":\0}\"}}\n";
    const auto made = corpusfmt::rows_of_pairs({texts.get(), text.size() + 1}, {of_texts.get(), records.size()}, {kRow, sizeof(kRow) - 1}, 0, 1 << 20);
    if (made.text_end > text.size() || made.records_end > records.size()) fail("more was converted than there is", text);
    const auto copy = fuzzing::exact_copy(made.texts + '\0');
    const auto back = corpusfmt::pairs_of_rows({copy.get(), made.texts.size()}, "de", 0);
    if (!back || back->texts + (made.texts.empty() ? "" : "\n\n") != text.substr(0, made.text_end)) fail("another text came back", made.texts);
    std::string damaged = made.texts;
    if (!damaged.empty()) fuzzing::damage(damaged, kBadText, source);
    const auto odd = fuzzing::exact_copy(damaged + '\0');
    const auto found = corpusfmt::pairs_of_rows({odd.get(), damaged.size()}, "de", 0);
    if (found && !corpusfmt::is_utf8(found->texts)) fail("a text that is not UTF-8", damaged);
    return static_cast<size_t>(std::count(made.texts.begin(), made.texts.end(), '\n'));
}

// Rows one by one: nothing that is cut short is accepted, unless it is several lines.
template <typename Row>
void exercise_cut(const std::vector<std::string>& rows, Source& source) {
    for (const std::string& row : rows) {
        if (accepted<Row>(row) && row.find('\n') == row.npos &&
            accepted<Row>(std::string_view(row).substr(0, below(source, row.find_last_of('}') + 1)))) {
            fail("accepted though cut short", row);
        }
    }
}

struct Harness {
    static constexpr bool kWantsFiles = false;
    std::vector<std::string> files;
    size_t seen = 0, documents = 0, attributes = 0, records = 0, texts = 0, converted = 0;

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
        exercise_cut<Document>(rows, source);
        exercise_cut<Attributes>(rows, source);
        std::string block;
        for (const std::string& row : rows) block += row + '\n';
        converted += exercise_conversion(rows, source);
        const std::string_view lines = std::string_view(block).substr(0, block.size() - source() % 2);
        documents += exercise<Document>(lines);
        attributes += exercise<Attributes>(lines);
        records += exercise<Record>(lines);
        for (const std::string_view name : {"text", "id", ""}) texts += exercise_texts(lines, name);
    }

    void summarise() const {
        std::printf("%zu rows, of which %zu were accepted as documents, %zu as attributes and %zu as records; %zu around "
                    "texts, %zu converted: nothing found\n",
                    seen, documents, attributes, records, texts, converted);
    }
};

}  // namespace

FUZZES(Harness)
