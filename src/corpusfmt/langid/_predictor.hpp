// The labels of a line.
//
// A fastText classifier adds one row of a matrix for every word it knows and for every character n-gram of every word,
// divides by the number of rows, and walks a tree (hierarchical softmax) or multiplies by a matrix (softmax) to find
// the label. Stock fastText spends nearly all its time finding the rows to add. Here a line goes
// through a few passes over plain arrays instead, none of which branches on the text:
//
//   find the characters                    -> one array entry for each: its bytes, separators as "<" or ">"
//   hash all n-grams that start anywhere   -> one feature id per character and n-gram length, in stock order
//   find the words that the model knows    -> their feature ids before those of their n-grams
//   drop features that are not in the model -> feature ids to add
//   add the rows, find the label
//
// The order of float operations is stock's, so the scores have the same bits as in a stock build without fused
// multiply-add; compile without contraction. Words that fastText treats specially ("</s>",
// labels) and words longer than a chunk take `add_word_by_word`, which follows the stock program step by step.

#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../_compiler.hpp"
#include "../_utf8.hpp"
#include "_features.hpp"
#include "_labels.hpp"
#include "_model.hpp"
#include "_reader.hpp"
#include "_text.hpp"
#include "_vocabulary.hpp"

namespace corpusfmt {

constexpr size_t kVector = 16;  // 32-bit numbers in the longest vector that a compiler may use

// Passes over arrays continue to the end of a vector, which avoids a second loop for the remaining elements.
constexpr size_t whole_vectors(size_t count) { return (count + (kVector - 1)) & ~(kVector - 1); }

// Predicts line after line; owns all mutable memory, so threads share a model and have separate predictors.
// Lines are valid UTF-8 without a line feed; the line feed that fastText requires at their end is implied.
class Predictor {
  public:
    explicit Predictor(const Model& model)
        : model_(model), features_(model.features),
          least_length_(features_.longest() == 0 ? kBreaking : features_.shortest()), most_length_(std::max(features_.longest(), kBreaking)),
          lengths_(static_cast<size_t>(most_length_ - least_length_ + 1)),
          text_(new char[kChunk + 2 * sizeof(uint64_t)]()), starts_(new uint32_t[kChunk + 1]),
          quads_(new uint32_t[kPlane]()), planes_(new uint32_t[4 * kPlane]()), separators_(new uint32_t[kPlane]()),
          found_(new Feature[lengths_ * kPlane]), kept_(new Feature[lengths_ * kPlane]),
          edges_(new uint32_t[kChunk + 2]), candidates_(new Candidate[kMostWords]), sum_(features_.dimension()) {}

    // The guesses are empty if no feature of the line is in the model.
    const std::vector<Guess>& guesses(std::string_view line, unsigned char largest_byte, size_t k, float threshold) {
        if (!add_line(line, largest_byte)) return none();
        if (k == 1 && threshold == 0.0f) {
            model_.labels->find_best(sum_.data(), scratch_);
        } else {
            model_.labels->find(sum_.data(), k, threshold, scratch_);
        }
        return scratch_.guesses;
    }

    // For tests: the same as `guesses` for one label, without the fast passes and the fast search.
    const std::vector<Guess>& best_step_by_step(std::string_view line) {
        begin_line();
        add_word_by_word(line);
        if (!end_line()) return none();
        model_.labels->find(sum_.data(), 1, 0.0f, scratch_);
        return scratch_.guesses;
    }

  private:
    static constexpr size_t kChunk = 1024;  // bytes of text in one pass
    static constexpr size_t kMostWords = kChunk / 2;
    // There are two separators before the first character and one after the last.
    static constexpr size_t kFirst = 2;
    static constexpr size_t kPlane = whole_vectors(kFirst + kChunk + 1) + kLongestNgramServed;
    // An n-gram of at least this length that begins just before a separator is invalid.
    static constexpr int32_t kBreaking = 3;
    // Rows of a chunk are prefetched when they are found, because they are in main memory. Since they may not all fit in the
    // first cache, they are prefetched again this number of rows before they are added.
    static constexpr size_t kAhead = 24;

    // A word that may be in the model.
    struct Candidate {
        uint32_t edge, hash;
    };

    const std::vector<Guess>& none() {
        scratch_.guesses.clear();
        return scratch_.guesses;
    }

    void begin_line() {
        std::fill(sum_.begin(), sum_.end(), 0.0f);
        rows_ = 0;
    }

    bool end_line() {
        if (model_.has_end_of_line) add(model_.end_of_line);
        if (rows_ == 0) return false;
        const auto factor = static_cast<float>(1.0 / static_cast<double>(rows_));
        for (float& value : sum_) value *= factor;
        return true;
    }

