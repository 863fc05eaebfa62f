// The best labels for the vector of a line: hierarchical softmax and softmax, with the scores of stock.

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../_compiler.hpp"
#include "_matrices.hpp"
#include "_reader.hpp"

namespace corpusfmt {

struct Guess {
    float log_score;
    int32_t label;
};

constexpr auto kBetter = [](const Guess& left, const Guess& right) { return left.log_score > right.log_score; };

inline float stock_log(float value) { return static_cast<float>(std::log(value + 1e-5)); }

// The best k guesses so far, kept as in stock: the heap operations decide which of two equal ones is kept.
class Best {
  public:
    Best(std::vector<Guess>& heap, size_t capacity) : heap_(heap), capacity_(capacity) { heap_.clear(); }

    bool beats(float log_score) const { return heap_.size() == capacity_ && log_score < heap_.front().log_score; }

    void add(Guess guess) {
        heap_.push_back(guess);
        std::push_heap(heap_.begin(), heap_.end(), kBetter);
        if (heap_.size() > capacity_) {
            std::pop_heap(heap_.begin(), heap_.end(), kBetter);
            heap_.pop_back();
        }
    }

    void sort() { std::sort_heap(heap_.begin(), heap_.end(), kBetter); }

  private:
    std::vector<Guess>& heap_;
    size_t capacity_;
};

struct Branch {
    int32_t node;
    float score;
};

struct LabelScratch {
    std::vector<Branch> branches;
    std::vector<float> values;
    std::vector<Guess> guesses;  // the answer, best first
};

class Labels {
  public:
    virtual ~Labels() = default;
    virtual void find(const float* hidden, size_t k, float threshold, LabelScratch& scratch) const = 0;
    // Like `find` with k = 1 and threshold 0.
    virtual void find_best(const float* hidden, LabelScratch& scratch) const = 0;

  protected:
    CORPUSFMT_ONCE Labels(Reader& reader, int32_t dimension, int32_t labels)
        : dimension_(static_cast<size_t>(dimension)), labels_(labels) {
        const bool quantized_output = reader.flag();
        if (quantized_output) throw UnsupportedModel("a quantised output matrix (-qout)");
        const DenseMatrix matrix(reader, dimension);
        require(matrix.rows() == static_cast<uint64_t>(labels), "the output matrix has another size than the labels");
        require(reader.left() == 0, "bytes follow the end of the model");
        weights_ = std::vector<float>(dimension_ * static_cast<size_t>(labels));
        matrix.copy(0, matrix.rows(), weights_.data());
    }

    size_t dimension_;
    int32_t labels_;
    std::vector<float> weights_;
};

class HierarchicalSoftmax final : public Labels {
  public:
    CORPUSFMT_ONCE HierarchicalSoftmax(Reader& reader, int32_t dimension, const std::vector<int64_t>& counts)
        : Labels(reader, dimension, static_cast<int32_t>(counts.size())) {
        build_tree(counts);
    }

    // Stock's depth-first search, with an explicit stack: a hostile dictionary can turn the tree into a list.
    void find(const float* hidden, size_t k, float threshold, LabelScratch& scratch) const override {
        Best best(scratch.guesses, k);
        const float least = stock_log(threshold);
        std::vector<Branch>& open = scratch.branches;
        open.assign(1, Branch{root(), 0.0f});
        while (!open.empty()) {
            const Branch branch = open.back();
            open.pop_back();
            if (branch.score < least || best.beats(branch.score)) continue;
            if (branch.node < labels_) {
                best.add(Guess{branch.score, branch.node});
                continue;
            }
            const float right = probability_of_right(hidden, branch.node);
            const Node& node = nodes_[branch.node];
            open.push_back(Branch{node.right, branch.score + stock_log(right)});
            open.push_back(Branch{node.left, branch.score + stock_log(static_cast<float>(1.0 - right))});
        }
        best.sort();
    }

    // The likelier child first, products instead of logarithms. If a second label comes within 0.2 % of the best, or
    // the best is so improbable that stock's pruning may have hidden it, stock's own search decides.
    void find_best(const float* hidden, LabelScratch& scratch) const override {
        constexpr float kClose = 0.998f;
        constexpr float kPruned = 1.01e-5f;
        float best = 0.0f;
        int32_t label = -1;
        bool certain = depth_ <= kDepthTrusted;
        scratch.values.resize(nodes_.size());
        std::vector<Branch>& open = scratch.branches;
        open.assign(1, Branch{root(), 1.0f});
        while (certain && !open.empty()) {
            Branch branch = open.back();
            open.pop_back();
            if (branch.score < best * kClose) continue;
            while (branch.node >= labels_) {
                const float right = probability_of_right(hidden, branch.node);
                scratch.values[branch.node] = right;
                const Node& node = nodes_[branch.node];
                const Branch to_left{node.left, branch.score * (1.0f - right + 1e-5f)};
                const Branch to_right{node.right, branch.score * (right + 1e-5f)};
                const bool go_right = to_right.score > to_left.score;
                open.push_back(go_right ? to_left : to_right);
                branch = go_right ? to_right : to_left;
            }
            const float lesser = std::min(best, branch.score);
            if (branch.score > best) {
                best = branch.score;
                label = branch.node;
            }
            certain = lesser < best * kClose;
        }
        if (!certain || best < kPruned) return find(hidden, 1, 0.0f, scratch);
        scratch.guesses.assign(1, Guess{stock_score(label, scratch.values), label});
    }

