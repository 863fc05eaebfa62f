// Fuzzes the scans of text with odd and broken text: `make fuzz-native-io`.
//
// Each scan must find what a plain step-by-step way finds: byte by byte, code point by code point, line by line.

#define CORPUSFMT_WITHOUT_PYTHON
#include "../../src/corpusfmt/io/_native.cpp"

#include <cctype>
#include <numeric>
#include <tuple>

#include "../fuzzing.hpp"

namespace {

using corpusfmt::Piece;
using corpusfmt::Sight;
using corpusfmt::Survey;
using fuzzing::below;
using fuzzing::fail;
using fuzzing::one_of;
using fuzzing::Source;
using fuzzing::split;

// Letters that compose, marks that do and do not, around code points of every length.
const std::vector<std::string> kText = {
    "a", "word", "an ordinary line of more than a word of any machine", "\u00e9", "\u0438", "\u7684", "\uac00", "\ue000",
    "\U0001F642", "\U0010ffff", "\u0928", "\u0928\u093c", "\u0930", "\u0933\u093c", "\u09c7", "\u09be", "\u09bc", "\u09cd", "\u0e38", "\u0e48", "\u0dca", "\u0915\u093c", "\u094d", "\u0301",
    "\u00c3", "\u00c3\u00a9", "\u00e2\u20ac\u2122", "\u00f0\u0178\u02dc", "\\u00c3\\u00A9", "\\u00e2\\u20AC", "\u0305", "\u064b", "\u0652", "\u1100", "\u1161", "\u11a8", "\u0387", "\u0627\u0644", "\u200b", "\u2000", "\u3042\u3099", "\u304b", "\uff0c", "\ua960", "\u0916", "\u0430\u0431\u0432", "\ufdd0", "\ufe7f", "\ufeff", "\ud7ff", "\uffff", "\u00a0",
};
const std::vector<std::string> kBlanks = {"\n", "\n", "\n\n", "\n\n", "\n\n\n", " ", "\t", "\r", "\v", "\f", "\n \n",
                                          "\n\t\r"};
const std::vector<std::string> kQuotes = {"\"", "\\", "\\\"", "\\\\", "\\\\\""};
const std::vector<std::string> kWords = {"a", "Z", "9", "_", "'", ".", ":", ",", ";", " ", "\n", "\u00e9", "\u00d7", "\u00f7", "\u027f", "\u0280", "\u0416", "\u047f", "\u0480", "\u061f", "\u0627", "\u0640", "\u064a", "\u0301", "\u7684", "\u043e\u0431\u044a\u0435\u0437\u0434 \u0438\u0437-\u043f\u043e\u0434 \u043c\u043e\u0441\u0442\u0430 \u00fcber M\u00fcllers K\u00fche \u0628\u064a\u062a ", "can't e.g. 3.14 a:b 1,000;5 x_y ", "some words "};
const std::vector<std::string> kOdd = {
    std::string(1, '\0'), "\x1f", "\x7f", "\x80", "\xbf", "\xc0\xaf", "\xc1\xbf", "\xc2", "\xc2\x80", "\xc2\x9f", "\xe2\x82",
    "\xe0\x9f\xbf", "\xed\x9f\xbf", "\xed\xa0\x80", "\xef\xbb", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf8", "\xff",
};

const std::vector<std::string> kRepeated = {"\n", "\"", "\\", " ", "x", "a ", "\u00e9"};  // as many as a sum must hold

std::string repeated(const std::string& piece, size_t times) {
    std::string text;
    while (times-- > 0) text += piece;
    return text;
}

std::string random_text(Source& source) {
    std::string text;
    for (size_t parts = below(source, source() % 4 ? 6 : 40); parts > 0; --parts) {
        text += fuzzing::some_of(kText, 4, source);
        if (source() % 2) text += one_of(kBlanks, source);
        if (source() % 8 == 0) text += fuzzing::some_of(kQuotes, 6, source);
        if (source() % 8 == 0) text += fuzzing::some_of(kWords, 40, source);
        if (source() % 30 == 0) text.append(below(source, 200), 'x');
        if (source() % 80 == 0) text += repeated(one_of(kRepeated, source), below(source, 3000));
        if (source() % 30 == 0) text += one_of(kOdd, source);
    }
    if (source() % 8 == 0) fuzzing::damage(text, kOdd, source);
    if (source() % 2) text += '\n';
    return text;
}

// The code points of a text, or nothing where it is not UTF-8 (RFC 3629).
std::optional<std::vector<uint32_t>> decoded(std::string_view text) {
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    std::vector<uint32_t> points;
    for (size_t at = 0, length; at < text.size(); at += length) {
        const auto lead = static_cast<unsigned char>(text[at]);
        length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
        if ((lead >= 0x80 && lead < 0xC0) || lead >= 0xF8 || text.size() - at < length) return std::nullopt;
        uint32_t point = length == 1 ? lead : lead & (0x7F >> length);
        for (const char byte : text.substr(at + 1, length - 1)) {
            if ((byte & 0xC0) != 0x80) return std::nullopt;
            point = point << 6 | (byte & 0x3F);
        }
        if (point < kLeast[length] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return std::nullopt;
        points.push_back(point);
    }
    return points;
}

// What a code point is, by the last range that has it.
uint8_t kind_of(uint32_t point) {
    static const std::vector<uint8_t> kKinds = [] {
        std::vector<uint8_t> kinds(0x110000, corpusfmt::kUnknown);
        const auto fill = [&](const auto& ranges) {
            uint32_t at = 0;
            for (const auto& range : ranges) {
                at += range.skipped;
                for (const uint32_t end = at + range.length; at < end; ++at) kinds.at(at) = range.kind;
            }
        };
        fill(corpusfmt::kLetters);
        fill(corpusfmt::kOthers);
        return kinds;
    }();
    return kKinds.at(point);
}

bool is_known_nfc(const std::vector<uint32_t>& points) {
    uint8_t before = corpusfmt::kLetter;
    for (const uint32_t point : points) {
        const uint8_t kind = kind_of(point);
        const bool after_letter = before == corpusfmt::kLetter || before == corpusfmt::kSecond;
        switch (kind) {
            case corpusfmt::kLetter: case corpusfmt::kFirst: break;
            case corpusfmt::kSecond:
                if (before == corpusfmt::kFirst) return false;
                break;
            case corpusfmt::kSecondMark:
                if (!after_letter) return false;
                break;
            case corpusfmt::kMark:
                if (!after_letter && before != corpusfmt::kFirst) return false;
                break;
            case corpusfmt::kUnknown: return false;
            default:
                if (before > kind) return false;
        }
        before = kind;
    }
    return true;
}

// The first place that a look at every byte finds.
std::optional<size_t> double_encoding_at(std::string_view text, size_t start, bool escaped) {
    const unsigned char* const begin = corpusfmt::bytes_of(text);
    const unsigned char* const end = begin + text.size();
    for (size_t place = start; place < text.size(); ++place) {
        if (text[place] == '\xC3' && corpusfmt::is_double_encoded(begin, begin + place, end, corpusfmt::character_at)) {
            return place;
        }
        if (escaped && corpusfmt::is_double_encoded(begin, begin + place, end, corpusfmt::escaped_character_at)) return place;
    }
    return std::nullopt;
}

// What a look at each line and each byte finds.
Survey survey(std::string_view text, size_t least, Survey found) {
    using namespace corpusfmt;
    std::vector<std::string_view> lines = split(text, "\n");
    if (lines.back().empty()) lines.pop_back();
    for (const std::string_view line : lines) {
        const auto start = static_cast<size_t>(line.data() - text.data());
        const auto points = decoded(line);
        const bool odd = !line.empty() && line.find_first_not_of(" \t\r") == std::string_view::npos;
        for (size_t at = 0; at < line.size() && !odd; ++at) {
            const auto byte = static_cast<unsigned char>(line[at]);
            const unsigned char next = at + 1 < line.size() ? line[at + 1] : 0;
            if (byte == '\r') found.seen[kReturns].add(start + at);
            else if (byte == 0) found.seen[kNuls].add(start + at);
            else if (byte < 0x20 ? byte != '\t' : byte == 0xC2 && next >= 0x80 && next < 0xA0) found.seen[kOtherControls].add(start + at);
        }
        if (!points) found.bad.push_back(start);
        else if (!is_known_nfc(*points)) found.seen[kNotNfc].add(start);
        const int64_t number = found.line + static_cast<int64_t>(found.lines++);
        if (!line.empty() && !odd) {
            ++found.filled;
            found.blanks = 0;
            if (points && points->size() < least) found.seen[kShortLines].add(start);
            continue;
        }
        if (odd) {
            found.seen[kOddSeparators].add(start);
            found.odd.push_back(number);
        } else if (found.blanks == 1) {
            found.seen[kBlankRuns].add(start);
        }
        found.blanks = odd ? 0 : std::min<int64_t>(found.blanks + 1, 2);
        const int64_t byte = found.byte + static_cast<int64_t>(start);
        if (number > found.open_line) {
            ++found.found;
            found.documents.push_back({found.open_line, number - found.open_line, byte - 1 - found.open_byte, found.separators});
            found.separators = 0;
        }
        ++found.separators;
        found.open_line = number + 1;
        found.open_byte = byte + static_cast<int64_t>(line.size()) + 1;
    }
    return found;
}

auto parts_of(const corpusfmt::Document& each) { return std::tie(each.line, each.lines, each.size, each.separators_before); }

bool is_same(const Survey& one, const Survey& other) {
    const auto numbers = [](const Survey& each) {
        return std::tie(each.lines, each.filled, each.found, each.open_line, each.open_byte, each.separators, each.blanks, each.bad, each.odd);
    };
    return numbers(one) == numbers(other) &&
           std::equal(one.seen.begin(), one.seen.end(), other.seen.begin(), [](const Sight& left, const Sight& right) {
               return left.count == right.count && (left.count == 0 || left.first == right.first);
           }) &&
           std::equal(one.documents.begin(), one.documents.end(), other.documents.begin(), other.documents.end(),
                      [](const auto& left, const auto& right) { return parts_of(left) == parts_of(right); });
}

std::optional<std::vector<Piece>> split_at_empty_lines(std::string_view text) {
    const std::vector<std::string_view> lines = split(text, "\n");
    for (size_t at = 1; at < lines.size(); ++at) {
        if (!lines[at].empty() && lines[at].find_first_not_of(" \t\r") == std::string_view::npos) return std::nullopt;
        if (at > 1 && at + 1 < lines.size() && lines[at].empty() && lines[at - 1].empty()) return std::nullopt;
    }
    std::vector<Piece> pieces;
    for (const std::string_view piece : split(text, "\n\n")) pieces.push_back({piece, split(piece, "\n").size()});
    return pieces;
}

struct Counts {
    size_t lines = 0, quotes = 0, continuations = 0;
};

Counts counts_of(std::string_view text) {
    Counts counts;
    bool is_escaped = false;
    for (const char byte : text) {
        counts.lines += byte == '\n';
        counts.quotes += byte == '"' && !is_escaped;
        counts.continuations += (byte & 0xC0) == 0x80;
        is_escaped = byte == '\\' && !is_escaped;
    }
    return counts;
}

// What code points are for the rules on words (UAX 29), without Katakana and Hebrew, and a script for each kind of letter.
enum Role : uint8_t { kOther, kLetterRole, kDigit, kInBoth, kInLetters, kInNumbers, kExtends, kIgnored, kAlone, kRoles };

// The scripts of usual letters, which the kernel counts in blocks without its tables; 0 for other characters.
size_t script_of(uint32_t point) {
    const auto is_between = [&](uint32_t first, uint32_t last) { return point >= first && point <= last; };
    if (is_between('A', 'Z') || is_between('a', 'z') || (is_between(0xC0, 0x27F) && point != 0xD7 && point != 0xF7)) return 1;
    if (is_between(0x400, 0x47F)) return 2;
    return is_between(0x620, 0x63F) || is_between(0x641, 0x64A) ? 3 : 0;
}

Role role_of(uint32_t point) {
    if (point < 0x80 && std::isdigit(static_cast<int>(point))) return kDigit;
    if (script_of(point)) return kLetterRole;
    switch (point) {
        case '\'': case '.': return kInBoth;
        case ':': return kInLetters;
        case ',': case ';': return kInNumbers;
        case '_': return kExtends;
        case 0x10FFFF: return kLetterRole;
        case 0x301: case 0x94D: case 0xFEFF: return kIgnored;
        case 0x7684: case 0xAC00: return kAlone;
        default: return kOther;
    }
}

bool forms_words(Role role) { return role == kLetterRole || role == kDigit || role == kExtends; }

// Whether a word goes on with the last of three characters, of which the one before may be between letters or digits.
bool goes_on(Role far, Role before, Role role) {
    if (forms_words(before)) return forms_words(role);
    return far == role && ((role == kLetterRole && (before == kInBoth || before == kInLetters)) ||
                           (role == kDigit && (before == kInBoth || before == kInNumbers)));
}

// The tables of a measurer for these roles.
struct Tables {
    Tables() : classes(0x110000), next(kRoles * kRoles * 2 * kWidth) {
        for (uint32_t point = 0; point < classes.size(); ++point) {
            classes[point] = static_cast<uint16_t>(2 * role_of(point) | script_of(point) << 8);
        }
        for (size_t at = 0; at < next.size(); ++at) {
            const size_t state = at / kWidth;
            next[at] = after(static_cast<Role>(state / 2 / kRoles), static_cast<Role>(state / 2 % kRoles), state % 2, static_cast<Role>(at % kWidth / 2));
        }
    }

    static uint16_t after(Role far, Role before, bool counted, Role role) {
        const auto number = [](size_t one, size_t other, bool is_counted) { return ((one * kRoles + other) * 2 + is_counted) * kWidth; };
        if (role == kIgnored) return static_cast<uint16_t>(number(far, before, counted));
        if (!forms_words(role)) {
            const bool between = (role == kInBoth || role == kInLetters || role == kInNumbers) && forms_words(before);
            return static_cast<uint16_t>((between ? number(before, role, counted) : 0) | (role == kAlone));
        }
        const bool had = counted && goes_on(far, before, role), counts = role != kExtends;
        return static_cast<uint16_t>(number(kOther, role, had || counts) | (counts && !had));
    }

    static constexpr size_t kWidth = 2 * kRoles;
    std::vector<uint16_t> classes, next;
};

struct Measured {
    uint64_t lines = 0, words = 0, characters = 0;
    std::array<uint64_t, 4> letters{};
};

// The same, code point by code point: words are stretches between two boundaries in which something counts.
Measured measured(std::string_view text) {
    Measured found;
    std::vector<Role> roles;
    const auto points = decoded(text).value();
    for (const uint32_t point : points) {
        ++found.letters[script_of(point)];
        found.lines += point == '\n';
        if (role_of(point) != kIgnored) roles.push_back(role_of(point));
    }
    found.lines += !points.empty() && points.back() != '\n';
    found.characters = points.size();
    bool counted = false;
    for (size_t at = 0; at < roles.size(); ++at) {
        const auto near = [&](size_t back) { return at < back ? kOther : roles[at - back]; };
        const bool between = at + 1 < roles.size() && !forms_words(roles[at]) && goes_on(near(1), roles[at], roles[at + 1]);
        if (between || roles[at] == kExtends) {
            counted = counted && (between || forms_words(near(1)));
            continue;
        }
        if (!forms_words(roles[at]) || !goes_on(near(2), near(1), roles[at])) counted = false;
        const bool counts = forms_words(roles[at]) || roles[at] == kAlone;
        found.words += counts && !counted;
        counted = counts && roles[at] != kAlone;
    }
    return found;
}

void exercise_measures(std::string_view text, Source& source) {
    static const Tables kTables;
    std::vector<uint64_t> ends;
    for (size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1)) {
        if (source() % 2) ends.push_back(at);
    }
    ends.push_back(text.size());
    const auto places = fuzzing::exact_copy(ends);
    const std::string_view as_bytes(reinterpret_cast<const char*>(places.get()), ends.size() * sizeof(uint64_t));
    std::array<uint64_t, 256> letters{};
    corpusfmt::Measurer measurer(reinterpret_cast<const char*>(kTables.classes.data()), reinterpret_cast<const char*>(kTables.next.data()),
                                 reinterpret_cast<char*>(letters.data()));
    const auto found = corpusfmt::measures(text, as_bytes, &measurer), without = corpusfmt::measures(text, as_bytes, nullptr);
    const bool is_utf8 = decoded(text).has_value();
    if (found.has_value() != is_utf8 || without.has_value() != is_utf8) fail("another verdict on texts", text);
    if (!is_utf8) return;
    std::vector<uint64_t> expected(4 * ends.size());
    std::array<uint64_t, 4> counted{};
    for (size_t at = 0, begin = 0; at < ends.size(); begin = ends[at++] + 1) {
        const Measured each = measured(text.substr(begin, ends[at] - begin));
        const uint64_t values[] = {each.lines, each.words, each.characters, ends[at] - begin};
        for (size_t unit = 0; unit < 4; ++unit) expected[unit * ends.size() + at] = values[unit];
        for (size_t script = 0; script < counted.size(); ++script) counted[script] += each.letters[script];
    }
    if (*found != expected) fail("other measures", text);
    if (!std::equal(counted.begin() + 1, counted.end(), letters.begin() + 1)) fail("other letters", text);
    std::fill_n(expected.begin() + static_cast<ptrdiff_t>(ends.size()), ends.size(), 0);
    if (*without != expected) fail("other measures without words", text);
}

struct Seen {
    size_t texts = 0, nfc = 0, plain = 0, split = 0, twice = 0;
};

void exercise(const std::string& random, size_t least, Seen& seen) {
    const auto copy = fuzzing::exact_copy(random);
    const std::string_view text(copy.get(), random.size());

    const Counts counts = counts_of(text);
    if (corpusfmt::count_lines(text) != counts.lines) fail("another number of lines", text);
    if (corpusfmt::count_quotes(text) != counts.quotes) fail("another number of quotation marks", text);
    if (corpusfmt::continuations_in(text) != counts.continuations) fail("another number of continuation bytes", text);

    const auto points = decoded(text);
    const bool nfc = points && is_known_nfc(*points);
    if (corpusfmt::is_utf8(text) != points.has_value()) fail("another verdict on UTF-8", text);
    Survey before;
    before.line = static_cast<int64_t>(least);
    before.byte = 5 * before.line;
    before.blanks = before.line % 3;
    before.open_line = before.line - before.line % 2;
    before.open_byte = before.byte - before.line % 2;
    Survey whole = before, doubted = before;
    whole.take_characters(text, [](std::string_view) { return false; });
    whole.take_lines(text, least);
    if (!is_same(whole, survey(text, least, before))) fail("another survey", text);
    size_t after = 0;
    doubted.take_characters(text, [&](std::string_view stretch) {
        const auto begin = static_cast<size_t>(stretch.data() - text.data());
        if (begin < after || stretch.empty() || begin + stretch.size() > text.size()) fail("a stretch out of place", text);
        const auto between = decoded(text.substr(after, begin - after));
        if (points && (!between || !is_known_nfc(*between) || !decoded(stretch))) fail("a stretch cut wrongly", text);
        after = begin + stretch.size();
        return true;
    });
    if (nfc && after) fail("a doubt without reason", text);
    const auto rest = decoded(text.substr(after));
    if (points && (!rest || !is_known_nfc(*rest))) fail("a stretch left out", text);
    if (doubted.seen[corpusfmt::kNotNfc].count || doubted.bad != whole.bad) fail("another verdict on NFC", text);

    const auto pieces = corpusfmt::split_at_empty_lines(text), expected = split_at_empty_lines(text);
    if (pieces.has_value() != expected.has_value()) fail("another verdict on empty lines", text);
    const auto parts = [](const Piece& each) { return std::tie(each.text, each.lines); };
    const auto is_same = [&](const Piece& one, const Piece& other) { return parts(one) == parts(other); };
    if (pieces && !std::equal(pieces->begin(), pieces->end(), expected->begin(), expected->end(), is_same)) {
        fail("other texts between empty lines", text);
    }

    const auto twice = corpusfmt::double_encoding_at<false>(text, least);
    const auto in_json = corpusfmt::double_encoding_at<true>(text, least);
    if (twice != double_encoding_at(text, least, false) || in_json != double_encoding_at(text, least, true)) {
        fail("another place of a double encoding", text);
    }

    ++seen.texts;
    seen.twice += in_json.has_value();
    seen.nfc += nfc;
    seen.plain += whole.bad.empty() && whole.filled == whole.lines;
    seen.split += pieces.has_value();
}

void exercise_columns(Source& source) {
    const size_t width = 1 + below(source, 3), rows = below(source, 40);
    std::vector<uint64_t> random(width * rows + below(source, width));  // a piece of a row is none
    for (uint64_t& each : random) each = source() % 4 ? source() : source() % 5;
    std::vector<uint64_t> order(rows), expected;
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint64_t one, uint64_t other) { return random[one] < random[other]; });
    for (size_t column = 0; column < width; ++column) {
        for (const uint64_t row : order) expected.push_back(random[column * rows + row]);
    }
    expected.insert(expected.end(), order.begin(), order.end());
    if (corpusfmt::sorted_columns(fuzzing::exact_copy(random).get(), width, rows) != expected) fail("columns in another order", "");
}

struct Harness {
    static constexpr bool kWantsFiles = false;
    std::vector<std::string> files;
    Seen seen;

    std::string input(Source& source) { return random_text(source); }
    void take(std::string_view text, Source& source) {
        exercise(std::string(text), below(source, 9), seen);
        const auto copy = fuzzing::exact_copy(std::string(text));
        exercise_measures({copy.get(), text.size()}, source);
        exercise_columns(source);
    }
    void round(Source& source) { take(random_text(source), source); }

    void summarise() const {
        std::printf("%zu texts, of which %zu were accepted as NFC, %zu without separators or bad lines, %zu split, %zu suspected: nothing found\n",
                    seen.texts, seen.nfc, seen.plain, seen.split, seen.twice);
    }
};

}  // namespace

FUZZES(Harness)
