// Fuzzes the loops over blocks of tables with odd and damaged rows and hashes: `make fuzz-native-croissant`.
//
// What is accepted must be what a plain step-by-step reader of CSV finds, and all that is not plain must be left over.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/formats/croissant/_native.cpp"

#include <set>
#include <string>

#include "../fuzzing.hpp"

namespace {

using corpusfmt::Wanted;
using fuzzing::below;
using fuzzing::exact_copy;
using fuzzing::fail;
using fuzzing::Source;

const std::vector<std::string> kCells = {
    "", "0", "17", "-3", "+5", "007", "-0", "999999999999999999", "1000000000000000000", "1.5", "-.5", "1e5", "2E+99", "1e999", ".",
    "2024-01-05", "0000-01-01", "2024-02-30", "true", "1", "x", "a b", "http://example.org/", "\u00e9", "\"\"", "\"a,\nb\"",
    "\"a\"\"b\"", "\"\r\n\"", "\"17\"", std::string(1, '\0'), "a word of more than eight bytes",
};
const std::vector<std::string> kDamage = {"\"", ",", "\n", "\r", "\r\n", "\xff", "\xc3", "0", "x", "\"\n\""};
constexpr int64_t kMost = 1'000'000'000'000'000'000;

std::string random_table(size_t width, Source& source) {
    std::string table;
    const std::string end = source() % 3 ? "\n" : "\r\n";
    for (size_t rows = below(source, 6); rows > 0; --rows) {
        for (size_t at = 0; at < width; ++at) table += (at ? "," : "") + fuzzing::one_of(kCells, source);
        table += rows > 1 || source() % 4 ? end : "";
    }
    if (source() % 3 == 0) fuzzing::damage(table, kDamage, source);
    return table;
}

struct Cell {
    std::string text;
    bool was_quoted;
};

// The rows of a table as RFC 4180 has them; nothing where they are not so.
std::optional<std::vector<std::vector<Cell>>> step_by_step(std::string_view data) {
    std::vector<std::vector<Cell>> rows;
    size_t at = 0;
    while (at < data.size()) {
        std::vector<Cell> row;
        for (bool goes_on = true; goes_on;) {
            Cell cell{"", at < data.size() && data[at] == '"'};
            if (cell.was_quoted) {
                for (++at;; ++at) {
                    if (at == data.size()) return std::nullopt;
                    if (data[at] == '\r' && (at + 1 == data.size() || data[at + 1] != '\n')) return std::nullopt;
                    if (data[at] == '"' && (at + 1 == data.size() || data[++at] != '"')) break;
                    cell.text += data[at];
                }
                at += at < data.size() && data[at] == '"';
            } else {
                while (at < data.size() && !std::strchr(",\n\r\"", data[at] ? data[at] : 'x')) cell.text += data[at++];
            }
            if (at < data.size() && data[at] == '\r' && (++at == data.size() || data[at] != '\n')) return std::nullopt;
            if (at < data.size() && data[at] != ',' && data[at] != '\n') return std::nullopt;
            goes_on = at < data.size() && data[at++] == ',';
            row.push_back(cell);
        }
        if (row.size() == 1 && row[0].text.empty() && !row[0].was_quoted) return std::nullopt;
        rows.push_back(row);
    }
    return rows;
}

// As `std::strtod` and friends have it, of texts that the kernel calls plain.
bool is_right(const std::string& text, const Wanted& wanted) {
    char* end = nullptr;
    switch (wanted.kind) {
        case corpusfmt::kInteger: {
            const long long number = std::strtoll(text.c_str(), &end, 10);
            if (wanted.is_key && std::to_string(number) != text) return false;
            return !*end && end != text.c_str() && wanted.low <= number && number <= wanted.high;
        }
        case corpusfmt::kNumber: return std::strtod(text.c_str(), &end) < 1e300 && !*end && end != text.c_str();
        case corpusfmt::kDate: {
            int year = 0, month = 0, day = 0;
            return std::sscanf(text.c_str(), "%4d-%2d-%2d", &year, &month, &day) == 3 && text.size() == 10 && year > 0 && month >= 1 &&
                   month <= 12 && day >= 1 && day <= 28;
        }
        case corpusfmt::kBoolean: return text == "true" || text == "false" || text == "0" || text == "1";
        case corpusfmt::kUrl: return text.find_first_of(" \t\n\r\v\f") == std::string::npos;
        default: return wanted.kind == corpusfmt::kText;
    }
}

size_t exercise(std::string_view random, size_t width, const std::vector<Wanted>& wanted) {
    const auto copy = exact_copy(random);
    const std::string_view data(copy.get(), random.size());
    const auto found = corpusfmt::plain_table(data, ',', width, wanted);
    const auto rows = step_by_step(data);
    const auto has_width = [&](const auto& row) { return row.size() == width; };
    const bool is_table =
        rows && std::all_of(rows->begin(), rows->end(), has_width) && corpusfmt::is_utf8(data);
    if (found.has_value() != is_table) fail("another verdict on a table", data);
    if (!found) return 0;
    if (found->rows != rows->size()) fail("another number of rows", data);
    for (size_t at = 0; at < wanted.size(); ++at) {
        const corpusfmt::Column& column = found->columns[at];
        std::set<size_t> left_over;
        for (const auto& each : column.left_over) left_over.insert(each.row);
        if (column.hashes.size() != (wanted[at].is_key ? rows->size() : 0)) fail("another number of keys", data);
        for (size_t row = 0; row < rows->size(); ++row) {
            const std::string& text = (*rows)[row][wanted[at].column].text;
            const bool is_left = left_over.count(row) > 0;
            if (text.empty() && is_left) fail("an empty cell is left over", data);
            if (!text.empty() && !is_left && !is_right(text, wanted[at])) fail("a cell is taken for what it is not", data);
            if (!wanted[at].is_key) continue;
            if (column.present[row] != !text.empty()) fail("another verdict on a key", data);
            if (!is_left && column.hashes[row] != corpusfmt::Xxh64::of(text)) fail("another hash", data);
        }
    }
    return found->rows;
}

std::vector<Wanted> random_wanted(size_t width, Source& source) {
    std::vector<Wanted> wanted;
    for (size_t column = 0; column < width; ++column) {
        for (size_t times = below(source, 3); times > 0; --times) {
            const bool is_small = source() % 3 == 0;
            wanted.push_back({column, static_cast<int>(below(source, 7)), source() % 2 == 0, is_small ? 0 : -kMost,
                              is_small ? 16 : kMost});
        }
    }
    return wanted;
}

struct Harness {
    static constexpr bool kWantsFiles = false;
    std::vector<std::string> files;
    size_t rounds = 0, rows = 0;

    std::string input(Source& source) { return random_table(3, source); }
    void take(std::string_view data, Source& source) { rows += exercise(data, 3, random_wanted(3, source)); }

    void round(Source& source) {
        ++rounds;
        const size_t width = 1 + below(source, 3);
        rows += exercise(random_table(width, source), width, random_wanted(width, source));
    }

    void summarise() const { std::printf("%zu rounds, %zu rows accepted: nothing found\n", rounds, rows); }
};

}  // namespace

FUZZES(Harness)