    bool add_line(std::string_view line, unsigned char largest_byte) {
        begin_line();
        while (!line.empty()) {
            const std::string_view chunk = line.substr(0, chunk_length(line));
            const bool is_one_long_word = chunk.size() > kChunk;
            if ((is_one_long_word || !add_chunk(chunk, largest_byte)) && !add_word_by_word(chunk)) break;
            line.remove_prefix(chunk.size());
        }
        return end_line();
    }

    // Up to `kChunk` bytes of whole words; more only for a single word that is longer.
    static size_t chunk_length(std::string_view line) {
        if (line.size() <= kChunk) return line.size();
        size_t end = kChunk;
        while (end > 0 && !kSeparator[static_cast<unsigned char>(line[end])]) --end;
        if (end > 0) return end;
        for (end = kChunk; end < line.size() && !kSeparator[static_cast<unsigned char>(line[end])];) ++end;
        return end;
    }

    // False, with nothing added, if the chunk contains a word that needs special treatment.
    bool add_chunk(std::string_view chunk, unsigned char largest_byte) {
        if (chunk.find(kLabelPrefix) != std::string_view::npos) return false;
        std::memcpy(text(), chunk.data(), chunk.size());
        const size_t width = largest_byte < 0x80 ? 1 : largest_byte < 0xE0 ? 2 : largest_byte < 0xF0 ? 3 : 4;
        find_characters(chunk.size(), width);
        fill_planes(width);
        hash_ngrams(width);
        if (!find_words()) return false;
        add_found();
        return true;
    }

    char* text() const { return text_.get() + sizeof(uint64_t); }

    Feature* found(int32_t length) { return found_.get() + size_t(length - least_length_) * kPlane; }

    // The start of every character, and the four bytes from there on.
    void find_characters(size_t size, size_t width) {
        uint32_t* const starts = starts_.get();
        uint32_t* const quads = quads_.get() + kFirst;
        const char* const text = this->text();
        size_t count = 0;
        if (width == 1) {
            for (; count < size; ++count) {
                starts[count] = static_cast<uint32_t>(count);
                quads[count] = static_cast<unsigned char>(text[count]);
            }
        } else {
            for (size_t at = 0; at < size; ++at) {
                starts[count] = static_cast<uint32_t>(at);
                count += !is_continuation(static_cast<unsigned char>(text[at]));
            }
            for (size_t at = 0; at < count; ++at) std::memcpy(quads + at, text + starts[at], sizeof(uint32_t));
        }
        starts[count] = static_cast<uint32_t>(size);
        quads_[0] = quads_[1] = quads[count] = ' ';
        characters_ = count;
    }

    // Plane k contains the k-th byte of every character, or zero for shorter characters; a separator is a ">", and has all bits in
    // `separators_`.
    CORPUSFMT_WIDE void fill_planes(size_t width) {
        static constexpr std::array<uint32_t, 4> kLeastLead{0, 0xC0, 0xE0, 0xF0};
        const uint32_t* const quads = quads_.get();
        uint32_t* const separators = separators_.get();
        const size_t end = whole_vectors(kFirst + characters_ + 1);
        for (size_t at = 0; at < end; ++at) separators[at] = is_separator(quads[at] & 0xFF) ? ~uint32_t{0} : 0;
        for (size_t k = 0; k < width; ++k) {
            uint32_t* const plane = planes_.get() + k * kPlane;
            const uint32_t least = kLeastLead[k];
            for (size_t at = 0; at < end; ++at) plane[at] = (quads[at] & 0xFF) >= least ? signed_byte(quads[at] >> 8 * k & 0xFF) : 0;
        }
        uint32_t* const leads = planes_.get();
        for (size_t at = 0; at < end; ++at) leads[at] = separators[at] ? '>' : leads[at];
    }

