// The elements of tensors: of float32, or of float16 where HALF is defined. All is computed in float32.
#extension GL_EXT_shader_16bit_storage : require

#ifdef HALF
#define ELEMENT float16_t
#else
#define ELEMENT float
#endif

// Element `i` of those of int8 that words hold.
#define OF_INT8(words, i) float(bitfieldExtract(words[(i) / 4], int((i) % 4) * 8, 8))
