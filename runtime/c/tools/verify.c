/* Runs the test cases of a bundled program. */
#include "tools/verify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static verify_result refuse(fl_error *error, uint32_t number, const char *why) {
  error->status = FL_INVALID_ARGUMENT;
  snprintf(error->text, sizeof error->text, "test case %u %s", number, why);
  return VERIFY_REFUSED;
}

/* Gives a method one input, whose tensor is copied to `copy`, because equal tensors share memory in the file and a method may write to its inputs. */
static verify_result give(bundle *b, fl_method *method, uint32_t number, uint32_t index, void **copy, bundle_value *value, fl_error *error) {
  if (!bundle_read(b, number, BUNDLE_INPUTS, index, value)) {
    return refuse(error, number, "is damaged");
  }
  if (value->value.tag == FL_TENSOR && value->tensor.capacity > 0) {
    *copy = aligned_alloc(64, (value->tensor.capacity + 63) / 64 * 64);
    if (*copy == NULL) {
      return refuse(error, number, "needs more memory than there is");
    }
    memcpy(*copy, value->tensor.data, value->tensor.capacity);
    value->tensor.data = *copy;
  }
  return fl_method_lend_input(method, index, &value->value, error) == FL_OK ? VERIFY_PASSED : VERIFY_REFUSED;
}

static verify_result compare(bundle *b, const fl_method *method, const fl_method_info *info, uint32_t number, double rtol, double atol,
                             fl_error *error) {
  const uint32_t outputs = bundle_count(b, number, BUNDLE_OUTPUTS);
  double most = 0;
  int is_different = 0;
  if (outputs == 0) {
    printf("%s, case %u: ran; it expects no outputs\n", info->name, number);
    return VERIFY_PASSED;
  }
  if (outputs != info->outputs) {
    return refuse(error, number, "expects another number of outputs than the method has");
  }
  for (uint32_t i = 0; i < outputs; ++i) {
    bundle_value expected;
    double here = 0;
    if (!bundle_read(b, number, BUNDLE_OUTPUTS, i, &expected)) {
      return refuse(error, number, "is damaged");
    }
    const uint64_t wrong = bundle_differences(&expected.value, fl_method_output(method, i), rtol, atol, &here);
    most = here > most ? here : most;
    if (wrong > 0) {
      printf(is_different ? "; " : "%s, case %u: failed: ", info->name, number);
      printf("output %u: %llu element%s, max |Δ| %.1e", i, (unsigned long long)wrong, wrong == 1 ? " differs" : "s differ", here);
      is_different = 1;
    }
  }
  if (is_different) {
    printf("\n");
    return VERIFY_DIFFERS;
  }
  printf("%s, case %u: passed, %u output%s, max |Δ| %.1e\n", info->name, number, outputs, outputs == 1 ? "" : "s", most);
  return VERIFY_PASSED;
}

static verify_result run_case(bundle *b, fl_method *method, const fl_method_info *info, uint32_t number, double rtol, double atol, void **copies,
                              bundle_value *values, fl_error *error) {
  verify_result result = VERIFY_PASSED;
  if (bundle_count(b, number, BUNDLE_INPUTS) != info->inputs) {
    return refuse(error, number, "has another number of inputs than the method");
  }
  fl_method_reset(method);
  for (uint32_t i = 0; result == VERIFY_PASSED && i < info->inputs; ++i) {
    result = give(b, method, number, i, &copies[i], &values[i], error);
  }
  if (result == VERIFY_PASSED && fl_method_execute(method, error) != FL_OK) {
    result = VERIFY_FAILED;
  }
  return result == VERIFY_PASSED ? compare(b, method, info, number, rtol, atol, error) : result;
}

verify_result verify_cases(bundle *b, fl_method *method, const fl_method_info *info, double rtol, double atol, fl_error *error) {
  verify_result worst = VERIFY_PASSED;
  void **copies = calloc(info->inputs + 1u, sizeof *copies);
  bundle_value *values = calloc(info->inputs + 1u, sizeof *values);
  if (copies == NULL || values == NULL) {
    worst = refuse(error, 0, "needs more memory than there is");
  }
  for (uint32_t number = 0; worst <= VERIFY_DIFFERS && number < bundle_cases(b); ++number) {
    const verify_result result = run_case(b, method, info, number, rtol, atol, copies, values, error);
    worst = result > worst ? result : worst;
    for (uint32_t i = 0; i < info->inputs; ++i) {
      free(copies[i]);
      copies[i] = NULL;
    }
  }
  free((void *)copies);
  free(values);
  return worst;
}
