// Runs programs from C++17, with the names of ExecuTorch's extensions `module` and `tensor`.
//
//     flambeau::Module module("model.pte");
//     auto input = flambeau::make_tensor_ptr({1, 4}, {1.0f, 2.0f, 3.0f, 4.0f});
//     const auto result = module.forward(input);
//     if (!result.ok()) {
//       std::fprintf(stderr, "%s\n", module.message());
//       return 1;
//     }
//     const float *output = result->at(0).toTensor().const_data_ptr<float>();
//
// Nothing here throws: what can fail returns an Error, or a Result, and Module::message says why in one line. A failed allocation of a container
// of the standard library ends the program, or throws, as it does elsewhere. Outputs lie in the module's memory until its method runs again.
// One thread at a time uses a Module.
#ifndef FLAMBEAU_FLAMBEAU_HPP
#define FLAMBEAU_FLAMBEAU_HPP

#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "flambeau/runtime.h"

namespace flambeau {

enum class Error : uint32_t {
  Ok = FL_OK,
  Internal = FL_INTERNAL,
  InvalidState = FL_INVALID_STATE,
  EndOfMethod = FL_END_OF_METHOD,
  NotSupported = FL_NOT_SUPPORTED,
  NotImplemented = FL_NOT_IMPLEMENTED,
  InvalidArgument = FL_INVALID_ARGUMENT,
  InvalidType = FL_INVALID_TYPE,
  OperatorMissing = FL_OPERATOR_MISSING,
  NotFound = FL_NOT_FOUND,
  MemoryAllocationFailed = FL_OUT_OF_MEMORY,
  AccessFailed = FL_ACCESS_FAILED,
  InvalidProgram = FL_INVALID_PROGRAM,
  InvalidExternalData = FL_INVALID_EXTERNAL_DATA,
  OutOfResources = FL_OUT_OF_RESOURCES,
  DelegateInvalidCompatibility = FL_DELEGATE_INCOMPATIBLE,
  DelegateMemoryAllocationFailed = FL_DELEGATE_OUT_OF_MEMORY,
  DelegateInvalidHandle = FL_DELEGATE_INVALID_HANDLE
};

// A value, or the Error in its place.
template <typename T>
class Result {
 public:
  Result(Error error) : content_(error == Error::Ok ? Error::Internal : error) {}
  Result(T value) : content_(std::move(value)) {}
  bool ok() const { return std::holds_alternative<T>(content_); }
  Error error() const { return ok() ? Error::Ok : *std::get_if<Error>(&content_); }
  // Only where ok().
  T &get() { return *std::get_if<T>(&content_); }
  const T &get() const { return *std::get_if<T>(&content_); }
  T &operator*() { return get(); }
  const T &operator*() const { return get(); }
  T *operator->() { return &get(); }
  const T *operator->() const { return &get(); }

