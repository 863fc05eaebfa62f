// A model: the whole content of its file.
//
// A file is checked completely while it is read. After that no index needs checking: every row that a feature id can name
// exists, and every weight is small enough that no sum can become infinite or NaN.

#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "../_compiler.hpp"
#include "_features.hpp"
#include "_labels.hpp"
#include "_reader.hpp"
#include "_text.hpp"
#include "_vocabulary.hpp"

namespace corpusfmt {

struct Model {
    CORPUSFMT_ONCE explicit Model(std::string_view bytes) {
        Reader reader(bytes);
        const Arguments arguments = read_arguments(reader);
        vocabulary = Vocabulary(reader);
        features = Features(reader, arguments, vocabulary);
        if (arguments.loss == kLossSoftmax) {
            labels = std::make_unique<Softmax>(reader, arguments.dimension, vocabulary.labels());
        } else {
            labels = std::make_unique<HierarchicalSoftmax>(reader, arguments.dimension, vocabulary.label_counts());
        }
        const Word word(kEndOfLine);
        const int32_t id = vocabulary.find(word, word.hash());
        has_end_of_line = id >= 0 && id < vocabulary.words();
        if (has_end_of_line) end_of_line = features.word(id);
    }

    Vocabulary vocabulary;
    Features features;
    std::unique_ptr<Labels> labels;
    bool has_end_of_line = false;
    Feature end_of_line = 0;
};

}  // namespace corpusfmt
