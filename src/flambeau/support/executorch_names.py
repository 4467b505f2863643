"""Names of ExecuTorch's Python API that Flambeau does not have, with the replacement for each."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from flambeau.support.suggestions import did_you_mean

INSTEAD = {
    # Modules.
    "exir": "its names are those of flambeau itself: from flambeau import to_edge, EdgeCompileConfig, ExecutorchBackendConfig",
    "extension": "flambeau.runtime loads programs",
    "partition": "a backend's own package in flambeau.backends has its partitioner",
    # executorch.exir
    "CallSpec": "program.call_spec of the result of torch.export.export",
    "CaptureConfig": "torch.export.export(module, inputs) takes all that is needed",
    "EmitterOutput": "to_executorch() gives a program with .buffer, .module and .memory",
    "ExecutorchProgram": "to_executorch() gives an ExecutorchProgramManager",
    "ExirDynamoConfig": "torch.export.export(module, inputs) takes all that is needed",
    "ExirExportedProgram": "to_edge takes torch.export.ExportedProgram",
    "ExportGraphSignature": "import it from torch.export",
    "ExportedProgram": "import it from torch.export",
    "Value": "any Python value",
    "capture": "to_edge takes the result of torch.export.export(module, inputs)",
    "_capture_legacy_do_not_use": "to_edge takes the result of torch.export.export(module, inputs)",
    "edge_to_executorch_passes": "flambeau-opt --help-pass compile shows the stages and their passes",
    "emit_program": "to_edge(program).to_executorch()",
    "_to_edge": "to_edge",
    "save_pte_program": "edge.to_executorch().save(path)",
    "load": "torch.export.load reads a .pt2, and flambeau compile takes the file itself",
    "save": "torch.export.save writes a .pt2; the results of to_edge and to_executorch have a method save",
    "devtools": "flambeau has BundledProgram, ETRecord and generate_etrecord, and flambeau.runtime.inspector an Inspector",
    # Partitioners, quantizers, passes.
    "ToOutVarPass": "the pass convert-edge-to-exec chooses the kernels of the target",
    "OpenvinoPartitioner": "import it from the backend's own package in flambeau.backends, or say the backend's name",
    "XnnpackPartitioner": "import it from the backend's own package in flambeau.backends, or say the backend's name",
    # executorch.devtools
    "Inspector": "from flambeau.runtime.inspector import Inspector",
    # executorch.export
    "AOQuantizationConfig": "prepare_pt2e and convert_pt2e of torchao, before torch.export.export",
    "BackendRecipeProvider": "a target: the page of plug-ins shows how to write one",
    "ExportRecipe": "EdgeCompileConfig and ExecutorchBackendConfig are the options",
    "ExportSession": "to_edge(torch.export.export(module, inputs)).to_executorch()",
    "LoweringRecipe": "EdgeCompileConfig and ExecutorchBackendConfig are the options",
    "QuantizationRecipe": "prepare_pt2e and convert_pt2e of torchao, before torch.export.export",
    "RecipeType": "EdgeCompileConfig(target=...) names the runtimes of programs",
    "StageType": "flambeau compile --to aten, core, edge, exec or planned",
    "recipe_registry": "flambeau-opt --list-targets names the runtimes of programs",
    "export": "to_edge(torch.export.export(module, inputs)).to_executorch()",
    # executorch.runtime, and its dependencies
    "ExecuTorchMethod": "flambeau.runtime.Method",
    "ExecuTorchModule": "Runtime.get().load_program(file) gives a Program, and its load_method(name) a Method",
    "ExecuTorchProgram": "flambeau.runtime.Program",
    "_create_profile_block": "flambeau profile shows the time of each instruction; --etdump writes it",
    "_dump_profile_results": "flambeau profile shows the time of each instruction; --etdump writes it",
    "_get_operator_names": "Runtime.get().operator_registry.operator_names",
    "_get_registered_backend_names": "Runtime.get().backend_registry.registered_backend_names",
    "_is_available": "Runtime.get().backend_registry.is_available(name)",
    "_load_bundled_program_from_buffer": "flambeau.runtime.BundledModule(data)",
    "_load_for_executorch": "Runtime.get().load_program(file).load_method(name)",
    "_load_for_executorch_from_buffer": "Runtime.get().load_program(data).load_method(name)",
    "_load_for_executorch_from_bundled_program": "flambeau.runtime.BundledModule(data).verify() runs all test cases",
    "_load_for_executorch_from_data_loader": "Runtime.get().load_program(file) maps the file",
    "_load_program": "Runtime.get().load_program(file)",
    "_load_program_from_buffer": "Runtime.get().load_program(data)",
    "_reset_profile_results": "flambeau profile shows the time of each instruction; --etdump writes it",
    "_threadpool_get_thread_count": "there is one thread",
    "_unsafe_reset_threadpool": "there is one thread",
    # Members.
    "EdgeProgramManager.config_methods": "methods names these as well",
    "EdgeProgramManager.exported_program": "module is the IR, and print shows it",
    "ExecutorchProgramManager.config_methods": "methods names these as well",
    "ExecutorchProgramManager.dump_executorch_program": "print(program), or flambeau inspect FILE.pte",
    "ExecutorchProgramManager.executorch_program": "module is the program as IR, and print shows it",
    "ExecutorchProgramManager.exported_program": "module is the program as IR, and print shows it",
    "ETRecord.add_edge_dialect_program": "to_edge(..., generate_etrecord=True) keeps the program",
    "ETRecord.add_executorch_program": "get_etrecord() of the result of to_executorch has this data",
    "ETRecord.add_exported_program": "to_edge(..., generate_etrecord=True) keeps the program",
    "ETRecord.add_extra_export_modules": "torch.export.save writes further programs",
    "ETRecord.copy": "copy.copy",
    "Inspector.get_op_list": "event_blocks has the events, whose op_types name operators",
    "Inspector.get_vgf_neural_statistics": "no statistics of VGF graphs are read",
    "Inspector.write_tensorboard_artifact": "flambeau profile --trace writes a trace for Perfetto",
    "Inspector.to_dataframe": "pandas.DataFrame(inspector.rows())",
    "Inspector.calculate_numeric_gap": "flambeau numerics MODEL --etdump FILE --debug-buffer FILE compares every value",
    "Inspector.get_exported_program": "torch.export.export gives it, and the ETRecord keeps it for ExecuTorch's Inspector",
    "Method.call": "execute(inputs)",
    "Method.get_attribute": "state[name] reads a mutable buffer, and state[name] = value writes it",
    "Method.get_outputs": "execute(inputs) returns the outputs",
    "Method.method_meta": "metadata",
    "Method.set_inputs": "execute(inputs) takes the inputs",
    "MethodMeta.attribute_tensor_meta": "the state of a Method has arrays by the names of the mutable buffers",
    "MethodMeta.num_attributes": "len(method.state)",
    "DelegationInfo.get_operator_delegation_dataframe": "pandas.DataFrame(map(vars, info.delegation_by_operator.values()))",
    "Partitioner.ops_to_not_decompose": "EdgeCompileConfig(preserve_ops=...) keeps operators whole",
    "Partitioner.partition": "a flambeau.passes.delegation.interface.Backend declares its operators in its table",
    "Partitioner.spec": "compile_specs",
    "Partitioner.transform_for_pre_decomposition": "EdgeProgramManager.transform runs passes before to_backend",
    "Program.forward": "load_method(name).execute(inputs)",
    "Program.get_method_name": "method_names",
    "Program.method_meta": "metadata(name)",
    "Program.num_methods": "len(program.method_names)",
    "Program.plan_execute": "load_method(name) makes everything ready",
    "Program.run_method": "load_method(name).execute(inputs)",
    # Arguments.
    "EdgeCompileConfig(_check_ir_validity)": "leave it out, the IR is always verified, after each pass",
    "EdgeCompileConfig(_core_aten_ops_exception_list)": "preserve_ops keeps operators whole",
    "EdgeCompileConfig(_skip_dim_order)": "leave it out, the target decides the layouts",
    "EdgeCompileConfig(_use_edge_ops)": "leave it out, programs always reach the edge level",
    "generate_etrecord(exported_program)": "leave it out, to_edge(..., generate_etrecord=True) keeps the program",
    "generate_etrecord(extra_recorded_export_modules)": "leave it out, torch.export.save writes further programs",
    "get_delegation_info(graph_module)": "get_delegation_info takes the result of to_backend as its only argument",
    "OpenvinoPartitioner(op_names_to_skip)": "edge.to_backend(partitioner, no_delegate=[...]) keeps operators and modules",
    "OpenvinoPartitioner(op_types_to_skip)": "edge.to_backend(partitioner, no_delegate=[...]) keeps operators and modules",
    "XnnpackPartitioner(config_precisions)": "leave it out, edge.survey(name) says which operators of which types the backend takes",
    "XnnpackPartitioner(configs)": "leave it out, edge.survey(name) says which operators the backend takes",
    "XnnpackPartitioner(per_op_mode)": "leave it out, connected operators come into one delegate",
    "XnnpackPartitioner(verbose)": "leave it out, edge.survey(name) says why the backend refuses operators",
    "EdgeProgramManager.transform(compile_config)": "leave it out, the IR is always verified, after each pass",
    "ExecutorchBackendConfig(constant_tensor_alignment)": "leave it out, constants lie at multiples of 16 bytes",
    "ExecutorchBackendConfig(delegate_alignment)": "leave it out, a payload lies at a multiple of 16 bytes",
    "ExecutorchBackendConfig(do_quant_fusion_and_const_prop)": "leave it out, constants are always folded",
    "ExecutorchBackendConfig(dynamic_memory_planning_mode)": "leave it out, memory is planned for the upper bounds",
    "ExecutorchBackendConfig(emit_mutable_buffer_names)": "leave it out, programs always have the names of mutable buffers",
    "ExecutorchBackendConfig(enable_non_cpu_memory_planning)": "leave it out, all memory is that of the CPU",
    "ExecutorchBackendConfig(external_mutable_weights)": "leave it out, programs do not train weights",
    "ExecutorchBackendConfig(extract_delegate_segments)": "leave it out, payloads are always segments of their own",
    "ExecutorchBackendConfig(passes)": "edge.transform(passes) runs passes before to_executorch",
    "ExecutorchBackendConfig(propagate_device_config)": "leave it out, all memory is that of the CPU",
    "ExecutorchBackendConfig(reinplace_extra_ops)": "leave it out, the pass reuse-storage writes over operands that are no longer needed",
    "ExecutorchBackendConfig(remove_view_copy)": "leave it out, the pass elide-views makes views of copies where it can",
    "ExecutorchBackendConfig(run_reinplace_pass)": "leave it out, the pass reuse-storage writes over operands that are no longer needed",
    "ExecutorchBackendConfig(segment_alignment)": "leave it out, segments lie at multiples of 128 bytes",
    "ExecutorchBackendConfig(sym_shape_eval_pass)": "leave it out, memory is planned for the upper bounds",
    "ExecutorchBackendConfig(to_out_var_pass)": "leave it out, the pass convert-edge-to-exec chooses the kernels of the target",
    "MemoryPlanningPass(alignment)": 'memory_planning_algo="best{alignment=64}" says it; without, it is the target\'s',
    "MemoryPlanningPass(alloc_mutable_buffers)": "leave it out, state is always planned",
    "MemoryPlanningPass(allow_lifetime_and_storage_overlap)": "leave it out, the pass reuse-storage lets tensors overlap",
    "MemoryPlanningPass(share_mutable_buffers)": "leave it out, methods always share the state of a buffer",
}
"""The replacements, by `name`, `Class.member`, or `function(argument)`."""

ALWAYS: dict[str, object] = {
    "EdgeCompileConfig(_check_ir_validity)": True,
    "EdgeCompileConfig(_skip_dim_order)": False,
    "ExecutorchBackendConfig(emit_mutable_buffer_names)": True,
    "ExecutorchBackendConfig(external_mutable_weights)": False,
    "ExecutorchBackendConfig(extract_delegate_segments)": True,
    "ExecutorchBackendConfig(remove_view_copy)": True,
    "ExecutorchBackendConfig(segment_alignment)": 128,
    "MemoryPlanningPass(alloc_mutable_buffers)": True,
    "MemoryPlanningPass(share_mutable_buffers)": True,
    "Runtime.load_program(debug_buffer_size)": 0,
}
"""The only value that Flambeau accepts, and then ignores, for each of these arguments of ExecuTorch: Flambeau always behaves so."""

_Callable = TypeVar("_Callable", bound=Callable[..., Any])


def missing_name(module: str, name: str) -> AttributeError | ImportError:
    """Returns the error that a package's `__getattr__` raises for a name; in an import statement, only an ImportError is shown in full."""
    if name in INSTEAD:
        hint = f", which ExecuTorch has: {INSTEAD[name]}"
    elif name in sys.modules["flambeau"].__all__:
        hint = ": import it from flambeau"
    else:
        return AttributeError(f"module {module!r} has no attribute {name!r}")
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name in ("missing_name", "__getattr__"):
        frame = frame.f_back
    imported = frame is not None and frame.f_globals.get("__name__") == "importlib._bootstrap"
    return (ImportError if imported else AttributeError)(f"{module} has no {name!r}{hint}")


