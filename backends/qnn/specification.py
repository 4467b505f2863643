"""The settings of a delegate that ExecuTorch's runtime for Qualcomm reads beside its payload: without them it ends the process.

They are a FlatBuffer. The context binary comes from the compiler of ONNX models (`is_from_context_binary`), whose tensors have names of
their own. The runtime reads the path of its library, and of the folder of its records, also where they are empty. Everything else has the
values that ExecuTorch's compiler writes. Source: `qc_compiler_spec.fbs` and `qc_schema.py` in `backends/qualcomm` of ExecuTorch.
"""

from __future__ import annotations

from dataclasses import dataclass

from flambeau.backends.qnn import CHIPS, QnnOptions
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.flatbuffer import Encoder, Ref, Refs, Scalar, Table, Text

KEY = "qnn_compile_spec"
"""The name of the compile spec."""


@dataclass(frozen=True)
class HtpInfo:
    """A Hexagon processor: its version, and the MB of its memory."""

    htp_arch: int
    vtcm_size_in_mb: int


@dataclass(frozen=True)
class SocInfo:
    """A chip, by Qualcomm's number."""

    soc_model: int
    htp_info: HtpInfo


@dataclass(frozen=True)
class HtpOptions:
    """How the processor computes."""

    max_sf_buf_size: int = 0
    performance_mode: int = 0
    precision: int = 0
    """0 between integers, 1 in float16."""
    pd_session: int = 0
    use_conv_hmx: bool = True
    use_dlbc: bool = False
    use_fold_relu: bool = True
    use_multi_contexts: bool = False
    use_weight_sharing: bool = False
    use_slc_allocator: bool = False


@dataclass(frozen=True)
class QnnBackendOptions:
    """A backend of Qualcomm's libraries."""

    htp_options: HtpOptions
    backend_type: int = 2
    """2 is the Hexagon processor."""


@dataclass(frozen=True)
class OpPackages:
    """Libraries with more operators: none."""

    op_package_infos: tuple[()] = ()


@dataclass(frozen=True)
class Specification:
    """All settings."""

    soc_info: SocInfo
    backend_options: QnnBackendOptions
    library_path: str = ""
    log_level: int = 0
    online_prepare: bool = False
    dump_intermediate_outputs: bool = False
    profile_level: int = 0
    shared_buffer: bool = False
    is_from_context_binary: bool = True
    saver: bool = False
    saver_output_dir: str = ""
    op_package_options: OpPackages = OpPackages()
    use_mha2sha: bool = False


_INT, _UINT, _BOOL = Scalar("i"), Scalar("I"), Scalar("?", bool)
_HTP_INFO = Table(HtpInfo, {"htp_arch": _INT, "vtcm_size_in_mb": _UINT})
_SOC_INFO = Table(SocInfo, {"soc_model": _INT, "htp_info": Ref(_HTP_INFO)})
_HTP_OPTIONS = Table(
    HtpOptions,
    {
        "max_sf_buf_size": _INT,
        "performance_mode": _INT,
        "precision": _INT,
        "pd_session": _INT,
        "use_conv_hmx": _BOOL,
        "use_dlbc": _BOOL,
        "use_fold_relu": _BOOL,
        "use_multi_contexts": _BOOL,
        "use_weight_sharing": _BOOL,
        "use_slc_allocator": _BOOL,
    },
)
_BACKEND_OPTIONS = Table(QnnBackendOptions, {"backend_type": _INT, "htp_options": Ref(_HTP_OPTIONS)})
_PACKAGES = Table(OpPackages, {"op_package_infos": Refs(Table(OpPackages, {}))})
SPECIFICATION = Table(
    Specification,
    {
        "soc_info": Ref(_SOC_INFO),
        "backend_options": Ref(_BACKEND_OPTIONS),
        "library_path": Text(),
        "log_level": _INT,
        "online_prepare": _BOOL,
        "dump_intermediate_outputs": _BOOL,
        "profile_level": _INT,
        "shared_buffer": _BOOL,
        "is_from_context_binary": _BOOL,
        "saver": _BOOL,
        "saver_output_dir": Text(),
        "op_package_options": Ref(_PACKAGES),
        "use_mha2sha": _BOOL,
    },
)
"""The root table of the schema."""


def specification(options: QnnOptions) -> bytes:
    """Returns the settings of a delegate with these options."""
    chip = CHIPS[options.soc]
    soc = SocInfo(chip.number, HtpInfo(chip.architecture, chip.megabytes))
    how = HtpOptions(precision=int(options.precision == "f16"))
    return Encoder(SPECIFICATION, b"", BackendError).encode(Specification(soc, QnnBackendOptions(how)))