 private:
  std::variant<Error, T> content_;
};

enum class ScalarType : int8_t {
  Byte = FL_UINT8,
  Char = FL_INT8,
  Short = FL_INT16,
  Int = FL_INT32,
  Long = FL_INT64,
  Half = FL_FLOAT16,
  Float = FL_FLOAT32,
  Double = FL_FLOAT64,
  ComplexFloat = FL_COMPLEX64,
  ComplexDouble = FL_COMPLEX128,
  Bool = FL_BOOL,
  BFloat16 = FL_BFLOAT16,
  UInt16 = FL_UINT16,
  UInt32 = FL_UINT32,
  UInt64 = FL_UINT64
};

template <typename T>
struct CppTypeToScalarType;
#define FLAMBEAU_SCALAR_TYPE(T, name) \
  template <>                         \
  struct CppTypeToScalarType<T> {     \
    static constexpr ScalarType value = ScalarType::name; \
  };
FLAMBEAU_SCALAR_TYPE(uint8_t, Byte)
FLAMBEAU_SCALAR_TYPE(int8_t, Char)
FLAMBEAU_SCALAR_TYPE(int16_t, Short)
FLAMBEAU_SCALAR_TYPE(int32_t, Int)
FLAMBEAU_SCALAR_TYPE(int64_t, Long)
FLAMBEAU_SCALAR_TYPE(float, Float)
FLAMBEAU_SCALAR_TYPE(double, Double)
FLAMBEAU_SCALAR_TYPE(bool, Bool)
FLAMBEAU_SCALAR_TYPE(uint16_t, UInt16)
FLAMBEAU_SCALAR_TYPE(uint32_t, UInt32)
FLAMBEAU_SCALAR_TYPE(uint64_t, UInt64)
#undef FLAMBEAU_SCALAR_TYPE

// A tensor: copies share its elements. Those of an output belong to the module.
class Tensor {
 public:
  Tensor(void *data, std::vector<int32_t> sizes, ScalarType type, std::vector<int32_t> strides = {}, std::shared_ptr<void> owner = nullptr)
      : data_(data), sizes_(std::move(sizes)), strides_(std::move(strides)), type_(type), owner_(std::move(owner)) {
    if (strides_.size() != sizes_.size()) {
      strides_.assign(sizes_.size(), 1);
      for (size_t i = sizes_.size(); i-- > 1;) {
        strides_[i - 1] = strides_[i] * (sizes_[i] > 1 ? sizes_[i] : 1);
      }
    }
  }
  ScalarType scalar_type() const { return type_; }
  int64_t dim() const { return static_cast<int64_t>(sizes_.size()); }
  int32_t size(int64_t i) const { return sizes_[static_cast<size_t>(i)]; }
  const std::vector<int32_t> &sizes() const { return sizes_; }
  const std::vector<int32_t> &strides() const { return strides_; }
  int64_t numel() const {
    int64_t n = 1;
    for (const int32_t size : sizes_) {
      n *= size;
    }
    return n;
  }
  size_t element_size() const { return fl_element_size(static_cast<int8_t>(type_)); }
  size_t nbytes() const { return static_cast<size_t>(numel()) * element_size(); }
  const void *const_data_ptr() const { return data_; }
  void *mutable_data_ptr() const { return data_; }
  template <typename T>
  const T *const_data_ptr() const {
    return static_cast<const T *>(data_);
  }
  template <typename T>
  T *mutable_data_ptr() const {
    return static_cast<T *>(data_);
  }

