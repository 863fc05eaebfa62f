// The features of a line: words and character n-grams, by number, and the matrix row of each.

#pragma once

#include <algorithm>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "../_compiler.hpp"
#include "_matrices.hpp"
#include "_reader.hpp"
#include "_vocabulary.hpp"

namespace corpusfmt {

// The remainder of a division by a number known at run time, by multiplication: vectorises without 64-bit division.
class Modulus {
  public:
    explicit Modulus(uint32_t divisor) : divisor_(divisor) {
        while ((divisor >> shift_) > 1) ++shift_;
        reciprocal_ = static_cast<uint32_t>(((uint64_t{1} << (32 + shift_)) - 1) / divisor);
    }

    uint32_t of(uint32_t value) const {
        const auto high = static_cast<uint32_t>((uint64_t{value} * reciprocal_) >> 32);
        const uint32_t remainder = value - (high >> shift_) * divisor_;
        return std::min(remainder, remainder - divisor_);  // at most one divisor too large
    }

    uint32_t operator()(uint32_t value) const { return value % divisor_; }

  private:
    uint32_t divisor_, reciprocal_ = 0, shift_ = 0;
};

using Feature = uint32_t;

// A set of features that numbers its members in ascending order. Only the bits are read for every n-gram, so they are stored
// separately and stay in the cache.
class NumberedSet {
  public:
    explicit NumberedSet(uint64_t features = 0) : bits_(static_cast<size_t>(features / 32 + 1)) {}

    void insert(Feature feature) { bits_[feature >> 5] |= 1u << (feature & 31); }

    // Call it after all members are added and before `number_of`. Returns the number of members.
    uint64_t number() {
        uint32_t count = 0;
        for (const uint32_t bits : bits_) {
            before_.push_back(count);
            count += number_of_bits(bits);
        }
        return count;
    }

    bool holds(Feature feature) const { return (bits_[feature >> 5] >> (feature & 31)) & 1; }

    uint32_t number_of(Feature member) const {
        const uint32_t lower = (1u << (member & 31)) - 1;
        return before_[member >> 5] + number_of_bits(bits_[member >> 5] & lower);
    }

  private:
    static uint32_t number_of_bits(uint32_t bits) { return static_cast<uint32_t>(std::bitset<32>(bits).count()); }

    std::vector<uint32_t> bits_;
    std::vector<uint32_t> before_;  // members before each word of bits
};

// Feature ids: character n-grams by their bucket, then one id for no feature, then the words. The rows of the input matrix are
// in this order; a pruned model has rows only for the members of a set of features.
class Features {
  public:
    Features() : modulus_(1) {}

    CORPUSFMT_ONCE Features(Reader& reader, const Arguments& arguments, const Vocabulary& vocabulary)
        : dimension_(static_cast<size_t>(arguments.dimension)), modulus_(1) {
        pruned_ = vocabulary.pruned() > 0;
        shortest_ = arguments.shortest_ngram;
        const bool has_ngrams = arguments.longest_ngram >= shortest_ && vocabulary.pruned() != 0;
        longest_ = has_ngrams ? arguments.longest_ngram : 0;
        if (has_ngrams) {
            require(arguments.buckets >= 1, "n-grams without buckets");
            if (arguments.buckets > kMostBuckets) throw UnsupportedModel("more than 2^28 buckets");
            nothing_ = static_cast<Feature>(arguments.buckets);
            modulus_ = Modulus(nothing_);
        }
        words_ = static_cast<uint64_t>(vocabulary.words());
        const std::string_view kept = reader.block(pruned_ ? static_cast<uint64_t>(vocabulary.pruned()) : 0, kKeptPair);
        quantized_ = reader.flag();
        require(quantized_ || vocabulary.pruned() < 0, "a pruned dictionary with a matrix that is not quantised");
        if (pruned_) {
            read_pruned_rows(QuantizedMatrix(reader, arguments.dimension), kept);
        } else if (quantized_) {
            read_all_rows(QuantizedMatrix(reader, arguments.dimension));
        } else {
            read_all_rows(DenseMatrix(reader, arguments.dimension));
        }
    }

    bool quantized() const { return quantized_; }
    bool pruned() const { return pruned_; }
    size_t dimension() const { return dimension_; }
    int32_t shortest() const { return shortest_; }
    int32_t longest() const { return longest_; }  // 0: no n-grams
    const Modulus& modulus() const { return modulus_; }

    Feature nothing() const { return nothing_; }
    Feature word(int32_t id) const { return nothing_ + 1 + static_cast<Feature>(id); }
    Feature ngram(uint32_t hash) const { return modulus_(hash); }

    template <bool Pruned>
    bool holds(Feature feature) const {
        if constexpr (Pruned) return held_.holds(feature);
        return feature != nothing_;
    }

    // The row of a feature in a pruned model; in other models, the row is the feature.
    Feature row(Feature feature) const { return held_.number_of(feature); }

    const float* rows() const { return rows_.data(); }

  private:
    static constexpr int32_t kMostBuckets = 1 << 28;  // a pruned file can claim any number; real models have some millions
    static constexpr uint64_t kKeptPair = 2 * sizeof(int32_t);

    template <typename Matrix>
    void read_all_rows(const Matrix& matrix) {
        require(matrix.rows() >= words_ + nothing_, "the input matrix has fewer rows than words and buckets");
        rows_ = FloatBlock((nothing_ + 1 + words_) * dimension_);
        matrix.copy(words_, nothing_, rows_.data());
        std::fill_n(rows_.data() + uint64_t{nothing_} * dimension_, dimension_, 0.0f);
        matrix.copy(0, words_, rows_.data() + (uint64_t{nothing_} + 1) * dimension_);
    }

    CORPUSFMT_ONCE void read_pruned_rows(const QuantizedMatrix& matrix, std::string_view kept) {
        require(matrix.rows() >= words_, "the input matrix has fewer rows than words");
        const auto for_each_ngram = [&](auto treat) {
            for (size_t at = 0; at < kept.size(); at += kKeptPair) {
                int32_t pair[2];
                std::memcpy(pair, kept.data() + at, kKeptPair);
                require(pair[0] >= 0 && pair[1] >= 0 && words_ + pair[1] < matrix.rows(), "the dictionary keeps an n-gram that has no row");
                const auto feature = static_cast<Feature>(pair[0]);
                if (feature < nothing_) treat(feature, words_ + pair[1]);
            }
        };
        held_ = NumberedSet(nothing_ + 1 + words_);
        for_each_ngram([&](Feature feature, uint64_t) { held_.insert(feature); });
        for (uint64_t id = 0; id < words_; ++id) held_.insert(word(static_cast<int32_t>(id)));
        rows_ = FloatBlock(held_.number() * dimension_);
        const auto target = [&](Feature feature) { return rows_.data() + row(feature) * dimension_; };
        // If several rows are for the same feature, the last one counts, as in stock.
        for_each_ngram([&](Feature feature, uint64_t source) { matrix.copy(source, 1, target(feature)); });
        matrix.copy(0, words_, target(word(0)));
    }

    size_t dimension_ = 0;
    uint64_t words_ = 0;
    int32_t shortest_ = 1;
    int32_t longest_ = 0;
    bool pruned_ = false;
    bool quantized_ = false;
    Feature nothing_ = 0;
    Modulus modulus_;
    FloatBlock rows_;
    NumberedSet held_;  // of a pruned model
};

}  // namespace corpusfmt
