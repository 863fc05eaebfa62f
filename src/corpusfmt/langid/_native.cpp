// Language identification with fastText's supervised models: the same labels and scores as the stock library, faster.
// This file is the Python module; `_predictor.hpp` describes the algorithm.
//
// Define CORPUSFMT_WITHOUT_PYTHON to compile only the classifier, as the fuzzing harness does.

#ifndef CORPUSFMT_WITHOUT_PYTHON
#include "../_python.hpp"
#endif

#include "_classify.hpp"

#ifndef CORPUSFMT_WITHOUT_PYTHON

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string_view>

namespace corpusfmt {
namespace {

struct ModelObject {
    PyObject_HEAD
    Model* model;
};

const Model& model_of(PyObject* self) { return *reinterpret_cast<ModelObject*>(self)->model; }

// Runs work without the interpreter lock and turns C++ exceptions into Python ones; false if one is set.
template <typename Work>
bool run_unlocked(Work work) {
    try {
        const Unlocked unlocked;
        work();
        return true;
    } catch (const UnsupportedModel& error) {
        PyErr_SetString(PyExc_NotImplementedError, error.what());
    } catch (const MalformedModel& error) {
        PyErr_SetString(PyExc_ValueError, error.what());
    } catch (const std::exception&) {  // only a lack of memory is left
        PyErr_SetString(PyExc_MemoryError, "out of memory");
    }
    return false;
}

CORPUSFMT_ONCE PyObject* model_new(PyTypeObject* type, PyObject* arguments, PyObject*) {
    PyObject* data;
    if (!PyArg_ParseTuple(arguments, "O:Model", &data)) return nullptr;
    Owned self(reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc))(type, 0));
    if (!self) return nullptr;
    auto* const object = reinterpret_cast<ModelObject*>(self.get());
    Buffer buffer;
    if (!buffer.open(data)) return nullptr;
    const auto load = [&] { object->model = new Model(buffer.bytes()); };
    return run_unlocked(load) ? self.release() : nullptr;
}

void model_dealloc(PyObject* self) {
    PyTypeObject* const type = Py_TYPE(self);
    delete reinterpret_cast<ModelObject*>(self)->model;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(self);
    Py_DECREF(type);
}

CORPUSFMT_ONCE PyObject* model_labels(PyObject* self, void*) { return as_list(model_of(self).vocabulary.label_texts(), as_str); }

PyObject* model_quantized(PyObject* self, void*) { return PyBool_FromLong(model_of(self).features.quantized()); }

PyObject* model_classify(PyObject* self, PyObject* arguments) {
    PyObject *data, *memory;
    Py_ssize_t min_characters, k = 1;
    float threshold = 0.0f;
    if (!PyArg_ParseTuple(arguments, "OnO|nf:classify", &data, &min_characters, &memory, &k, &threshold)) return nullptr;
    if (min_characters < 0 || k < 1) return PyErr_Format(PyExc_ValueError, "min_chars must not be negative, nor k less than 1");
    Buffer buffer, remembered;
    if (!buffer.open(data)) return nullptr;
    Answers answers;
    if (memory != Py_None) {
        if (!remembered.open(memory, PyBUF_WRITABLE)) return nullptr;
        if (!Answers::fit(remembered.size())) {
            return PyErr_Format(PyExc_ValueError, "memory for answers must have a power of two of bytes, 16 or more");
        }
        answers = {remembered.items(), remembered.size()};
    }
    Classified result;
    const auto work = [&] {
        result = classify(model_of(self), buffer.bytes(), static_cast<uint64_t>(min_characters), answers,
                          static_cast<size_t>(k), threshold);
    };
    if (!run_unlocked(work)) return nullptr;
    return Py_BuildValue("NNNNKKK", as_bytes(result.begins), as_bytes(result.ends), as_bytes(result.labels),
                         as_bytes(result.scores), static_cast<unsigned long long>(result.too_short),
                         static_cast<unsigned long long>(result.not_utf8), static_cast<unsigned long long>(result.unlabelled));
}

PyGetSetDef kModelAttributes[] = {
    {"labels", model_labels, nullptr, "The labels as they stand in the file, in its order.", nullptr},
    {"quantized", model_quantized, nullptr, "Whether the input matrix is quantised (an .ftz file).", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyMethodDef kModelMethods[] = {
    {"classify", model_classify, METH_VARARGS,
     "classify(buffer, min_chars, memory, k=1, threshold=0) -> (begins: int64, ends: int64, labels: int32, scores: float32, short, "
     "invalid, unlabelled); the first four as bytes in native order, one item per guess, for a line the best first. `memory` is "
     "None, or for k = 1 and threshold 0 a bytearray in which answers are remembered: at first zeros, a power of two of them, "
     "and in one thread's use."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kModelSlots[] = {
    {Py_tp_doc, const_cast<char*>("Model(data): a fastText classifier from the bytes of its file.\n\n"
                                  "ValueError: not a fastText model, or a damaged one.\n"
                                  "NotImplementedError: a kind of model that is not served.")},
    {Py_tp_new, reinterpret_cast<void*>(model_new)}, {Py_tp_dealloc, reinterpret_cast<void*>(model_dealloc)},
    {Py_tp_getset, kModelAttributes}, {Py_tp_methods, kModelMethods}, {0, nullptr},
};

PyType_Spec kModelSpec = {"corpusfmt.langid._native.Model", sizeof(ModelObject), 0, Py_TPFLAGS_DEFAULT, kModelSlots};

int execute_module(PyObject* module) {
    const Owned type(PyType_FromSpec(&kModelSpec));
    return type ? PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) : -1;
}

PyModuleDef_Slot kModuleSlots[] = {{Py_mod_exec, reinterpret_cast<void*>(execute_module)}, kThreads, {0, nullptr}};

PyModuleDef kModule = kernel_of("fastText classifiers, fast.", nullptr, kModuleSlots);

}  // namespace
}  // namespace corpusfmt

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&corpusfmt::kModule); }

#endif  // CORPUSFMT_WITHOUT_PYTHON