 private:
  friend class Module;
  void *data_;
  std::vector<int32_t> sizes_, strides_;
  ScalarType type_;
  std::shared_ptr<void> owner_;
};

using TensorPtr = std::shared_ptr<Tensor>;

// Returns a tensor of elements that stay the caller's.
inline TensorPtr from_blob(void *data, std::vector<int32_t> sizes, ScalarType type = ScalarType::Float) {
  return std::make_shared<Tensor>(data, std::move(sizes), type);
}
inline TensorPtr from_blob(void *data, std::vector<int32_t> sizes, std::vector<int32_t> strides, ScalarType type = ScalarType::Float) {
  return std::make_shared<Tensor>(data, std::move(sizes), type, std::move(strides));
}
inline TensorPtr make_tensor_ptr(std::vector<int32_t> sizes, void *data, ScalarType type = ScalarType::Float) {
  return from_blob(data, std::move(sizes), type);
}

// Return a tensor that owns its elements; nullptr where the sizes are those of another number of elements.
template <typename T>
TensorPtr make_tensor_ptr(std::vector<int32_t> sizes, const std::vector<T> &data) {
  static_assert(sizeof(bool) == 1, "an element of bool is a byte");
  const auto elements = std::shared_ptr<T[]>(new T[data.size() + 1]);
  T *to = elements.get();
  for (const T element : data) {
    *to++ = element;
  }
  auto tensor = std::make_shared<Tensor>(elements.get(), std::move(sizes), CppTypeToScalarType<T>::value, std::vector<int32_t>(), elements);
  return tensor->numel() == static_cast<int64_t>(data.size()) ? tensor : nullptr;
}
template <typename T>
TensorPtr make_tensor_ptr(std::vector<int32_t> sizes, std::initializer_list<T> data) {
  return make_tensor_ptr(std::move(sizes), std::vector<T>(data));
}
template <typename T>
TensorPtr make_tensor_ptr(const std::vector<T> &data) {
  return make_tensor_ptr({static_cast<int32_t>(data.size())}, data);
}

// An input or an output of a method.
class EValue {
 public:
  EValue() = default;
  EValue(TensorPtr tensor) {
    if (tensor != nullptr) {
      value_ = *tensor;
    }
  }
  EValue(Tensor tensor) : value_(std::move(tensor)) {}
  EValue(double value) : value_(value) {}
  EValue(int64_t value) : value_(value) {}
  EValue(int value) : value_(static_cast<int64_t>(value)) {}
  EValue(bool value) : value_(value) {}
  EValue(std::string value) : value_(std::move(value)) {}
  bool isNone() const { return std::holds_alternative<std::monostate>(value_); }
  bool isTensor() const { return std::holds_alternative<Tensor>(value_); }
  bool isDouble() const { return std::holds_alternative<double>(value_); }
  bool isInt() const { return std::holds_alternative<int64_t>(value_); }
  bool isBool() const { return std::holds_alternative<bool>(value_); }
  bool isString() const { return std::holds_alternative<std::string>(value_); }
  // Only of a value of that kind.
  const Tensor &toTensor() const { return *std::get_if<Tensor>(&value_); }
  double toDouble() const { return *std::get_if<double>(&value_); }
  int64_t toInt() const { return *std::get_if<int64_t>(&value_); }
  bool toBool() const { return *std::get_if<bool>(&value_); }
  const std::string &toString() const { return *std::get_if<std::string>(&value_); }

 private:
  std::variant<std::monostate, Tensor, double, int64_t, bool, std::string> value_;
};

// A program in a file, or in the caller's memory, with those of its methods that were called.
class Module {
 public:
  // The file is read when the module is loaded, by the first function that needs it.
  explicit Module(std::string path) : path_(std::move(path)) {}
  // A program in memory, aligned to 16 bytes, that stays there as long as the module.
  Module(const void *data, size_t size) : data_(data), size_(size) {}
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  Error load() {
    if (is_loaded_) {
      return Error::Ok;
    }
    if (data_ == nullptr) {
      const Error error = read();
      if (error != Error::Ok) {
        return error;
      }
    }
    is_loaded_ = fl_program_load(&program_, data_, size_, &error_) == FL_OK;
    return is_loaded_ ? Error::Ok : last();
  }
  bool is_loaded() const { return is_loaded_; }

  Result<std::unordered_set<std::string>> method_names() {
    const Error error = load();
    if (error != Error::Ok) {
      return error;
    }
    std::unordered_set<std::string> names;
    for (uint32_t i = 0; i < fl_program_method_count(&program_); ++i) {
      names.insert(fl_program_method_name(&program_, i));
    }
    return names;
  }

  Error load_method(const std::string &name) {
    const Error error = load();
    return error != Error::Ok || is_method_loaded(name) ? error : make(name);
  }
  bool is_method_loaded(const std::string &name) const { return methods_.count(name) > 0; }
  void unload_method(const std::string &name) { methods_.erase(name); }

  Result<std::vector<EValue>> execute(const std::string &name, const std::vector<EValue> &inputs = {}) {
    const Error error = load_method(name);
    if (error != Error::Ok) {
      return error;
    }
    Loaded &loaded = *methods_.find(name)->second;
    for (uint32_t i = 0; i < inputs.size(); ++i) {
      if (!set_input(loaded, i, inputs[i])) {
        return last();
      }
    }
    if (fl_method_execute(&loaded.method, &error_) != FL_OK) {
      return last();
    }
    std::vector<EValue> outputs;
    for (uint32_t i = 0; const fl_value *value = fl_method_output(&loaded.method, i); ++i) {
      auto output = value_of(*value);
      if (!output.ok()) {
        return output.error();
      }
      outputs.push_back(std::move(output.get()));
    }
    return outputs;
  }
  Result<std::vector<EValue>> execute(const std::string &name, const EValue &input) { return execute(name, std::vector<EValue>{input}); }
  Result<std::vector<EValue>> forward(const std::vector<EValue> &inputs = {}) { return execute("forward", inputs); }
  Result<std::vector<EValue>> forward(const EValue &input) { return execute("forward", input); }