    // The n-grams that begin at every position. A separator is a ">" that ends a word and a "<" that begins one: an n-gram
    // with one inside, or a lone "<" or ">", is invalid.
    CORPUSFMT_WIDE void hash_ngrams(size_t width) {
        const uint32_t* const planes = planes_.get();
        const uint32_t* const separators = separators_.get();
        const Modulus modulus = features_.modulus();
        const Feature nothing = features_.nothing();  // larger than all n-grams
        const uint32_t prime = prime_;
        const int32_t longest = features_.longest();
        const size_t end = whole_vectors(kFirst + characters_);
        for (size_t begin = 0; begin < end; begin += kVector) {
            uint32_t hashes[kVector], broken[kVector];
            const uint32_t* const first = separators + begin;
            for (size_t at = 0; at < kVector; ++at) hashes[at] = kHashStart ^ (first[at] & ('<' ^ '>'));
            for (int32_t length = 1; length <= longest; ++length) {
                const uint32_t* const leads = planes + begin + length - 1;
                for (size_t at = 0; at < kVector; ++at) hashes[at] = (hashes[at] ^ leads[at]) * prime;
                for (size_t k = 1; k < width; ++k) {
                    const uint32_t* const bytes = leads + k * kPlane;
                    for (size_t at = 0; at < kVector; ++at) hashes[at] = add_byte(hashes[at], bytes[at], prime);
                }
                if (length == 1) {
                    for (size_t at = 0; at < kVector; ++at) broken[at] = first[at];
                } else if (length == 2) {
                    for (size_t at = 0; at < kVector; ++at) broken[at] = first[at] & first[at + 1];
                } else {
                    for (size_t at = 0; at < kVector; ++at) broken[at] |= first[at + length - 2];
                }
                if (length < least_length_) continue;
                Feature features[kVector];
                for (size_t at = 0; at < kVector; ++at) features[at] = std::max(modulus.of(hashes[at]), broken[at] & nothing);
                std::memcpy(found(length) + begin, features, sizeof features);
            }
        }
        for (int32_t length = std::max(longest + 1, least_length_); length <= most_length_; ++length) std::fill_n(found(length), end, nothing);
    }

    // A byte after the first of a character, zero for none.
    static uint32_t add_byte(uint32_t hash, uint32_t byte, uint32_t prime) {
        const uint32_t longer = (hash ^ byte) * prime;
        return hash ^ ((hash ^ longer) & all_if_negative(byte));  // a choice that every compiler vectorises
    }

    // The positions where words begin and end, alternately. Returns their number.
    size_t find_edges() {
        uint32_t* const edges = edges_.get();
        const uint32_t* const separators = separators_.get();
        const size_t closing = kFirst + characters_;
        size_t count = 0;
        for (size_t at = kFirst; at <= closing; ++at) {
            edges[count] = static_cast<uint32_t>(at);
            count += (separators[at] ^ separators[at - 1]) & 1;
        }
        return count;
    }

    // A known word's own feature comes before those of its n-grams: it replaces the longest n-gram that
    // begins before the separator before the word, which is invalid.
    bool find_words() {
        const Vocabulary& vocabulary = model_.vocabulary;
        const uint32_t* const edges = edges_.get();
        const uint32_t* const starts = starts_.get();
        Candidate* const candidates = candidates_.get();
        const char* const text = this->text();
        const auto word_at = [=](size_t edge) {
            const uint32_t begin = starts[edges[edge] - kFirst], end = starts[edges[edge + 1] - kFirst];
            return Word::amid({text + begin, end - begin});
        };
        const size_t edge_count = find_edges();
        size_t count = 0;
        for (size_t edge = 0; edge < edge_count; edge += 2) {
            const uint32_t hash = word_at(edge).hash();
            candidates[count] = {static_cast<uint32_t>(edge), hash};
            count += vocabulary.may_hold(hash);
            vocabulary.prefetch(hash);
        }
        Feature* const out = found(most_length_);
        for (size_t at = 0; at < count; ++at) {
            const auto [edge, hash] = candidates[at];
            const Word word = word_at(edge);
            const int32_t id = vocabulary.find(word, hash);
            if (id >= vocabulary.words() || word.text == kEndOfLine) return false;
            if (id >= 0) out[edges[edge] - 2] = features_.word(id);
        }
        return true;
    }

    void add_found() {
        if (lengths_ == 3) return features_.pruned() ? add_held<true, 3>() : add_held<false, 3>();
        features_.pruned() ? add_held<true, 0>() : add_held<false, 0>();
    }

    template <bool Pruned, size_t Lengths>  // 0: known at run time only
    void add_held() {
        const size_t lengths = Lengths ? Lengths : lengths_;
        size_t kept = 0;
        const auto keep = [&](Feature feature) {
            kept_[kept] = feature;
            if constexpr (!Pruned) CORPUSFMT_PREFETCH(features_.rows() + size_t{feature} * features_.dimension());
            kept += features_.holds<Pruned>(feature);
        };
        const size_t end = kFirst + characters_;
        for (size_t at = 0; at < end; ++at) {
            if constexpr (Lengths == 3) {
                keep(found_[at]);
                keep(found_[kPlane + at]);
                keep(found_[2 * kPlane + at]);
            } else {
                for (size_t length = 0; length < lengths; ++length) keep(found_[length * kPlane + at]);
            }
        }
        if constexpr (Pruned) turn_into_rows(kept_.get(), kept);
        add_rows(kept_.get(), kept);
    }

    void add(Feature feature) {
        if (features_.pruned()) turn_into_rows(&feature, 1);
        add_rows(&feature, 1);
    }