class ExplainsMembers:
    """A base class whose AttributeError for a member that only ExecuTorch has names the replacement."""

    if not TYPE_CHECKING:  # type checkers would accept any member

        def __getattr__(self, name: str) -> object:
            kind = type(self).__name__
            instead = INSTEAD.get(f"{kind}.{name}")
            hint = "" if instead is None else f", which ExecuTorch has: {instead}"
            raise AttributeError(f"{kind!r} object has no attribute {name!r}{hint}", name=name, obj=self)


def explains_arguments(function: _Callable) -> _Callable:
    """Wraps a function or class: it accepts the arguments in `ALWAYS`; errors for further arguments of ExecuTorch name the replacements."""
    given: Any = function
    if not isinstance(given, type):
        return _explaining(given, given.__qualname__)
    kind: Any = given
    kind.__init__ = _explaining(kind.__init__, kind.__name__)
    return kind


def _explaining(function: Any, name: str) -> Any:
    known = inspect.signature(function).parameters

    @wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for argument in given.keys() - known.keys():
            key = f"{name}({argument})"
            if key in ALWAYS and given[argument] == ALWAYS[key]:
                del given[argument]
            else:
                instead = INSTEAD.get(key)
                hint = _arguments_of(function, argument) if instead is None else f", which ExecuTorch has: {instead}"
                raise TypeError(f"{name} has no argument {argument!r}{hint}")
        return function(*args, **given)

    return call


def _arguments_of(function: Any, argument: str) -> str:
    names = [item for item in inspect.signature(function).parameters if item != "self"]
    return f"; it has {', '.join(names) or 'none'}{did_you_mean(argument, names)}"


def instead_of_object(given: object, otherwise: str) -> str:
    """Returns the replacement for an object of an ExecuTorch class; `otherwise` for a class without an entry."""
    names: Iterable[str] = (kind.__name__ for kind in type(given).__mro__)
    return next((INSTEAD[name] for name in names if name in INSTEAD), otherwise)
