// The words in the dictionary of a model, and its labels: ids from 0, labels after the words.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "../_compiler.hpp"
#include "_reader.hpp"
#include "_text.hpp"

namespace corpusfmt {

class Vocabulary {
  public:
    Vocabulary() = default;

    CORPUSFMT_ONCE explicit Vocabulary(Reader& reader) {
        const auto size = reader.number<int32_t>();
        words_ = reader.number<int32_t>();
        const auto labels = reader.number<int32_t>();
        reader.number<int64_t>();  // tokens seen in training
        pruned_ = reader.number<int64_t>();
        require(words_ >= 0 && labels >= 1 && size >= 1 && int64_t{words_} + labels == size,
                "the dictionary's sizes contradict each other");
        require(static_cast<uint64_t>(size) <= reader.left() / kLeastEntry, "the file is shorter than its header says");
        if (size > kMostEntries) throw UnsupportedModel("more than 2^27 words and labels");
        prepare_tables(static_cast<size_t>(size));
        for (int32_t id = 0; id < size; ++id) read_entry(reader, id);
    }

    int32_t words() const { return words_; }
    int32_t labels() const { return static_cast<int32_t>(label_counts_.size()); }
    int64_t pruned() const { return pruned_; }  // n-grams kept by pruning; negative: not pruned
    const std::vector<int64_t>& label_counts() const { return label_counts_; }
    const std::vector<std::string>& label_texts() const { return label_texts_; }

    // Excludes most words that are not in the vocabulary, but none that is, nor "</s>".
    bool may_hold(uint32_t hash) const {
        const uint32_t bit = hash & filter_mask_;
        return (filter_[bit >> 5] >> (bit & 31)) & 1;
    }

    void prefetch(uint32_t hash) const { CORPUSFMT_PREFETCH(&slots_[hash & slot_mask_]); }

    // The id of a word or label, -1 for none; the hash is the word's.
    int32_t find(const Word& word, uint32_t hash) const { return slots_[find_slot(word, hash)].id; }

  private:
    static constexpr int32_t kMostEntries = 1 << 27;
    static constexpr size_t kLeastEntry = 1 + sizeof(int64_t) + 1;  // terminator, count, type

    struct alignas(32) Slot {  // never across two cache lines
        uint64_t head = 0, tail = 0;
        uint32_t begin = 0, length = 0;  // in `text_`
        int32_t id = -1;
    };

    static uint32_t power_of_two_from(size_t least) {
        uint32_t result = 16;
        while (result < least) result *= 2;
        return result;
    }

    void prepare_tables(size_t entries) {
        constexpr size_t kLeastFilter = 1 << 16;
        const uint32_t slots = power_of_two_from(2 * entries);
        const uint32_t filter_bits = power_of_two_from(std::max(kLeastFilter, 8 * entries));
        slots_ = std::vector<Slot>(slots);
        slot_mask_ = slots - 1;
        filter_ = std::vector<uint32_t>(filter_bits / 32);
        filter_mask_ = filter_bits - 1;
        admit(Word(kEndOfLine).hash());
    }

    void admit(uint32_t hash) {
        const uint32_t bit = hash & filter_mask_;
        filter_[bit >> 5] |= 1u << (bit & 31);
    }

    // The slot of a word, or the empty slot for it.
    size_t find_slot(const Word& word, uint32_t hash) const {
        size_t at = hash & slot_mask_;
        while (slots_[at].id >= 0 && !holds(slots_[at], word)) at = (at + 1) & slot_mask_;
        return at;
    }

    bool holds(const Slot& slot, const Word& word) const {
        return slot.head == word.head && slot.tail == word.tail && slot.length == word.text.size() &&
               (slot.length <= Word::kCovered || std::string_view(text_).substr(slot.begin, slot.length) == word.text);
    }

    CORPUSFMT_ONCE void read_entry(Reader& reader, int32_t id) {
        const std::string_view word = reader.zero_terminated();
        const auto count = reader.number<int64_t>();
        const bool is_label = reader.flag();
        require(is_label == (id >= words_), "the dictionary's words and labels are out of order");
        if (is_label) {
            label_counts_.push_back(count);
            label_texts_.emplace_back(word);
        }
        if (can_occur(word)) insert(Word(word), id);
    }

    static bool can_occur(std::string_view word) {
        return !word.empty() && std::none_of(word.begin(), word.end(), [](char byte) {
            return kSeparator[static_cast<unsigned char>(byte)];
        });
    }

    void insert(const Word& word, int32_t id) {
        require(text_.size() <= UINT32_MAX - word.text.size(), "the dictionary is beyond 4 GiB");
        const uint32_t hash = word.hash();
        // If two entries are equal, the last one counts, as in stock.
        slots_[find_slot(word, hash)] = Slot{word.head, word.tail, static_cast<uint32_t>(text_.size()),
                                             static_cast<uint32_t>(word.text.size()), id};
        text_.append(word.text);
        admit(hash);
    }

    int32_t words_ = 0;
    int64_t pruned_ = -1;
    std::string text_;  // of all words, one after the other
    std::vector<int64_t> label_counts_;
    std::vector<std::string> label_texts_;
    std::vector<Slot> slots_;
    std::vector<uint32_t> filter_;
    uint32_t slot_mask_ = 0, filter_mask_ = 0;
};

}  // namespace corpusfmt
