// RUN: flambeau-opt %s | flambeau-opt | filecheck %s

// CHECK-LABEL: func.func @f
// CHECK-NEXT:    torchvision.nms(%boxes, %scores) {iou_threshold = 0.5} : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<?xi64
// CHECK-NEXT:    torchvision.roi_align(%x, %rois)
func.func @f(%boxes: tensor<6x4xf32>, %scores: tensor<6xf32>, %x: tensor<1x3x8x8xf32>, %rois: tensor<6x5xf32>) -> tensor<6x3x2x2xf32> {
  %0 = torchvision.nms(%boxes, %scores) {iou_threshold = 0.5} : (tensor<6x4xf32>, tensor<6xf32>) -> tensor<?xi64>
  %1 = torchvision.roi_align(%x, %rois) {spatial_scale = 0.5, pooled_height = 2, pooled_width = 2, sampling_ratio = 2, aligned = false} : (tensor<1x3x8x8xf32>, tensor<6x5xf32>) -> tensor<6x3x2x2xf32>
  func.return %1 : tensor<6x3x2x2xf32>
}
