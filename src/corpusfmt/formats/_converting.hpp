// OSCAR as rows of Dolma and back, for documents that are as nearly all are.
//
// Every doubt is a "no" here, as in `_native.cpp`: Python converts what is refused, document by document, and gives the same bytes.

#pragma once

namespace corpusfmt {

// The number of lines of a text, or 0 if one has nothing but blanks.
inline uint64_t lines_if_filled(std::string_view text) {
    uint64_t lines = 0;
    size_t at = 0;
    do {
        const size_t filled = text.find_first_not_of(" \t\r", at);
        if (filled == text.npos || text[filled] == '\n') return 0;
        ++lines;
        at = text.find('\n', at) + 1;
    } while (at != 0);
    return lines;
}

// A record: its usual headers, and all of them encoded again if a string is given for that.
struct Origin {
    std::array<std::string_view, kUsualHeaders.size()> headers{};
    uint64_t offset = 0, lines = 0;
    std::string* encoded = nullptr;
};

// Reads a record that has the usual members in their order, usual headers for a document, and none of corpusfmt's own.
inline bool read_origin(Parser& parser, Origin& found) {
    const auto header = [&](std::string_view name) {
        std::string_view text;
        if (!read_text(parser, text) || name.substr(0, 10) == "corpusfmt-") return false;
        for (size_t at : {kUri, kDate, kId}) if (kUsualHeaders[at].name == name) found.headers[at] = text;
        if (!found.encoded) return true;
        append_escaped(found.encoded->append(found.encoded->empty() ? "\"" : ",\""), name);
        append_escaped(found.encoded->append("\":\""), text);
        *found.encoded += '"';
        return true;
    };
    const auto is_usual_too = [&](size_t at) { return is_usual(at, found.headers[at]); };
    return parser.follows("{\"headers\":") && parser.object(kLevels, header) && parser.follows(",\"offset\":") &&
           parser.offset(found.offset) && parser.follows(",\"nb_sentences\":") && parser.offset(found.lines) &&
           parser.follows("}") && is_usual_too(kUri) && is_usual_too(kDate) && is_usual_too(kId);
}

// What two files became, `texts` or rows first, and where that ends in the others.
struct Converted {
    std::string texts, records;
    size_t text_end = 0, records_end = 0;
    uint64_t line;
};

// About `most` bytes of rows of Dolma, and their record ids with an LF after each: of the first documents with their records,
// up to one that is unusual, or has no text or record after it. `line` is the first one; `row` has zeros for the values.
inline Converted rows_of_pairs(std::string_view text, std::string_view records, std::string_view row, uint64_t line, size_t most) {
    Converted made{{}, {}, 0, 0, line};
    made.texts.reserve(most + most / 4);
    Parser parser;
    while (made.texts.size() < most) {
        const size_t end = text.find("\n\n", made.text_end), feed = records.find('\n', made.records_end);
        if (end == text.npos || feed == records.npos || feed - made.records_end > 1'000'000) break;
        const std::string_view document = text.substr(made.text_end, end - made.text_end), next = text.substr(end + 2);
        const std::string_view record = records.substr(made.records_end, feed - made.records_end);
        const uint64_t lines = lines_if_filled(document);
        if (lines == 0 || lines_if_filled(next.substr(0, next.find('\n'))) == 0) break;
        Origin origin;
        parser.start(record.data(), records.data() + records.size());
        const bool is_read = is_utf8(record) && read_origin(parser, origin) && parser.at() == records.data() + feed;
        const bool may_be_time = is_digit(document[0]) && document.size() <= 128;
        if (!is_read || may_be_time || origin.offset != made.line || origin.lines != lines || !is_utf8(document)) break;
        const std::string_view id = origin.headers[kId];
        std::string_view around = row;
        for (const auto value : {id.substr(1, id.size() - 2), document, origin.headers[kDate], origin.headers[kUri], record}) {
            const size_t gap = around.find('\0');
            append_escaped(made.texts.append(around.substr(0, gap)), value);
            around = around.substr(gap + 1);
        }
        made.texts.append(around);
        made.records.append(id) += '\n';
        made.text_end = end + 2;
        made.records_end = feed + 1;
        made.line += lines + 1;
    }
    return made;
}

// Text and metadata, without the empty line after the last document, of rows that can be from above and have a language; none
// unless all are. `line` is the first of the text; a zero follows `rows`.
inline std::optional<Converted> pairs_of_rows(std::string_view rows, std::string_view language, uint64_t line) {
    Converted made{{}, {}, 0, 0, line};
    made.texts.reserve(rows.size());
    Parser parser, inside;
    while (!rows.empty()) {
        const std::string_view row = rows.substr(0, rows.find('\n'));
        rows.remove_prefix(std::min(row.size() + 1, rows.size()));
        std::string_view id, created, label, uri, part;
        String text, own;
        parser.start(row.data(), row.data() + row.size());
        const auto read = [&](std::string_view before, std::string_view& found) { return parser.follows(before) && read_text(parser, found); };
        const bool is_ours = is_utf8(row) && read("{\"id\":", id) && parser.follows(",\"text\":") && parser.quoted(text) &&
                             read(",\"source\":\"oscar\",\"created\":", created) && read(",\"metadata\":{\"language\":", label) &&
                             label == language && read(",\"url\":", uri) && parser.follows(",\"oscar\":") && parser.quoted(own) &&
                             own.saved && parser.follows("}}") && parser.at() == row.data() + row.size();
        if (!is_ours) return {};
        const std::string_view record = parser.text_of(own);
        std::string headers;
        Origin origin;
        origin.encoded = &headers;
        inside.start(record.data(), record.data() + record.size());
        const bool is_whole = inside.follows("{\"version\":\"1.1\",\"part\":") && read_text(inside, part) && inside.follows(",\"record\":") &&
                              read_origin(inside, origin) && inside.follows("}") && inside.at() == record.data() + record.size();
        if (!is_whole || created != origin.headers[kDate] || uri != origin.headers[kUri]) return {};
        const std::string_view given = origin.headers[kId];
        if (id != std::string(given.substr(1, given.size() - 2)).append("#").append(language)) return {};
        if (made.line) made.texts += "\n\n";
        const size_t begin = made.texts.size();
        append_text(made.texts, text.raw);
        const uint64_t lines = lines_if_filled(std::string_view(made.texts).substr(begin));
        if (lines == 0) return {};
        made.records.append("{\"headers\":{").append(headers).append("},\"offset\":").append(std::to_string(made.line));
        made.records.append(",\"nb_sentences\":").append(std::to_string(lines)).append("}\n");
        made.line += lines + 1;
    }
    return made;
}

}  // namespace corpusfmt
