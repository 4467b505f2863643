/* What the page calls: it writes the 64 numbers of an image, and reads the 10 scores. */
#include "net.h"

__attribute__((export_name("image"))) float *image(void) { return (float *)fl_get_tensor(net_forward_inputs[0])->data; }
__attribute__((export_name("scores"))) const float *scores(void) { return (const float *)fl_get_tensor(net_forward_outputs[0])->data; }
__attribute__((export_name("start"))) void start(void) { net_init(); }
__attribute__((export_name("run"))) int run(void) { return (int)net_forward(); }
