// Fuzzes the hot loops of a build with odd and damaged records, columns and hashes: `make fuzz-native-pipeline`.
//
// Each must find what a plain step-by-step way finds, and no record that is cut short may be accepted.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/pipeline/_native.cpp"

#include <cmath>
#include <set>
#include <tuple>

#include "../fuzzing.hpp"

namespace {

using corpusfmt::Document;
using corpusfmt::Key;
using corpusfmt::Lines;
using corpusfmt::Section;
using fuzzing::below;
using fuzzing::exact_copy;
using fuzzing::fail;
using fuzzing::one_of;
using fuzzing::Source;
using fuzzing::split;

// ---------------------------------------------------------------------------------------------------------------------
// Records

const std::vector<std::string> kHeaders = {
    "WARC-Type: conversion\r\n", "warc-target-uri: \t http://example.org/\u00e9/ \r\n", "A:\r\n", "B: b\rb\r\n",
    "C: c:c \t\r\n", "a\x01.: \"\\ \b\f\x1f\x7f\r\n",
};
const std::vector<std::string> kOddHeaders = {
    " D: d\r\n", "\tE: e\r\n", ": f\r\n", "L : l\r\n", "M:m\f\r\n", "N: \u00a0n\r\n", "no colon\r\n",
    "\u00c4: g\r\n", "H: h\ni: i\r\n", "WARC-TYPE: info\r\n", "\r\n",
    "WARC-Type: request\r\n", "WARC-Type: warcinfo\r\n", "J: \xff\r\n", "K: \xed\xa0\x80\r\n",
    "Content-Length: 3\r\n", "content-length: -1\r\n", "CONTENT-LENGTH:\r\n", "Content-Length: 9999999999\r\n",
};
const std::vector<std::string> kText = {"a", "text", "\n", "\r\n", "\r\n\r\n", "WARC/1.0\r\n", "\u7684", std::string(1, '\0')};
const std::vector<std::string> kDamage = {"\r", "\n", "\r\n", ":", " ", "\t", "\xff", "A", "0", "WARC/1.0\r\n"};

std::string random_record(Source& source) {
    const std::string text = fuzzing::some_of(kText, 40, source);
    const std::string zeros(source() % 4 ? 0 : below(source, 12), '0');
    std::string record = "WARC/1.0\r\n";
    for (const std::string& header : kHeaders) record += source() % 2 ? header : "";
    if (source() % 4 == 0) record += one_of(kOddHeaders, source);
    if (source() % 40 == 0) record += "Long: " + std::string(65'100 + below(source, 500), 'x') + "\r\n";
    record += (source() % 2 ? "Content-Length: " : "content-length:") + zeros + std::to_string(text.size());
    record += "\r\n\r\n" + text + "\r\n\r\n";
    if (source() % 4 == 0) fuzzing::damage(record, kDamage, source);
    return record;
}

using Headers = std::vector<std::pair<std::string, std::string>>;

bool is_blank(char byte) { return byte == ' ' || byte == '\t'; }

bool is_plain(char byte) { return byte >= '!' && byte <= '\x7f'; }

std::optional<Headers> headers_in(std::string_view head) {
    const std::vector<std::string_view> lines = split(head, "\r\n");
    if (lines[0] != "WARC/1.0" || head.size() + 2 > 64 * 1024) return std::nullopt;
    if (!corpusfmt::is_utf8(head)) return std::nullopt;
    std::set<std::string> names;
    Headers headers;
    for (auto line = lines.begin() + 1; line != lines.end(); ++line) {
        const size_t colon = line->find(':');
        if (colon == std::string_view::npos || colon == 0) return std::nullopt;
        if (!is_plain(line->front()) || !is_plain((*line)[colon - 1])) return std::nullopt;
        if (line->find('\n') != std::string_view::npos) return std::nullopt;
        std::string name;
        for (const char byte : line->substr(0, colon)) {
            if (byte & 0x80) return std::nullopt;
            name += static_cast<char>(std::tolower(byte));
        }
        if (!names.insert(name).second) return std::nullopt;
        std::string_view value = line->substr(colon + 1);
        while (!value.empty() && is_blank(value.front())) value.remove_prefix(1);
        while (!value.empty() && is_blank(value.back())) value.remove_suffix(1);
        if (!value.empty() && !(is_plain(value.front()) && is_plain(value.back()))) return std::nullopt;
        headers.emplace_back(name, value);
    }
    return headers;
}

struct Parsed {
    Headers headers;
    std::string_view text;
    size_t size;
};

// A canonical record: the head is cut off first, then into lines.
std::optional<Parsed> step_by_step(std::string_view data) {
    const size_t end = data.find("\r\n\r\n");
    const auto headers = end == std::string_view::npos ? std::nullopt : headers_in(data.substr(0, end));
    if (!headers) return std::nullopt;
    for (const auto& [name, value] : *headers) {
        if (name != "content-length") continue;
        if (value.empty() || value.size() > 9) return std::nullopt;
        if (value.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
        const size_t start = end + 4, size = std::stoul(value);
        if (data.size() - start < size || data.substr(start + size, 4) != "\r\n\r\n") return std::nullopt;
        return Parsed{*headers, data.substr(start, size), start + size + 4};
    }
    return std::nullopt;
}

std::string as_json(const std::string& text) {
    std::string json = "\"";
    for (const char byte : text) {
        const size_t escaped = std::string_view("\"\\\b\f\n\r\t").find(byte);
        char hexadecimal[8];
        std::snprintf(hexadecimal, sizeof(hexadecimal), "\\u%04x", static_cast<unsigned char>(byte));
        if (escaped != std::string_view::npos) {
            json.append({'\\', "\"\\bfnrt"[escaped]});
        } else {
            json += static_cast<unsigned char>(byte) < 0x20 ? hexadecimal : std::string(1, byte);
        }
    }
    return json + '"';
}

std::string as_json(const Headers& headers) {
    std::string json;
    for (const auto& [name, value] : headers) json += (json.empty() ? "{" : ",") + as_json(name) + ':' + as_json(value);
    return json + '}';
}

std::string random_records(Source& source) {
    std::string random;
    for (size_t records = 1 + below(source, 3); records > 0; --records) random += random_record(source);
    return random;
}

size_t exercise_records(const std::string& before, const std::string& records, Source& source) {
    const std::string random = before + records;
    const auto copy = exact_copy(random);
    const std::string_view data(copy.get(), random.size());
    const auto found = corpusfmt::canonical_records(data, before.size());
    size_t seen = 0, conversions = 0, at = before.size();
    for (std::optional<Parsed> record; (record = step_by_step(data.substr(at))); ++seen, at += record->size) {
        std::string kind;
        for (const auto& [name, value] : record->headers) kind = name == "warc-type" ? value : kind;
        if (kind == "response" || kind == "resource" || kind == "request") break;
        const size_t cut = at + below(source, record->size);
        const auto part = exact_copy(data.substr(0, cut));
        if (corpusfmt::canonical_record({part.get(), cut}, at)) fail("accepted though cut short", data);
        if (kind != "conversion") continue;
        if (conversions == found.conversions.size()) fail("too few records", data);
        const corpusfmt::Record& other = found.conversions[conversions++];
        if (corpusfmt::headers_as_json(other) != as_json(record->headers)) fail("other headers", data);
        if (other.text.data() != record->text.data() || other.text != record->text) fail("another text", data);
    }
    if (found.seen != seen || found.next != at) fail("another number of records", data);
    if (found.conversions.size() != conversions) fail("too many records", data);
    return seen;
}

// ---------------------------------------------------------------------------------------------------------------------
// Documents

size_t exercise_documents(Source& source) {
    constexpr float kScores[] = {0, 0.5f, 0.79999f, 0.8f, 0.80001f, 1, NAN};
    std::string text;
    std::vector<int64_t> record_ends, starts, ends;
    std::vector<int32_t> labels;
    std::vector<float> scores;
    for (size_t records = below(source, 5); records > 0; --records) {
        for (size_t lines = below(source, 9); lines > 0; --lines) {
            text.append(below(source, 4), '\n');
            starts.push_back(static_cast<int64_t>(text.size()));
            text.append(below(source, 9), 'x');
            ends.push_back(static_cast<int64_t>(text.size()));
            labels.push_back(static_cast<int32_t>(below(source, 3)));
            scores.push_back(one_of(kScores, source));
        }
        text += '\n';
        record_ends.push_back(static_cast<int64_t>(text.size()));
    }
    if (!starts.empty() && source() % 3 == 0) {
        constexpr int64_t kSteps[] = {-99, -9, -1, 1, 2, 9, 1 << 20};
        std::vector<int64_t>* const columns[] = {&record_ends, &starts, &ends};
        std::vector<int64_t>& damaged = *one_of(columns, source);
        damaged[below(source, damaged.size())] += one_of(kSteps, source);
    }
    const auto bytes = exact_copy(text);
    const auto first = exact_copy(starts), last = exact_copy(ends), last_of_records = exact_copy(record_ends);
    const auto label = exact_copy(labels);
    const auto score = exact_copy(scores);
    const Lines lines{{bytes.get(), text.size()}, last_of_records.get(), record_ends.size(), first.get(), last.get(),
                      label.get(), score.get(), starts.size()};
    std::vector<int64_t> places{0};
    for (size_t line = 0; line < starts.size(); ++line) places.insert(places.end(), {starts[line], ends[line]});
    if (!starts.empty()) places.push_back(std::min(record_ends.back(), static_cast<int64_t>(text.size())));
    if (lines.fit() != std::is_sorted(places.begin(), places.end())) fail("another verdict on columns", text);
    if (!lines.fit()) return 0;

    const double least = static_cast<double>(below(source, 3)) * 0.8;
    const bool adjacent = source() % 2;
    const auto found = corpusfmt::documents_of(lines, least, adjacent);
    if (!std::is_sorted(record_ends.begin(), record_ends.end())) return 0;
    std::vector<Document> expected;
    for (size_t line = 0; line < starts.size(); ++line) {
        if (scores[line] < least) continue;
        const auto end = std::upper_bound(record_ends.begin(), record_ends.end() - 1, starts[line]);
        const Document one{static_cast<size_t>(end - record_ends.begin()), labels[line], {}};
        const auto is_it = [&](const Document& each) { return each.record == one.record && each.label == one.label; };
        const auto begin = adjacent && !expected.empty() ? expected.end() - 1 : expected.begin();
        const auto place = std::find_if(begin, expected.end(), is_it);
        Document& document = place == expected.end() ? expected.emplace_back(one) : *place;
        document.lines.push_back(line);
    }
    const auto parts = [](const Document& each) { return std::tie(each.record, each.label, each.lines); };
    const auto is_same = [&](const Document& one, const Document& other) { return parts(one) == parts(other); };
    if (!std::equal(found.begin(), found.end(), expected.begin(), expected.end(), is_same)) fail("other documents", text);
    return found.size();
}

// ---------------------------------------------------------------------------------------------------------------------
// Hashes of lines

uint64_t random_word(Source& source) {
    constexpr uint64_t kWords[] = {0, 1, 64, 128, 255, uint64_t{1} << 63, UINT64_MAX - 63, UINT64_MAX};
    return source() % 8 ? one_of(kWords, source) : source();
}

using Hash = std::array<uint64_t, 2>;

// The hashes of consecutive lines, sorted, as columns.
std::vector<uint64_t> sorted_columns(const std::vector<Hash>& hashes, size_t words) {
    std::vector<Key> keys;
    for (const Hash& hash : hashes) keys.push_back({hash[0], hash[1], keys.size(), 0});
    std::stable_sort(keys.begin(), keys.end(), [](const Key& one, const Key& other) { return one.first < other.first; });
    std::vector<uint64_t> columns;
    for (const Key& key : keys) columns.push_back(key.first);
    for (size_t at = 0; words > 1 && at < keys.size(); ++at) columns.push_back(keys[at].second);
    for (const Key& key : keys) columns.push_back(key.line);
    return columns;
}

size_t exercise_repetitions(Source& source) {
    const size_t words = 1 + below(source, 2);
    std::vector<Section> sections;
    std::vector<std::unique_ptr<uint64_t[]>> held;
    std::set<Hash> seen;
    std::map<size_t, std::vector<uint64_t>> expected;
    size_t repeated = 0;
    for (size_t input = below(source, 3), end = below(source, 9); input < end; input += 1 + below(source, 2)) {
        std::vector<Hash> hashes(below(source, source() % 16 ? 30 : 900));  // one table, or several
        for (size_t line = 0; line < hashes.size(); ++line) {
            hashes[line] = {random_word(source), words > 1 ? random_word(source) : 0};
            if (seen.insert(hashes[line]).second) continue;
            expected[input].push_back(line);
            ++repeated;
        }
        held.push_back(exact_copy(sorted_columns(hashes, words)));
        sections.push_back({input, held.back().get(), hashes.size(), words});
    }
    if (corpusfmt::repetitions(sections) != expected) fail("other repetitions", "");
    return repeated;
}

// ---------------------------------------------------------------------------------------------------------------------
// Lines that were seen before

void exercise_line_set(Source& source) {
    const size_t most = below(source, 300);
    corpusfmt::LineSet known({source(), source()}, most);
    std::set<std::string> expected;
    for (size_t texts = below(source, 4); texts > 0; --texts) {
        if (expected.size() > most) expected.clear();
        known.forget_if_full();
        for (size_t lines = below(source, 400); lines > 0; --lines) {
            const std::string line(below(source, 40), static_cast<char>('a' + below(source, 20)));
            if (known.add(line).second != (most == 0 || expected.insert(line).second)) fail("another verdict on a line", line);
        }
    }
}

// As the reference implementation has them.
constexpr std::pair<std::string_view, uint64_t> kHashes[] = {
    {"", 0xEF46DB3751D8E999},
    {"abc", 0x44BC2CF5AD770999},
    {"abcd", 0xDE0327B0D25D92CC},
    {"abcdefgh", 0x3AD351775B4634B7},
    {"I want an unsigned 64-bit seed!", 0xD4CB0A70A2B8C7C1},
    {"Nobody inspects the spammish rep", 0x96F5BFCBFE7F0D1A},
    {"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1},
};

void exercise_hash(Source& source) {
    for (const auto& [text, hash] : kHashes) {
        if (corpusfmt::Xxh64::of(text) != hash) fail("another hash than the reference", text);
    }
    const std::string random = fuzzing::some_of(kText, 40, source);
    const auto copy = exact_copy(random);
    const std::string_view apart(copy.get(), random.size());
    const corpusfmt::SipHash keyed{source(), source()};
    if (keyed.of(std::string_view(' ' + random).substr(1)) != keyed.of(apart)) fail("another keyed hash at another place", random);
    const uint64_t hash = corpusfmt::Xxh64::of(apart);
    if (corpusfmt::Xxh64::of(std::string_view(' ' + random).substr(1)) != hash) fail("another hash at another place", random);
}

struct Harness {
    static constexpr bool kWantsFiles = false;
    std::vector<std::string> files;
    size_t rounds = 0, records = 0, documents = 0, repeated = 0;

    std::string input(Source& source) { return random_records(source); }
    void take(std::string_view data, Source& source) { records += exercise_records("", std::string(data), source); }

    void round(Source& source) {
        ++rounds;
        records += exercise_records(fuzzing::some_of(kText, 3, source), random_records(source), source);
        documents += exercise_documents(source);
        repeated += exercise_repetitions(source);
        exercise_line_set(source);
        exercise_hash(source);
    }

    void summarise() const {
        std::printf("%zu rounds, %zu records accepted, %zu documents, %zu repeated hashes: nothing found\n", rounds, records,
                    documents, repeated);
    }
};

}  // namespace

FUZZES(Harness)