  // Return the first output.
  Result<EValue> get(const std::string &name, const std::vector<EValue> &inputs = {}) {
    auto outputs = execute(name, inputs);
    return !outputs.ok() ? Result<EValue>(outputs.error()) : outputs->empty() ? Result<EValue>(fail(FL_INVALID_ARGUMENT, "there is no output"))
                                                                              : Result<EValue>(std::move(outputs->front()));
  }

  // Returns why the last function that failed did, in one line.
  const char *message() const { return error_.text; }

 private:
  struct Free {
    void operator()(void *memory) const { ::operator delete(memory, std::align_val_t(64)); }
  };
  using Memory = std::unique_ptr<void, Free>;
  struct Loaded {
    fl_method method;
    Memory records, scratch;
    std::vector<Memory> own; // arenas of the method alone, and outputs that are not planned
    ~Loaded() {
      if (is_made) {
        fl_method_destroy(&method);
      }
    }
    bool is_made = false;
  };

  static Memory allocate(size_t size) { return Memory(::operator new(size > 0 ? size : 1, std::align_val_t(64), std::nothrow)); }
  Error last() const { return static_cast<Error>(error_.status); }
  Error fail(fl_status status, const std::string &text) {
    error_.status = status;
    std::snprintf(error_.text, sizeof error_.text, "%s", text.c_str());
    return static_cast<Error>(status);
  }
  Error no_memory(const std::string &name) { return fail(FL_OUT_OF_MEMORY, "method '" + name + "': there is not enough memory"); }

  Error read() {
    struct Close {
      void operator()(std::FILE *file) const { std::fclose(file); }
    };
    const std::unique_ptr<std::FILE, Close> file(std::fopen(path_.c_str(), "rb"));
    if (file == nullptr || std::fseek(file.get(), 0, SEEK_END) != 0) {
      return fail(FL_ACCESS_FAILED, path_ + ": the file cannot be read");
    }
    const long end = std::ftell(file.get());
    std::rewind(file.get());
    size_ = end > 0 ? static_cast<size_t>(end) : 0;
    file_ = allocate(size_);
    if (file_ == nullptr) {
      return fail(FL_OUT_OF_MEMORY, path_ + ": there is not enough memory for the file");
    }
    if (std::fread(file_.get(), 1, size_, file.get()) != size_) {
      return fail(FL_ACCESS_FAILED, path_ + ": the file cannot be read");
    }
    data_ = file_.get();
    return Error::Ok;
  }