    // The rows of features in a pruned model.
    CORPUSFMT_WIDE void turn_into_rows(Feature* features, size_t count) {
        for (size_t at = 0; at < count; ++at) {
            features[at] = features_.row(features[at]);
            CORPUSFMT_PREFETCH(features_.rows() + size_t{features[at]} * features_.dimension());
        }
    }

    void add_rows(const Feature* rows, size_t count) {
        rows_ += static_cast<int64_t>(count);
        if (features_.dimension() == 16) return add_rows_of_width_16(rows, count);
        add_rows_of_any_width(rows, count);
    }

    void add_rows_of_any_width(const Feature* rows, size_t count) {
        const size_t dimension = features_.dimension();
        for (size_t at = 0; at < count; ++at) {
            if (at + kAhead < count) CORPUSFMT_PREFETCH(features_.rows() + size_t{rows[at + kAhead]} * dimension);
            const float* const row = features_.rows() + size_t{rows[at]} * dimension;
            for (size_t column = 0; column < dimension; ++column) sum_[column] += row[column];
        }
    }

    // lid.176's width: the sum stays in registers.
    CORPUSFMT_WIDE void add_rows_of_width_16(const Feature* rows, size_t count) {
        struct Quarter {
            float values[4];
            void add(const float* row) {
                for (int at = 0; at < 4; ++at) values[at] += row[at];
            }
        };
        Quarter sum[4];
        std::memcpy(sum, sum_.data(), sizeof sum);
        const float* const matrix = features_.rows();
        for (size_t at = 0; at < count; ++at) {
            if (at + kAhead < count) CORPUSFMT_PREFETCH(matrix + size_t{rows[at + kAhead]} * 16);
            const float* const row = matrix + size_t{rows[at]} * 16;
            sum[0].add(row);
            sum[1].add(row + 4);
            sum[2].add(row + 8);
            sum[3].add(row + 12);
        }
        std::memcpy(sum_.data(), sum, sizeof sum);
    }

    // As in stock: word by word, n-gram by n-gram. False if "</s>" ended the line.
    bool add_word_by_word(std::string_view text) {
        while (!text.empty()) {
            size_t length = 0;
            while (length < text.size() && !kSeparator[static_cast<unsigned char>(text[length])]) ++length;
            const std::string_view word = text.substr(0, length);
            if (word == kEndOfLine) return false;
            if (!word.empty()) add_word(word);
            text.remove_prefix(std::min(length + 1, text.size()));
        }
        return true;
    }

    void add_word(std::string_view word) {
        const Word known(word);
        const int32_t id = model_.vocabulary.find(known, known.hash());
        const bool is_unknown_label = id < 0 && word.substr(0, kLabelPrefix.size()) == kLabelPrefix;
        if (id >= model_.vocabulary.words() || is_unknown_label) return;
        if (id >= 0) add(features_.word(id));
        const std::string delimited = '<' + std::string(word) + '>';
        for (size_t begin = 0; begin < delimited.size(); ++begin) {
            if (!is_continuation(static_cast<unsigned char>(delimited[begin]))) add_ngrams_from(delimited, begin);
        }
    }

    void add_ngrams_from(const std::string& word, size_t begin) {
        uint32_t hash = kHashStart;
        size_t end = begin;
        for (int32_t length = 1; end < word.size() && length <= features_.longest(); ++length) {
            do {
                hash = (hash ^ signed_byte(static_cast<unsigned char>(word[end++]))) * kHashPrime;
            } while (is_continuation(static_cast<unsigned char>(word[end])));
            const bool is_delimiter = length == 1 && (begin == 0 || end == word.size());
            if (length < features_.shortest() || is_delimiter) continue;
            const Feature feature = features_.ngram(hash);
            const bool held = features_.pruned() ? features_.holds<true>(feature) : features_.holds<false>(feature);
            if (held) add(feature);
        }
    }

    const Model& model_;
    const Features& features_;
    int32_t least_length_, most_length_;  // of n-grams that have a plane in `found_`
    size_t lengths_;
    // Not a constant where n-grams are hashed: compilers make twice as many vector operations of a constant factor.
    uint32_t prime_ = kHashPrime;
    std::unique_ptr<char[]> text_;        // the chunk, with readable memory around it
    std::unique_ptr<uint32_t[]> starts_;  // of the characters, in bytes of the chunk
    size_t characters_ = 0;
    std::unique_ptr<uint32_t[]> quads_, planes_, separators_;
    std::unique_ptr<Feature[]> found_, kept_;
    std::unique_ptr<uint32_t[]> edges_;  // the positions where words begin and end, alternately
    std::unique_ptr<Candidate[]> candidates_;
    std::vector<float> sum_;
    int64_t rows_ = 0;
    LabelScratch scratch_;
};

}  // namespace corpusfmt
