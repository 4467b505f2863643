"""Models of torchvision and timm with random weights on small images, exported, compiled, run by the C runtime, and compared with eager.

    PYTHONPATH=test python test/campaigns/vision.py [model …] [--static] [--target executorch] [--jobs 2]

Models of timm have the prefix `timm.`. The batch is dynamic, but for `--static`; detection models take lists of images, and are exported
with one. It needs the packages of the group `vision`. It prints a line for each model, then the counts and the reasons, and returns 1 if a
result is wrong.
"""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any, cast

import torch
from campaigns import torchvision_operators
from campaigns.model_outcomes import Case, main
from torch import Tensor, nn
from torch.export import Dim

torchvision_operators.declare()

# torchvision, which timm imports, asks for the operators.
models: Any = import_module("torchvision").models
create: Any = import_module("timm").create_model
torchvision_operators.enable()

CLASSIFICATION = (
    *("alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "inception_v3", "maxvit_t"),
    *("mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet18", "resnext50_32x4d"),
    *("shufflenet_v2_x0_5", "squeezenet1_0", "swin_t", "swin_v2_t", "vgg11", "vgg11_bn", "vit_b_32", "wide_resnet50_2"),
)
SEGMENTATION = ("deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "fcn_resnet50", "lraspp_mobilenet_v3_large")
DETECTION = (
    *("fasterrcnn_mobilenet_v3_large_320_fpn", "fasterrcnn_resnet50_fpn", "fcos_resnet50_fpn", "keypointrcnn_resnet50_fpn"),
    *("fasterrcnn_mobilenet_v3_large_fpn", "fasterrcnn_resnet50_fpn_v2", "maskrcnn_resnet50_fpn", "maskrcnn_resnet50_fpn_v2"),
    *("retinanet_resnet50_fpn", "retinanet_resnet50_fpn_v2", "ssd300_vgg16", "ssdlite320_mobilenet_v3_large"),
)
TIMM = (
    *(
        "cait_xxs24_224",
        "coat_lite_tiny",
        "convit_tiny",
        "convnext_atto",
        "convnextv2_atto",
        "cspresnet50",
        "davit_tiny",
        "deit_tiny_patch16_224",
    ),
    *("densenet121", "dla34", "edgenext_xx_small", "efficientformer_l1", "efficientnet_b0", "eva02_tiny_patch14_224", "fastvit_t8"),
    *("gcvit_xxtiny", "ghostnet_050", "hardcorenas_a", "hrnet_w18_small", "inception_next_atto", "levit_128s", "mixer_s32_224"),
    *("mobileone_s0", "mobilenetv3_small_050", "mobilenetv4_conv_small", "mobilevit_xxs", "mvitv2_tiny", "nf_resnet26", "pit_ti_224"),
    *(
        "poolformer_s12",
        "pvt_v2_b0",
        "regnetx_002",
        "repvgg_a0",
        "res2net50_14w_8s",
        "resmlp_12_224",
        "resnet18",
        "rexnet_100",
        "selecsls42",
    ),
    *("skresnet18", "swin_tiny_patch4_window7_224", "tiny_vit_5m_224", "tnt_s_legacy_patch16_224", "twins_pcpvt_small", "visformer_tiny"),
    *("vgg11", "vit_tiny_patch16_224", "xcit_nano_12_p16_224"),
)
_FULL_SIZE = (
    "efficientformer_l1",
    "gcvit_xxtiny",
    "eva02_tiny_patch14_224",
    "swin_tiny_patch4_window7_224",
    "tiny_vit_5m_224",
    "maxvit_t",
    "pit_ti_224",
)
"""Models whose windows or patches divide their own image size only."""
_SCORES = re.compile(r"(cls_logits|cls_score|bbox_ctrness|classification_head\.module_list\.\d+(\.1)?)$")
"""The last layers for scores, by their names."""


class _Images(nn.Module):
    """A detection model, of a batch of one image."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Any:
        """What it detects."""
        return [list(found.values()) for found in self.model(list(images))]


def _give_unit_variance(model: nn.Module, images: list[Tensor]) -> None:
    """Scales each layer's weights until what it gives for these images varies by about 1, and that of the last layers for scores by 2.

    With its first weights, a deep model finds nearly the same everywhere, and rounding would decide the order of its boxes.
    """

    def scale(layer: Any, _: Any, found: Tensor) -> Tensor:
        hooks.pop(layer).remove()
        factor = (2 if layer in scores else 1) / found.std()
        layer.weight.mul_(factor)
        return found * factor

    layers: dict[str, Any] = {name: layer for name, layer in cast(Any, model).named_modules() if isinstance(layer, nn.Conv2d | nn.Linear)}
    scores = {layer for name, layer in layers.items() if _SCORES.search(name)}
    hooks = {layer: layer.register_forward_hook(scale) for layer in layers.values()}
    with torch.no_grad():
        model(images)


def _module(name: str, side: int) -> nn.Module:
    if name.startswith("timm."):
        try:
            return create(name.removeprefix("timm."), img_size=side)
        except TypeError:
            return create(name.removeprefix("timm."))
    given: dict[str, Any] = {}
    if name in (*SEGMENTATION, *DETECTION):
        given["weights_backbone"] = None
    if name in DETECTION and not name.startswith("ssd"):
        given |= {"min_size": side, "max_size": side}
    if name in DETECTION:
        given["box_detections_per_img" if "rcnn" in name else "detections_per_img"] = 10
    if "rcnn" in name:
        given["rpn_post_nms_top_n_test"] = 50
    if name in ("googlenet", "inception_v3"):
        given["init_weights"] = True
    if name.startswith("vit"):
        given["image_size"] = side
    return models.get_model(name, weights=None, **given)


def make(name: str, dynamic: bool) -> Case:
    """A model of a name."""
    side = 224 if name.removeprefix("timm.") in _FULL_SIZE else 96 if name == "inception_v3" else 64
    dynamic = dynamic and name not in DETECTION
    module = _module(name, side).eval()
    inputs = [torch.randn(n, 3, side, side) for n in ((3, 2, 4) if dynamic else (1,))]
    if name in DETECTION:
        _give_unit_variance(module, list(inputs[0]))
        module = _Images(module).eval()
    return Case(module, inputs, {0: Dim.DYNAMIC(max=4)} if dynamic else None, strict="rcnn" in name)


if __name__ == "__main__":
    every = [*CLASSIFICATION, *SEGMENTATION, *DETECTION, *(f"timm.{name}" for name in TIMM)]
    sys.exit(main("campaigns.vision", __doc__, every, sys.argv[1:]))