  Error make(const std::string &name) {
    uint32_t index = 0;
    fl_requirements need;
    if (fl_program_find_method(&program_, name.c_str(), &index, &error_) != FL_OK ||
        fl_method_measure(&program_, index, nullptr, &need, &error_) != FL_OK) {
      return last();
    }
    auto loaded = std::make_unique<Loaded>();
    loaded->records = allocate(need.method);
    loaded->scratch = allocate(need.scratch);
    std::vector<void *> arenas;
    std::vector<size_t> sizes;
    bool has_state = false;
    for (uint32_t i = 0; i < need.arenas; ++i) {
      sizes.push_back(fl_program_arena_size(&program_, index, i));
      if (fl_program_arena_is_shared(&program_, i)) {
        // State: the first method that is loaded makes it.
        has_state = has_state || shared_.count(i) > 0;
        Memory &shared = shared_[i];
        if (shared == nullptr) {
          size_t most = 0;
          for (uint32_t k = 0; k < fl_program_method_count(&program_); ++k) {
            const size_t size = fl_program_arena_size(&program_, k, i);
            most = size > most ? size : most;
          }
          shared = allocate(most);
        }
        arenas.push_back(shared.get());
      } else {
        loaded->own.push_back(allocate(sizes.back()));
        arenas.push_back(loaded->own.back().get());
      }
      if (arenas.back() == nullptr) {
        return no_memory(name);
      }
    }
    if (loaded->records == nullptr || loaded->scratch == nullptr) {
      return no_memory(name);
    }
    const fl_memory memory = {loaded->records.get(), need.method,  arenas.data(), sizes.data(), need.arenas, loaded->scratch.get(),
                              need.scratch,          has_state};
    if (fl_method_init(&loaded->method, &program_, index, nullptr, &memory, &error_) != FL_OK) {
      return last();
    }
    loaded->is_made = true;
    fl_method_info info;
    if (fl_program_method_info(&program_, index, &info, &error_) != FL_OK) {
      return last();
    }
    for (uint32_t i = 0; i < info.outputs; ++i) {
      fl_slot_info slot;
      if (fl_program_slot(&program_, index, FL_OUTPUT, i, &slot, &error_) != FL_OK) {
        return last();
      }
      if (slot.tag == FL_TENSOR && !slot.planned && !slot.constant) {
        loaded->own.push_back(allocate(slot.bytes));
        if (loaded->own.back() == nullptr) {
          return no_memory(name);
        }
        if (fl_method_set_output(&loaded->method, i, loaded->own.back().get(), slot.bytes, &error_) != FL_OK) {
          return last();
        }
      }
    }
    methods_[name] = std::move(loaded);
    return Error::Ok;
  }

  bool set_input(Loaded &loaded, uint32_t index, const EValue &given) {
    fl_value value = {};
    fl_tensor tensor = {};
    std::vector<int32_t> sizes, strides;
    if (given.isTensor()) {
      const Tensor &from = given.toTensor();
      sizes = from.sizes();
      strides = from.strides();
      tensor.data = from.mutable_data_ptr();
      tensor.sizes = sizes.data();
      tensor.strides = strides.data();
      tensor.rank = static_cast<uint8_t>(sizes.size());
      tensor.dtype = static_cast<int8_t>(from.scalar_type());
      value.tag = FL_TENSOR;
      value.as.tensor = &tensor;
    } else if (given.isDouble()) {
      value.tag = FL_DOUBLE;
      value.as.real = given.toDouble();
    } else if (given.isInt()) {
      value.tag = FL_INT;
      value.as.integer = given.toInt();
    } else if (given.isBool()) {
      value.tag = FL_BOOLEAN;
      value.as.boolean = given.toBool();
    } else if (given.isString()) {
      value.tag = FL_STRING;
      value.as.string = {given.toString().c_str(), static_cast<uint32_t>(given.toString().size())};
    }
    return fl_method_set_input(&loaded.method, index, &value, &error_) == FL_OK;
  }

  Result<EValue> value_of(const fl_value &value) {
    switch (value.tag) {
      case FL_NONE: return EValue();
      case FL_TENSOR: {
        const fl_tensor &t = *value.as.tensor;
        return EValue(Tensor(t.data, {t.sizes, t.sizes + t.rank}, static_cast<ScalarType>(t.dtype), {t.strides, t.strides + t.rank}));
      }
      case FL_DOUBLE: return EValue(value.as.real);
      case FL_INT: return EValue(value.as.integer);
      case FL_BOOLEAN: return EValue(value.as.boolean != 0);
      case FL_STRING: return EValue(std::string(value.as.string.data, value.as.string.length));
      default: return fail(FL_NOT_SUPPORTED, "an output is a list, which EValue does not hold");
    }
  }

  std::string path_;
  Memory file_;
  const void *data_ = nullptr;
  size_t size_ = 0;
  bool is_loaded_ = false;
  fl_program program_ = {};
  fl_error error_ = {};
  std::map<uint32_t, Memory> shared_;
  std::map<std::string, std::unique_ptr<Loaded>> methods_;
};

}  // namespace flambeau

#endif
