// What the native kernels need of Python's objects.

#ifndef CORPUSFMT_PYTHON_HPP
#define CORPUSFMT_PYTHON_HPP

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstddef>
#include <memory>
#include <string_view>

namespace corpusfmt {

struct Release {
    void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Owned = std::unique_ptr<PyObject, Release>;

inline PyObject* as_str(std::string_view text) {
    return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "strict");
}

template <typename Items, typename Convert>
PyObject* as_list(const Items& items, Convert convert) {
    Owned list(PyList_New(static_cast<Py_ssize_t>(items.size())));
    Py_ssize_t at = 0;
    for (const auto& item : items) {
        PyObject* const converted = list ? convert(item) : nullptr;
        if (!converted || PyList_SetItem(list.get(), at++, converted) < 0) return nullptr;
    }
    return list.release();
}

}  // namespace corpusfmt

#endif  // CORPUSFMT_PYTHON_HPP