  private:
    // Each level can raise a score by 1e-5 above its parent's: this number of levels stays well within `kClose`.
    static constexpr int32_t kDepthTrusted = 50;

    struct Node {
        int32_t left = -1, right = -1, parent = -1;
        int64_t count = kUnbuilt;
    };

    static constexpr int64_t kUnbuilt = 1000000000000000;  // stock's mark; real counts must stay below it

    int32_t root() const { return static_cast<int32_t>(nodes_.size()) - 1; }

    CORPUSFMT_ONCE void build_tree(const std::vector<int64_t>& counts) {
        int64_t total = 0;
        for (const int64_t count : counts) {
            require(count >= 0 && count < kUnbuilt && total < kUnbuilt - count, "impossible label counts");
            total += count;
        }
        nodes_ = std::vector<Node>(2 * counts.size() - 1);
        for (size_t leaf = 0; leaf < counts.size(); ++leaf) nodes_[leaf].count = counts[leaf];
        int32_t leaf = labels_ - 1;
        int32_t inner = labels_;
        for (int32_t parent = labels_; parent <= root(); ++parent) {
            const auto take_lightest = [&] {
                const bool is_leaf = leaf >= 0 && nodes_[leaf].count < nodes_[inner].count;
                const int32_t taken = is_leaf ? leaf-- : inner++;
                nodes_[taken].parent = parent;
                return taken;
            };
            nodes_[parent].left = take_lightest();
            nodes_[parent].right = take_lightest();
            nodes_[parent].count = nodes_[nodes_[parent].left].count + nodes_[nodes_[parent].right].count;
        }
        std::vector<int32_t> depths(nodes_.size());
        for (int32_t node = root() - 1; node >= 0; --node) {
            depths[node] = depths[nodes_[node].parent] + 1;
            depth_ = std::max(depth_, depths[node]);
        }
    }

    float probability_of_right(const float* hidden, int32_t node) const {
        const float* weights = &weights_[dimension_ * static_cast<size_t>(node - labels_)];
        float product = 0.0f;
        for (size_t at = 0; at < dimension_; ++at) product += weights[at] * hidden[at];
        return static_cast<float>(1.0 / (1.0f + std::exp(-product)));
    }

    float stock_score(int32_t label, const std::vector<float>& probabilities) const {
        std::array<float, kDepthTrusted> steps;
        size_t length = 0;
        for (int32_t child = label; nodes_[child].parent >= 0; child = nodes_[child].parent) {
            const int32_t parent = nodes_[child].parent;
            const float right = probabilities[parent];
            const bool is_right = nodes_[parent].right == child;
            steps[length++] = stock_log(is_right ? right : static_cast<float>(1.0 - right));
        }
        float score = 0.0f;
        while (length > 0) score += steps[--length];
        return score;
    }

    std::vector<Node> nodes_;  // leaves first, by label
    int32_t depth_ = 0;
};

class Softmax final : public Labels {
  public:
    CORPUSFMT_ONCE Softmax(Reader& reader, int32_t dimension, int32_t labels) : Labels(reader, dimension, labels) {
        columns_ = std::vector<float>(weights_.size());
        for (size_t label = 0; label < static_cast<size_t>(labels); ++label) {
            for (size_t at = 0; at < dimension_; ++at) columns_[at * labels + label] = weights_[label * dimension_ + at];
        }
    }

    void find(const float* hidden, size_t k, float threshold, LabelScratch& scratch) const override {
        compute_probabilities(hidden, scratch.values);
        take_best(k, threshold, scratch);
    }

    void find_best(const float* hidden, LabelScratch& scratch) const override {
        constexpr float kClose = 0.999f;
        constexpr float kTellable = 1e-4f;  // above it, values that differ by more than `kClose` have different logarithms
        compute_probabilities(hidden, scratch.values);
        const float largest = *std::max_element(scratch.values.begin(), scratch.values.end());
        take_best(1, largest > kTellable ? largest * kClose : 0.0f, scratch);
    }

  private:
    void take_best(size_t k, float least, LabelScratch& scratch) const {
        Best best(scratch.guesses, k);
        for (int32_t label = 0; label < labels_; ++label) {
            const float value = scratch.values[label];
            if (value < least) continue;
            const float log_score = stock_log(value);
            if (!best.beats(log_score)) best.add(Guess{log_score, label});
        }
        best.sort();
    }

    void compute_probabilities(const float* hidden, std::vector<float>& values) const {
        const auto labels = static_cast<size_t>(labels_);
        values.assign(labels, 0.0f);
        for (size_t at = 0; at < dimension_; ++at) {  // all labels in parallel; each sum in stock's order
            const float* column = &columns_[at * labels];
            const float factor = hidden[at];
            for (size_t label = 0; label < labels; ++label) values[label] += column[label] * factor;
        }
        const float largest = *std::max_element(values.begin(), values.end());
        float sum = 0.0f;
        for (float& value : values) {
            value = static_cast<float>(std::exp(static_cast<double>(value - largest)));
            sum += value;
        }
        for (float& value : values) value /= sum;
    }

    std::vector<float> columns_;
};

}  // namespace corpusfmt
