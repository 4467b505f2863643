// RUN: flambeau-opt %s --split-input-file --verify-diagnostics

func.func @no_boxes(%x: tensor<6x3xf32>, %scores: tensor<6xf32>) {
  // expected-error @+1 {{torchvision.nms: the boxes must have the shape [number, 4], got [6, 3]}}
  %0 = torchvision.nms(%x, %scores) {iou_threshold = 0.5} : (tensor<6x3xf32>, tensor<6xf32>) -> tensor<?xi64>
  func.return
}

// -----

func.func @scores(%x: tensor<6x4xf32>, %scores: tensor<5xf32>) {
  // expected-error @+1 {{torchvision.nms: 6 boxes need as many scores, got scores of shape [5]}}
  %0 = torchvision.nms(%x, %scores) {iou_threshold = 0.5} : (tensor<6x4xf32>, tensor<5xf32>) -> tensor<?xi64>
  func.return
}
